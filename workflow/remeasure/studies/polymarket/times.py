"""Times as the services write them: with a space or a T, any fraction, any offset or none."""

from __future__ import annotations

import polars as pl


def parsed_time(name: str) -> pl.Expr:
    """A column of texts as UTC microseconds; missing where empty.

    A text without an offset is UTC. A text of another form raises a Polars error.
    """
    return pl.col(name).map_batches(parsed_times, return_dtype=pl.Datetime("us"))


def parsed_times(texts: pl.Series) -> pl.Series:
    """The same for a series. What stands behind the seconds is read only where it says more."""
    texts = texts.cast(pl.String).set(texts == "", None)
    clock = texts.str.slice(0, 19).str.replace(" ", "T", literal=True)
    moment = clock.str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=False)
    other = moment.is_null() & texts.is_not_null()
    if other.any():
        dates = texts.set(~other, None).str.to_date("%Y-%m-%d", strict=True)
        moment = moment.zip_with(~other, dates.cast(pl.Datetime("us")))
    rest = texts.str.slice(19)
    more = ~(rest.is_in(["Z", "+00", "+00:00", ""])).fill_null(value=True)
    if not more.any():
        return moment
    if more.all():
        return moment + _shift(rest)
    rows = more.arg_true()
    return moment.scatter(rows, moment.gather(rows) + _shift(rest.gather(rows)))


def _shift(rest: pl.Series) -> pl.Series:
    """What a fraction and an offset add, from texts as in ``.5+02:00``."""
    frame = pl.DataFrame({"rest": rest})
    text = pl.col("rest")
    if (rest.str.starts_with(".") & rest.str.ends_with("Z")).all():
        part = text.str.strip_chars_end("Z").str.slice(1, 6).str.pad_end(6, "0")
        return frame.select(pl.duration(microseconds=part.cast(pl.Int64, strict=True))).to_series()
    form = r"^(?:\.(\d{1,6})\d*)?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)?$"
    # A text of no known form is no number: casting it is the error.
    odd = pl.when(~text.str.contains(form)).then(text).cast(pl.Int64, strict=True).fill_null(0)
    part = text.str.extract(form, 1).str.pad_end(6, "0").cast(pl.Int64).fill_null(0)
    hours = text.str.extract(form, 3).cast(pl.Int64).fill_null(0)
    minutes = text.str.extract(form, 4).cast(pl.Int64).fill_null(0)
    sign = pl.when(text.str.extract(form, 2) == "-").then(-1).otherwise(1)
    offset = (hours * 60 + minutes) * sign * 60_000_000
    return frame.select(pl.duration(microseconds=part - offset + odd)).to_series()

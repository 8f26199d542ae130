"""Times as the services write them: with a space or a T, any fraction, any offset or none."""

from __future__ import annotations

import polars as pl


def parsed_time(name: str) -> pl.Expr:
    """A column of texts as UTC microseconds; missing where empty.

    A text without an offset is UTC. A text of another form raises a Polars error.
    """
    text = pl.when(pl.col(name) != "").then(pl.col(name))
    # The common forms differ behind the second only: 19 characters, then the rest.
    moment = (
        (text.str.slice(0, 10) + "T" + pl.when(text.str.len_bytes() > 10)
         .then(text.str.slice(11, 8)).otherwise(pl.lit("00:00:00")))
        .str.to_datetime("%Y-%m-%dT%H:%M:%S", time_unit="us", strict=True)
    )  # fmt: skip
    rest = text.str.slice(19)
    part = rest.str.extract(r"^\.(\d{1,6})\d*", 1).str.pad_end(6, "0").cast(pl.Int64)
    sign = rest.str.extract(r"([+-])\d{2}(?::?\d{2})?$", 1)
    hours = rest.str.extract(r"[+-](\d{2})(?::?\d{2})?$", 1).cast(pl.Int64)
    minutes = rest.str.extract(r"[+-]\d{2}:?(\d{2})$", 1).cast(pl.Int64)
    offset = (hours * 60 + minutes.fill_null(0)) * pl.when(sign == "-").then(-1).otherwise(1)
    # A rest that is none of these forms makes the sum an error: a text that is no number.
    odd = ~rest.str.contains(r"^(?:\.\d+)?(?:Z|[+-]\d{2}(?::?\d{2})?)?$")
    bad = pl.when(odd).then(text).cast(pl.Int64, strict=True).fill_null(0)
    shift = part.fill_null(0) - offset.fill_null(0) * 60_000_000 + bad
    return moment + pl.duration(microseconds=shift)

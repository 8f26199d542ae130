"""Price series of CLOB: what is asked for, and typed points from the answers.

A point is the middle of the book, filled forward: it exists without any trade. Answers
may hold times twice, points beyond the window and a last one stamped with the moment of
the request; they are dropped here, by the window that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from remeasure.errors import SourceError
from remeasure.fetch.raw import Wanted
from remeasure.fetch.walk import Throttled

_HISTORY: Final = pl.Struct(
    {
        "history": pl.List(pl.Struct({"t": pl.Int64(), "p": pl.Float64()})),
        "error": pl.String(),
    }
)

_LATER: Final = pl.Struct(
    {
        "data": pl.List(pl.Struct({"timestamp": pl.Int64(), "price": pl.Float64()})),
        "error": pl.String(),
        "pagination": pl.Struct({"next_cursor": pl.String(), "has_more": pl.Boolean()}),
    }
)

#: Seconds since 1970, UTC.
POINTS: Final = {"series": pl.Int64(), "t": pl.Int64(), "p": pl.Float64()}


def price_wanted(url: str) -> Wanted:
    """A price series as a request, validated before it is accepted."""

    def check(path: Path) -> None:
        points([path.read_bytes()], [None], where=url)

    return Wanted(url, check=check)


def three_hour_wanted(url: str) -> Wanted:
    """A three-hour series as a request, validated before it is accepted."""

    def check(path: Path) -> None:
        three_hour_points([path.read_bytes()], [None], where=url)

    return Wanted(url, check=check)


def points(
    bodies: Sequence[bytes], ends: Sequence[int | None], *, where: object = ""
) -> pl.DataFrame:
    """Points of many answers, each sorted by time and every time once (the last one counts).

    Parameters
    ----------
    bodies
        Answers of ``/prices-history``.
    ends
        For each answer the last second that is wanted; None for no bound.

    Returns
    -------
    Columns ``series`` (number of the answer), ``t`` (seconds since 1970), ``p`` (0 to 1).

    Raises
    ------
    Throttled
        When an answer is an error message about too many requests.
    SourceError
        When an answer has no history, or a price lies outside 0 to 1.
    """
    return _sound(_decoded(bodies, _HISTORY, where), ends, where)


def three_hour_points(
    bodies: Sequence[bytes], ends: Sequence[int | None], *, where: object = ""
) -> pl.DataFrame:
    """`points` of answers of the Data API's ``/v2/prices-history``.

    ``data`` of null is an answer, too: the service knows no price of the token.

    Raises
    ------
    Throttled, SourceError
        As `points`; also when an answer says that more of its window is on a next page.
    """
    answers = _decoded(bodies, _LATER, where)
    data = answers.struct.field("data")
    more = answers.struct.field("pagination").struct.field("has_more").fill_null(value=False)
    if more.any():
        raise SourceError(
            "a window of 14 days does not fit on one page",
            where=where,
            remedy="look at the answer: the service has changed the size of its pages",
        )
    # The decoder does not tell a null from a field that is not there.
    missed = data.is_null() & pl.Series([b'"data"' in body for body in bodies], dtype=pl.Boolean)
    history = data.list.eval(
        pl.struct(t=pl.element().struct.field("timestamp"), p=pl.element().struct.field("price"))
    )
    same = pl.DataFrame({"history": history, "error": answers.struct.field("error")})
    none = pl.lit([], dtype=history.dtype)
    same = same.with_columns(history=pl.when(missed).then(none).otherwise("history"))
    return _sound(same.to_struct("answer"), ends, where)


def _decoded(bodies: Sequence[bytes], form: pl.Struct, where: object) -> pl.Series:
    try:
        texts = [body.decode() for body in bodies]
        return pl.Series("answer", texts, dtype=pl.String).str.json_decode(form)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise SourceError(
            f"this is no price history ({str(error).splitlines()[0]})",
            where=where,
            remedy="look at the answer: the service has changed its format, or is not itself",
        ) from error


def _sound(answers: pl.Series, ends: Sequence[int | None], where: object) -> pl.DataFrame:
    """Points of answers ``{history: [{t, p}], error}``; see `points`."""
    frame = pl.DataFrame(
        {
            "series": pl.Series(range(len(answers)), dtype=pl.Int64),
            "end": pl.Series(ends, dtype=pl.Int64),
        }
    ).with_columns(answers.struct.unnest())
    wrong = frame.filter(pl.col("error").is_not_null() | pl.col("history").is_null())
    if wrong.height:
        message = wrong["error"][0]
        kind = Throttled if message and "many requests" in message.lower() else SourceError
        raise kind(
            f"the service answers with an error: {message or 'no history'}",
            where=where,
            remedy="run again later, with a lower rate",
        )
    found = (
        frame.select("series", "end", "history")
        .explode("history", empty_as_null=False)
        .drop_nulls("history")
        .unnest("history")
        .filter(pl.col("end").is_null() | (pl.col("t") <= pl.col("end")))
        .unique(["series", "t"], keep="last", maintain_order=True)
        .sort("series", "t")
        .select("series", "t", "p")
    )
    odd = found.filter(~pl.col("p").is_between(0, 1).fill_null(value=False))
    if odd.height:
        raise SourceError(
            f"{odd.height} prices lie outside 0 to 1, first {odd['p'][0]} at {odd['t'][0]}",
            where=where,
            remedy="look at the answer: the service has changed its unit",
        )
    return found

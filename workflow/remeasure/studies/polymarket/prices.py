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

#: Seconds since 1970, UTC.
POINTS: Final = {"series": pl.Int64(), "t": pl.Int64(), "p": pl.Float64()}


def price_wanted(url: str) -> Wanted:
    """A price series as a request, validated before it is accepted."""

    def check(path: Path) -> None:
        points([path.read_bytes()], [None], where=url)

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
    try:
        answers = pl.Series("answer", [body.decode() for body in bodies]).str.json_decode(_HISTORY)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise SourceError(
            f"this is no price history ({str(error).splitlines()[0]})",
            where=where,
            remedy="look at the answer: the service has changed its format, or is not itself",
        ) from error
    frame = pl.DataFrame(
        {
            "series": pl.Series(range(len(bodies)), dtype=pl.Int64),
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

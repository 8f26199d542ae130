"""Typed rows from pages of Gamma's listing: one fast path for every way a field is written.

Numbers may come as numbers or as text, lists as lists or as JSON in a text; a text that is
empty or null counts as missing. What has another shape than these (an object where a text
should be) is an error that names the page, never a missing value.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from remeasure.errors import SourceError
from remeasure.fetch.walk import Throttled
from remeasure.studies.polymarket.times import parsed_time

#: Fields of a market that are read as text, whatever they are on the wire.
_TEXTS: Final = (
    "id", "conditionId", "question", "slug", "groupItemTitle", "volume", "volumeNum",
    "volumeClob", "closedTime", "umaEndDate", "startDate", "createdAt", "gameId",
    "sportsMarketType", "gameStartTime", "bestBid", "bestAsk",
)  # fmt: skip

#: Lists that come as JSON in a text, or as lists.
_LISTS: Final = ("outcomes", "outcomePrices", "clobTokenIds")

_MARKET = pl.Struct(
    {
        **{name: pl.String() for name in _TEXTS},
        **{name: pl.List(pl.String()) for name in _LISTS},
        "closed": pl.Boolean(),
    }
)
_EVENT = pl.Struct(
    {
        **{
            name: pl.String()
            for name in ("id", "slug", "title", "closedTime", "volume", "parentEventId")
        },
        "closed": pl.Boolean(),
        "tags": pl.List(pl.Struct({"slug": pl.String()})),
        "markets": pl.List(_MARKET),
    }
)
PAGE: Final = pl.Struct(
    {
        "events": pl.List(_EVENT),
        "next_cursor": pl.String(),
        "error": pl.String(),
        "type": pl.String(),
    }
)

_GAME_FIELDS: Final = ("sportsMarketType", "gameId", "gameStartTime")


def decoded(body: bytes, where: object) -> pl.Series:
    """One page as a struct.

    Raises
    ------
    Throttled
        When the body is an error message.
    SourceError
        When it is no page of events, or a field has an unknown shape.
    """
    try:
        page = pl.Series("page", [body.decode("utf-8")]).str.json_decode(PAGE)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise SourceError(
            f"this is no page of events ({str(error).splitlines()[0]})",
            where=where,
            remedy="look at the answer: the service has changed its format, or is not itself",
        ) from error
    if (message := page.struct.field("error")[0]) is not None:
        raise Throttled(
            f"the service answers with an error: {message}",
            where=where,
            remedy="run again later, with a lower rate",
        )
    if page.struct.field("events")[0] is None:
        raise SourceError(
            "this answer has no events",
            where=where,
            remedy="look at the answer: the service has changed its format",
        )
    return page


def next_cursor(page: pl.Series) -> str:
    """The cursor of the next page; empty where this one is the last."""
    return page.struct.field("next_cursor")[0] or ""


def event_ids(page: pl.Series) -> list[str]:
    """Ids of the page's events, in its order."""
    return [str(each) for each in _events(page)["id"].to_list()]


def _events(page: pl.Series) -> pl.DataFrame:
    return page.struct.field("events").explode(empty_as_null=False).struct.unnest()


def _text(name: str) -> pl.Expr:
    """A text, missing where empty."""
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _number(name: str) -> pl.Expr:
    """A number from a text; a text that is none is an error of the page."""
    return _text(name).cast(pl.Float64, strict=True)


def events(page: pl.Series) -> pl.DataFrame:
    """Events of a page: event, parent, slug, title, closed (UTC), dollars, tags, has_<field>."""
    frame = _events(page)
    markets = frame["markets"]
    has = [
        pl.Series(f"has_{field}", [None] * len(markets), dtype=pl.Boolean)
        if markets.dtype == pl.Null
        else markets.list.eval(pl.element().struct.field(field).fill_null("") != "")
        .list.any()
        .fill_null(value=False)
        .alias(f"has_{field}")
        for field in _GAME_FIELDS
    ]
    return frame.with_columns(has).select(
        event=_text("id"),
        parent=_text("parentEventId"),
        slug=pl.col("slug").fill_null(""),
        title=pl.col("title").fill_null(""),
        closed=parsed_time("closedTime"),
        dollars=_number("volume"),
        tags=pl.col("tags").list.eval(pl.element().struct.field("slug")).fill_null([]),
        **{f"has_{field}": pl.col(f"has_{field}") for field in _GAME_FIELDS},
    )


def _list(name: str) -> pl.Expr:
    """A list of texts: as it is, or from JSON in its one text; missing where empty."""
    alone = pl.when(pl.col(name).list.len() == 1).then(pl.col(name).list.first()).str.strip_chars()
    packed = alone.str.starts_with("[")
    opened = pl.when(packed).then(alone).str.json_decode(pl.List(pl.String()))
    plain = pl.when((alone.is_null() | (alone != "")) & (pl.col(name).list.len() > 0)).then(
        pl.col(name)
    )
    return pl.when(packed).then(opened).otherwise(plain)


def markets(page: pl.Series) -> pl.DataFrame:
    """Markets of a page, as listed, each beside the id of its event; times in UTC.

    Columns: gamma, condition, event, question, slug, label, outcomes, settled (prices of the
    outcomes), token (first), opened, closed_market, uma_end, is_closed, volumeNum, volumeClob,
    bid, ask. ``volumeNum`` falls back to ``volume``.
    """
    frame = (
        _events(page)
        .select(event=_text("id"), market=pl.col("markets"))
        .explode("market", empty_as_null=False)
        .drop_nulls("market")
        .unnest("market")
    )
    return frame.select(
        gamma=_text("id"),
        condition=_text("conditionId"),
        event=pl.col("event"),
        question=pl.col("question").fill_null(""),
        slug=pl.col("slug").fill_null(""),
        label=_text("groupItemTitle"),
        outcomes=_list("outcomes"),
        settled=_list("outcomePrices").cast(pl.List(pl.Float64), strict=True),
        token=_text_of(_list("clobTokenIds").list.first()),
        opened=pl.min_horizontal(parsed_time("startDate"), parsed_time("createdAt")),
        closed_market=parsed_time("closedTime"),
        uma_end=parsed_time("umaEndDate"),
        is_closed=pl.col("closed").fill_null(value=False),
        volumeNum=pl.coalesce(_number("volumeNum"), _number("volume")),
        volumeClob=pl.coalesce(_number("volumeClob"), _number("volumeNum"), _number("volume")),
        bid=_number("bestBid"),
        ask=_number("bestAsk"),
    )


def _text_of(value: pl.Expr) -> pl.Expr:
    return pl.when(value != "").then(value)

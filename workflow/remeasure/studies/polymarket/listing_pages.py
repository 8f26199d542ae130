"""Typed rows from pages of Gamma's listing: one fast path for every way a field is written.

Numbers may come as numbers or as text, lists as lists or as JSON in a text; a text that is
empty or null counts as missing. What has another shape than these (an object where a text
should be) is an error that names the page, never a missing value.

A page is first read by a parser that knows the usual form of each field and nothing else; a
page with any other form is read again by a slower one that takes them all. Both give the same
rows. Pages of one form can be concatenated, which spares the work that each page costs.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.json as pj

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
_SCHEMA: Final = {
    "events": pl.List(_EVENT),
    "next_cursor": pl.String(),
    "error": pl.String(),
}

_TEXT, _NUMBER = pa.string(), pa.float64()
_USUAL_NUMBERS: Final = ("volumeNum", "volumeClob", "bestBid", "bestAsk")
_USUAL_MARKET = pa.struct(
    [(name, _NUMBER if name in _USUAL_NUMBERS else _TEXT) for name in _TEXTS]
    + [(name, _TEXT) for name in _LISTS]
    + [("closed", pa.bool_())]
)
_USUAL_EVENT = pa.struct(
    [(name, _TEXT) for name in ("id", "slug", "title", "closedTime")]
    + [
        ("volume", _NUMBER),
        ("parentEventId", pa.int64()),
        ("closed", pa.bool_()),
        ("tags", pa.list_(pa.struct([("slug", _TEXT)]))),
        ("markets", pa.list_(_USUAL_MARKET)),
    ]
)
_USUAL_FORM: Final = pj.ParseOptions(
    explicit_schema=pa.schema(
        [("events", pa.list_(_USUAL_EVENT)), ("next_cursor", _TEXT), ("error", _TEXT)]
    ),
    unexpected_field_behavior="ignore",
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
    frame = _usual(body)
    if frame is None:
        frame = _any_form(body, where)
    error = frame["error"]
    if error.null_count() == 0:
        raise Throttled(
            f"the service answers with an error: {error[0]}",
            where=where,
            remedy="run again later, with a lower rate",
        )
    if frame["events"].null_count():
        raise SourceError(
            "this answer has no events",
            where=where,
            remedy="look at the answer: the service has changed its format",
        )
    return frame.to_struct("page")


def _usual(body: bytes) -> pl.DataFrame | None:
    """One page whose fields all have their usual form; None for any other body."""
    try:
        table = pj.read_json(
            pa.BufferReader(body),
            read_options=pj.ReadOptions(use_threads=False, block_size=len(body) + 1),
            parse_options=_USUAL_FORM,
        )
    except pa.ArrowInvalid:
        return None
    if table.num_rows != 1:
        return None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - from_arrow of a table is a frame
    return frame


def _any_form(body: bytes, where: object) -> pl.DataFrame:
    """One page whatever the form of its fields; see `decoded`."""
    why = "a list instead of an object"
    try:
        frame = pl.read_json(io.BytesIO(body), schema=_SCHEMA)
        if body.lstrip().startswith(b"{") and frame.height == 1:
            return frame
    except pl.exceptions.PolarsError as error:
        why = str(error).splitlines()[0]
    raise SourceError(
        f"this is no page of events ({why})",
        where=where,
        remedy="look at the answer: the service has changed its format, or is not itself",
    )


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


def _text_of(value: pl.Expr) -> pl.Expr:
    return pl.when(value != "").then(value)


def _number(name: str) -> pl.Expr:
    """A number, also from a text; a text that is none is an error of the page."""
    return pl.col(name).map_batches(_numbers, return_dtype=pl.Float64)


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        values = values.set((values == "").fill_null(value=False), None)
    return values.cast(pl.Float64, strict=True)


def events(page: pl.Series) -> pl.DataFrame:
    """Events of a page: event, parent, slug, title, closed (UTC), dollars, tags, has_<field>."""
    frame = _events(page)
    has = _filled(frame["markets"], _GAME_FIELDS)
    return frame.with_columns(has).select(
        event=_text("id"),
        parent=_text_of(pl.col("parentEventId").cast(pl.String)),
        slug=pl.col("slug").fill_null(""),
        title=pl.col("title").fill_null(""),
        closed=parsed_time("closedTime"),
        dollars=_number("volume"),
        tags=pl.col("tags").list.eval(pl.element().struct.field("slug")).fill_null([]),
        **{f"has_{field}": pl.col(f"has_{field}") for field in _GAME_FIELDS},
    )


def _filled(markets: pl.Series, fields: Sequence[str]) -> list[pl.Series]:
    """For each field whether a market of the event has it: ``has_<field>``, a row an event."""
    length = markets.list.len().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(length)
    each = markets.explode(empty_as_null=False, keep_nulls=False)
    found = []
    for field in fields:
        value = each.struct.field(field) if length.any() else pl.Series([], dtype=pl.String)
        before = np.concatenate(
            ([0], np.cumsum((value.is_not_null() & (value != "")).fill_null(value=False)))
        )
        found.append(pl.Series(f"has_{field}", before[ends] > before[ends - length]))
    return found


def _list(name: str) -> pl.Expr:
    """A list of texts: as it is, or from JSON in its one text; missing where empty."""
    return pl.col(name).map_batches(_opened, return_dtype=pl.List(pl.String()))


def _opened(lists: pl.Series) -> pl.Series:
    if lists.dtype == pl.String:
        alone = lists.str.strip_chars()
        plain = pl.Series([None], dtype=pl.List(pl.String())).new_from_index(0, len(lists))
        odd = alone.is_not_null() & (alone != "") & ~alone.str.starts_with("[")
        if odd.any():  # a plain text is a list of one
            one = alone.to_frame("text").select(pl.concat_list("text")).to_series()
            plain = one.zip_with(odd.fill_null(value=False), plain)
    else:
        count = lists.list.len()
        alone = lists.list.first().set(count != 1, None).str.strip_chars()
        plain = lists.set((count == 0) | (alone == "").fill_null(value=False), None)
    packed = alone.str.starts_with("[").fill_null(value=False)
    if not packed.any():
        return plain
    # Many markets share the same few texts: each is opened once.
    texts = alone.set(~packed, None)
    known = texts.unique().drop_nulls()
    opened = known.str.json_decode(pl.List(pl.String()))
    table = pl.DataFrame({"text": known, "opened": opened})
    found = texts.to_frame("text").join(table, on="text", how="left", maintain_order="left")
    return found["opened"].zip_with(packed, plain)


def markets(page: pl.Series) -> pl.DataFrame:
    """Markets of a page, as listed, each beside the id of its event; times in UTC.

    Columns: gamma, condition, event, question, slug, label, outcomes, settled (prices of the
    outcomes), token (first), opened, closed_market, uma_end, is_closed, volumeNum, volumeClob,
    bid, ask. ``volumeNum`` falls back to ``volume``; ``uma_end`` is read where no close is.
    """
    frame = (
        _events(page)
        .select(event=_text("id"), market=pl.col("markets"))
        .explode("market", empty_as_null=False)
        .drop_nulls("market")
        .unnest("market")
        # Only asked for where there is no close.
        .with_columns(uma_end=pl.when(_text("closedTime").is_null()).then(pl.col("umaEndDate")))
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
        token=_first_token(),
        opened=pl.min_horizontal(parsed_time("startDate"), parsed_time("createdAt")),
        closed_market=parsed_time("closedTime"),
        uma_end=parsed_time("uma_end"),
        is_closed=pl.col("closed").fill_null(value=False),
        volumeNum=pl.coalesce(_number("volumeNum"), _number("volume")),
        volumeClob=pl.coalesce(_number("volumeClob"), _number("volumeNum"), _number("volume")),
        bid=_number("bestBid"),
        ask=_number("bestAsk"),
    )


def _first_token() -> pl.Expr:
    """The first of the token ids: decimal digits, kept as text."""
    return pl.col("clobTokenIds").map_batches(_first_digits, return_dtype=pl.String)


def _first_digits(lists: pl.Series) -> pl.Series:
    first = lists if lists.dtype == pl.String else lists.list.first()
    # The usual form needs no groups of a pattern, which cost ten times as much.
    quoted = first.str.splitn('"', 3).struct.unnest()
    usual = (quoted["field_0"] == "[") & quoted["field_1"].str.contains(r"^\d+$")
    found = quoted["field_1"].set(~usual.fill_null(value=False), None)
    if (odd := found.is_null() & first.is_not_null()).any():
        rare = first.set(~odd, None).str.extract(r'^\s*(?:\[\s*"?)?(\d+)', 1)
        found = found.zip_with(~odd, rare)
    return found

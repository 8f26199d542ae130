"""Parse the listing into typed tables, and say of every market why it is in the population or not.

Pages are parsed a few at a time and put into the database, so memory holds a few; what needs
all of them (a market listed under two events) is SQL over the database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from remeasure.errors import SourceError
from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.store.tables import create, quoted, writer
from remeasure.studies.polymarket import listing_pages
from remeasure.studies.polymarket.schema import EVENTS, MARKETS
from remeasure.studies.polymarket.settings import Definitions, Window
from remeasure.studies.polymarket.topics import chosen_rule, direction, expect_version, topic_of

#: Pages that are typed at once.
PAGES_AT_ONCE = 8

_EVENTS_STAGE, _MARKETS_STAGE = "listed_events", "listed_markets"


class PopulationStep(Model):
    """Settings of `parse_population`: the window of closes, and the open definitions."""

    window: Window
    definitions: Definitions


def parse_population(*, listings: list[Path], population: Path, settings: PopulationStep) -> None:
    """Step: pages of the listing to the tables ``events`` and ``markets``.

    Parameters
    ----------
    listings
        Manifests of the shards.
    population
        Output, DuckDB.

    Raises
    ------
    SourceError
        When a page is not the one in its manifest, or no page of events.
    """
    expect_version(settings.definitions.topics_version)
    with writer(population) as connection:
        for page, where in batches(listings):
            try:
                events, markets = typed(page, settings)
            except pl.exceptions.PolarsError as error:
                raise SourceError(
                    f"a field has an unknown form: {str(error).splitlines()[0]}",
                    where=where,
                    remedy="look at these pages: the service has changed its format",
                ) from error
            _append(connection, _EVENTS_STAGE, events)
            _append(connection, _MARKETS_STAGE, markets)
        _finish(connection)


def batches(listings: Sequence[Path]) -> Iterator[tuple[pl.Series, str]]:
    """Pages of manifests, a few of one form at a time, and where they lie."""
    waiting: dict[pl.DataType, list[pl.Series]] = {}
    places: dict[pl.DataType, list[Path]] = {}
    for path in listings:
        manifest = Manifest.read(path)
        for entry in manifest.files:
            page = listing_pages.decoded(manifest.read_verified(entry), manifest.file(entry))
            waiting.setdefault(page.dtype, []).append(page)
            places.setdefault(page.dtype, []).append(manifest.file(entry))
            if len(waiting[page.dtype]) == PAGES_AT_ONCE:
                yield _together(waiting.pop(page.dtype), places.pop(page.dtype))
    for form, pages in waiting.items():
        yield _together(pages, places[form])


def _together(pages: list[pl.Series], places: list[Path]) -> tuple[pl.Series, str]:
    return pl.concat(pages), ", ".join(place.as_posix() for place in places)


def typed(page: pl.Series, settings: PopulationStep) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of ``events`` and of ``markets`` from one page; a row may be in another page, too."""
    listed = (
        listing_pages.events(page).with_columns(rule=chosen_rule()).with_columns(topic=topic_of())
    )
    events = listed.select(EVENTS.schema().keys())
    of_event = listed.select(
        "event", "parent", "topic", closed_event="closed", event_dollars="dollars"
    ).unique("event", keep="first", maintain_order=True)
    markets = (
        listing_pages.markets(page)
        .join(of_event, on="event", how="left", maintain_order="left")
        .with_columns(
            market=pl.coalesce("condition", pl.lit("gamma:") + pl.col("gamma")),
            cluster=_cluster(settings.definitions),
            total_dollars=pl.col(settings.definitions.size_volume),
            first_outcome=pl.col("outcomes").list.first(),
            **_close(settings.definitions),
            **_resolution(settings.definitions),
        )
        .with_columns(
            direction=pl.when(pl.col("topic") == "crypto")
            .then(direction())
            .otherwise(pl.lit(0, dtype=pl.Int16)),
            reason=_reason(settings),
        )
    )
    return events, markets.select(*MARKETS.schema().keys())


def _cluster(definitions: Definitions) -> pl.Expr:
    match definitions.cluster:
        case "parent":
            return pl.coalesce("parent", "event")
        case "event":
            return pl.col("event")
        case _:
            return pl.coalesce("condition", pl.lit("gamma:") + pl.col("gamma"))


def _close(definitions: Definitions) -> dict[str, pl.Expr]:
    """Close and the field that it is from; never the nominal end."""
    columns = {"market": "closed_market", "event": "closed_event", "uma": "uma_end"}
    first = "market" if definitions.close_of == "market" else "event"
    order = dict.fromkeys((first, *definitions.close_fallbacks, "market"))
    if first == "market":
        order = dict.fromkeys((first, *definitions.close_fallbacks))
    closed = pl.coalesce([columns[name] for name in order])
    source = pl.coalesce(
        [pl.when(pl.col(columns[name]).is_not_null()).then(pl.lit(name)) for name in order]
    )
    return {"closed": closed, "close_source": source}


def _resolution(definitions: Definitions) -> dict[str, pl.Expr]:
    one, two = (
        pl.col("settled").list.get(0, null_on_oob=True),
        pl.col("settled").list.get(1, null_on_oob=True),
    )
    near = definitions.clean_within
    first = (one >= 1 - near) & (two <= near)
    second = (one <= near) & (two >= 1 - near)
    half = ((one - 0.5).abs() <= definitions.half_width) & (
        (two - 0.5).abs() <= definitions.half_width
    )
    return {
        "outcome": pl.when(first).then(1).when(second).then(0).cast(pl.Int16),
        "half": half.fill_null(value=False),
    }


def _reason(settings: PopulationStep) -> pl.Expr:
    """Why a market is not in the population; missing where it is. The first reason counts."""
    window = settings.window
    first = datetime.combine(window.first, datetime.min.time())
    after = datetime.combine(window.last, datetime.min.time()) + timedelta(days=1)
    two = pl.col("outcomes").list.len() == 2
    return (
        pl.when(~pl.col("is_closed"))
        .then(pl.lit("still open"))
        .when(pl.col("outcomes").is_null() | pl.col("settled").is_null())
        .then(pl.lit("no outcomes or no settlement"))
        .when(~two)
        .then(pl.lit("not two outcomes"))
        .when(pl.col("closed").is_null())
        .then(pl.lit("no close time"))
        .when((pl.col("closed") < first) | (pl.col("closed") >= after))
        .then(pl.lit("closed outside the window"))
        .when(pl.col("event_dollars").fill_null(0) < settings.definitions.event_usd)
        .then(pl.lit("event traded too little"))
        .when(pl.col("half"))
        .then(pl.lit("resolved 50-50"))
        .when(pl.col("outcome").is_null())
        .then(pl.lit("not settled"))
    )


def _append(connection: duckdb.DuckDBPyConnection, stage: str, frame: pl.DataFrame) -> None:
    connection.register("page", frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    connection.execute(f"CREATE TABLE IF NOT EXISTS {quoted(stage)} AS FROM page LIMIT 0")
    connection.execute(f"INSERT INTO {quoted(stage)} FROM page")
    connection.unregister("page")


def _finish(connection: duckdb.DuckDBPyConnection) -> None:
    """Every event and every market once: of several listings the one of the smallest event."""
    for table, stage, order in (
        (EVENTS, _EVENTS_STAGE, "len(event), event"),
        (MARKETS, _MARKETS_STAGE, "len(event), event, len(gamma), gamma"),
    ):
        create(connection, table)
        names = ", ".join(quoted(column.name) for column in table.columns)
        key = quoted(table.key[0])
        # Names are declared in code and quoted: nothing in these statements comes from data.
        connection.execute(
            f"INSERT INTO {quoted(table.name)} ({names}) SELECT {names} FROM {quoted(stage)}"  # noqa: S608
            f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order}) = 1 ORDER BY {key}"
        )
        connection.execute(f"DROP TABLE {quoted(stage)}")

"""Series beside the markets: Bitcoin by months, bill rates, and the charts of single markets."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.raw import Wanted
from remeasure.fetch.walk import opened
from remeasure.model import Model
from remeasure.store.tables import reader, select, write_tables
from remeasure.studies.polymarket.addresses import (
    Hosts,
    bill_rate,
    bitcoin_months,
    life_prices,
    price_window,
)
from remeasure.studies.polymarket.origin import FetchSettings, layout_of
from remeasure.studies.polymarket.prices import points, price_wanted
from remeasure.studies.polymarket.probe import refuse_broken
from remeasure.studies.polymarket.schema import BTC_MONTH, CHART_SERIES, RATES
from remeasure.studies.polymarket.settings import Window

SOURCE = "polymarket_series"

#: The election chart: slug of the event, and what the question names.
ELECTION = ("presidential-election-winner-2024", "Donald Trump")

#: The Nobel chart: part of the event's slug, and the window (UTC).
NOBEL = "nobel-peace-prize-winner-2025"
NOBEL_FIRST = int(datetime(2025, 10, 8, 12, tzinfo=UTC).timestamp())
NOBEL_LAST = int(datetime(2025, 10, 10, 9, tzinfo=UTC).timestamp())
NOBEL_MINUTES = 5


def charted(population: Path) -> pl.DataFrame:
    """Markets of the charts: chart, label, token; sorted by chart and label."""
    with reader(population) as connection:
        return select(
            connection,
            """
            SELECT 'election' AS chart, m.question AS label, m.token
            FROM markets m JOIN events e USING (event)
            WHERE e.slug = ? AND contains(m.question, ?) AND m.token IS NOT NULL
            UNION ALL
            SELECT 'nobel', coalesce(m.label, m.question), m.token
            FROM markets m JOIN events e USING (event)
            WHERE contains(e.slug, ?) AND m.token IS NOT NULL
            ORDER BY 1, 2, 3
            """,
            [*ELECTION, NOBEL],
        )


def addresses_of(charts: pl.DataFrame, hosts: Hosts) -> list[tuple[str, str, str]]:
    """Chart, label and address of each chart's series."""
    return [
        (
            chart,
            label,
            life_prices(hosts, token)
            if chart == "election"
            else price_window(hosts, token, NOBEL_FIRST, NOBEL_LAST, minutes=NOBEL_MINUTES),
        )
        for chart, label, token in charts.iter_rows()
    ]


def month_bounds(window: Window) -> tuple[datetime, datetime]:
    """First of the month before the window, and first of its last month (UTC)."""
    first, last = window.first, window.last
    year, month = (first.year, first.month - 1) if first.month > 1 else (first.year - 1, 12)
    return datetime(year, month, 1, tzinfo=UTC), datetime(last.year, last.month, 1, tzinfo=UTC)


class SeriesStep(FetchSettings):
    """Settings of `fetch_series`: beside those of every fetch, the window."""

    window: Window


def fetch_series(
    *,
    population: Path,
    manifest: Path,
    settings: SeriesStep,
    world: Path | None = None,
    probe: Path | None = None,
) -> None:
    """Step: monthly candles of Bitcoin, the bill rate and the series of the charts.

    Parameters
    ----------
    population
        Input, DuckDB: where the tokens of the charts stand.
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    world
        Origin ``generated``: the manifest of the world.
    probe
        Origin ``public``: what the probe found; a broken assumption stops the crawl.
    """
    hosts = settings.crawl.hosts
    origin = layout_of(settings, world)
    if probe is not None:
        refuse_broken(probe, ("life prices",))
    wanted = [
        Wanted(bitcoin_months(hosts, *month_bounds(settings.window))),
        Wanted(bill_rate(hosts)),
        *(price_wanted(url) for _, _, url in addresses_of(charted(population), hosts)),
    ]
    with opened(SOURCE, origin, rate=settings.crawl.rates.data, total=len(wanted)) as pages:
        pages.many(wanted)
        files = [pages.files[layout.url_to_path(each.url)] for each in wanted]
    Manifest.of(SOURCE, settings.origin, origin.root.as_posix(), files).write(manifest)


class ParseSeriesStep(Model):
    """Settings of `parse_series`: hosts that were asked, and the window."""

    hosts: Hosts
    window: Window


def parse_series(
    *, population: Path, manifest: Path, series: Path, settings: ParseSeriesStep
) -> None:
    """Step: the answers to the tables ``btc_month``, ``rates`` and ``chart_series``.

    Parameters
    ----------
    population
        Input, DuckDB.
    manifest
        Input: the answers.
    series
        Output, DuckDB.
    """
    raw = Manifest.read(manifest)

    def body(url: str) -> bytes:
        return raw.read_verified(raw.entry(layout.url_to_path(url)))

    hosts = settings.hosts
    months = bitcoin_months(hosts, *month_bounds(settings.window))
    write_tables(
        series,
        [
            (BTC_MONTH, bitcoin(body(months), months)),
            (RATES, rates(body(bill_rate(hosts)), bill_rate(hosts))),
            (
                CHART_SERIES,
                _charts(
                    [
                        (chart, label, body(url))
                        for chart, label, url in addresses_of(charted(population), hosts)
                    ]
                ),
            ),
        ],
    )


def bitcoin(body: bytes, where: object) -> pl.DataFrame:
    """Monthly returns, close to close, from an answer of ``/api/v3/klines``.

    Raises
    ------
    SourceError
        When the answer is no list of candles, or a month is missing between two others.
    """
    try:
        candles = [(int(row[0]), float(row[4])) for row in json.loads(body)]
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise SourceError(
            f"this is no list of candles ({error})",
            where=where,
            remedy="look at the answer: the service has changed its format",
        ) from error
    frame = (
        pl.DataFrame(candles, schema={"ms": pl.Int64, "close": pl.Float64}, orient="row")
        .unique("ms", keep="last", maintain_order=True)
        .sort("ms")
        .with_columns(start=pl.from_epoch("ms", time_unit="ms"))
    )
    steps = frame["start"].dt.year() * 12 + frame["start"].dt.month()
    if (steps.diff().drop_nulls() != 1).any():
        raise SourceError(
            "a month of Bitcoin is missing", where=where, remedy="ask for the months again"
        )
    ratio = pl.col("close") / pl.col("close").shift(1)
    return (
        frame.select(month=pl.col("start").dt.strftime("%Y-%m"), simple=ratio - 1, log=ratio.log())
        .drop_nulls("simple")
        .select(BTC_MONTH.schema().keys())
    )


def rates(body: bytes, where: object) -> pl.DataFrame:
    """Business days of DTB3; days without a value are holidays.

    Raises
    ------
    SourceError
        When the columns are not those of FRED's graph export.
    """
    try:
        frame = pl.read_csv(io.BytesIO(body), infer_schema=False)
        day = next(name for name in ("observation_date", "DATE") if name in frame.columns)
        return (
            frame.select(
                day=pl.col(day).str.to_date("%Y-%m-%d"),
                percent=pl.when(~pl.col("DTB3").is_in(["", "."])).then(pl.col("DTB3")),
            )
            .with_columns(pl.col("percent").cast(pl.Float64))
            .drop_nulls("percent")
        )
    except (pl.exceptions.PolarsError, StopIteration) as error:
        raise SourceError(
            "this is no table of DTB3 with the columns observation_date and DTB3",
            where=where,
            remedy="look at the answer: the service has changed its format",
        ) from error


def _charts(answers: list[tuple[str, str, bytes]]) -> pl.DataFrame:
    if not answers:
        return CHART_SERIES.empty()
    found = points([body for *_, body in answers], [None] * len(answers), where=SOURCE)
    names = pl.DataFrame(
        {
            "series": pl.Series(range(len(answers)), dtype=pl.Int64),
            "chart": [chart for chart, *_ in answers],
            "label": [label for _, label, _ in answers],
        }
    )
    return (
        found.join(names, on="series", how="left", maintain_order="left")
        .with_columns(time=pl.from_epoch("t", time_unit="s").cast(pl.Datetime("us")), price="p")
        .unique(["chart", "label", "time"], keep="first", maintain_order=True)
        .select(CHART_SERIES.schema().keys())
    )

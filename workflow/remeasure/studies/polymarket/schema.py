"""The study's tables: what every column is called, its unit and its meaning.

``forecasts`` is the one table that experiments read: a row for each sampled market and
horizon that it lived through. Everything in a row but ``total_dollars`` and ``outcome`` was
known at the forecast time; ``total_dollars`` is there for the draw by size and for the panel
that shows the trap.
"""

from __future__ import annotations

from typing import Final

from remeasure.store.tables import Column, Table

TOPICS: Final = ("politics", "sports", "crypto", "economy", "culture", "science")
HORIZONS: Final = ("day", "week", "month", "quarter", "half")

_TOPIC = "topic IN ('politics', 'sports', 'crypto', 'economy', 'culture', 'science')"
_SHARE = "BETWEEN 0 AND 1"

FORECASTS = Table(
    name="forecasts",
    meaning="a sampled market at one horizon before its close, if it was open by then",
    columns=(
        Column(name="market", sql="VARCHAR", meaning="conditionId"),
        Column(name="event", sql="VARCHAR", meaning="cluster: the parent event, else the event"),
        Column(name="topic", sql="VARCHAR", meaning="one of six", check=_TOPIC),
        Column(name="horizon", sql="VARCHAR", meaning="day, week, month, quarter or half"),
        Column(name="closed", sql="TIMESTAMP", meaning="close of the market, UTC"),
        Column(name="life_days", sql="DOUBLE", unit="d", meaning="close minus the first start"),
        Column(
            name="price",
            sql="DOUBLE",
            unit="USD",
            meaning="of the first outcome; missing when there is none or a too old one",
            null=True,
            check=f"price {_SHARE}",
        ),
        Column(
            name="stale_hours",
            sql="DOUBLE",
            unit="h",
            meaning="age of the price at the forecast time",
            null=True,
            check="stale_hours >= 0",
        ),
        Column(
            name="week_dollars",
            sql="DOUBLE",
            unit="USD",
            meaning="traded in the 7 days that end at the forecast time; missing when unknown",
            null=True,
            check="week_dollars >= 0",
        ),
        Column(name="in_topic_draw", sql="BOOLEAN", meaning="drawn by topic"),
        Column(name="in_size_draw", sql="BOOLEAN", meaning="drawn by size"),
        Column(name="pi", sql="DOUBLE", unit="1", meaning="inclusion probability", check="pi > 0"),
        Column(
            name="pi_topic",
            sql="DOUBLE",
            unit="1",
            meaning="inclusion probability of the draw by topic",
            check="pi_topic > 0",
        ),
        Column(name="weight", sql="DOUBLE", unit="1", meaning="1 / pi", check="weight > 0"),
        Column(
            name="total_dollars",
            sql="DOUBLE",
            unit="USD",
            meaning="traded in the whole life: an outcome, never a filter",
            null=True,
        ),
        Column(
            name="outcome",
            sql="SMALLINT",
            unit="1",
            meaning="1 when the first outcome won",
            check="outcome IN (0, 1)",
        ),
        Column(
            name="direction",
            sql="SMALLINT",
            unit="1",
            meaning="crypto prices: +1 when the first outcome says rising, -1 falling; else 0",
            check="direction IN (-1, 0, 1)",
        ),
        Column(name="question", sql="VARCHAR", meaning="as listed"),
        Column(
            name="week_shares",
            sql="DOUBLE",
            unit="1",
            meaning="as week_dollars, counted in shares",
            null=True,
        ),
        Column(
            name="price_source",
            sql="VARCHAR",
            meaning="hourly, three_hour, life or table: the series that the price is from",
            null=True,
        ),
    ),
    key=("market", "horizon"),
    checks=("abs(weight * pi - 1) < 1e-9",),
)

EVENTS = Table(
    name="events",
    meaning="a closed event of the listing",
    columns=(
        Column(name="event", sql="VARCHAR", meaning="Gamma id"),
        Column(name="parent", sql="VARCHAR", meaning="parentEventId", null=True),
        Column(name="slug", sql="VARCHAR", meaning="slug"),
        Column(name="title", sql="VARCHAR", meaning="title"),
        Column(name="closed", sql="TIMESTAMP", meaning="closedTime, UTC", null=True),
        Column(name="dollars", sql="DOUBLE", unit="USD", meaning="volume of the event", null=True),
        Column(name="topic", sql="VARCHAR", meaning="by the rules of topics.yaml", check=_TOPIC),
        Column(name="rule", sql="VARCHAR", meaning="the rule that chose the topic"),
    ),
    key=("event",),
)

MARKETS = Table(
    name="markets",
    meaning="a market of a listed event, each conditionId once; clean where reason is missing",
    columns=(
        Column(name="market", sql="VARCHAR", meaning="conditionId, or gamma:<id> without one"),
        Column(name="gamma", sql="VARCHAR", meaning="Gamma id"),
        Column(name="event", sql="VARCHAR", meaning="Gamma id of the event it is listed under"),
        Column(name="cluster", sql="VARCHAR", meaning="the parent event, else the event"),
        Column(name="topic", sql="VARCHAR", meaning="one of six", check=_TOPIC),
        Column(name="question", sql="VARCHAR", meaning="as listed"),
        Column(name="slug", sql="VARCHAR", meaning="slug"),
        Column(name="label", sql="VARCHAR", meaning="groupItemTitle", null=True),
        Column(name="token", sql="VARCHAR", meaning="token of the first outcome", null=True),
        Column(name="first_outcome", sql="VARCHAR", meaning="its label", null=True),
        Column(name="opened", sql="TIMESTAMP", meaning="first of its starts, UTC", null=True),
        Column(name="closed", sql="TIMESTAMP", meaning="close of the market, UTC", null=True),
        Column(
            name="close_source",
            sql="VARCHAR",
            meaning="field that the close is from: market, event or uma",
            null=True,
        ),
        Column(name="outcome", sql="SMALLINT", unit="1", meaning="1: first outcome won", null=True),
        Column(
            name="half",
            sql="BOOLEAN",
            meaning="resolved 50-50",
        ),
        Column(
            name="reason",
            sql="VARCHAR",
            meaning="why it is not in the population; missing where it is",
            null=True,
        ),
        Column(
            name="total_dollars", sql="DOUBLE", unit="USD", meaning="volume of its life", null=True
        ),
        Column(name="direction", sql="SMALLINT", unit="1", meaning="as in forecasts"),
    ),
    key=("market",),
)

SAMPLE = Table(
    name="sample",
    meaning="a clean market that one draw or both chose",
    columns=(
        Column(name="market", sql="VARCHAR", meaning="conditionId"),
        Column(name="in_topic_draw", sql="BOOLEAN", meaning="drawn by topic"),
        Column(name="in_size_draw", sql="BOOLEAN", meaning="drawn by size"),
        Column(name="pi", sql="DOUBLE", unit="1", meaning="inclusion probability", check="pi > 0"),
        Column(name="pi_topic", sql="DOUBLE", unit="1", meaning="that of the draw by topic"),
        Column(name="pi_size", sql="DOUBLE", unit="1", meaning="that of the draw by size"),
        Column(name="weight", sql="DOUBLE", unit="1", meaning="1 / pi"),
        Column(name="shard", sql="INTEGER", unit="1", meaning="part of the crawl"),
    ),
    key=("market",),
)

LIFE_PRICES = Table(
    name="life_prices",
    meaning="price of a sampled market on a grid of days before its close",
    columns=(
        Column(name="market", sql="VARCHAR", meaning="conditionId"),
        Column(name="days_before", sql="DOUBLE", unit="d", meaning="days before the close"),
        Column(
            name="price",
            sql="DOUBLE",
            unit="USD",
            meaning="of the first outcome; missing as in forecasts",
            null=True,
            check=f"price {_SHARE}",
        ),
    ),
    key=("market", "days_before"),
)

BOOK_SNAPSHOT = Table(
    name="book_snapshot",
    meaning="an open market on the night of the snapshot",
    columns=(
        Column(name="market", sql="VARCHAR", meaning="conditionId"),
        Column(name="slug", sql="VARCHAR", meaning="slug"),
        Column(name="question", sql="VARCHAR", meaning="as listed"),
        Column(name="bid", sql="DOUBLE", unit="USD", meaning="best bid", null=True),
        Column(name="ask", sql="DOUBLE", unit="USD", meaning="best ask", null=True),
        Column(name="total_dollars", sql="DOUBLE", unit="USD", meaning="so far", null=True),
    ),
    key=("market",),
)

BTC_MONTH = Table(
    name="btc_month",
    meaning="Bitcoin over one calendar month (UTC)",
    columns=(
        Column(name="month", sql="VARCHAR", meaning="as in 2025-07"),
        Column(name="simple", sql="DOUBLE", unit="1", meaning="return, close to close"),
        Column(name="log", sql="DOUBLE", unit="1", meaning="its logarithm"),
    ),
    key=("month",),
)

RATES = Table(
    name="rates",
    meaning="3-month Treasury bills, secondary market (DTB3), a business day",
    columns=(
        Column(name="day", sql="DATE", meaning="business day"),
        Column(name="percent", sql="DOUBLE", unit="percent", meaning="discount rate a year"),
    ),
    key=("day",),
)

CHART_SERIES = Table(
    name="chart_series",
    meaning="prices of the single-market charts",
    columns=(
        Column(name="chart", sql="VARCHAR", meaning="election or nobel"),
        Column(name="label", sql="VARCHAR", meaning="candidate"),
        Column(name="time", sql="TIMESTAMP", meaning="UTC"),
        Column(name="price", sql="DOUBLE", unit="USD", meaning="of the first outcome"),
    ),
    key=("chart", "label", "time"),
)

TRUTH = Table(
    name="truth",
    meaning="generated data: what was planted for a market at a horizon",
    columns=(
        Column(name="market", sql="VARCHAR", meaning="conditionId"),
        Column(name="horizon", sql="VARCHAR", meaning="as in forecasts"),
        Column(
            name="probability",
            sql="DOUBLE",
            unit="1",
            meaning="true probability that the first outcome wins, at the forecast time",
            check=f"probability {_SHARE}",
        ),
        Column(name="week_dollars", sql="DOUBLE", unit="USD", meaning="planted", null=True),
        Column(name="price", sql="DOUBLE", unit="USD", meaning="planted, as written", null=True),
        Column(
            name="driver", sql="DOUBLE", unit="1", meaning="the month's, crypto only", null=True
        ),
    ),
    key=("market", "horizon"),
)

REAL = Table(
    name="real",
    meaning="a resolved market of somebody's collection at one horizon before its resolution",
    columns=(
        Column(name="source", sql="VARCHAR", meaning="pancake, drozy or midterms"),
        Column(name="market", sql="VARCHAR", meaning="conditionId, or the collection's own name"),
        Column(name="event", sql="VARCHAR", meaning="cluster; the market where none is known"),
        Column(name="event_known", sql="BOOLEAN", meaning="whether its event is known"),
        Column(name="yes_no", sql="BOOLEAN", meaning="outcomes are Yes and No"),
        Column(
            name="dated",
            sql="BOOLEAN",
            meaning="the question has a deadline; missing where there is no question",
            null=True,
        ),
        Column(name="horizon", sql="VARCHAR", meaning="day, week or month"),
        Column(name="closed", sql="TIMESTAMP", meaning="resolution, UTC"),
        Column(
            name="price",
            sql="DOUBLE",
            unit="USD",
            meaning="of the first outcome",
            null=True,
            check=f"price {_SHARE}",
        ),
        Column(
            name="stale_hours",
            sql="DOUBLE",
            unit="h",
            meaning="age of the price at the forecast time",
            null=True,
            check="stale_hours >= 0",
        ),
        Column(
            name="week_dollars",
            sql="DOUBLE",
            unit="USD",
            meaning="traded in the 7 days that end at the forecast time",
            null=True,
            check="week_dollars >= 0",
        ),
        Column(
            name="total_dollars",
            sql="DOUBLE",
            unit="USD",
            meaning="traded in the whole life: an outcome, never a filter",
            null=True,
        ),
        Column(
            name="outcome",
            sql="SMALLINT",
            unit="1",
            meaning="1 when the first outcome won",
            check="outcome IN (0, 1)",
        ),
        Column(name="question", sql="VARCHAR", meaning="as listed", null=True),
    ),
    key=("source", "market", "horizon"),
)

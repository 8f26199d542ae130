"""Sets and estimates against plain pandas, scikit-learn and loops over resampled rows."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from polymarket_tables import book_rows, default_settings, forecast_rows, named
from remeasure.stats.cluster_bootstrap import Clusters, draw_counts
from remeasure.studies.polymarket.band_sums import both_ways, by_band, rare, won_per_dollar
from remeasure.studies.polymarket.crypto_months import close_calls, monthly
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Resampling,
    Rows,
    Scored,
    answer,
    of_few,
    rare_events,
    ratio,
)
from remeasure.studies.polymarket.net_returns import after, printed_costs
from remeasure.studies.polymarket.recalibration import RecalibrationStep, fitted
from remeasure.studies.polymarket.scope import Scope, coverage, sampling_coverage
from remeasure.studies.polymarket.sets import BANDS, COLUMNS, lasting, panel, traded
from remeasure.studies.polymarket.spread_costs import contracts, quoted


@pytest.fixture(scope="module")
def forecasts() -> pl.DataFrame:
    return forecast_rows(named()).with_columns(pl.col("outcome").cast(pl.Float64))


@pytest.fixture(scope="module")
def pandas(forecasts: pl.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(forecasts.to_dicts())


def test_sets(forecasts: pl.DataFrame, pandas: pd.DataFrame) -> None:
    week = pandas[(pandas["horizon"] == "week") & (pandas["week_dollars"] >= 1000)]
    assert traded(forecasts, "week", 1000)["market"].to_list() == week["market"].to_list()
    assert traded(forecasts, "week", None).height == (pandas["horizon"] == "week").sum()
    real = pandas[
        (pandas["week_dollars"] >= 1000) & pandas["horizon"].isin(["day", "week", "month"])
    ]
    counts = real.groupby("market").size()
    expected = sorted(counts[counts == 3].index)
    for own in panel(forecasts, 1000).values():
        assert own["market"].to_list() == expected
    month = pandas[(pandas["horizon"] == "month") & (pandas["week_dollars"] >= 1000)]
    long = month[month["life_days"] >= 60]["market"].to_list()
    assert lasting(forecasts, 1000, 60)["market"].to_list() == long


def test_sets_know_nothing_that_was_counted_later() -> None:
    assert "total_dollars" not in COLUMNS
    assert not {"in_size_draw", "in_topic_draw"} & set(COLUMNS)


def test_scores_against_scikit_learn(forecasts: pl.DataFrame) -> None:
    week = traded(forecasts, "week", 1000)
    scored = Scored.of(Rows.of(week), Resampling(100, 1))
    expected = brier_score_loss(week["outcome"], week["price"], sample_weight=week["weight"])
    found = scored.part("brier")
    assert found.value == pytest.approx(expected, abs=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert found.low < expected < found.high
    assert found.effective == pytest.approx(week["weight"].sum() ** 2 / (week["weight"] ** 2).sum())


def test_returns_against_pandas(forecasts: pl.DataFrame) -> None:
    week = traded(forecasts, "week", 1000)
    found = by_band(Rows.of(week).both_sides(), BANDS, Resampling(50, 1))
    own = pd.DataFrame(week.to_dicts())
    yes = own[["price", "outcome", "weight"]]
    no = pd.DataFrame(
        {
            "price": (1 - own["price"]).round(4),
            "outcome": 1 - own["outcome"],
            "weight": own["weight"],
        }
    )
    both = pd.concat([yes, no])
    both["band"] = pd.cut(
        (both["price"] * 10_000).round(), BANDS, right=False, labels=range(len(BANDS) - 1)
    )
    for index, rows in both.groupby("band", observed=True):
        w = rows["weight"]
        mean = (w * (rows["outcome"] / rows["price"] - 1)).sum() / w.sum()
        pooled = (w * rows["outcome"]).sum() / (w * rows["price"]).sum() - 1
        assert found[index, "return"].value == pytest.approx(mean, abs=1e-9)
        assert found[index, "pooled"].value == pytest.approx(pooled, abs=1e-9)
        assert found[index, "win"].value == pytest.approx((w * rows["outcome"]).sum() / w.sum())
        assert found[index, "return"].n == len(rows)


def test_intervals_against_resampled_rows(forecasts: pl.DataFrame) -> None:
    """Percentiles of the ratio in resamples built row by row."""
    rows = Rows.of(traded(forecasts, "week", 1000))
    top, bottom = rows.w * rows.y, rows.w
    found = ratio(rows, top[:, None], bottom[:, None], Resampling(60, 4))[0]
    counts = draw_counts(rows.clusters.count, 60, np.random.default_rng(4))
    values = []
    for row in counts:
        picked = np.repeat(np.arange(rows.n), row[rows.clusters.codes])
        values.append(top[picked].sum() / bottom[picked].sum())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


def contracts_of(tick: list[int], won: list[int], event: list[str]) -> Rows:
    return Rows.of(
        pl.DataFrame(
            {
                "price": np.array(tick) / 10_000,
                "outcome": np.array(won, dtype=np.float64),
                "weight": np.ones(len(tick)),
                "event": event,
            }
        )
    )


def test_few_winners_have_the_exact_interval() -> None:
    """Single markets alike: nothing but a binomial share, whose exact interval scipy knows."""
    rows = contracts_of([300] * 400, [1] * 8 + [0] * 392, [str(each) for each in range(400)])
    found = by_band(rows, (200, 500), Resampling(4000, 3))
    exact = binomtest(8, 400).proportion_ci()
    for name, most, stake in (("win", 1, 0), ("return", 1 / 0.03, 1), ("pooled", 1 / 0.03, 1)):
        each = found[0, name]
        ends = most * exact.low - stake, most * exact.high - stake
        # The resamples' variance is known to a fortieth, and the ends to half of that.
        assert (each.low, each.high) == pytest.approx(ends, rel=0.04), name
    plain = both_ways(rows, (200, 500), Resampling(4000, 3), ["win"])[1][0, "win"]
    assert plain.high is not None
    assert plain.high < exact.high - 0.003
    assert rare(rows, (200, 500)) == [8]


def test_winners_of_one_event_count_once() -> None:
    """Eight winners in one event are one draw of chance, not eight."""
    events = ["one"] * 8 + [str(each) for each in range(392)]
    together = contracts_of([300] * 400, [1] * 8 + [0] * 392, events)
    assert rare_events(together, np.ones(400, dtype=np.bool_)) == (
        1,
        pytest.approx(400**2 / (64 + 392)),
    )
    apart = replace(together, clusters=Clusters.alone(400))
    one, many = (
        by_band(each, (200, 500), Resampling(400, 3))[0, "win"] for each in (together, apart)
    )
    assert one.high is not None
    assert many.high is not None
    assert one.high > 1.5 * many.high


def test_favourites_in_the_trap_mirror_longshots() -> None:
    rows = contracts_of([9000] * 60, [0] * 6 + [1] * 54, [str(each) for each in range(60)])
    all_of_them = np.ones((60, 1), dtype=np.bool_)
    found = won_per_dollar(rows, all_of_them, Resampling(200, 1))[0]
    assert found.value == pytest.approx(1)
    assert found.high is not None
    assert found.high < 1 / 0.9  # all of them won


def test_a_band_that_was_always_won_is_not_certain() -> None:
    sure = Estimate(value=1.0, low=1.0, high=1.0, n=40, weight=40.0, effective=40.0)
    wide = of_few(sure, np.ones(50), 40.0)
    assert wide.low == pytest.approx(binomtest(40, 40).proportion_ci().low)
    assert wide.high == 1
    assert of_few(replace(sure, value=np.nan), np.ones(50), 40.0).low == 1.0
    # Twenty contracts at 97 cents, none lost: a loss could still have happened.
    rows = contracts_of([9700] * 20, [1] * 20, [str(each) for each in range(20)])
    held = by_band(rows, (9500, 9800), Resampling(50, 1))[0, "return"]
    assert held.value == pytest.approx(1 / 0.97 - 1)
    assert held.low is not None
    assert held.low < -0.1


def test_a_truth_is_asked_of_intervals_alone() -> None:
    one = Estimate(value=0.982, n=1, truth=0.9845)
    key = ("fig_long", "mean price", "6 months, 98-99.5 cents")
    bare = answer(key, one, "whole", factor=100)
    assert bare.truth is None
    assert bare.note == "too few events for an interval"
    whole = answer(key, replace(one, low=0.98, high=0.99), "whole", factor=100)
    assert (whole.truth, whole.note) == (pytest.approx(98.45), "")


def test_recalibration_against_scikit_learn(forecasts: pl.DataFrame) -> None:
    defaults = default_settings().definitions
    settings = RecalibrationStep(
        scope=scope(),
        traded_usd=1000,
        fit_weighted=True,
        fit_before=defaults.fit_before,
        resamples=50,
        bootstrap_seed=1,
    )
    week = traded(forecasts, "week", 1000)
    found = fitted(week, None, settings)
    early = week.filter(pl.col("closed") < datetime(2025, 7, 1))
    later = week.filter(pl.col("closed") >= datetime(2025, 7, 1))
    p = np.clip(early["price"].to_numpy(), 0.0005, 0.9995)
    referee = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    referee.fit(
        np.log(p / (1 - p))[:, None], early["outcome"], sample_weight=early["weight"].to_numpy()
    )
    assert found.numbers["slope"].value == pytest.approx(referee.coef_[0, 0], abs=1e-5)
    corrected = found.line(later["price"].to_numpy())
    gain = brier_score_loss(
        later["outcome"], later["price"], sample_weight=later["weight"]
    ) - brier_score_loss(later["outcome"], corrected, sample_weight=later["weight"])
    assert found.numbers["improvement"].value == pytest.approx(gain, abs=1e-12)
    assert found.numbers["before"].n == later.height


def test_crypto_months_by_hand() -> None:
    week = pl.DataFrame(
        {
            "event": ["a", "b", "c", "d", "e"],
            "topic": ["crypto"] * 5,
            "weight": [1.0, 2, 3, 4, 5],
            "closed": [datetime(2025, 3, day) for day in (1, 2, 3, 4, 31)],
            "price": [0.30, 0.35, 0.70, 0.71, 0.5],
            "outcome": [1.0, 1.0, 0.0, 1.0, 1.0],
            "direction": [1, -1, 1, 1, 0],
        }
    )
    calls = close_calls(week)
    # A falling question is turned round; 71 cents is no close call; the last has no direction.
    assert calls["price"].to_list() == pytest.approx([0.30, 0.65, 0.70])
    assert calls["outcome"].to_list() == [1.0, 0.0, 0.0]
    returns = pl.DataFrame({"month": ["2025-03"], "simple": [-0.02], "log": [-0.0202]})
    row = monthly(calls, returns, weighted=False).row(0, named=True)
    assert (row["n"], row["won"], row["bitcoin"]) == (3, 1.0, -0.02)
    assert monthly(calls, returns, weighted=True)["won"].to_list() == [1.0]
    assert monthly(calls, returns, weighted=True)["size"].to_list() == [6.0]


def test_both_contracts_of_a_quote() -> None:
    books = book_rows()
    own = quoted(books, strict=True)
    assert own.filter((pl.col("bid") <= 0) | (pl.col("ask") >= 1)).is_empty()
    assert quoted(books, strict=False).height > own.height
    mid, cost = contracts(own)
    n = own.height
    assert mid[:n] + mid[n:] == pytest.approx(np.ones(n))
    assert cost[:n] * mid[:n] == pytest.approx(cost[n:] * mid[n:])
    assert (cost <= 1).all()


def test_costs_are_taken_off() -> None:
    assert after(0.0115, 0.021, "multiplicative") == pytest.approx(-0.0093046, abs=1e-7)
    assert after(0.0115, 0.021, "additive") == pytest.approx(-0.0095)
    costs = printed_costs()
    assert costs["95-98"] == pytest.approx(0.021)
    assert len(costs) == len(BANDS) - 1


def scope(**changed: object) -> Scope:
    settings = default_settings()
    told = {
        "origin": "public",
        "window": settings.window,
        "draw": settings.draw,
        "event_usd": 1000.0,
        "traded_usd": 1000.0,
        **changed,
    }
    return Scope.model_validate(told)


def test_coverage_says_what_is_missing() -> None:
    draw = default_settings().draw
    published = draw.model_copy(
        update={
            "topic_share": {
                "sports": 0.017,
                "politics": 0.11,
                "economy": 0.16,
                "culture": 0.2,
                "crypto": 0.055,
                "science": 0.035,
            }
        }
    )
    assert coverage(scope(draw=published)) == "whole"
    assert sampling_coverage(scope(draw=published)) == "whole"
    assert "sports" in coverage(scope())
    assert "threshold" in coverage(scope(draw=published, traded_usd=None))
    assert "2024" in coverage(
        scope(draw=published, window={"first": "2025-01-01", "last": "2026-10-31"})
    )
    assert "not a probability sample" in coverage(scope(origin="files"))

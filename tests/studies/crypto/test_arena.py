"""Account values against luck: bands, the winner's lead, pairs, and a season of known luck."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from answers import answer, answered, printed_rows
from candle_tables import write_hours
from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.account_files import (
    ACCOUNTS,
    CAPITAL,
    HOURS,
    START,
    parse_accounts,
    read_accounts,
)
from remeasure.studies.crypto.arena import (
    OUTPUTS,
    ArenaSettings,
    ArenaStep,
    band,
    correlations,
    hourly_changes,
    measure_arena,
    together,
)
from remeasure.studies.crypto.generate_accounts import (
    CORRELATION,
    TOGETHER,
    GenerateAccountsStep,
    account_values,
    generate_accounts,
)

BEGIN = START.replace(tzinfo=UTC).timestamp()


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bitcoin at 100, from 90 at the start of the season to 99 at its end."""
    times = np.arange(
        np.datetime64("2025-10-17"), np.datetime64("2025-11-05"), np.timedelta64(1, "h")
    )
    closes = np.full(times.size, 100.0)
    closes[times == np.datetime64("2025-10-17T21")] = 90
    closes[times == np.datetime64("2025-11-03T21")] = 99
    path = tmp_path_factory.mktemp("arena") / "hours.duckdb"
    return write_hours(path, {"BTCUSDT": (times, closes)}, per_hour=1)


def generate(folder: Path, seed: int = 7) -> tuple[Path, Path]:
    generate_accounts(
        manifest=folder / "m.json",
        truth=folder / "truth.json",
        settings=GenerateAccountsStep(seed=seed, raw=str(folder / "raw")),
    )
    parse_accounts(manifest=folder / "m.json", accounts=folder / "accounts.duckdb")
    return folder / "accounts.duckdb", folder / "truth.json"


def measure(
    folder: Path, accounts: list[Path], hours: Path, truth: Path | None = None
) -> tuple[list[Measurement], pl.DataFrame, pl.DataFrame]:
    measured = measure_arena(
        accounts=accounts,
        hours=hours,
        paths=folder / "paths.parquet",
        bands=folder / "bands.parquet",
        settings=ArenaStep(arena=ArenaSettings(block_hours=12, resamples=400)),
        rng=np.random.default_rng(4),
        truth=truth,
    )
    return (
        measured,
        pl.read_parquet(folder / "paths.parquet"),
        pl.read_parquet(folder / "bands.parquet"),
    )


def test_exact_rows_and_bitcoin_need_no_accounts(hours: Path, tmp_path: Path) -> None:
    measured, paths, bands = measure(tmp_path, [], hours)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    exact = {each.condition: each.value for each in measured if each.value is not None}
    assert exact.pop("Bitcoin held") == pytest.approx(10)
    assert {name: f"{value:.4g}" for name, value in exact.items()} == {
        "dark band (two in three)": "68.27",
        "light band (nineteen in twenty)": "95",
        "ln 1.23 x 3": "0.621",
        "ln 1.23 x 3 / 1.267206": "0.4901",
        "-ln 0.37 / 1.96": "0.5073",
    }
    assert paths["account"].unique().to_list() == ["Bitcoin held"]
    assert bands.is_empty()


def test_bands_hold_as_many_walks_as_they_say() -> None:
    rng = np.random.default_rng(1)
    sigma, hours, walks = 0.02, 100, 20_000
    finals = CAPITAL * np.exp(sigma * rng.standard_normal((walks, hours)).sum(axis=1))
    for z, share in ((1.0, 0.6827), (1.96, 0.95)):
        low, high = band(sigma, np.array([float(hours)]), z)[:, 0]
        assert np.mean((finals > low) & (finals < high)) == pytest.approx(share, abs=0.012)
        assert low * high == pytest.approx(CAPITAL**2)
    low, high = band(sigma, np.array([float(hours)]), 1.0, fair_in_dollars=True)[:, 0]
    assert math.log(low * high / CAPITAL**2) == pytest.approx(-(sigma**2) * hours)


def test_a_season_of_known_luck(hours: Path, tmp_path: Path) -> None:
    accounts, truth = generate(tmp_path)
    measured, paths, bands = measure(tmp_path, [accounts], hours, truth)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    planted = json.loads(truth.read_text())
    for name, final in planted["final"].items():
        found = answer(measured, "final return", name)
        assert found.value == found.truth == pytest.approx(100 * (final / CAPITAL - 1))
        assert (found.coverage, found.n) == ("whole", HOURS)
    luck = answer(measured, "winner lead / typical no-skill lead")
    assert luck.low < luck.truth < luck.high
    best = math.log(max(planted["final"].values()) / CAPITAL)
    values = account_values(0.55, 7)
    sigma = math.sqrt(
        np.mean([np.var(np.diff(np.log([CAPITAL, *path])), ddof=1) for path in values.values()])
    )
    assert luck.value == pytest.approx(best / (1.2672063606 * sigma * math.sqrt(HOURS)), rel=1e-6)
    assert f"it is {best / sigma / math.sqrt(HOURS):.3f}" in luck.note
    assert sigma * math.sqrt(HOURS) == pytest.approx(0.55, rel=0.06)
    last = bands.row(-1, named=True)
    assert math.log(last["light_high"] / CAPITAL) == pytest.approx(
        1.96 * sigma * HOURS**0.5, rel=1e-6
    )
    inside = answer(measured, "models inside the 95% no-skill band")
    assert inside.value == sum(
        last["light_low"] <= final <= last["light_high"] for final in planted["final"].values()
    )
    assert paths.height == 7 * (HOURS + 1)


def test_the_accounts_that_move_together_are_found(hours: Path, tmp_path: Path) -> None:
    accounts, _ = generate(tmp_path)
    measured, _, _ = measure(tmp_path, [accounts], hours)
    values = account_values(0.55, 7)
    frame = pl.DataFrame(
        {ACCOUNTS[name]: np.diff(np.log([CAPITAL, *path])) for name, path in values.items()}
    )
    four = sorted(ACCOUNTS[name] for name in TOGETHER)
    pairs = [
        stats.pearsonr(frame[left].to_numpy(), frame[right].to_numpy())
        for index, left in enumerate(four)
        for right in four[index + 1 :]
    ]
    for name, pick in (("lowest", min), ("highest", max)):
        found = answer(measured, f"{name} hourly correlation")
        expected = pick(pairs, key=lambda each: each.statistic)
        assert found.value == pytest.approx(expected.statistic, abs=1e-6)
        interval = expected.confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx(tuple(interval), abs=1e-4)
        assert found.note.startswith(", ".join(four))
        assert found.note.count(" and ") == 15
        assert abs(found.value - CORRELATION) < 0.12


def test_missing_hours_leave_their_changes_out() -> None:
    changes = hourly_changes({0: 1.0, 1: math.e, 3: 1.0, 4: math.e**2}, 4)
    assert changes == pytest.approx([1, math.nan, math.nan, 2], nan_ok=True)
    rng = np.random.default_rng(2)
    paths = {name: {h: float(v) for h, v in enumerate(rng.uniform(1, 2, 9))} for name in "abcd"}
    del paths["a"][4]
    found = correlations({name: hourly_changes(own, 8) for name, own in paths.items()})
    both = [0, 1, 2, 5, 6, 7]
    a, b = (np.diff(np.log([paths[n].get(h, np.nan) for h in range(9)]))[both] for n in "ab")
    assert found[frozenset("ab")] == pytest.approx(stats.pearsonr(a, b).statistic)
    assert together(found) == tuple("abcd")
    assert (
        read_accounts(stored(lambda records: records.__delitem__(slice(300, None))))["hour"].max()
        == 300
    )


# --- what the site might send ---------------------------------------------------------------


def stored(edit: Callable[[list[dict[str, Any]]], object]) -> bytes:
    records = [
        {
            "id": f"gpt-5_{marker}",
            "model_id": "gpt-5",
            "timestamp": BEGIN + 3600 * (marker + 1) - 42.25,
            "dollar_equity": 10_000.5 + marker,
            "since_inception_hourly_marker": marker,
            "since_inception_minute_marker": 60 * marker,
            "cum_pnl_pct": 3.05,
            "positions": {"XRP": {"quantity": -7716, "index_col": None}},
        }
        for marker in range(HOURS)
    ]
    edit(records)
    return json.dumps({"accountTotals": records, "serverTime": 1}).encode()


def field(name: str, value: object, at: int = 3) -> Callable[[list[dict[str, Any]]], object]:
    return lambda records: records[at].__setitem__(name, value)


def test_the_starting_capital_stands_before_the_first_marker() -> None:
    frame = read_accounts(stored(lambda records: None))
    assert frame.row(0) == ("GPT-5", 0, CAPITAL)
    assert frame.row(1) == ("GPT-5", 1, 10_000.5)
    assert frame.height == HOURS + 1
    assert read_accounts(stored(field("model_id", "buynhold_btc"))).height == HOURS
    assert read_accounts(
        stored(lambda records: [each.__setitem__("model_id", "gemini-2-5-pro") for each in records])
    )["account"].unique().to_list() == ["Gemini 2.5 Pro"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (field("dollar_equity", -1), "accountTotals.3.dollar_equity"),
        (field("dollar_equity", "10"), "accountTotals.3.dollar_equity"),
        (field("model_id", "gpt-6"), "unknown account 'gpt-6'"),
        (field("since_inception_hourly_marker", 1), "was due about"),
        (field("timestamp", BEGIN), "accountTotals.3.timestamp"),
        (lambda records: records.append(records[9]), "marker 9 of GPT-5 comes twice"),
        (lambda records: records[3].pop("model_id"), "accountTotals.3.model_id"),
        (lambda records: records.clear(), "accountTotals"),
    ],
)
def test_what_cannot_be_is_refused(
    edit: Callable[[list[dict[str, Any]]], object], said: str
) -> None:
    with pytest.raises(DataError) as caught:
        read_accounts(stored(edit), "stored.json")
    for words in (said, "stored.json", "remedy"):
        assert words in str(caught.value)

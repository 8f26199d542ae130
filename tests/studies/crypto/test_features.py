"""Hours and features against plain Python, the calendar's counts and the future itself."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from remeasure.errors import ConfigError, DataError
from remeasure.store.tables import content_hashes, read_table, write_tables
from remeasure.studies.crypto import features
from remeasure.studies.crypto.features import (
    FEATURE_ROWS,
    FEATURES,
    HOURS,
    HoursStep,
    build_hours,
    complete,
    hourly_bars,
    hourly_features,
    pooled_features,
    read_features,
    read_hours,
    row_returns,
    window_sum,
)
from remeasure.studies.crypto.settings import Dataset
from remeasure.studies.crypto.sources import CANDLES

BTC, ETH, SOL = "BTCUSDT", "ETHUSDT", "SOLUSDT"
HOUR = timedelta(hours=1)
MINUTES = {"5m": 5, "15m": 15, "1h": 60}

#: The seven halts, copied from the study card: missing from, back at.
HALTS = [
    (np.datetime64(begin), np.datetime64(end))
    for begin, end in (
        ("2021-02-11T03:41", "2021-02-11T05:00"),
        ("2021-03-06T02:00", "2021-03-06T03:30"),
        ("2021-04-20T02:00", "2021-04-20T04:30"),
        ("2021-04-25T04:01", "2021-04-25T08:45"),
        ("2021-08-13T02:00", "2021-08-13T06:30"),
        ("2021-09-29T07:00", "2021-09-29T09:00"),
        ("2023-03-24T12:40", "2023-03-24T14:00"),
    )
]


def candles(first: date, last: date, interval: str, seed: int = 0) -> pl.DataFrame:
    """A random walk on the calendar of the exchange, without the candles of its halts."""
    length = np.timedelta64(MINUTES[interval], "m")
    opened = np.arange(
        np.datetime64(first, "us"), np.datetime64(last, "us") + np.timedelta64(1, "D"), length
    )
    for begin, end in HALTS:
        opened = opened[~((opened >= begin) & (opened + length <= end))]
    rng, n = np.random.default_rng(seed), opened.size
    close = 1000 * np.exp(np.cumsum(rng.standard_t(4, n) * 1e-3))
    open_ = np.concatenate([[1000.0], close[:-1]])
    wick = 1 + 1e-3 * rng.random((2, n))
    volume = rng.lognormal(size=n)
    return pl.DataFrame(
        {
            "open_time": opened,
            "open": open_,
            "high": np.maximum(open_, close) * wick[0],
            "low": np.minimum(open_, close) / wick[1],
            "close": close,
            "volume": volume,
            "quote_volume": volume * close,
            "trades": rng.integers(1, 1000, n),
            "taker_buy_volume": volume * rng.random(n),
            "taker_buy_quote_volume": volume * close / 2,
        },
        schema={name: kind for name, kind in CANDLES.schema().items() if name != "symbol"},
    )


def bars_of(
    frame: pl.DataFrame, interval: str, first: date, last: date, skip: int = 0
) -> pl.DataFrame:
    return hourly_bars(frame, interval=interval, first=first, last=last, skip_bars=skip)


# ------------------------------------------------------------------------- hours


@pytest.mark.parametrize(("interval", "skip"), [("5m", 0), ("5m", 1), ("15m", 0), ("15m", 3)])
def test_hours_are_what_adding_up_by_hand_gives(interval: str, skip: int) -> None:
    first, last = date(2021, 4, 24), date(2021, 4, 26)
    drawn = candles(first, last, interval)
    drawn = drawn.filter(pl.Series(np.random.default_rng(1).random(drawn.height) < 0.8))
    step = timedelta(minutes=MINUTES[interval])
    rows = drawn.rows(named=True)
    known = {row["open_time"]: row for row in rows}
    found = bars_of(drawn, interval, first, last, skip).rows(named=True)
    assert [bar["hour"] for bar in found] == [datetime(2021, 4, 24) + i * HOUR for i in range(72)]
    empty = 0
    for bar in found:
        begin = bar["hour"] - skip * step
        inside = [row for row in rows if begin <= row["open_time"] < begin + HOUR]
        assert bar["candles"] == len(inside)
        if not inside:
            empty += 1
            assert all(bar[name] is None for name in bar if name not in ("hour", "candles"))
            continue
        assert bar["open"] == inside[0]["open"]
        assert bar["close"] == inside[-1]["close"]
        assert bar["high"] == max(row["high"] for row in inside)
        assert bar["low"] == min(row["low"] for row in inside)
        assert bar["trades"] == sum(row["trades"] for row in inside)
        for name in ("volume", "quote_volume", "taker_buy_volume"):
            assert bar[name] == pytest.approx(math.fsum(row[name] for row in inside), rel=1e-14)
        moves = [
            math.log(row["close"] / known[row["open_time"] - step]["close"]) ** 2
            for row in inside
            if row["open_time"] - step in known
        ]
        if moves:
            assert bar["rv"] == pytest.approx(math.fsum(moves), rel=1e-13)
        else:
            assert bar["rv"] is None
    assert empty >= 3  # 05, 06 and 07 of 2021-04-25


def test_hours_of_hourly_candles_are_the_candles() -> None:
    first, last = date(2021, 9, 28), date(2021, 9, 30)
    drawn = candles(first, last, "1h")
    bars = bars_of(drawn, "1h", first, last)
    assert bars.height == 72
    there = bars.filter(pl.col("candles") == 1)
    assert there.height == 70
    same = ["open", "high", "low", "close", "volume", "quote_volume", "trades", "taker_buy_volume"]
    assert there.select(same).equals(drawn.select(same))
    lost = bars.filter(pl.col("candles") == 0)
    assert lost["hour"].to_list() == [datetime(2021, 9, 29, 7), datetime(2021, 9, 29, 8)]
    # No return, no variance: in the first hour, and in the first one after the halt.
    assert there.filter(pl.col("rv").is_null())["hour"].to_list() == [
        datetime(2021, 9, 28),
        datetime(2021, 9, 29, 9),
    ]
    moves = np.log(drawn["close"].to_numpy()[1:] / drawn["close"].to_numpy()[:-1])
    assert np.allclose(there["rv"].to_numpy()[1:8], moves[:7] ** 2, rtol=1e-14)


def test_wrong_intervals_and_skips_are_refused() -> None:
    drawn = candles(date(2024, 5, 1), date(2024, 5, 1), "1h")
    with pytest.raises(ConfigError, match="hours cannot be made of 1d candles"):
        bars_of(drawn, "1d", date(2024, 5, 1), date(2024, 5, 1))
    for interval, skip in (("1h", 1), ("15m", 4), ("5m", 12), ("5m", -1)):
        with pytest.raises(ConfigError, match=f"skip_bars is {skip}"):
            bars_of(drawn, interval, date(2024, 5, 1), date(2024, 5, 1), skip)


def test_returns_from_row_to_row_ignore_gaps() -> None:
    bars = pl.DataFrame(
        {
            "hour": [datetime(2024, 5, 1, hour) for hour in range(5)],
            "close": [1.0, 2.0, None, None, 8.0],
        }
    )
    found = row_returns(bars)
    assert found["hour"].to_list() == [datetime(2024, 5, 1, 1), datetime(2024, 5, 1, 4)]
    assert found["ret"].to_list() == pytest.approx([math.log(2), math.log(4)], rel=1e-15)


# ---------------------------------------------------------------------- features


@pytest.mark.parametrize("hours", [1, 2, 3, 7, 24, 168, 255])
def test_window_sums_equal_brute_force(hours: int) -> None:
    rng = np.random.default_rng(hours)
    values = rng.lognormal(sigma=4, size=600).tolist()
    values[300] = None
    found = window_sum(pl.Series("x", values), hours).to_list()
    for at, value in enumerate(found):
        window = values[at - hours + 1 : at + 1] if at + 1 >= hours else []
        there = [each for each in window if each is not None]
        if len(there) < hours:
            assert value is None
        else:
            assert value == pytest.approx(math.fsum(there), rel=1e-10)
            assert value == pytest.approx(math.fsum(there), rel=3e-15)  # what it really keeps
    assert sum(value is None for value in found) == min(600, hours - 1 + hours)
    with pytest.raises(ValueError, match="no sum"):
        window_sum(pl.Series([1.0]), 0)


def by_hand(bars: list[dict[str, float]], btc: list[dict[str, float]], t: int) -> dict[str, float]:
    """Table T1 of the card, word for word, for one hour with everything there."""
    close, volume = [bar["close"] for bar in bars], [bar["volume"] for bar in bars]
    taker, rv = [bar["taker_buy_volume"] for bar in bars], [bar["rv"] for bar in bars]
    row = {f"ret_{k}": math.log(close[t] / close[t - k]) for k in (1, 2, 4, 8, 24, 72, 168)}
    row |= {f"btc_{k}": math.log(btc[t]["close"] / btc[t - k]["close"]) for k in (1, 4, 24)}
    row |= {
        f"vol_{n}": 0.5 * math.log(math.fsum(rv[t - n + 1 : t + 1]) + 1e-12) for n in (1, 24, 168)
    }
    row["vol_ratio"] = math.log(volume[t] / (math.fsum(volume[t - 167 : t + 1]) / 168))
    row["taker_1"] = taker[t] / volume[t]
    row["taker_24"] = math.fsum(taker[t - 23 : t + 1]) / math.fsum(volume[t - 23 : t + 1])
    row["range_1"] = math.log(bars[t]["high"] / bars[t]["low"])
    moment: datetime = bars[t]["hour"]  # type: ignore[assignment]
    row |= {"hour": moment.hour, "dow": moment.weekday(), "coin": 1}
    row["ret_next"] = math.log(close[t + 1] / close[t])
    row["up"] = close[t + 1] > close[t]
    return row


def test_features_are_the_twenty_of_the_card() -> None:
    assert FEATURES == (
        "ret_1", "ret_2", "ret_4", "ret_8", "ret_24", "ret_72", "ret_168", "btc_1", "btc_4",
        "btc_24", "vol_1", "vol_24", "vol_168", "vol_ratio", "taker_1", "taker_24", "range_1",
        "hour", "dow", "coin",
    )  # fmt: skip
    first, last = date(2024, 5, 1), date(2024, 5, 16)
    bars = {
        symbol: bars_of(candles(first, last, "15m", seed), "15m", first, last)
        for seed, symbol in enumerate((BTC, ETH))
    }
    found = hourly_features(bars[ETH], bars[BTC], coin=1)
    rows = {symbol: frame.rows(named=True) for symbol, frame in bars.items()}
    table = complete(found)
    assert table.height == 16 * 24 - 169
    assert table["known_hour"][0] == datetime(2024, 5, 8)
    assert table["target_hour"].to_list() == [t + HOUR for t in table["known_hour"]]
    for row in table.rows(named=True):
        t = (row["known_hour"] - datetime(2024, 5, 1)) // HOUR
        for name, value in by_hand(rows[ETH], rows[BTC], t).items():
            assert row[name] == pytest.approx(value, rel=1e-10, abs=1e-13), name
    leader = complete(hourly_features(bars[BTC], bars[BTC], coin=0))
    assert leader.select("btc_1", "btc_4", "btc_24").equals(
        leader.select(btc_1="ret_1", btc_4="ret_4", btc_24="ret_24")
    )


@pytest.mark.parametrize("interval", ["1h", "15m", "5m"])
@pytest.mark.parametrize("lost", [1, 2])
def test_one_lost_hour_kills_exactly_170_rows(interval: str, lost: int) -> None:
    first, last = date(2024, 5, 1), date(2024, 5, 31)
    drawn = candles(first, last, interval)
    hole = (datetime(2024, 5, 16, 3), datetime(2024, 5, 16, 3 + lost))
    holed = drawn.filter(~pl.col("open_time").is_between(*hole, closed="left"))
    every, left = (
        complete(hourly_features(bars, bars, coin=0))
        for bars in (bars_of(frame, interval, first, last) for frame in (drawn, holed))
    )
    assert every.height == 31 * 24 - 169
    gone = sorted(set(every["target_hour"]) - set(left["target_hour"]))
    assert gone == [hole[0] + i * HOUR for i in range(169 + lost)]
    # A lost hour of Bitcoin costs the rows of another coin only where Bitcoin's returns need it:
    # one that starts or ends there, over 1, 4 and 24 hours.
    whole, leader = (bars_of(frame, interval, first, last) for frame in (drawn, holed))
    other = complete(hourly_features(whole, leader, coin=1))
    assert every.height - other.height == {1: 4, 2: 7}[lost]


@pytest.mark.parametrize("interval", ["1h", "5m"])
def test_the_calendar_gives_the_published_counts(interval: str) -> None:
    first, last = date(2021, 1, 1), date(2026, 10, 29)
    bars = bars_of(candles(first, last, interval), interval, first, last)
    assert bars.height == 51_072
    assert bars["close"].drop_nulls().len() == 51_058
    assert row_returns(bars).height == 51_057
    table = complete(hourly_features(bars, bars, coin=0))
    inside = pl.col("target_hour").is_between(datetime(2022, 1, 1), datetime(2026, 10, 29, 23))
    assert table.filter(inside).height == 42_142
    assert table["target_hour"].max() == datetime(2026, 10, 29, 23)


def test_an_hour_without_volume_has_no_share_and_no_ratio() -> None:
    first, last = date(2024, 5, 1), date(2024, 5, 10)
    bars = bars_of(candles(first, last, "1h"), "1h", first, last)
    at = pl.int_range(bars.height)
    quiet = bars.with_columns(
        pl.when(at.is_between(180, 180 + 23)).then(0.0).otherwise(name).alias(name)
        for name in ("volume", "taker_buy_volume")
    )
    found = hourly_features(quiet, quiet, coin=0)
    for name, missing in (
        ("taker_1", list(range(180, 204))),
        ("vol_ratio", [*range(167), *range(180, 204)]),
        ("taker_24", [*range(23), 203]),
    ):
        assert found.select(pl.col(name).is_null().arg_true()).to_series().to_list() == missing
    assert found.select(pl.col(FEATURES).is_infinite().any()).row(0) == (False,) * 20


def test_an_unchanged_price_is_not_up() -> None:
    first = last = date(2024, 5, 1)
    bars = bars_of(candles(first, last, "1h"), "1h", first, last)
    flat = bars.with_columns(close=pl.lit(7.0))
    found = hourly_features(flat, flat, coin=0)
    assert found["up"].to_list() == [False] * 23 + [None]
    assert found["ret_next"].to_list() == [0.0] * 23 + [None]


def test_grids_that_differ_are_refused() -> None:
    drawn = candles(date(2024, 5, 1), date(2024, 5, 2), "1h")
    one = bars_of(drawn, "1h", date(2024, 5, 1), date(2024, 5, 1))
    two = bars_of(drawn, "1h", date(2024, 5, 1), date(2024, 5, 2))
    for arguments in ((one, two, None), (one, one, two)):
        with pytest.raises(ValueError, match="same grid"):
            hourly_features(arguments[0], arguments[1], coin=0, target=arguments[2])


# ------------------------------------------------------------- nothing of the future

FIRST, LAST = date(2023, 3, 10), date(2023, 4, 7)


def changed_by_the_future(skip: int, count: int = 200) -> int:
    """How many of ``count`` random hours have other features when later candles are cut off.

    Hour t may use candles that have closed ``skip`` candles before its own close.
    """
    step = timedelta(minutes=15)
    drawn = {symbol: candles(FIRST, LAST, "15m", seed) for seed, symbol in enumerate((BTC, ETH))}
    whole = {symbol: bars_of(frame, "15m", FIRST, LAST, skip) for symbol, frame in drawn.items()}
    full = hourly_features(whole[ETH], whole[BTC], coin=1)
    changed = 0
    for t in np.random.default_rng(skip).choice(full.height, count, replace=False):
        hour = full["known_hour"][int(t)]
        ended = pl.col("open_time") + step <= hour + HOUR - skip * step
        cut = {
            symbol: bars_of(frame.filter(ended), "15m", FIRST, hour.date(), skip)
            for symbol, frame in drawn.items()
        }
        alone = hourly_features(cut[ETH], cut[BTC], coin=1)
        names = ["known_hour", *FEATURES]
        changed += alone.select(names).row(int(t)) != full.select(names).row(int(t))
    assert complete(full).height > 250  # so that not all of them are missing
    return changed


@pytest.mark.parametrize("skip", [0, 1])
def test_features_are_bit_for_bit_those_of_the_past_alone(skip: int) -> None:
    assert changed_by_the_future(skip) == 0


def test_a_window_that_peeks_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = features.window_sum
    monkeypatch.setattr(features, "window_sum", lambda values, n: honest(values, n).shift(-1))
    assert changed_by_the_future(0, 40) > 20


def test_features_do_not_depend_on_what_lies_before_their_window() -> None:
    first, last = date(2024, 5, 1), date(2024, 5, 20)
    drawn = candles(first, last, "15m")
    late = date(2024, 5, 9)
    long, short = (
        bars_of(drawn.filter(pl.col("open_time") >= datetime.combine(day, datetime.min.time())),
                "15m", day, last)
        for day in (first, late)
    )  # fmt: skip
    every = complete(hourly_features(long, long, coin=0))
    some = complete(hourly_features(short, short, coin=0))
    assert some.height == 12 * 24 - 169
    assert every.tail(some.height).equals(some)


def test_skipped_bars_keep_the_true_target() -> None:
    first, last = date(2024, 5, 1), date(2024, 5, 12)
    drawn = {symbol: candles(first, last, "5m", seed) for seed, symbol in enumerate((BTC, ETH))}
    true, early = (
        {symbol: bars_of(frame, "5m", first, last, skip) for symbol, frame in drawn.items()}
        for skip in (0, 1)
    )
    full = pooled_features(true, (BTC, ETH))
    skipped = pooled_features(early, (BTC, ETH), targets=true)
    keys = ["symbol", "known_hour", "target_hour", "hour", "dow", "coin", "ret_next", "up"]
    assert skipped.select(keys).equals(full.select(keys))
    closes = drawn[ETH].filter(pl.col("open_time").dt.minute() == 50)["close"].to_numpy()
    found = skipped.filter(pl.col("symbol") == ETH)["ret_1"].to_numpy()
    assert np.allclose(found, np.diff(np.log(closes))[-found.size - 1 : -1], atol=1e-14)
    assert not np.allclose(found, full.filter(pl.col("symbol") == ETH)["ret_1"].to_numpy())


# --------------------------------------------------------------------------- step


def store(path: Path, frames: dict[str, pl.DataFrame]) -> Path:
    rows = [frame.select(pl.lit(s).alias("symbol"), pl.all()) for s, frame in frames.items()]
    write_tables(path, [(CANDLES, pl.concat(rows))])
    return path


def step(coins: tuple[str, ...], study: tuple[str, ...], interval: str = "15m") -> HoursStep:
    dataset = Dataset(coins=coins, first=date(2023, 3, 20), last=date(2023, 4, 5))
    return HoursStep(interval=interval, dataset=dataset, coins=study)  # type: ignore[arg-type]


def test_the_step_writes_what_the_functions_say(tmp_path: Path) -> None:
    wanted = step((SOL, BTC, ETH), (BTC, SOL))
    window = (wanted.dataset.first, wanted.dataset.last)
    drawn = {s: candles(*window, "15m", seed) for seed, s in enumerate((BTC, ETH, SOL))}
    stored = store(tmp_path / "candles.duckdb", drawn)
    for name in ("a", "b"):
        build_hours(candles=stored, hours=tmp_path / f"{name}.duckdb", settings=wanted)
    path = tmp_path / "a.duckdb"
    hashes = content_hashes(path)
    assert list(hashes) == ["features", "hours"]
    assert hashes == content_hashes(tmp_path / "b.duckdb")
    bars = {symbol: bars_of(frame, "15m", *window) for symbol, frame in drawn.items()}
    for symbol, frame in bars.items():
        assert read_hours(path, symbol).equals(frame)
    assert read_hours(path, SOL, ["hour", "close"]).equals(bars[SOL].select("hour", "close"))
    assert read_table(path, HOURS).height == 3 * 17 * 24
    table = read_table(path, FEATURE_ROWS)
    assert table.equals(pooled_features(bars, wanted.coins))
    assert table.null_count().sum_horizontal()[0] == 0
    codes = dict(table.select("symbol", "coin").unique().rows())
    assert codes == {BTC: 0, SOL: 1, ETH: 2}
    # The hour 2023-03-24 13:00 is lost; rows begin when the longest return starts after it.
    assert table["known_hour"].min() == datetime(2023, 3, 24, 14) + 168 * HOUR
    assert table.height == 3 * (17 * 24 - 1 - (4 * 24 + 14 + 168))
    some = read_features(path, (SOL, BTC))
    assert some.equals(table.filter(pl.col("symbol") != ETH))
    with pytest.raises(DataError, match="no hours of ADAUSDT"):
        read_hours(path, "ADAUSDT")
    with pytest.raises(DataError, match="no hour of ADAUSDT, LTCUSDT has all twenty"):
        read_features(path, (BTC, "LTCUSDT", "ADAUSDT"))


def test_without_taker_volume_there_are_hours_but_no_feature_rows(tmp_path: Path) -> None:
    wanted = step((BTC,), (BTC,))
    bare = candles(wanted.dataset.first, wanted.dataset.last, "15m").with_columns(
        pl.lit(None).cast(CANDLES.schema()[name]).alias(name)
        for name in ("quote_volume", "trades", "taker_buy_volume", "taker_buy_quote_volume")
    )
    stored = store(tmp_path / "candles.duckdb", {BTC: bare})
    build_hours(candles=stored, hours=tmp_path / "hours.duckdb", settings=wanted)
    hours = read_hours(tmp_path / "hours.duckdb", BTC)
    assert hours["close"].null_count() == hours["volume"].null_count() == 1
    assert hours["trades"].null_count() == hours.height
    with pytest.raises(DataError, match="use candles with taker volumes"):
        read_features(tmp_path / "hours.duckdb", (BTC,))


def test_bitcoin_must_be_there(tmp_path: Path) -> None:
    wanted = step((ETH,), (BTC,))
    frame = candles(wanted.dataset.first, wanted.dataset.last, "15m")
    stored = store(tmp_path / "candles.duckdb", {ETH: frame})
    with pytest.raises(ConfigError, match="BTCUSDT has no candles"):
        build_hours(candles=stored, hours=tmp_path / "hours.duckdb", settings=wanted)
    with pytest.raises(DataError, match="no candles of SOLUSDT"):
        build_hours(candles=stored, hours=tmp_path / "hours.duckdb", settings=step((SOL,), (BTC,)))

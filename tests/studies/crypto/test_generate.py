"""The synthetic market: its planted truth, its look, and its files."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy import stats

from remeasure.errors import ConfigError
from remeasure.fetch.manifest import Manifest
from remeasure.studies.crypto import calendar, candle_files, generate, market
from remeasure.studies.crypto.calendar_identities import forecasts
from remeasure.studies.crypto.market import Candles, SyntheticCoin

FIRST, LAST = date(2021, 1, 1), date(2026, 10, 29)
COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
SEED, BETA = 7, 0.40
Floats = npt.NDArray[np.float64]

COLUMNS = (
    "open_time", "open", "high", "low", "close", "volume", "close_time", "quote_volume",
    "count", "taker_buy_volume", "taker_buy_quote_volume", "ignore",
)  # fmt: skip


@pytest.fixture(scope="module")
def planted() -> dict[str, SyntheticCoin]:
    return market.simulate(COINS, FIRST, LAST, seed=SEED, beta=BETA)


@pytest.fixture(scope="module")
def martingale() -> dict[str, SyntheticCoin]:
    return market.simulate(COINS, FIRST, LAST, seed=SEED, beta=0.0)


def hourly(coin: SyntheticCoin) -> tuple[calendar.Times, Floats]:
    """Open time and log return of each hourly bar that exists, row to row."""
    bars = market.aggregate(coin.traded(), "1h")
    return bars.open_time[1:], np.diff(np.log(bars.close))


def full_hours(coin: SyntheticCoin) -> Floats:
    """Log return of every hour of the grid, halts included, from the rounded prices."""
    close = coin.candles.close[11::12]
    return np.diff(np.log(close), prepend=np.log(100.0))


def autocorrelation(x: Floats, lag: int) -> float:
    x = x - x.mean()
    return float((x[lag:] * x[:-lag]).sum() / (x * x).sum())


def share_error(share: float, n: int) -> float:
    return float(np.sqrt(share * (1 - share) / n))


@pytest.mark.parametrize("symbol", COINS)
def test_counts_of_the_real_calendar(planted: dict[str, SyntheticCoin], symbol: str) -> None:
    candles = planted[symbol].traded()
    bars = market.aggregate(candles, "1h")
    assert bars.open_time.size == 51_058
    assert np.diff(np.log(bars.close)).size == 51_057
    calendar.check(symbol, candles.open_time, "5m", FIRST, LAST)
    for interval in ("15m", "1h", "1d"):
        times = market.aggregate(candles, interval).open_time
        calendar.check(symbol, times, interval, FIRST, LAST)
    assert forecasts(FIRST, LAST, "2022-01").rows == 42_142


@pytest.mark.parametrize("symbol", COINS)
def test_looks_like_the_published_market(planted: dict[str, SyntheticCoin], symbol: str) -> None:
    times, r = hourly(planted[symbol])
    z = (r - r.mean()) / r.std(ddof=1)
    assert 50 <= (np.abs(z) > 6).sum() <= 200  # a normal law: 0.0001
    moves = np.abs(r)
    assert 0.20 < autocorrelation(moves, 1) < 0.42
    assert 0.12 < autocorrelation(moves, 24) < 0.32
    assert 0.09 < autocorrelation(moves, 168) < autocorrelation(moves, 1)
    assert abs(autocorrelation(r, 1)) < 0.03
    same = np.sign(r[1:]) == np.sign(r[:-1])
    assert 0.465 < same.mean() < 0.48
    of_day = times.astype("datetime64[h]").astype(np.int64) % 24
    scale = market.annual_volatility(symbol) / 0.55
    assert 40 * scale < moves[of_day == 14].mean() * 1e4 < 70 * scale
    assert 19 * scale < moves[of_day == 4].mean() * 1e4 < 35 * scale
    assert 26 * scale < moves.mean() * 1e4 < 46 * scale


@pytest.mark.parametrize("symbol", COINS)
def test_best_forecast_is_right_as_often_as_planted(
    planted: dict[str, SyntheticCoin], symbol: str
) -> None:
    coin = planted[symbol]
    hit = np.sign(full_hours(coin)) == np.sign(coin.direction)
    bayes = coin.bayes_hit_rate(FIRST, LAST)
    assert 0.538 < bayes < 0.546
    assert abs(hit.mean() - bayes) < 3 * share_error(bayes, hit.size)
    # Not only on average: also among the hours of little and of much planted probability.
    for low, high in ((0.0, 0.02), (0.02, 0.15), (0.15, 0.41)):
        chosen = (coin.probability > low) & (coin.probability <= high)
        wanted = 0.5 + coin.probability[chosen].mean() / 2
        assert abs(hit[chosen].mean() - wanted) < 3 * share_error(wanted, int(chosen.sum()))


@pytest.mark.parametrize("symbol", COINS)
def test_planted_truth_follows_from_the_final_prices(
    planted: dict[str, SyntheticCoin], symbol: str
) -> None:
    """Direction and probability computed again from what the files will show."""
    coin = planted[symbol]
    u = full_hours(coin) / coin.sigma
    before = np.concatenate([[0.0, 0.0], u])
    direction = -np.tanh(3 * (0.6 * before[1:-1] + 0.4 * before[:-2]))
    np.testing.assert_allclose(coin.direction, direction, atol=1e-6)
    probability = BETA * np.abs(direction) * np.exp(-((np.abs(u) / 0.4) ** 2))
    np.testing.assert_allclose(coin.probability, probability, atol=1e-6)
    assert (np.sign(u[coin.forced]) == np.sign(direction[coin.forced])).all()
    expected = coin.probability.sum()
    assert abs(coin.forced.sum() - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize("symbol", COINS)
def test_planting_changes_signs_only(
    planted: dict[str, SyntheticCoin], martingale: dict[str, SyntheticCoin], symbol: str
) -> None:
    with_edge, without = planted[symbol], martingale[symbol]
    np.testing.assert_array_equal(with_edge.sigma, without.sigma)
    np.testing.assert_array_equal(with_edge.candles.volume, without.candles.volume)
    ours, theirs = full_hours(with_edge), full_hours(without)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)
    turned = np.sign(ours) != np.sign(theirs)
    assert 0.5 < turned.sum() / (with_edge.probability.sum() / 2) < 1.5
    assert (with_edge.forced | ~turned).all()


@pytest.mark.parametrize("symbol", COINS)
def test_without_reversal_nothing_is_predictable(
    martingale: dict[str, SyntheticCoin], symbol: str
) -> None:
    coin = martingale[symbol]
    assert coin.bayes_hit_rate(FIRST, LAST) == 0.5
    assert not coin.forced.any()
    r = full_hours(coin)
    error = 3 * share_error(0.5, r.size)
    assert abs((np.sign(r) == np.sign(coin.direction)).mean() - 0.5) < error
    assert abs((np.sign(r[1:]) == np.sign(r[:-1])).mean() - 0.5) < error
    u = r / coin.sigma
    assert abs(u.mean()) < 3 * u.std() / np.sqrt(u.size)
    # No drift at any level of volatility either.
    for part in np.array_split(u[np.argsort(coin.sigma, kind="stable")], 4):
        assert abs(part.mean()) < 3.5 * part.std() / np.sqrt(part.size)


def test_right_moves_are_smaller_than_wrong_ones(planted: dict[str, SyntheticCoin]) -> None:
    coin = planted["BTCUSDT"]
    r = full_hours(coin)
    right = np.sign(r) == np.sign(coin.direction)
    assert np.abs(r[right]).mean() < np.abs(r[~right]).mean()


@pytest.mark.parametrize("symbol", COINS)
def test_candles_are_sound(planted: dict[str, SyntheticCoin], symbol: str) -> None:
    c = planted[symbol].candles
    assert c.open[0] == 100.0
    np.testing.assert_array_equal(c.open[1:], c.close[:-1])
    assert (c.low > 0).all()
    assert (c.low <= np.minimum(c.open, c.close)).all()
    assert (c.high >= np.maximum(c.open, c.close)).all()
    assert (c.volume > 0).all()
    assert (c.trades > 0).all()
    assert (c.taker_buy_volume > 0).all()
    assert (c.taker_buy_volume < c.volume).all()
    assert (c.quote_volume >= c.low * c.volume * (1 - 1e-9)).all()
    assert (c.quote_volume <= c.high * c.volume * (1 + 1e-9)).all()
    np.testing.assert_allclose(
        c.taker_buy_quote_volume / c.quote_volume, c.taker_buy_volume / c.volume, rtol=1e-5
    )


def test_extremes_follow_the_brownian_bridge(martingale: dict[str, SyntheticCoin]) -> None:
    """P(max <= h | end r) = 1 - exp(-2 h (h - r) / v): transformed highs and lows are uniform."""
    coin = martingale["BTCUSDT"]
    c = coin.candles
    r = np.log(c.close / c.open)[:100_000]
    v = np.repeat(coin.sigma, 12)[:100_000] ** 2 / 12
    for extreme in (c.high, c.low):
        h = np.log(extreme / c.open)[:100_000]
        uniform = np.exp(-2 * h * (h - r) / v)
        assert stats.kstest(uniform[::10], "uniform").pvalue > 1e-3


def test_shocks_and_jumps_follow_their_laws(martingale: dict[str, SyntheticCoin]) -> None:
    """Returns of all coins less the shared jumps are correlated Student shocks."""
    jump = market.market(FIRST, LAST, SEED).jump
    jumps = jump[jump != 0]
    per_day = jumps.size / (jump.size / 288)
    assert abs(per_day - 0.4) < 3 * np.sqrt(0.4 / (jump.size / 288))
    assert stats.kstest(jumps / 2, "t", args=(3,)).pvalue > 1e-3
    shock = {}
    for symbol, coin in martingale.items():
        r = np.log(coin.candles.close / coin.candles.open)
        shock[symbol] = (r / np.repeat(coin.sigma, 12) - jump) * np.sqrt(12)
        assert shock[symbol].std() == pytest.approx(1, abs=0.02)
    unit_t = shock["BTCUSDT"] * np.sqrt(4.5 / 2.5)
    assert stats.kstest(unit_t[::10], "t", args=(4.5,)).pvalue > 1e-3
    for one, two, wanted in (
        ("BTCUSDT", "ETHUSDT", 0.85),
        ("BTCUSDT", "SOLUSDT", 0.85),
        ("ETHUSDT", "SOLUSDT", 0.85**2),
    ):
        found = np.corrcoef(shock[one], shock[two])[0, 1]
        assert found == pytest.approx(wanted, abs=0.01)


def test_volatility_by_hour_weekday_and_coin(martingale: dict[str, SyntheticCoin]) -> None:
    sigma = np.log(martingale["BTCUSDT"].sigma)
    hour = martingale["BTCUSDT"].hour
    of_day = hour.astype("datetime64[h]").astype(np.int64) % 24
    day = sigma.reshape(-1, 24).mean(axis=1)
    saturday = (pl.Series(hour[::24]).dt.weekday() == 6).to_numpy()
    friday, after = day[:-1][saturday[1:]], day[1:][saturday[1:]]
    assert abs((after - friday).mean() - np.log(0.72 / 1.06)) < 0.05
    wanted = 0.27 * (np.cos(2 * np.pi * -1.5 / 24) - np.cos(2 * np.pi * -11.5 / 24))
    wanted += 0.22 * np.exp(-((0.3 / 1.3) ** 2) / 2)
    assert abs(sigma[of_day == 14].mean() - sigma[of_day == 4].mean() - wanted) < 0.03
    assert np.mean(market.season(np.arange(24)) ** 2) == pytest.approx(1, abs=1e-12)
    assert market.annual_volatility("SOLUSDT") == 1.0
    assert 0.7 <= market.annual_volatility("DOGEUSDT") <= 1.1
    assert market.annual_volatility("DOGEUSDT") != market.annual_volatility("ADAUSDT")


def test_volume_and_taker_share_follow_the_shock(martingale: dict[str, SyntheticCoin]) -> None:
    coin = martingale["ETHUSDT"]
    c = coin.candles
    z = np.log(c.close / c.open) / np.repeat(coin.sigma, 12) * np.sqrt(12)
    quiet = np.abs(z) < 4  # away from jumps, where z is the shock
    relative = np.repeat(coin.sigma, 12) / coin.sigma.mean()
    slope, level = np.polyfit(np.abs(z[quiet]), np.log(c.volume / 100 / relative)[quiet], 1)
    assert slope == pytest.approx(0.5, abs=0.01)
    assert level == pytest.approx(0.0, abs=0.01)
    share = c.taker_buy_volume / c.volume
    slope, level = np.polyfit(z[quiet], np.log(share / (1 - share))[quiet], 1)
    assert slope == pytest.approx(0.3, abs=0.01)
    assert level == pytest.approx(0.0, abs=0.01)


def test_coin_does_not_depend_on_the_others() -> None:
    window = date(2024, 5, 1), date(2024, 5, 20)
    alone = market.simulate(["ETHUSDT"], *window, seed=1, beta=0.4)["ETHUSDT"]
    among = market.simulate(["XRPUSDT", *COINS], *window, seed=1, beta=0.4)["ETHUSDT"]
    for name, column in vars(alone.candles).items():
        np.testing.assert_array_equal(column, getattr(among.candles, name))
    other = market.simulate(["ETHUSDT"], *window, seed=2, beta=0.4)["ETHUSDT"]
    assert not np.array_equal(alone.candles.close, other.candles.close)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"beta is 1\.5"):
        market.simulate(["BTCUSDT"], FIRST, FIRST, seed=0, beta=1.5)
    with pytest.raises(ConfigError, match="empty"):
        market.simulate(["BTCUSDT"], LAST, FIRST, seed=0, beta=0.4)


# Files ---------------------------------------------------------------------------------------

WINDOW = {"first": "2024-12-01", "last": "2025-01-03"}


def settings(raw: Path, coins: tuple[str, ...], **others: object) -> generate.GenerateStep:
    return generate.GenerateStep.model_validate(
        {
            "raw": str(raw),
            "generator": {"seed": 3, "beta": 0.4},
            "datasets": [
                {"interval": interval, "coins": coins, **WINDOW} for interval in ("5m", "1h")
            ],
            "first_test": "2025-01",
            **others,
        }
    )


def generated(folder: Path, step: generate.GenerateStep) -> list[Manifest]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{each.interval}.manifest.json" for each in step.datasets]
    generate.generate_archive(
        manifests=paths,
        truth=folder / "truth.json",
        truth_hours=folder / "truth.parquet",
        settings=step,
    )
    return [Manifest.read(path) for path in paths]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def parsed(manifest: Manifest, symbol: str) -> pl.DataFrame:
    """All rows of a coin, read with the standard library's zip reader, times as in the files."""
    parts = []
    for entry in manifest.files:
        name = Path(entry.path).name
        if not name.startswith(symbol):
            continue
        with zipfile.ZipFile(io.BytesIO(manifest.read_verified(entry))) as archive:
            assert archive.testzip() is None
            (member,) = archive.namelist()
            assert member == name.removesuffix(".zip") + ".csv"
            text = archive.read(member)
        parts.append(pl.read_csv(text, has_header=False, new_columns=list(COLUMNS)))
    return pl.concat(parts).sort(
        pl.when(pl.col("open_time") < 10**14)
        .then(pl.col("open_time") * 1000)
        .otherwise(pl.col("open_time"))
    )


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Manifest]]:
    folder = tmp_path_factory.mktemp("archive")
    return folder, generated(folder, settings(folder / "raw", ("BTCUSDT", "SOLUSDT")))


def test_layout_and_manifests(archive: tuple[Path, list[Manifest]]) -> None:
    folder, manifests = archive
    step = settings(folder / "raw", ("BTCUSDT", "SOLUSDT"))
    root = folder / "raw" / "generated" / generate.world_id(step)
    for manifest, interval in zip(manifests, ("5m", "1h"), strict=True):
        assert manifest.source == f"crypto_spot_{interval}"
        assert manifest.origin == "generated"
        assert manifest.root == root.as_posix()
        spot = "data.binance.vision/data/spot"
        wanted = [
            f"{spot}/{kind}/klines/{symbol}/{interval}/{symbol}-{interval}-{period}.zip"
            for symbol in ("BTCUSDT", "SOLUSDT")
            for kind, period in (
                ("monthly", "2024-12"),
                ("daily", "2025-01-01"),
                ("daily", "2025-01-02"),
                ("daily", "2025-01-03"),
            )
        ]
        assert [entry.path for entry in manifest.files] == sorted(wanted)
    assert not list(folder.rglob(".tmp-*"))


def test_checksum_files_are_those_of_sha256sum(archive: tuple[Path, list[Manifest]]) -> None:
    for manifest in archive[1]:
        for entry in manifest.files:
            path = manifest.file(entry)
            line = path.with_name(path.name + ".CHECKSUM").read_text("ascii")
            assert line == f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


def test_zip_holds_no_clock_and_no_platform() -> None:
    body = candle_files.zipped("a.csv", b"1,2\n")
    with zipfile.ZipFile(io.BytesIO(body)) as zipped:
        (info,) = zipped.infolist()
    assert info.date_time == (1980, 1, 1, 0, 0, 0)
    assert info.create_system == 3
    assert info.external_attr == 0o644 << 16
    assert info.extra == b""


def test_rows_are_those_of_the_archive(archive: tuple[Path, list[Manifest]]) -> None:
    manifest = archive[1][0]
    for entry in manifest.files:
        with zipfile.ZipFile(manifest.file(entry)) as zipped:
            lines = zipped.read(zipped.namelist()[0]).decode("ascii").splitlines()
        digits, length, last = (16, 300_000_000, "999999") if "2025" in entry.path else (
            13, 300_000, "999",
        )  # fmt: skip
        for line in (lines[0], lines[len(lines) // 2], lines[-1]):
            fields = line.split(",")
            assert len(fields) == 12
            assert len(fields[0]) == len(fields[6]) == digits
            assert int(fields[6]) - int(fields[0]) == length - 1
            assert fields[6].endswith(last)
            assert fields[11] == "0"
            assert fields[8].isdigit()
            for decimal in (1, 2, 3, 4, 5, 7, 9, 10):
                assert len(fields[decimal].split(".")[1]) == 8
    first = parsed(manifest, "BTCUSDT")["open_time"]
    assert first[0] == 1_733_011_200_000  # 2024-12-01 00:00 UTC
    assert first[-1] == 1_735_948_500_000_000  # 2025-01-03 23:55 UTC


@pytest.mark.parametrize("symbol", ["BTCUSDT", "SOLUSDT"])
def test_parsing_gives_the_simulated_numbers_back(
    archive: tuple[Path, list[Manifest]], symbol: str
) -> None:
    window = date(2024, 12, 1), date(2025, 1, 3)
    coin = market.simulate([symbol], *window, seed=3, beta=0.4)[symbol]
    table = parsed(archive[1][0], symbol)
    for name in ("open", "high", "low", "close", "volume", "quote_volume", "taker_buy_volume"):
        np.testing.assert_array_equal(table[name].to_numpy(), getattr(coin.candles, name))
    np.testing.assert_array_equal(table["count"].to_numpy(), coin.candles.trades)


@pytest.mark.parametrize("symbol", ["BTCUSDT", "SOLUSDT"])
def test_hours_are_aggregates_of_the_five_minute_files(
    archive: tuple[Path, list[Manifest]], symbol: str
) -> None:
    """Rebuilt by another library from the parsed files: prices exact, volumes to rounding."""
    five, hours = (parsed(manifest, symbol) for manifest in archive[1])
    unit = pl.when(pl.col("open_time") < 10**14).then(1000).otherwise(1)
    rebuilt = (
        five.with_columns(hour=pl.col("open_time") * unit // 3_600_000_000)
        .group_by("hour", maintain_order=True)
        .agg(
            pl.col("open").first(),
            pl.col("high").max(),
            pl.col("low").min(),
            pl.col("close").last(),
            pl.col("volume", "quote_volume", "count").sum(),
            pl.col("taker_buy_volume", "taker_buy_quote_volume").sum(),
        )
    )
    assert (hours["open_time"] * hours.select(unit).to_series() // 3_600_000_000).equals(
        rebuilt["hour"], check_names=False
    )
    for name in ("open", "high", "low", "close", "count"):
        assert hours[name].equals(rebuilt[name]), name
    for name in ("volume", "quote_volume", "taker_buy_volume", "taker_buy_quote_volume"):
        np.testing.assert_allclose(hours[name], rebuilt[name], rtol=1e-8)


def test_same_seed_gives_the_same_bytes_and_a_coin_changes_no_other(
    archive: tuple[Path, list[Manifest]], tmp_path: Path
) -> None:
    before = contents(archive[0] / "raw")
    generated(tmp_path, settings(tmp_path / "raw", ("SOLUSDT", "LTCUSDT", "BTCUSDT")))
    after = contents(tmp_path / "raw")
    assert {name: after[name] for name in before} == before
    added = set(after) - set(before)
    assert len(added) == 2 * 2 * 4
    assert all("LTCUSDT" in name for name in added)


def test_interval_changes_no_other(archive: tuple[Path, list[Manifest]], tmp_path: Path) -> None:
    only = [{"interval": "1h", "coins": ["SOLUSDT"], **WINDOW}]
    generated(tmp_path, settings(tmp_path / "raw", (), datasets=only))
    before, after = contents(archive[0] / "raw"), contents(tmp_path / "raw")
    assert after
    assert all(before[name] == body for name, body in after.items())


def test_world_depends_on_seed_strength_and_window_only(tmp_path: Path) -> None:
    base = settings(tmp_path, COINS)
    world = generate.world_id(base)
    assert world == generate.world_id(settings(tmp_path / "elsewhere", ("LTCUSDT",)))
    for other in (
        {"generator": {"seed": 4, "beta": 0.4}},
        {"generator": {"seed": 3, "beta": 0.0}},
        {"datasets": [{"interval": "1h", "coins": COINS, **WINDOW, "last": "2025-01-04"}]},
    ):
        assert generate.world_id(settings(tmp_path, COINS, **other)) != world


def test_rerun_keeps_what_is_intact_and_mends_the_rest(tmp_path: Path) -> None:
    step = settings(tmp_path / "raw", ("BTCUSDT",))
    manifests = generated(tmp_path, step)
    before = contents(tmp_path)
    files = [manifest.file(entry) for manifest in manifests for entry in manifest.files]
    stamps = {path: path.stat().st_mtime_ns for path in files}

    generated(tmp_path, step)
    assert contents(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in files} == stamps

    damaged, gone, unproven = files[0], files[2], files[5]
    body = bytearray(damaged.read_bytes())
    body[100] ^= 1
    damaged.write_bytes(bytes(body))
    gone.unlink()
    unproven.with_name(unproven.name + ".CHECKSUM").write_text("nonsense")
    generated(tmp_path, step)
    assert contents(tmp_path) == before
    changed = {path for path in files if path.stat().st_mtime_ns != stamps[path]}
    assert changed == {damaged, gone, unproven}


def test_halts_leave_holes_in_the_files(tmp_path: Path) -> None:
    week = {"first": "2023-03-22", "last": "2023-03-26", "coins": ["BTCUSDT"]}
    datasets = [{"interval": interval, **week} for interval in ("5m", "15m", "1h", "1d")]
    manifests = generated(tmp_path, settings(tmp_path / "raw", (), datasets=datasets))
    for manifest, each in zip(manifests, datasets, strict=True):
        stamps = parsed(manifest, "BTCUSDT")["open_time"].to_numpy()
        times = (stamps * 1000).astype("datetime64[us]")
        window = date(2023, 3, 22), date(2023, 3, 26)
        calendar.check("BTCUSDT", times, str(each["interval"]), *window)
        if each["interval"] == "1h":
            hours = np.setdiff1d(calendar.grid(*window, "1h"), times)
            assert hours.astype(str).tolist() == ["2023-03-24T13:00:00.000000"]


def test_no_candle_before_the_listing_day(tmp_path: Path) -> None:
    days = {"first": "2020-08-09", "last": "2020-08-12", "coins": ["BTCUSDT", "SOLUSDT"]}
    datasets = [{"interval": "1d", **days}]
    (manifest,) = generated(tmp_path, settings(tmp_path / "raw", (), datasets=datasets))
    assert parsed(manifest, "BTCUSDT").height == 4
    assert parsed(manifest, "SOLUSDT").height == 2


def test_truth_files(archive: tuple[Path, list[Manifest]]) -> None:
    folder, _ = archive
    truth = json.loads((folder / "truth.json").read_text("utf-8"))
    table = pl.read_parquet(folder / "truth.parquet")
    assert table.columns == ["symbol", "hour", "sigma", "direction", "probability", "forced"]
    assert table.height == 2 * 34 * 24
    assert truth["world"]["seed"] == 3
    for symbol in ("BTCUSDT", "SOLUSDT"):
        rates = truth["coins"][symbol]["bayes_hit_rate"]
        own = table.filter(pl.col("symbol") == symbol)
        late = own.filter(pl.col("hour") >= date(2025, 1, 1))
        assert rates["window"] == pytest.approx(0.5 + own["probability"].to_numpy().mean() / 2)
        assert rates["from_2022"] == rates["window"]
        assert rates["from_first_test"] == pytest.approx(
            0.5 + late["probability"].to_numpy().mean() / 2
        )


def test_window_without_forecast_hours_has_no_rate(tmp_path: Path) -> None:
    datasets = [
        {"interval": "1h", "coins": ["BTCUSDT"], "first": "2021-11-01", "last": "2021-11-03"}
    ]
    generated(tmp_path, settings(tmp_path / "raw", (), datasets=datasets))
    rates = json.loads((tmp_path / "truth.json").read_text("utf-8"))["coins"]["BTCUSDT"]
    assert rates["bayes_hit_rate"]["from_2022"] is None
    assert rates["bayes_hit_rate"]["window"] > 0.5


def test_number_of_manifests_must_match(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="1 manifests are declared for 2 datasets"):
        generate.generate_archive(
            manifests=[tmp_path / "a.manifest.json"],
            truth=tmp_path / "truth.json",
            truth_hours=tmp_path / "truth.parquet",
            settings=settings(tmp_path, COINS),
        )


def test_large_numbers_survive_printing() -> None:
    """Sums above 9e7 have less than eight places of precision and still come back equal."""
    volume = np.round([98_765_432.123456789, 1e-8, 3.1e12 / 7, 2**53 / 1e8 + 0.3], 8)
    n = volume.size
    prices = np.full(n, 0.00000001)
    times = np.datetime64("2024-06-01", "us") + np.arange(n) * np.timedelta64(5, "m")
    candles = Candles(
        open_time=times, open=prices, high=prices, low=prices, close=prices, volume=volume,
        quote_volume=volume, trades=np.ones(n, dtype=np.int64), taker_buy_volume=volume,
        taker_buy_quote_volume=volume,
    )  # fmt: skip
    body = candle_files.archive_file(candle_files.rows(candles, "5m"), "X-5m-2024-06.zip")
    assert body is not None
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        lines = archive.read("X-5m-2024-06.csv").decode("ascii").splitlines()
    assert lines[0].split(",")[1] == "0.00000001"
    printed = [float(line.split(",")[5]) for line in lines]
    np.testing.assert_array_equal(printed, volume)

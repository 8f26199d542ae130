"""Funding: what the archive's files hold, sums scaled to a year, and a planted average found."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import answer, answered, printed_rows
from funding_archive import (
    BTC,
    ETH,
    HEADER,
    constant,
    funding_path,
    grid,
    manifest_of,
    payment,
    put_month,
)
from remeasure.errors import ConfigError, DataError, SourceError
from remeasure.fetch.manifest import Manifest, digest
from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.fetch_funding import FetchFundingStep, fetch_funding
from remeasure.studies.crypto.funding import (
    OUTPUTS,
    PERIODS,
    FundingSettings,
    FundingStep,
    measure_funding,
    scaled,
)
from remeasure.studies.crypto.funding_files import FundingFilesStep, parse_funding, read_payments
from remeasure.studies.crypto.generate_funding import (
    GenerateFundingStep,
    generate_funding,
    world_id,
)
from remeasure.studies.crypto.settings import Dataset

BOOTSTRAP = FundingSettings(block_days=30, resamples=200)


def window(first: str, last: str, *coins: str) -> Dataset:
    return Dataset(
        coins=coins or (BTC,), first=date.fromisoformat(first), last=date.fromisoformat(last)
    )


def parse(root: Path, dataset: Dataset) -> Path:
    target = root.parent / "funding.duckdb"
    parse_funding(
        manifest=manifest_of(root), funding=target, settings=FundingFilesStep(dataset=dataset)
    )
    return target


def measure(
    folder: Path, funding: list[Path], dataset: Dataset | None, truth: Path | None = None
) -> tuple[list[Measurement], pl.DataFrame]:
    periods = folder / "funding.parquet"
    measured = measure_funding(
        funding=funding,
        periods=periods,
        settings=FundingStep(dataset=dataset, funding=BOOTSTRAP),
        rng=np.random.default_rng(3),
        truth=truth,
    )
    return measured, pl.read_parquet(periods)


# --- the arithmetic -------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [1, 2, 4, 8])
def test_a_constant_rate_is_the_same_in_months_of_any_length(tmp_path: Path, hours: int) -> None:
    """0.01% every eight hours is 10.95% a year, however the eight hours are cut."""
    rate = f"{0.0001 * hours / 8:.8f}"
    constant(tmp_path / "raw", BTC, "2024-01", 5, rate, hours)
    dataset = window("2024-01-01", "2024-05-31")
    _, table = measure(tmp_path, [parse(tmp_path / "raw", dataset)], dataset)
    wanted = 100 * float(rate) * 24 / hours * 365
    assert table["percent"].to_list() == pytest.approx([wanted] * 6, abs=1e-10)
    assert table.filter(pl.col("span") == "month")["days"].to_list() == [31, 29, 31, 30, 31]
    if hours < 8:
        return
    assert wanted == pytest.approx(10.95, abs=1e-12)


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 400), st.sampled_from([1, 2, 4, 8, 24]), st.floats(-0.01, 0.01))
def test_scaling_forgets_how_many_payments_there_were(days: int, hours: int, rate: float) -> None:
    payments = days * 24 // hours
    assert scaled(payments * rate, days) == pytest.approx(rate * 24 / hours * 365, abs=1e-12)


def test_no_days_are_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        scaled(0.1, 0)


def test_the_exact_rows(tmp_path: Path) -> None:
    measured, table = measure(tmp_path, [], None)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert answer(measured, "default rate scaled to a year").value == pytest.approx(
        10.95, abs=1e-12
    )
    assert answer(measured, "payments per day").value == 3
    others = [each for each in measured if each.value is None]
    assert len(others) == 9
    assert {each.note for each in others} == {"this run has no funding rates"}
    assert table.is_empty()
    assert table.columns == list(PERIODS.columns)


# --- averages against a plain computation ---------------------------------------------------


def test_averages_and_negative_shares_equal_a_plain_count(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    rates: dict[datetime, float] = {}
    for month in range(7, 13):
        end = datetime(2025, month + 1, 1) if month < 12 else datetime(2026, 1, 1)
        rows = []
        for moment in grid(datetime(2025, month, 1), end):
            text = f"{draw.normal(5e-5, 1e-4):.8f}"
            rates[moment] = float(text)
            rows.append(payment(moment, text, late=int(draw.integers(0, 20))))
        put_month(tmp_path / "raw", BTC, f"2025-{month:02d}", rows)
    dataset = window("2025-07-10", "2025-12-31")
    measured, table = measure(tmp_path, [parse(tmp_path / "raw", dataset)], dataset)
    inside = {at: rate for at, rate in rates.items() if at >= datetime(2025, 7, 10)}
    for month in range(7, 13):
        own = [rate for at, rate in inside.items() if at.month == month]
        row = table.filter(
            pl.col("first") == date(2025, month, 10 if month == 7 else 1), pl.col("span") == "month"
        )
        assert row["percent"].item() == pytest.approx(100 * np.mean(own) * 3 * 365, rel=1e-12)
        assert row["negative"].item() == pytest.approx(100 * np.mean(np.array(own) < 0), rel=1e-12)
        assert row["low"].item() is None
    found = answer(measured, "BTC 2025")
    assert found.value == pytest.approx(100 * np.mean(list(inside.values())) * 3 * 365, rel=1e-12)
    assert found.low < found.value < found.high
    assert (found.n, found.truth) == (len(inside), None)
    assert found.coverage == "funding of BTC 2025-07-10 to 2025-12-31 of 2025-01-01 to 2025-12-31"
    assert answer(measured, "BTC 2024").note == (
        "2024 lies outside this run's funding rates (2025-07-10 to 2025-12-31)"
    )
    assert answer(measured, "ETH 2021").note.startswith("ETH is not among the contracts")


def test_the_interval_covers_the_mean_of_a_process_that_remembers(tmp_path: Path) -> None:
    """Independent payments: half the interval is about two standard errors of the mean."""
    draw = np.random.default_rng(8)
    for month in range(1, 13):
        end = datetime(2024 + month // 12, month % 12 + 1, 1)
        rows = [
            payment(at, f"{draw.normal(1e-4, 1e-4):.8f}")
            for at in grid(datetime(2024, month, 1), end)
        ]
        put_month(tmp_path / "raw", BTC, f"2024-{month:02d}", rows)
    dataset = window("2024-01-01", "2024-12-31")
    measured, _ = measure(tmp_path, [parse(tmp_path / "raw", dataset)], dataset)
    found = answer(measured, "BTC 2024")
    error = 100 * 1095 * 1e-4 / np.sqrt(366 * 3)
    assert found.coverage == "whole"
    assert 1.2 * error < found.high - found.value < 3.5 * error
    assert found.low < 10.95 < found.high


def test_nothing_paid_is_not_negative(tmp_path: Path) -> None:
    constant(tmp_path / "raw", BTC, "2026-01", 1, "0.00000000")
    constant(tmp_path / "raw", BTC, "2026-02", 1, "-0.00000001")
    dataset = window("2026-01-01", "2026-02-28")
    measured, _ = measure(tmp_path, [parse(tmp_path / "raw", dataset)], dataset)
    found = answer(measured, "BTC 2026", "share of negative payments")
    assert found.value == pytest.approx(100 * 28 / 59)


def test_days_after_the_publication_do_not_count(tmp_path: Path) -> None:
    constant(tmp_path / "raw", BTC, "2026-09", 2, "0.00010000")
    constant(tmp_path / "raw", BTC, "2026-11", 1, "-0.00900000")
    dataset = window("2026-09-01", "2026-11-30")
    measured, table = measure(tmp_path, [parse(tmp_path / "raw", dataset)], dataset)
    assert answer(measured, "BTC 2026 to end of October").value == pytest.approx(10.95)
    assert answer(measured, "BTC 2026", "share of negative payments").value == 0
    assert table["last"].max() == date(2026, 10, 31)


# --- the generator --------------------------------------------------------------------------


def generate(folder: Path, dataset: Dataset, seed: int = 7) -> tuple[Path, Path]:
    manifest, truth = folder / "m.json", folder / "truth.json"
    generate_funding(
        manifest=manifest,
        truth=truth,
        settings=GenerateFundingStep(dataset=dataset, seed=seed, raw=str(folder / "raw")),
    )
    return manifest, truth


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dataset, Path, Path]:
    folder = tmp_path_factory.mktemp("funding")
    dataset = window("2020-01-01", "2026-10-31", BTC, ETH)
    manifest, truth = generate(folder, dataset)
    funding = folder / "funding.duckdb"
    parse_funding(manifest=manifest, funding=funding, settings=FundingFilesStep(dataset=dataset))
    return folder, dataset, funding, truth


def test_every_planted_average_is_found_exactly(
    generated: tuple[Path, Dataset, Path, Path], tmp_path: Path
) -> None:
    _, dataset, funding, truth = generated
    measured, table = measure(tmp_path, [funding], dataset, truth)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    for found in measured:
        if found.note or found.quantity.startswith("share"):
            assert found.truth == pytest.approx(found.value, rel=1e-9, abs=1e-9)
            assert found.low <= found.truth <= found.high
            assert found.coverage == "whole"
    assert answer(measured, "BTC 2024").n == 366 * 3
    assert table.filter(pl.col("span") == "month").height == 2 * 82
    # Rates persist: months differ by more than independent payments would.
    months = table.filter(
        pl.col("coin") == "BTC", pl.col("span") == "month", pl.col("first") < date(2021, 1, 1)
    )
    assert months["percent"].std() > 2 * 100 * 1095 * 0.9e-4 / np.sqrt(91)


def test_the_planted_sums_stand_in_the_files(generated: tuple[Path, Dataset, Path, Path]) -> None:
    """Read with the standard library alone."""
    folder, _, _, truth = generated
    manifest = Manifest.read(folder / "m.json")
    total: dict[tuple[str, str], list[int]] = {}
    for entry in manifest.files:
        name = Path(entry.path).name
        with zipfile.ZipFile(manifest.file(entry)) as archive:
            assert archive.namelist() == [name.replace(".zip", ".csv")]
            text = archive.read(archive.namelist()[0]).decode()
        assert text.splitlines()[0] == HEADER
        key = (name.split("-")[0], name[-11:-7])
        total.setdefault(key, []).extend(
            int(row[2].replace(".", "")) for row in list(csv.reader(io.StringIO(text)))[1:]
        )
    planted = json.loads(truth.read_text())["contracts"]
    for (symbol, year), rates in total.items():
        assert planted[symbol][year] == {
            "payments": len(rates),
            "sum": sum(rates),
            "negative": sum(rate < 0 for rate in rates),
        }
    assert len({each["sum"] for each in planted[BTC].values()}) == 7


def test_worlds_are_repeatable_and_contracts_leave_each_other_alone(tmp_path: Path) -> None:
    alone, both = window("2024-01-05", "2024-03-20"), window("2024-01-05", "2024-03-20", BTC, ETH)
    bytes_of = {}
    for number, (dataset, seed) in enumerate([(alone, 7), (alone, 7), (both, 7), (alone, 8)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        manifest = Manifest.read(generate(folder, dataset, seed)[0])
        bytes_of[number] = {
            entry.path: manifest.read_verified(entry)
            for entry in manifest.files
            if BTC in entry.path
        }
        made = GenerateFundingStep(dataset=dataset, seed=seed)
        assert manifest.root.endswith(world_id(made))
    assert bytes_of[0] == bytes_of[1] == bytes_of[2]
    assert bytes_of[0].keys() == bytes_of[3].keys()
    assert all(bytes_of[0][path] != bytes_of[3][path] for path in bytes_of[0])
    # A file that was spoiled is written again, an intact one is left alone.
    manifest = Manifest.read(tmp_path / "0" / "m.json")
    good, bad = (manifest.file(entry) for entry in manifest.files[:2])
    bad.write_bytes(b"spoiled")
    before = good.stat().st_mtime_ns
    generate(tmp_path / "0", alone)
    assert good.stat().st_mtime_ns == before
    manifest.read_verified(manifest.files[1])


# --- the parser -----------------------------------------------------------------------------

JANUARY = grid(datetime(2024, 1, 1), datetime(2024, 2, 1))
MONTH = window("2024-01-01", "2024-01-31")


def lines() -> list[str]:
    return [payment(moment) for moment in JANUARY]


def test_stamps_are_rounded_to_the_hour(tmp_path: Path) -> None:
    rows = [payment(at, late=late) for at, late in zip(JANUARY, [0, 7, -4] * 31, strict=True)]
    rows[3] = payment(JANUARY[3], "-0.00012345")
    put_month(tmp_path / "raw", BTC, "2024-01", rows)
    found = read_payments(parse(tmp_path / "raw", MONTH), BTC)
    assert found["time"].to_list() == JANUARY
    assert found["rate"][3] == -0.00012345
    assert set(found["hours"]) == {8}


@pytest.mark.parametrize("first_of_new", [datetime(2024, 1, 15, 20), datetime(2024, 1, 16)])
def test_an_interval_may_change(tmp_path: Path, first_of_new: datetime) -> None:
    """The first payment after the change follows by the new interval, or still by the old one."""
    rows = [payment(at) for at in JANUARY if at < datetime(2024, 1, 15, 20)]
    rows += [payment(at, hours=4) for at in grid(first_of_new, datetime(2024, 2, 1), 4)]
    put_month(tmp_path / "raw", BTC, "2024-01", rows)
    found = read_payments(parse(tmp_path / "raw", MONTH), BTC)
    # From eight hours before the first payment to the last one at 20:00.
    assert found["hours"].sum() == 31 * 24 - 4 + 8
    assert found["hours"].unique().sort().to_list() == [4, 8]


def put(index: int, line: str) -> Callable[[list[str]], None]:
    return lambda rows: rows.__setitem__(index, line)


def field(column: int, value: str) -> Callable[[list[str]], None]:
    """Write another value into a column of the sixth payment, which is row 7 of the file."""
    parts = lines()[5].split(",")
    return put(5, ",".join([*parts[:column], value, *parts[column + 1 :]]))


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda rows: rows.pop(40), ("payments are missing", "row 42", "calc_time")),
        (lambda rows: rows.insert(40, rows[40]), ("repeats", "row 43")),
        (lambda rows: rows.reverse(), ("goes back in time", "row 3")),
        (lambda rows: rows.clear(), ("holds no payment",)),
        (field(0, "x"), ("calc_time, row 7", "not a whole number")),
        (field(1, "8.5"), ("funding_interval_hours, row 7",)),
        (field(1, "0"), ("1 to 24 hours", "row 7")),
        (field(2, "0.0001e"), ("last_funding_rate, row 7",)),
        (field(2, "0.5"), ("rate is impossible", "row 7")),
        (field(2, "nan"), ("rate is impossible", "row 7")),
        (field(2, ""), ("last_funding_rate, row 7",)),
        (field(2, "0.0001,7"), ("4 fields instead of 3", "row 7")),
        (put(5, payment(JANUARY[5], late=90_000)), ("not on the hour", "row 7")),
        (put(0, payment(datetime(2023, 12, 31, 16))), ("outside the file's month", "row 2")),
        (put(92, payment(datetime(2024, 2, 1))), ("outside the file's month", "row 94")),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, edit: Callable[[list[str]], None], said: tuple[str, ...]
) -> None:
    rows = lines()
    edit(rows)
    put_month(tmp_path / "raw", BTC, "2024-01", rows)
    with pytest.raises(DataError) as caught:
        parse(tmp_path / "raw", MONTH)
    for words in (*said, "BTCUSDT-fundingRate-2024-01.zip", "remedy"):
        assert words in str(caught.value)


def test_unknown_columns_are_refused(tmp_path: Path) -> None:
    put_month(
        tmp_path / "raw", BTC, "2024-01", lines(), HEADER.replace("last_funding_rate", "mark")
    )
    with pytest.raises(DataError, match=r"unknown column 'mark'[\s\S]*row 1"):
        parse(tmp_path / "raw", MONTH)


def test_a_missing_month_and_ends_without_payments_are_refused(tmp_path: Path) -> None:
    constant(tmp_path / "raw", BTC, "2024-01", 1, "0.0001")
    constant(tmp_path / "raw", BTC, "2024-03", 1, "0.0001")
    with pytest.raises(DataError, match=r"payments are missing[\s\S]*2024-03\.zip.*row 2"):
        parse(tmp_path / "raw", window("2024-01-01", "2024-03-31"))
    (tmp_path / "raw" / funding_path(BTC, "2024-03")).unlink()
    for first, last, said in (
        ("2024-01-01", "2024-02-01", "before the end of the last day"),
        ("2023-12-31", "2024-01-31", "after the first day"),
        ("2025-01-01", "2025-01-31", "no payment of BTCUSDT within the window"),
    ):
        with pytest.raises(DataError, match=said):
            parse(tmp_path / "raw", window(first, last))


def test_files_of_another_kind_or_contract_are_refused(tmp_path: Path) -> None:
    constant(tmp_path / "raw", BTC, "2024-01", 1, "0.0001")
    with pytest.raises(DataError, match="holds funding of BTCUSDT"):
        parse(tmp_path / "raw", window("2024-01-01", "2024-01-31", ETH))
    with pytest.raises(DataError, match="no file of ETHUSDT"):
        parse(tmp_path / "raw", window("2024-01-01", "2024-01-31", BTC, ETH))
    sums = tmp_path / "raw" / (funding_path(BTC, "2024-01") + ".CHECKSUM")
    sums.write_text(f"{'0' * 64}  {sums.name.removesuffix('.CHECKSUM')}\n")
    with pytest.raises(DataError, match="promises other bytes"):
        parse(tmp_path / "raw", MONTH)
    sums.rename(sums.with_name("BTCUSDT-fundingRate-2024-13.zip"))
    with pytest.raises(DataError, match="impossible"):
        parse(tmp_path / "raw", MONTH)
    sums.with_name("BTCUSDT-fundingRate-2024-13.zip").rename(sums.with_name("other.zip"))
    with pytest.raises(DataError, match="not the name of a monthly funding file"):
        parse(tmp_path / "raw", MONTH)


# --- fetching -------------------------------------------------------------------------------


def fetch(folder: Path, **more: object) -> Manifest:
    step = FetchFundingStep.model_validate({"dataset": window("2024-01-15", "2024-03-02"), **more})
    fetch_funding(manifest=folder / "f.json", settings=step)
    return Manifest.read(folder / "f.json")


def test_a_mirror_and_the_cache_give_the_months_of_the_window(tmp_path: Path) -> None:
    for root in ("mirror", "raw/public"):
        constant(tmp_path / root, BTC, "2024-01", 3, "0.0001")
        for path in list((tmp_path / root).rglob("*.zip")):
            sums = path.with_name(f"{path.name}.CHECKSUM")
            sums.write_text(f"{digest(path)[1]}  {path.name}\n")
    mirrored = fetch(tmp_path, origin="mirror", mirror=str(tmp_path / "mirror"))
    assert (mirrored.source, mirrored.origin) == ("crypto_funding", "mirror")
    assert [entry.path for entry in mirrored.files] == [
        funding_path(BTC, f"2024-0{month}") + end
        for month in (1, 2, 3)
        for end in ("", ".CHECKSUM")
    ]
    parse_funding(
        manifest=tmp_path / "f.json",
        funding=tmp_path / "f.duckdb",
        settings=FundingFilesStep(dataset=window("2024-01-15", "2024-03-02")),
    )
    assert read_payments(tmp_path / "f.duckdb", BTC).height == (17 + 29 + 2) * 3
    assert fetch(tmp_path, origin="public", raw=str(tmp_path / "raw")).origin == "public"
    mirrored.file(mirrored.files[2]).unlink()
    with pytest.raises(SourceError, match="2024-02"):
        fetch(tmp_path, origin="mirror", mirror=str(tmp_path / "mirror"))
    with pytest.raises(ConfigError, match="no folder is named"):
        fetch(tmp_path, origin="mirror")

"""From raw bytes to candles: what is right comes through exactly, what is not is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raw_archive import archive_path, lines, list_files, put, stamp, text, times
from remeasure.errors import DataError, ExpectedError, SourceError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.store.tables import content_hashes
from remeasure.studies.crypto.parsing import Rows, csv_rows, parse_rows
from remeasure.studies.crypto.settings import Dataset, Hole
from remeasure.studies.crypto.sources import (
    CANDLES,
    CandlesStep,
    parse_candles,
    read_candles,
    read_coins,
)

BTC, ETH = "BTCUSDT", "ETHUSDT"
DAY = datetime(2024, 5, 1)
NAMES = [column.name for column in CANDLES.columns if column.name != "symbol"]

Lines = list[list[str]]


def step(
    first: date = date(2024, 5, 1),
    last: date = date(2024, 5, 2),
    coins: tuple[str, ...] = (BTC,),
    interval: str = "1h",
    **more: object,
) -> CandlesStep:
    return CandlesStep.model_validate(
        {
            "interval": interval,
            "dataset": Dataset(coins=coins, first=first, last=last),
            **more,
        }
    )


def days(root: Path, change: Callable[[Lines], Lines | None], header: bool = False) -> None:
    """Two daily files, the second one changed."""
    for day in (1, 2):
        made = lines(times(datetime(2024, 5, day), 24, "1h"), "1h")
        if day == 2:
            changed = change(made)
            made = made if changed is None else changed
        put(root, archive_path(BTC, "1h", f"2024-05-0{day}"), text(made, header=header))


def parsed(root: Path, wanted: CandlesStep, symbol: str = BTC) -> pl.DataFrame:
    database = root.parent / "candles.duckdb"
    parse_candles(manifest=list_files(root), candles=database, settings=wanted)
    return read_candles(database, symbol)


def checked(root: Path, wanted: CandlesStep) -> None:
    """Read everything without writing a database."""
    for _ in read_coins(Manifest.read(list_files(root)), wanted):
        pass


def as_written(rows: Lines, opened: list[datetime]) -> pl.DataFrame:
    """The same candles read by Python's own float and int."""
    order = (1, 2, 3, 4, 5, 7, 8, 9, 10)
    columns = [opened, *([float(row[i]) if i != 8 else int(row[i]) for row in rows] for i in order)]
    schema = {name: kind for name, kind in CANDLES.schema().items() if name != "symbol"}
    return pl.DataFrame(dict(zip(NAMES, columns, strict=True)), schema=schema)


# ------------------------------------------------------------------ what is right


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_every_form_of_file_gives_the_same_candles(
    tmp_path: Path, header: bool, newline: str, unit: str
) -> None:
    opened = times(DAY, 48, "1h")
    made = lines(opened, "1h", unit)
    for part, name in ((made[:24], "2024-05-01"), (made[24:], "2024-05-02")):
        body = text(part, header=header, newline=newline)
        put(tmp_path / "raw", archive_path(BTC, "1h", name), body)
    assert parsed(tmp_path / "raw", step()).equals(as_written(made, opened))


def test_months_days_units_and_coins_together(tmp_path: Path) -> None:
    raw, expected = tmp_path / "raw", {}
    for seed, symbol in enumerate((BTC, ETH)):
        rows: Lines = []
        for begin, count, unit, name in (
            (datetime(2024, 12, 1), 744, "ms", "2024-12"),
            (datetime(2025, 1, 1), 744, "us", "2025-01"),
            (datetime(2025, 2, 1), 24, "us", "2025-02-01"),
        ):
            made = lines(times(begin, count, "1h"), "1h", unit, seed)
            put(raw, archive_path(symbol, "1h", name), text(made, header=unit == "us")[:-1])
            rows += made
        expected[symbol] = as_written(rows, times(datetime(2024, 12, 1), 1512, "1h"))
    whole = step(date(2024, 12, 1), date(2025, 2, 1), (ETH, BTC))
    assert parsed(raw, whole, BTC).equals(expected[BTC])
    assert parsed(raw, whole, ETH).equals(expected[ETH])
    first = content_hashes(tmp_path / "candles.duckdb")
    parsed(raw, whole)
    assert content_hashes(tmp_path / "candles.duckdb") == first
    inside = step(date(2024, 12, 5), date(2025, 1, 30), (BTC, ETH))
    window = (datetime(2024, 12, 5), datetime(2025, 1, 30, 23))
    cut = expected[ETH].filter(pl.col("open_time").is_between(*window))
    assert parsed(raw, inside, ETH).equals(cut)
    with pytest.raises(DataError, match="no candles of SOLUSDT"):
        read_candles(tmp_path / "candles.duckdb", "SOLUSDT")


@pytest.mark.parametrize("interval", ["5m", "15m", "1h", "1d"])
def test_a_day_with_a_halt_lacks_exactly_its_candles(tmp_path: Path, interval: str) -> None:
    minutes = {"5m": 5, "15m": 15, "1h": 60, "1d": 1440}[interval]
    lost = (datetime(2023, 3, 24, 12, 40), datetime(2023, 3, 24, 14))
    every = times(datetime(2023, 3, 24), 1440 // minutes, interval)
    kept = [t for t in every if not (lost[0] <= t and t + timedelta(minutes=minutes) <= lost[1])]
    assert len(every) - len(kept) == {"5m": 16, "15m": 5, "1h": 1, "1d": 0}[interval]
    wanted = step(date(2023, 3, 24), date(2023, 3, 24), interval=interval)
    made = lines(kept, interval)
    # The candle that the halt begins in was cut short: it closes early.
    cut = max(i for i, t in enumerate(kept) if t < lost[0])
    short = [*made[cut][:6], str(stamp(lost[0], "ms") - 20_000), *made[cut][7:]]
    if kept[cut] + timedelta(minutes=minutes) > lost[0]:
        made[cut] = short
    put(tmp_path / "raw", archive_path(BTC, interval, "2023-03-24"), text(made))
    assert parsed(tmp_path / "raw", wanted).equals(as_written(made, kept))
    # Nothing of an hour that was halted as a whole may be there.
    if len(every) > len(kept):
        put(
            tmp_path / "raw",
            archive_path(BTC, interval, "2023-03-24"),
            text(lines(every, interval)),
        )
        with pytest.raises(DataError, match="inside a known halt"):
            checked(tmp_path / "raw", wanted)


def test_text_is_parsed_some_megabytes_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days(tmp_path / "raw", lambda rows: rows, header=True)
    together = parsed(tmp_path / "raw", step())
    monkeypatch.setattr("remeasure.studies.crypto.parsing._BATCH_BYTES", 1)
    assert parsed(tmp_path / "raw", step()).equals(together)
    days(tmp_path / "raw", lambda rows: [*rows[:4], [*rows[4][:2], "x", *rows[4][3:]], *rows[5:]])
    with pytest.raises(DataError, match=r"2024-05-02\.zip, column high, row 5"):
        checked(tmp_path / "raw", step())


candle = st.tuples(
    *[st.integers(1, 10**14)] * 2,
    *[st.integers(0, 10**12)] * 2,
    *[st.integers(0, 10**15)] * 4,
    st.integers(0, 10**9),
)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.integers(0, 287), candle, max_size=12),
    st.sampled_from(["ms", "us"]),
    st.booleans(),
    st.booleans(),
)
def test_any_candles_come_back_as_they_were_written(
    drawn: dict[int, tuple[int, ...]], unit: str, header: bool, newline: bool
) -> None:
    opened = [DAY + i * timedelta(minutes=5) for i in sorted(drawn)]
    rows = lines(opened, "5m", unit)
    for row, (a, b, up, down, *amounts, trades) in zip(
        rows, (drawn[i] for i in sorted(drawn)), strict=True
    ):
        prices = [a, max(a, b) + up, max(1, min(a, b) - down), b, amounts[0]]
        row[1:6] = [f"{x // 10**8}.{x % 10**8:08d}" for x in prices]
        row[7], row[9], row[10] = (f"{x}e-8" for x in amounts[1:])
        row[8] = str(trades)
    body = text(rows, header=header)
    piece = csv_rows(body if newline else body[:-1], "a.csv", DAY.date(), date(2024, 5, 2))
    found = parse_rows([piece], "5m")
    assert found.equals(as_written(rows, opened))


# --------------------------------------------------------------- what is refused


def edit(row: int, column: int, value: str) -> Callable[[Lines], Lines]:
    """Put ``value`` in a field; rows count from 1."""

    def change(rows: Lines) -> Lines:
        rows[row - 1][column] = value
        return rows

    return change


def moved(rows: Lines, milliseconds: int) -> Lines:
    for row in rows:
        row[0], row[6] = (str(int(row[i]) + milliseconds) for i in (0, 6))
    return rows


REFUSED: dict[str, tuple[Callable[[Lines], Lines | None], str, str]] = {
    "text": (edit(5, 2, "abc"), "column high is not a number", "column high, row 5"),
    "a quoted number": (edit(7, 4, '"1.5"'), "close is not a number", "column close, row 7"),
    "a fraction of a trade": (edit(7, 8, "1.5"), "trades is not a number", "column trades, row 7"),
    "a header in between": (
        lambda rows: [*rows[:3], ["open_time"] * 12, *rows[3:]],
        "open_time is not a number",
        "column open_time, row 4",
    ),
    "an empty field": (edit(3, 4, ""), "close is missing", "column close, row 3"),
    "an empty line": (
        lambda rows: [*rows[:3], [""], *rows[3:]],
        "open_time is missing",
        "column open_time, row 4",
    ),
    "a field too many": (lambda rows: rows[9].append("0"), "13 fields instead of 12", "row 10"),
    "a field too few": (
        lambda rows: [row[: 11 if i == 9 else 12] for i, row in enumerate(rows)],
        "ignore is missing",
        "row 10",
    ),
    "no price": (edit(2, 1, "0.00000000"), "open is not a positive price", "column open, row 2"),
    "not a number": (edit(2, 4, "nan"), "close is not a positive price", "column close, row 2"),
    "no end": (edit(2, 2, "inf"), "high is not a positive price", "column high, row 2"),
    "below nothing": (edit(2, 3, "-1"), "low is not a positive price", "column low, row 2"),
    "a low too high": (edit(24, 3, "98000"), "low is above open or close", "column low, row 24"),
    "a high too low": (edit(24, 2, "0.5"), "high is below open or close", "column high, row 24"),
    "negative volume": (edit(8, 5, "-0.1"), "volume is negative", "column volume, row 8"),
    "endless volume": (edit(8, 9, "inf"), "taker_buy_volume is negative or not finite", "row 8"),
    "negative trades": (edit(8, 8, "-1"), "trades is negative", "column trades, row 8"),
    "a last column": (edit(8, 11, "1"), "last column is not 0", "column ignore, row 8"),
    "a candle too long": (
        edit(6, 6, str(stamp(DAY + timedelta(days=1, hours=6, minutes=1), "ms") - 1)),
        "close_time is not open_time plus 1h",
        "column close_time, row 6",
    ),
    "a candle cut short without a halt": (
        edit(6, 6, str(stamp(DAY + timedelta(days=1, hours=5, minutes=30), "ms"))),
        "close_time is not open_time plus 1h",
        "column close_time, row 6",
    ),
    "an end in another unit": (
        edit(6, 6, str(stamp(DAY + timedelta(days=1, hours=6), "us") - 1)),
        "close_time is not open_time plus 1h",
        "column close_time, row 6",
    ),
    "seconds": (
        lambda rows: [[row[0][:-3], *row[1:6], row[6][:-3], *row[7:]] for row in rows],
        "close_time is not open_time plus 1h",
        "row 1",
    ),
    "candles of another length": (
        lambda _: lines(times(DAY + timedelta(days=1), 24, "5m"), "5m"),
        "close_time is not open_time plus 1h",
        "row 1",
    ),
    "off the grid": (
        lambda rows: moved(rows, 60_000),
        "open_time is not a multiple of 1h",
        "column open_time, row 1",
    ),
    "the same candle twice": (
        lambda rows: [*rows[:5], rows[4], *rows[5:]],
        "open_time repeats after row 5",
        "column open_time, row 6",
    ),
    "back in time": (
        lambda rows: [*rows[:4], rows[5], rows[4], *rows[6:]],
        "open_time goes back in time after row 5",
        "column open_time, row 6",
    ),
    "another day": (
        lambda rows: moved(rows, 24 * 3_600_000),
        "2024-05-03T00:00:00 lies outside the period in the file's name",
        "column open_time, row 1",
    ),
    "one hour of the next day": (
        lambda rows: [*rows, *moved([rows[0].copy()], 24 * 3_600_000)],
        "2024-05-03T00:00:00 lies outside the period in the file's name",
        "column open_time, row 25",
    ),
    "the day before": (
        lambda rows: moved(rows, -24 * 3_600_000),
        "open_time goes back in time after data.binance.vision",
        "column open_time, row 1",
    ),
    "a hole": (
        lambda rows: [*rows[:7], *rows[8:]],
        "BTCUSDT lacks 1 candle that no known halt explains: 2024-05-02 07:00",
        "BTCUSDT-1h-2024-05-02.zip",
    ),
    "no candle at all": (lambda _: [], "lacks 24 candles", "BTCUSDT-1h-2024-05-02.zip"),
}


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("case", REFUSED)
def test_a_fault_is_refused_with_file_column_row_and_remedy(
    tmp_path: Path, case: str, header: bool
) -> None:
    change, what, place = REFUSED[case]
    days(tmp_path / "raw", change, header)
    with pytest.raises(DataError) as caught:
        checked(tmp_path / "raw", step())
    if header:  # every row lies one line further down
        place = re.sub(r"row (\d+)$", lambda m: f"row {int(m[1]) + 1}", place)
        what = re.sub(r"after row (\d+)$", lambda m: f"after row {int(m[1]) + 1}", what)
    assert what in caught.value.what
    assert place in caught.value.where
    assert "2024-05-02.zip" in caught.value.where
    assert caught.value.remedy


def test_a_header_with_other_columns_is_refused(tmp_path: Path) -> None:
    body = text(lines(times(DAY, 24, "1h"), "1h"), header=True).replace(b"high,low", b"low,high")
    put(tmp_path / "raw", archive_path(BTC, "1h", "2024-05-01"), body)
    with pytest.raises(DataError, match=r"header does not name[^§]*2024-05-01\.zip, row 1"):
        checked(tmp_path / "raw", step(last=date(2024, 5, 1)))


def test_a_missing_file_is_a_hole_that_no_file_covers(tmp_path: Path) -> None:
    put(
        tmp_path / "raw",
        archive_path(BTC, "1h", "2024-05-01"),
        text(lines(times(DAY, 24, "1h"), "1h")),
    )
    with pytest.raises(
        DataError, match=r"24 candles[^§]*no file of the manifest covers 2024-05-02"
    ):
        parsed(tmp_path / "raw", step())


def test_bytes_that_are_not_those_of_the_manifest_are_refused(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    days(raw, lambda rows: rows)
    listed = list_files(raw)
    file = raw / archive_path(BTC, "1h", "2024-05-02")
    body = bytearray(file.read_bytes())
    body[len(body) // 2] ^= 1
    file.write_bytes(body)
    with pytest.raises(SourceError, match=r"SHA-256[^§]*2024-05-02\.zip"):
        parse_candles(manifest=listed, candles=tmp_path / "c.duckdb", settings=step())
    file.unlink()
    with pytest.raises(SourceError, match=r"cannot be read[^§]*2024-05-02\.zip"):
        parse_candles(manifest=listed, candles=tmp_path / "c.duckdb", settings=step())


def test_a_checksum_file_in_the_manifest_must_agree(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    days(raw, lambda rows: rows)
    file = raw / archive_path(BTC, "1h", "2024-05-02")
    sums = file.with_name(file.name + ".CHECKSUM")
    sums.write_text(f"{digest(file)[1]}  {file.name}\n")
    assert parsed(raw, step()).height == 48
    sums.write_text(f"{'0' * 64}  {file.name}\n")
    with pytest.raises(DataError, match="promises other bytes"):
        checked(raw, step())


def test_archives_that_are_none_are_refused(tmp_path: Path) -> None:
    raw, path = tmp_path / "raw", archive_path(BTC, "1h", "2024-05-01")
    body = text(lines(times(DAY, 24, "1h"), "1h"))
    for spoil in (
        lambda file: file.write_bytes(file.read_bytes()[:-30]),
        lambda file: file.write_bytes(file.read_bytes()[:200]),
        lambda file: file.write_bytes(body),
        lambda _: put(raw, path, body, member="BTCUSDT-1h-2024-06-01.csv"),
        lambda _: put(raw, path, body, member="../BTCUSDT-1h-2024-05-01.csv"),
    ):
        spoil(put(raw, path, body))
        with pytest.raises(SourceError, match=r"2024-05-01\.zip"):
            checked(raw, step(last=date(2024, 5, 1)))


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["2024-05", "2024-05-02"], "two files cover 2024-05-02"),
        (["2024-05-02", "2024-05"], "two files cover 2024-05-02"),
    ],
)
def test_monthly_and_daily_files_must_not_overlap(
    tmp_path: Path, names: list[str], what: str
) -> None:
    for name in names:
        count = 24 if len(name) == 10 else 744
        first = datetime.fromisoformat(name if count == 24 else f"{name}-01")
        body = text(lines(times(first, count, "1h"), "1h"))
        put(tmp_path / "raw", archive_path(BTC, "1h", name), body)
    with pytest.raises(DataError) as caught:
        checked(tmp_path / "raw", step())
    assert what in str(caught.value)
    for name in names:
        assert f"BTCUSDT-1h-{name}.zip" in str(caught.value)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        (archive_path(ETH, "1h", "2024-05-01"), "holds 1h candles of ETHUSDT"),
        (archive_path(BTC, "5m", "2024-05-01"), "holds 5m candles of BTCUSDT"),
        (archive_path(BTC, "1h", "2024-13"), "impossible"),
        (archive_path(BTC, "1h", "2024-02-30"), "impossible"),
        (archive_path(BTC, "1h", "2024-05").replace("monthly", "daily"), "named by its month"),
        ("data.binance.vision/data/futures/um/BTCUSDT-1h-2024-05.zip", "not the name"),
        (archive_path(BTC, "1h", "2024-05") + ".txt", "not the name"),
    ],
)
def test_files_that_nobody_asked_for_are_refused(tmp_path: Path, path: str, what: str) -> None:
    put(tmp_path / "raw", path, b"")
    with pytest.raises(DataError, match=what):
        checked(tmp_path / "raw", step())


def test_a_coin_without_any_file_is_named(tmp_path: Path) -> None:
    days(tmp_path / "raw", lambda rows: rows)
    with pytest.raises(DataError, match="holds no file of ETHUSDT"):
        checked(tmp_path / "raw", step(coins=(BTC, ETH)))


def test_a_fault_leaves_no_rows_unnamed_in_the_second_of_many_files() -> None:
    """Rows are found again although files are joined and have headers or not."""
    opened = times(DAY, 72, "1h")
    made = lines(opened, "1h")
    for bad in (0, 23, 24, 47, 48, 71):
        rows = [row.copy() for row in made]
        rows[bad][4] = "-3"
        pieces = [
            csv_rows(text(rows[begin : begin + 24], header=begin == 24), f"file{begin // 24}")
            for begin in (0, 24, 48)
        ]
        with pytest.raises(DataError) as caught:
            parse_rows(pieces, "1h")
        number = bad % 24 + (2 if bad // 24 == 1 else 1)
        assert caught.value.where == f"file{bad // 24}, column close, row {number}"


def test_no_rows_give_no_candles() -> None:
    assert parse_rows([], "1h").schema == parse_rows([Rows("a", b"")], "1h").schema
    assert parse_rows([csv_rows(b"", "a")], "1h").height == 0


# ------------------------------------------------------------- holes that are known


def holes(*listed: tuple[str | None, datetime, datetime]) -> tuple[Hole, ...]:
    return tuple(Hole(symbol=s, missing_from=a, back_at=b) for s, a, b in listed)


def test_a_listed_hole_must_be_there_whole_and_alone(tmp_path: Path) -> None:
    days(tmp_path / "raw", lambda rows: [*rows[:7], *rows[9:]])
    begin, end = datetime(2024, 5, 2, 7), datetime(2024, 5, 2, 9)

    def read(*listed: tuple[str | None, datetime, datetime]) -> int:
        return parsed(tmp_path / "raw", step(known_holes=holes(*listed))).height

    assert read((None, begin, end)) == 46
    assert read((BTC, begin, end)) == 46
    hour = timedelta(hours=1)
    with pytest.raises(DataError, match=r"lacks 2 candles[^§]*list the hole in known_holes"):
        read((ETH, begin, end))
    with pytest.raises(DataError, match="lacks 1 candle that"):
        read((BTC, begin + hour, end))
    with pytest.raises(DataError, match="has 1 of its 3 candles, first 2024-05-02T09"):
        read((BTC, begin, end + hour))
    with pytest.raises(DataError, match="has 0 of its 0 candles"):
        read((BTC, begin, end), (BTC, begin + 48 * hour, end + 48 * hour))
    for bad in ({"back_at": begin}, {"back_at": "2024-05-02T09:00:00Z"}):
        with pytest.raises(ValueError, match=r"must be before|without a time zone"):
            Hole.model_validate({"missing_from": begin, **bad})


# ------------------------------------------------------------- tables of the user's own


def own_table() -> pl.DataFrame:
    opened = times(DAY, 48, "1h")
    frame = as_written(lines(opened, "1h"), opened)
    stamped = pl.col("open_time").dt.replace_time_zone("UTC").dt.cast_time_unit("ms")
    return frame.with_columns(stamped, note=pl.lit("mine"))


def read_own(folder: Path, table: pl.DataFrame, **more: object) -> pl.DataFrame:
    path = folder / "btc.parquet"
    table.write_parquet(path)
    listed = folder / "m.json"
    entry = RawFile("btc.parquet", *digest(path))
    Manifest.of("crypto_spot_1h", "files", folder, [entry]).write(listed)
    wanted = step(**({"files": {BTC: str(path)}} | more))  # type: ignore[arg-type]
    parse_candles(manifest=listed, candles=folder / "c.duckdb", settings=wanted)
    return read_candles(folder / "c.duckdb", BTC)


def test_a_table_of_ones_own_gives_the_same_candles(tmp_path: Path) -> None:
    opened = times(DAY, 48, "1h")
    truth = as_written(lines(opened, "1h"), opened)
    assert read_own(tmp_path, own_table()).equals(truth)
    naive = own_table().with_columns(pl.col("open_time").dt.replace_time_zone(None))
    assert read_own(tmp_path, naive).equals(truth)
    longer = pl.concat([own_table(), own_table().tail(1).with_columns(
        pl.col("open_time") + timedelta(hours=1))])  # fmt: skip
    assert read_own(tmp_path, longer).equals(truth)


def test_a_table_without_takers_has_missing_values_there(tmp_path: Path) -> None:
    optional = ["quote_volume", "trades", "taker_buy_volume", "taker_buy_quote_volume"]
    bare = own_table().drop(*optional, "note")
    found = read_own(tmp_path, bare)
    assert found.select(optional).null_count().row(0) == (48,) * 4
    assert found.drop(optional).equals(
        bare.with_columns(pl.col("open_time").dt.replace_time_zone(None).cast(pl.Datetime("us")))
    )


OWN_REFUSED: dict[str, tuple[Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "no volume": (lambda t: t.drop("volume"), "column volume is missing"),
    "text": (lambda t: t.with_columns(pl.col("open").cast(pl.String)), "column open is String"),
    "stamps": (
        lambda t: t.with_columns(pl.col("open_time").dt.epoch("ms")),
        "column open_time is Int64",
    ),
    "a time zone": (
        lambda t: t.with_columns(pl.col("open_time").dt.convert_time_zone("Europe/Berlin")),
        "column open_time is Datetime",
    ),
    "a missing value": (
        lambda t: t.with_columns(
            pl.when(pl.int_range(48) != 9).then(pl.col("close")).alias("close")
        ),
        "column close, row 10",
    ),
    "a price": (
        lambda t: t.with_columns(low=pl.when(pl.int_range(48) == 9).then(-1.0).otherwise("low")),
        "column low, row 10",
    ),
    "off the grid": (
        lambda t: t.with_columns(pl.col("open_time") + timedelta(minutes=5)),
        "not a multiple of 1h",
    ),
    "not sorted": (lambda t: t.reverse(), "goes back in time after row 1"),
    "twice": (lambda t: pl.concat([t[:3], t[2:]]), "repeats after row 3"),
    "a hole": (lambda t: pl.concat([t[:30], t[31:]]), "lacks 1 candle"),
    "another length": (lambda t: t[::2], "lacks 24 candles"),
}


@pytest.mark.parametrize("case", OWN_REFUSED)
def test_a_fault_in_ones_own_table_is_named(tmp_path: Path, case: str) -> None:
    change, what = OWN_REFUSED[case]
    with pytest.raises(DataError, match=re.escape(what)):
        read_own(tmp_path, change(own_table()))


def test_a_table_must_be_named_listed_and_parquet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table is named for BTCUSDT"):
        read_own(tmp_path, own_table(), files={})
    with pytest.raises(ExpectedError, match="does not hold this file"):
        read_own(tmp_path, own_table(), files={BTC: "other.parquet"})
    path = tmp_path / "btc.parquet"
    path.write_text("open_time,open\n")
    listed = tmp_path / "m.json"
    Manifest.of("x", "files", tmp_path, [RawFile("btc.parquet", *digest(path))]).write(listed)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        parse_candles(
            manifest=listed, candles=tmp_path / "c.duckdb", settings=step(files={BTC: str(path)})
        )


def test_a_listed_hole_in_ones_own_table(tmp_path: Path) -> None:
    hole = holes((None, datetime(2024, 5, 2, 6), datetime(2024, 5, 2, 7)))
    cut = pl.concat([own_table()[:30], own_table()[31:]])
    assert read_own(tmp_path, cut, known_holes=hole).height == 47
    assert np.isfinite(read_own(tmp_path, cut, known_holes=hole)["close"].to_numpy()).all()

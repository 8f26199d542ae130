"""The published value of a dollar held, on the exchange's own daily candles."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from remeasure.studies.crypto.memory_questions import FIRST, questions
from remeasure.studies.crypto.memory_strategy import factors
from remeasure.studies.crypto.memory_truth import with_truth
from remeasure.studies.crypto.published import printed

MIRROR = Path(
    os.environ.get("REMEASURE_MIRROR", Path(__file__).parents[2] / ".." / "shared" / "mirror")
)
DAILY = MIRROR / "data.binance.vision/data/spot/monthly/klines/BTCUSDT/1d"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not DAILY.is_dir(),
        reason=f"no folder of real data at {MIRROR} (set REMEASURE_MIRROR)",
    ),
]


def read() -> tuple[float, pl.DataFrame]:
    """First open, and closes by day, read here in the plainest way."""
    stamps, opens, closes = [], [], []
    for path in sorted(DAILY.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            text = archive.read(archive.namelist()[0]).decode()
        for row in csv.reader(io.StringIO(text)):
            stamp = int(row[0])
            stamps.append(stamp if stamp >= 10**14 else stamp * 1000)
            opens.append(float(row[1]))
            closes.append(float(row[4]))
    days = np.array(stamps, dtype="datetime64[us]").astype("datetime64[D]")
    return opens[0], pl.DataFrame({"day": days, "close": closes})


def test_a_dollar_held_from_2018_to_the_release_becomes_the_printed_seven() -> None:
    first_open, closes = read()
    asked = questions(FIRST, "2024-11-30").filter(pl.col("kind") == "month")
    months = with_truth(asked, closes)
    # The mirror begins with 2018: the close before its first month is not there, ...
    assert months["up"].null_count() == 1
    # ... and the next price to it is the first open.
    months = months.with_columns(pl.col("begin").fill_null(first_open))
    growth = factors(
        np.ones(months.height, dtype=np.bool_), months["begin"].to_numpy(), months["end"].to_numpy()
    )
    held = printed("fig_memory_strategy", "value of $1", "holding BTC, 2018-01..2024-11")
    assert round(float(np.prod(growth))) == held
    assert months.height == 83

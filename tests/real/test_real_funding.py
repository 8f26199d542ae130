"""The published averages of BTC's funding, on the exchange's own payments of 2022 to 2025."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from answers import answer
from remeasure.studies.crypto.fetch_funding import FetchFundingStep, fetch_funding
from remeasure.studies.crypto.funding import FundingSettings, FundingStep, measure_funding
from remeasure.studies.crypto.funding_files import FundingFilesStep, parse_funding
from remeasure.studies.crypto.settings import Dataset

MIRROR = Path(
    os.environ.get("REMEASURE_MIRROR", Path(__file__).parents[2] / ".." / "shared" / "mirror")
)
FOLDER = MIRROR / "data.binance.vision/data/futures/um/monthly/fundingRate/BTCUSDT"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not FOLDER.is_dir(),
        reason=f"no folder of real funding rates at {MIRROR} (set REMEASURE_MIRROR)",
    ),
]

PUBLISHED = {2022: "4.2", 2023: "7.9", 2024: "11.9", 2025: "5.1"}


def test_all_four_yearly_averages_come_out_as_printed(tmp_path: Path) -> None:
    dataset = Dataset(coins=("BTCUSDT",), first=date(2022, 1, 1), last=date(2025, 12, 31))
    fetch_funding(
        manifest=tmp_path / "m.json",
        settings=FetchFundingStep(dataset=dataset, origin="mirror", mirror=str(MIRROR)),
    )
    parse_funding(
        manifest=tmp_path / "m.json",
        funding=tmp_path / "f.duckdb",
        settings=FundingFilesStep(dataset=dataset),
    )
    measured = measure_funding(
        funding=[tmp_path / "f.duckdb"],
        periods=tmp_path / "periods.parquet",
        settings=FundingStep(
            dataset=dataset, funding=FundingSettings(block_days=30, resamples=500)
        ),
        rng=np.random.default_rng(0),
    )
    for year, published in PUBLISHED.items():
        found = answer(measured, f"BTC {year}")
        assert f"{found.value:.1f}" == published
        assert found.low < found.value < found.high
        assert (found.coverage, found.n) == ("whole", 3 * (366 if year == 2024 else 365))
    assert answer(measured, "BTC 2021").value is None

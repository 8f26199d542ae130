"""Answers of the services that others have recorded: the parsers read every one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from remeasure.config import read_files
from remeasure.studies.polymarket.listing_pages import decoded, events, markets
from remeasure.studies.polymarket.population import _resolution
from remeasure.studies.polymarket.settings import Definitions

FOLDER = Path(os.environ.get("REMEASURE_FILES", "../shared/data")) / "polymarket_api_fixtures"
DEFINITIONS = Definitions.model_validate(
    read_files([Path(__file__).parents[2] / "config" / "config.yaml"])["polymarket"]["definitions"]
)

pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason=f"no recorded answers in {FOLDER}: set REMEASURE_FILES"
)


def page(name: str) -> pl.Series:
    """A recorded list of markets or events, as a page of the listing."""
    found = json.loads((FOLDER / name).read_bytes())
    rows = found if isinstance(found, list) else [found]
    if "active_markets" in name:
        rows = found["markets"]
    if "event" not in Path(name).name:
        rows = [{"id": "0", "volume": 1, "markets": rows}]
    return decoded(json.dumps({"events": rows}).encode(), name)


@pytest.mark.parametrize(
    ("name", "count", "closed"),
    [
        ("alex_alaniz/gamma_markets_limit100_2025-05.json", 100, 0),
        ("alex_alaniz/gamma_active_markets_90_2025-05-05.json", 90, 0),
        ("alex_alaniz/gamma_markets_closed_sample3.json", 3, 3),
        ("bobaoxu2001_2026-07/polymarket_events.json", 8, 5),
        ("bobaoxu2001_2026-07/polymarket_markets.json", 3, 0),
        ("nautilus_trader/gamma_event.json", 2, 0),
        ("nautilus_trader/gamma_market.json", 1, 0),
        ("nautilus_trader/gamma_market_closed_binary_accepting_false.json", 1, 1),
        ("nautilus_trader/gamma_market_closed_binary_accepting_true.json", 1, 1),
        ("nautilus_trader/gamma_market_closed_nonbinary_legacy.json", 1, 1),
        ("nautilus_trader/gamma_market_closed_zero_zero_legacy.json", 1, 1),
        ("nautilus_trader/gamma_market_sports_market_money_line.json", 1, 1),
    ],
)
def test_recorded_answers_are_read_whole(name: str, count: int, closed: int) -> None:
    found = markets(page(name))
    assert found.height == count
    assert found["is_closed"].sum() == closed
    with_book = found.drop_nulls("token")
    assert with_book.height >= count - 1
    assert with_book["token"].str.contains(r"^\d{70,78}$").all()
    assert with_book["condition"].str.contains(r"^0x[0-9a-f]{64}$").all()
    assert with_book.filter(pl.col("is_closed"))["closed_market"].null_count() == 0
    assert with_book["opened"].null_count() == 0
    assert events(page(name)).height >= 1


def test_a_market_settled_at_zero_for_both_is_not_clean() -> None:
    found = markets(page("nautilus_trader/gamma_market_closed_zero_zero_legacy.json"))
    settled = found.with_columns(**_resolution(DEFINITIONS)).row(0, named=True)
    assert settled["outcome"] is None
    assert not settled["half"]

"""Coverage in words: whole windows, missing parts, halts and coarser candles."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from remeasure.studies.crypto.coverage import FIRST, LAST, base_note, coverage, outside


def test_the_publications_window_is_whole() -> None:
    assert coverage(FIRST, LAST) == "whole"
    assert coverage(date(2021, 1, 1), date(2026, 10, 29), base="5m", base_matters=True) == "whole"


def test_missing_years_are_named_with_the_base() -> None:
    assert coverage(date(2022, 1, 1), date(2025, 12, 31), base="1h") == (
        "candles 2022-01-01 to 2025-12-31 of 2021-01-01 to 2026-10-29, hours rebuilt from 1h"
    )
    assert coverage(date(2022, 1, 1), date(2025, 12, 31)) == (
        "candles 2022-01-01 to 2025-12-31 of 2021-01-01 to 2026-10-29"
    )


def test_a_coarser_base_alone_counts_where_it_matters() -> None:
    assert coverage(FIRST, LAST, base="15m") == "whole"
    assert coverage(FIRST, LAST, base="15m", base_matters=True) == "hours rebuilt from 15m"


@pytest.mark.parametrize(
    ("days_short", "whole"),
    [(0, True), (2, True), (3, False), (-2, True), (-3, False)],
)
def test_a_thousandth_may_be_missing_or_too_much(days_short: int, whole: bool) -> None:
    # 2,128 days: 2 of them are 0.094%, 3 are 0.14%.
    assert (coverage(FIRST, LAST - timedelta(days=days_short)) == "whole") is whole


def test_a_year_is_measured_against_itself() -> None:
    year = {"published_first": date(2024, 1, 1), "published_last": date(2024, 12, 31)}
    assert coverage(date(2024, 1, 1), date(2024, 12, 31), **year) == "whole"
    # One day is 0.27% of a year.
    assert coverage(date(2024, 1, 2), date(2024, 12, 31), **year) != "whole"


def test_no_overlap_is_not_whole() -> None:
    assert coverage(date(2019, 1, 1), date(2019, 12, 31)).startswith("candles 2019-01-01")


def test_a_coin_owes_only_what_was_listed() -> None:
    window = {"published_first": date(2020, 1, 1), "published_last": date(2020, 12, 31)}
    assert coverage(date(2020, 8, 11), date(2020, 12, 31), symbol="SOLUSDT", **window) == "whole"
    assert coverage(date(2020, 8, 11), date(2020, 12, 31), symbol="BTCUSDT", **window) != "whole"


def test_reasons_and_notes() -> None:
    assert outside("BTC 2021", date(2022, 1, 1), date(2025, 12, 31)) == (
        "BTC 2021 lies outside this run's candles (2022-01-01 to 2025-12-31)"
    )
    assert base_note("5m") == ""
    assert "1h" in base_note("1h")

"""Folds by months, against their definition on every hour of the publication's window."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.errors import ConfigError
from remeasure.evaluate.walk_forward import folds, months

HOUR = np.timedelta64(1, "h")
HOURS = np.arange(
    np.datetime64("2021-01-01", "us"), np.datetime64("2026-10-30", "us"), HOUR
)  # target hours


def test_months_are_inclusive_and_cross_years() -> None:
    assert months("2021-11", "2022-02") == ("2021-11", "2021-12", "2022-01", "2022-02")


def test_published_walk() -> None:
    """E28: 58 folds, train and test disjoint, last training target at least 24 h before."""
    every = folds("2022-01", "2026-10", gap_hours=24)
    assert len(every) == 58
    tested = np.zeros(HOURS.size, dtype=int)
    for fold in every:
        train, test = fold.train(HOURS + HOUR), fold.test(HOURS)
        assert not (train & test).any()
        assert (HOURS + HOUR)[train].max() == fold.start - 24 * HOUR
        assert set(HOURS[test].astype("datetime64[M]").astype(str)) == {fold.first}
        assert HOURS[train].min() == HOURS[0]
        tested += test
    # Every hour from the first test month on is predicted exactly once: 42,312 of them.
    assert tested.max() == 1
    assert tested.sum() == 42312
    assert (tested == (np.datetime64("2022-01") <= HOURS)).all()


def test_long_targets_wait_until_they_are_known() -> None:
    (fold,) = folds("2022-01", "2022-01", gap_hours=24)
    train = fold.train(HOURS + 24 * HOUR)
    assert HOURS[train].max() == np.datetime64("2021-12-30")


@given(
    first=st.integers(0, 60),
    count=st.integers(1, 60),
    refit=st.integers(1, 12),
    gap=st.integers(0, 500),
)
def test_blocks_tile_the_months(first: int, count: int, refit: int, gap: int) -> None:
    start = np.datetime64("2020-01", "M") + first
    every = folds(str(start), str(start + count - 1), gap_hours=gap, refit_months=refit)
    assert len(every) == -(-count // refit)
    assert every[0].start == start
    assert every[-1].end == start + count
    for before, after in pairwise(every):
        assert before.end == after.start
    for fold in every:
        assert fold.start - fold.cutoff == gap * HOUR
        length = fold.end.astype("datetime64[M]") - fold.start.astype("datetime64[M]")
        assert length.astype(int) == len(months(fold.first, fold.last)) <= refit


def test_refits_do_not_depend_on_the_last_month() -> None:
    long = folds("2022-01", "2024-12", gap_hours=24, refit_months=5)
    short = folds("2022-01", "2023-02", gap_hours=24, refit_months=5)
    assert [fold.cutoff for fold in short] == [fold.cutoff for fold in long][: len(short)]


def test_settings_out_of_range() -> None:
    with pytest.raises(ConfigError, match="after the last"):
        folds("2022-02", "2022-01", gap_hours=24)
    with pytest.raises(ConfigError, match="out of range"):
        folds("2022-01", "2022-01", gap_hours=-1)
    with pytest.raises(ConfigError, match="out of range"):
        folds("2022-01", "2022-01", gap_hours=0, refit_months=0)

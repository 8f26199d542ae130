"""Years before the synthetic window: joined at one price, the same whatever is asked of them."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from remeasure.studies.crypto import calendar, market
from remeasure.studies.crypto.market import Candles
from remeasure.studies.crypto.market_history import BEGIN, with_history

FIRST, LAST = date(2018, 3, 1), date(2018, 3, 10)


@pytest.fixture(scope="module")
def window() -> Candles:
    shared = market.market(FIRST, LAST, 7)
    return market.simulate_coin(shared, "BTCUSDT", 0.4).traded()


def test_the_window_stays_and_every_day_before_it_has_a_candle(window: Candles) -> None:
    joined = with_history(window, "BTCUSDT", FIRST, seed=7, beta=0.4)
    for name, column in vars(window).items():
        np.testing.assert_array_equal(getattr(joined, name)[-column.size :], column)
    daily = market.aggregate(joined, "1d")
    calendar.check("BTCUSDT", daily.open_time, "1d", BEGIN, LAST)
    first = int(np.searchsorted(joined.open_time, np.datetime64(FIRST, "us")))
    assert joined.close[first - 1] == joined.open[first] == market.FIRST_PRICE
    assert (joined.low <= np.minimum(joined.open, joined.close)).all()
    assert (joined.high >= np.maximum(joined.open, joined.close)).all()
    assert (joined.low > 0).all()


def test_another_seed_is_another_past_and_the_same_seed_the_same(window: Candles) -> None:
    one, again = (with_history(window, "BTCUSDT", FIRST, seed=7, beta=0.4) for _ in range(2))
    other = with_history(window, "BTCUSDT", FIRST, seed=8, beta=0.4)
    np.testing.assert_array_equal(one.close, again.close)
    assert (one.close[:100] != other.close[:100]).any()


def test_a_window_that_starts_with_the_exchange_has_no_past(window: Candles) -> None:
    assert with_history(window, "BTCUSDT", BEGIN, seed=7, beta=0.4) is window

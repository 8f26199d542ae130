"""Labels that must not lie on each other: against a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, minimize

from remeasure.draw.labels import spread

POSITIONS = st.lists(st.floats(-0.2, 1.2), min_size=1, max_size=8)


@settings(deadline=None)
@given(POSITIONS, st.floats(0.001, 0.2))
def test_labels_keep_their_distance_their_order_and_the_frame(
    wanted: list[float], gap: float
) -> None:
    placed = spread(wanted, gap, 0.0, 1.0)
    room = min(gap, 1 / max(len(wanted) - 1, 1))
    assert np.all(np.diff(sorted(placed)) >= room - 1e-9)
    assert min(placed) >= -1e-9
    assert max(placed) <= 1 + 1e-9
    order = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(np.array(placed)[order]) > 0)


@pytest.mark.parametrize("seed", range(8))
def test_labels_move_as_little_as_any_solver_can(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wanted, gap = np.sort(rng.uniform(0, 1, 6)), 0.13
    apart = LinearConstraint(np.diff(np.eye(6), axis=0), gap, np.inf)
    best = minimize(
        lambda x: float(np.sum((x - wanted) ** 2)),
        np.linspace(0, 1, 6),
        bounds=[(0, 1)] * 6,
        constraints=[apart],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    placed = np.array(spread(list(wanted), gap, 0.0, 1.0))
    assert np.sum((placed - wanted) ** 2) <= best.fun + 1e-7
    np.testing.assert_allclose(placed, best.x, atol=2e-4)


def test_labels_with_room_stay_where_they_are() -> None:
    assert spread([0.9, 0.1, 0.5], 0.2, 0.0, 1.0) == pytest.approx([0.9, 0.1, 0.5])
    assert spread([], 0.2, 0.0, 1.0) == []

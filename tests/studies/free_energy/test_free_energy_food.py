"""The worked example: integrals, closed forms and dynamics, each by a second route."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize, minimize_scalar

from remeasure.studies.free_energy import forms as forms_module
from remeasure.studies.free_energy.bound import few_hundredths
from remeasure.studies.free_energy.descent import descend, eigenvalues, first_minimum, settle
from remeasure.studies.free_energy.food import (
    best_belief,
    best_centre,
    best_width,
    coarse_surprisal,
    free_energy,
    log_joint,
    mode,
    positive,
    whole_line,
)
from remeasure.studies.free_energy.forms import PRECISION, agreeing, forms, outside_covariance
from remeasure.studies.free_energy.policies import (
    CLEAR,
    LOOKING,
    RISKY,
    Policy,
    log_preference,
    policies,
)
from remeasure.studies.free_energy.published import printed

centres = st.floats(-1.0, 4.0)
widths = st.floats(0.05, 2.0)


def joint(v: float) -> float:
    return float(np.exp(log_joint(np.array(v))))


def test_evidence_and_moments_are_those_of_adaptive_quadrature() -> None:
    for posterior, low in ((whole_line(), -8.0), (positive(), 0.0)):
        evidence = quad(joint, low, 8, epsabs=1e-14, limit=400)[0]
        mean = quad(lambda v: v * joint(v), low, 8, epsabs=1e-14, limit=400)[0] / evidence
        second = quad(lambda v: v**2 * joint(v), low, 8, epsabs=1e-14, limit=400)[0] / evidence
        assert posterior.evidence == pytest.approx(evidence, rel=1e-8)
        assert posterior.mean == pytest.approx(mean, rel=1e-8)
        assert posterior.deviation == pytest.approx(np.sqrt(second - mean**2), rel=1e-8)
    assert coarse_surprisal() == pytest.approx(positive().surprisal, abs=1e-4)


def test_the_peak_is_a_root_a_grid_point_and_a_minimum() -> None:
    peak = mode()
    assert 2 * peak**3 - 3 * peak - 3 == pytest.approx(0, abs=1e-12)
    assert abs(whole_line().peak - peak) <= 1e-3
    found = minimize_scalar(
        lambda v: -float(log_joint(np.array(v))), bounds=(0, 3), options={"xatol": 1e-9}
    )
    assert found.x == pytest.approx(peak, abs=1e-6)
    # The Laplace form (o - g)^2/2 + (mu - eta)^2/2 has the same slope, so the same root.
    h = 1e-6
    laplace = [0.5 * (2 - v**2) ** 2 + 0.5 * (v - 3) ** 2 for v in (peak - h, peak + h)]
    assert (laplace[1] - laplace[0]) / (2 * h) == pytest.approx(0, abs=1e-8)


@settings(deadline=None, max_examples=25)
@given(centres, widths)
def test_the_closed_form_is_the_integral(centre: float, width: float) -> None:
    def integrand(v: float) -> float:
        log_q = -0.5 * ((v - centre) / width) ** 2 - np.log(width * np.sqrt(2 * np.pi))
        return float(np.exp(log_q) * (log_q - float(log_joint(np.array(v)))))

    low, high = centre - 12 * width, centre + 12 * width
    by_quadrature = quad(integrand, low, high, epsabs=1e-10, limit=500)[0]
    exact = float(free_energy(np.array(centre), np.array(width)))
    assert exact == pytest.approx(by_quadrature, rel=1e-8, abs=1e-8)


def test_no_belief_lies_below_the_surprisal_and_the_gap_is_the_divergence() -> None:
    posterior = whole_line()
    m, s = np.meshgrid(np.linspace(-2, 5, 141), np.geomspace(0.01, 3, 80))
    assert np.all(free_energy(m, s) >= posterior.surprisal)
    for centre, width in ((1.5, 0.3), (0.9, 0.5), (2.4, 0.1)):
        v = posterior.v
        log_q = -0.5 * ((v - centre) / width) ** 2 - np.log(width * np.sqrt(2 * np.pi))
        log_p = log_joint(v) - np.log(posterior.evidence)
        divergence = float((np.exp(log_q) * (log_q - log_p)).sum() * (v[1] - v[0]))
        gap = float(free_energy(np.array(centre), np.array(width))) - posterior.surprisal
        assert gap == pytest.approx(divergence, abs=1e-9)
        assert divergence > 0


def test_a_straight_sensor_leaves_no_gap() -> None:
    """With g(v) = v the posterior is Gaussian, N(2.5, 1/2), and the bound is touched."""
    surprisal = 0.5 * np.log(2 * np.pi * 2) + (2 - 3) ** 2 / 4
    t, m = 0.5, 2.5
    f = -0.5 * np.log(2 * np.pi * np.e * t) + np.log(2 * np.pi)
    f += 0.5 * (m**2 + t - 6 * m + 9) + 0.5 * (4 - 4 * m + m**2 + t)
    assert f == pytest.approx(surprisal, abs=1e-12)


@settings(deadline=None, max_examples=25)
@given(st.floats(0.0, 4.0))
def test_best_widths_are_minima(centre: float) -> None:
    width = float(best_width(np.array(centre)))
    near = np.array([0.99, 1.0, 1.01]) * width
    values = free_energy(np.full(3, centre), near)
    assert values[1] < values[0]
    assert values[1] < values[2]
    found = minimize_scalar(
        lambda s: float(free_energy(np.array(centre), np.array(s))), bounds=(0.01, 3)
    )
    assert found.x == pytest.approx(width, abs=1e-4)


def test_the_best_belief_by_a_numerical_minimum() -> None:
    found = minimize(
        lambda x: float(free_energy(np.array(x[0]), np.exp(x[1]))), [1.4, -1.0],
        method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13},
    )  # fmt: skip
    centre, width = best_belief()
    assert found.x[0] == pytest.approx(centre, abs=1e-6)
    assert np.exp(found.x[1]) == pytest.approx(width, abs=1e-6)
    assert best_centre(width) == pytest.approx(centre, abs=1e-10)


@pytest.mark.parametrize(("centre", "condition"), [(0.5, "centre 0.5"), (3.0, "centre 3.0")])
def test_erratum_best_widths(centre: float, condition: str) -> None:
    """The slope dF/ds changes its sign at the closed form, not at the printed width."""
    width = float(best_width(np.array(centre)))
    known = printed("fig_bound", "best width (derived)", condition)

    def slope(s: float) -> float:
        return -1 / s - 3 * s + 6 * centre**2 * s + 6 * s**3

    assert slope(width) == pytest.approx(0, abs=1e-9)
    assert slope(known) < -1e-6
    assert 1e-6 < width - known < 2e-6


def test_descent_goes_straight_to_the_peak() -> None:
    guess = descend(0.01, 5)
    assert guess[:2].tolist() == pytest.approx([3.0, 2.58], abs=1e-12)
    assert np.all(np.diff(guess[:200]) < 0)
    assert guess[100] == pytest.approx(mode(), abs=1e-5)
    # The other route: an adaptive solver of the same equation, and a finer step.
    flow = solve_ivp(
        lambda _, y: (3 - y) + 2 * y * (2 - y**2), (0, 0.5), [3.0], rtol=1e-10, atol=1e-12
    )
    assert descend(1e-4, 0.5)[-1] == pytest.approx(float(flow.y[0, -1]), abs=1e-4)


def test_the_network_swings_and_settles_at_the_peak() -> None:
    state = settle(0.01, 20)
    assert state[-1, 0] == pytest.approx(mode(), abs=1e-6)
    low = first_minimum(state[:, 0])
    assert (low, float(state[low, 0])) == (84, pytest.approx(0.893, abs=1e-3))
    flow = solve_ivp(
        lambda _, y: (2 * y[0] * y[2] - y[1], y[0] - 3 - y[1], 2 - y[0] ** 2 - y[2]),
        (0, 2), [3.0, 0.0, 0.0], rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(settle(1e-4, 2)[-1], flow.y[:, -1], atol=2e-3)


def test_the_swing_is_that_of_the_eigenvalues() -> None:
    found = np.sort_complex(eigenvalues(settle(0.01, 60)[-1]))
    # The motion's characteristic polynomial, by hand: (x + 1)((x - a)(x + 1) + 1 + 4 phi^2).
    phi = mode()
    a = 2 * (2 - phi**2)
    wanted = np.sort_complex(np.append(np.roots([1, 1 - a, -a + 1 + 4 * phi**2]), -1))
    np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_swapping_a_sign_would_move_the_rest() -> None:
    """Both errors are measured against their predictions; the fixed point is the mode only so."""
    phi, prior, sensory = settle(0.01, 60)[-1]
    assert prior == pytest.approx(phi - 3, abs=1e-9)
    assert sensory == pytest.approx(2 - phi**2, abs=1e-9)
    assert 2 * phi * sensory - prior == pytest.approx(0, abs=1e-9)
    assert 2 * phi * sensory + prior != pytest.approx(0, abs=0.1)


def test_three_forms_are_one_number() -> None:
    assert len(agreeing()) == 3
    one = forms(1.5, 0.3)
    assert max(one.values()) - min(one.values()) < 1e-9
    width, centre = 0.3, 1.5
    v = np.linspace(-8, 8, 200_001)
    log_q = -0.5 * ((v - centre) / width) ** 2 - np.log(width * np.sqrt(2 * np.pi))
    log_prior = -0.5 * (v - 3) ** 2 - 0.5 * np.log(2 * np.pi)
    divergence = float((np.exp(log_q) * (log_q - log_prior)).sum() * (v[1] - v[0]))
    closed = 0.5 * (width**2 + (centre - 3) ** 2 - 1) - np.log(width)
    assert divergence == pytest.approx(closed, abs=1e-9)


def test_inside_and_outside_meet_only_through_the_blanket() -> None:
    assert abs(outside_covariance()) < 1e-12
    np.testing.assert_array_equal(PRECISION, PRECISION.T)
    assert np.linalg.eigvalsh(PRECISION).min() > 0


@settings(deadline=None, max_examples=40)
@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(1, 40))
def test_expected_free_energy_splits_both_ways(a: float, b: float, q: float, floor: float) -> None:
    likelihood = np.array([[a, b], [1 - a, 1 - b]])
    policy = Policy(likelihood, np.array([q, 1 - q]), log_preference(floor))
    by_value = -policy.information_gain - policy.pragmatic_value
    assert policy.expected_free_energy == pytest.approx(by_value, abs=1e-9)
    # Information gain is the mutual information of states and outcomes, summed cell by cell.
    both = likelihood * policy.states
    apart = np.outer(policy.outcomes, policy.states)
    assert policy.information_gain == pytest.approx(
        float((both * np.log(both / apart)).sum()), abs=1e-9
    )


def test_risk_and_ambiguity_summed_by_hand() -> None:
    known = policies(16.0)
    for name, states in RISKY.items():
        wanted = CLEAR @ np.array(states)
        log_c = np.log(np.array([1, 0]) + np.exp(-16.0))
        by_hand = sum(w * (np.log(w) - c) for w, c in zip(wanted, log_c, strict=True))
        assert known[name].risk == pytest.approx(by_hand, abs=1e-12)
    murky, clear = (known[name].ambiguity for name in LOOKING)
    assert known["policy 1"].risk < known["policy 2"].risk
    assert clear < murky
    # Another floor gives other risks: it is a choice, and the essay's is 16.
    assert policies(16 * np.log(10))["policy 1"].risk == pytest.approx(6.16, abs=0.005)


def test_words_for_the_gap() -> None:
    assert few_hundredths(0.027) == "a few hundredths"
    assert few_hundredths(0.4) == "about 0.4"


def test_the_covariance_across_the_blanket_is_that_of_the_schur_complement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Were outside and inside to touch, the number would say so."""
    touching = PRECISION.copy()
    touching[0, 3] = touching[3, 0] = 0.4
    monkeypatch.setattr(forms_module, "PRECISION", touching)
    whole = np.linalg.inv(touching)
    blanket, outside, inside = [1, 2], 0, 3
    given = whole[outside, blanket] @ np.linalg.inv(whole[np.ix_(blanket, blanket)])
    wanted = whole[outside, inside] - given @ whole[blanket, inside]
    assert outside_covariance() == pytest.approx(wanted)
    assert abs(wanted) > 0.05

"""The parts that are computed: the model of dopamine, the maps, the conversions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import maximum_filter

from remeasure.studies.brain_ai import dopamine, maps
from remeasure.studies.brain_ai.conversions import conversions
from remeasure.studies.brain_ai.essay import TRIALS, trials
from remeasure.studies.brain_ai.facts import facts
from remeasure.studies.brain_ai.settings import DopamineSettings

PLAIN = DopamineSettings(steps=10, discount=1, rate=0.3, trials=200)


def test_three_trials_at_full_discount() -> None:
    first, learned, withheld = (trials(PLAIN)[name] for name in TRIALS)
    np.testing.assert_array_equal(first, [0.0] * 10 + [1.0])
    np.testing.assert_allclose(learned, [1.0] + [0.0] * 10, atol=1e-6)
    np.testing.assert_allclose(withheld, [1.0] + [0.0] * 9 + [-1.0], atol=1e-6)


def test_slow_learning_needs_more_trials() -> None:
    slow = PLAIN.model_copy(update={"rate": 0.1})
    few, many = (
        trials(slow.model_copy(update={"trials": count}))["after learning"] for count in (200, 500)
    )
    assert abs(few[0] - 1) > 1e-4
    np.testing.assert_allclose(many, [1.0] + [0.0] * 10, atol=1e-6)


def test_the_spike_at_the_cue_is_discounted() -> None:
    errors = dopamine.errors(dopamine.learned(10, 0.98, 0.3, 300), 0.98)
    assert errors[0] == pytest.approx(0.98**10, abs=1e-9)
    assert round(float(errors[0]), 4) == 0.8171
    np.testing.assert_allclose(errors[1:], 0, atol=1e-9)


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=30),
    st.floats(-3, 3),
)
def test_errors_add_up_to_the_reward_less_the_first_value(
    values: list[float], reward: float
) -> None:
    """At full discount the sum telescopes, whatever the values are."""
    own = np.array(values)
    found = dopamine.errors(own, 1.0, reward)
    assert found.sum() == pytest.approx(reward, abs=1e-12 * 100)
    # From the cue state on, its own value is missing.
    assert found[1:].sum() == pytest.approx(reward - own[0], abs=1e-12 * 100)


@pytest.mark.parametrize(("discount", "steps"), [(1.0, 7), (0.9, 5)])
def test_learned_values_solve_the_recursion(discount: float, steps: int) -> None:
    values = dopamine.learned(steps, discount, 0.5, 400)
    np.testing.assert_allclose(values, discount ** np.arange(steps - 1, -1, -1), atol=1e-9)


def test_one_trial_moves_only_the_last_state() -> None:
    np.testing.assert_array_equal(dopamine.learned(4, 1.0, 0.3, 1), [0, 0, 0, 0.3])
    np.testing.assert_allclose(dopamine.learned(4, 1.0, 0.3, 2), [0, 0, 0.09, 0.51])


def test_the_grid_map_runs_from_zero_to_one() -> None:
    points = maps.box(1.0, 401)
    field = maps.grid(points, np.array([0.5, 0.5]), 0.3, 11.0)
    assert field.min() >= -1e-12
    assert field.max() <= 1 + 1e-12
    vertex = np.zeros(2)
    assert maps.grid(vertex, vertex, 0.3, 11.0) == pytest.approx(1, abs=1e-12)
    assert maps.grid(maps.trough(0.3, 11.0), vertex, 0.3, 11.0) == pytest.approx(0, abs=1e-12)


def test_peaks_counted_in_the_picture_are_those_of_the_lattice() -> None:
    """Local maxima of the sampled map, found without its formula."""
    spacing, turn = 0.3, 7.5
    points = maps.box(1.0, 501)
    field = maps.grid(points, np.array([0.5, 0.5]), spacing, turn)
    top = (field == maximum_filter(field, size=31)) & (field > 0.9)
    found = points[top] - 0.5
    distance = np.linalg.norm(found, axis=1)
    ring = found[(distance > 0.2) & (distance < 0.4)]
    assert len(ring) == 6
    np.testing.assert_allclose(np.linalg.norm(ring, axis=1), spacing, atol=0.004)
    angles = np.sort(np.degrees(np.arctan2(ring[:, 1], ring[:, 0])))
    np.testing.assert_allclose(np.diff(angles), 60, atol=1.0)
    count, apart, angle = maps.neighbours(spacing, turn)
    assert (count, apart, angle) == (6, pytest.approx(spacing), pytest.approx(60))


def test_the_map_is_the_same_after_a_sixth_of_a_turn() -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (200, 2))
    cosine, sine = np.cos(np.pi / 3), np.sin(np.pi / 3)
    turned = points @ np.array([[cosine, sine], [-sine, cosine]])
    vertex = np.zeros(2)
    np.testing.assert_allclose(
        maps.grid(turned, vertex, 0.3, 4.0), maps.grid(points, vertex, 0.3, 4.0), atol=1e-12
    )


def test_the_place_field_is_a_gaussian() -> None:
    centre = np.array([0.5, 0.5])
    assert maps.place(centre, centre, 0.1) == 1
    assert maps.place(centre + np.array([0.1, 0]), centre, 0.1) == pytest.approx(np.exp(-0.5))
    assert maps.place(centre + 0.1, centre, 0.1) == pytest.approx(np.exp(-1))


def test_conversions_are_those_of_the_card() -> None:
    """Each worked out again by hand, as the card prints it."""
    known = {(key[1], key[2]): value for key, value in conversions(facts()).items()}
    expected = {
        ("brain over 20 years at 20 W (derived)", "365.25 days a year"): 3.5064,
        ("brain time of a Gemini prompt (derived)", "0.24 Wh at 20 W"): 43.2,
        ("brain time of a GPT-4o query (derived)", "0.3 Wh at 20 W"): 54,
        ("training Llama 3.1 405B (derived)", "30.84e6 h x 700 W"): 21588,
        ("brain operations per joule", "1e15/20 W"): 5e13,
        ("ratio of Llama 3.1 tokens to words of a child (derived)", "10 million words"): 1.56e6,
        ("ratio of Llama 3.1 tokens to words of a child (derived)", "100 million words"): 1.56e5,
    }
    for key, value in expected.items():
        assert known[key] == pytest.approx(value, rel=1e-12), key
    better = "advantage of the brain (derived)"
    assert known["H100 operations per joule (derived)", "989.4e12/700 W, dense BF16"] == (
        pytest.approx(1.4134e12, rel=1e-4)
    )
    assert round(known[better, "central"], 1) == 35.4
    assert round(known[better, "low: about three times worse"], 3) == 0.354
    assert int(known[better, "high: a few thousand times"]) == 3537


def test_forty_five_seconds_are_not_a_gemini_prompt() -> None:
    """Proof of an erratum: the printed energy runs a brain for 43.2 s, 45 s are 0.25 Wh."""
    watts, seconds = 20, 3600
    assert round(0.24 * seconds / watts, 9) == 43.2
    assert 45 * watts / seconds == 0.25


def test_five_hundred_billion_tokens_are_gpt3s_data_not_its_training() -> None:
    """Proof of a note: sizes and passes of the published mixture (billion tokens, share, passes).

    Brown et al. 2020, table 2.2, and the training compute of its appendix D, 3.14e23 operations
    for 175 billion parameters at six operations a parameter and token.
    """
    mixture = {
        "Common Crawl": (410, 0.60, 0.44),
        "WebText2": (19, 0.22, 2.9),
        "Books1": (12, 0.08, 1.9),
        "Books2": (55, 0.08, 0.43),
        "Wikipedia": (3, 0.03, 3.4),
    }
    assert sum(size for size, _, _ in mixture.values()) == 499
    size, share, passes = mixture["Common Crawl"]
    assert size * passes / share == pytest.approx(300, rel=0.01)
    tokens = 3.14e23 / (6 * 175e9)
    assert tokens == pytest.approx(300e9, rel=0.01)

"""A temporal-difference model of dopamine: a cue, a fixed delay, a reward.

One state a step from the cue on (complete serial compound). The value before the cue is 0 and is
never learned, for nothing tells when the cue will come; so is the value after the reward.
Errors stand at the time of arrival: at the cue ``g V(0)``, at the reward ``r - V(K - 1)``.

Source: Sutton and Barto (1990); Schultz, Dayan and Montague (1997), Science 275.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

#: Steps that are shown before the cue and after the reward; nothing happens in them.
MARGIN = 3


def errors(values: Floats, discount: float, reward: float = 1.0) -> Floats:
    """Prediction errors of one trial with fixed values.

    Parameters
    ----------
    values
        Of the states from the cue on, shape ``(K,)``; the reward comes on the K-th transition
        after the cue.
    discount
        Weight of the next state's value.
    reward
        What arrives; 0 where it is withheld.

    Returns
    -------
    Shape ``(K + 1,)``: at the cue, at each step between, at the time of the reward.
    """
    before = np.concatenate([[0.0], values])
    after = np.concatenate([values, [0.0]])
    arrived = np.zeros(before.size)
    arrived[-1] = reward
    return np.asarray(arrived + discount * after - before)


def learned(steps: int, discount: float, rate: float, trials: int) -> Floats:
    """Values after rewarded trials from zero, each updated while it runs; shape ``(steps,)``."""
    values = np.zeros(steps + 1)
    for _ in range(trials):
        for state in range(steps):
            reward = float(state == steps - 1)
            error = reward + discount * values[state + 1] - values[state]
            values[state] += rate * error
    return values[:-1]


def trial_times(steps: int) -> npt.NDArray[np.int64]:
    """Steps of a shown trial; the cue is at 0, the reward at ``steps``."""
    return np.arange(-MARGIN, steps + MARGIN + 1)


def shown(trial: Floats) -> Floats:
    """Errors of a trial with the quiet steps around it, as `trial_times`."""
    quiet = np.zeros(MARGIN)
    return np.concatenate([quiet, trial, quiet])

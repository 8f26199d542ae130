"""Markov chains: how the articles draw them, and what they are compared by. Natural logarithms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def random_chain(states: int, concentration: float, seed: int) -> Floats:
    """Transition matrix with Dirichlet rows, shape (states, states), from NumPy's PCG64."""
    rng = np.random.default_rng(seed)
    return np.asarray(rng.dirichlet(concentration * np.ones(states), size=states))


def stationary(chain: Floats) -> Floats:
    """The law with ``pi T = pi`` and sum 1, shape (states,): one linear system."""
    states = chain.shape[0]
    system = np.vstack([chain.T - np.eye(states), np.ones(states)])
    right = np.zeros(states + 1)
    right[-1] = 1.0
    return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])


def power_stationary(chain: Floats, squarings: int = 12) -> Floats:
    """The same by squaring: every row of ``T^(2^squarings)`` is the stationary law."""
    power = chain
    for _ in range(squarings):
        power = power @ power
        power /= power.sum(axis=1, keepdims=True)
    return np.asarray(power[0])


def total_variation(one: Floats, other: Floats) -> Floats:
    """Half the l1 distance along the last axis."""
    return np.asarray(0.5 * np.abs(one - other).sum(axis=-1))


def entropy(law: Floats) -> Floats:
    """Entropy in nats along the last axis; zero probabilities add nothing."""
    safe = np.where(law > 0, law, 1.0)
    return np.asarray(-(law * np.log(safe)).sum(axis=-1))


def divergence(one: Floats, other: Floats) -> Floats:
    """Kullback-Leibler divergence of ``one`` from ``other`` in nats along the last axis."""
    safe = np.where(one > 0, one, 1.0)
    return np.asarray((one * (np.log(safe) - np.log(np.where(one > 0, other, 1.0)))).sum(axis=-1))


def conditional_entropy(chain: Floats, law: Floats) -> float:
    """``H(next | now)`` of the stationary chain, nats."""
    return float(law @ entropy(chain))

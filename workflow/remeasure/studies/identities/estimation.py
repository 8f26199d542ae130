"""What it costs to estimate a Markov chain from samples, exactly and by simulation."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from remeasure.studies.identities.chains import Floats

#: Added to every count before it becomes a probability.
SMOOTHING = 0.5


def law_of_loss(states: int, size: float) -> float:
    """``K(K-1)/(2N)``: a row of m samples costs ``(K-1)/(2m)`` nats, and pi cancels in the sum.

    Source: RoBERTa, mathematical foundation; the asymptotic mean of a chi-squared over 2m.
    """
    return states * (states - 1) / (2 * size)


def visits(law: Floats, size: int) -> list[int]:
    """Samples of each row: N pi_a, rounded, at least one."""
    return [max(1, round(float(size * share))) for share in law]


def expected_loss(chain: Floats, law: Floats, size: int) -> float:
    """Mean of ``sum_a pi_a KL(T_a || That_a)`` over all samples of N pi_a transitions, nats.

    The count of each successor is binomial, so the mean of its smoothed logarithm is one sum.
    """
    return float(
        sum(
            share * expected_row_loss(row, count)
            for share, row, count in zip(law, chain, visits(law, size), strict=True)
        )
    )


def expected_row_loss(row: Floats, count: int) -> float:
    """Mean divergence of a row from its smoothed estimate of ``count`` samples, nats."""
    from scipy.special import gammaln, xlog1py, xlogy

    hits = np.arange(count + 1.0)
    choose = gammaln(count + 1) - gammaln(hits + 1) - gammaln(count - hits + 1)
    logs = np.log((hits + SMOOTHING) / (count + SMOOTHING * row.size))
    total = 0.0
    for probability in row:
        weights = np.exp(choose + xlogy(hits, probability) + xlog1py(count - hits, -probability))
        total += float(probability * (np.log(probability) - weights @ logs))
    return total


def row_losses(row: Floats, counts: np.ndarray) -> Floats:
    """Divergence of a row from each smoothed estimate, counts of shape (trials, K), nats."""
    size = counts.sum(axis=1, keepdims=True)
    estimate = (counts + SMOOTHING) / (size + SMOOTHING * row.size)
    return np.asarray(row @ np.log(row) - np.log(estimate) @ row)


def simulated_losses(chain: Floats, law: Floats, size: int, trials: int, rng: Generator) -> Floats:
    """The loss of each of ``trials`` samples of N pi_a transitions a row, shape (trials,)."""
    found = np.zeros(trials)
    for share, row, count in zip(law, chain, visits(law, size), strict=True):
        found += share * row_losses(row, rng.multinomial(count, row, size=trials))
    return found

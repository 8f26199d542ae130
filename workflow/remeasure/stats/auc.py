"""Area under the ROC curve with DeLong's standard error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from remeasure.stats.ranks import average_ranks

#: Two-sided 95% quantile of the normal law.
Z95 = 1.959963984540054


@dataclass(frozen=True)
class Auc:
    """An area under the ROC curve, its standard error and a 95% interval.

    Attributes
    ----------
    value, se
        The Mann-Whitney estimate and DeLong's standard error; rows count as independent.
    low, high
        ``value`` plus and minus 1.96 standard errors, kept inside 0 and 1.
    positives, negatives
        Rows of each class.
    """

    value: float
    se: float
    low: float
    high: float
    positives: int
    negatives: int


def delong(scores: npt.ArrayLike, labels: npt.ArrayLike) -> Auc:
    """ROC AUC (ties count half) with the nonparametric standard error.

    Source: DeLong, DeLong and Clarke-Pearson (1988), eqs. 2 to 5, computed from
    ranks in O(n log n) as by Sun and Xu (2014): the share of negatives below a
    positive follows from its rank among all less its rank among positives.

    Parameters
    ----------
    scores
        Shape ``(n,)``; larger means more probably positive.
    labels
        Booleans of shape ``(n,)``.

    Raises
    ------
    ValueError
        When shapes differ or a class has fewer than two rows.

    Examples
    --------
    >>> delong([0.1, 0.4, 0.35, 0.8], [False, False, True, True]).value
    0.75
    """
    score = np.asarray(scores, dtype=np.float64)
    label = np.asarray(labels, dtype=np.bool_)
    if score.shape != label.shape:
        raise ValueError(f"{score.shape} scores do not match {label.shape} labels")
    positives = int(label.sum())
    negatives = label.size - positives
    if positives < 2 or negatives < 2:
        raise ValueError(f"{positives} positive and {negatives} negative rows are too few")
    ranks = average_ranks(score)
    # Structural components: how each row fares against the whole other class.
    above = (ranks[label] - average_ranks(score[label])) / negatives
    below = 1.0 - (ranks[~label] - average_ranks(score[~label])) / positives
    value = float(above.mean())
    se = float(np.sqrt(above.var(ddof=1) / positives + below.var(ddof=1) / negatives))
    return Auc(
        value=value,
        se=se,
        low=max(0.0, value - Z95 * se),
        high=min(1.0, value + Z95 * se),
        positives=positives,
        negatives=negatives,
    )

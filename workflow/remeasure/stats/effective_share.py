"""Interval of a share that rests on few winners, in samples with weights and clusters."""

from __future__ import annotations

from scipy.special import betaincinv


def effective_interval(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """The exact binomial interval, with an effective number of trials in place of a count.

    Percentiles of resamples lean to the side of the rare outcome: where few winners were drawn,
    their spread is small as well. The exact interval does not lean; weights and clusters enter
    through ``n``, for which ``share (1 - share) / n`` is the variance of the share.

    Parameters
    ----------
    share
        Weighted share of winners, within 0..1.
    n
        Effective number of trials, above 0; need not be whole.
    level
        Confidence level between 0 and 1.

    Returns
    -------
    low, high as shares; 0 and 1 where nobody, or everybody, won. The share lies between them.

    Source: Clopper and Pearson (1934), Biometrika 26, 404-413; with the effective number Korn
    and Graubard (1998), Survey Methodology 24, 193-201.

    >>> low, high = effective_interval(0.1, 10)
    >>> round(low, 4), round(high, 4)
    (0.0025, 0.445)
    """
    if not 0 <= share <= 1 or n <= 0:
        raise ValueError(f"need a share within 0..1 and n above 0, not {share} and {n}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    tail = (1 - level) / 2
    won, lost = n * share, n * (1 - share)
    low = 0.0 if won == 0 else float(betaincinv(won, lost + 1, tail))
    high = 1.0 if lost == 0 else float(betaincinv(won + 1, lost, 1 - tail))
    return min(low, share), max(high, share)

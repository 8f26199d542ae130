"""Published numbers that are arithmetic, and the worked fixtures of the study's toolbox.

They rest on no data. Inputs that the publication prints are read from ``reference.csv``.
"""

from __future__ import annotations

import numpy as np

from remeasure.ledger.measurement import Measurement
from remeasure.stats.calibration import bin_moments, brier, distorted, gap, murphy
from remeasure.stats.contracts import (
    annualised,
    fee_of_money_paid,
    fee_per_share,
    of_money_paid,
    returns,
)
from remeasure.stats.sampling import union_probability, weights
from remeasure.studies.polymarket.published import answer_all, printed

OUTPUTS = (
    "stat_manski",
    "stat_brier_arith",
    "stat_logodds_arith",
    "stat_single_event",
    "stat_5050_cost",
    "stat_fee",
    "stat_waiting_example",
    "check_weights",
    "check_murphy",
    "check_spread",
    "check_trap_identity",
)

Answer = tuple[str, str, str, float]

#: The decomposition's worked example: prices, outcomes, weights, two bins split at one half.
FIXTURE = (
    (0.1, 0.3, 0.3, 0.6, 0.8, 0.9),
    (0, 0, 1, 1, 1, 0),
    (1, 2, 1, 2, 1, 1),
)


def manski(price: float) -> tuple[float, float]:
    """Bounds of the mean belief behind a price, ``x^2`` and ``2 x - x^2``.

    Source: Manski (2006), Economics Letters 91, 425-429: traders are risk-neutral, stake
    their whole budgets, and budgets do not depend on beliefs.
    """
    return price**2, 2 * price - price**2


def two_outcome_brier(p: float, y: int) -> float:
    """Brier's original score (1950): squared errors of both outcomes added."""
    return (p - y) ** 2 + ((1 - p) - (1 - y)) ** 2


def mirrored(ratio: float, price: float) -> float:
    """Won per dollar of the other sides of longshots, ``(1 - r m) / (1 - m)``.

    Parameters
    ----------
    ratio, price
        Won per dollar of the longshots, and their mean price.
    """
    return (1 - ratio * price) / (1 - price)


def measure_closed_forms() -> list[Measurement]:
    """Every row that needs nothing but arithmetic."""
    every = [*_beliefs(), *_scores(), *_costs(), *_weights(), *_decomposition(), *_identities()]
    measured = [
        Measurement(output_id=output, quantity=quantity, condition=condition, value=float(value))
        for output, quantity, condition, value in every
    ]
    return answer_all(measured, OUTPUTS, "no step measures it")


def _beliefs() -> list[Answer]:
    low, high = manski(0.75)
    return [
        ("stat_manski", "lower bound of mean belief", "price 0.75", low),
        ("stat_manski", "upper bound of mean belief", "price 0.75", high),
    ]


def _scores() -> list[Answer]:
    arithmetic = "stat_brier_arith"
    found: list[Answer] = [
        (arithmetic, "Brier score", "forecast 0.7, event happens", brier([0.7], [1])),
        (arithmetic, "Brier score", "forecast 0.7, event does not happen", brier([0.7], [0])),
        (arithmetic, "Brier score", "always 0.5", brier([0.5, 0.5], [0, 1])),
        (arithmetic, "Brier score", "clairvoyant", brier([0, 1], [0, 1])),
        (
            arithmetic,
            "original two-outcome Brier divided by this one",
            "any forecast",
            two_outcome_brier(0.7, 1) / brier([0.7], [1]),
        ),
    ]
    for percent in (59, 50):
        found.append(
            (
                "stat_single_event",
                "Brier score",
                f"{percent} percent on the winner",
                brier([percent / 100], [1]),
            )
        )
    odds = "stat_logodds_arith"
    for words, factor in (("doubled", 2.0), ("halved", 0.5)):
        for percent in (70, 30):
            value = float(distorted(percent / 100, factor))
            found.append((odds, f"{words} log-odds", f"p {percent / 100:g}", value))
            if (words, percent) != ("halved", 30):
                quantity = f"{words} log-odds as printed"
                found.append((odds, quantity, f"{percent} percent", 100 * value))
    return [(output, quantity, condition, _clean(v)) for output, quantity, condition, v in found]


def _costs() -> list[Answer]:
    half = -100 * float(returns(1.0, 0.5))
    share = printed("stat_5050", "share resolved 50-50", "markets with more than $10000 traded")
    rate = {"sports": 0.05, "crypto": 0.07}
    fee = "stat_fee"
    found = [
        (
            "stat_5050_cost",
            "loss of a favourite buyer on a 50-50 resolution",
            "about half the stake",
            half,
        ),
        (
            "stat_5050_cost",
            "drag on favourite return",
            "0.4 percent x 50 percent",
            share * half / 100,
        ),
    ]
    for cents in (5, 95):
        value = 100 * float(fee_of_money_paid(rate["sports"], cents / 100))
        found.append((fee, "r(1-p), share of money paid", f"sports, {cents} cents", value))
        if cents == 5:
            found.append((fee, "printed share of stake", "5-cent sports contract, about", value))
    for r, p in ((rate["sports"], 0.05), (rate["crypto"], 0.5)):
        condition = f"r {r:g}, p {p:g}".replace("0.", ".")
        found.append((fee, "r p(1-p) per share", condition, float(fee_per_share(r, p))))
    waiting = 100 * float(annualised(returns(0.95, 1), 6))
    example = "stat_waiting_example"
    found += [
        (example, "annual return", "No at 95 cents, pays after half a year", waiting),
        (example, "annual return as printed", "same, about", waiting),
    ]
    return [(output, quantity, condition, _clean(v)) for output, quantity, condition, v in found]


def _weights() -> list[Answer]:
    found: list[Answer] = []
    for first, second in ((0.11, 0.3), (0.2, 0.3), (0.055, 0.3), (0.017, 0.0), (0.017, 1.0)):
        pi = float(union_probability(first, second))
        condition = f"pi1={first:g}, pi2={second:g}"
        found += [
            ("check_weights", "inclusion probability of the union", condition, _clean(pi)),
            ("check_weights", "weight", condition, float(weights(pi))),
        ]
    return found


def _decomposition() -> list[Answer]:
    p, y, w = map(np.array, FIXTURE)
    moments = bin_moments(p, y, w, p >= 0.5, 2)
    parts = murphy(moments)
    values = {
        "BS": parts.brier,
        "REL": parts.reliability,
        "RES": parts.resolution,
        "UNC": parts.uncertainty,
        "WBV": parts.within_variance,
        "WBC": parts.within_covariance,
        "average gap": gap(moments),
        "skill": parts.skill,
        "REL-RES+UNC": parts.three_terms,
    }
    condition = "fixture p=(.1,.3,.3,.6,.8,.9) y=(0,0,1,1,1,0) w=(1,2,1,2,1,1), bins split at .5"
    return [
        ("check_murphy", name, condition, _clean(float(value))) for name, value in values.items()
    ]


def _identities() -> list[Answer]:
    found: list[Answer] = [
        ("check_spread", "c/(1+c)", f"c={cost:g}".replace("0.", "."), float(of_money_paid(cost)))
        for cost in (0.667, 0.13)
    ]
    for ratio in (0.49, 2.14):
        condition = f"r={ratio:g}, m=.095".replace("r=0.", "r=.")
        found.append(("check_trap_identity", "(1-r m)/(1-m)", condition, mirrored(ratio, 0.095)))
    return found


def _clean(value: float) -> float:
    """A number without the rounding errors of its last digits: a half is a half."""
    return round(float(value), 12)

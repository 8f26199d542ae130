"""Indirect reciprocity: how a donor's reputation changes, and the rules that may stabilise it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.game_theory.automata import Ints
from remeasure.studies.game_theory.published import answer_known, measurement

OUTPUTS = ("fig_reputation", "stat_leading_eight")

#: Axes of a rule: donor's reputation, recipient's reputation (good, bad), action (help, refuse).
GOOD, BAD = 0, 1
HELP, REFUSE = 0, 1
WORDS = ("good", "bad")
CASES = {
    "helps a good person": (GOOD, HELP),
    "refuses a good person": (GOOD, REFUSE),
    "helps a bad person": (BAD, HELP),
    "refuses a bad person": (BAD, REFUSE),
}

REPUTATION = declare(
    "new reputation of a good donor",
    {
        "rule": dy.String(),
        "case": one_of(CASES),
        "reputation": one_of(WORDS),
    },
)


def image_scoring() -> Ints:
    """Help makes good, refusal makes bad (Nowak and Sigmund 1998), shape ``(2, 2, 2)``."""
    rule = np.empty((2, 2, 2), dtype=np.int64)
    rule[..., HELP], rule[..., REFUSE] = GOOD, BAD
    return rule


def standing() -> Ints:
    """As image scoring, but refusing a bad person leaves the donor's reputation (Sugden 1986)."""
    rule = image_scoring()
    rule[:, BAD, REFUSE] = (GOOD, BAD)
    return rule


RULES = {"image scoring": image_scoring(), "standing": standing()}


def shares_features(rule: Ints) -> bool:
    """Whether a rule has the five bits that all of the leading eight share.

    Helping a good person is good and refusing one bad, whoever does it; a good donor who refuses
    a bad person stays good (Ohtsuki and Iwasa 2004, 2006).
    """
    return bool(
        (rule[:, GOOD, HELP] == GOOD).all()
        and (rule[:, GOOD, REFUSE] == BAD).all()
        and rule[GOOD, BAD, REFUSE] == GOOD
    )


def all_rules() -> Ints:
    """Every rule, shape ``(256, 2, 2, 2)``."""
    return np.array(list(product((GOOD, BAD), repeat=8)), dtype=np.int64).reshape(-1, 2, 2, 2)


def measure_reputation(*, table: Path) -> list[Measurement]:
    """Step: what becomes of a good donor under two rules, and how many rules there are.

    Parameters
    ----------
    table
        Output, Parquet: see `REPUTATION`.
    """
    found = {
        (name, case): WORDS[rule[GOOD, recipient, action]]
        for name, rule in RULES.items()
        for case, (recipient, action) in CASES.items()
    }
    write_frame(
        pl.DataFrame(
            [(*key, value) for key, value in found.items()],
            schema=list(REPUTATION.columns),
            orient="row",
        ),
        table,
        REPUTATION,
    )
    one, other = RULES
    differ = sum(found[one, case] != found[other, case] for case in CASES)
    rules = all_rules()
    behaviours = len(list(product((HELP, REFUSE), repeat=4)))
    return answer_known(
        [
            *(
                measurement(
                    ("fig_reputation", f"new reputation of a good donor under {name}", case), value
                )
                for (name, case), value in found.items()
            ),
            measurement(("fig_reputation", "cases where the two rules differ", ""), differ),
            measurement(
                (
                    "stat_leading_eight",
                    "rules checked",
                    "Ohtsuki and Iwasa 2004: 2^8 reputation rules x 2^4 behaviours",
                ),
                rules.shape[0] * behaviours,
                note="counted one by one",
            ),
            measurement(
                (
                    "stat_leading_eight",
                    "rules left free by the shared features (derived)",
                    "8 bits minus 5 fixed",
                ),
                sum(shares_features(rule) for rule in rules),
                note="counted among all 256 rules",
            ),
        ],
        OUTPUTS,
    )

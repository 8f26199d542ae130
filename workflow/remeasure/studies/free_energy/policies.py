"""Choosing what to do: risk and ambiguity of two policies (Smith, Friston and Whyte 2022).

Two states, two outcomes. Risk is how far the outcomes of a policy lie from the preferred ones;
ambiguity is how little outcomes tell of states.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
from pydantic import Field
from scipy.special import entr

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.free_energy.food import Floats
from remeasure.studies.free_energy.published import answer_known, measurement

OUTPUTS = ("fig_efe",)

#: Likelihoods: outcomes in rows, states in columns.
CLEAR: Floats = np.array([[0.9, 0.1], [0.1, 0.9]])
MURKY_AND_CLEARER: Floats = np.array([[0.4, 0.2], [0.6, 0.8]])

#: Beliefs about states under each policy, and the preferred outcome's row.
RISKY = {"policy 1": (0.9, 0.1), "policy 2": (0.5, 0.5)}
LOOKING = {"policy toward the murky state": (0.9, 0.1), "policy toward the clear state": (0.1, 0.9)}
PREFERRED = 0

POLICIES = declare(
    "risk and ambiguity of policies",
    {
        "example": one_of(["risk", "ambiguity"]),
        "policy": dy.String(),
        "preferred": dy.Float64(min=0, max=1, nullable=True),
        "value": dy.Float64(),
    },
)


#: Types of the columns above, for a column without values.
_TYPES = {
    "example": pl.String,
    "policy": pl.String,
    "preferred": pl.Float64,
    "value": pl.Float64,
}


class PoliciesStep(Model):
    """Settings of `measure_policies`: the floor of the log preference, in nats."""

    preference_floor: float = Field(gt=0, le=700)


@dataclass(frozen=True, eq=False)
class Policy:
    """What a policy is expected to bring.

    Attributes
    ----------
    likelihood
        p(o | x), outcomes in rows, shape ``(outcomes, states)``.
    states
        q(x), shape ``(states,)``.
    log_preference
        ln p(o | C), shape ``(outcomes,)``.
    """

    likelihood: Floats
    states: Floats
    log_preference: Floats

    @property
    def outcomes(self) -> Floats:
        """q(o), shape ``(outcomes,)``."""
        return np.asarray(self.likelihood @ self.states)

    @property
    def risk(self) -> float:
        """KL divergence of expected from preferred outcomes."""
        return float(-entr(self.outcomes).sum() - self.outcomes @ self.log_preference)

    @property
    def ambiguity(self) -> float:
        """Expected entropy of outcomes, given the state."""
        return float(entr(self.likelihood).sum(axis=0) @ self.states)

    @property
    def expected_free_energy(self) -> float:
        """G = risk + ambiguity."""
        return self.risk + self.ambiguity

    @property
    def information_gain(self) -> float:
        """Mutual information of states and outcomes: H[q(o)] - ambiguity."""
        return float(entr(self.outcomes).sum()) - self.ambiguity

    @property
    def pragmatic_value(self) -> float:
        """Expected log preference."""
        return float(self.outcomes @ self.log_preference)


def log_preference(floor: float) -> Floats:
    """ln of a preference of 1 for one outcome, with ``exp(-floor)`` added to each."""
    wanted = np.zeros(2)
    wanted[PREFERRED] = 1
    return np.asarray(np.log(wanted + np.exp(-floor)))


def policies(floor: float) -> dict[str, Policy]:
    """All four policies by name."""
    wish = log_preference(floor)
    return {
        **{name: Policy(CLEAR, np.array(states), wish) for name, states in RISKY.items()},
        **{
            name: Policy(MURKY_AND_CLEARER, np.array(states), wish)
            for name, states in LOOKING.items()
        },
    }


def measure_policies(*, table: Path, settings: PoliciesStep) -> list[Measurement]:
    """Step: risk of two policies, ambiguity of two others.

    Parameters
    ----------
    table
        Output, Parquet: see `POLICIES`.
    """
    floor = settings.preference_floor
    known = policies(floor)
    rows = [
        ("risk", name, float(known[name].outcomes[PREFERRED]), known[name].risk) for name in RISKY
    ]
    looking = [("ambiguity", name, None, known[name].ambiguity) for name in LOOKING]
    write_frame(pl.DataFrame([*rows, *looking], schema=dict(_TYPES), orient="row"), table, POLICIES)
    return answer_known([*_risks(known, floor), *_ambiguities(known)], OUTPUTS)


def _risks(known: dict[str, Policy], floor: float) -> list[Measurement]:
    figure, answers = "fig_efe", []
    chance = 100 * float(known["policy 1"].outcomes[PREFERRED])
    names = {"policy 1": f"policy 1 ({chance:.0f}%)", "policy 2": "policy 2 (coin flip)"}
    answers.append(
        measurement((figure, "probability of the preferred outcome", "policy 1"), chance)
    )
    for name, words in names.items():
        own = known[name]
        answers += [
            measurement((figure, "risk", words), own.risk),
            measurement((figure, "risk (derived)", f"{name}, ln p(C) = (0,-{floor:g})"), own.risk),
            measurement(
                (
                    figure,
                    "expected free energy G (derived)",
                    f"risk example, {name}: risk + ambiguity {own.ambiguity:.6f}",
                ),
                own.expected_free_energy,
            ),
            measurement(
                (figure, "information gain (derived)", f"risk example, {name}"),
                own.information_gain,
            ),
            measurement(
                (figure, "pragmatic value (derived)", f"risk example, {name}"), own.pragmatic_value
            ),
        ]
    return answers


def _ambiguities(known: dict[str, Policy]) -> list[Measurement]:
    figure, answers = "fig_efe", []
    for name in LOOKING:
        value = known[name].ambiguity
        answers += [
            measurement((figure, "ambiguity", name), value),
            measurement((figure, "ambiguity (derived)", name), value),
        ]
    for index, state in enumerate(("murky", "clear")):
        column = MURKY_AND_CLEARER[:, index]
        words = ",".join(f"{each:g}" for each in column)
        answers.append(
            measurement(
                (figure, f"entropy of the {state} state column (derived)", f"({words})"),
                float(entr(column).sum()),
            )
        )
    return answers

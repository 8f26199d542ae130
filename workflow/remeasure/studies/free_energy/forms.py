"""What the drawings claim, checked: three forms of one number, levels, a blanket, claims."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_json
from remeasure.studies.free_energy.food import (
    OBSERVED,
    PRIOR_MEAN,
    Floats,
    free_energy,
    log_joint,
    whole_line,
)
from remeasure.studies.free_energy.published import answer_known, measurement, rows

OUTPUTS = ("fig_decompose", "fig_hierarchy", "fig_evidence")

#: Beliefs at which the forms are compared: centres and widths.
CENTRES, WIDTHS = (0.8, 1.5, 2.2), (0.15, 0.3, 0.6)

#: Levels of the drawn hierarchy, from the senses up.
LEVELS = ("senses", "level 1", "level 2", "level 3")

#: Parts of the drawn blanket, in the order of the variables of `PRECISION`.
PARTS = ("external", "sensory", "active", "internal")

#: Precision of a Gaussian in which external and internal states do not touch.
PRECISION: Floats = np.array(
    [
        [2.0, 0.6, 0.5, 0.0],
        [0.6, 2.0, 0.3, 0.7],
        [0.5, 0.3, 2.0, 0.4],
        [0.0, 0.7, 0.4, 2.0],
    ]
)


def forms(centre: float, width: float) -> dict[str, float]:
    """Three ways to write the free energy of a Gaussian belief, each by its own route.

    Energy minus entropy on a grid; divergence from the posterior plus surprisal on a grid;
    complexity (divergence from the prior) minus accuracy, both in closed form.
    """
    posterior = whole_line()
    v = posterior.v
    log_belief = -0.5 * np.square((v - centre) / width) - np.log(width * np.sqrt(2 * np.pi))
    belief = np.exp(log_belief)
    step = v[1] - v[0]
    energy = float((belief * (log_belief - log_joint(v))).sum() * step)
    log_posterior = log_joint(v) - np.log(posterior.evidence)
    divergence = float((belief * (log_belief - log_posterior)).sum() * step)
    complexity = 0.5 * (width**2 + (centre - PRIOR_MEAN) ** 2 - 1) - np.log(width)
    second = centre**2 + width**2
    fourth = centre**4 + 6 * centre**2 * width**2 + 3 * width**4
    accuracy = -0.5 * np.log(2 * np.pi) - 0.5 * (OBSERVED**2 - 2 * OBSERVED * second + fourth)
    return {
        "energy minus entropy": energy,
        "divergence plus surprisal": divergence + posterior.surprisal,
        "complexity minus accuracy": float(complexity - accuracy),
    }


def agreeing(tolerance: float = 1e-9) -> list[str]:
    """Forms that give the free energy's closed form at every belief compared."""
    found: dict[str, bool] = {}
    for centre in CENTRES:
        for width in WIDTHS:
            wanted = float(free_energy(np.array(centre), np.array(width)))
            for name, value in forms(centre, width).items():
                found[name] = found.get(name, True) and abs(value - wanted) < tolerance
    return [name for name, agrees in found.items() if agrees]


def outside_covariance() -> float:
    """Covariance of external and internal states, given the blanket (sensory and active)."""
    apart = [PARTS.index("external"), PARTS.index("internal")]
    return float(np.linalg.inv(PRECISION[np.ix_(apart, apart)])[0, 1])


def measure_forms(*, forms_file: Path) -> list[Measurement]:
    """Step: how many forms agree, how many levels and claims there are.

    Parameters
    ----------
    forms_file
        Output, JSON: the forms that agree, the levels, and the blanket's covariance.
    """
    same = agreeing()
    claims = [
        row for row in rows().values() if row.output_id == "fig_evidence" and row.kind == "cited"
    ]
    write_json(
        {
            "forms": same,
            "levels": list(LEVELS),
            "parts": list(PARTS),
            "covariance_given_blanket": outside_covariance(),
            "claims": len(claims),
        },
        forms_file,
    )
    return answer_known(
        [
            measurement(
                ("fig_decompose", "forms of the free energy shown", ""),
                len(same),
                note="each equals the closed form to 1e-9 nats at nine beliefs",
            ),
            measurement(
                ("fig_hierarchy", "levels above the senses", ""),
                len(LEVELS) - 1,
                note="counted in the drawing",
            ),
            measurement(
                ("fig_evidence", "claims on the scorecard", ""),
                len(claims),
                note="counted in the scorecard",
            ),
        ],
        OUTPUTS,
    )

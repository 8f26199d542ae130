"""The quoted facts as one table, and what follows from them: sums, shares, grids of squares."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.model import Model
from remeasure.stats.proportion import wilson
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.consciousness.content import (
    EASY_PROBLEMS,
    FADING,
    MARY_REPLIES,
    POSITIONS,
    REGIONS,
)
from remeasure.studies.consciousness.published import answer, answer_all, rows

FACTS = declare(
    "facts that the essay quotes",
    {
        "output_id": dy.String(),
        "quantity": dy.String(),
        "condition": dy.String(),
        "value": dy.String(),
        "unit": dy.String(),
        "source": dy.String(min_length=1),
    },
    unique=["output_id", "quantity", "condition"],
)
SQUARES = declare(
    "squares of the grids of patients",
    {
        "grid": dy.String(),
        "column": dy.Int64(min=0),
        "row": dy.Int64(min=0),
        "filled": dy.Bool(),
    },
    unique=["grid", "column", "row"],
)
SHARES = declare(
    "shares of quoted counts",
    {
        "what": dy.String(),
        "count": dy.Int64(min=0),
        "of": dy.Int64(min_exclusive=0),
        "share": dy.Float64(min=0, max=1),
        "low": dy.Float64(min=0, max=1),
        "high": dy.Float64(min=0, max=1),
        "source": dy.String(),
    },
)

#: Questions of the survey as conditions of its rows begin, in the order of the bars, and the
#: conditions of the rows that print the sums of the bars.
QUESTIONS = {
    "mind": "mind",
    "is there a hard problem": "hard problem",
    "zombies": "zombies",
    "consciousness": "consciousness",
}

#: Grids of patients: quantities of the whole and of the filled part.
GRIDS = {
    "did not follow commands": (
        "patients without response to commands",
        "of these, performed the imagery tasks",
    ),
    "followed commands": (
        "patients who followed commands",
        "of these, showed it on the scanner tests",
    ),
}

#: Shares that the essay quotes as counts.
INDEX = {
    "minimally conscious patients above the threshold": "minimally conscious patients caught",
    "vegetative patients above the threshold": "vegetative patients with high complexity",
}

UNKNOWN = "the card of the essay names {} of them, so there is nothing to count"


class EssayStep(Model):
    """Settings of `measure_essay`; see `remeasure.studies.consciousness.settings.Settings`."""

    columns: int
    level: float


def facts() -> pl.DataFrame:
    """Every quoted fact as printed, as `FACTS`."""
    cited = [row for row in rows().values() if row.kind == "cited"]
    return pl.DataFrame(
        [(*row.key, row.published, row.unit, row.source) for row in cited],
        schema=dict.fromkeys(FACTS.columns, pl.String),
        orient="row",
    )


def number(table: pl.DataFrame, output: str, quantity: str) -> int:
    """The whole number of the only fact of this name."""
    value = table.filter(output_id=output, quantity=quantity)["value"].item()
    return int(value)


def survey(table: pl.DataFrame) -> pl.DataFrame:
    """Shares of answers by question: ``question``, ``answer``, ``share`` (%)."""
    own = table.filter(output_id="fig_survey").select(
        pl.col("condition").str.split(";").list.first().alias("question"),
        pl.col("quantity").str.strip_prefix("share that accept or lean toward ").alias("answer"),
        pl.col("value").cast(pl.Float64).alias("share"),
    )
    order = pl.Enum(list(QUESTIONS))
    return own.sort(pl.col("question").cast(order), maintain_order=True)


def squares(table: pl.DataFrame, columns: int) -> pl.DataFrame:
    """One square a patient, the filled ones first, as `SQUARES`."""
    frames = []
    for grid, (whole, part) in GRIDS.items():
        count, filled = (number(table, "fig_patients", each) for each in (whole, part))
        places = pl.int_range(count, eager=True)
        frames.append(
            pl.DataFrame(
                {
                    "grid": [grid] * count,
                    "column": places % columns,
                    "row": places // columns,
                    "filled": places < filled,
                }
            )
        )
    return pl.concat(frames)


def shares(table: pl.DataFrame, level: float) -> pl.DataFrame:
    """Quoted counts as shares with an interval of a binomial share, as `SHARES`."""
    counts = [
        (
            f"patients who {grid}",
            number(table, "fig_patients", part),
            number(table, "fig_patients", whole),
            table.filter(output_id="fig_patients", quantity=part)["source"].item(),
        )
        for grid, (whole, part) in GRIDS.items()
    ]
    for what, quantity in INDEX.items():
        row = table.filter(output_id="stat_pci", quantity=quantity).row(0, named=True)
        of = int(str(row["unit"]).removeprefix("of "))
        counts.append((what, int(row["value"]), of, row["source"]))
    return pl.DataFrame(
        [
            (what, count, of, count / of, *wilson(count, of, level), source)
            for what, count, of, source in counts
        ],
        schema=SHARES.types,
        orient="row",
    )


def measure_essay(
    *, table: Path, grids: Path, counted: Path, settings: EssayStep
) -> list[Measurement]:
    """Step: the table of facts, and every number of the essay that follows from others.

    Parameters
    ----------
    table, grids, counted
        Outputs, Parquet: see `FACTS`, `SQUARES` and `SHARES`.
    """
    known = facts()
    cells = squares(known, settings.columns)
    parts = shares(known, settings.level)
    write_frame(known, table, FACTS)
    write_frame(cells, grids, SQUARES)
    write_frame(parts, counted, SHARES)
    answers = [*_sums(known), *_shares(parts, cells), *_counts(known)]
    return answer_all(answers, {row.output_id for row in rows().values()}, "no step measures it")


def _sums(table: pl.DataFrame) -> list[Measurement]:
    answers = survey(table)
    sums = dict(answers.group_by("question").agg(pl.col("share").sum()).iter_rows())
    quantity = "sum of the shares shown (derived)"
    return [
        *(
            answer(("fig_survey", quantity, printed), sums[question], "other answers are left out")
            for question, printed in QUESTIONS.items()
        ),
        answer(
            ("fig_survey", "charts", ""),
            answers["question"].n_unique(),
            "questions of the quoted answers",
        ),
    ]


def _shares(parts: pl.DataFrame, cells: pl.DataFrame) -> list[Measurement]:
    silent, able, minimal, vegetative = parts.iter_rows(named=True)
    missed = able["of"] - able["count"]
    return [
        answer(("fig_patients", "share (derived)", "60/241"), silent["share"]),
        answer(("fig_patients", "share (derived)", "43/112"), able["share"]),
        answer(
            ("fig_patients", "share missed at the scanner (derived)", "69/112"),
            missed / able["of"],
            f"{missed} of {able['of']} patients",
        ),
        answer(
            ("stat_patients", "sum of the two groups (derived)", "241+112"),
            cells.height,
            "squares of both grids",
        ),
        answer(("stat_pci", "sensitivity (derived)", "36/38"), minimal["share"]),
        answer(("stat_pci", "share (derived)", "9/43"), vegetative["share"]),
    ]


def _counts(table: pl.DataFrame) -> list[Measurement]:
    drawn = "counted in our own drawing"
    theories = table.filter(output_id="fig_theories").height
    return [
        answer(("fig_theories", "brain views", ""), len(REGIONS), drawn),
        answer(
            ("fig_fading", "stages of replacement", "none, a quarter, half, three quarters, all"),
            len(FADING),
            drawn,
        ),
        answer(("fig_positions", "questions of the decision tree", ""), len(POSITIONS), drawn),
        answer(("fig_mary", "physicalist replies", ""), len(MARY_REPLIES), drawn),
        answer(
            ("fig_problems", "easy problems listed", ""),
            len(EASY_PROBLEMS),
            f"{drawn}: six of the seven that Chalmers (1995) names; which six the essay lists its"
            " card does not say",
        ),
        not_run(
            "stat_theories", "theories discussed", "", UNKNOWN.format(f"only the {theories} drawn")
        ),
        not_run("stat_other", "conclusions listed", "", UNKNOWN.format("none")),
    ]

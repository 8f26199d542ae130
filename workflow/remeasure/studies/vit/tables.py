"""The study's tables: order of patches, cost, the race, and quoted facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.vit.outputs import STUDY
from remeasure.studies.vit.published import printed, rows
from remeasure.studies.vit.runs import ACCURACY, NAMES, OTHERS
from remeasure.studies.vit.sizes import COST

#: Stands behind the name of a learner that the publication does not have.
ANOTHER = " (none of the article's)"


def tab_shuffle(*, summary: Path, table: Path, origin: str) -> None:
    """The likeliest class with and without positions, patches in order and shuffled.

    Parameters
    ----------
    summary
        As ``opened.open_model`` writes it.
    table
        Output: a fragment of HTML.
    """
    told = read_json(summary)
    frame = shuffle_frame(told)
    fragment = html_table(
        frame,
        caption=f"{told['model']}: does the order of {told['grid'] ** 2} patches matter?",
        columns=[Column(name=name, title=name) for name in frame.columns],
        note=(
            "Without positions the two orders differ by at most"
            f" {told['order_difference']:.0e} in any probability."
        ),
    )
    table.write_text(fragment, "utf-8")


def shuffle_frame(told: dict[str, Any]) -> pl.DataFrame:
    """One row an arrangement, one column an image: label and whole percent."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in told["orders"]:
        own = found.setdefault((row["positions"], row["patches"]), {})
        own[row["image"]] = f"{row['label']} {100 * row['probability']:.0f}%"
    return pl.DataFrame(
        [
            {"positions": places, "patches": order, **answers}
            for (places, order), answers in found.items()
        ]
    )


def tab_cost(*, cost: Path, table: Path, origin: str) -> None:
    """What resolution costs.

    Parameters
    ----------
    cost
        Parquet, ``sizes.COST``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(cost, COST).with_columns(attention=100 * pl.col("attention"))
    fragment = html_table(
        frame.with_columns(pl.col("image").cast(pl.String)),
        caption="Encoder of width 768 and 12 blocks: tokens, operations and attention's share",
        columns=[
            Column(name="image", title="image", unit="px"),
            Column(name="patch", title="patch", unit="px"),
            Column(name="tokens", title="tokens"),
            Column(name="gigaflops", title="operations", unit="GFLOP", decimals=2),
            Column(name="attention", title="attention's share", unit="%", decimals=1),
        ],
        note="A multiplication and an addition count as two; patch embedding, norms, softmax and"
        " classifier are left out.",
    )
    table.write_text(fragment, "utf-8")


def tab_eurosat(*, accuracy: Path, summary: Path, table: Path, origin: str) -> None:
    """The race in numbers.

    Parameters
    ----------
    accuracy, summary
        As ``race.measure_race`` writes them.
    table
        Output: a fragment of HTML.
    """
    told = read_json(summary)
    frame = race_frame(read_frame(accuracy, ACCURACY), published=told["set"] == "EuroSAT")
    fragment = html_table(
        frame,
        caption=f"Test accuracy on {told['set']}",
        columns=[
            Column(name="learner", title="learner"),
            Column(name="budget", title="labels a class"),
            Column(name="tiles", title="tiles"),
            Column(name="steps", title="steps"),
            Column(name="parameters", title="parameters"),
            Column(name="value", title="accuracy", decimals=3),
            Column(name="interval", title="95% interval"),
            Column(name="range", title="worst to best", unit="of the trainings"),
            Column(name="published", title="published", decimals=3),
        ],
        note=orderings_in_words(told["orderings"]),
    )
    table.write_text(fragment, "utf-8")


def race_frame(accuracy: pl.DataFrame, *, published: bool) -> pl.DataFrame:
    """The rows of the table; published values only where the tiles are EuroSAT's."""
    found = []
    for row in accuracy.iter_rows(named=True):
        key = ("tab_eurosat", "test accuracy", f"{row['name']}; {row['budget']} labels per class")
        found.append(
            {
                "learner": row["name"] + (ANOTHER if row["learner"] in OTHERS else ""),
                **{name: row[name] for name in ("budget", "tiles", "steps", "parameters", "value")},
                "interval": f"{row['low']:.3f} to {row['high']:.3f}",
                "range": f"{row['least']:.3f} to {row['most']:.3f} ({row['seeds']})",
                "published": printed(*key) if published and key in rows() else None,
            }
        )
    return pl.DataFrame(found, schema_overrides={"published": pl.Float64})


def orderings_in_words(orders: dict[str, Any]) -> str:
    """What the publication's orderings come to in this run."""
    budgets = sorted(orders["cnn_minus_vit"].items(), key=lambda pair: int(pair[0]))
    gaps = "; ".join(f"{_apart(gap)} at {budget}" for budget, gap in budgets)
    better = [name for name, rises in orders["improves"].items() if rises]
    pretrained = "".join(
        f" {NAMES[one]} minus {NAMES[other]}: {told} labels a class."
        for (one, other), told in _by_pair(orders["pretrained_minus_scratch"]).items()
    )
    return (
        f"CNN minus ViT from scratch: {gaps} labels a class.{pretrained} Means that rise with every"
        f" budget: {len(better)} of {len(orders['improves'])} learners."
    )


def _by_pair(gaps: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """Differences of every two learners in words, budget by budget."""
    found: dict[tuple[str, str], list[str]] = {}
    for gap in gaps:
        words = f"{_apart(gap)} at {gap['budget']}"
        found.setdefault((gap["one"], gap["other"]), []).append(words)
    return {pair: "; ".join(words) for pair, words in found.items()}


def _apart(gap: dict[str, Any]) -> str:
    words = f"{gap['value']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})"
    return words.replace("-", "\N{MINUS SIGN}")


def cited_frame() -> pl.DataFrame:
    """Quoted facts as text, one a row: fact, value, unit, source."""
    facts = [
        (
            f"{row.quantity}: {row.condition}" if row.condition else row.quantity,
            row.published if row.unit == "year" else grouped(row.published),
            row.unit,
            row.source or STUDY.output(row.output_id).source,
        )
        for row in rows().values()
        if row.kind == "cited"
    ]
    names = ("fact", "value", "unit", "source")
    return pl.DataFrame(facts, schema=dict.fromkeys(names, pl.String), orient="row")


def tab_cited(*, table: Path, origin: str) -> None:
    """The table of quoted facts.

    Parameters
    ----------
    table
        Output: a fragment of HTML.
    """
    frame = cited_frame()
    fragment = html_table(
        frame,
        caption="Facts that the article quotes from elsewhere, as it prints them",
        columns=[Column(name=name, title=name) for name in frame.columns],
        note=f"{frame.height} facts, none of them measured here.",
    )
    table.write_text(fragment, "utf-8")

"""The study's tables: one step each, named after the output that it shows. They compute nothing."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.game_theory.outputs import STUDY
from remeasure.studies.game_theory.published import printed, rows

STAND_IN = (
    "The line-up is a stand-in fitted to the printed scores afterwards, not the article’s own,"
    " which is unknown."
)
RULES = {
    "fermi": "imitates by a logistic chance",
    "moran": "offspring by exponential fitness",
    "better": "copies whoever earns more",
}


def tab_tournament_lengths(*, lengths: Path, table: Path, origin: str) -> None:
    """Scores and ranks of each strategy by length of the match.

    Parameters
    ----------
    lengths
        Parquet, as ``tournament.LENGTHS``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(lengths)
    order = list(dict.fromkeys(frame["length"]))
    cells = (
        frame.with_columns(
            pl.format("{} ({})", pl.col("points").round(4), pl.col("rank")).alias("cell")
        )
        .pivot(on="length", index="strategy", values="cell")
        .join(frame.filter(pl.col("length") == order[0]).select("strategy", "rank"), on="strategy")
        .sort("rank")
    )
    fragment = html_table(
        cells,
        caption="Mean points a round and rank by length of the match",
        columns=[
            Column(name="strategy", title="strategy"),
            *(
                Column(name=each, title=each.replace("w=", "another round with chance "))
                for each in order
            ),
        ],
        note=f"In brackets the rank. {STAND_IN}",
    )
    table.write_text(fragment, "utf-8")


def tab_tournament_pairs(*, pairs: Path, standings: Path, table: Path, origin: str) -> None:
    """Expected points of every pair, strategies in the order of their rank.

    Parameters
    ----------
    pairs
        Parquet, as ``tournament.PAIRS``.
    standings
        Parquet, as ``tournament.STANDINGS``.
    table
        Output: a fragment of HTML.
    """
    order = read_frame(standings).sort("rank")["strategy"].to_list()
    wide = read_frame(pairs).pivot(on="second", index="first", values="points")
    fragment = html_table(
        pl.DataFrame({"first": order}).join(wide, on="first", how="left", maintain_order="left"),
        caption="Expected points a round of the strategy in the row against that in the column",
        columns=[
            Column(name="first", title="strategy"),
            *(Column(name=name, title=name, decimals=3) for name in order),
        ],
        note=STAND_IN,
    )
    table.write_text(fragment, "utf-8")


def tab_cycles_settings(*, tried: Path, table: Path, origin: str) -> None:
    """Exact long-run values with three strategies, a line a setting.

    Parameters
    ----------
    tried
        Parquet, as ``cycles.TRIED``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(tried).with_columns(
        pl.col("rule").replace_strict(RULES),
        # Copying the better earner has no strength of selection.
        pl.when(pl.col("rule") == "better").then(None).otherwise("strength").alias("strength"),
        *(pl.col(name) * 100 for name in ("majority", "defect", "tit_for_tat", "cooperate")),
    )
    words = "without generous tit for tat"
    share = printed("fig_cycles", "time with a majority of defectors", f"{words}, 20 runs")
    earned = printed("stat_cycles_payoff", "average payoff", words)
    fragment = html_table(
        frame,
        caption="Long-run values of the population with three strategies, solved exactly",
        columns=[
            Column(name="rule", title="how players imitate"),
            Column(name="strength", title="strength"),
            Column(name="mutation", title="mutation"),
            Column(
                name="majority", title="time under a majority of defectors", unit="%", decimals=1
            ),
            Column(name="payoff", title="mean payoff", unit="points a round", decimals=3),
            Column(name="defect", title="always defect", unit="%", decimals=1),
            Column(name="tit_for_tat", title="tit for tat", unit="%", decimals=1),
            Column(name="cooperate", title="always cooperate", unit="%", decimals=1),
        ],
        note=(
            f"The article prints {share:g}% and {earned:g}. The first line is the setting of the"
            " figure."
        ),
    )
    table.write_text(fragment, "utf-8")


def cited_frame() -> pl.DataFrame:
    """Quoted facts as text, one a row: fact, value, unit, source."""
    facts = [
        (
            row.quantity,
            grouped(row.published) if row.unit != "year" else row.published,
            row.unit,
            row.source or STUDY.output(row.output_id).source,
        )
        for row in rows().values()
        if row.kind == "cited"
    ]
    names = ("fact", "value", "unit", "source")
    return pl.DataFrame(facts, schema=dict.fromkeys(names, pl.String), orient="row")


def stat_cited(*, table: Path, origin: str) -> None:
    """The table of quoted facts.

    Parameters
    ----------
    table
        Output: a fragment of HTML.
    """
    frame = cited_frame()
    fragment = html_table(
        frame,
        caption="Facts that the essay quotes from elsewhere, as it prints them",
        columns=[Column(name=name, title=name) for name in frame.columns],
        note=f"{frame.height} facts, none of them measured here.",
    )
    table.write_text(fragment, "utf-8")

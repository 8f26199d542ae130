"""A round robin of strategies by expected payoffs: no match is sampled.

The published line-up, number of rounds and scoring are unknown. The default line-up is a
stand-in that was fitted to the printed scores afterwards: it checks the engine and proves
nothing about the published tournament.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.game_theory.automata import Automaton, Matches, every_pair, points
from remeasure.studies.game_theory.payoffs import Floats
from remeasure.studies.game_theory.published import answer_known, conditions, measurement
from remeasure.studies.game_theory.settings import TournamentSettings
from remeasure.studies.game_theory.strategies import called, is_nice

OUTPUTS = ("fig_tournament", "tab_tournament_pairs")

#: A match is won by more than this.
TIE = 1e-9

FITTED = "fitted setting R250, not in the article: "
FITTED_ROUNDS = 250
SCORE, WON, RANK = (
    "mean points per round (derived)",
    "matches won (derived)",
    "rank (derived)",
)
PAIR = "expected points per round of the first (derived)"

#: Coverage of every row whose setting the article does not state.
STAND_IN = "a stand-in line-up fitted to the printed scores; the article's own is unknown"

STANDINGS = declare(
    "standings",
    {
        "rank": dy.Int64(min=1),
        "strategy": dy.String(unique=True),
        "points": dy.Float64(),
        "won": dy.Int64(min=0),
        "drawn": dy.Int64(min=0),
        "lost": dy.Int64(min=0),
        "nice": dy.Bool(),
    },
)
PAIRS = declare(
    "expected points of pairs",
    {
        "first": dy.String(),
        "second": dy.String(),
        "points": dy.Float64(),
    },
)
LENGTHS = declare(
    "standings by length of the match",
    {
        "length": dy.String(),
        "strategy": dy.String(),
        "points": dy.Float64(),
        "rank": dy.Int64(min=1),
    },
)


class TournamentStep(Model):
    """Settings of `measure_tournament`."""

    tournament: TournamentSettings


@dataclass(frozen=True, eq=False)
class Result:
    """Expected points of a round robin.

    Attributes
    ----------
    names
        Strategies, n of them.
    pairs
        Points a round of the row's strategy against the column's, shape ``(n, n)``.
    self_play
        Whether a copy of itself counts in the score.
    """

    names: tuple[str, ...]
    pairs: Floats
    self_play: bool

    @property
    def scores(self) -> Floats:
        """Mean points a round over all opponents, shape ``(n,)``."""
        if self.self_play:
            return np.asarray(self.pairs.mean(axis=1))
        return np.asarray((self.pairs.sum(axis=1) - np.diag(self.pairs)) / (len(self.names) - 1))

    @property
    def won(self) -> Floats:
        """Which matches are won by more than a rounding error, booleans, shape ``(n, n)``."""
        return np.asarray(self.pairs - self.pairs.T > TIE)

    @property
    def ranks(self) -> list[int]:
        """Place of each strategy by score, 1 for the best; ties keep the order of the line-up."""
        order = np.argsort(-self.scores, kind="stable")
        return [int(np.flatnonzero(order == index)[0]) + 1 for index in range(order.size)]


def play(
    strategies: dict[str, Automaton], rounds: int | None, continuation: float, self_play: bool
) -> Result:
    """Expected payoffs of every pair.

    Parameters
    ----------
    strategies
        By name.
    rounds
        Of each match; None for matches without a fixed end.
    continuation
        Chance of a next round where there is no fixed end: points are then discounted means.
    self_play
        Whether a copy of itself counts in the score.
    """
    automata = list(strategies.values())
    matches: Matches = every_pair(automata)
    outcomes = matches.discounted(continuation) if rounds is None else matches.finite(rounds)
    earned = points(outcomes)[0].reshape(len(automata), len(automata))
    return Result(tuple(strategies), earned, self_play)


def standings(result: Result, strategies: dict[str, Automaton]) -> pl.DataFrame:
    """The table of a round robin, best first; a match against a copy is no match."""
    won, lost = result.won.sum(axis=1), result.won.sum(axis=0)
    return pl.DataFrame(
        {
            "rank": result.ranks,
            "strategy": result.names,
            "points": result.scores,
            "won": won.astype(np.int64),
            "drawn": len(result.names) - 1 - won - lost,
            "lost": lost.astype(np.int64),
            "nice": [is_nice(strategies[name]) for name in result.names],
        }
    ).sort("rank")


def measure_tournament(
    *, table: Path, pairs: Path, lengths: Path, settings: TournamentStep
) -> list[Measurement]:
    """Step: expected standings of the line-up, all pairs, and other lengths of the match.

    Parameters
    ----------
    table
        Output, Parquet: see `STANDINGS`.
    pairs
        Output, Parquet: see `PAIRS`.
    lengths
        Output, Parquet: see `LENGTHS`.
    """
    given = settings.tournament
    strategies = called(given.line_up, given.own)
    result = play(strategies, given.rounds, 0.0, given.self_play)
    placed = standings(result, strategies)
    others = list(_others(strategies, given))
    write_frame(placed, table, STANDINGS)
    write_frame(
        pl.DataFrame(
            [
                (first, second, float(result.pairs[i, j]))
                for i, first in enumerate(result.names)
                for j, second in enumerate(result.names)
            ],
            schema=list(PAIRS.columns),
            orient="row",
        ),
        pairs,
        PAIRS,
    )
    write_frame(_by_length([(f"{given.rounds} rounds", result), *others]), lengths, LENGTHS)
    measured = list(_printed(placed))
    if set(given.line_up) == set(_fitted_names()) and not given.own and given.self_play:
        if given.rounds == FITTED_ROUNDS:
            measured += _engine(placed, result)
        measured += [
            measurement(
                (
                    "fig_tournament",
                    SCORE,
                    f"fitted setting, not in the article, with {length}: {name}",
                ),
                float(score),
            )
            for length, other in others
            for name, score in zip(other.names, other.scores, strict=True)
        ]
    return answer_known(measured, OUTPUTS)


def _fitted_names() -> list[str]:
    return [
        words.removeprefix(FITTED)
        for words in conditions("fig_tournament", RANK)
        if words.startswith(FITTED)
    ]


def _others(
    strategies: dict[str, Automaton], given: TournamentSettings
) -> Iterator[tuple[str, Result]]:
    for rounds in given.other_rounds:
        yield f"{rounds} rounds", play(strategies, rounds, 0.0, given.self_play)
    for chance in given.continuations:
        yield f"w={chance:g}", play(strategies, None, chance, given.self_play)


def _by_length(results: Sequence[tuple[str, Result]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (length, name, float(score), rank)
            for length, result in results
            for name, score, rank in zip(result.names, result.scores, result.ranks, strict=True)
        ],
        schema=list(LENGTHS.columns),
        orient="row",
    )


def _engine(placed: pl.DataFrame, result: Result) -> list[Measurement]:
    """Rows that print the stand-in's own numbers: arithmetic of the engine."""
    answers = []
    for row in placed.iter_rows(named=True):
        condition = FITTED + row["strategy"]
        answers += [
            measurement(("fig_tournament", SCORE, condition), row["points"]),
            measurement(("fig_tournament", WON, condition), row["won"]),
            measurement(("fig_tournament", RANK, condition), row["rank"]),
        ]
    return answers + [
        measurement(
            ("tab_tournament_pairs", PAIR, f"{FITTED}{first} vs {second}"),
            float(result.pairs[i, j]),
        )
        for i, first in enumerate(result.names)
        for j, second in enumerate(result.names)
    ]


def _printed(placed: pl.DataFrame) -> Iterator[Measurement]:
    """The article's own rows, as far as the line-up has these strategies."""
    figure = "fig_tournament"
    count = placed.height
    yield measurement((figure, "strategies", ""), count)
    yield measurement((figure, "matches per strategy", "without self-play"), count - 1)
    by_name = {row["strategy"].lower(): row for row in placed.iter_rows(named=True)}
    columns = {
        "mean points per round": "points",
        "matches won": "won",
        "matches lost": "lost",
        "rank": "rank",
    }
    for quantity, column in columns.items():
        for condition in conditions(figure, quantity):
            row = by_name.get(condition.partition(" (")[0].lower())
            if row is not None:
                yield measurement((figure, quantity, condition), row[column], coverage=STAND_IN)
    nice = placed.filter(pl.col("nice"))
    top = int((nice["rank"] <= nice.height).sum())
    yield measurement(
        (figure, "strategies that never defect first", "all in the top places"),
        top,
        coverage=STAND_IN,
    )
    winners = ", ".join(
        f"{row['strategy']} {row['won']}" for row in nice.filter(pl.col("won") > 0).to_dicts()
    )
    yield measurement(
        (
            figure,
            "matches won by the six nice strategies together",
            "text: almost none; image text: none",
        ),
        int(nice["won"].sum()),
        coverage=STAND_IN,
        note=f"won by {winners}" if winners else "",
    )

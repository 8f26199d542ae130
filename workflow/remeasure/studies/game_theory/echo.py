"""One mistake between two copies of a strategy, and how long it echoes."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.game_theory.automata import Automaton, Ints
from remeasure.studies.game_theory.payoffs import AXELROD, Floats
from remeasure.studies.game_theory.published import answer_known, measurement
from remeasure.studies.game_theory.settings import EchoSettings
from remeasure.studies.game_theory.strategies import GENEROUS, NAMED, TIT_FOR_TAT, WIN_STAY

OUTPUTS = ("fig_echo",)

#: Strategies shown, in order.
SHOWN = (TIT_FOR_TAT, GENEROUS, WIN_STAY)

ECHO = declare(
    "echoes of one mistake",
    {
        "strategy": one_of(SHOWN),
        "player": dy.Int64(is_in=[1, 2]),
        "round": dy.Int64(min=1),
        "move": one_of(["C", "D"]),
    },
)


class EchoStep(Model):
    """Settings of `measure_echo`."""

    echo: EchoSettings


def play(
    strategy: Automaton, rounds: int, mistake: int, matches: int, rng: np.random.Generator
) -> Ints:
    """Moves of two copies in many matches: 0 is C, 1 is D, shape ``(matches, 2, rounds)``.

    Player one's move in round ``mistake`` (counted from 1) is flipped; both remember it as played.
    """
    state = np.zeros((2, matches), dtype=np.int64)
    moves = np.empty((matches, 2, rounds), dtype=np.int64)
    for number in range(rounds):
        played = (rng.random((2, matches)) >= strategy.cooperate[state]).astype(np.int64)
        if number + 1 == mistake:
            played[0] = 1 - played[0]
        moves[:, :, number] = played.T
        state = strategy.after[state, played, played[::-1]]
    return moves


def echo_lengths(moves: Ints, mistake: int) -> Ints:
    """Rounds after the mistake until both cooperate again, shape ``(matches,)``.

    What is left of the match where they never do.
    """
    peace = (moves[:, :, mistake:] == 0).all(axis=1)
    return np.asarray(np.where(peace.any(axis=1), peace.argmax(axis=1), peace.shape[1]))


def _words(moves: Ints) -> str:
    return "".join("CD"[move] for move in moves)


def measure_echo(*, table: Path, settings: EchoStep, rng: np.random.Generator) -> list[Measurement]:
    """Step: what follows one mistake, for three strategies.

    Of generous tit for tat's random echoes the table keeps the first drawn one that lasts as long
    as the mean.

    Parameters
    ----------
    table
        Output, Parquet: see `ECHO`.
    """
    given = settings.echo
    shown = {
        name: play(NAMED[name], given.rounds, given.mistake, 1, rng)[0]
        for name in (TIT_FOR_TAT, WIN_STAY)
    }
    # Long enough that no echo is cut short: forgiving it takes 2 rounds on average.
    drawn = play(NAMED[GENEROUS], given.mistake + 200, given.mistake, given.draws, rng)
    lengths = echo_lengths(drawn, given.mistake)
    forgiveness = AXELROD.largest_forgiveness
    expected = (1 - forgiveness) / forgiveness
    usual = int(np.flatnonzero(lengths == round(expected))[0])
    shown[GENEROUS] = drawn[usual, :, : given.rounds]
    write_frame(
        pl.DataFrame(
            [
                (name, player + 1, number + 1, "CD"[shown[name][player, number]])
                for name in SHOWN
                for player in (0, 1)
                for number in range(given.rounds)
            ],
            schema=list(ECHO.columns),
            orient="row",
        ),
        table,
        ECHO,
    )
    return answer_known(_answers(given, shown, lengths.astype(float), expected), OUTPUTS)


def _answers(
    given: EchoSettings, shown: dict[str, Ints], lengths: Floats, expected: float
) -> list[Measurement]:
    figure = "fig_echo"
    answers = [
        measurement((figure, "rounds shown", ""), given.rounds),
        measurement(
            (
                figure,
                "round of the mistake",
                "player one defects instead of cooperating",
            ),
            given.mistake,
        ),
    ]
    for name in (TIT_FOR_TAT, WIN_STAY):
        for player, which in enumerate(("one", "two")):
            answers.append(
                measurement(
                    (figure, f"moves of player {which} (derived)", name.lower()),
                    _words(shown[name][player]),
                )
            )
    after = shown[WIN_STAY][:, given.mistake :]
    both = np.flatnonzero(after.sum(axis=0) == 2)
    peace = np.flatnonzero(after.sum(axis=0) == 0)
    calm, war = shown[TIT_FOR_TAT][:, given.mistake :], AXELROD.own
    low, high = np.quantile(lengths, [0.025, 0.975])
    return [
        *answers,
        measurement(
            (figure, "round with both defecting", "win-stay lose-shift"),
            given.mistake + 1 + int(both[0]),
        ),
        measurement(
            (figure, "round back to cooperation", "win-stay lose-shift"),
            given.mistake + 1 + int(peace[0]),
        ),
        measurement(
            (figure, "rounds until the echo stops", "generous tit for tat, as drawn"),
            float(lengths.mean()),
            low=float(low),
            high=float(high),
            n=lengths.size,
            coverage="the article shows one random draw; ours is the mean of many",
            note="between these ends lie 95% of single echoes",
        ),
        measurement(
            (figure, "expected number of retaliations (derived)", "(1-q)/q at q=1/3"), expected
        ),
        measurement(
            (
                figure,
                "mean points per round after the mistake (derived)",
                f"two tit for tat players, rounds {given.mistake + 1}-{given.rounds}",
            ),
            float(war[2 * calm[0] + calm[1]].mean()),
        ),
    ]

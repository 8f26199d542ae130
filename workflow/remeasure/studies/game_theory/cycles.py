"""Which strategies rule an imitating population, and how often they are defectors.

The essay states the population, its matches and the number of runs, and nothing about the rule
of imitation, its strength, mutation or the length of a run. These are settings; the printed
numbers do not identify them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
from scipy.special import gammaincinv, stdtrit

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.game_theory.automata import Automaton, every_pair, points
from remeasure.studies.game_theory.payoffs import Floats
from remeasure.studies.game_theory.population import Population, Runs, simulate
from remeasure.studies.game_theory.published import answer_known, measurement, printed, rows
from remeasure.studies.game_theory.settings import Imitation, PopulationSettings
from remeasure.studies.game_theory.strategies import (
    ALWAYS_COOPERATE,
    ALWAYS_DEFECT,
    GENEROUS,
    NAMED,
    TIT_FOR_TAT,
    generous_tit_for_tat,
)

OUTPUTS = ("fig_cycles", "stat_cycles_payoff")

#: Points of the drawn path.
PATH_POINTS = 1500

#: Sets of strategies: the words of the article, and how many of the four strategies they hold.
SETS = {"without generous tit for tat": 3, "with generous tit for tat": 4}
WORDS = {3: "three strategies", 4: "four strategies"}

MAJORITY = "majority of defectors, stationary (derived)"
PAYOFF = "average payoff, stationary (derived)"

UNKNOWN = (
    "the article states neither the rule of imitation nor its strength, mutation or length of run;"
    " ours are settings"
)

PATHS = declare(
    "one run of each set",
    {
        "set": one_of(SETS),
        "step": dy.Int64(min=0),
        "strategy": dy.String(),
        "share": dy.Float64(min=0, max=1),
    },
)
AVERAGES = declare(
    "averages over runs",
    {
        "set": one_of(SETS),
        "quantity": one_of(["majority", "payoff"]),
        "value": dy.Float64(),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "runs": dy.Int64(min=2),
        "steps": dy.Int64(min=1),
    },
)
TRIED = declare(
    "exact stationary values by setting",
    {
        "rule": dy.String(),
        "strength": dy.Float64(),
        "mutation": dy.Float64(),
        "majority": dy.Float64(),
        "payoff": dy.Float64(),
        "defect": dy.Float64(),
        "tit_for_tat": dy.Float64(),
        "cooperate": dy.Float64(),
    },
)


class CyclesStep(Model):
    """Settings of `measure_cycles`."""

    population: PopulationSettings


@dataclass(frozen=True)
class Mean:
    """A mean over runs with its 95% interval (Student's t)."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, runs: Floats) -> Mean:
        """From one average a run, shape ``(runs,)``."""
        value = float(runs.mean())
        reach = float(stdtrit(runs.size - 1, 0.975) * runs.std(ddof=1) / np.sqrt(runs.size))
        return cls(value, value - reach, value + reach)


@dataclass(frozen=True)
class Spread:
    """Standard deviation of a mean over runs, with its 95% interval (chi-square)."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, runs: Floats, averaged: int) -> Spread:
        """From one average a run, shape ``(runs,)``, for a mean over ``averaged`` of them."""
        value = float(runs.std(ddof=1) / np.sqrt(averaged))
        free = runs.size - 1
        # Quantiles of chi-square are those of a gamma law, doubled.
        low, high = value * np.sqrt(free / (2 * gammaincinv(free / 2, [0.975, 0.025])))
        return cls(value, float(low), float(high))


def players(settings: PopulationSettings) -> dict[str, Automaton]:
    """The four strategies, defectors first; the first three are the smaller set."""
    return {
        ALWAYS_DEFECT: NAMED[ALWAYS_DEFECT],
        TIT_FOR_TAT: NAMED[TIT_FOR_TAT],
        ALWAYS_COOPERATE: NAMED[ALWAYS_COOPERATE],
        GENEROUS: generous_tit_for_tat(settings.generosity),
    }


def pair_payoffs(settings: PopulationSettings) -> Floats:
    """Points a round of each strategy against each, with mistakes, discounted, ``(4, 4)``."""
    matches = every_pair(list(players(settings).values()), settings.mistakes)
    return points(matches.discounted(settings.continuation))[0].reshape(4, 4)


def population(
    settings: PopulationSettings, payoffs: Floats, count: int, imitation: Imitation
) -> Population:
    """The population of the first ``count`` strategies that imitates in this way."""
    return Population(
        payoffs=payoffs[:count, :count],
        players=settings.players,
        rule=imitation.rule,
        strength=imitation.strength,
        mutation=imitation.mutation,
    )


def exact(settings: PopulationSettings, payoffs: Floats) -> pl.DataFrame:
    """Exact stationary values with three strategies, one row a setting, the figure's first."""
    found = []
    for imitation in dict.fromkeys((settings.imitation, *settings.tried)):
        own = population(settings, payoffs, 3, imitation)
        weight = own.stationary()
        majority = weight[2 * own.states[:, 0] > own.players].sum()
        found.append(
            (
                imitation.rule,
                imitation.strength,
                imitation.mutation,
                float(majority),
                float(weight @ own.mean_earnings),
                *(weight @ own.states / own.players).tolist(),
            )
        )
    return pl.DataFrame(found, schema=list(TRIED.columns), orient="row")


def measure_cycles(
    *,
    paths: Path,
    averages: Path,
    tried: Path,
    settings: CyclesStep,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Step: shares of strategies over time, with and without generous tit for tat.

    Parameters
    ----------
    paths
        Output, Parquet: see `PATHS`.
    averages
        Output, Parquet: see `AVERAGES`.
    tried
        Output, Parquet: see `TRIED`.
    """
    given = settings.population
    payoffs = pair_payoffs(given)
    names = list(players(given))
    played = {
        words: simulate(
            population(given, payoffs, count, given.imitation),
            given.runs * given.repeats,
            _marks(given),
            PATH_POINTS,
            rng,
        )
        for words, count in SETS.items()
    }
    stationary = exact(given, payoffs)
    write_frame(
        pl.concat(_path(words, run, names, given) for words, run in played.items()), paths, PATHS
    )
    write_frame(_averages(played, given), averages, AVERAGES)
    write_frame(stationary, tried, TRIED)
    return answer_known(
        [
            *_settings(given),
            *_pairs(given, payoffs, names),
            *_stationary(stationary, given),
            *_simulated(played, given),
        ],
        OUTPUTS,
    )


def _marks(given: PopulationSettings) -> list[int]:
    return sorted({given.short_steps, given.steps})


def _path(words: str, run: Runs, names: list[str], given: PopulationSettings) -> pl.DataFrame:
    shares = run.path / given.players
    return pl.concat(
        pl.DataFrame(
            {
                "set": [words] * run.steps.size,
                "step": run.steps,
                "strategy": [name] * run.steps.size,
                "share": shares[:, index],
            }
        )
        for index, name in enumerate(names[: shares.shape[1]])
    )


def _averages(played: dict[str, Runs], given: PopulationSettings) -> pl.DataFrame:
    found = []
    for words, run in played.items():
        for quantity, values in (("majority", run.share), ("payoff", run.earnings)):
            for mark, steps in enumerate(_marks(given)):
                mean = Mean.of(values[mark, : given.runs])
                found.append((words, quantity, mean.value, mean.low, mean.high, given.runs, steps))
    return pl.DataFrame(found, schema=list(AVERAGES.columns), orient="row")


def _settings(given: PopulationSettings) -> list[Measurement]:
    figure = "fig_cycles"
    return [
        measurement((figure, "population", ""), given.players),
        measurement(
            (figure, "mean length of a relationship", f"w={given.continuation:g}"),
            1 / (1 - given.continuation),
        ),
        measurement((figure, "mistakes", "one move in fifty"), given.mistakes),
        measurement((figure, "runs", ""), given.runs),
    ]


def _pairs(given: PopulationSettings, payoffs: Floats, names: list[str]) -> list[Measurement]:
    forgiven = "1/3" if abs(given.generosity - 1 / 3) < 1e-9 else f"{given.generosity:g}"
    called = [name.lower() for name in names]
    called[-1] += f" (q={forgiven})"
    prefix = f"w={given.continuation:g}, mistakes {given.mistakes:g}: "
    return [
        measurement(
            (
                "fig_cycles",
                "expected points per round of the first (derived)",
                f"{prefix}{first} vs {second}",
            ),
            float(payoffs[i, j]),
        )
        for i, first in enumerate(called)
        for j, second in enumerate(called)
    ]


def _as_published(given: PopulationSettings) -> bool:
    """Whether the population and its matches are those of the article."""
    figure = "fig_cycles"
    return (
        given.players == printed(figure, "population", "")
        and given.mistakes == printed(figure, "mistakes", "one move in fifty")
        and (figure, "mean length of a relationship", f"w={given.continuation:g}") in rows()
    )


def _spelled(row: dict[str, object]) -> str:
    """A setting as the conditions of the rows spell it."""
    rule = {"fermi": "Fermi", "moran": "exponential Moran"}.get(str(row["rule"]), str(row["rule"]))
    return f"three strategies, {rule} beta={row['strength']:g}, mutation {row['mutation']:g}"


def _stationary(found: pl.DataFrame, given: PopulationSettings) -> list[Measurement]:
    if not _as_published(given):
        return []
    answers = []
    for row in found.iter_rows(named=True):
        for output, quantity, column in (
            ("fig_cycles", MAJORITY, "majority"),
            ("stat_cycles_payoff", PAYOFF, "payoff"),
        ):
            for said in ("one of many compatible settings", "another compatible setting"):
                key = (output, quantity, f"{said}, not in the article: {_spelled(row)}")
                answers.append(measurement(key, row[column]))
    figure = found.row(0, named=True)
    first = f"one of many compatible settings, not in the article: {_spelled(figure)}"
    if ("fig_cycles", MAJORITY, first) in rows():
        answers += [
            measurement(
                ("fig_cycles", "mean share, stationary (derived)", f"three strategies: {words}"),
                figure[column],
            )
            for words, column in (
                ("always defect", "defect"),
                ("tit for tat", "tit_for_tat"),
                ("always cooperate", "cooperate"),
            )
        ]
    return answers


def _simulated(played: dict[str, Runs], given: PopulationSettings) -> list[Measurement]:
    answers = []
    for words, run in played.items():
        share = Mean.of(100 * run.share[-1, : given.runs])
        earned = Mean.of(run.earnings[-1, : given.runs])
        majority = ("fig_cycles", "time with a majority of defectors")
        for key, mean in (
            ((*majority, f"{words}, {given.runs} runs"), share),
            (("stat_cycles_payoff", "average payoff", words), earned),
        ):
            answers.append(
                measurement(
                    key, mean.value, low=mean.low, high=mean.high, n=given.runs, coverage=UNKNOWN
                )
            )
        for index, steps in enumerate(_marks(given)):
            spread = Spread.of(run.share[index], given.runs)
            key = (
                "fig_cycles",
                f"spread of a {given.runs}-run mean (derived)",
                f"{WORDS[SETS[words]]}, {steps} steps a run: standard deviation",
            )
            answers.append(
                measurement(
                    key,
                    spread.value,
                    low=spread.low,
                    high=spread.high,
                    n=run.share.shape[1],
                    note=(
                        f"from {run.share.shape[1]} runs; how many stand behind the printed value"
                        " is not said"
                    ),
                )
            )
    return [*answers, *_long(played["with generous tit for tat"], given)]


def _long(run: Runs, given: PopulationSettings) -> list[Measurement]:
    """The long run of four strategies, against all of our shorter ones."""
    condition = (
        "one of many compatible settings, not in the article: four strategies,"
        f" q=1/3, {_spelled(given.imitation.model_dump()).removeprefix('three strategies, ')},"
        " 600 million steps, +-0.005"
    )
    same = "one of many compatible settings, not in the article: four strategies, same, +-0.01"
    first = ("fig_cycles", "majority of defectors, long run (derived)", condition)
    if first not in rows() or not _as_published(given):
        return []
    count = run.share.shape[1]
    coverage = f"{given.steps * count:,} steps, not 600 million, and from equal shares"
    return [
        measurement(key, mean.value, low=mean.low, high=mean.high, n=count, coverage=coverage)
        for key, mean in (
            (first, Mean.of(run.share[-1])),
            (
                ("stat_cycles_payoff", "average payoff, long run (derived)", same),
                Mean.of(run.earnings[-1]),
            ),
        )
    ]

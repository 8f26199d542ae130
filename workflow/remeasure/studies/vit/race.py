"""The race: learners against budgets of labels, over several trainings each.

An accuracy is a mean over trainings. Its 95% interval holds both kinds of chance: how much
trainings differ (Student's t over the seeds) and which tiles are tested (binomial); with one
training only the second. Differences of two learners are taken seed by seed and tile by tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from safetensors.numpy import save_file
from scipy.special import stdtrit

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.store.frames import read_frame, read_json, write_frame, write_json
from remeasure.studies.vit.picture import MISTAKES, SAMPLES, WRITTEN
from remeasure.studies.vit.published import answer, measurement, rows
from remeasure.studies.vit.runs import (
    ACCURACY,
    CONFUSION,
    GUESSES,
    LEARNERS,
    NAMES,
    OTHERS,
    PRETRAINED,
    RUNS,
    SCRATCH,
)
from remeasure.studies.vit.settings import Length
from remeasure.studies.vit.tiles import TEST, TRAIN, load_split

OUTPUTS = (
    "stat_eurosat",
    "fig_eurosat_samples",
    "tab_eurosat",
    "fig_eurosat",
    "fig_confusion",
    "fig_mistakes",
)

#: The publication's scale: budgets, tiles of both splits, length of trainings, parameters.
BUDGETS = (10, 100, 1620)
TILES = {TRAIN: 16_200, TEST: 5_400}
PUBLISHED = {
    "tuned": Length(batch=32, least=300, passes=3),
    "vit": Length(batch=64, least=1500, passes=30),
    "cnn": Length(batch=64, least=1500, passes=30),
}
#: Parameters and steps without which a learner is another one.
SIZES = {"tuned": 85_806_346, "vit": 2_721_226, "cnn": 2_330_954, "probe": 7_690}
PROBE_STEPS = 500

NO_TILES = "needs EuroSAT (vit.tiles.origin files, mirror or public)"


class RaceMeasureStep(Model):
    """Settings of `measure_race`: where the tiles come from."""

    generated: bool


def measure_race(
    *,
    tiles: Path,
    tiles_summary: Path,
    runs: list[Path],
    guesses: list[Path],
    accuracy: Path,
    confusion: Path,
    samples: Path,
    summary: Path,
    settings: RaceMeasureStep,
) -> list[Measurement]:
    """Step: accuracies, orderings, and the mistakes of one training.

    Parameters
    ----------
    tiles, tiles_summary
        As ``tiles.read_tiles`` writes them.
    runs, guesses
        Of every learner, see ``runs.RUNS`` and ``runs.GUESSES``.
    accuracy, confusion
        Outputs, Parquet: see ``runs.ACCURACY`` and ``runs.CONFUSION``. The confusion is that of the
        fine-tuned ViT, or else of the best learner that ran, at the largest budget, first seed.
    samples
        Output, safetensors: ``samples`` (two training tiles of each class) and ``mistakes``
        (the first wrong test tiles), bytes of shape ``(n, side, side, 3)``.
    summary
        Output, JSON: the set, orderings, whose confusion it is, names below the mistakes.
    """
    told = read_json(tiles_summary)
    taught, tested = load_split(tiles, TRAIN), load_split(tiles, TEST)
    every = pl.concat([read_frame(path, RUNS) for path in runs])
    table = accuracies(every)
    write_frame(table, accuracy, ACCURACY)
    whose = shown_learner(table)
    given = pl.concat([read_frame(path, GUESSES) for path in guesses])
    picked = given.filter(
        pl.col("learner") == whose, pl.col("seed") == 0, pl.col("budget") == largest(table)
    )
    rows_, found = picked["tile"].to_numpy(), picked["guess"].to_numpy()
    truth = tested.labels[rows_]
    classes: list[str] = told["classes"]
    write_frame(confused(truth, found, classes), confusion, CONFUSION)
    wrong = np.flatnonzero(truth != found)
    first = np.concatenate(
        [np.flatnonzero(taught.labels == label)[:SAMPLES] for label in range(len(classes))]
    )
    save_file(
        {
            "samples": _pictures(taught.pixels[first]),
            "mistakes": _pictures(tested.pixels[rows_[wrong[:MISTAKES]]]),
        },
        samples,
    )
    right = given.select(
        "learner", "budget", "seed", "tile", right=pl.col("guess") == tested.labels[given["tile"]]
    )
    orders = orderings(table, right)
    write_json(
        {
            "set": set_name(told, generated=settings.generated),
            "classes": classes,
            "samples": [classes[taught.labels[row]] for row in first],
            "learner": NAMES[whose],
            "budget": largest(table),
            "tested": int(truth.size),
            "wrong": int(wrong.size),
            "mistakes": [[classes[truth[row]], classes[found[row]]] for row in wrong[:MISTAKES]],
            "orderings": orders,
        },
        summary,
    )
    real = bool(told["eurosat"]) and not settings.generated
    measured = [
        *_set(told, taught.pixels.shape, tested.pixels.shape, real=real),
        measurement(
            ("fig_eurosat_samples", "tiles drawn", "2 per class x 10"),
            first.size,
            note=set_name(told, generated=settings.generated),
        ),
        *_accuracy(table, told),
        *_order(table, told),
        *_gaps(right, table, told),
        *_steps(),
        *_drawn(),
        *_mistakes(table, whose, truth.size, wrong.size, told),
        *_confusions(table, whose, confused(truth, found, classes)),
    ]
    return answer(measured, OUTPUTS, _reasons(table))


def set_name(told: Mapping[str, Any], *, generated: bool) -> str:
    """What the tiles are, for titles."""
    if generated:
        return "generated textures"
    return "EuroSAT" if told["eurosat"] else "tiles from files"


def _pictures(pixels: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.ascontiguousarray(pixels.transpose(0, 2, 3, 1))


def accuracies(runs: pl.DataFrame) -> pl.DataFrame:
    """The table ``ACCURACY``: learners in the publication's order, then those of others."""
    shares = runs.with_columns(share=pl.col("correct") / pl.col("tested"))
    place = {name: number for number, name in enumerate(NAMES)}
    found = []
    for (learner, budget), own in shares.sort("seed").group_by(
        "learner", "budget", maintain_order=True
    ):
        share, tested = own["share"].to_numpy(), int(own["tested"][0])
        low, high = interval(share, tested)
        found.append(
            {
                "learner": learner,
                "name": NAMES[str(learner)],
                "budget": budget,
                "tiles": own["tiles"][0],
                "steps": own["steps"][0],
                "parameters": own["parameters"][0],
                "seeds": own.height,
                "tested": tested,
                "value": float(share.mean()),
                "low": low,
                "high": high,
                "least": float(share.min()),
                "most": float(share.max()),
            }
        )
    found.sort(key=lambda row: (place[row["learner"]], row["budget"]))
    return pl.DataFrame(found, schema=list(ACCURACY.columns), strict=False)


def interval(shares: Sequence[float] | np.ndarray[Any, Any], tested: int) -> tuple[float, float]:
    """95% interval of a mean accuracy: trainings and tested tiles, within 0..1.

    Parameters
    ----------
    shares
        Accuracy of each training.
    tested
        Tiles, the same for all of them.
    """
    each = np.asarray(shares, dtype=np.float64)
    mean, seeds = float(each.mean()), each.size
    # A share of 0 or 1 would claim to know: half a tile is the least.
    kept = min(max(mean, 0.5 / tested), 1 - 0.5 / tested)
    binomial = 1.959964 * math.sqrt(kept * (1 - kept) / tested)
    spread = 0.0
    if seeds > 1:
        spread = float(stdtrit(seeds - 1, 0.975)) * float(each.std(ddof=1)) / math.sqrt(seeds)
    half = math.hypot(binomial, spread)
    return max(0.0, mean - half), min(1.0, mean + half)


def confused(
    truth: np.ndarray[Any, np.dtype[np.int64]],
    found: np.ndarray[Any, np.dtype[np.int64]],
    classes: list[str],
) -> pl.DataFrame:
    """The table ``CONFUSION``: rows of one class sum to 1."""
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
    np.add.at(counts, (truth, found), 1)
    share = counts / counts.sum(1, keepdims=True)
    one, other = np.indices(counts.shape)
    return pl.DataFrame(
        {
            "truth": [classes[place] for place in one.ravel()],
            "guess": [classes[place] for place in other.ravel()],
            "share": share.ravel(),
            "tiles": counts.ravel(),
        }
    )


def largest(table: pl.DataFrame) -> int:
    """The largest budget of a table."""
    return max(int(each) for each in table["budget"])


def shown_learner(table: pl.DataFrame) -> str:
    """Whose confusion is drawn: the fine-tuned ViT's, else the best learner's at most labels."""
    last = table.filter(pl.col("budget") == largest(table))
    if "tuned" in last["learner"]:
        return "tuned"
    return str(last.sort("value", descending=True, maintain_order=True)["learner"][0])


def orderings(table: pl.DataFrame, right: pl.DataFrame) -> dict[str, Any]:
    """What the publication's orderings come to here.

    For each budget the difference of CNN and ViT from scratch with its interval; likewise that of
    every pretrained learner and each of those two; and for each learner whether its mean rises
    from budget to budget.

    Parameters
    ----------
    table
        See ``runs.ACCURACY``.
    right
        As in `gap`.
    """
    there = set(table["learner"].to_list())
    budgets = [int(each) for each in sorted(set(table["budget"].to_list()))]

    def told(budget: int, one: str, other: str) -> dict[str, float]:
        return dict(zip(("value", "low", "high"), gap(right, budget, one, other), strict=True))

    return {
        "cnn_minus_vit": {
            str(budget): told(budget, "cnn", "vit") for budget in budgets if {"cnn", "vit"} <= there
        },
        "pretrained_minus_scratch": [
            {"one": one, "other": other, "budget": budget, **told(budget, one, other)}
            for budget, one, other in product(budgets, PRETRAINED, SCRATCH)
            if {one, other} <= there
        ],
        "improves": {
            str(learner): bool(np.all(np.diff(own["value"].to_numpy()) > 0))
            for (learner,), own in table.group_by("learner", maintain_order=True)
        },
    }


def gap(right: pl.DataFrame, budget: int, one: str, other: str) -> tuple[float, float, float]:
    """Mean of one learner's accuracy minus another's, and its 95% interval.

    The interval holds both chances: how differences vary from training to training (Student's t
    over the seeds), and from tile to tile (normal, of the tiles' means over trainings), so that
    tiles which both take wrong leave no doubt.

    Parameters
    ----------
    right
        One row a training and tested tile: ``learner``, ``budget``, ``seed``, ``tile``, and
        whether it is ``right``.
    budget, one, other
        Labels a class, and two learners that were tested on the same tiles.
    """
    own = right.filter(pl.col("budget") == budget).sort("seed", "tile")
    sides = [own.filter(pl.col("learner") == each) for each in (one, other)]
    seeds = sides[0]["seed"].n_unique()
    first, second = (side["right"].to_numpy().reshape(seeds, -1) for side in sides)
    apart = first.astype(np.float64) - second  # (trainings, tiles)
    mean, tested = float(apart.mean()), apart.shape[1]
    # Where no tile tells them apart, the interval would claim to know: one tile is the least.
    of_tiles = max(float(apart.mean(0).std(ddof=1)), 1 / math.sqrt(tested))
    of_seeds = 0.0
    if seeds > 1:
        quantile = float(stdtrit(seeds - 1, 0.975))
        of_seeds = quantile * float(apart.mean(1).std(ddof=1)) / math.sqrt(seeds)
    half = math.hypot(1.959964 * of_tiles / math.sqrt(tested), of_seeds)
    return mean, mean - half, mean + half


def scope(row: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    """``whole``, or in what a learner's row is smaller than the publication's."""
    parts = []
    if {split: sum(told[split]) for split in TILES} != TILES:
        parts.append(f"{sum(told[TRAIN]):,} tiles to learn from, not {TILES[TRAIN]:,}")
    if row["tested"] != TILES[TEST]:
        parts.append(f"{row['tested']:,} tiles tested, not {TILES[TEST]:,}")
    if row["parameters"] != SIZES[row["learner"]]:
        parts.append(f"{row['parameters']:,} parameters, not {SIZES[row['learner']]:,}")
    length = PUBLISHED.get(row["learner"])
    steps = PROBE_STEPS if length is None else length.steps(row["tiles"])
    if row["steps"] != steps:
        parts.append(f"{row['steps']:,} steps, not {steps:,}")
    return ", ".join(parts) or WHOLE


def _set(
    told: Mapping[str, Any], taught: Sequence[int], tested: Sequence[int], *, real: bool
) -> Iterator[Measurement]:
    if not real:
        return
    for split, name, shape in ((TRAIN, "train", taught), (TEST, "test", tested)):
        whole = shape[0] == TILES[split]
        for axis, size in enumerate(shape):
            coverage = WHOLE if axis or whole else "a sample of the set, with a split of its own"
            yield measurement(
                ("stat_eurosat", f"{name} tensor dimension {axis}", "timm/eurosat-rgb"),
                int(size),
                coverage=coverage,
            )
    for label, name in enumerate(told["classes"]):
        yield measurement(("stat_eurosat", "class name", f"label {label}"), name)


def _accuracy(table: pl.DataFrame, told: Mapping[str, Any]) -> Iterator[Measurement]:
    for row in table.iter_rows(named=True):
        key = ("tab_eurosat", "test accuracy", f"{row['name']}; {row['budget']} labels per class")
        if key in rows():
            yield measurement(
                key,
                row["value"],
                low=row["low"],
                high=row["high"],
                n=row["tested"],
                coverage=scope(row, told),
                note=f"{row['seeds']} trainings on {row['tiles']:,} tiles,"
                f" {row['least']:.3f} to {row['most']:.3f}",
            )


def _scopes(table: pl.DataFrame, told: Mapping[str, Any], learners: Sequence[str]) -> str:
    """``whole`` when it is for all of these learners."""
    found = {scope(row, told) for row in table.iter_rows(named=True) if row["learner"] in learners}
    return WHOLE if found == {WHOLE} else "; ".join(sorted(found - {WHOLE})[:1])


def _order(table: pl.DataFrame, told: Mapping[str, Any]) -> Iterator[Measurement]:
    for (budget,), own in table.group_by("budget", maintain_order=True):
        key = ("tab_eurosat", "order of learners", f"{budget} labels per class")
        published = own.filter(~pl.col("learner").is_in(list(OTHERS)))
        if key in rows() and set(published["learner"]) == set(LEARNERS):
            best = published.sort("value", descending=True, maintain_order=True)["name"]
            coverage = _scopes(published, told, tuple(LEARNERS))
            yield measurement(key, " > ".join(best), coverage=coverage)


def _gaps(
    right: pl.DataFrame, table: pl.DataFrame, told: Mapping[str, Any]
) -> Iterator[Measurement]:
    for budget in sorted(set(table["budget"].to_list())):
        words = f"{budget} labels per class; difference of printed values"
        key = ("tab_eurosat", "CNN minus ViT from scratch", words)
        own = table.filter(pl.col("budget") == budget)
        if key in rows() and {"cnn", "vit"} <= set(own["learner"]):
            value, low, high = gap(right, int(budget), "cnn", "vit")
            coverage = _scopes(own, told, ("cnn", "vit"))
            yield measurement(key, value, low=low, high=high, coverage=coverage)


def _steps() -> Iterator[Measurement]:
    for budget in BUDGETS:
        for learner, name in (("tuned", LEARNERS["tuned"]), ("vit", "small nets")):
            tiles = 10 * budget
            key = ("tab_eurosat", "training steps", f"{name}; nominal n {tiles}")
            yield measurement(key, PUBLISHED[learner].steps(tiles))


def _drawn() -> Iterator[Measurement]:
    for budget in BUDGETS:
        condition = f"{budget} labels per class (nominal, 10 x budget)"
        yield measurement(("fig_eurosat", "x position", condition), 10 * budget)
    yield measurement(("fig_confusion", "threshold for a written cell", "row-normalised"), WRITTEN)
    yield measurement(("fig_mistakes", "tiles drawn", "first in file order"), MISTAKES)


def _mistakes(
    table: pl.DataFrame, whose: str, tested: int, wrong: int, told: Mapping[str, Any]
) -> Iterator[Measurement]:
    if whose != "tuned" or largest(table) != BUDGETS[-1]:
        return
    key = next(key for key in rows() if key[:2] == ("fig_mistakes", "wrong test tiles"))
    coverage = _scopes(table.filter(pl.col("budget") == BUDGETS[-1]), told, ("tuned",))
    yield measurement(key, wrong, n=tested, coverage=coverage)


def _confusions(table: pl.DataFrame, whose: str, shares: pl.DataFrame) -> Iterator[Measurement]:
    """The row in words: the pairs of classes that are confused most, to be read beside it."""
    if whose != "tuned" or largest(table) != BUDGETS[-1]:
        return
    pairs = shares.filter(pl.col("truth") != pl.col("guess")).sort(
        "share", descending=True, maintain_order=True
    )
    words = "; ".join(
        f"{row['truth']} as {row['guess']} {row['share']:.3f}"
        for row in pairs.head(5).iter_rows(named=True)
    )
    key = next(key for key in rows() if key[:2] == ("fig_confusion", "most frequent confusions"))
    yield measurement(key, words, note="a sentence beside the five largest shares: read both")


def _reasons(table: pl.DataFrame) -> dict[str, str]:
    budgets = ", ".join(str(each) for each in sorted(set(table["budget"].to_list())))
    absent = [name for learner, name in LEARNERS.items() if learner not in set(table["learner"])]
    parts = [f"this run's budgets are {budgets}"]
    if absent:
        parts.append(f"{' and '.join(absent)} need published weights (vit.checkpoints)")
    why = "; ".join(parts)
    return {
        "stat_eurosat": NO_TILES,
        "tab_eurosat": why,
        "fig_confusion": "needs the fine-tuned ViT at 1620 labels a class (vit.checkpoints)",
        "fig_mistakes": "needs the fine-tuned ViT at 1620 labels a class (vit.checkpoints)",
    }

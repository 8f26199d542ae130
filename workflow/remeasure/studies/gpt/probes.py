"""Is there a board inside? Linear probes on the residual stream, against an untrained control.

At the dot behind every move number, where White is to move, a linear map from the state of one
layer guesses what stands on each of the 64 squares (Alain and Bengio 2016; Li et al. 2023).
Most squares are empty, so accuracy on occupied squares is what tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.reference import Key
from remeasure.model import Model
from remeasure.nn.device import device_of
from remeasure.nn.models.gpt2 import GPT2
from remeasure.stats.bootstrap import percentile_interval
from remeasure.stats.cluster_bootstrap import Clusters, cluster_sums, resampled_sums
from remeasure.store.frames import read_frame, read_json, write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.boards import boards_before_white, classes
from remeasure.studies.gpt.chess_model import fresh, read
from remeasure.studies.gpt.chess_text import ALPHABET, encode, moves_of
from remeasure.studies.gpt.games import GAMES
from remeasure.studies.gpt.karvonen import karvonen_model, read_checkpoint
from remeasure.studies.gpt.published import (
    KARVONEN,
    NEEDS_KARVONEN,
    OTHER_FILE,
    OURS,
    answer,
    keys,
    measurement,
)
from remeasure.studies.gpt.settings import Device, ModelSettings, ProbeSettings
from remeasure.studies.gpt.typed import frame_of

Boards = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

UNTRAINED: Final = "untrained"
_DOT: Final = ALPHABET.index(".")
_CLASSES: Final = article.CLASSES_A_SQUARE
#: Games whose states are computed at once.
_TOGETHER: Final = 16
#: Moves by which an initial position is put off in the drawing.
_LATER: Final = 6
#: Added to standard deviations.
_EPS: Final = 1e-5
#: Rise or fall of accuracy over the last layers that counts as one.
_STEP: Final = 0.005

ACCURACY = declare(
    "accuracy of probes",
    {
        "model": dy.String(),
        "layer": dy.Int64(min=0),
        "measure": dy.String(),
        "value": dy.Float64(min=0, max=1),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "best": dy.Bool(),
    },
)

MEASURES: Final = ("all squares", "occupied squares", "whole board right")

_SIZES = (
    ("stat_probe_sizes", "positions to train each probe", "deterministic given the data file"),
    ("stat_probe_sizes", "positions to test it", "deterministic given the data file"),
)
ASKED: tuple[Key, ...] = (
    *_SIZES,
    *keys("tab_probe_best"),
    *keys("fig_probe_accuracy", "accuracy on occupied squares at the best layer"),
    *keys("fig_probe_accuracy", "shape"),
    *keys("fig_probe_boards"),
)


class ProbesStep(Model):
    """Settings of `measure_probes`.

    Attributes
    ----------
    model, seed
        Sizes and seed of the fresh weights that training began with: the control.
    probes
        Games, and how probes learn.
    longest
        Characters of a game that are read, for every model.
    device, threads
        Where networks run.
    resamples
        Of the bootstrap over games.
    """

    model: ModelSettings
    seed: int
    probes: ProbeSettings
    longest: int
    device: Device
    threads: int
    resamples: int


@dataclass(frozen=True)
class Asked:
    """Positions that are asked about.

    Attributes
    ----------
    ids
        Characters of each game, as long as they are read.
    dots
        Places of dots in each game.
    boards
        What stands on each square at each dot, in the order of games and dots:
        shape ``(positions, 64)``.
    game
        Number of the game of each position, shape ``(positions,)``.
    """

    ids: list[npt.NDArray[np.uint8]]
    dots: list[npt.NDArray[np.int64]]
    boards: Boards
    game: npt.NDArray[np.int64]


def asked(texts: Sequence[str], longest: int) -> Asked:
    """The positions of some games: one a dot within the first ``longest`` characters.

    The first dot of every game is the initial position.

    Raises
    ------
    DataError
        When a game cannot be replayed.
    """
    ids, dots, boards, game = [], [], list[Boards](), list[int]()
    for number, text in enumerate(texts):
        letters = encode(text[:longest])
        places = np.flatnonzero(letters == _DOT)
        try:
            found = [
                classes(board)
                for board, _ in zip(boards_before_white(moves_of(text)), places, strict=False)
            ]
        except ValueError as error:
            raise DataError(
                f"a game cannot be replayed: {error}",
                where=f"test game {number}",
                remedy="give games of standard chess from the initial position",
            ) from error
        ids.append(letters)
        dots.append(places[: len(found)])
        boards += found
        game += [number] * len(found)
    return Asked(ids, dots, np.stack(boards), np.asarray(game, dtype=np.int64))


@torch.inference_mode()
def states(model: GPT2, positions: Asked, device: torch.device) -> Tensor:
    """States at the dots, shape ``(layers + 1, positions, width)``, float32.

    Games are padded on the right, where a causal model cannot see it.
    """
    order = range(0, len(positions.ids), _TOGETHER)
    parts = []
    for first in order:
        group = positions.ids[first : first + _TOGETHER]
        padded = np.zeros((len(group), max(map(len, group))), dtype=np.int64)
        for row, letters in enumerate(group):
            padded[row, : letters.size] = letters
        stream = torch.stack(model.states(torch.from_numpy(padded).to(device)))
        parts += [
            stream[:, row, torch.from_numpy(places).to(device)]
            for row, places in enumerate(positions.dots[first : first + _TOGETHER])
        ]
    return torch.cat(parts, dim=1)


def fitted(
    features: Tensor, boards: Tensor, settings: ProbeSettings
) -> tuple[nn.Linear, Tensor, Tensor]:
    """A linear probe of one layer, and the mean and spread that it standardises with.

    Parameters
    ----------
    features
        Shape ``(positions, width)``.
    boards
        Classes, shape ``(positions, 64)``, int64.

    Draws from torch's global generator: the initial map, then a permutation an epoch.
    """
    mean, spread = features.mean(0), features.std(0) + _EPS
    x = (features - mean) / spread
    probe = nn.Linear(x.shape[1], article.SQUARES * _CLASSES).to(x.device)
    optimizer = torch.optim.AdamW(
        probe.parameters(), lr=settings.rate, weight_decay=settings.decay, fused=True
    )
    for _ in range(settings.epochs):
        for rows in torch.split(torch.randperm(x.shape[0]), settings.batch):
            scores = probe(x[rows]).view(-1, _CLASSES)
            loss = F.cross_entropy(scores, boards[rows].flatten())
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return probe, mean, spread


@torch.inference_mode()
def guesses(probe: nn.Linear, mean: Tensor, spread: Tensor, features: Tensor) -> Boards:
    """The likeliest class of each square, shape ``(positions, 64)``."""
    scores = probe((features - mean) / spread).view(-1, article.SQUARES, _CLASSES)
    return np.asarray(scores.argmax(-1).cpu().numpy().astype(np.uint8))


def counted(found: Boards, truth: Boards) -> Floats:
    """What the three accuracies are made of, by position: shape ``(positions, 3, 2)``.

    Right and all of: squares, occupied squares, boards.
    """
    right, occupied = found == truth, truth > 0
    pairs = (
        (right.sum(1), np.full(len(truth), truth.shape[1])),
        ((right & occupied).sum(1), occupied.sum(1)),
        (right.all(1), np.ones(len(truth))),
    )
    return np.stack([np.stack(pair, axis=-1) for pair in pairs], axis=1).astype(np.float64)


def measure_probes(
    *,
    games: Path,
    summary: Path,
    weights: Path,
    training_facts: Path,
    karvonen: list[Path],
    accuracy: Path,
    shown: Path,
    settings: ProbesStep,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Step: fit a probe a layer for each model, and test it on other games.

    Parameters
    ----------
    games, summary, weights, training_facts
        Inputs, as the steps before write them.
    karvonen
        Input, JSON: the manifest of Karvonen's checkpoint, or nothing.
    accuracy
        Output, Parquet: see `ACCURACY`.
    shown
        Output, JSON: one test board, what the best probes see there, sizes, and how far the
        trained model's best layer stands above the control's.

    Raises
    ------
    DataError
        When there are too few test games.
    """
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    options = settings.probes
    texts = read_frame(games, GAMES).filter("test")["text"].to_list()
    wanted = options.training_games + options.test_games
    if len(texts) < wanted:
        raise DataError(
            f"{len(texts)} test games are fewer than the {wanted} that probes ask about",
            where="gpt.probes, gpt.split.held_out",
            remedy="hold out more games, or ask fewer",
        )
    known = asked(texts[: options.training_games], settings.longest)
    fresh_games = asked(texts[options.training_games : wanted], settings.longest)
    torch.manual_seed(options.seed)
    models = {UNTRAINED: fresh(settings.model, settings.seed), "ours": read(weights)}
    if karvonen:
        models[KARVONEN] = karvonen_model(read_checkpoint(karvonen[0]))
    seen = {
        name: _probed(model.to(device), known, fresh_games, options, device)
        for name, model in models.items()
    }
    right = {
        name: [counted(each, fresh_games.boards) for each in own] for name, own in seen.items()
    }
    table, gap = scored(right, fresh_games.game, settings.resamples, rng)
    write_frame(table, accuracy, ACCURACY)
    best = {
        name: int(table.filter(pl.col("best"), pl.col("model") == name)["layer"][0])
        for name in models
    }
    place = drawn_position(fresh_games.boards)
    drawn_layer = {name: best.get(KARVONEN, best[name]) for name in models}
    facts = {
        "training": len(known.boards),
        "test": len(fresh_games.boards),
        "initial": int((fresh_games.boards == fresh_games.boards[0]).all(1).sum()),
        "position": place,
        "truth": fresh_games.boards[place].tolist(),
        "layers": drawn_layer,
        "seen": {name: own[drawn_layer[name]][place].tolist() for name, own in seen.items()},
        "gap": gap,
        "coverage": read_json(training_facts)["coverage"],
    }
    write_json(facts, shown)
    of_games = read_json(summary)["coverage"]
    return _all_answers(table, facts, of_games)


def drawn_position(boards: Boards) -> int:
    """The position that is drawn: the middle one, as published.

    Where that is a game's initial position, which every probe knows, the one some moves later.
    """
    middle = len(boards) // 2
    if np.array_equal(boards[middle], boards[0]):
        middle = min(middle + _LATER, len(boards) - 1)
    return middle


def _probed(
    model: GPT2,
    known: Asked,
    fresh_games: Asked,
    options: ProbeSettings,
    device: torch.device,
) -> list[Boards]:
    """What the probe of each layer sees on the test positions."""
    boards = torch.from_numpy(known.boards.astype(np.int64)).to(device)
    inside, test = states(model, known, device), states(model, fresh_games, device)
    # Tensors made in inference mode cannot be learned from; a copy can.
    return [
        guesses(*fitted(inside[layer].clone(), boards, options), test[layer])
        for layer in range(inside.shape[0])
    ]


def scored(
    right: Mapping[str, Sequence[Floats]],
    game: npt.NDArray[np.int64],
    resamples: int,
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, dict[str, float]]:
    """Accuracies by model and layer with intervals over games: `ACCURACY`, and the gap.

    The gap is occupied squares at our best layer less those at the control's best layer; both
    are resampled together.
    """
    clusters = Clusters.of(game)
    labels = [(name, layer) for name, own in right.items() for layer in range(len(own))]
    every = np.stack([right[name][layer] for name, layer in labels], axis=1)
    sums = cluster_sums(every, clusters)  # (games, labels, 3, 2)
    total = sums.sum(0)
    value = total[..., 0] / total[..., 1]
    draws = resampled_sums(sums, resamples, rng)
    shares = draws[..., 0] / draws[..., 1]
    low, high = percentile_interval(shares)
    best = {}
    for name in right:
        own = [place for place, label in enumerate(labels) if label[0] == name]
        best[name] = max(own, key=lambda place: (value[place, 1], -place))
    lines = [
        (
            name,
            layer,
            measure,
            float(value[place, number]),
            float(low[place, number]),
            float(high[place, number]),
            best[name] == place,
        )
        for place, (name, layer) in enumerate(labels)
        for number, measure in enumerate(MEASURES)
    ]
    ours, control = best["ours"], best[UNTRAINED]
    ends = percentile_interval(shares[:, ours, 1] - shares[:, control, 1])
    gap = {
        "value": float(value[ours, 1] - value[control, 1]),
        "low": float(ends[0]),
        "high": float(ends[1]),
    }
    return frame_of(lines, ACCURACY), gap


# --- answers --------------------------------------------------------------------------------


def shape(values: Sequence[float]) -> str:
    """What the article says of a curve over layers, where it is true of this one.

    >>> shape([0.49, 0.50, 0.51]), shape([0.5, 0.6, 0.7])
    ('about half at every layer', 'still rising at the last layer')
    >>> shape([0.5, 0.6, 0.9, 0.95, 0.94, 0.93])
    'peak at layer 3, a little lower at layers 4 and 5'
    """
    peak = int(np.argmax(values))
    last = len(values) - 1
    if max(abs(each - 0.5) for each in values) < 0.05:
        return "about half at every layer"
    if peak == last and values[-1] > values[-2] + _STEP:
        return "still rising at the last layer"
    if last - peak == 2 and values[-1] > values[peak] - 0.1:
        return f"peak at layer {peak}, a little lower at layers {peak + 1} and {last}"
    return f"peak at layer {peak} of {last}"


def _all_answers(table: pl.DataFrame, facts: dict[str, Any], games: str) -> list[Measurement]:
    names = {UNTRAINED: UNTRAINED, "ours": OURS, KARVONEN: KARVONEN}
    own = facts["coverage"] if facts["coverage"] != WHOLE else games
    covered = {UNTRAINED: own, "ours": own, KARVONEN: games}
    measured = {
        (each.output_id, each.quantity, each.condition): each
        for each in (
            *_sizes(facts, games),
            *(
                each
                for name in table["model"].unique(maintain_order=True)
                for each in _of_model(table, name, names[name], covered[name])
            ),
            *(_boards(facts, own, games) if KARVONEN in facts["seen"] else ()),
        )
    }
    answers: list[Measurement] = []
    for key in ASKED:
        reason = OTHER_FILE if "ours" in key[2] or "index" in key[1] else NEEDS_KARVONEN
        answers += answer([measured[key]] if key in measured else [], [key], reason)
    return answers


def _sizes(facts: dict[str, Any], games: str) -> Iterator[Measurement]:
    for key, name in zip(_SIZES, ("training", "test"), strict=True):
        yield measurement(key, facts[name], coverage=games)


def _of_model(table: pl.DataFrame, model: str, name: str, covered: str) -> Iterator[Measurement]:
    own = table.filter(pl.col("model") == model)
    best = own.filter("best")
    layer = int(best["layer"][0])
    yield measurement(("tab_probe_best", "best layer", name), layer, coverage=covered)
    figure = "fig_probe_accuracy"
    for row in best.iter_rows(named=True):
        ends = {"low": row["low"], "high": row["high"], "coverage": covered}
        yield measurement(("tab_probe_best", row["measure"], name), row["value"], **ends)
        if row["measure"] == "occupied squares":
            quantity = "accuracy on occupied squares at the best layer"
            for key in keys(figure, quantity):
                if key[2].startswith(name):
                    note = f"the best layer is {layer}"
                    yield measurement(key, row["value"], **ends, note=note)
    curve = own.filter(pl.col("measure") == "occupied squares").sort("layer")["value"].to_list()
    condition = {OURS: "ours", KARVONEN: "Karvonen's"}.get(name, name)
    yield measurement((figure, "shape", condition), shape(curve), coverage=covered)


def _boards(facts: dict[str, Any], own: str, games: str) -> Iterator[Measurement]:
    """The drawn position: what each probe has wrong there."""
    output = "fig_probe_boards"
    truth = np.asarray(facts["truth"])
    seen = {name: np.asarray(each) for name, each in facts["seen"].items()}
    for key in keys(output):
        if key[1] == "index of the position":
            yield measurement(key, facts["position"], coverage=games)
        elif key[1] == "layer":
            yield measurement(key, facts["layers"][KARVONEN], coverage=games)
        elif key[1] == "wrong pieces":
            yield measurement(key, int((seen[KARVONEN] != truth).sum()), coverage=games)
        else:
            ghost = np.flatnonzero(np.isin(seen["ours"], (1, 7)) & (seen["ours"] != truth))
            missed = np.flatnonzero(np.isin(truth, (1, 7)) & (seen["ours"] != truth))
            named = ("; ".join(_square(each[0]) for each in (ghost, missed) if each.size)) or "none"
            value = min(ghost.size, missed.size) if key[1] == "misplaced pawns" else named
            yield measurement(key, value, coverage=own)


def _square(place: int) -> str:
    """A square's name."""
    return f"{'abcdefgh'[int(place) % 8]}{int(place) // 8 + 1}"

"""What needs no data: parameters, caches, activations, and the settings of the publication."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator
from pathlib import Path

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import erf

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.article import Sizes
from remeasure.studies.gpt.published import (
    NEEDS_FAMILY,
    answer,
    keys,
    measurement,
    printed,
    rows,
)
from remeasure.studies.gpt.typed import frame_of

Floats = npt.NDArray[np.float64]

#: The constant of the cubic term in the tanh form of the GELU (Hendrycks and Gimpel 2016).
CUBIC = 0.044715
#: Where the two forms are compared: from -6 to 6.
POINTS, EDGE = 10_001, 6.0

FAMILY = declare(
    "the GPT family",
    {
        "model": dy.String(),
        "layers": dy.Int64(),
        "width": dy.Int64(),
        "heads": dy.Int64(),
        "context": dy.Int64(),
        "vocabulary": dy.Int64(),
        "formula": dy.Int64(),
        "masks": dy.Int64(),
        "gap": dy.Int64(),
        "embeddings": dy.Int64(),
        "blocks": dy.Int64(),
        "share": dy.Float64(),
        "stored": dy.Int64(nullable=True),
    },
)


def embeddings(sizes: Sizes) -> int:
    """Numbers of the token and position embeddings, ``(V + C) d``."""
    return (sizes.vocabulary + sizes.context) * sizes.width


def blocks(sizes: Sizes, *, biases: bool = True) -> int:
    """Numbers of all blocks: ``L (12 d² + 13 d)``, without biases ``L (12 d² + 2 d)``."""
    d = sizes.width
    return sizes.layers * (12 * d * d + (13 if biases else 2) * d)


def parameters(sizes: Sizes, *, biases: bool = True, final_norm: bool = True) -> int:
    """Learned numbers of a GPT whose output is tied: embeddings, blocks and the last norm."""
    norm = (2 if biases else 1) * sizes.width if final_norm else 0
    return embeddings(sizes) + blocks(sizes, biases=biases) + norm


def masks(sizes: Sizes) -> int:
    """Numbers of the causal masks that old checkpoints store, one a layer: ``L C²``."""
    return sizes.layers * sizes.context**2


def stored_formula(name: str) -> int:
    """Numbers that a checkpoint of the family stores: all learned ones, and its masks."""
    sizes = article.FAMILY[name]
    return parameters(sizes, final_norm=name != "openai-gpt") + masks(sizes)


def gelu_tanh(x: Floats) -> Floats:
    """The tanh form of the GELU."""
    inner = np.sqrt(2 / np.pi) * (x + CUBIC * x**3)
    return np.asarray(0.5 * x * (1 + np.tanh(inner)))


def gelu(x: Floats) -> Floats:
    """``x Φ(x)``, with the normal distribution function Φ."""
    return np.asarray(0.5 * x * (1 + erf(x / np.sqrt(2))))


def gelu_gap() -> tuple[float, float]:
    """The largest difference between both forms, and the distance from 0 at which it lies."""
    x = np.linspace(-EDGE, EDGE, POINTS)
    gap = np.abs(gelu_tanh(x) - gelu(x))
    place = int(gap.argmax())
    return float(gap[place]), float(abs(x[place]))


def cache_bytes(layers: int, width: int) -> int:
    """Bytes a token of a cache of keys and values in 16 bits: ``2 · L · d · 2``."""
    return 2 * layers * width * 2


def family(stored: dict[str, int]) -> pl.DataFrame:
    """`FAMILY`: sizes, the formula, and numbers stored where they are known."""
    lines = []
    for name, sizes in article.FAMILY.items():
        formula = parameters(sizes)
        whole = embeddings(sizes) + blocks(sizes)
        lines.append(
            {
                "model": name,
                **sizes._asdict(),
                "formula": formula,
                "masks": masks(sizes),
                "gap": stored_formula(name) - formula,
                "embeddings": embeddings(sizes),
                "blocks": blocks(sizes),
                "share": embeddings(sizes) / whole,
                "stored": stored.get(name),
            }
        )
    return frame_of([tuple(line.values()) for line in lines], FAMILY)


def measure_closed_forms(
    *, checkpoints: list[Path], family_table: Path, summary: Path
) -> list[Measurement]:
    """Step: parameters, caches, activations, settings.

    Parameters
    ----------
    checkpoints
        Inputs, JSON: the manifest of five configurations, or nothing.
    family_table
        Output, Parquet: see `FAMILY`.
    summary
        Output, JSON: the gap of the GELU and the bytes of caches.
    """
    found = read_family(Manifest.read(checkpoints[0])) if checkpoints else {}
    table = family({name: sizes["stored"] for name, sizes in found.items()})
    gap, place = gelu_gap()
    caches = {name: cache_bytes(*sizes) for name, sizes in article.CACHES.items()}
    write_frame(table, family_table, FAMILY)
    write_json({"gelu_gap": gap, "at": place, "cache_bytes": caches}, summary)
    measured = [
        *_formula(table),
        *_family(found),
        *_gelu(gap, place),
        *_caches(caches),
        *_settings(),
        *_chess(),
    ]
    own = "describes the article's own machine"
    asked = [*(each_key(each) for each in measured), *_MACHINE]
    later = [key for key in _stored_keys() if key not in asked]
    return [*answer(measured, asked, own), *answer([], later, NEEDS_FAMILY)]


#: Rows on the article's own machine.
_MACHINE: tuple[Key, ...] = (
    ("stat_setup", "GPU", "article"),
    ("stat_setup", "whole notebook on a T4", "article"),
)


def each_key(each: Measurement) -> Key:
    """The row that a measurement answers."""
    return (each.output_id, each.quantity, each.condition)


# --- the family -----------------------------------------------------------------------------


def _stored_keys() -> list[Key]:
    return [*keys("tab_gpt_family"), *keys("tab_param_formula", "numbers stored")]


def read_family(manifest: Manifest) -> dict[str, dict[str, int]]:
    """Sizes and numbers stored, by name, from configurations and the hub's pages.

    Raises
    ------
    DataError
        When a file is not of the known form.
    """
    found: dict[str, dict[str, int]] = {}
    for entry in manifest.files:
        name = next(
            (
                each
                for each in sorted(article.FAMILY, key=len)
                if f"/{each}/" in f"/{entry.path.partition('%Q')[0].partition('%H')[0]}/"
            ),
            "",
        )
        try:
            body = json.loads(manifest.read_verified(entry))
            sizes = found.setdefault(name, {})
            if entry.path.endswith("config.json"):
                sizes |= {
                    "layers": int(body["n_layer"]),
                    "width": int(body["n_embd"]),
                    "heads": int(body["n_head"]),
                    "context": int(body["n_positions"]),
                    "vocabulary": int(body["vocab_size"]),
                }
            else:
                sizes["stored"] = int(sum(body["safetensors"]["parameters"].values()))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"this is no configuration of a GPT and no page of the hub: {error!r}",
                where=manifest.file(entry),
                remedy="fetch it again; the interface of the hub may have changed",
            ) from error
    return found


def _family(found: dict[str, dict[str, int]]) -> Iterator[Measurement]:
    for key in _stored_keys() if found else ():
        sizes = found[key[2].partition(";")[0]]
        name = "stored" if key[1] == "numbers stored" else key[1]
        yield measurement(key, sizes[name])


def _formula(table: pl.DataFrame) -> Iterator[Measurement]:
    output = "tab_param_formula"
    for row in table.iter_rows(named=True):
        name = row["model"]
        yield measurement((output, "by the formula", name), row["formula"])
        note = "a checkpoint stores every learned number and one mask a layer"
        yield measurement((output, "gap", name), row["gap"], note=note)
        yield measurement((output, "one mask per layer", name), row["masks"])
    for row in table.filter(pl.col("model") != "openai-gpt").iter_rows(named=True):
        name, figure = row["model"], "fig_param_share"
        label = f"embeddings {100 * row['share']:.0f}%"
        yield measurement((figure, "embeddings", name), row["embeddings"] / 1e6)
        yield measurement((figure, "layers", name), row["blocks"] / 1e6)
        yield measurement((figure, "share of embeddings (computed)", name), row["share"])
        yield measurement((figure, "label (computed)", name), label)
    first, second = article.FAMILY["openai-gpt"], article.FAMILY["gpt2"]
    without = parameters(first, final_norm=False)
    missing = masks(first) - (without + masks(first) - parameters(first))
    yield measurement((output, "GPT-1 gap short of its masks", "2d"), missing)
    yield measurement((output, "GPT-1 parameters without a final norm (computed)", ""), without)
    more = (output, "gpt2 minus GPT-1 (computed; prose: seven million)", "")
    yield measurement(more, parameters(second) - without)
    saved = second.vocabulary * second.width
    yield measurement(("stat_weight_tying", "parameters saved", "50,257*768"), saved)
    yield measurement(("stat_weight_tying", "printed", ""), saved / 1e6)


# --- activations, caches --------------------------------------------------------------------


def _gelu(gap: float, place: float) -> Iterator[Measurement]:
    output, points = "stat_gelu_gap", "10,001 points from -6 to 6"
    yield measurement((output, "largest gap, tanh GELU against exact", f"{points}, printed"), gap)
    yield measurement((output, "largest gap in float64 (computed)", points), gap)
    yield measurement((output, "x of the largest gap (computed)", "absolute value"), place)
    bound = printed(output, "upper bound stated", "everywhere")
    yield measurement(
        (output, "upper bound stated", "everywhere"),
        bound if gap < bound else gap,
        note=f"the largest gap is {gap:.3g}",
    )
    yield measurement((output, "constant in tanh GELU", ""), CUBIC)


def _caches(caches: dict[str, int]) -> Iterator[Measurement]:
    output = "stat_kv_bytes"
    for name, size in caches.items():
        yield measurement((output, "bytes per token, 16 bits", name), size)
        yield measurement((output, "printed KB per token", name), size / 2**10)
        whole = size * article.CACHED_TOKENS / 2**30
        yield measurement((output, "printed GB for 2,048 tokens", name), whole)


# --- settings -------------------------------------------------------------------------------


def _settings() -> Iterator[Measurement]:
    """Rows that name a setting: those of `article`, at which ``config/public.yaml`` runs."""
    note = "a setting of the full scale, as config/public.yaml has it"
    a = article
    version = importlib.metadata.version("chess")
    yield measurement(("stat_setup", "python-chess version", ""), version, note="as installed")
    named: dict[Key, float | int] = {
        ("stat_setup", "seed", "python, numpy, torch"): a.SEED,
        ("stat_gpt2_parity", "tolerance asserted", ""): a.TOLERANCE,
        ("stat_kv_timing", "steps", "setting"): a.TIMED_STEPS,
        ("stat_games_kept", "minimum rating of both players", "setting"): a.MINIMUM_RATING,
        ("stat_games_kept", "minimum spaces per game", "setting"): a.MINIMUM_SPACES,
        ("stat_split", "held-out games", "setting"): a.HELD_OUT,
        ("stat_split", "context", "setting"): a.CHESS.context,
        ("stat_position_example", "positions tested", "setting"): a.POSITIONS,
        ("stat_position_example", "largest half-move index, exclusive", "setting"): a.LARGEST,
        ("stat_position_example", "longest prompt", "setting, 512-10"): a.CHESS.context - a.ROOM,
        ("stat_chess_params", "layers", "setting"): a.CHESS.layers,
        ("stat_chess_params", "width", "setting"): a.CHESS.width,
        ("stat_chess_params", "heads", "setting"): a.CHESS.heads,
        ("stat_chess_params", "context", "setting"): a.CHESS.context,
        ("stat_chess_params", "vocabulary", "setting"): a.CHESS.vocabulary,
        ("tab_training_log", "steps", "setting"): a.STEPS,
        ("tab_training_log", "batch", "setting"): a.BATCH,
        ("tab_training_log", "peak learning rate", "setting"): a.RATE,
        ("tab_training_log", "warm-up steps", "setting"): a.WARM_UP,
        ("tab_training_log", "beta 1", "setting"): a.BETAS[0],
        ("tab_training_log", "beta 2", "setting"): a.BETAS[1],
        ("tab_training_log", "weight decay on matrices", "setting"): a.DECAY,
        ("tab_training_log", "gradient clip", "setting"): a.CLIP,
        ("tab_training_log", "test every", "setting"): a.TEST_EVERY,
        ("tab_training_log", "positions in the quick test", "setting"): a.MONITORED,
        ("tab_training_log", "seed of the windows", "setting"): a.SEED,
        ("tab_games_vs_random", "games per model", "setting"): a.GAMES,
        ("tab_games_vs_random", "most half-moves", "setting"): a.HALF_MOVES,
        ("tab_games_vs_random", "tries per move", "setting"): a.TRIES,
        ("stat_probe_sizes", "games for training the probe", "setting"): a.PROBE_TRAINING_GAMES,
        ("stat_probe_sizes", "games for testing the probe", "setting"): a.PROBE_TEST_GAMES,
        ("fig_probe_accuracy", "classes per square", "setting"): a.CLASSES_A_SQUARE,
        ("fig_probe_accuracy", "squares", "setting"): a.SQUARES,
        ("fig_probe_accuracy", "epochs", "setting"): a.PROBE_EPOCHS,
        ("fig_probe_accuracy", "batch", "setting"): a.PROBE_BATCH,
        ("fig_probe_accuracy", "learning rate", "setting"): a.PROBE_RATE,
        ("fig_probe_accuracy", "weight decay", "setting"): a.PROBE_DECAY,
        ("fig_probe_accuracy", "layers", "0 to 8"): a.CHESS.layers + 1,
    }
    for key, value in named.items():
        yield measurement(key, value, note=note)


def _chess() -> Iterator[Measurement]:
    chess = article.CHESS
    learned = parameters(chess)
    yield measurement(("stat_chess_params", "parameters, exact (computed)", "closed form"), learned)
    yield measurement(("stat_chess_params", "parameters, printed", ""), learned / 1e6)
    seen = article.STEPS * article.BATCH * chess.context
    yield measurement(("tab_training_log", "characters drawn, exact", "3400*64*512"), seen)
    loaded = "stat_karvonen_load"
    yield measurement((loaded, "ours", "3400*64*512, printed"), seen / 1e6)
    biases = chess.layers * 6 + 1
    yield measurement((loaded, "biases of ours set to zero", "8*6+1"), biases)
    his = chess._replace(context=article.KARVONEN_CONTEXT)
    at = "context 1,023"
    own = "parameters in our class incl. zero biases (computed)"
    yield measurement((loaded, own, at), parameters(his))
    yield measurement(
        (loaded, "parameters without biases (computed)", at), parameters(his, biases=False)
    )
    games = sum(int(rows()[key].published) for key in keys("tab_time_control", "games"))
    yield measurement(
        ("tab_time_control", "sum", "all time controls"), games, note="of the printed counts"
    )
    labels = rows()[keys("fig_alphago_probs")[0]].published
    yield measurement(
        ("stat_alphago_loss", "probabilities shown", "tokens minus 1"),
        len(labels.split(" | ")),
        note="labels of the printed figure, each a token with one before it",
    )

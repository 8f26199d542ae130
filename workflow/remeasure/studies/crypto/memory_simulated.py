"""A stand-in for language models whose memory is known: it tests the protocol, and nothing else.

It answers the same questions in the same table as a network would. Of months up to a cutoff it
remembers the direction of some, and prices with an error of known size; later it knows nothing
and refuses, says zero or repeats one price, as the publication's models do. What the protocol
must find is thereby planted: memory before the cutoff, chance after it.

Nothing that it answers says anything about any language model. Its rows have the origin
``generated`` even where the prices that it remembers are real.
"""

from __future__ import annotations

import hashlib
from datetime import date
from pathlib import Path
from typing import Final, Literal

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import ndtr

from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.store.frames import write_json
from remeasure.studies.crypto.memory_models import LanguageModel, SimulatedSettings
from remeasure.studies.crypto.memory_questions import MONTH_NAMES, questions, written
from remeasure.studies.crypto.memory_table import write_answers
from remeasure.studies.crypto.memory_truth import daily_closes, with_truth

Style = Literal["refusal", "zero", "constant"]

#: What a stand-in says of dates after its cutoff, by the model whose place it takes; the
#: publication tells of refusals, of zeros, and of a constant guess.
AFTERWARDS: Final[dict[str, Style]] = {
    "Mistral 7B v0.3": "refusal",
    "Qwen2.5 7B": "constant",
    "OLMo 2 7B": "refusal",
    "Phi-4-mini": "constant",
    "Qwen3 8B": "zero",
    "Olmo 3 7B": "refusal",
    "Qwen3.5 9B": "zero",
}
#: The end of its knowledge that a stand-in claims when it refuses, whatever it knows.
CLAIMED: Final = {"Olmo 3 7B": date(2023, 6, 1)}

#: Ways to write a remembered price, so that its reading is tested, too.
SHAPES: Final = ("{0:.2f}", "${0:,.2f}", "**${0:,.2f}**", "On {1}, it closed at {0:,.2f} USD.")

#: Mass on both words together, lowest and highest.
MASS: Final = (0.6, 0.98)


class SimulatedStep(Model):
    """What the simulated answerer is told: window of the questions, models, its memory."""

    first: date
    last: date
    models: tuple[LanguageModel, ...]
    simulated: SimulatedSettings


def cutoff(model: LanguageModel, simulated: SimulatedSettings) -> date:
    """First day of the last month of which a stand-in knows."""
    month = np.datetime64(model.release, "M") - simulated.cutoff_months
    day: date = month.astype("datetime64[D]").item()
    return day


def afterwards(model: LanguageModel) -> Style:
    """How a stand-in answers after its cutoff."""
    return AFTERWARDS.get(model.label, "constant")


def median_error(price_noise: float) -> float:
    """Median of ``|exp(s eps) - 1|``, eps standard normal: the planted error of a known price.

    It solves ``Phi(ln(1 + x)/s) - Phi(ln(1 - x)/s) = 1/2``.

    >>> round(median_error(0.06), 4)
    0.0405
    """

    def excess(x: float) -> float:
        ends = ndtr(np.log1p([x, -x]) / price_noise)
        return float(ends[0] - ends[1]) - 0.5

    return float(brentq(excess, 1e-12, 1 - 1e-12, xtol=1e-14))


def answer(model: LanguageModel, asked: pl.DataFrame, simulated: SimulatedSettings) -> pl.DataFrame:
    """The answers of one stand-in.

    Parameters
    ----------
    model
        In whose place it stands.
    asked
        Questions with their truth, see `memory_truth.with_truth`; those without are left out.
    simulated
        What it knows, and how well.

    Returns
    -------
    frame as ``memory_table.ANSWERS``.
    """
    label, known = pl.lit(model.label).alias("model"), cutoff(model, simulated)
    prices = asked.filter(pl.col("kind") == "price", pl.col("end").is_not_null())
    parts = [prices.select(label, "kind", "first", "last", text=_texts(model, prices, simulated))]
    for kind in ("month", "week"):
        own = asked.filter(pl.col("kind") == kind, pl.col("up").is_not_null())
        rng = _stream(simulated.seed, model.label, kind)
        up = 2.0 * own["up"].to_numpy() - 1.0
        knows = own["last"].dt.truncate("1mo").to_numpy() <= np.datetime64(known)
        remembers = knows & (rng.random(own.height) < simulated.remembered)
        noise = simulated.noise * rng.standard_normal(own.height)
        p = np.clip(0.5 + simulated.strength * up * remembers + noise, 0.0, 1.0)
        mass = rng.uniform(*MASS, own.height)
        parts.append(
            own.select("kind", "first", "last").select(
                label,
                pl.all(),
                mass_up=pl.Series(mass * p, dtype=pl.Float64),
                mass_down=pl.Series(mass * (1 - p), dtype=pl.Float64),
            )
        )
    return pl.concat(parts, how="diagonal")


def simulate_answers(
    *,
    candles: list[Path],
    manifest: Path,
    answers: list[Path],
    truth: Path,
    settings: SimulatedStep,
) -> None:
    """Step: answer every question that the candles decide, one file a model.

    Parameters
    ----------
    candles
        DuckDB file with daily candles, see `memory_truth.daily_closes`.
    manifest
        Output, JSON: no raw files, but the origin of these answers, which is ``generated``
        whatever the candles are.
    answers
        Outputs, Parquet as ``memory_table.ANSWERS``, one for each of ``settings.models``.
    truth
        Output, JSON, by label: ``cutoff`` (last month known, ``YYYY-MM``), ``afterwards``
        (what it says later) and ``median_error`` (of the prices it knows, a fraction).
    """
    asked = questions(str(settings.first), str(settings.last))
    decided = with_truth(asked, daily_closes(candles))
    for model, path in zip(settings.models, answers, strict=True):
        write_answers(answer(model, decided, settings.simulated), path)
    write_json(
        {
            model.label: {
                "cutoff": str(cutoff(model, settings.simulated))[:7],
                "afterwards": afterwards(model),
                "median_error": median_error(settings.simulated.price_noise),
            }
            for model in settings.models
        },
        truth,
    )
    Manifest.of("crypto_memory", "generated", ".", []).write(manifest)


def _texts(model: LanguageModel, prices: pl.DataFrame, simulated: SimulatedSettings) -> pl.Series:
    """Raw answers to questions about prices."""
    rng = _stream(simulated.seed, model.label, "price")
    guess = prices["end"].to_numpy() * np.exp(
        simulated.price_noise * rng.standard_normal(prices.height)
    )
    shape = rng.integers(0, len(SHAPES), prices.height)
    day = prices["first"]
    knows = day.dt.truncate("1mo").to_numpy() <= np.datetime64(cutoff(model, simulated))
    last_known = float(guess[knows][-1]) if knows.any() else 100.0
    ignorant = _ignorance(model, last_known)
    return pl.Series(
        [
            SHAPES[form].format(value, written(each)) if known else ignorant
            for form, value, each, known in zip(shape, guess, day, knows, strict=True)
        ],
        dtype=pl.String,
    )


def _ignorance(model: LanguageModel, constant: float) -> str:
    style = afterwards(model)
    if style == "zero":
        return "0"
    if style == "constant":
        return f"${constant:,.2f}"
    claimed = CLAIMED.get(model.label)
    since = (
        f"As of my knowledge cutoff in {MONTH_NAMES[claimed.month - 1]} {claimed.year}, "
        if (claimed)
        else ""
    )
    return f"{since}I cannot provide the price of Bitcoin on that date."


def _stream(seed: int, *names: str) -> np.random.Generator:
    """A stream of its own for every model and kind: adding one never moves another."""
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    words = np.frombuffer(digest, dtype=">u4").astype(np.int64).tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words])))

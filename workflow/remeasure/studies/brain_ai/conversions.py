"""Energy, operations and data of brains and models, each computed from quoted numbers."""

from __future__ import annotations

import dataframely as dy
import polars as pl

from remeasure.ledger.reference import Key
from remeasure.store.schema import declare
from remeasure.studies.brain_ai.facts import number

#: Hours of a year, seconds of an hour, years over which a brain grows up.
HOURS, SECONDS, YEARS = 365.25 * 24, 3600, 20

#: The accelerator that the brain is compared with, an H100 of the SXM form: watts, and operations
#: a second at its peak (dense BF16; with sparsity twice as many). NVIDIA's data sheet.
CHIP_WATTS, CHIP_OPERATIONS = 700.0, 989.4e12

CONVERSIONS = declare(
    "conversions",
    {
        "output_id": dy.String(),
        "quantity": dy.String(),
        "condition": dy.String(),
        "value": dy.Float64(min_exclusive=0),
    },
    unique=["output_id", "quantity", "condition"],
)


def rounded_to(value: float, digits: int) -> float:
    """A number at so many significant digits.

    >>> rounded_to(21588.0, 3), rounded_to(21.588, 2)
    (21600.0, 22.0)
    """
    return float(f"{value:.{digits - 1}e}")


def conversions(table: pl.DataFrame) -> dict[Key, float]:
    """Every derived number of the essay but the model and the maps, by the key of its row."""
    return {**energy(table), **operations(table), **data(table), **ratios(table)}


def energy(table: pl.DataFrame) -> dict[Key, float]:
    """What brains and models use, and how long a brain runs on what an answer costs."""
    watts = number(table, "fig_energy", "glucose power of a brain", "usual figure")
    grown = watts * YEARS * HOURS / 1e6
    minute = watts / 60
    llama = number(table, "fig_energy", "training Llama 3.1 405B", "Meta") * 1e6 * CHIP_WATTS / 1e6
    gpt3 = number(table, "fig_energy", "training GPT-3")
    grok = number(table, "fig_energy", "training Grok 4", "as printed")
    gemini = number(table, "fig_energy", "median Gemini prompt")
    query = number(table, "fig_energy", "typical GPT-4o query")
    brain, short = "brain over 20 years at 20 W", "brain in one minute"
    trained = "20-year brains in one training (derived)"
    return {
        ("fig_energy", brain, "as printed"): grown,
        ("fig_energy", f"{brain} (derived)", "365.25 days a year"): grown,
        ("fig_energy", f"{short} at 20 W", "as printed"): minute,
        ("fig_energy", f"{short} (derived)", "20/60"): minute,
        (
            "fig_energy",
            "training Llama 3.1 405B, GPUs alone",
            "as printed in the chart",
        ): llama,
        ("fig_energy", "training Llama 3.1 405B (derived)", "30.84e6 h x 700 W"): llama,
        ("fig_energy", "training Llama 3.1 405B", "as printed in the text"): llama / 1000,
        (
            "stat_energy",
            "brain time with the energy of a median Gemini prompt",
            "as printed",
        ): gemini * SECONDS / watts,
        ("stat_energy", "brain time of a Gemini prompt (derived)", "0.24 Wh at 20 W"): (
            gemini * SECONDS / watts
        ),
        ("stat_energy", "brain time of a GPT-4o query (derived)", "0.3 Wh at 20 W"): (
            query * SECONDS / watts
        ),
        ("stat_energy", trained, "GPT-3, 3.5064 MWh each"): gpt3 / grown,
        ("stat_energy", trained, "Llama 3.1 405B, 3.5064 MWh each"): llama / grown,
        ("stat_energy", trained, "Grok 4, 3.5064 MWh each"): grok / grown,
    }


def operations(table: pl.DataFrame) -> dict[Key, float]:
    """Operations per joule, and how much better the brain does."""
    watts = number(table, "fig_energy", "glucose power of a brain", "usual figure")
    own = CHIP_OPERATIONS / CHIP_WATTS
    brain = {
        level: number(table, "stat_ops", "operations to match a brain", f"Carlsmith 2020, {level}")
        / watts
        for level in ("central", "low", "high")
    }
    better = "advantage of the brain (derived)"
    return {
        ("stat_ops", "brain operations per joule", "1e15/20 W"): brain["central"],
        ("stat_ops", "H100 operations per joule", "as printed, peak"): own,
        ("stat_ops", "H100 operations per joule (derived)", "989.4e12/700 W, dense BF16"): own,
        ("stat_ops", better, "central"): brain["central"] / own,
        ("stat_ops", better, "low: about three times worse"): brain["low"] / own,
        ("stat_ops", better, "high: a few thousand times"): brain["high"] / own,
    }


def data(table: pl.DataFrame) -> dict[Key, float]:
    """Tokens of a model over words of a child."""
    tokens = number(table, "fig_data", "Llama 3.1 training") * 1e12
    few, many = (
        number(table, "stat_data", f"words a child hears before adolescence, {each}") * 1e6
        for each in ("low", "high")
    )
    ratio = "ratio of Llama 3.1 tokens to words of a child (derived)"
    return {
        ("stat_data", ratio, "10 million words"): tokens / few,
        ("stat_data", ratio, "100 million words"): tokens / many,
    }


def ratios(table: pl.DataFrame) -> dict[Key, float]:
    """Three more quotients of quoted numbers."""
    raw = number(table, "stat_method", "best raw correlation with single voxels")
    ceiling = number(table, "stat_method", "noise ceiling in the same study")
    before, after = (
        number(table, "stat_robots", f"success on unseen objects {each}")
        for each in ("before", "after")
    )
    return {
        ("stat_method", "ratio of correlation to ceiling (derived)", "0.05/0.06"): raw / ceiling,
        ("stat_reconstruction", "chance among 300 (derived)", "1/300"): 100 / 300,
        ("stat_robots", "ratio of success (derived)", "62/32"): after / before,
    }

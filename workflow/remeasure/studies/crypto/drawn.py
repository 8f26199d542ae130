"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/crypto/`` that it is given.
Input = tuple[str, str]

#: Steps of ``figures.py`` by the output that they draw, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_tails": (("tails", "tails.parquet"), ("histogram", "tails_histogram.parquet")),
    "fig_acf": (("acf", "acf.parquet"), ("hour_of_day", "hour_of_day.parquet")),
    "fig_walk_forward": (("identities", "calendar.json"),),
    "fig_reversal": (("reversal", "reversal.parquet"),),
    "fig_breakeven": (("breakeven", "breakeven.parquet"), ("moves", "moves.parquet")),
    "fig_growth": (("curves", "growth.parquet"), ("fees", "fees.parquet")),
    "fig_fees": (("fees", "fees.parquet"),),
    "fig_volatility": (("days", "volatility_days.parquet"), ("scores", "volatility.parquet")),
    "fig_targeting": (("curves", "targeting_days.parquet"), ("targeting", "targeting.parquet")),
    "fig_overfitting": (("grid", "grid.parquet"), ("summary", "grid.json")),
    "fig_noise": (
        ("noise", "noise.parquet"),
        ("curve", "noise_curve.parquet"),
        ("summary", "noise.json"),
    ),
    "fig_funding": (("periods", "funding.parquet"),),
    "fig_depth": (("costs", "depth.parquet"),),
    "fig_arena": (("paths", "arena_paths.parquet"), ("bands", "arena_bands.parquet")),
    "fig_foundation": (
        ("rates", "foundation_rates.parquet"),
        ("scores", "foundation_r2.parquet"),
    ),
    "fig_memory_answers": (
        ("prices", "memory_prices.parquet"),
        ("years", "memory_price_years.parquet"),
    ),
    "fig_memory_direction": (("shares", "memory_shares.parquet"),),
    "fig_memory_strategy": (("curves", "memory_curves.parquet"),),
    "fig_agent": (),
    "fig_crash_chain": (),
}

#: Module of the step, where it is not ``figures`` or ``tables``.
MODULES = {
    "fig_volatility": "chart_volatility",
    "fig_targeting": "chart_volatility",
    "fig_overfitting": "chart_selection",
    "fig_noise": "chart_selection",
    "fig_funding": "chart_costs",
    "fig_depth": "chart_costs",
    "fig_arena": "chart_arena",
    "fig_foundation": "chart_foundation",
    "fig_memory_answers": "chart_memory",
    "fig_memory_direction": "chart_memory",
    "fig_memory_strategy": "chart_memory",
    "fig_agent": "chart_drawings",
    "fig_crash_chain": "chart_drawings",
    "tab_variants": "table_variants",
    "tab_cited": "table_cited",
    "tab_headline": "table_headline",
}

#: Steps of ``tables.py``, likewise; each writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_headline": (
        ("breakeven", "breakeven.parquet"),
        ("noise", "noise.parquet"),
        ("scores", "direction.parquet"),
        ("shares", "memory_shares.parquet"),
    ),
    "tab_direction": (("scores", "direction.parquet"),),
    "tab_variants": (
        ("volatility", "volatility.parquet"),
        ("targeting", "targeting.parquet"),
        ("crash", "crash.parquet"),
        ("grid", "grid.json"),
    ),
    "tab_cited": (),
}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables" if output in TABLES else "figures")

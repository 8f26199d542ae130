"""What the study draws, and from which results: the lists that the rules read.

Figures are drawn by few steps, for starting Python costs more than drawing one of them.
Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/brain_ai/`` that it is given.
Input = tuple[str, str]

_FACTS: Input = ("table", "facts.parquet")
_BRAIN: tuple[Input, ...] = (("points", "surfaces.parquet"), ("triangles", "triangles.parquet"))

#: Steps that draw figures: what each reads, and its figures in reading order.
SHEETS: dict[str, tuple[tuple[Input, ...], tuple[str, ...]]] = {
    "figures:draw_figures": (
        (_FACTS, ("errors_table", "errors.parquet"), ("derived", "conversions.parquet")),
        (
            "fig_drive",
            "fig_encoding",
            "fig_vision",
            "fig_memory",
            "fig_dopamine",
            "fig_physics",
            "fig_energy",
            "fig_data",
        ),
    ),
    "figures:draw_brains": (
        (
            _FACTS,
            *_BRAIN,
            ("regions", "regions.parquet"),
            ("plane", "slice.parquet"),
            ("maps_table", "maps.parquet"),
        ),
        ("fig_ventral", "fig_space", "fig_modules"),
    ),
}

#: The figure that needs the language atlas, drawn only where the configuration has one.
LANGUAGE: dict[str, tuple[tuple[Input, ...], tuple[str, ...]]] = {
    "figures:draw_language": (
        (*_BRAIN, ("atlas", "atlas.parquet"), ("whole", "atlas_whole.parquet")),
        ("fig_language",),
    ),
}

#: Tables, all written by one step.
TABLES = ("tab_modules", "tab_conversions", "tab_cited")


def sheets(atlas: str) -> dict[str, tuple[tuple[Input, ...], tuple[str, ...]]]:
    """Steps that draw, where the atlas comes from ``atlas``."""
    return {**SHEETS, **(LANGUAGE if atlas != "none" else {})}

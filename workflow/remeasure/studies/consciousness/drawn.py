"""What the study draws, and from which results: the lists that the rules read.

Figures are drawn by few steps, for starting Python costs more than drawing one of them.
Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/consciousness/`` that it is given.
Input = tuple[str, str]

_ESSAY: tuple[Input, ...] = (("table", "facts.parquet"), ("grids", "squares.parquet"))
_BRAIN: tuple[Input, ...] = (
    ("table", "facts.parquet"),
    ("points", "surface.parquet"),
    ("triangles", "triangles.parquet"),
    ("regions", "regions.parquet"),
)

#: Steps that draw figures: what each reads, and its figures in reading order.
SHEETS: dict[str, tuple[tuple[Input, ...], tuple[str, ...]]] = {
    "figures:draw_figures": (
        _ESSAY,
        (
            "fig_problems",
            "fig_survey",
            "fig_mary",
            "fig_zombie",
            "fig_fading",
            "fig_positions",
            "fig_cogitate",
            "fig_patients",
        ),
    ),
    "figures:draw_brains": (_BRAIN, ("fig_theories",)),
}

#: All figures.
FIGURES = tuple(figure for _, figures in SHEETS.values() for figure in figures)

#: Tables, all written by one step.
TABLES = ("tab_intervals", "tab_cited")

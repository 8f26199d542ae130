"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/game_theory/`` that it is given.
Input = tuple[str, str]

#: Figures by output, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_dilemma": (("game", "dilemma.json"),),
    "fig_shadow": (("curves", "shadow.parquet"), ("game", "dilemma.json")),
    "fig_tournament": (("table", "tournament.parquet"),),
    "fig_echo": (("table", "echo.parquet"),),
    "fig_forgiveness": (("table", "forgiveness.parquet"),),
    "fig_cycles": (("paths", "cycles_paths.parquet"), ("averages", "cycles.parquet")),
    "fig_reputation": (("table", "reputation.parquet"),),
    "fig_stag": (("curves", "stag.parquet"), ("points", "stag.json")),
}

#: Tables likewise; each step writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_tournament_lengths": (("lengths", "tournament_lengths.parquet"),),
    "tab_tournament_pairs": (
        ("pairs", "tournament_pairs.parquet"),
        ("standings", "tournament.parquet"),
    ),
    "tab_cycles_settings": (("tried", "cycles_tried.parquet"),),
    "stat_cited": (),
}

#: Module of the step, where it is not ``tables``.
MODULES = {
    "fig_dilemma": "chart_grids",
    "fig_echo": "chart_grids",
    "fig_reputation": "chart_grids",
    "fig_shadow": "chart_curves",
    "fig_forgiveness": "chart_curves",
    "fig_stag": "chart_curves",
    "fig_tournament": "chart_tournament",
    "fig_cycles": "chart_cycles",
}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables")

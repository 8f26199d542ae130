"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the drawing function, and its file below ``results/<run>/game_theory/``.
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

#: Tables likewise; each function writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_tournament_lengths": (("lengths", "tournament_lengths.parquet"),),
    "tab_tournament_pairs": (
        ("pairs", "tournament_pairs.parquet"),
        ("standings", "tournament.parquet"),
    ),
    "tab_cycles_settings": (("tried", "cycles_tried.parquet"),),
    "stat_cited": (),
}

#: All files that figures and tables are drawn from, sorted.
RESULTS = tuple(
    sorted({file for inputs in (*FIGURES.values(), *TABLES.values()) for _, file in inputs})
)

"""The step that draws the whole study: starting Python costs more than one of its figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remeasure.draw.several import run_each
from remeasure.studies.game_theory import chart_curves, chart_cycles, chart_grids, chart_tournament
from remeasure.studies.game_theory import tables as tables_module
from remeasure.studies.game_theory.drawn import FIGURES, TABLES

#: Functions by output.
STEPS: dict[str, Callable[..., None]] = {
    "fig_dilemma": chart_grids.fig_dilemma,
    "fig_shadow": chart_curves.fig_shadow,
    "fig_tournament": chart_tournament.fig_tournament,
    "fig_echo": chart_grids.fig_echo,
    "fig_forgiveness": chart_curves.fig_forgiveness,
    "fig_cycles": chart_cycles.fig_cycles,
    "fig_reputation": chart_grids.fig_reputation,
    "fig_stag": chart_curves.fig_stag,
    "tab_tournament_lengths": tables_module.tab_tournament_lengths,
    "tab_tournament_pairs": tables_module.tab_tournament_pairs,
    "tab_cycles_settings": tables_module.tab_cycles_settings,
    "stat_cited": tables_module.stat_cited,
}


def draw_all(
    *,
    results: list[Path],
    light_svg: list[Path],
    light_png: list[Path],
    dark_svg: list[Path],
    dark_png: list[Path],
    csv: list[Path],
    alt: list[Path],
    tables: list[Path],
    origin: str,
) -> None:
    """Step: every figure and table, in the order of ``drawn``.

    Parameters
    ----------
    results
        Files that ``drawn`` names, in any order.
    light_svg, light_png, dark_svg, dark_png, csv, alt, tables, origin
        Outputs, one a figure or table, and the origin of the results, as in
        ``draw.save.save_figure``.
    """
    figures = {
        "light_svg": light_svg,
        "light_png": light_png,
        "dark_svg": dark_svg,
        "dark_png": dark_png,
        "csv": csv,
        "alt": alt,
    }
    run_each(STEPS, FIGURES, results, figures, origin)
    run_each(STEPS, TABLES, results, {"table": tables}, origin)

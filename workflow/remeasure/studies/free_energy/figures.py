"""The step that draws the whole study: starting Python costs more than one of its figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from remeasure.draw.several import run_each
from remeasure.studies.free_energy import chart_curves, chart_drawings
from remeasure.studies.free_energy import tables as tables_module
from remeasure.studies.free_energy.drawn import FIGURES, TABLES

#: Functions by output.
STEPS: dict[str, Callable[..., None]] = {
    "fig_decompose": chart_drawings.fig_decompose,
    "fig_bound": chart_curves.fig_bound,
    "fig_bogacz": chart_curves.fig_bogacz,
    "fig_hierarchy": chart_drawings.fig_hierarchy,
    "fig_efe": chart_curves.fig_efe,
    "fig_blanket": chart_drawings.fig_blanket,
    "fig_evidence": chart_drawings.fig_evidence,
    "tab_cited": tables_module.tab_cited,
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

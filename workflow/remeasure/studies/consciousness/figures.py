"""Steps that draw the study's figures: few, for starting Python costs more than one figure."""

from __future__ import annotations

from pathlib import Path

from remeasure.draw.several import save_charts
from remeasure.store.frames import read_frame
from remeasure.studies.consciousness import chart_brains, chart_drawings, chart_facts
from remeasure.studies.consciousness.drawn import SHEETS


def draw_figures(
    *,
    table: Path,
    grids: Path,
    light_svg: list[Path],
    light_png: list[Path],
    dark_svg: list[Path],
    dark_png: list[Path],
    csv: list[Path],
    alt: list[Path],
    origin: str,
) -> None:
    """Step: every figure but the brains, in the order of `drawn.SHEETS`.

    Parameters
    ----------
    table, grids
        Parquet, as ``essay.FACTS`` and ``essay.SQUARES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs, one a figure, and the origin of the results, as in ``draw.save.save_figure``.
    """
    facts = read_frame(table)
    charts = {
        "fig_problems": chart_drawings.problems(),
        "fig_survey": chart_facts.survey_chart(facts),
        "fig_mary": chart_drawings.mary(),
        "fig_zombie": chart_drawings.zombie(facts),
        "fig_fading": chart_drawings.fading(),
        "fig_positions": chart_drawings.positions(),
        "fig_cogitate": chart_facts.cogitate(facts),
        "fig_patients": chart_facts.patients(read_frame(grids)),
    }
    save_charts(
        charts,
        SHEETS["figures:draw_figures"][1],
        light_svg=light_svg,
        light_png=light_png,
        dark_svg=dark_svg,
        dark_png=dark_png,
        csv=csv,
        alt=alt,
        origin=origin,
    )


def draw_brains(
    *,
    table: Path,
    points: Path,
    triangles: Path,
    regions: Path,
    light_svg: list[Path],
    light_png: list[Path],
    dark_svg: list[Path],
    dark_png: list[Path],
    csv: list[Path],
    alt: list[Path],
    origin: str,
) -> None:
    """Step: the figure with brains.

    Parameters
    ----------
    table
        Parquet, as ``essay.FACTS``.
    points, triangles, regions
        Parquet, as ``store.fsaverage`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs, one a figure, and the origin of the results, as in ``draw.save.save_figure``.
    """
    frames = (read_frame(each) for each in (table, points, triangles, regions))
    save_charts(
        {"fig_theories": chart_brains.theories(*frames)},
        SHEETS["figures:draw_brains"][1],
        light_svg=light_svg,
        light_png=light_png,
        dark_svg=dark_svg,
        dark_png=dark_png,
        csv=csv,
        alt=alt,
        origin=origin,
    )

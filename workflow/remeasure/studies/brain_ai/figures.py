"""Steps that draw the study's figures: few, for starting Python costs more than one figure."""

from __future__ import annotations

from pathlib import Path

from remeasure.draw.several import save_charts
from remeasure.model import Model
from remeasure.store.frames import read_frame
from remeasure.studies.brain_ai import chart_bars, chart_brains, chart_drawings
from remeasure.studies.brain_ai.drawn import LANGUAGE, SHEETS


class LanguageStep(Model):
    """Settings of `draw_language`: the least share that is coloured."""

    threshold: float


def draw_figures(
    *,
    table: Path,
    errors_table: Path,
    derived: Path,
    light_svg: list[Path],
    light_png: list[Path],
    dark_svg: list[Path],
    dark_png: list[Path],
    csv: list[Path],
    alt: list[Path],
    origin: str,
) -> None:
    """Step: every figure without a brain, in the order of `drawn.SHEETS`.

    Parameters
    ----------
    table, errors_table, derived
        Parquet, as ``facts.FACTS``, ``essay.ERRORS`` and ``conversions.CONVERSIONS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs, one a figure, and the origin of the results, as in ``draw.save.save_figure``.
    """
    facts = read_frame(table)
    charts = {
        "fig_drive": chart_bars.drive(facts),
        "fig_encoding": chart_drawings.encoding(),
        "fig_vision": chart_drawings.vision(facts),
        "fig_memory": chart_drawings.memory(facts),
        "fig_dopamine": chart_drawings.dopamine(read_frame(errors_table)),
        "fig_physics": chart_bars.physics(facts),
        "fig_energy": chart_bars.energy(facts, read_frame(derived)),
        "fig_data": chart_bars.data(facts),
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
    plane: Path,
    maps_table: Path,
    light_svg: list[Path],
    light_png: list[Path],
    dark_svg: list[Path],
    dark_png: list[Path],
    csv: list[Path],
    alt: list[Path],
    origin: str,
) -> None:
    """Step: the figures with brains, in the order of `drawn.SHEETS`.

    Parameters
    ----------
    table, maps_table
        Parquet, as ``facts.FACTS`` and ``essay.MAPS``.
    points, triangles, regions, plane
        Parquet, as ``surfaces.read_surfaces`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs, one a figure, and the origin of the results, as in ``draw.save.save_figure``.
    """
    where, faces, weights = (read_frame(each) for each in (points, triangles, regions))
    charts = {
        "fig_ventral": chart_brains.ventral(where, faces, weights),
        "fig_space": chart_brains.space(read_frame(plane), read_frame(maps_table)),
        "fig_modules": chart_brains.modules(read_frame(table), where, faces, weights),
    }
    save_charts(
        charts,
        SHEETS["figures:draw_brains"][1],
        light_svg=light_svg,
        light_png=light_png,
        dark_svg=dark_svg,
        dark_png=dark_png,
        csv=csv,
        alt=alt,
        origin=origin,
    )


def draw_language(
    *,
    points: Path,
    triangles: Path,
    atlas: Path,
    whole: Path,
    light_svg: list[Path],
    light_png: list[Path],
    dark_svg: list[Path],
    dark_png: list[Path],
    csv: list[Path],
    alt: list[Path],
    settings: LanguageStep,
    origin: str,
) -> None:
    """Step: the language atlas on both hemispheres.

    Parameters
    ----------
    points, triangles
        Parquet, as ``surfaces.read_surfaces`` writes them.
    atlas, whole
        Parquet, as ``atlas.ATLAS`` and ``atlas.WHOLE``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs, one a figure, and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_brains.language(
        read_frame(points),
        read_frame(triangles),
        read_frame(atlas),
        read_frame(whole),
        settings.threshold,
    )
    save_charts(
        {"fig_language": chart},
        LANGUAGE["figures:draw_language"][1],
        light_svg=light_svg,
        light_png=light_png,
        dark_svg=dark_svg,
        dark_png=dark_png,
        csv=csv,
        alt=alt,
        origin=origin,
    )

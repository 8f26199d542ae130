"""Where four theories place consciousness: one hemisphere, four times."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart
from remeasure.draw.style import SMALL, Theme
from remeasure.draw.surface import Floats, Mesh, draw_surface
from remeasure.studies.consciousness.content import REGIONS


def mesh(points: pl.DataFrame, triangles: pl.DataFrame) -> Mesh:
    """The surface that a frame holds."""
    return Mesh(
        points.select("x", "y", "z").to_numpy(),
        triangles.select("a", "b", "c").to_numpy(),
        points["depth"].to_numpy(),
    )


def theories(
    table: pl.DataFrame, points: pl.DataFrame, triangles: pl.DataFrame, weights: pl.DataFrame
) -> Chart:
    """One view a theory, its regions coloured."""
    quoted = dict(table.filter(output_id="fig_theories").select("condition", "value").iter_rows())
    amounts = {}
    for region in REGIONS:
        own = weights.filter(region=region.name)
        amount = np.zeros(points.height)
        amount[own["point"].to_numpy()] = own["weight"].to_numpy()
        amounts[region.group] = amount
    said = [f"{theory}: {words}" for theory, words in quoted.items()]
    balls = [
        (region.group, quoted[region.group], ball.x, ball.y, ball.z, ball.radius)
        for region in REGIONS
        for ball in region.balls
    ]
    names = ["theory", "region", "x_mm", "y_mm", "z_mm", "radius_mm"]
    return Chart(
        draw=partial(_draw, surface=mesh(points, triangles), amounts=amounts, quoted=quoted),
        data=pl.DataFrame(balls, schema=names, orient="row"),
        alt_text=(
            f"{len(amounts)} views of the left hemisphere from the side, one a theory, with the"
            f" regions coloured that it names. {'; '.join(said)}. Regions are balls of our own"
            " choice on an average surface."
        ),
        size=(WIDTH, 4.9),
        coverage="for the brain's shape alone",
    )


def _draw(
    figure: Figure,
    theme: Theme,
    *,
    surface: Mesh,
    amounts: dict[str, Floats],
    quoted: dict[str, str],
) -> None:
    panels = figure.subplots(2, 2)
    for series, (ax, (theory, amount)) in enumerate(zip(panels.flat, amounts.items(), strict=True)):
        paint = [(theme.colour(series), amount)]
        draw_surface(ax, theme, surface, hemisphere="left", view="lateral", paint=paint)
        ax.set_title(theory.capitalize(), loc="center")
        words = quoted[theory].replace("posterior hot zone: ", "posterior hot zone:\n")
        ax.text(0.5, -0.02, words, transform=ax.transAxes, ha="center", va="top", fontsize=SMALL)

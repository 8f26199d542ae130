"""Brains: stages of the ventral stream, counterparts in models, place and grid, language."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from remeasure.draw.chart import WIDTH, Chart
from remeasure.draw.style import SMALL, Theme, label_axes
from remeasure.draw.surface import Floats, Mesh, View, draw_surface
from remeasure.store.fsaverage import Region
from remeasure.studies.brain_ai.content import HIPPOCAMPI, MODULES, SLICE, VENTRAL

#: Colour of a group of regions, by number of the series.
STAGES = {"early": 0, "middle": 2, "late": 1}
CLOSENESS = {"close": 2, "partial": 5, "none yet": 1}

#: What of the figure the package's data are; the regions are our own choice.
SHAPE = "for the brain's shape alone"


def mesh(points: pl.DataFrame, triangles: pl.DataFrame, hemisphere: str) -> Mesh:
    """The surface of one hemisphere."""
    own = points.filter(hemisphere=hemisphere)
    return Mesh(
        own.select("x", "y", "z").to_numpy(),
        triangles.filter(hemisphere=hemisphere).select("a", "b", "c").to_numpy(),
        own["depth"].to_numpy(),
    )


def amounts(weights: pl.DataFrame, regions: Sequence[Region], size: int) -> dict[str, Floats]:
    """How much each point belongs to each group of regions, ``(n,)`` by group."""
    found: dict[str, Floats] = {}
    for region in regions:
        own = weights.filter(region=region.name)
        amount = np.zeros(size)
        amount[own["point"].to_numpy()] = own["weight"].to_numpy()
        found[region.group] = np.maximum(found.get(region.group, 0.0), amount)
    return found


def ball_frame(regions: Sequence[Region]) -> pl.DataFrame:
    """The balls that regions are made of, one a row."""
    rows = [
        (region.group, region.name, ball.x, ball.y, ball.z, ball.radius)
        for region in regions
        for ball in region.balls
    ]
    names = ["group", "region", "x_mm", "y_mm", "z_mm", "radius_mm"]
    return pl.DataFrame(rows, schema=names, orient="row")


def ventral(points: pl.DataFrame, triangles: pl.DataFrame, weights: pl.DataFrame) -> Chart:
    """Three views, three shades."""
    surface = mesh(points, triangles, "left")
    found = amounts(weights, VENTRAL, len(surface.points))
    said = [f"{region.group}: {region.name}" for region in VENTRAL]
    return Chart(
        draw=partial(
            _draw_views,
            surface=surface,
            paints={STAGES[group]: amount for group, amount in found.items()},
            words={STAGES[region.group]: f"{region.group}: {region.name}" for region in VENTRAL},
            views=("lateral", "medial", "ventral"),
        ),
        data=ball_frame(VENTRAL),
        alt_text=(
            "The inflated left hemisphere from the side, from the middle and from below, with"
            f" {len(said)} stages of the ventral stream coloured. {'; '.join(said)}. Regions are"
            " our own choice on an average surface."
        ),
        size=(WIDTH, 2.5),
        coverage=SHAPE,
    )


def modules(
    table: pl.DataFrame, points: pl.DataFrame, triangles: pl.DataFrame, weights: pl.DataFrame
) -> Chart:
    """Two views, coloured by how close a model's counterpart comes."""
    judged = dict(table.filter(output_id="fig_modules").select("condition", "value").iter_rows())
    regions = [Region(each.name, judged[each.name], each.balls) for each in MODULES]
    surface = mesh(points, triangles, "left")
    found = amounts(weights, regions, len(surface.points))
    words = {
        group: ", ".join(name for name, own in judged.items() if own == group)
        for group in CLOSENESS
    }
    said = [f"{group}: {names}" for group, names in words.items()]
    return Chart(
        draw=partial(
            _draw_views,
            surface=surface,
            paints={CLOSENESS[group]: amount for group, amount in found.items()},
            words={CLOSENESS[group]: f"{group}: {names}" for group, names in words.items()},
            views=("lateral", "medial"),
        ),
        data=ball_frame(regions),
        alt_text=(
            "The inflated left hemisphere from the side and from the middle, coloured by how close"
            f" an AI counterpart comes in the essay's judgement, for {len(judged)} regions."
            f" {'; '.join(said)}."
        ),
        size=(WIDTH, 3.4),
        coverage=SHAPE,
    )


def space(plane: pl.DataFrame, maps: pl.DataFrame) -> Chart:
    """A slice with both hippocampi, and two firing maps."""
    side = float(maps["x"].max() or 0)  # type: ignore[arg-type]
    peaks = maps.select(pl.col("place", "grid").max()).row(0)
    lows = maps.select(pl.col("place", "grid").min()).row(0)
    return Chart(
        draw=partial(_draw_space, plane=plane, maps=maps, side=side),
        data=maps,
        alt_text=(
            f"Left: a coronal slice of an average brain at y = {_minus(SLICE)} mm with both"
            f" hippocampi marked. Middle and right: idealised firing maps of a place cell and a"
            f" grid cell over a box of {side:g} m: one field in the middle (peak"
            f" {peaks[0]:.2f}), and a triangular lattice of fields between {abs(lows[1]):.2f} and"
            f" {peaks[1]:.2f}."
        ),
        size=(WIDTH, 2.35),
        coverage="for the slice alone",
    )


def language(
    points: pl.DataFrame,
    triangles: pl.DataFrame,
    atlas: pl.DataFrame,
    whole: pl.DataFrame,
    threshold: float,
) -> Chart:
    """Both hemispheres, coloured by the share of people."""
    surfaces = {
        side: (
            mesh(points, triangles, side),
            atlas.filter(hemisphere=side)["probability"].to_numpy(),
        )
        for side in ("left", "right")
    }
    said = [
        f"{row['hemisphere']} hemisphere: highest {row['highest']:.2f}, mean {row['mean']:.3f}"
        for row in whole.iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_language, surfaces=surfaces, threshold=threshold),
        data=atlas.filter(pl.col("probability") >= threshold),
        alt_text=(
            "Both inflated hemispheres from the side, coloured by the share of people in whom a"
            f" point is among the most language-selective tenth, from {threshold:g} up."
            f" {'; '.join(said)}."
        ),
        size=(WIDTH, 2.5),
    )


def _minus(value: float) -> str:
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def _draw_views(
    figure: Figure,
    theme: Theme,
    *,
    surface: Mesh,
    paints: dict[int, Floats],
    words: dict[int, str],
    views: tuple[View, ...],
) -> None:
    rows = figure.subplot_mosaic(
        [list(views), ["key"] * len(views)], height_ratios=[3.2 - 0.45 * len(views), 1]
    )
    names = {"lateral": "from the side", "medial": "from the middle", "ventral": "from below"}
    for view in views:
        paint = [(theme.colour(series), amount) for series, amount in paints.items()]
        draw_surface(rows[view], theme, surface, hemisphere="left", view=view, paint=paint)
        rows[view].set_title(names[view], loc="center")
    key = rows["key"]
    key.set_axis_off()
    key.set_xlim(0, 10 * WIDTH)
    key.set_ylim(len(words) - 0.4, -0.6)
    for place, (series, text) in enumerate(words.items()):
        key.plot([1.0], [place], marker="s", markersize=9, color=theme.colour(series))
        key.text(2.6, place, text, va="center", fontsize=SMALL)


def _draw_space(
    figure: Figure, theme: Theme, *, plane: pl.DataFrame, maps: pl.DataFrame, side: float
) -> None:
    brain, *fields = figure.subplots(1, 3, width_ratios=[1.25, 1, 1])
    _slice(brain, theme, plane)
    heat = LinearSegmentedColormap.from_list(
        "firing", [theme.background, theme.colour(0), theme.text]
    )
    points = int(maps["x"].n_unique())
    for ax, name in zip(fields, ("place", "grid"), strict=True):
        image = maps[name].to_numpy().reshape(points, points)
        ax.imshow(image, origin="lower", extent=(0, side, 0, side), cmap=heat, vmin=0, vmax=1)
        ax.grid(visible=False)
        ax.set_title(f"{name} cell", loc="center")
        ax.set_xticks([0, side / 2, side])
        ax.set_yticks([0, side / 2, side])
        label_axes(ax, x="x", y="y", x_unit="m", y_unit="m")


def _slice(ax: Axes, theme: Theme, plane: pl.DataFrame) -> None:
    x, z = (plane[axis].unique().sort().to_numpy() for axis in ("x", "z"))
    image = plane.sort("z", "x")["value"].to_numpy().reshape(z.size, x.size)
    shade = LinearSegmentedColormap.from_list("brain", [theme.background, "#8a8f98", "#f2f2f2"])
    if theme.name == "light":
        shade = LinearSegmentedColormap.from_list("brain", ["#ffffff", "#5f656e", "#e9eaec"])
    ax.imshow(image, origin="lower", extent=(x[0], x[-1], z[0], z[-1]), cmap=shade, vmin=0, vmax=1)
    for across, up, width, height, tilt in HIPPOCAMPI:
        ax.add_patch(
            Ellipse(
                (across, up),
                width,
                height,
                angle=tilt,
                facecolor="none",
                edgecolor=theme.colour(1),
                linewidth=1.8,
            )
        )
    ax.set_xlim(-80, 80)
    ax.set_ylim(-70, 85)
    ax.set_axis_off()
    ax.set_title("hippocampi", loc="center")


def _draw_language(
    figure: Figure, theme: Theme, *, surfaces: dict[str, tuple[Mesh, Floats]], threshold: float
) -> None:
    panels = figure.subplots(1, 2)
    top = max(float(values.max()) for _, values in surfaces.values())
    for ax, (side, (surface, values)) in zip(panels, surfaces.items(), strict=True):
        amount = np.where(values < threshold, 0.0, 0.25 + 0.75 * values / top)
        paint = [(theme.colour(3), np.minimum(amount, 1.0))]
        draw_surface(ax, theme, surface, hemisphere=side, view="lateral", paint=paint)
        ax.set_title(f"{side} hemisphere", loc="center")
    key = f"share of people: pale {threshold:g}, full {top:.2f}"
    figure.supxlabel(key, fontsize=SMALL, color=theme.text)

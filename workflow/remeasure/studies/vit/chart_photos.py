"""Photographs, resized and normalised, cut into patches."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from safetensors.numpy import load_file

from remeasure.draw.chart import WIDTH, Chart, listed, save_chart
from remeasure.draw.style import SMALL, Theme, label_axes, thousands
from remeasure.store.frames import read_json
from remeasure.studies.vit.images import Bytes, picture
from remeasure.studies.vit.picture import BINS, EYE, FIRST_PATCHES, PATCH, RANGE

COLOURS = ("red", "green", "blue")
#: Numbers of the series whose hue stands for each colour.
SERIES = (1, 2, 0)

Pictures = dict[str, Bytes]
Seen = list[dict[str, Any]]


def fig_photos(
    *,
    pictures: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The photographs in a row.

    Parameters
    ----------
    pictures, summary
        As ``photos.show_photos`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = photos(load_file(pictures), read_json(summary)["photos"])
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_normalise(
    *,
    pictures: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The first photograph as it is, resized, and the histogram of its values.

    Parameters
    ----------
    pictures, summary
        As ``photos.show_photos`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = normalise(load_file(pictures), read_json(summary)["photos"])
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_grid(
    *,
    pictures: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The grid on the first photograph, and its first two rows patch by patch.

    Parameters
    ----------
    pictures, summary
        As ``photos.show_photos`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = grid(load_file(pictures), read_json(summary)["photos"])
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_patch50(
    *,
    pictures: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """One patch and its numbers.

    Parameters
    ----------
    pictures, summary
        As ``photos.show_photos`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = patch(load_file(pictures), read_json(summary)["photos"])
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def photos(pictures: Pictures, seen: Seen) -> Chart:
    """All photographs with their sizes."""
    data = pl.DataFrame([{k: each[k] for k in ("name", "width", "height")} for each in seen])
    told = listed(f"{each['name']} ({each['width']} by {each['height']} pixels)" for each in seen)
    # Rows of the height that the tallest photograph has at an equal share of the width.
    share = WIDTH / len(seen)
    tall = max(pictures[each["name"]].shape[0] / pictures[each["name"]].shape[1] for each in seen)
    return Chart(
        draw=partial(_photos, pictures=pictures, seen=seen),
        data=data,
        alt_text=f"{len(seen)} photographs: {told}.",
        size=(WIDTH, share * tall + 0.75),
    )


def _photos(figure: Figure, theme: Theme, *, pictures: Pictures, seen: Seen) -> None:
    for place, each in enumerate(seen, 1):
        ax = figure.add_subplot(1, len(seen), place)
        picture(ax, pictures[each["name"]])
        ax.set_title(each["name"])
        ax.text(
            0.0,
            -0.04,
            f"{each['width']} × {each['height']}",
            transform=ax.transAxes,
            va="top",
            fontsize=SMALL,
            color=theme.muted,
        )


def normalise(pictures: Pictures, seen: Seen) -> Chart:
    """The first photograph and how often each normalised value occurs."""
    first = seen[0]
    edges = np.linspace(*RANGE, BINS + 1)
    rows = [
        {"colour": colour, "from": float(low), "to": float(high), "pixels": count}
        for colour, counts in zip(COLOURS, first["counts"], strict=True)
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    side = first["shape"][1]
    return Chart(
        draw=partial(_normalise, pictures=pictures, first=first),
        data=pl.DataFrame(rows),
        alt_text=(
            f"The photograph {first['name']}, {first['width']} by {first['height']} pixels, resized"
            f" to {side} by {side}; a histogram of its values after normalising, {BINS} bins for"
            f" each colour, from {first['least']:.2f} to {first['most']:.2f}."
        ),
        size=(WIDTH, 2.5),
    )


def _normalise(figure: Figure, theme: Theme, *, pictures: Pictures, first: dict[str, Any]) -> None:
    axes = figure.subplots(1, 3, width_ratios=(1.25, 0.9, 1.5))
    picture(axes[0], pictures[first["name"]])
    axes[0].set_title("as it is")
    picture(axes[1], pictures[f"{first['name']}.resized"])
    axes[1].set_title(f"{first['shape'][1]} × {first['shape'][2]}")
    edges = np.linspace(*RANGE, BINS + 1)
    ax = axes[2]
    for colour, counts, series in zip(COLOURS, first["counts"], SERIES, strict=True):
        ax.stairs(counts, edges, color=theme.colour(series), linewidth=1.4, label=colour)
    label_axes(ax, x="normalised value", y="pixels")
    thousands(ax.yaxis)
    ax.legend(loc="upper center", handlelength=1.2)


def _patches(pixels: Bytes, size: int = PATCH) -> Bytes:
    """Shape ``(patches, size, size, 3)`` in reading order."""
    rows = pixels.shape[0] // size
    cut = pixels.reshape(rows, size, rows, size, 3)
    return cut.transpose(0, 2, 1, 3, 4).reshape(-1, size, size, 3)


def grid(pictures: Pictures, seen: Seen) -> Chart:
    """The grid, and patches of its first two rows in order."""
    first = seen[0]
    side = first["shape"][1] // PATCH
    drawn = len(FIRST_PATCHES)
    data = pl.DataFrame([{"patch": n, "row": n // side, "column": n % side} for n in FIRST_PATCHES])
    return Chart(
        draw=partial(_grid, pixels=pictures[f"{first['name']}.resized"], side=side),
        data=data,
        alt_text=(
            f"The photograph {first['name']} under a grid of {side} by {side} patches of {PATCH}"
            f" pixels, and its first {drawn} patches in reading order."
        ),
        size=(WIDTH, 3.0),
    )


def _grid(figure: Figure, theme: Theme, *, pixels: Bytes, side: int) -> None:
    halves = figure.subfigures(1, 2, width_ratios=(1, 1.15), squeeze=False)[0]
    ax = halves[0].add_subplot()
    picture(ax, pixels)
    for line in range(1, side):
        for draw in (ax.axhline, ax.axvline):
            draw(line * PATCH - 0.5, color="white", linewidth=0.5, alpha=0.7)
    rows = len(FIRST_PATCHES) // side
    for row in range(rows):
        frame = Rectangle(
            (-0.5, row * PATCH - 0.5), side * PATCH, PATCH, fill=False, linewidth=1.8,
            edgecolor=theme.colour(1),
        )  # fmt: skip
        ax.add_patch(frame)
    ax.set_title(f"{side} × {side} patches")
    across = side // 2
    axes = halves[1].subplots(len(FIRST_PATCHES) // across, across)
    for each, number, cell in zip(_patches(pixels), FIRST_PATCHES, axes.flat, strict=False):
        picture(cell, each)
        cell.text(
            0.5, -0.06, str(number), transform=cell.transAxes, ha="center", va="top", fontsize=SMALL
        )


def patch(pictures: Pictures, seen: Seen) -> Chart:
    """Where the patch lies, the patch, and its numbers in a row."""
    first = seen[0]
    side = first["shape"][1] // PATCH
    pixels = pictures[f"{first['name']}.resized"]
    numbers = _patches(pixels)[EYE].transpose(2, 0, 1).reshape(-1)
    row, column = divmod(EYE, side)
    data = pl.DataFrame(
        {
            "index": np.arange(numbers.size),
            "colour": np.repeat(COLOURS, PATCH**2),
            "value": numbers.astype(np.int64),
        }
    )
    return Chart(
        draw=partial(_patch, pixels=pixels, numbers=numbers, row=row, column=column),
        data=data,
        alt_text=(
            f"Patch {EYE} of the photograph {first['name']}, row {row} and column {column} of the"
            f" grid, and its {numbers.size} numbers in a row: {PATCH**2} red ones, then green from"
            f" {PATCH**2}, blue from {2 * PATCH**2}."
        ),
        size=(WIDTH, 3.1),
    )


def _patch(
    figure: Figure, theme: Theme, *, pixels: Bytes, numbers: Bytes, row: int, column: int
) -> None:
    axes = figure.subplot_mosaic([["where", "patch"], ["strip", "strip"]], height_ratios=(2.4, 1))
    picture(axes["where"], pixels)
    corner = (column * PATCH - 0.5, row * PATCH - 0.5)
    axes["where"].add_patch(
        Rectangle(corner, PATCH, PATCH, fill=False, linewidth=1.8, edgecolor=theme.colour(1))
    )
    axes["where"].set_title(f"row {row}, column {column}")
    picture(axes["patch"], _patches(pixels)[EYE])
    axes["patch"].set_title(f"patch {EYE}")
    strip = axes["strip"]
    strip.grid(visible=False)
    strip.imshow(numbers[None, :], aspect="auto", cmap="gray", vmin=0, vmax=255,
                 extent=(0, numbers.size, 0, 1), interpolation="nearest")  # fmt: skip
    marks = [0, PATCH**2, 2 * PATCH**2, 3 * PATCH**2]
    for mark in marks[1:3]:
        strip.axvline(mark, color=theme.colour(1), linewidth=1.6)
    for colour, mark, series in zip(COLOURS, marks, SERIES, strict=False):
        strip.text(mark + PATCH**2 / 2, 1.08, colour, ha="center", va="bottom", fontsize=SMALL,
                   color=theme.ink(series))  # fmt: skip
    strip.set_xticks(marks)
    strip.set_yticks([])
    label_axes(strip, x="number in the row", y=" ")
    strip.set_ylabel("value")

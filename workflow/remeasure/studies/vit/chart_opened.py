"""What was read off an opened model: sequence, answers, filters, places, distances, rollout."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray
from safetensors.numpy import load_file

from remeasure.draw.chart import WIDTH, Chart, legend_above, listed, save_chart
from remeasure.draw.style import SMALL, Theme, guide, label_axes
from remeasure.store.frames import read_json
from remeasure.studies.vit.images import cut, diverging, grey, heat, picture, rising
from remeasure.studies.vit.picture import COLOURS, SHOWN, SIMILAR

Tensors = dict[str, NDArray[Any]]
Told = dict[str, Any]

#: Columns of the grid of filters.
ACROSS = 7
#: Letters of a label in a narrow column.
LETTERS = 15


def fig_sequence(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What the first block reads.

    Parameters
    ----------
    opened, summary
        As ``opened.open_model`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = sequence(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_top5(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Images and their likeliest classes.

    Parameters
    ----------
    opened, summary
        As ``opened.open_model`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = top(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_filters(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Principal directions of the patch filters.

    Parameters
    ----------
    opened, summary
        As ``opened.open_model`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = filters(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_position_similarity(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Which places have similar vectors.

    Parameters
    ----------
    opened, summary
        As ``opened.open_model`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = similarity(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_attention_distance(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How far heads look.

    Parameters
    ----------
    opened, summary
        As ``opened.open_model`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = distance(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_rollout(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What the answer rests on.

    Parameters
    ----------
    opened, summary
        As ``opened.open_model`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = rollout(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_dino_attention(
    *,
    opened: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Where DINO's heads look.

    Parameters
    ----------
    opened, summary
        As ``opened.open_dino`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = dino(load_file(opened), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def sequence(opened: Tensors, told: Told) -> Chart:
    """Rows are tokens, columns the first numbers of their vectors."""
    values = opened["sequence"]
    length, drawn = values.shape
    data = pl.DataFrame(
        {
            "token": np.repeat(np.arange(length), drawn),
            "number": np.tile(np.arange(drawn), length),
            "value": values.reshape(-1).astype(np.float64),
        }
    )
    return Chart(
        draw=partial(_sequence, values=values),
        data=data,
        alt_text=(
            f"{told['model']}: the first {drawn} numbers of {length} vectors, the class token"
            f" first, then patches; values from {values.min():.2f} to {values.max():.2f}, colours"
            f" from minus {COLOURS:g} to {COLOURS:g}."
        ),
        size=(WIDTH, 3.6),
    )


def _sequence(figure: Figure, theme: Theme, *, values: NDArray[Any]) -> None:
    ax = figure.add_subplot()
    ax.grid(visible=False)
    shown = ax.imshow(
        values, aspect="auto", cmap=diverging(theme), vmin=-COLOURS, vmax=COLOURS,
        interpolation="nearest",
    )  # fmt: skip
    label_axes(ax, x="number in the vector", y="token (0: class)")
    figure.colorbar(shown, ax=ax, label="value", shrink=0.9, pad=0.02)


def top(opened: Tensors, told: Told) -> Chart:
    """Images above, bars of the likeliest classes below."""
    rows = [
        {"image": name, "place": place, "label": each["label"], "probability": each["probability"]}
        for name, best in zip(told["names"], told["top"], strict=True)
        for place, each in enumerate(best, 1)
    ]
    best = listed(
        f"{name} as {found[0]['label']} ({100 * found[0]['probability']:.0f}%)"
        for name, found in zip(told["names"], told["top"], strict=True)
    )
    return Chart(
        draw=partial(_top, images=opened["images"], told=told),
        data=pl.DataFrame(rows),
        alt_text=f"{told['model']}: the likeliest classes. It sees {best}.",
        size=(WIDTH, 3.9),
    )


def _top(figure: Figure, theme: Theme, *, images: NDArray[Any], told: Told) -> None:
    count = len(told["names"])
    axes = figure.subplots(
        2, count, height_ratios=(1, 1.9), squeeze=False, sharex="row", sharey="row"
    )
    for place, (name, found) in enumerate(zip(told["names"], told["top"], strict=True)):
        picture(axes[0, place], images[place])
        axes[0, place].set_title(cut(name, LETTERS), fontsize=SMALL)
        ax = axes[1, place]
        ax.grid(visible=False)
        shares = [100 * each["probability"] for each in found]
        level = np.arange(len(found), dtype=np.float64)
        ax.barh(level, shares, height=0.34, color=theme.colour(0))
        for at, each, share in zip(level, found, shares, strict=True):
            ax.text(0, at - 0.26, cut(each["label"], LETTERS), va="bottom", fontsize=SMALL)
            ax.text(
                min(share, 72) + 3,
                at,
                f"{share:.0f}" if share < 72 else "",
                va="center",
                fontsize=SMALL,
                color=theme.muted,
            )
        ax.set_xlim(0, 100)
        ax.set_ylim(len(found) - 0.6, -0.85)
        ax.set_yticks([])
        ax.set_xticks([0, 50, 100])
        ax.spines["left"].set_visible(False)
    axes[1, 0].set_ylabel("class")
    axes[1, count // 2].set_xlabel("probability (%)")


def filters(opened: Tensors, told: Told) -> Chart:
    """A grid of small pictures."""
    found = opened["directions"]
    count, _, height, width = found.shape
    places = _places(count, height, width)
    colours = {
        colour: found[:, channel].reshape(-1).astype(np.float64)
        for channel, colour in enumerate(("red", "green", "blue"))
    }
    data = pl.DataFrame(dict(zip(("direction", "row", "column"), places, strict=True)) | colours)
    return Chart(
        draw=partial(_filters, found=found),
        data=data,
        alt_text=(
            f"{told['model']}: the {len(found)} strongest principal directions of its patch filters"
            f" as pictures of {found.shape[2]} by {found.shape[3]} pixels, each scaled on its own."
        ),
        size=(WIDTH, 3.5),
    )


def _places(*shape: int) -> list[NDArray[np.int64]]:
    """Indices of every cell of a table of this shape, one array an axis, the last one fastest."""
    return [axis.reshape(-1) for axis in np.indices(shape)]


def _filters(figure: Figure, theme: Theme, *, found: NDArray[Any]) -> None:
    axes = figure.subplots(-(-len(found) // ACROSS), ACROSS, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, each in zip(axes.flat, found, strict=False):
        picture(ax, np.clip(each.transpose(1, 2, 0), 0, 1))


def similarity(opened: Tensors, told: Told) -> Chart:
    """A map of maps: every second row and column of places, each compared with all."""
    cosines = opened["similarity"]
    grid = cosines.shape[0]
    chosen = list(range(*SIMILAR.indices(grid)))
    rows = [
        {
            "row": r,
            "column": c,
            "other_row": i,
            "other_column": j,
            "cosine": float(cosines[r, c, i, j]),
        }
        for r in chosen
        for c in chosen
        for i in range(grid)
        for j in range(grid)
    ]
    return Chart(
        draw=partial(_similarity, cosines=cosines, chosen=chosen),
        data=pl.DataFrame(rows),
        alt_text=(
            f"{told['model']}: {len(chosen) ** 2} maps of {grid} by {grid} cosines between position"
            " vectors, each drawn at its own place."
        ),
        size=(WIDTH, 4.6),
    )


def _similarity(figure: Figure, theme: Theme, *, cosines: NDArray[Any], chosen: list[int]) -> None:
    axes = figure.subplots(len(chosen), len(chosen), squeeze=False)
    shown = None
    for across, r in zip(axes, chosen, strict=True):
        for ax, c in zip(across, chosen, strict=True):
            ax.set_axis_off()
            shown = ax.imshow(
                cosines[r, c], cmap=diverging(theme), vmin=-1, vmax=1, interpolation="nearest"
            )
    assert shown is not None  # noqa: S101
    figure.colorbar(shown, ax=axes, label="cosine", shrink=0.7, pad=0.02)


def distance(opened: Tensors, told: Told) -> Chart:
    """One dot a head."""
    far = opened["distance"].astype(np.float64)
    layers, heads = far.shape
    uniform = uniform_distance(told["grid"], told["patch"])
    data = pl.DataFrame(
        {
            "layer": np.repeat(np.arange(layers), heads),
            "head": np.tile(np.arange(heads), layers),
            "distance": far.reshape(-1),
        }
    )
    return Chart(
        draw=partial(_distance, far=far, uniform=uniform),
        data=data,
        alt_text=(
            f"{told['model']}: mean attention distance of {far.size} heads. In the first block"
            f" {far[0].min():.1f} to {far[0].max():.1f} pixels, in the last {far[-1].min():.1f} to"
            f" {far[-1].max():.1f}; attention that is equal everywhere has {uniform:.1f}."
        ),
        size=(WIDTH, 3.2),
    )


def uniform_distance(grid: int, patch: int) -> float:
    """Mean distance of two patches in pixels, all pairs alike."""
    place = np.stack(np.meshgrid(np.arange(grid), np.arange(grid), indexing="ij"), -1).reshape(
        -1, 2
    )
    apart = np.linalg.norm(place[:, None] - place[None], axis=-1)
    return float(apart.mean()) * patch


def _distance(figure: Figure, theme: Theme, *, far: NDArray[Any], uniform: float) -> None:
    ax = figure.add_subplot()
    layers, heads = far.shape
    layer = np.repeat(np.arange(layers), heads)
    ax.plot(layer, far.reshape(-1), "o", color=theme.colour(0), alpha=0.75, markeredgewidth=0)
    guide(ax, theme, y=uniform)
    ax.plot([], [], color=theme.muted, linestyle=(0, (4, 2)), label="attention equal everywhere")
    legend_above(ax)
    ax.set_xticks(range(layers))
    ax.set_xlim(-0.6, layers - 0.4)
    ax.set_ylim(0, max(float(far.max()), uniform) * 1.14)
    label_axes(ax, x="block", y="mean distance", y_unit="px")


def rollout(opened: Tensors, told: Told) -> Chart:
    """Grey images under a heat map, each with the answer."""
    maps = opened["rollout"].astype(np.float64)
    maps = maps / maps.max((1, 2), keepdims=True)
    grid = maps.shape[1]
    labels = [found[0]["label"] for found in told["top"]]
    rows = [
        {"image": name, "row": i, "column": j, "share": float(each[i, j])}
        for name, each in zip(told["names"], maps, strict=True)
        for i in range(grid)
        for j in range(grid)
    ]
    peaks = listed(
        f"{name} at row {np.argmax(each) // grid} and column {np.argmax(each) % grid}"
        for name, each in zip(told["names"], maps, strict=True)
    )
    return Chart(
        draw=partial(_rollout, images=opened["images"], maps=maps, labels=labels),
        data=pl.DataFrame(rows),
        alt_text=(
            f"{told['model']}: attention rollout over {len(maps)} images, grids of {grid} by"
            f" {grid}; the warmest patch of {peaks}."
        ),
        size=(WIDTH, 1.75),
    )


def _rollout(
    figure: Figure, theme: Theme, *, images: NDArray[Any], maps: NDArray[Any], labels: list[str]
) -> None:
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    for ax, image, each, label in zip(axes, images, maps, labels, strict=True):
        side = image.shape[0]
        picture(ax, grey(image), cmap="gray", vmin=0, vmax=1)
        ax.imshow(
            each, cmap=heat(theme), vmin=0, vmax=1, interpolation="bilinear",
            extent=(-0.5, side - 0.5, side - 0.5, -0.5),
        )  # fmt: skip
        ax.set_title(cut(label, LETTERS), fontsize=SMALL)


def dino(opened: Tensors, told: Told) -> Chart:
    """Photographs, and beside each the map of every head."""
    chosen = [place for place, name in enumerate(told["names"]) if name in SHOWN]
    chosen = chosen or list(range(len(told["names"])))
    maps = opened["maps"][chosen].astype(np.float64)
    images, heads = opened["images"][chosen], maps.shape[1]
    at, head, row, column = _places(*maps.shape)
    names = np.array([told["names"][place] for place in chosen])
    data = pl.DataFrame(
        {
            "image": names[at],
            "head": head,
            "row": row,
            "column": column,
            "attention": maps.reshape(-1),
        }
    )
    return Chart(
        draw=partial(_dino, images=images, maps=maps),
        data=data,
        alt_text=(
            f"{told['model']}: {len(chosen)} photographs and the attention of the last block's"
            f" {heads} heads from the class token, maps of {maps.shape[2]} by {maps.shape[3]}."
        ),
        size=(WIDTH, 0.35 + 0.8 * len(chosen)),
    )


def _dino(figure: Figure, theme: Theme, *, images: NDArray[Any], maps: NDArray[Any]) -> None:
    axes = figure.subplots(len(maps), maps.shape[1] + 1, squeeze=False)
    for across, image, own in zip(axes, images, maps, strict=True):
        picture(across[0], image)
        for head, (ax, each) in enumerate(zip(across[1:], own, strict=True)):
            picture(ax, each, cmap=rising(theme, 3))
            if across is axes[0]:
                ax.set_title(f"head {head}", fontsize=SMALL)

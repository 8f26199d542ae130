"""Several figures saved by one step: starting Python costs more than drawing a small figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from remeasure.draw.chart import Chart, save_chart


def save_charts(
    charts: Mapping[str, Chart],
    order: Sequence[str],
    *,
    light_svg: Sequence[Path],
    light_png: Sequence[Path],
    dark_svg: Sequence[Path],
    dark_png: Sequence[Path],
    csv: Sequence[Path],
    alt: Sequence[Path],
    origin: str,
    drawings: frozenset[str] = frozenset(),
) -> None:
    """Save charts by name; the n-th file of each kind belongs to the n-th name of ``order``.

    Parameters
    ----------
    charts
        By output.
    order
        Outputs in the order in which the rule names their files.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        As in ``draw.save.save_figure``, one path an output.
    drawings
        Outputs that are schematics, whose alt text needs no number.

    Raises
    ------
    ValueError
        When charts and files are not as many and of the names that are asked for.
    """
    files = (light_svg, light_png, dark_svg, dark_png, csv, alt)
    if set(charts) != set(order) or any(len(each) != len(order) for each in files):
        raise ValueError(f"charts {list(charts)} do not match the figures {list(order)}")
    for name, svg, png, dark, dark_image, data, words in zip(order, *files, strict=True):
        save_chart(
            charts[name],
            svg,
            png,
            dark,
            dark_image,
            data,
            words,
            origin,
            drawing=name in drawings,
        )

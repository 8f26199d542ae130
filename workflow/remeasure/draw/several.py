"""Several figures saved by one step: starting Python costs more than drawing a small figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


def run_each(
    steps: Mapping[str, Callable[..., None]],
    drawn_from: Mapping[str, Sequence[tuple[str, str]]],
    results: Sequence[Path],
    outputs: Mapping[str, Sequence[Path]],
    origin: str,
) -> None:
    """Call one function a figure or table, each with its own results and its own files.

    Parameters
    ----------
    steps
        Functions by output; each takes its results and files by name, and ``origin``.
    drawn_from
        By output, in the order of the files: the parameters of its function, and the name of the
        file that each is given.
    results
        All result files, in any order.
    outputs
        Files by parameter: the n-th of each belongs to the n-th output of ``drawn_from``.

    Raises
    ------
    ValueError
        When functions and files are not as many, or of two results of one name.
    """
    named = {path.name: path for path in results}
    if len(named) != len(results):
        raise ValueError(f"two results share a name: {[path.name for path in results]}")
    if any(len(files) != len(drawn_from) for files in outputs.values()):
        raise ValueError(f"files do not match the outputs {list(drawn_from)}")
    for number, (output, inputs) in enumerate(drawn_from.items()):
        given = {name: named[file] for name, file in inputs}
        written = {kind: files[number] for kind, files in outputs.items()}
        steps[output](**given, **written, origin=origin)

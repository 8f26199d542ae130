"""Boards and chips: a line cut into tokens, the shortest win, and boards that probes see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import chess
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from remeasure.draw.boxes import draw_frame
from remeasure.draw.chart import WIDTH, Chart, listed, save_chart
from remeasure.draw.colour import mix
from remeasure.draw.style import FONT, SMALL, Theme
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.gpt.boards import classes, letters


def fig_chess_tokens(
    *,
    chips: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Ten half-moves as models read them.

    Parameters
    ----------
    chips
        Parquet, as ``tokens.CHIPS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chess_tokens(read_frame(chips))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_shortest_win(
    *,
    replayed: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The last position of the shortest win.

    Parameters
    ----------
    replayed
        JSON, as ``rules_of_chess.measure_rules`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = shortest_win(read_json(replayed))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_probe_boards(
    *,
    shown: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """A test position, and what probes see there.

    Parameters
    ----------
    shown
        JSON, as ``probes.measure_probes`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = probe_boards(read_json(shown))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


#: Short names of models over their boards.
SHORT = {"Karvonen's, 72 hours": "Karvonen's"}


def chess_tokens(chips: pl.DataFrame) -> Chart:
    """Chips of each reader, row by row."""
    readers = [
        (str(name), part["token"].to_list())
        for (name,), part in chips.group_by("reader", maintain_order=True)
    ]
    said = [f"{name}: {len(tokens)} tokens, {' '.join(tokens)}" for name, tokens in readers]
    laid = [(name, len(tokens), _laid(tokens)) for name, tokens in readers]
    height = sum(2.6 + 3.1 * len(rows) for _, _, rows in laid) + 0.6
    return Chart(
        draw=partial(_draw_chips, laid=laid, height=height),
        data=chips,
        alt_text=f"Drawing of ten half-moves cut into tokens. {'; '.join(said)}.",
        size=(WIDTH, height / 10),
    )


def shortest_win(replayed: dict[str, Any]) -> Chart:
    """One board under its title, the moves beside it."""
    board = chess.Board(replayed["fen"])
    found = letters(classes(board))
    return Chart(
        draw=partial(_draw_win, found=found, replayed=replayed),
        data=_squares({"board": found}),
        alt_text=(
            f"Drawing of a chess board {replayed['title']}. White has {_pieces(found, True)};"
            f" Black has {_pieces(found, False)}. The moves: {replayed['moves']}"
        ),
        size=(WIDTH, 2.9),
    )


def probe_boards(shown: dict[str, Any]) -> Chart:
    """The true board first, then each model's; wrong squares are framed."""
    names = {"board": letters_of(shown["truth"])}
    names |= {
        f"{SHORT.get(name, name)}, layer {shown['layers'][name]}": letters_of(seen)
        for name, seen in shown["seen"].items()
    }
    truth = names["board"]
    wrong = {
        name: sum(a != b for a, b in zip(found, truth, strict=True))
        for name, found in names.items()
        if name != "board"
    }
    said = listed(f"{count} by {name}" for name, count in wrong.items())
    return Chart(
        draw=partial(_draw_boards, names=names),
        data=_squares(names),
        alt_text=(
            f"Test position {shown['position']} with {sum(map(bool, truth))} pieces, and what"
            f" linear probes see there. Squares seen wrongly: {said} of 64."
        ),
        size=(WIDTH, 2.2),
    )


def letters_of(found: Sequence[int]) -> list[str]:
    """Letters of classes that come out of JSON."""
    import numpy as np

    return letters(np.asarray(found, dtype=np.uint8))


# --- drawing --------------------------------------------------------------------------------


def _squares(boards: dict[str, list[str]]) -> pl.DataFrame:
    return pl.DataFrame({"square": list(chess.SQUARE_NAMES), **boards})


def _pieces(found: Sequence[str], white: bool) -> str:
    """Pieces of a side and their squares."""
    names = zip(found, chess.SQUARE_NAMES, strict=True)
    return listed(
        f"{piece.upper()}{square}" if piece.upper() != "P" else square
        for piece, square in names
        if piece and piece.isupper() == white
    )


def _width(token: str) -> float:
    return 0.95 * len(token) + 1.3


def _laid(tokens: Sequence[str]) -> list[list[str]]:
    """Tokens in rows that fit."""
    rows: list[list[str]] = [[]]
    left = 0.0
    for token in tokens:
        if left + _width(token) > 10 * WIDTH - 1:
            rows.append([])
            left = 0.0
        rows[-1].append(token)
        left += _width(token) + 0.4
    return rows


def _draw_chips(
    figure: Figure, theme: Theme, *, laid: list[tuple[str, int, list[list[str]]]], height: float
) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(-0.4, 10 * WIDTH + 0.4)
    ax.set_ylim(0, height)
    top = height
    for series, (name, count, rows) in enumerate(laid):
        ax.text(0, top - 1.3, f"{name}: {count} tokens", fontsize=FONT, va="center")
        top -= 2.6
        for row in rows:
            left = 0.0
            for token in row:
                size = (_width(token), 2.4)
                draw_frame(ax, theme, (left, top - 2.6), size, series=series, rounding=0.4)
                middle = (left + size[0] / 2, top - 1.4)
                ax.text(
                    *middle, token, ha="center", va="center", fontsize=SMALL, family="monospace"
                )
                left += size[0] + 0.4
            top -= 3.1


def draw_position(
    ax: Axes,
    theme: Theme,
    found: Sequence[str],
    *,
    truth: Sequence[str] | None = None,
    size: float = FONT,
) -> None:
    """A board of letters, a1 at the lower left and dark; squares unlike ``truth`` are framed."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-0.05, 8.05)
    ax.set_ylim(-0.05, 8.05)
    dark = mix(theme.colour(4), theme.background, 0.72)
    pale = mix(theme.colour(4), theme.background, 0.92)
    for square, piece in enumerate(found):
        column, row = square % 8, square // 8
        shade = dark if (column + row) % 2 == 0 else pale
        ax.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="none"))
        if piece:
            ax.text(
                column + 0.5,
                row + 0.47,
                piece,
                ha="center",
                va="center",
                fontsize=size,
                fontweight="bold",
                color=theme.ink(0) if piece.isupper() else theme.text,
            )
    for square, piece in enumerate(found):
        if truth is not None and piece != truth[square]:
            corner = (square % 8 + 0.06, square // 8 + 0.06)
            frame = Rectangle(corner, 0.88, 0.88, fill=False, edgecolor=theme.colour(1))
            frame.set_linewidth(1.5)
            ax.add_patch(frame)


def _draw_win(
    figure: Figure, theme: Theme, *, found: Sequence[str], replayed: dict[str, Any]
) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1, 0.9))
    draw_position(left, theme, found)
    left.set_title(str(replayed["title"]))
    right.set_axis_off()
    words = str(replayed["moves"]).split()
    lines = [" ".join(words[place : place + 3]) for place in range(0, len(words), 3)]
    right.text(
        0.0,
        0.5,
        "\n".join(["White: the model", "Black: a random mover", "", *lines]),
        va="center",
        fontsize=FONT,
        linespacing=1.5,
    )
    right.set_xlim(0, 1)
    right.set_ylim(0, 1)


def _draw_boards(figure: Figure, theme: Theme, *, names: dict[str, list[str]]) -> None:
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    small = SMALL if len(names) < 4 else SMALL - 2
    for ax, (name, found) in zip(axes, names.items(), strict=True):
        truth = None if name == "board" else names["board"]
        draw_position(ax, theme, found, truth=truth, size=small)
        ax.set_title("the position" if name == "board" else name, fontsize=SMALL)

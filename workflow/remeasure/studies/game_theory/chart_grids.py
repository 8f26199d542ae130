"""Figures made of cells: the payoff table, the echoes, the two rules of reputation."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from remeasure.draw.chart import WIDTH, Chart, Row, listed, save_chart
from remeasure.draw.colour import mix
from remeasure.draw.style import FONT, SMALL, Theme
from remeasure.store.frames import read_frame, read_json

MOVES = {"C": "cooperate", "D": "defect"}


def fig_dilemma(
    *,
    game: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Points of both players by pair of moves.

    Parameters
    ----------
    game
        JSON, as ``dilemma.measure_dilemma`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    found = read_json(game)
    save_chart(
        dilemma(found["points"], found["equilibria"]),
        light_svg,
        light_png,
        dark_svg,
        dark_png,
        csv,
        alt,
        origin,
    )


def fig_echo(
    *,
    table: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Moves of two copies of three strategies after one mistake.

    Parameters
    ----------
    table
        Parquet, as ``echo.ECHO``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = echo(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_reputation(
    *,
    table: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The new reputation of a good donor under two rules.

    Parameters
    ----------
    table
        Parquet, as ``reputation.REPUTATION``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = reputation(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def dilemma(points: dict[str, list[float]], equilibria: list[str]) -> Chart:
    """The payoff table: your moves in rows, theirs in columns."""
    data = pl.DataFrame(
        [
            (MOVES[moves[0]], MOVES[moves[1]], *values, moves in equilibria)
            for moves, values in points.items()
        ],
        schema=["you", "they", "points for you", "points for them", "equilibrium"],
        orient="row",
    )
    cells = [
        f"{row['points for you']:g} for you and {row['points for them']:g} for them where you"
        f" {row['you']} and they {row['they']}"
        for row in data.iter_rows(named=True)
    ]
    stays = [
        f"you {row['you']}, they {row['they']}" for row in data.to_dicts() if row["equilibrium"]
    ]
    return Chart(
        draw=partial(_draw_dilemma, data=data),
        data=data,
        alt_text=(
            f"Points for one round of the prisoner’s dilemma: {listed(cells)}. Neither would move"
            f" away from: {listed(stays)}."
        ),
        size=(WIDTH, 2.7),
    )


def echo(table: pl.DataFrame) -> Chart:
    """One strip of cells a strategy, one row a player."""
    said = []
    for name in table["strategy"].unique(maintain_order=True):
        own = table.filter(strategy=name)
        moves = ["".join(own.filter(player=player)["move"]) for player in (1, 2)]
        said.append(f"{name}: player one {moves[0]}, player two {moves[1]}")
    rounds = int(table["round"].to_numpy().max())
    return Chart(
        draw=partial(_draw_echo, table=table),
        data=table,
        alt_text=(
            f"Moves of two copies of a strategy over {rounds} rounds, C for cooperating and D for"
            f" defecting. Player one defects in round {_mistake(table)} by mistake."
            f" {'. '.join(said)}."
        ),
        size=(WIDTH, 3.5),
    )


def reputation(table: pl.DataFrame) -> Chart:
    """Rules in rows, cases in columns."""
    wide = table.pivot(on="rule", index="case", values="reputation")
    one, other = table["rule"].unique(maintain_order=True)
    same = [row["case"] for row in wide.iter_rows(named=True) if row[one] == row[other]]
    parts = [
        f"{row['case']}: {row[one]} under {one}, {row[other]} under {other}"
        for row in wide.to_dicts()
    ]
    return Chart(
        draw=partial(_draw_reputation, table=table),
        data=table,
        alt_text=(
            f"The new reputation of a good donor who {'; who '.join(parts)}. The two rules agree in"
            f" {len(same)} of {wide.height} cases."
        ),
        size=(WIDTH, 1.9),
    )


def _mistake(table: pl.DataFrame) -> int:
    """Round of the first defection: before the mistake everybody cooperates."""
    return int(table.filter(pl.col("move") == "D")["round"].to_numpy().min())


def _sheet(figure: Figure, width: float, height: float) -> Axes:
    """Axes without scales, y downwards."""
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(0, width + 0.04)
    ax.set_ylim(height + 0.04, 0)
    return ax


def _cell(
    ax: Axes,
    theme: Theme,
    place: tuple[float, float, float, float],
    text: str,
    *,
    series: int,
    framed: bool = False,
    strength: float = 0.80,
    size: float = FONT,
) -> None:
    """A coloured cell at (x, y, width, height) with a word in it; a frame marks it."""
    x, y, width, height = place
    ax.add_patch(
        Rectangle(
            (x, y),
            width,
            height,
            facecolor=mix(theme.colour(series), theme.background, strength),
            edgecolor=theme.text if framed else theme.background,
            linewidth=2.0 if framed else 1.0,
            zorder=3 if framed else 2,
        )
    )
    ax.text(
        x + width / 2,
        y + height / 2,
        text,
        ha="center",
        va="center",
        fontsize=size,
        linespacing=1.3,
        zorder=4,
    )


def _draw_dilemma(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = _sheet(figure, 10, 5.2)
    left, top, width, height = 2.2, 1.1, 3.8, 2.0
    for index, move in enumerate(MOVES.values()):
        ax.text(left + (index + 0.5) * width, 0.65, f"they {move}", ha="center", va="center")
        ax.text(left - 0.2, top + (index + 0.5) * height, f"you {move}", ha="right", va="center")
    for number, row in enumerate(data.iter_rows(named=True)):
        place = (left + (number % 2) * width, top + (number // 2) * height, width, height)
        you, them = row["points for you"], row["points for them"]
        _cell(
            ax,
            theme,
            place,
            f"{you:g} for you\n{them:g} for them",
            series=2 if number == 0 else 1 if number == 3 else 0,
            framed=row["equilibrium"],
        )


def _draw_echo(figure: Figure, theme: Theme, *, table: pl.DataFrame) -> None:
    names = table["strategy"].unique(maintain_order=True).to_list()
    rounds = int(table["round"].to_numpy().max())
    wrong = _mistake(table)
    left, strip = 2.3, 3.3
    ax = _sheet(figure, left + rounds, strip * len(names) + 0.8)
    for number, name in enumerate(names):
        top = strip * number
        ax.text(0, top + 0.5, name, ha="left", va="center", fontweight="bold")
        for player in (1, 2):
            row = top + player
            ax.text(
                left - 0.2, row + 0.5, f"player {player}", ha="right", va="center", fontsize=SMALL
            )
            for each in table.filter(strategy=name, player=player).iter_rows(named=True):
                _echo_cell(ax, theme, each, left + each["round"] - 1, row, wrong)
    bottom = strip * len(names) + 0.35
    ax.text(left - 0.2, bottom, "round", ha="right", va="center", fontsize=SMALL)
    for at in range(1, rounds + 1):
        ax.text(left + at - 0.5, bottom, str(at), ha="center", va="center", fontsize=SMALL)


def _echo_cell(ax: Axes, theme: Theme, each: Row, x: float, y: float, wrong: int) -> None:
    defects = each["move"] == "D"
    _cell(
        ax,
        theme,
        (x, y, 1, 1),
        each["move"],
        series=1 if defects else 0,
        framed=each["round"] == wrong and each["player"] == 1,
        strength=0.55 if defects else 0.85,
        size=SMALL,
    )


def _draw_reputation(figure: Figure, theme: Theme, *, table: pl.DataFrame) -> None:
    rules = table["rule"].unique(maintain_order=True).to_list()
    cases = table["case"].unique(maintain_order=True).to_list()
    left, width, height = 2.6, 2.0, 1.0
    ax = _sheet(figure, left + width * len(cases), 1.3 + height * len(rules))
    for number, case in enumerate(cases):
        words = case.split(" ", 1)
        ax.text(
            left + (number + 0.5) * width,
            0.6,
            "\n".join(words),
            ha="center",
            va="center",
            fontsize=SMALL,
        )
    for line, rule in enumerate(rules):
        y = 1.2 + line * height
        ax.text(left - 0.2, y + height / 2, rule, ha="right", va="center")
        for number, case in enumerate(cases):
            value = table.filter(rule=rule, case=case)["reputation"][0]
            differs = table.filter(case=case)["reputation"].n_unique() > 1
            _cell(
                ax,
                theme,
                (left + number * width, y, width, height),
                value,
                series=0 if value == "good" else 1,
                framed=differs,
                strength=0.85 if value == "good" else 0.6,
            )

"""Drawings of the essay's arguments: problems, Mary, zombies, fading qualia, positions."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from remeasure.draw.boxes import draw_arrow
from remeasure.draw.chart import WIDTH, Chart, listed
from remeasure.draw.panels import sheet, squares, word_box
from remeasure.draw.style import FONT, SMALL, Theme
from remeasure.studies.consciousness.content import (
    EASY_PROBLEMS,
    FADING,
    FADING_WORDS,
    MARY,
    MARY_REPLIES,
    POSITIONS,
    ZOMBIES,
)
from remeasure.studies.consciousness.essay import survey

#: Squares of a brain in the drawing of fading qualia: side of the grid.
SIDE = 8

#: A per cent of the survey is so many tenths of an inch long.
PER_CENT = 0.42


def line(text: str) -> str:
    """Words without their line breaks."""
    return " ".join(text.split())


def problems() -> Chart:
    """Easy problems on one side of a gap, the hard one on the other."""
    said = [line(each) for each in EASY_PROBLEMS]
    data = pl.DataFrame({"kind": "easy", "problem": said}).vstack(
        pl.DataFrame({"kind": "hard", "problem": "why is any of it experienced?"})
    )
    return Chart(
        draw=_draw_problems,
        data=data,
        alt_text=(
            f"Drawing: {len(said)} easy problems, each about a function: {'; '.join(said)}. Across"
            " the explanatory gap (Levine 1983) stands the hard problem (Chalmers 1995): why is"
            " any of it experienced?"
        ),
        size=(WIDTH, 2.3),
    )


def mary() -> Chart:
    """Three steps of the argument, three replies below."""
    steps = [line(each) for each in MARY]
    replies = [f"{who}: {line(words)}" for who, words in MARY_REPLIES]
    return Chart(
        draw=_draw_mary,
        data=pl.DataFrame(
            {
                "kind": ["step"] * len(steps) + ["reply"] * len(replies),
                "text": [*steps, *replies],
            }
        ),
        alt_text=(
            f"Drawing of the knowledge argument (Jackson 1982, 1986) in {len(steps)} steps:"
            f" {'; '.join(steps)}. Below it {len(replies)} physicalist replies to what Mary gains."
            f" {'; '.join(replies)}."
        ),
        size=(WIDTH, 2.75),
    )


def zombie(table: pl.DataFrame) -> Chart:
    """Each step of the argument beside the share of philosophers who end there."""
    share = dict(survey(table).filter(question="zombies").select("answer", "share").iter_rows())
    rows = [(line(step), reply, share[reply], do) for step, reply, do in ZOMBIES]
    said = [f"{step}: {value:.0f} percent say {reply}" for step, reply, value, _ in rows]
    return Chart(
        draw=partial(_draw_zombie, shares=[value for _, _, value, _ in rows]),
        data=pl.DataFrame(rows, schema=["step", "answer", "share", "consequence"], orient="row"),
        alt_text=(
            "Drawing of the zombie argument and bars of the 2020 PhilPapers survey (Bourget and"
            f" Chalmers 2023). {'; '.join(said)}. Other answers are left out."
        ),
        size=(WIDTH, 2.5),
    )


def fading() -> Chart:
    """Neurons are replaced, stage by stage."""
    return Chart(
        draw=_draw_fading,
        data=pl.DataFrame({"stage": FADING_WORDS, "replaced": FADING}),
        alt_text=(
            f"Drawing of {len(FADING)} stages in which neurons are replaced by chips that do the"
            f" same: {listed(FADING_WORDS)}. Behaviour stays the same throughout; the question is"
            " whether experience fades on the way (Chalmers 1995)."
        ),
        size=(WIDTH, 1.75),
    )


def positions() -> Chart:
    """Questions from top to bottom, positions where an answer ends the way."""
    rows = [
        (number, line(question), ends, position)
        for number, (question, ends, leaves, _) in enumerate(POSITIONS, 1)
        for position in leaves
    ]
    said = [
        f"{line(question)} {f'{ends}: ' if ends else ''}{listed(leaves)}"
        for question, ends, leaves, _ in POSITIONS
    ]
    return Chart(
        draw=_draw_positions,
        data=pl.DataFrame(rows, schema=["question", "words", "answer", "position"], orient="row"),
        alt_text=(
            f"Decision tree of {len(POSITIONS)} questions. {'. '.join(said)}. Functionalism cuts"
            " across the tree."
        ),
        size=(WIDTH, 3.7),
    )


def _draw_problems(figure: Figure, theme: Theme) -> None:
    ax = sheet(figure, 23)
    for number, words in enumerate(EASY_PROBLEMS):
        column, row = number % 2, number // 2
        word_box(ax, theme, (1 + 15 * column, 12.6 - 5.8 * row), (14.2, 5), words, series=0)
    ax.text(15.6, 20.4, "Easy problems: functions", ha="center", fontsize=FONT, fontweight="bold")
    ax.plot([35.6, 35.6], [1, 19.6], color=theme.muted, linewidth=1.2, linestyle="--")
    ax.text(
        35.6,
        20.2,
        "explanatory gap",
        ha="center",
        fontsize=SMALL,
        color=theme.text,
    )
    ax.text(47.9, 20.4, "Hard problem", ha="center", fontsize=FONT, fontweight="bold")
    word_box(
        ax,
        theme,
        (41, 4.4),
        (13.8, 10),
        "why is any of it\nexperienced?",
        series=1,
        bold=True,
        fontsize=FONT,
    )
    draw_arrow(ax, (30.6, 9.4), (41, 9.4), colour=theme.muted, dashed=True)


def _draw_mary(figure: Figure, theme: Theme) -> None:
    ax = sheet(figure, 27.5)
    width, gap = 17.0, 1.8
    lefts = [0.6 + number * (width + gap) for number in range(len(MARY))]
    for left, words in zip(lefts, MARY, strict=True):
        word_box(ax, theme, (left, 18.5), (width, 7.6), words, series=0)
    for one, other in pairwise(lefts):
        draw_arrow(ax, (one + width, 22.3), (other, 22.3), colour=theme.muted)
    ax.text(28, 14.6, "Physicalist replies: what she gains", ha="center", fontweight="bold")
    for left, (who, words) in zip(lefts, MARY_REPLIES, strict=True):
        word_box(ax, theme, (left, 1.2), (width, 9.6), "", series=2)
        middle = left + width / 2
        ax.text(middle, 8.2, who, ha="center", va="center", fontweight="bold")
        ax.text(middle, 4.4, words, ha="center", va="center", fontsize=SMALL, linespacing=1.25)


def _draw_zombie(figure: Figure, theme: Theme, *, shares: list[float]) -> None:
    ax = sheet(figure, 25)
    rows = zip(ZOMBIES, shares, strict=True)
    for number, ((step, reply, consequence), share) in enumerate(rows):
        low = 17.2 - 8 * number
        word_box(ax, theme, (1, low), (21, 6.4), step, series=4 if number == 2 else 0)
        if number < len(ZOMBIES) - 1:
            draw_arrow(ax, (11.5, low), (11.5, low - 1.6), colour=theme.muted)
        series = 2 if number == 2 else 1
        ax.add_patch(
            Rectangle((25, low + 0.7), PER_CENT * share, 2.7, facecolor=theme.colour(series))
        )
        ax.text(
            25 + PER_CENT * share + 0.6, low + 2.0, f"{share:.0f}%", va="center", fontweight="bold"
        )
        words = reply.replace("metaphysically ", "")
        ax.text(25, low + 4.2, f"{words}: {consequence}", fontsize=SMALL)


def _draw_fading(figure: Figure, theme: Theme) -> None:
    ax = sheet(figure, 17.5)
    pitch = 1.08
    for number, (share, words) in enumerate(zip(FADING, FADING_WORDS, strict=True)):
        count = round(share * SIDE * SIDE)
        places = [(each // SIDE, each % SIDE, each < count) for each in range(SIDE * SIDE)]
        left = 1.6 + 11.2 * number
        squares(ax, theme, places, corner=(left, 14.0), pitch=pitch, series=1)
        ax.text(left + SIDE * pitch / 2, 15.0, words, ha="center", fontsize=SMALL)
        if number:
            draw_arrow(ax, (left - 2.5, 9.8), (left - 0.3, 9.8), colour=theme.muted)
    ax.text(
        28,
        2.0,
        "neurons replaced; behaviour stays: does experience fade?",
        ha="center",
        fontsize=FONT,
    )


def _draw_positions(figure: Figure, theme: Theme) -> None:
    ax = sheet(figure, 37)
    for number, (question, ends, leaves, goes_on) in enumerate(POSITIONS):
        low = 26.2 - 12 * number
        word_box(ax, theme, (1, low), (20, 6.6), question, series=0, bold=True)
        height = 1.9 * len(leaves) + 1.6
        middle = low + 3.3
        word_box(
            ax, theme, (30, middle - height / 2), (25, height), "\n".join(leaves), series=2 - number
        )
        draw_arrow(ax, (21, middle), (30, middle), colour=theme.muted)
        ax.text(25.4, middle + 0.5, ends, ha="center", fontsize=SMALL)
        if goes_on:
            draw_arrow(ax, (11, low), (11, low - 5.4), colour=theme.muted)
            ax.text(11.9, low - 2.9, goes_on, va="center", fontsize=SMALL)
    ax.text(
        28,
        35.4,
        "Functionalism cuts across: it says what a mind does, not what it is made of",
        ha="center",
        fontsize=SMALL,
        color=theme.muted,
    )

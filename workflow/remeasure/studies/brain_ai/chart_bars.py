"""Figures of quoted and converted numbers: bars and ranges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart, numbers
from remeasure.draw.style import SMALL, Theme, guide, label_axes, log_axis
from remeasure.report.numbers import rounded
from remeasure.studies.brain_ai.facts import number

Row = tuple[str, float, float, str]


@dataclass(frozen=True)
class Use:
    """A bar of the energy figure: what, how much, and whether it is a brain's."""

    what: str
    value: float
    brain: bool


def drive(table: pl.DataFrame) -> Chart:
    """Two bars, one up and one down."""
    quantity = "change in the language network response, {} sentences"
    data = pl.DataFrame(
        {
            "sentences": ["drive", "suppress"],
            "change": [
                number(table, "fig_drive", quantity.format(each)) for each in ("drive", "suppress")
            ],
        }
    )
    up, down = data["change"]
    return Chart(
        draw=partial(_draw_drive, data=data),
        data=data,
        alt_text=(
            "Bars of the change in the language network's response to sentences that a model chose"
            f" (Tuckute et al. 2024), on a standardised scale relative to ordinary ones: {up:+.1f}"
            f" percent for sentences meant to drive it, {_signed(down)} percent for those meant to"
            " suppress it."
        ),
        size=(WIDTH, 2.0),
    )


def physics(table: pl.DataFrame) -> Chart:
    """Bars of accuracy from the best to the worst, with a line at chance."""
    own = table.filter(pl.col("output_id") == "fig_physics", pl.col("condition") != "chance")
    data = own.select(
        pl.col("condition").str.split(",").list.first().alias("who"),
        pl.col("value").cast(pl.Float64).alias("accuracy"),
    )
    chance = number(table, "fig_physics", "accuracy on IntPhys 2", "chance")
    said = [f"{row['who']} {row['accuracy']:.1f}" for row in data.iter_rows(named=True)]
    return Chart(
        draw=partial(_draw_physics, data=data, chance=chance),
        data=data,
        alt_text=(
            f"Bars of the accuracy of people and models on IntPhys 2, in percent, beside chance at"
            f" {chance:.0f}: {', '.join(said)}."
        ),
        size=(WIDTH, 2.9),
    )


def energy(table: pl.DataFrame, derived: pl.DataFrame) -> Chart:
    """Two panels of bars on logarithmic axes: to train and to answer."""
    value = {row[:3]: row[3] for row in derived.iter_rows()}
    fact = partial(number, table, "fig_energy")
    training = (
        Use(
            "brain, 20 years",
            value["fig_energy", "brain over 20 years at 20 W", "as printed"],
            True,
        ),
        Use("GPT-3", fact("training GPT-3"), False),
        Use(
            "Llama 3.1 405B",
            value["fig_energy", "training Llama 3.1 405B (derived)", "30.84e6 h x 700 W"],
            False,
        ),
        Use("Grok 4 (estimate)", fact("training Grok 4", "as printed"), False),
    )
    answering = (
        Use("Gemini prompt, median", fact("median Gemini prompt"), False),
        Use("GPT-4o query", fact("typical GPT-4o query"), False),
        Use(
            "brain, one minute", value["fig_energy", "brain in one minute (derived)", "20/60"], True
        ),
        Use("GPT-4o, 10,000 tokens in", fact("GPT-4o query with 10000 input tokens"), False),
        Use("GPT-4o, 100,000 tokens in", fact("GPT-4o query with 100000 input tokens"), False),
    )
    data = pl.DataFrame(
        [("to train (MWh)", use.what, use.value) for use in training]
        + [("to answer (Wh)", use.what, use.value) for use in answering],
        schema=["panel", "what", "value"],
        orient="row",
    )
    said = [
        f"{unit}: " + ", ".join(f"{use.what} {rounded(use.value, 3)}" for use in uses)
        for unit, uses in (("to train, in MWh", training), ("to answer, in Wh", answering))
    ]
    return Chart(
        draw=partial(_draw_energy, panels={"MWh": training, "Wh": answering}),
        data=data,
        alt_text=f"Bars on two logarithmic axes. {'; '.join(said)}.",
        size=(WIDTH, 4.3),
    )


def data(table: pl.DataFrame) -> Chart:
    """Ranges and points on one logarithmic axis."""
    fact = partial(number, table, "fig_data")
    low, high = "words heard by a child by age 5", "words by age 20 including reading"
    rows = [
        _range("heard by age 5", fact(f"{low}, low") * 1e6, fact(f"{low}, high") * 1e6),
        _range("heard by age 13, at most", fact("words by age 13") * 1e6),
        _range("heard and read by age 20", fact(f"{high}, low") * 1e6, fact(f"{high}, high") * 1e6),
        _range("BabyLM budget", fact("BabyLM budget") * 1e6, who="model"),
        _range("GPT-3, data set", fact("GPT-3 training") * 1e9, who="model"),
        _range("Llama 3.1, training", fact("Llama 3.1 training") * 1e12, who="model"),
    ]
    frame = pl.DataFrame(rows, schema=["what", "low", "high", "who"], orient="row")
    said = [
        f"{what} {_words(low)}" + (f" to {_words(high)}" if high > low else "")
        for what, low, high, _ in rows
    ]
    return Chart(
        draw=partial(_draw_data, rows=rows),
        data=frame,
        alt_text=(
            "Words of a person and words or tokens of a model on a logarithmic axis:"
            f" {'; '.join(said)}. The data set of GPT-3 holds more than it was trained on."
        ),
        size=(WIDTH, 2.9),
    )


def _range(what: str, low: float, high: float | None = None, *, who: str = "person") -> Row:
    return what, low, low if high is None else high, who


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "\N{MINUS SIGN}")


def _words(value: float) -> str:
    """A count in words: ``6 million``.

    >>> _words(6e6), _words(5e11), _words(1.56e13)
    ('6 million', '500 billion', '15.6 trillion')
    """
    for size, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if value >= size:
            return f"{value / size:g} {name}"
    return f"{value:g}"


def _named(ax: Axes, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.45, -0.55)
    ax.grid(visible=False)


def _draw_drive(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    change = numbers(data, "change")
    ax.barh([0, 1], change, height=0.6, color=[theme.colour(0), theme.colour(1)])
    guide(ax, theme, x=0)
    for place, value in enumerate(change):
        side = 1 if value > 0 else -1
        ax.text(
            value + 2 * side,
            place,
            f"{_signed(value)}%",
            va="center",
            ha="left" if side > 0 else "right",
        )
    _named(ax, [f"{each} sentences" for each in data["sentences"]])
    ax.set_xlim(-155, 130)
    label_axes(ax, x="change in response, standardised scale", y="chosen as", x_unit="%")


def _draw_physics(figure: Figure, theme: Theme, *, data: pl.DataFrame, chance: float) -> None:
    ax = figure.add_subplot()
    accuracy = numbers(data, "accuracy")
    colours = [theme.colour(0 if who == "people" else 1) for who in data["who"]]
    ax.barh(range(data.height), accuracy, height=0.66, color=colours)
    ax.axvline(chance, color=theme.text, linewidth=1.2, linestyle=(0, (4, 2)))
    for place, value in enumerate(accuracy):
        ax.text(max(value, chance) + 1.2, place, f"{value:.1f}%", va="center", fontsize=SMALL)
    ax.text(chance, -0.62, f"chance {chance:.0f}%", ha="center", va="bottom", fontsize=SMALL)
    _named(ax, [str(each) for each in data["who"]])
    ax.set_xlim(0, 109)
    label_axes(ax, x="accuracy on IntPhys 2", y="who", x_unit="%")


def _draw_energy(figure: Figure, theme: Theme, *, panels: dict[str, tuple[Use, ...]]) -> None:
    axes = figure.subplots(2, 1, height_ratios=[4, 5])
    titles = {"MWh": "To train", "Wh": "To answer"}
    for ax, (unit, uses) in zip(axes, panels.items(), strict=True):
        values = [use.value for use in uses]
        ax.barh(
            range(len(uses)),
            values,
            height=0.66,
            color=[theme.colour(0 if use.brain else 1) for use in uses],
        )
        for place, value in enumerate(values):
            ax.text(value * 1.12, place, f"{rounded(value, 3)}", va="center", fontsize=SMALL)
        _named(ax, [use.what for use in uses])
        ax.set_xlim(min(values) / 4, max(values) * 2.9)
        log_axis(ax, "x")
        ax.set_title(titles[unit])
        label_axes(ax, x="energy", y="what", x_unit=unit)


def _draw_data(figure: Figure, theme: Theme, *, rows: list[Row]) -> None:
    ax = figure.add_subplot()
    for place, (_, low, high, who) in enumerate(rows):
        colour = theme.colour(0 if who == "person" else 1)
        if high > low:
            ax.plot([low, high], [place, place], color=colour, linewidth=6, solid_capstyle="round")
        else:
            ax.plot([low], [place], marker="o", markersize=8, color=colour)
        words = _words(low) if high == low else f"{_words(low).split()[0]} to {_words(high)}"
        ax.text(high * 2.2, place, words, va="center", fontsize=SMALL)
    _named(ax, [what for what, *_ in rows])
    ax.set_xlim(2e6, 6e15)
    log_axis(ax, "x")
    label_axes(ax, x="words of a person, words or tokens of a model", y="who")

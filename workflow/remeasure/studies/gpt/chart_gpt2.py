"""Figures on GPT-2: its parameters, the cost of a token, probabilities and the logit lens."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import fill

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart, legend_above, listed, numbers, save_chart
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
    SMALL,
    LineLabel,
    Theme,
    direct_labels,
    label_axes,
    log_axis,
    thousands,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame
from remeasure.studies.gpt.read_tables import CHESS


def fig_param_share(
    *,
    family_table: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Embeddings and blocks of the four GPT-2s.

    Parameters
    ----------
    family_table
        Parquet, as ``closed_forms.FAMILY``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = param_share(read_frame(family_table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_alphago_probs(
    *,
    large: Path,
    chess: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How likely each token of a text was.

    Parameters
    ----------
    large, chess
        Parquet, as ``read_tables.TOKENS``: of GPT-2 (maybe empty) and of our chess model.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = token_probabilities(read_frame(large), read_frame(chess))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_kv_timing(
    *,
    costs: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The cost of the next token by the length of the text.

    Parameters
    ----------
    costs
        Parquet, as ``timing.COSTS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = kv_timing(read_frame(costs))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_logit_lens(
    *,
    large: Path,
    chess: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The likeliest next token after each layer.

    Parameters
    ----------
    large, chess
        Parquet, as ``read_tables.LENS``: of GPT-2 (maybe empty) and of our chess model.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = logit_lens(read_frame(large), read_frame(chess))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def param_share(family: pl.DataFrame) -> Chart:
    """One stacked bar a model."""
    shown = family.filter(pl.col("model") != "openai-gpt").select(
        "model", pl.col("embeddings") / 1e6, pl.col("blocks") / 1e6, "share"
    )
    said = [
        f"{row['model']} {row['embeddings']:.1f} million in embeddings ({100 * row['share']:.0f}%)"
        f" and {rounded(row['blocks'])} million in layers"
        for row in shown.iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_share, shown=shown),
        data=shown,
        alt_text=f"Bars of parameters: {'; '.join(said)}.",
        size=(WIDTH, 2.5),
    )


def token_probabilities(large: pl.DataFrame, chess: pl.DataFrame) -> Chart:
    """A row of cells, dark where a token was likely; GPT-2 where it was read."""
    own = large if large.height else chess
    model = own["model"][0]
    likely = own.sort("probability", descending=True).head(3)
    unlikely = own.sort("probability").head(3)

    def named(frame: pl.DataFrame) -> str:
        pairs = frame.select("token", "probability").iter_rows()
        return listed(f"{token} {rounded(float(chance), 2)}" for token, chance in pairs)

    other = "" if large.height else " GPT-2 itself was not at hand."
    return Chart(
        draw=partial(_draw_tokens, own=own),
        data=own,
        alt_text=(
            f"Probability of each of {own.height} tokens given those before, read by {model}."
            f" Most likely: {named(likely)}. Least likely: {named(unlikely)}.{other}"
        ),
        size=(WIDTH, 2.3 if own.height > 13 else 1.5),
    )


def kv_timing(costs: pl.DataFrame) -> Chart:
    """Two lines: without a cache, and with one."""
    measured = costs["milliseconds"].null_count() < costs.height
    column = "milliseconds" if measured else "multiply_adds"
    shown = costs.select("length", "cached", pl.col(column).cast(pl.Float64).alias("cost"))
    unit = "milliseconds" if measured else "billion multiply-adds"
    if not measured:
        shown = shown.with_columns(pl.col("cost") / 1e9)
    sums = {
        cached: float(shown.filter(pl.col("cached") == cached)["cost"].sum())
        for cached in (False, True)
    }
    last = shown.filter(pl.col("length") == shown["length"].max())
    each = {row["cached"]: row["cost"] for row in last.iter_rows(named=True)}
    return Chart(
        draw=partial(_draw_timing, shown=shown, unit=unit),
        data=shown,
        alt_text=(
            f"Cost of the next token in {unit}, by the tokens in the text, for a model of GPT-2's"
            f" size. Without a cache it rises to {rounded(each[False], 3)} at"
            f" {last['length'][0]} tokens; with a cache it stays near {rounded(each[True], 3)}."
            f" Over all tokens {rounded(sums[False], 3)} against {rounded(sums[True], 3)}, a ratio"
            f" of {rounded(sums[False] / sums[True], 3)}."
        ),
        size=(WIDTH, 3.2),
    )


def logit_lens(large: pl.DataFrame, chess: pl.DataFrame) -> Chart:
    """Two panels of bars, the token beside each."""
    own = large if large.height else chess
    model = own["model"][0]
    said = []
    for (prompt,), part in own.group_by("prompt", maintain_order=True):
        first, last = part.row(0, named=True), part.row(-1, named=True)
        said.append(
            f"after '{prompt}' the guess is {first['token']} ({rounded(first['probability'], 2)})"
            f" before any block and {last['token']} ({rounded(last['probability'], 2)}) at the end"
        )
    other = "" if large.height else " GPT-2 itself was not at hand."
    return Chart(
        draw=partial(_draw_lens, own=own),
        data=own,
        alt_text=f"Likeliest next token by layer, read by {model}: {'; '.join(said)}.{other}",
        size=(WIDTH, 0.21 * (int(own["layer"].max()) + 1) + 1.3),  # type: ignore[arg-type]
    )


# --- drawing --------------------------------------------------------------------------------


def _draw_share(figure: Figure, theme: Theme, *, shown: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    places = np.arange(shown.height)
    embeddings, blocks = numbers(shown, "embeddings"), numbers(shown, "blocks")
    ax.barh(places, embeddings, height=0.6, color=theme.colour(1), label="embeddings")
    ax.barh(places, blocks, 0.6, left=embeddings, color=theme.colour(0), label="layers")
    for place, row in enumerate(shown.iter_rows(named=True)):
        ax.annotate(
            f"embeddings {100 * row['share']:.0f}%",
            (row["embeddings"] + row["blocks"], place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    ax.set_yticks(places, shown["model"].to_list())
    ax.invert_yaxis()
    ax.set_xlim(0, 2100)
    thousands(ax.xaxis)
    label_axes(ax, x="parameters", x_unit="millions", y="model")
    legend_above(ax)


def _draw_tokens(figure: Figure, theme: Theme, *, own: pl.DataFrame) -> None:
    lines = 2 if own.height > 13 else 1
    width = -(-own.height // lines)
    axes = figure.subplots(lines, 1, squeeze=False)[:, 0]
    for number, ax in enumerate(axes):
        part = own.slice(number * width, width)
        chances = numbers(part, "probability")
        ax.bar(np.arange(part.height), chances, 0.82, color=theme.colour(0))
        for place, chance in enumerate(chances):
            ax.annotate(
                f"{chance:.2f}",
                (place, chance),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=SMALL - 2,
            )
        wide = max(len(each) for each in part["token"]) > 2
        ax.set_xticks(
            np.arange(part.height),
            part["token"].to_list(),
            rotation=35 if wide else 0,
            ha="right" if wide else "center",
        )
        ax.set_xlim(-0.6, width - 0.4)
        ax.set_ylim(0, 1.3)
        ax.set_yticks([0, 0.5, 1])
        ax.grid(visible=False, axis="x")
        label_axes(ax, x="token", y="probability")
    reader = own["model"][0]
    axes[-1].set_xlabel(f"token, read by {reader}" + ("" if reader != CHESS else ", not GPT-2"))


def _draw_timing(figure: Figure, theme: Theme, *, shown: pl.DataFrame, unit: str) -> None:
    ax = figure.add_subplot()
    names = {False: "without\na cache", True: "with\na cache"}
    labels = []
    for series, (cached, name) in enumerate(names.items()):
        own = shown.filter(pl.col("cached") == cached).sort("length")
        x, y = numbers(own, "length"), numbers(own, "cost")
        ax.plot(x, y, color=theme.colour(series), linestyle=DASHES[series])
        labels.append(LineLabel(name, float(x[-1]), float(y[-1]), series))
    ax.set_xlim(0, float(shown["length"].max()))  # type: ignore[arg-type]
    log_axis(ax, "y")
    label_axes(ax, x="tokens in the text", y="next token", y_unit=unit)
    direct_labels(ax, labels, theme)


def _draw_lens(figure: Figure, theme: Theme, *, own: pl.DataFrame) -> None:
    parts = list(own.group_by("prompt", maintain_order=True))
    panels = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
    for number, (ax, ((prompt,), part)) in enumerate(zip(panels, parts, strict=True)):
        chances, layers = numbers(part, "probability"), numbers(part, "layer")
        pale = mix(theme.colour(number), theme.background, 0.35)
        ax.barh(layers, chances, 0.72, color=pale)
        for layer, chance, token in zip(layers, chances, part["token"], strict=True):
            ax.annotate(
                f"{token}  {chance:.2f}",
                (chance, layer),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=SMALL,
                parse_math=False,  # a token may be a sign of dollars
            )
        ax.set_xlim(0, 1.45)
        ax.set_xticks([0, 0.5, 1])
        ax.set_yticks(layers, [f"{layer:.0f}" for layer in layers])
        words = str(prompt).split()
        title = " ".join(words[-5:]) if len(words) > 5 else str(prompt)
        ax.set_title(fill(title, 24))  # a panel is half a page wide
        label_axes(ax, x="probability of the likeliest token", y="layer" if not number else "")
    panels[0].set_ylim(float(own["layer"].max()) + 0.7, -0.7)  # type: ignore[arg-type]

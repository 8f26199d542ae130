"""The logit lens of the decoder out of a package: the article's figure of another model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from remeasure.draw.chart import Chart, save_chart
from remeasure.store.frames import read_frame
from remeasure.studies.gpt.article import LENS_PROMPTS
from remeasure.studies.gpt.chart_gpt2 import logit_lens
from remeasure.studies.gpt.decoder_tables import FACE


def fig_decoder_lens(
    *,
    layers: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The likeliest next token after each layer of the decoder.

    Parameters
    ----------
    layers
        Parquet, as ``decoder_tables.LAYERS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = decoder_lens(read_frame(layers))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def decoder_lens(layers: pl.DataFrame) -> Chart:
    """The article's two prompts; the label stands on the figure's face and in its words."""
    own = layers.filter(pl.col("prompt").is_in(list(LENS_PROMPTS.values())))
    return replace(logit_lens(own, own.clear()), coverage=FACE)

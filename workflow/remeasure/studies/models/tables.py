"""The page's tables: every model with its parameters, and parity with the reference."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame


def tab_models(*, models_table: Path, table: Path, origin: str) -> None:
    """Parameters of every model, by formula and counted.

    Parameters
    ----------
    models_table
        Parquet, as ``definitions.MODELS``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(models_table)
    apart = frame.filter(pl.col("formula") != pl.col("counted")).height
    told = "both agree for every model" if not apart else f"they differ for {apart} models"
    fragment = html_table(
        frame,
        caption="Models of the model room at their published sizes",
        columns=[
            Column(name="model", title="model"),
            Column(name="kind", title="kind"),
            Column(name="tensors", title="tensors"),
            Column(name="formula", title="parameters, formula"),
            Column(name="counted", title="parameters, counted"),
        ],
        note=f"{frame.height} models; {told}. A tensor that is used twice counts once.",
    )
    table.write_text(fragment, "utf-8")


def tab_parity(*, parity_table: Path, table: Path, origin: str) -> None:
    """Whether small random models equal the reference's.

    Parameters
    ----------
    parity_table
        Parquet, as ``parity.PARITY``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(parity_table)
    tried = frame.filter(pl.col("outputs").is_not_null())
    equal = tried.filter(pl.col("outputs") & pl.col("gradients")).height
    note = (
        f"{equal} of {tried.height} models are equal to the reference, in outputs and gradients."
        if tried.height
        else "Not run: transformers, the reference, is not installed"
        " (pip install 'remeasure[networks]')."
    )
    fragment = html_table(
        frame,
        caption="Small random models of ours beside the reference library's, equal weights",
        columns=[
            Column(name="model", title="model"),
            Column(name="reference", title="reference in transformers"),
            Column(name="parameters", title="parameters"),
            Column(name="outputs", title="outputs equal", unit="within 1e-5"),
            Column(name="gradients", title="gradients equal", unit="within 1e-4"),
        ],
        note=note,
    )
    table.write_text(fragment, "utf-8")

"""The table of the decoder out of a package: what comes next, and what its cache takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from remeasure.report.numbers import rounded
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.gpt.article import ALPHAGO_TEXT
from remeasure.studies.gpt.decoder_tables import LABEL


def tab_decoder(
    *, prompts: Path, following: Path, tokens: Path, caches: Path, table: Path, origin: str
) -> None:
    """Next tokens of the article's prompts, tokens of its sentence, bytes of keys and values.

    Parameters
    ----------
    prompts, following, caches
        Parquet, as ``PROMPTS``, ``NEXT`` and ``CACHES`` of ``decoder_tables``.
    tokens
        Parquet, as ``read_tables.TOKENS``.
    table
        Output: a fragment of HTML, three tables.
    """
    cache = read_frame(caches)
    fragments = (
        next_words(read_frame(prompts), read_frame(following), cache["weights"][0]),
        sentence_tokens(read_frame(tokens)),
        cache_sizes(cache),
    )
    table.write_text("\n".join(fragments), "utf-8")


def next_words(prompts: pl.DataFrame, following: pl.DataFrame, weights: str) -> str:
    """One row a prompt."""
    likeliest = [
        ", ".join(
            f"{row['token']} {_chance(row['probability'])}"
            for row in following.filter(pl.col("prompt") == prompt)
            .sort("rank")
            .iter_rows(named=True)
        )
        for prompt in prompts["prompt"]
    ]
    return html_table(
        prompts.with_columns(pl.Series("likeliest", likeliest)),
        caption=f"Next tokens said by {LABEL}",
        columns=[
            Column(name="prompt", title="prompt"),
            Column(name="likeliest", title="likeliest next tokens", unit="probability"),
            Column(name="settled", title="the first of them leads from", unit="layer"),
            Column(name="word", title="the next word"),
            Column(name="word_probability", title="its probability", show=_chance),
            Column(name="first", title="its first token"),
            Column(name="probability", title="probability of that", show=_chance),
            Column(name="rank", title="its rank"),
        ],
        note=(
            f"Weights as the package stores them ({weights}), computed in 32 bits. No published"
            " number is answered here."
        ),
    )


def sentence_tokens(tokens: pl.DataFrame) -> str:
    """One row: how likely each token of the sentence was."""
    said = " ".join(
        f"{row['token']} {_chance(row['probability'])};" for row in tokens.iter_rows(named=True)
    )
    return html_table(
        pl.DataFrame({"sentence": [ALPHAGO_TEXT], "said": [said.removesuffix(";")]}),
        caption=f"Tokens of a sentence, read by {LABEL}",
        columns=[
            Column(name="sentence", title="sentence"),
            Column(name="said", title="each token but the first", unit="probability"),
        ],
    )


def cache_sizes(caches: pl.DataFrame) -> str:
    """One row a prompt."""
    return html_table(
        caches,
        caption=f"Keys and values kept by {LABEL}",
        columns=[
            Column(name="prompt", title="prompt"),
            Column(name="tokens", title="tokens"),
            Column(name="formula", title="by the formula", unit="bytes"),
            Column(name="counted", title="counted", unit="bytes"),
            Column(name="half", title="in 16 bits", unit="bytes"),
            Column(name="ungrouped", title="a key for each query head", unit="bytes"),
        ],
        note=(
            "2 × layers × key-value heads × channels of a head × tokens × bytes of a number, here"
            f" {caches['number_bytes'][0]}."
        ),
    )


def _chance(value: Any) -> str:
    """A probability as a cell shows it."""
    return rounded(float(value), 2)

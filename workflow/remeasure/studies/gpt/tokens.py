"""How GPT-2 and our models cut the same texts: byte pairs against characters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.byte_pairs import SHOWN_SPACE, Tokenizer, labels, read_tokenizer
from remeasure.studies.gpt.published import NEEDS_BYTES, answer, keys, measurement
from remeasure.studies.gpt.typed import frame_of

CHARACTERS, PAIRS = "our characters", "GPT-2"

CHIPS = declare(
    "tokens of a line",
    {
        "reader": dy.String(),
        "place": dy.Int64(),
        "token": dy.String(),
    },
)

#: Rows that the byte pairs alone answer.
ASKED: tuple[Key, ...] = (
    *keys("stat_gpt2_parity", "tokens of the sentence (computed)"),
    *keys("stat_alphago_loss", "tokens (computed)"),
    *keys("fig_alphago_probs", "column labels (computed)"),
    *keys("stat_ruy_lopez", "prompt tokens (computed)"),
    *keys("fig_kv_timing", "first length on the x axis (computed)"),
    *(key for key in keys("fig_chess_tokens") if "half-moves" not in key[1]),
)


def measure_tokens(*, vocabulary: list[Path], chips: Path) -> list[Measurement]:
    """Step: tokens of the published texts.

    Parameters
    ----------
    vocabulary
        Input, JSON: the manifest of GPT-2's byte pairs, or nothing.
    chips
        Output, Parquet: see `CHIPS`.
    """
    tokenizer = read_tokenizer(vocabulary[0]) if vocabulary else None
    write_frame(line_chips(tokenizer), chips, CHIPS)
    return answer(_answers(tokenizer) if tokenizer else (), ASKED, NEEDS_BYTES)


def line_chips(tokenizer: Tokenizer | None) -> pl.DataFrame:
    """`CHIPS`: the line of ten half-moves as our model reads it, and GPT-2 where it can."""
    ours = article.TEN_HALF_MOVES.replace(". ", ".").replace(" ", SHOWN_SPACE)
    lines = [(CHARACTERS, place, each) for place, each in enumerate(ours)]
    if tokenizer is not None:
        pairs = labels(tokenizer, article.TEN_HALF_MOVES)
        lines = [(PAIRS, place, each) for place, each in enumerate(pairs)] + lines
    return frame_of(lines, CHIPS)


def _answers(tokenizer: Tokenizer) -> Iterator[Measurement]:
    line = labels(tokenizer, article.TEN_HALF_MOVES)
    opening = len(tokenizer.encode(article.RUY_LOPEZ).ids)
    sentence = labels(tokenizer, article.ALPHAGO_TEXT)
    pieces = "|".join(each.replace(SHOWN_SPACE, " ") for each in line)
    values: tuple[int | str, ...] = (
        len(tokenizer.encode(article.PARITY_TEXT).ids),
        len(sentence),
        " | ".join(sentence[1:]),
        opening,
        opening,
        len(line),
        pieces,
    )
    for key, value in zip(ASKED, values, strict=True):
        yield measurement(key, value)

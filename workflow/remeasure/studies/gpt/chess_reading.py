"""Our chess model read as GPT-2 is: probabilities of a line, and guesses layer by layer.

It stands in figures where GPT-2's checkpoint is not at hand, and says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl
import torch

from remeasure.nn.models.gpt2 import GPT2
from remeasure.store.frames import write_frame
from remeasure.studies.gpt.byte_pairs import SHOWN_SPACE
from remeasure.studies.gpt.chess_model import read
from remeasure.studies.gpt.chess_text import ALPHABET, encode
from remeasure.studies.gpt.lens import (
    guesses_by_layer,
    lens_frame,
    token_probabilities,
    tokens_frame,
)
from remeasure.studies.gpt.read_tables import CHESS, LENS, TOKENS

CHESS_TEXT: Final = ";1.e4 e5 2.Nf3 Nc6 3.Bb5 a6"
CHESS_PROMPTS: Final = (";1.e4 e5 2.Nf3 Nc6 3.B", ";1.d4 Nf6 2.c4 e6 3.Nc")


def read_chess(*, weights: Path, tokens: Path, lens: Path) -> None:
    """Step: read our chess model.

    Parameters
    ----------
    weights
        Input, safetensors.
    tokens, lens
        Outputs, Parquet: see ``read_tables``.
    """
    model, device = read(weights), torch.device("cpu")
    write_frame(chess_tokens(model, device), tokens, TOKENS)
    write_frame(chess_lens(model, device), lens, LENS)


def chess_tokens(model: GPT2, device: torch.device) -> pl.DataFrame:
    """`TOKENS` of our chess model on a line of chess."""
    chances = token_probabilities(model, encode(CHESS_TEXT).tolist(), device)
    shown = [each.replace(" ", SHOWN_SPACE) for each in CHESS_TEXT[1:]]
    return tokens_frame(CHESS, shown, chances)


def chess_lens(model: GPT2, device: torch.device) -> pl.DataFrame:
    """`LENS` of our chess model after two openings."""
    frames = []
    for prompt in CHESS_PROMPTS:
        found = guesses_by_layer(model, encode(prompt).tolist(), device)
        shown = [ALPHABET[token].replace(" ", SHOWN_SPACE) for token, _ in found]
        frames.append(lens_frame(CHESS, prompt, found, shown))
    return pl.concat(frames)

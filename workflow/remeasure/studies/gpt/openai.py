"""GPT-2 out of its published checkpoint: its weights, and how it says a move."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch

from remeasure.nn.checkpoints.loading import Report, load
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.generate.greedy import greedy
from remeasure.nn.models.gpt2 import GPT2, NAMES, GPT2Config
from remeasure.studies.gpt.byte_pairs import Tokenizer, read_tokenizer
from remeasure.studies.gpt.chess_text import Format

#: Tokens in which a move must be said.
MOVE_TOKENS: Final = 5


def load_gpt2(manifest: Path) -> tuple[GPT2, Report]:
    """The model of a checkpoint, and what of the checkpoint went where."""
    stored = read_stored(manifest)
    model = GPT2(GPT2Config.from_json(stored.config))
    report = load(model, stored.tensors, NAMES, where=stored.where)
    return model.eval(), report


def read_gpt2(manifest: Path, device: str | torch.device = "cpu") -> tuple[GPT2, Tokenizer]:
    """The model of a checkpoint on a device, and its tokenizer."""
    return load_gpt2(manifest)[0].to(device), read_tokenizer(manifest)


class WordPlayer:
    """GPT-2 as a player: the first word of its next tokens."""

    form: Final[Format] = "spaced"
    longest: Final[int] = 10**9

    def __init__(
        self, model: GPT2, tokenizer: Tokenizer, device: str | torch.device = "cpu"
    ) -> None:
        self._model, self._tokenizer, self._device = model, tokenizer, device

    def word(self, text: str, generator: torch.Generator | None = None) -> str:
        """The first word, or nothing; always the likeliest."""
        room = self._model.config.context - MOVE_TOKENS
        ids = self._tokenizer.encode(text).ids[-room:]
        said = greedy(self._model, [ids], new_tokens=MOVE_TOKENS, end=-1, device=str(self._device))[
            0
        ]
        words = self._tokenizer.decode(said).split()
        return words[0] if words else ""

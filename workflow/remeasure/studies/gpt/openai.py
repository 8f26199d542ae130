"""GPT-2 out of its published checkpoint: weights, byte pairs, and how it says a move."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

import torch

from remeasure.errors import ConfigError, DataError
from remeasure.fetch.manifest import Manifest
from remeasure.nn.checkpoints.loading import Report, load
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.generate.greedy import greedy
from remeasure.nn.models.gpt2 import GPT2, NAMES, GPT2Config

#: Tokens in which a move must be said.
MOVE_TOKENS: Final = 5

#: Names of the two files of byte pairs: the hub's, and those of the package.
_VOCABULARIES: Final = ("vocab.json", "encoder.json")
_MERGES: Final = ("merges.txt", "vocab.bpe")


class Tokenizer(Protocol):
    """What is used of the tokenizers library."""

    def encode(self, sequence: str) -> Any:
        """An encoding with ``ids`` and ``tokens``."""

    def decode(self, ids: list[int]) -> str:
        """The text of some ids."""


def read_tokenizer(manifest: Path) -> Tokenizer:
    """GPT-2's byte pairs out of a manifest of its checkpoint, or of a package that ships them.

    Raises
    ------
    ConfigError
        When the tokenizers library is not installed.
    DataError
        When the manifest holds no byte pairs.
    """
    known = Manifest.read(manifest)
    by_name = {entry.path.rpartition("/")[2]: entry for entry in known.files}
    vocabulary = next((by_name[name] for name in _VOCABULARIES if name in by_name), None)
    merges = next((by_name[name] for name in _MERGES if name in by_name), None)
    if vocabulary is None or merges is None:
        raise DataError(
            f"byte pairs are two files, one of {', '.join(_VOCABULARIES)} and one of"
            f" {', '.join(_MERGES)}; here are {', '.join(sorted(by_name))}",
            where=manifest,
            remedy="fetch the checkpoint again",
        )
    for entry in (vocabulary, merges):
        known.read_verified(entry)
    try:
        from tokenizers import Tokenizer as Library
        from tokenizers import decoders, models, pre_tokenizers
    except ImportError as error:
        raise ConfigError(
            "GPT-2's byte pairs need the tokenizers library, which is not installed",
            where="gpt.vocabulary, gpt.checkpoints",
            remedy="python -m pip install 'remeasure[networks]'",
        ) from error
    pairs = models.BPE.from_file(str(known.file(vocabulary)), str(known.file(merges)))
    made = Library(pairs)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    return made  # type: ignore[no-any-return]


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

    form: Final = "spaced"
    longest: Final = 10**9

    def __init__(
        self, model: GPT2, tokenizer: Tokenizer, device: str | torch.device = "cpu"
    ) -> None:
        self._model, self._tokenizer, self._device = model, tokenizer, device

    def word(self, text: str, generator: torch.Generator | None = None) -> str:
        """The first word, or nothing; always the likeliest."""
        room = self._model.config.context - MOVE_TOKENS
        ids = self._tokenizer.encode(text).ids[-room:]
        said = greedy(
            self._model, [ids], new_tokens=MOVE_TOKENS, end=-1, device=str(self._device)
        )[0]
        words = self._tokenizer.decode(said).split()
        return words[0] if words else ""

"""GPT-2's byte pairs, out of its checkpoint or out of a package that ships them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

from remeasure.errors import ConfigError, DataError
from remeasure.fetch.manifest import Manifest

#: Names of the two files of byte pairs: the hub's, and those of the package.
_VOCABULARIES: Final = ("vocab.json", "encoder.json")
_MERGES: Final = ("merges.txt", "vocab.bpe")

#: How a space shows in labels, and GPT-2's own sign for it inside tokens.
SHOWN_SPACE, _SPACE = "␣", "Ġ"


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
    return made


def labels(tokenizer: Tokenizer, text: str) -> list[str]:
    """Tokens as figures label them: a leading space shows."""
    return [each.replace(_SPACE, SHOWN_SPACE) for each in tokenizer.encode(text).tokens]

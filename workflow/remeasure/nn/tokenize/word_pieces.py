"""WordPiece as BERT uses it (Devlin et al. 2019): words cut into the longest known pieces.

Text is cleaned, split at spaces and punctuation and, for uncased models, lower-cased and
stripped of accents. Every piece knows which characters of the original text it covers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from remeasure.errors import DataError

_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

#: A character with its place in the original text.
Placed = tuple[str, int]


@dataclass(frozen=True)
class Pieces:
    """A text in pieces.

    Attributes
    ----------
    tokens, ids
        Their writing and numbers.
    spans
        First character and the one after the last, in the original text.
    """

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]


def clean(text: str, *, lower: bool, start: int = 0) -> list[Placed]:
    """Characters that count, each with its place: no control characters, plain spaces,
    spaces round Chinese characters, and without case and accents if so wanted."""
    out: list[Placed] = []
    for place, character in enumerate(text, start):
        if character in "\t\n\r":
            out.append((" ", place))
        elif character in "\0\ufffd" or unicodedata.category(character)[0] == "C":
            continue
        elif character.isspace():
            out.append((" ", place))
        elif any(low <= ord(character) <= high for low, high in _CJK):
            out += [(" ", place), (character, place), (" ", place)]
        elif lower:
            out += [(each, place) for each in _bare(character)]
        else:
            out.append((character, place))
    return out


def _bare(character: str) -> str:
    """Lower case without accents; one character alone, so that a sigma never is a final one."""
    parts = unicodedata.normalize("NFD", character)
    kept = (part.lower() for part in parts if unicodedata.category(part) != "Mn")
    return "".join(kept)


def is_punctuation(character: str) -> bool:
    """ASCII signs that are no letter, digit or space, and Unicode's punctuation."""
    if "!" <= character <= "~":
        return not character.isalnum()
    return unicodedata.category(character)[0] == "P"


def words(characters: Sequence[Placed]) -> list[list[Placed]]:
    """Runs between spaces, every punctuation character alone."""
    out: list[list[Placed]] = []
    fresh = True
    for each in characters:
        if each[0].isspace():
            fresh = True
        elif is_punctuation(each[0]):
            out.append([each])
            fresh = True
        else:
            if fresh:
                out.append([])
            out[-1].append(each)
            fresh = False
    return out


class WordPieces:
    """BERT's tokenizer without the framing tokens.

    Parameters
    ----------
    vocabulary
        Token to id.
    lower
        Whether the model is an uncased one.
    longest
        Words with more characters are unknown.
    """

    def __init__(
        self, vocabulary: Mapping[str, int], *, lower: bool = True, longest: int = 100
    ) -> None:
        self.vocabulary = dict(vocabulary)
        self.lower, self.longest = lower, longest
        there = [token for token in SPECIAL if token in self.vocabulary]
        self._special = re.compile("|".join(re.escape(token) for token in there) or "(?!)")

    @classmethod
    def read(cls, path: Path, *, lower: bool = True) -> WordPieces:
        """From a ``vocab.txt``: one token a line, its number the line's.

        Raises
        ------
        DataError
            When the file is missing or has no ``[UNK]``.
        """
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except FileNotFoundError as error:
            raise DataError(
                "this vocabulary does not exist", where=path, remedy="fetch the checkpoint"
            ) from error
        found = {line.rstrip("\r"): number for number, line in enumerate(lines) if line}
        if "[UNK]" not in found:
            raise DataError(
                "this is no vocabulary of WordPiece: it has no [UNK]",
                where=path,
                remedy="delete the file and fetch it again",
            )
        return cls(found, lower=lower)

    def pieces(self, word: str) -> list[tuple[str, int, int]]:
        """The longest known piece, then the longest that continues it, ...; or the unknown.

        Returns
        -------
        list
            Token and the characters of the word that it covers.
        """
        whole = [("[UNK]", 0, len(word))]
        if len(word) > self.longest:
            return whole
        out: list[tuple[str, int, int]] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            for end in range(len(word), start, -1):
                if mark + word[start:end] in self.vocabulary:
                    out.append((mark + word[start:end], start, end))
                    start = end
                    break
            else:
                return whole
        return out

    def encode(self, text: str) -> Pieces:
        """A text in pieces; special tokens written in it are kept as they are."""
        tokens: list[str] = []
        spans: list[tuple[int, int]] = []
        place = 0
        for hit in [*self._special.finditer(text), None]:
            stop = len(text) if hit is None else hit.start()
            for word in words(clean(text[place:stop], lower=self.lower, start=place)):
                for token, start, end in self.pieces("".join(letter for letter, _ in word)):
                    tokens.append(token)
                    spans.append((word[start][1], word[end - 1][1] + 1))
            if hit is not None:
                tokens.append(hit[0])
                spans.append(hit.span())
                place = hit.end()
        ids = tuple(self.vocabulary[token] for token in tokens)
        return Pieces(tuple(tokens), ids, tuple(spans))

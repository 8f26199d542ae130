"""Byte-level BPE (Radford et al. 2019): tokens are runs of bytes, so nothing is unknown.

Each byte is written as a printable character, a space as ``Ġ``. Text is first split into
words as GPT-2 does; merges then stay inside them.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from remeasure.nn.tokenize.merging import Learned, Pair, Tie, learn, merge_word

_CONTRACTION = re.compile(r"'(?:s|t|re|ve|m|ll|d)")
_RUN = re.compile(r" ?L+| ?N+| ?O+|[ S]+(?![^ S])|[ S]+")


def _byte_characters() -> dict[int, str]:
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {byte: chr(byte) for byte in shown} | {
        byte: chr(0x100 + place) for place, byte in enumerate(hidden)
    }


#: How each byte is written, and the way back.
CHARACTER = _byte_characters()
BYTE = {character: byte for byte, character in CHARACTER.items()}


def split(text: str) -> list[str]:
    """GPT-2's words: contractions, and runs of letters, of numbers or of other signs, each
    with at most one space in front; of several spaces the last belongs to what follows.

    Joined, they are the text again.
    """
    kinds = "".join(_kind(character) for character in text)
    words, place = [], 0
    while place < len(text):
        hit = _CONTRACTION.match(text, place) or _RUN.match(kinds, place)
        end = hit.end() if hit else place + 1  # one of the two always fits
        words.append(text[place:end])
        place = end
    return words


def _kind(character: str) -> str:
    if character == " ":
        return " "
    if character.isspace() and not "\x1c" <= character <= "\x1f":
        return "S"
    major = unicodedata.category(character)[0]
    return major if major in "LN" else "O"


def written(word: str) -> tuple[str, ...]:
    """A word in bytes, as they are written."""
    return tuple(CHARACTER[byte] for byte in word.encode())


def learn_bytes(texts: Iterable[str], merges: int, *, tie: Tie = "oldest") -> Learned:
    """Merges of byte-level BPE from texts; all 256 bytes are in the alphabet."""
    words = Counter(word for text in texts for word in split(text))
    symbols: Counter[tuple[str, ...]] = Counter()
    for word, count in words.items():
        symbols[written(word)] += count
    return learn(symbols, merges, tie=tie, alphabet=CHARACTER.values())


class BytePairs:
    """Encodes by replaying merges in the order in which they were learned.

    Parameters
    ----------
    vocabulary
        Token to id; holds every byte and every merge.
    merges
        In order.
    """

    def __init__(self, vocabulary: Mapping[str, int], merges: Sequence[Pair]) -> None:
        self.vocabulary = dict(vocabulary)
        self.token = {number: token for token, number in self.vocabulary.items()}
        self.order = {pair: place for place, pair in enumerate(merges)}
        self._seen: dict[str, list[int]] = {}

    @classmethod
    def of(cls, learned: Learned) -> BytePairs:
        """With ids in the order of learning: the alphabet, then merges."""
        tokens = [*learned.alphabet, *(left + right for left, right in learned.merges)]
        return cls({token: n for n, token in enumerate(dict.fromkeys(tokens))}, learned.merges)

    def pieces(self, word: str) -> list[str]:
        """One word of `split` in tokens: the earliest merge that applies, until none does."""
        symbols = list(written(word))
        while len(symbols) > 1:
            pairs = pairwise(symbols)
            best = min(pairs, key=lambda pair: self.order.get(pair, len(self.order)))
            if best not in self.order:
                break
            symbols = merge_word(symbols, best, best[0] + best[1])
        return symbols

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        out: list[int] = []
        for word in split(text):
            if word not in self._seen:
                self._seen[word] = [self.vocabulary[piece] for piece in self.pieces(word)]
            out += self._seen[word]
        return out

    def decode(self, ids: Iterable[int]) -> str:
        """The text again; bytes that are no UTF-8 become U+FFFD."""
        characters = "".join(self.token[number] for number in ids)
        return bytes(BYTE[character] for character in characters).decode(errors="replace")

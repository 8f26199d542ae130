"""A vocabulary learned by merging neighbours again and again: BPE and WordPiece.

Both start from single characters and differ in which pair they merge next. BPE takes the
most frequent (Sennrich et al. 2016). WordPiece takes the one with the largest
``count(ab) / (count(a) count(b))``, said to be the gain in likelihood, which it is not:
the exact gain is here as well.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

Pair = tuple[str, str]
Tie = Literal["largest", "oldest"]
#: From counts of the pair, of its left and right parts and of all symbols to a score.
Score = Callable[[int, int, int, int], float]


def frequency(pair: int, left: int, right: int, total: int) -> float:
    """BPE's: how often the pair occurs."""
    return pair


def association(pair: int, left: int, right: int, total: int) -> float:
    """WordPiece's: how much more often than its parts would meet by chance."""
    return pair / (left * right)


def likelihood_gain(pair: int, left: int, right: int, total: int) -> float:
    """What a merge adds to the log-likelihood of all symbols drawn one by one.

    The two parts are taken to be different symbols; the law is refitted after the merge.
    """

    def term(count: int) -> float:
        return count * math.log(count) if count else 0.0

    before = term(left) + term(right) - term(total)
    after = term(left - pair) + term(right - pair) + term(pair) - term(total - pair)
    return after - before


def plain(left: str, right: str) -> str:
    """Symbols joined as they are."""
    return left + right


def marked(left: str, right: str) -> str:
    """Symbols of which ``##`` says that they continue a word."""
    return left + right.removeprefix("##")


def continued(word: str) -> tuple[str, ...]:
    """A word in characters, all but the first marked by ``##``."""
    return tuple(letter if place == 0 else f"##{letter}" for place, letter in enumerate(word))


@dataclass(frozen=True)
class Learned:
    """What merging led to.

    Attributes
    ----------
    alphabet
        The symbols of the start, sorted.
    merges
        In order.
    words
        The text's words as they are written now, with their counts.
    """

    alphabet: tuple[str, ...]
    merges: tuple[Pair, ...]
    words: dict[tuple[str, ...], int]

    def tokens(self) -> int:
        """How many symbols the text has now."""
        return sum(len(word) * count for word, count in self.words.items())


def merge_word(word: list[str], pair: Pair, joined: str) -> list[str]:
    """A word with every occurrence of a pair joined, from the left."""
    out: list[str] = []
    place = 0
    while place < len(word):
        if place + 1 < len(word) and (word[place], word[place + 1]) == pair:
            out.append(joined)
            place += 2
        else:
            out.append(word[place])
            place += 1
    return out


def learn(
    words: Mapping[tuple[str, ...], int],
    merges: int,
    *,
    score: Score = frequency,
    join: Callable[[str, str], str] = plain,
    tie: Tie = "oldest",
    alphabet: Iterable[str] = (),
) -> Learned:
    """Merge the best pair, so many times or until no word has two symbols.

    Counts of pairs are kept up to date word by word, so that a merge costs the words in
    which it happens.

    Parameters
    ----------
    words
        Each distinct word in symbols, with its count.
    merges
        How many at most.
    score
        The best pair has the largest.
    join
        How two symbols are written as one.
    tie
        Among equal scores: the pair largest in alphabetical order, or the one whose symbols
        are oldest (the alphabet sorted, then merges in order), left first, as the
        ``tokenizers`` library has it.
    alphabet
        Symbols that are there even if no word has them.
    """
    texts = [list(word) for word in words]
    counts = list(words.values())
    start = sorted({symbol for text in texts for symbol in text} | set(alphabet))
    age = {symbol: place for place, symbol in enumerate(start)}
    singles: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)

    def account(place: int, sign: int) -> None:
        text, count = texts[place], sign * counts[place]
        for symbol in text:
            singles[symbol] += count
        for pair in pairwise(text):
            pairs[pair] += count
            if sign > 0:
                where[pair].add(place)

    def rank(pair: Pair) -> tuple[float, object, object]:
        worth = score(pairs[pair], singles[pair[0]], singles[pair[1]], total)
        return (worth, *pair) if tie == "largest" else (worth, -age[pair[0]], -age[pair[1]])

    for place in range(len(texts)):
        account(place, 1)
    done: list[Pair] = []
    for _ in range(merges):
        alive = [pair for pair, count in pairs.items() if count > 0]
        if not alive:
            break
        total = singles.total()
        best = max(alive, key=rank)
        joined = join(*best)
        done.append(best)
        age.setdefault(joined, len(age))
        for place in sorted(where.pop(best)):
            account(place, -1)
            texts[place] = merge_word(texts[place], best, joined)
            account(place, 1)
        pairs.pop(best, None)
    left: Counter[tuple[str, ...]] = Counter()
    for text, count in zip(texts, counts, strict=True):
        left[tuple(text)] += count
    return Learned(tuple(start), tuple(done), dict(left))

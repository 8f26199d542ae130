"""The unigram tokenizer (Kudo 2018; SentencePiece): the likeliest way to cut a text.

Every piece has a log-probability; a segmentation is as likely as the product of its pieces.
Encoding takes the best segmentation (Viterbi). Training starts from far too many pieces,
fits their probabilities over all segmentations (expectation maximisation) and drops those
that the text would miss least, again and again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy.special import digamma

#: What an unknown character costs beyond the least likely piece.
UNKNOWN_PENALTY = 10.0


@dataclass(frozen=True)
class Cut:
    """One segmentation.

    Attributes
    ----------
    pieces
        In order; together they are the text.
    score
        The sum of their log-probabilities.
    """

    pieces: tuple[str, ...]
    score: float


class Unigram:
    """Pieces with log-probabilities.

    Parameters
    ----------
    scores
        Log-probability of each piece.
    fuse
        Neighbouring unknown characters are written as one piece.
    """

    def __init__(self, scores: Mapping[str, float], *, fuse: bool = True) -> None:
        self.scores = dict(scores)
        self.fuse = fuse
        self.longest = max(map(len, self.scores))
        self.unknown = min(self.scores.values()) - UNKNOWN_PENALTY

    def _ending_at(
        self, text: str, end: int, without: str | None = None
    ) -> Iterable[tuple[int, float]]:
        """Start and score of every piece of the text that ends there; a lone character always."""
        for start in range(max(0, end - self.longest), end):
            piece = text[start:end]
            if piece in self.scores and piece != without:
                yield start, self.scores[piece]
            elif start == end - 1:
                yield start, self.unknown

    def cut(self, text: str, *, without: str | None = None) -> Cut:
        """The likeliest segmentation (Viterbi); of equally likely ones the longest last piece.

        Parameters
        ----------
        without
            A piece that may not be used.
        """
        best = [0.0]
        back = [0]
        for end in range(1, len(text) + 1):
            choices = [
                (best[start] + score, -start)
                for start, score in self._ending_at(text, end, without)
            ]
            score, start = max(choices)
            best.append(score)
            back.append(-start)
        pieces: list[str] = []
        end = len(text)
        while end:
            piece = text[back[end] : end]
            lost = piece not in self.scores
            if self.fuse and lost and pieces and pieces[-1][0] not in self.scores:
                pieces[-1] = piece + pieces[-1]
            else:
                pieces.append(piece)
            end = back[end]
        return Cut(tuple(reversed(pieces)), best[-1])

    def evidence(self, text: str) -> float:
        """Log of the sum of the likelihoods of all segmentations."""
        return self._forward(text)[-1]

    def expected(self, text: str) -> dict[str, float]:
        """How often each piece occurs in a segmentation, on average over all by likelihood."""
        ahead = self._forward(text)
        behind = [-math.inf] * len(text) + [0.0]
        steps = [
            (start, end, score)
            for end in range(1, len(text) + 1)
            for start, score in self._ending_at(text, end)
        ]
        for start, end, score in sorted(steps, key=lambda step: -step[1]):
            behind[start] = _log_add(behind[start], behind[end] + score)
        out: dict[str, float] = {}
        for start, end, score in steps:
            share = math.exp(ahead[start] + score + behind[end] - ahead[-1])
            piece = text[start:end]
            out[piece] = out.get(piece, 0.0) + share
        return out

    def _forward(self, text: str) -> list[float]:
        ahead = [0.0]
        for end in range(1, len(text) + 1):
            total = -math.inf
            for start, score in self._ending_at(text, end):
                total = _log_add(total, ahead[start] + score)
            ahead.append(total)
        return ahead


def _log_add(left: float, right: float) -> float:
    """``log(exp(left) + exp(right))``."""
    if left < right:
        left, right = right, left
    return left if right == -math.inf else left + math.log1p(math.exp(right - left))


def seeds(words: Mapping[str, int], size: int, longest: int = 16) -> dict[str, float]:
    """All characters and the substrings that cover most text (count times length), occurring twice.

    Parameters
    ----------
    words
        Each distinct word with its count.
    size
        Of what comes out, single characters included.

    Returns
    -------
    dict
        Log-probabilities proportional to that cover.
    """
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + longest) + 1):
                counts[word[start:end]] += count
    single = {piece: float(count) for piece, count in counts.items() if len(piece) == 1}
    cover = {
        piece: float(count * len(piece))
        for piece, count in counts.items()
        if len(piece) > 1 and count > 1
    }
    most = sorted(cover, key=lambda piece: (-cover[piece], piece))[: max(0, size - len(single))]
    return _normalised(single | {piece: cover[piece] for piece in most})


def _normalised(weights: Mapping[str, float]) -> dict[str, float]:
    total = math.log(math.fsum(weights.values()))
    return {piece: math.log(weight) - total for piece, weight in weights.items()}


def counted(words: Mapping[str, int], model: Unigram) -> dict[str, float]:
    """Expected counts of all pieces over a text (the E step)."""
    out = dict.fromkeys(model.scores, 0.0)
    for word, count in words.items():
        for piece, share in model.expected(word).items():
            if piece in out:
                out[piece] += share * count
    return out


def refit(words: Mapping[str, int], model: Unigram, *, sparse: bool = True) -> Unigram:
    """One round of expectation maximisation; single characters stay whatever happens.

    Parameters
    ----------
    sparse
        As SentencePiece: pieces expected less than half a time go, and the digamma function
        in place of the logarithm takes from the rare (a Dirichlet prior that favours few
        pieces). Without it the likelihood of the text never falls.
    """
    counts = counted(words, model)
    if not sparse:
        tiny = min(value for value in counts.values() if value > 0) * 1e-9
        return Unigram(_normalised({piece: max(count, tiny) for piece, count in counts.items()}))
    kept = {
        piece: max(count, 0.5) for piece, count in counts.items() if count >= 0.5 or len(piece) == 1
    }
    total = float(digamma(math.fsum(kept.values())))
    return Unigram({piece: float(digamma(count)) - total for piece, count in kept.items()})


def prune(words: Mapping[str, int], model: Unigram, size: int) -> Unigram:
    """The ``size`` pieces that the text would miss most, and all single characters.

    A piece is missed by what its occurrences in the best segmentations would lose if each
    were written in the best other way. Probabilities stay as they are: refit afterwards.
    """
    used: Counter[str] = Counter()
    for word, count in words.items():
        for piece in model.cut(word).pieces:
            used[piece] += count
    loss: dict[str, float] = {}
    for piece, score in model.scores.items():
        if len(piece) == 1:
            continue
        if used[piece]:
            loss[piece] = used[piece] * (score - model.cut(piece, without=piece).score)
        else:
            loss[piece] = 0.0
    single = [piece for piece in model.scores if len(piece) == 1]
    most = sorted(loss, key=lambda piece: (-loss[piece], piece))[: max(0, size - len(single))]
    kept = {*single, *most}
    return Unigram({piece: score for piece, score in model.scores.items() if piece in kept})


def train(
    words: Mapping[str, int],
    size: int,
    *,
    start: int | None = None,
    shrink: float = 0.75,
    rounds: int = 2,
    longest: int = 16,
) -> Unigram:
    """A vocabulary of at most ``size`` pieces for a text, all its characters among them.

    Parameters
    ----------
    words
        Each distinct word with its count.
    start
        Pieces of the first vocabulary; ten times ``size`` when None.
    shrink
        Share of the pieces that a pruning keeps.
    rounds
        Of expectation maximisation between prunings.
    longest
        Characters of a piece at most.
    """
    model = Unigram(seeds(words, 10 * size if start is None else start, longest))
    while True:
        for _ in range(rounds):
            model = refit(words, model)
        if len(model.scores) <= size:
            return model
        smaller = prune(words, model, max(size, int(shrink * len(model.scores))))
        if len(smaller.scores) == len(model.scores):
            return model  # nothing but single characters is left
        model = smaller

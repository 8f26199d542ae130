"""BART: what each corruption hides, and what full targets cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.chains import Floats, random_chain, stationary
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.settings import BartSettings
from remeasure.studies.identities.sides import Sides

ARTICLE = "bart"

BITS, POSITION = "bart_tab_bits", "bart_stat_position_term"
RESTORED, CHANCE = "bart_tab_reconstruction", "bart_stat_chance"
FULL, WHOLE_COST, PARAMS = "bart_tab_full_vs_span", "bart_tab_whole", "bart_tab_params"

#: The experiment: states, length, corrupted positions, documents of a printed sample.
STATES, LENGTH, CORRUPTED, DOCUMENTS = 3, 8, 2, 40
CONCENTRATIONS = (0.1, 0.3, 0.5, 1.0, 3.0, 10.0)

#: Enumerated chains (printed: seeds 0 to 39).
CHAINS = 40

#: Of a document: corrupted share of BART's spans, of T5's, and the mean length of both.
INFILLED, SPANNED, SPAN = Fraction(30, 100), Fraction(15, 100), 3
TOKENS = 512

Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.float64]


class BartStep(Model):
    """What the step is told."""

    bart: BartSettings


# --- bits -----------------------------------------------------------------------------------


def log2_factorial(n: int) -> float:
    """``log2 n!`` by the log-gamma function."""
    return math.lgamma(n + 1) / math.log(2)


def log2_choose(n: int, k: int) -> float:
    """``log2 C(n, k)`` likewise."""
    return log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k)


def _bits(book: Book, sides: Sides, points: Points) -> None:
    deletion = book.case(BITS, "ambiguity of deletion")
    lost = int(deletion.row.condition.split()[0])
    n, words = int(deletion.row.condition.split()[2]), deletion.whole("V")
    sentences = int(book.case(BITS, "ambiguity of sentence permutation").row.condition.split()[0])
    masking = lost * math.log2(words)
    positions = log2_choose(n, lost)
    bits = {
        "rotation": math.log2(n),
        "sentence permutation": log2_factorial(sentences),
        "masking": masking,
        "deletion": positions + masking,
    }
    exact = [n, math.factorial(sentences), words**lost, math.comb(n, lost) * words**lost]
    sides.close(
        "bits that each corruption hides",
        "logarithms of gamma functions",
        [*bits.values()],
        "logarithms of exact integers",
        [math.log2(each) for each in exact],
        units=16.0,
        scale=1600.0,
    )
    sides.exact(
        "a document of s sentences has s! orders, k of n positions C(n,k) choices",
        "factorial and binomial coefficient",
        [math.factorial(6), math.comb(9, 4), 9],
        "orders, choices and rotations listed",
        [
            len(set(permutations(range(6)))),
            len(list(combinations(range(9), 4))),
            len({tuple(range(9)[i:]) + tuple(range(9)[:i]) for i in range(9)}),
        ],
    )
    book.one(BITS, "ambiguity of rotation", bits["rotation"])
    book.one(BITS, "ambiguity of sentence permutation", bits["sentence permutation"])
    book.put(deletion, bits["deletion"])
    book.one(BITS, "identity ambiguity (masking)", bits["masking"])
    book.one(BITS, "deletion over rotation", bits["deletion"] / bits["rotation"])
    book.one(BITS, "permutation over rotation", bits["sentence permutation"] / bits["rotation"])
    book.one(POSITION, "log2 C(512; 77)", positions)
    book.one(POSITION, "position over identity ambiguity", positions / masking)
    book.fill(
        "bart_tab_permutation",
        "log2 s!",
        lambda case: log2_factorial(int(case.row.condition.split()[0])),
    )
    for name, value in bits.items():
        points.add(BITS, "bits", value, label=name)


def poisson(mean: float, k: int) -> float:
    """``e^-m m^k / k!``."""
    return math.exp(-mean) * mean**k / math.factorial(k)


def _poisson(book: Book, sides: Sides, points: Points) -> None:
    from scipy.special import pdtr

    tab = "bart_tab_poisson"
    lengths = list(range(13))
    below = np.array([0.0, *(pdtr(k, SPAN) for k in lengths)])
    sides.close(
        "lengths of spans follow Poisson(3)",
        "e⁻ᵐmᵏ/k!",
        [poisson(SPAN, k) for k in lengths],
        "differences of scipy.special.pdtr",
        np.diff(below),
        units=16.0,
    )
    for case in book.cases(tab):
        if case.row.quantity.startswith("P("):
            k = int(case.row.quantity[2:-1])
            book.put(case, poisson(SPAN, k))
            points.add(tab, "probability", poisson(SPAN, k), x=k)
    spans = float(TOKENS * INFILLED / SPAN)
    book.one(tab, "spans", spans)
    book.one(tab, "empty spans", spans * poisson(SPAN, 0))
    book.one(tab, "predictions per sequence at any corruption rate", TOKENS)


# --- reconstruction -------------------------------------------------------------------------


@dataclass(frozen=True)
class Documents:
    """Every document of a size with every choice of corrupted positions.

    Attributes
    ----------
    states
        Symbols that there are.
    symbols
        All documents, shape (documents, length).
    pairs
        All choices of corrupted positions, shape (choices, corrupted).
    rests
        The positions that each choice leaves, shape (choices, length - corrupted).
    left
        Code of the symbols that are left, in order, shape (choices, documents).
    """

    states: int
    symbols: Codes
    pairs: Codes
    rests: Codes
    left: Codes


@cache
def documents(states: int, length: int, corrupted: int) -> Documents:
    """Enumerate them once."""
    symbols = np.array(list(product(range(states), repeat=length)), dtype=np.int64)
    pairs = np.array(list(combinations(range(length), corrupted)), dtype=np.int64)
    rests = np.array([np.setdiff1d(np.arange(length), pair) for pair in pairs])
    power = states ** np.arange(length - corrupted)[::-1]
    left = np.array([symbols[:, rest] @ power for rest in rests])
    return Documents(states, symbols, pairs, rests, left)


def probabilities(chain: Floats, symbols: Codes) -> Floats:
    """Probability of each document under the stationary chain, shape (documents,)."""
    steps = chain[symbols[:, :-1], symbols[:, 1:]]
    return np.asarray(stationary(chain)[symbols[:, 0]] * steps.prod(axis=1))


def restored(law: Floats, every: Documents) -> tuple[Flags, Flags]:
    """Corrupted symbols that the best decoder restores after masking, and after deletion.

    The decoder weighs every document and choice that leave what it sees, and takes at each
    position the likeliest symbol. After masking it knows which positions were corrupted; after
    deletion it does not, and is scored on them all the same.
    Source: BART, mathematical foundation.

    Parameters
    ----------
    law
        Probability of each document.

    Returns
    -------
    Two counts of shape (choices, documents).
    """
    states, length = every.states, every.symbols.shape[1]
    joint = law.reshape((states,) * length)
    texts = every.left.max() + 1
    # Votes by what is left, position and symbol; hidden ones by choice, too.
    votes = np.zeros((length, texts, states))
    hidden = np.zeros((*every.pairs.shape, texts, states))
    shown = np.array(list(product(range(states), repeat=every.rests.shape[1])))
    for choice, (pair, rest) in enumerate(zip(every.pairs, every.rests, strict=True)):
        fillings = joint.transpose(*rest, *pair).reshape(texts, *(states,) * pair.size)
        total = fillings.reshape(texts, -1).sum(axis=1)
        for place, position in enumerate(pair):
            others = tuple(axis for axis in range(1, pair.size + 1) if axis != place + 1)
            hidden[choice, place] = fillings.sum(axis=others)
            votes[position] += hidden[choice, place]
        for place, position in enumerate(rest):
            votes[position, np.arange(texts), shown[:, place]] += total
    masking, deletion = np.zeros(every.left.shape), np.zeros(every.left.shape)
    for place in range(every.pairs.shape[1]):
        truth = every.symbols[:, every.pairs[:, place]].T
        for found, asked in (
            (masking, hidden[:, place]),
            (deletion, votes[every.pairs[:, place]]),
        ):
            found += np.take_along_axis(asked.argmax(axis=2), every.left, axis=1) == truth
    return masking, deletion


def accuracies(chain: Floats, every: Documents) -> tuple[float, float]:
    """Expected share of corrupted symbols restored after masking, and after deletion."""
    law = probabilities(chain, every.symbols)
    masking, deletion = restored(law, every)
    return _expected(law, masking, every), _expected(law, deletion, every)


def _expected(law: Floats, right: Flags, every: Documents) -> float:
    return float((right @ law).mean() / every.pairs.shape[1])


def masking_by_maxima(chain: Floats, states: int, length: int) -> float:
    """Accuracy after masking two symbols, without decoding: a sum of largest probabilities."""
    every = documents(states, length, CORRUPTED)
    joint = probabilities(chain, every.symbols).reshape((states,) * length)
    return float(
        np.mean(
            [
                joint.sum(axis=other).max(axis=one if one < other else one - 1).sum()
                for pair in combinations(range(length), CORRUPTED)
                for one, other in (pair, pair[::-1])
            ]
        )
    )


def deletion_one_by_one(chain: Floats, states: int, length: int) -> float:
    """Accuracy after deletion, document by document: every hypothesis listed and weighed."""
    law = stationary(chain)
    positions = list(combinations(range(length), CORRUPTED))

    def weight(text: tuple[int, ...]) -> float:
        value = float(law[text[0]])
        for a, b in pairwise(text):
            value *= float(chain[a, b])
        return value

    def hypotheses(rest: tuple[int, ...]) -> list[tuple[int, ...]]:
        texts = []
        for pair in positions:
            for filling in product(range(states), repeat=CORRUPTED):
                text = list(rest)
                for place, symbol in zip(pair, filling, strict=True):
                    text.insert(place, symbol)
                texts.append(tuple(text))
        return texts

    decoded: dict[tuple[int, ...], list[int]] = {}
    for rest in product(range(states), repeat=length - CORRUPTED):
        votes = np.zeros((length, states))
        for text in hypotheses(rest):
            votes[range(length), text] += weight(text)
        decoded[rest] = [int(each) for each in votes.argmax(axis=1)]
    right = 0.0
    for text in product(range(states), repeat=length):
        for pair in positions:
            guess = decoded[tuple(s for i, s in enumerate(text) if i not in pair)]
            right += weight(text) * sum(guess[i] == text[i] for i in pair)
    return right / len(positions) / CORRUPTED


def sample(
    law: Floats,
    every: Documents,
    rights: tuple[Flags, Flags],
    shape: tuple[int, int],
    rng: Generator,
) -> Floats:
    """Accuracies of decoders on random documents, shape (samples, decoders).

    ``shape`` is samples and documents a sample; all decoders see the same ones.
    """
    text = rng.choice(law.size, size=shape, p=law / law.sum())
    pair = rng.integers(0, len(every.pairs), shape)
    each = [right[pair, text].mean(axis=1) / every.pairs.shape[1] for right in rights]
    return np.stack(each, axis=1)


@dataclass(frozen=True)
class Restored:
    """Exact accuracies of the chains of one concentration, and samples of 40 documents.

    Arrays of shape (chains, 2) and (samples, 2): masking, deletion.
    """

    exact: Floats
    sampled: Floats


def _experiment(concentration: float, options: BartSettings, rng: Generator) -> Restored:
    every = documents(STATES, LENGTH, CORRUPTED)
    each = max(2, options.samples // options.chains)
    exact, sampled = [], []
    for seed in range(options.chains):
        law = probabilities(random_chain(STATES, concentration, seed), every.symbols)
        rights = restored(law, every)
        exact.append([_expected(law, right, every) for right in rights])
        sampled.append(sample(law, every, rights, (each, DOCUMENTS), rng))
    return Restored(np.array(exact), np.concatenate(sampled))


def _reconstruction(
    book: Book, sides: Sides, points: Points, options: BartSettings, rng: Generator
) -> None:
    found = {c: _experiment(c, options, rng) for c in CONCENTRATIONS}
    every = documents(STATES, LENGTH, CORRUPTED)
    short = documents(2, 6, CORRUPTED)
    small = [random_chain(2, c, seed) for c in (0.3, 1.0) for seed in range(3)]
    sides.close(
        "accuracy after masking",
        "decoding every document",
        [accuracies(c, short)[0] for c in small]
        + [each.exact[seed, 0] for each in found.values() for seed in (0, 1)],
        "sum of the largest probabilities",
        [masking_by_maxima(c, 2, 6) for c in small]
        + [masking_by_maxima(random_chain(STATES, c, seed), STATES, LENGTH)
           for c in found for seed in (0, 1)],
        units=2**16,
    )  # fmt: skip
    sides.close(
        "accuracy after deletion",
        "tables over every document and choice",
        [accuracies(c, short)[1] for c in small],
        "document by document, every hypothesis listed",
        [deletion_one_by_one(c, 2, 6) for c in small],
        units=2**16,
    )  # fmt: skip
    exact = np.concatenate([each.exact for each in found.values()])
    sides.at_most(
        "knowing the positions never hurts",
        "accuracy after deletion",
        exact[:, 1],
        f"after masking, {len(exact)} chains",
        exact[:, 0],
        units=4096.0,
    )
    means = np.array([each.sampled.mean(axis=0) for each in found.values()])
    # Of one sample, at most: every restored symbol is right or wrong.
    errors = np.sqrt(0.25 / DOCUMENTS / np.array([len(each.sampled) for each in found.values()]))
    sides.simulated(
        "expected accuracies",
        "exact enumeration",
        np.array([each.exact.mean(axis=0) for each in found.values()]),
        f"samples of {DOCUMENTS} documents from the same chains",
        means,
        errors[:, None],
    )
    hypotheses = np.bincount(every.left.ravel())
    sides.exact(
        "hypotheses after masking and after deletion",
        "Kᵏ and C(n,k)·Kᵏ",
        [STATES**CORRUPTED, math.comb(LENGTH, CORRUPTED) * STATES**CORRUPTED],
        "documents and choices that leave one text",
        [
            int(np.bincount(every.left[0]).max()),
            int(hypotheses.max()) if hypotheses.min() == hypotheses.max() else -1,
        ],
    )
    _put_exact(book, found, options)
    _put_samples(book, found)
    for c, each in found.items():
        for name, column in (("masking", 0), ("deletion", 1)):
            low, high = np.quantile(each.sampled[:, column], [0.025, 0.975])
            points.add(
                RESTORED,
                name,
                float(each.exact[:, column].mean()),
                x=c,
                low=float(low),
                high=float(high),
            )


def _put_exact(book: Book, found: dict[float, Restored], options: BartSettings) -> None:
    coverage = WHOLE if options.chains == CHAINS else f"{options.chains} of {CHAINS} chains"
    book.one(RESTORED, "fillings under masking K^k", STATES**CORRUPTED)
    combined = math.comb(LENGTH, CORRUPTED) * STATES**CORRUPTED
    book.one(RESTORED, "hypotheses under deletion C(n;k) K^k", combined)
    book.one(CHANCE, "chance floor", 1 / STATES)
    for case in [*book.cases(RESTORED), *book.cases(CHANCE)]:
        if not case.has("mean of 40 chains"):
            continue
        exact = found[case.number("concentration")].exact
        values = {
            "masking accuracy": exact[:, 0].mean(),
            "deletion accuracy": exact[:, 1].mean(),
            "gap": (exact[:, 0] - exact[:, 1]).mean(),
            "share of chains with exact deletion accuracy below 1/3": (
                exact[:, 1] < 1 / STATES
            ).mean(),
        }
        book.put(case, float(values[case.row.quantity]), coverage=coverage)
    every = documents(STATES, LENGTH, CORRUPTED)
    for kind, quantity in enumerate(("exact masking accuracy", "exact deletion accuracy")):
        for case in book.cases(RESTORED, quantity):
            chain = random_chain(STATES, case.number("concentration"), case.whole("seed"))
            book.put(case, accuracies(chain, every)[kind])


def _put_samples(book: Book, found: dict[float, Restored]) -> None:
    """The printed samples: their chains and seeds are lost, two of three concentrations too."""
    lost = "underdetermined: chain and seed are not printed"

    def put(case: Case, values: Floats, note: str) -> None:
        low, high = np.quantile(values, [0.025, 0.975])
        note = (
            f"{note}; mean and 95% range of {values.size} samples of {DOCUMENTS} documents,"
            f" possible are {values.min():.4f} to {values.max():.4f}"
        )
        book.put(
            case, float(values.mean()), low=float(low), high=float(high),
            n=CORRUPTED * DOCUMENTS, note=note,
        )  # fmt: skip

    for case in book.cases(RESTORED, "accuracy gap masking minus deletion"):
        named = case.has("concentration 3.0")
        chosen = [found[3.0]] if named else [found[c] for c in (0.1, 0.3, 0.5, 1.0)]
        values = np.concatenate([each.sampled[:, 0] - each.sampled[:, 1] for each in chosen])
        extra = "" if named else ", nor is the concentration: 0.1 to 1 are tried"
        put(case, values, lost + extra)
    warm = found[3.0].sampled
    put(book.case(RESTORED, "deletion accuracy", "27 of 80"), warm[:, 1], lost)
    put(book.case(RESTORED, "masking accuracy", "from the printed gap"), warm[:, 0], lost)
    above = np.sum([found[c].sampled[:, 1] > 1 / STATES for c in (0.3, 1.0, 3.0)], axis=0)
    low, middle, high = np.quantile(above, [0.025, 0.5, 0.975])
    book.put(
        book.case(CHANCE, "settings with deletion above the floor"),
        float(middle),
        low=float(low),
        high=float(high),
        n=above.size,
        note=(
            f"{lost}; in {100 * (above == 3).mean():.0f}% of {above.size} triples of samples all"
            f" three are above it, possible are {above.min():.0f} to {above.max():.0f}; it is no"
            " theorem, as the shares of chains below the floor show"
        ),
    )


# --- costs and counts -----------------------------------------------------------------------


def entries(inputs: Fraction, outputs: Fraction) -> Fraction:
    """Scores of an encoder and a causal decoder: ``m^2 + k(k+1)/2 + k m``, of mean lengths too."""
    return inputs**2 + outputs * (outputs + 1) / 2 + outputs * inputs


def _costs(book: Book, sides: Sides) -> None:
    sizes = [(m, k) for m in (1, 5, 64) for k in (1, 8, 512)]
    sides.exact(
        "score entries of encoder, decoder and cross-attention",
        "m²+k(k+1)/2+km",
        [entries(Fraction(m), Fraction(k)) for m, k in sizes],
        "entries of every mask, counted",
        [int(np.ones((m, m)).sum() + np.tri(k).sum() + np.ones((k, m)).sum()) for m, k in sizes],
    )
    n = Fraction(TOKENS)
    target = n * SPANNED * (1 + Fraction(1, SPAN))
    shortened = n - n * SPANNED + n * SPANNED / SPAN
    full, short = n * (n + 1) / 2, target * (target + 1) / 2
    predictions = n / (n * SPANNED)
    book.one(FULL, "decoder self-attention BART over T5", float(full / short))
    book.one(FULL, "predictions BART over T5", float(predictions))
    book.one(FULL, "cost per prediction BART over T5", float(full / short / predictions))
    book.one(FULL, "T5 target length", float(target))
    book.one(FULL, "BART decoder self-attention entries", float(full))
    book.one(FULL, "T5 decoder self-attention entries k(k+1)/2", float(short))
    bart, t5 = entries(n, n), entries(n, target)
    book.one(
        WHOLE_COST,
        "whole architecture BART over T5",
        float(bart / t5),
        note="T5 is given the whole input; with its corrupted one the ratio is 2.4757",
    )
    quoted = book.case(WHOLE_COST, "encoder share quoted from the T5 article")
    m, k = Fraction(quoted.whole("m")), Fraction(quoted.whole("k"))
    book.put(quoted, float(m**2 / entries(m, k)))
    book.one(WHOLE_COST, "BART total entries", float(bart))
    book.one(WHOLE_COST, "T5 total entries", float(t5))
    book.one(WHOLE_COST, "encoder share", float(n**2 / bart), "BART")
    book.one(WHOLE_COST, "encoder share", float(n**2 / t5), "T5 at k=102.4")
    book.one(
        WHOLE_COST,
        "whole architecture BART over T5 with the corrupted T5 input of 460.8 tokens",
        float(bart / entries(shortened, target)),
    )


def _counts(book: Book, sides: Sides) -> None:
    bare, whole = {}, {}
    for name, model in counts.BART.items():
        d = model.width
        blocks = counts.encoder_block(d) + counts.decoder_block(d)
        bare[name] = counts.BART_WORDS * d + model.layers * blocks
        whole[name] = bare[name] + 2 * counts.BART_POSITIONS * d + 4 * d
    sides.exact(
        "totals of both sizes, without and with positions",
        "closed forms",
        [*bare.values(), *whole.values()],
        "sum over every tensor",
        [
            counts.size(counts.bart_shapes(model, positions=kind))
            for kind in (False, True)
            for model in counts.BART.values()
        ],
    )

    first = book.case(PARAMS, "encoder block multiplier with biases and norms")
    d = first.whole("d")
    encoder, decoder = counts.encoder_block(d), counts.decoder_block(d)
    book.put(first, encoder / d**2)
    book.one(PARAMS, "decoder block multiplier with biases and norms", decoder / d**2)
    book.one(PARAMS, "decoder over encoder block", decoder / encoder)
    book.fill(PARAMS, "total without positions and embedding norms", lambda case: bare[case.first])
    book.fill(
        PARAMS,
        "total with two 1026 position tables and embedding norms",
        lambda case: whole[case.first],
    )
    off = []
    for case in book.cases(PARAMS):
        if case.has("relative deviation"):
            totals = bare if case.has("without positions") else whole
            deviation = totals[case.first] / (case.number("published") * 1e6) - 1
            book.put(case, deviation)
            off.append(abs(deviation))
    book.one(PARAMS, "largest deviation of the two totals", max(off))


def measure_bart(
    *, series: Path, checks: Path, settings: BartStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on BART, each identity on both sides.

    Parameters
    ----------
    series, checks
        Outputs, Parquet: see ``results.POINTS`` and ``results.CHECKS``.

    Raises
    ------
    DataError
        When two sides of an identity disagree.
    """
    book, sides, points = Book(ARTICLE), Sides(), Points()
    _bits(book, sides, points)
    _poisson(book, sides, points)
    _reconstruction(book, sides, points, settings.bart, rng)
    _costs(book, sides)
    _counts(book, sides)
    write_results(points, sides, series, checks)
    return book.measurements()

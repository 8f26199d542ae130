"""RoBERTa: labels in bits, masks that never repeat, and what data cannot remove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.random import Generator

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.chains import (
    Floats,
    conditional_entropy,
    random_chain,
    stationary,
)
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.estimation import expected_loss, law_of_loss, simulated_losses
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.settings import RobertaSettings
from remeasure.studies.identities.sides import Sides

ARTICLE = "roberta"

NSP, STATIC, BIRTHDAY = "roberta_tab_nsp", "roberta_tab_static", "roberta_stat_birthday"
SCALING, SLOPES = "roberta_tab_scaling", "roberta_stat_slopes"
QUADRUPLE, FLOOR = "roberta_stat_quadruple", "roberta_tab_entropy_floor"
BATCH, LENGTHS = "roberta_tab_batch", "roberta_tab_length"

TOKENS, RATE = 512, Fraction(15, 100)

#: The two chains: states and seed; the article names the five-state one by its entropy, the
#: other is lost. Sizes are lost, too: four of these in a row.
CHAINS = {1: (3, 23), 2: (5, 25)}
SIZES = (250, 1000, 4000, 16000, 64000)
POINTS_EACH, TRIALS, LONG_TRIALS = 4, 400, 20_000
CONCENTRATION = 1.0


class RobertaStep(Model):
    """What the step is told."""

    roberta: RobertaSettings


# --- labels and masks -----------------------------------------------------------------------


def _labels(book: Book, sides: Sides) -> None:
    case = book.case(NSP, "bits of 76.8 masked tokens")
    words = case.whole("V")
    masked = TOKENS * RATE
    bits = float(masked) * math.log2(words)
    by_bits, by_count = 1 / (bits + 1), float(1 / (masked + 1))
    # 76.8 tokens are 384 tokens in five sequences.
    exact = math.log2(words ** int(5 * masked)) / 5
    sides.close(
        "bits of the masked tokens of a sequence",
        "r·n·log₂V",
        bits,
        "logarithm of the number of fillings of five sequences, a fifth of it",
        exact,
        units=8.0,
        scale=bits,
    )
    book.put(case, bits)
    book.one(NSP, "share of the sentence label by bits", by_bits)
    book.one(NSP, "share of the sentence label by predictions", by_count)
    book.one(NSP, "ratio of the two shares", by_count / by_bits)
    book.one(NSP, "log2 V", math.log2(words))


def never_masked(patterns: int) -> float:
    """Share of positions that none of P independent patterns masks: ``(1 - r)^P``.

    Source: RoBERTa, mathematical foundation.
    """
    return float((1 - RATE) ** patterns)


def simulated_share(patterns: int, sequences: int, rng: Generator) -> tuple[float, float]:
    """The same in random patterns of exactly 77 of 512 positions, scaled to r; and its error.

    A pattern is the smallest 77 of 512 random numbers, so positions are not independent.
    """
    chosen = math.ceil(TOKENS * RATE)
    missed = np.ones((sequences, TOKENS), dtype=bool)
    for _ in range(patterns):
        order = np.argpartition(rng.random((sequences, TOKENS)), chosen, axis=1)
        np.put_along_axis(missed, order[:, :chosen], values=False, axis=1)
    shares = missed.mean(axis=1)
    return float(shares.mean()), float(shares.std(ddof=1) / math.sqrt(sequences))


def _masks(book: Book, sides: Sides, points: Points, rng: Generator) -> None:
    patterns = (1, 2, 5, 10, 20)
    drawn = [simulated_share(each, 400, rng) for each in patterns]
    exact = (TOKENS - math.ceil(TOKENS * RATE)) / TOKENS
    sides.simulated(
        "positions that no static mask covers",
        "(1−k/n)ᴾ for k of n positions",
        [exact**each for each in patterns],
        "400 sequences under P random masks",
        [mean for mean, _ in drawn],
        [max(error, 1e-12) for _, error in drawn],
    )
    small = list(combinations(range(6), 2))
    sides.exact(
        "masks drawn independently miss a position with (1−k/n)ᴾ",
        "(1−2/6)³",
        [Fraction(4, 6) ** 3],
        "all 15³ triples of masks, counted",
        [Fraction(sum(all(0 not in mask for mask in three) for three in product(small, repeat=3)),
                  len(small) ** 3)],
    )  # fmt: skip

    def number(case: Case) -> int:
        return int(case.row.condition.split()[0])

    # The share and its number of positions are printed for the same P, in this order.
    shares = book.cases(STATIC, "share of positions never masked")
    book.fill(STATIC, "share of positions never masked", lambda case: never_masked(number(case)))
    book.fill(
        STATIC,
        "positions never masked",
        lambda case: TOKENS * never_masked(number(case)),
    )
    for each in sorted({number(case) for case in shares} | {3, 15, 30}):
        points.add(STATIC, "formula", never_masked(each), x=each)
    for each, (mean, error) in zip(patterns, drawn, strict=True):
        points.add(
            STATIC, "simulated masks", mean, x=each, low=mean - 2 * error, high=mean + 2 * error
        )
    _birthday(book, sides)


def _birthday(book: Book, sides: Sides) -> None:
    case = book.case(BIRTHDAY, "log2 of the number of mask patterns")
    chosen = math.ceil(TOKENS * RATE)
    exact = math.comb(TOKENS, chosen)
    gammas = (
        math.lgamma(TOKENS + 1) - math.lgamma(chosen + 1) - math.lgamma(TOKENS - chosen + 1)
    ) / math.log(2)
    sides.close(
        "log₂ C(512, 77)", "log-gamma", gammas, "logarithm of the exact integer",
        math.log2(exact), units=16.0, scale=4096.0,
    )  # fmt: skip
    few, draws = 40, 4
    distinct = Fraction(1)
    for index in range(draws):
        distinct *= 1 - Fraction(index, few)
    bound = Fraction(math.comb(draws, 2), few)
    sides.at_most(
        "a collision is at most as likely as C(m,2)/N",
        "exact, 4 draws of 40",
        float(1 - distinct),
        "C(4,2)/40",
        float(bound),
    )
    book.put(case, gammas)
    book.one(BIRTHDAY, "log10 of the number of mask patterns (about)", math.log10(exact))
    epochs = 40
    log10 = math.log10(math.comb(epochs, 2)) - math.log10(exact)
    book.one(BIRTHDAY, "log10 of the collision probability over 40 epochs (about)", log10)


# --- the loss of estimation -----------------------------------------------------------------


@dataclass(frozen=True)
class Scaling:
    """Losses over the law K(K-1)/(2N): exact means, and averages of repeated experiments.

    ``exact`` and ``spread`` (of one trial) have shape (sizes,), ``repeated`` (repetitions, sizes).
    """

    exact: Floats
    spread: Floats
    repeated: Floats


def _scaled(states: int, seed: int, options: RobertaSettings, rng: Generator) -> Scaling:
    chain = random_chain(states, CONCENTRATION, seed)
    law = stationary(chain)
    exact, spread, repeated = [], [], []
    for size in SIZES:
        scale = law_of_loss(states, size)
        exact.append(expected_loss(chain, law, size) / scale)
        losses = simulated_losses(chain, law, size, options.trials * options.repetitions, rng)
        losses = losses.reshape(options.repetitions, options.trials) / scale
        spread.append(float(losses.std(ddof=1)))
        repeated.append(losses.mean(axis=1))
    return Scaling(np.array(exact), np.array(spread), np.array(repeated).T)


def _windows(repeated: Floats) -> Floats:
    """Four sizes in a row of every repetition, shape (starts * repetitions, 4)."""
    starts = range(len(SIZES) - POINTS_EACH + 1)
    return np.concatenate([repeated[:, first : first + POINTS_EACH] for first in starts])


def _scaling(
    book: Book, sides: Sides, points: Points, options: RobertaSettings, rng: Generator
) -> None:
    found = {name: _scaled(*chain, options, rng) for name, chain in CHAINS.items()}
    trials = options.trials * options.repetitions
    sides.simulated(
        "expected loss of a chain estimated from N samples, over K(K−1)/(2N)",
        "exact sums over binomial laws",
        np.concatenate([each.exact for each in found.values()]),
        f"{trials:,} simulated trials a point",
        np.concatenate([each.repeated.mean(axis=0) for each in found.values()]),
        np.concatenate([each.spread for each in found.values()]) / math.sqrt(trials),
    )
    # Exact expectation: the law holds for a uniform row once rows have many samples.
    even = np.full((4, 4), 0.25)
    far = 10**6
    sides.near(
        "the loss tends to K(K−1)/(2N)",
        "1",
        1.0,
        "exact expectation over the law at a million samples of a uniform chain",
        expected_loss(even, np.full(4, 0.25), far) / law_of_loss(4, far),
        tolerance=1e-4,
    )
    for name, (states, _) in CHAINS.items():
        scaled = found[name]
        series = f"{states} states"
        error = 1.96 * scaled.spread / math.sqrt(TRIALS)
        for index, size in enumerate(SIZES):
            value = float(scaled.exact[index])
            points.add(
                SCALING, series, value, x=size,
                low=value - float(error[index]), high=value + float(error[index]),
            )  # fmt: skip
    _put_expected(book, found)
    _put_lost(book, found, options)


def _put_expected(book: Book, found: dict[int, Scaling]) -> None:
    """Averages over 20,000 trials: exact expectation, and where such an average falls."""
    for case in book.cases(SCALING, "expected ratio (20000 trials)"):
        scaled = found[2 if case.has("five-state") else 1]
        index = SIZES.index(case.whole("N"))
        value = float(scaled.exact[index])
        error = 1.96 * float(scaled.spread[index]) / math.sqrt(LONG_TRIALS)
        book.put(
            case,
            value,
            low=value - error,
            high=value + error,
            note=(
                f"exact expectation, and 95% range of averages over {LONG_TRIALS:,} trials; the"
                f" given average lies {1.96 * abs(case.printed - value) / error:.1f} standard"
                " errors from it"
            ),
        )


def _put_lost(book: Book, found: dict[int, Scaling], options: RobertaSettings) -> None:
    coverage = WHOLE if options.trials == TRIALS else f"{options.trials} of {TRIALS} trials a point"
    windows = {name: _windows(each.repeated) for name, each in found.items()}
    eight = np.concatenate([windows[1], windows[2]], axis=1)
    logs = np.log10(np.array(SIZES[:POINTS_EACH], float))
    centred = (logs - logs.mean()) / ((logs - logs.mean()) ** 2).sum()
    steps = {name: each[:, 1:] / each[:, :-1] / 4 for name, each in windows.items()}
    # The loss is the ratio over N: one less in the slope.
    slopes = {name: np.log10(each) @ centred - 1 for name, each in windows.items()}

    def put(case: Case, values: Floats, n: int) -> None:
        low, middle, high = np.quantile(values, [0.025, 0.5, 0.975])
        book.put(
            case,
            float(middle),
            low=float(low),
            high=float(high),
            n=n,
            coverage=coverage,
            note=(
                "underdetermined: the seed, the sizes and the other chain are not printed;"
                f" possible are {values.min():.4f} to {values.max():.4f}: median and 95% range of"
                f" {len(values)} experiments with chains of 3 and 5 states and four sizes from"
                f" {SIZES[0]} or {SIZES[1]}, {100 * (values < case.printed).mean():.1f}% of them"
                " below the printed value"
            ),
        )

    every = {
        "smallest": eight.min(axis=1),
        "largest": eight.max(axis=1),
        "mean": eight.mean(axis=1),
    }
    for case in book.cases(SCALING):
        first = case.row.quantity.split()[0]
        if first in every and case.has("eight points"):
            put(case, every[first], 8 * options.trials)
        elif case.row.quantity == "ratio implied by the printed factors":
            column = case.whole("size") - 1
            put(case, windows[case.whole("chain")][:, column], options.trials)
    for name, word in ((1, "first"), (2, "second")):
        put(book.case(SLOPES, "log-log slope", word), slopes[name], POINTS_EACH * options.trials)
    for case in book.cases(QUADRUPLE, "excess loss after quadrupling the data"):
        put(case, steps[case.whole("chain")][:, case.whole("step") - 1], 2 * options.trials)
    book.one(QUADRUPLE, "predicted factor", 1 / 4)
    book.one(QUADRUPLE, "estimation loss removed by tenfold data", 1 - 1 / 10)


def _floor(book: Book, sides: Sides, points: Points) -> None:
    case = book.case(FLOOR, "conditional entropy")
    states = CHAINS[2][0]
    chain = random_chain(states, case.number("concentration"), case.whole("seed"))
    law = stationary(chain)
    entropy = conditional_entropy(chain, law)
    joint = law[:, None] * chain
    sides.close(
        "entropy of the next state",
        "Σ π_a H(T_a)",
        entropy,
        "H(now, next) − H(now)",
        float(-(joint * np.log(joint)).sum() + (law * np.log(law)).sum()),
        units=32.0,
    )
    book.put(case, entropy)
    book.fill(
        FLOOR,
        "estimation term K(K-1)/(2N)",
        lambda each: law_of_loss(each.whole("K"), each.whole("N")),
    )

    def share(case: Case) -> float:
        term = law_of_loss(case.whole("K"), case.whole("N"))
        return term / (entropy + term)

    book.fill(FLOOR, "estimation share of the total", share)
    book.fill(FLOOR, "estimation share of the total is below", share)
    whole = states * (states - 1) / (2 * 0.01 * entropy)
    sides.exact(
        "N at which estimation is 1% of the entropy",
        "K(K−1)/(2·0.01·H), rounded up",
        [math.ceil(whole)],
        "first N whose term is below",
        [next(n for n in range(1, 10_000) if law_of_loss(states, n) <= 0.01 * entropy)],
    )
    book.one(FLOOR, "N at which estimation is 1 % of the entropy", whole)
    for power in range(4, 25):
        size = 10 ** (power / 4)
        points.add(
            FLOOR,
            "share",
            law_of_loss(states, size) / (entropy + law_of_loss(states, size)),
            x=size,
        )


# --- recipe ---------------------------------------------------------------------------------


def mean_variance(size: int) -> Fraction:
    """Variance of the mean of a batch of fair signs, from every batch there is."""
    means = [Fraction(sum(batch), size) for batch in product((-1, 1), repeat=size)]
    return sum((each**2 for each in means), Fraction(0)) / len(means)


def _recipe(book: Book, sides: Sides) -> None:
    sizes = (1, 2, 4, 8)
    sides.exact(
        "the noise of a batch of B has variance 1/B",
        "1/B",
        [Fraction(1, size) for size in sizes],
        "every batch of signs",
        [mean_variance(size) for size in sizes],
    )
    small, budget = 256, 1_000_000 * 256
    book.fill(
        BATCH,
        "steps at the token budget of one million steps of 256",
        lambda case: budget // case.whole("B"),
    )
    book.fill(
        BATCH,
        "learning-rate times steps relative to B=256",
        lambda case: (case.whole("B") / small) * (budget / case.whole("B")) / (budget / small),
    )
    gain = book.case(BATCH, "signal-to-noise gain per step")
    book.put(gain, math.sqrt(gain.whole("B") / gain.whole("over")))
    base = counts.size(counts.bert_shapes(counts.BERT["BERT-base"]))
    width = counts.BERT["BERT-base"].width
    extra = (counts.ROBERTA_WORDS - counts.BERT_WORDS) * width
    sides.exact(
        "the larger vocabulary adds (50265−30522)·768",
        "closed form",
        [extra],
        "difference of both tables",
        [counts.size([(counts.ROBERTA_WORDS, width)]) - counts.size([(counts.BERT_WORDS, width)])],
    )
    book.one("roberta_stat_tokenizer", "extra embedding parameters", extra)
    book.one("roberta_stat_tokenizer", "share of BERT-base", extra / base)
    _lengths(book, sides)


def _lengths(book: Book, sides: Sides) -> None:
    short, full, part = 128, TOKENS, Fraction(9, 10)
    mean = part * short + (1 - part) * full
    sides.exact(
        "mean length of 90% at 128 and 10% at 512",
        "weighted mean",
        [mean],
        "tokens of ten sequences, a tenth of them",
        [Fraction(sum([short] * 9 + [full]), 10)],
    )
    width = counts.BERT["BERT-base"].width
    share = {n: counts.quadratic_share(n, width) for n in (short, full)}
    book.one(LENGTHS, "mean training length", float(mean))
    book.one(LENGTHS, "full length over mean length", float(full / mean))
    for case in book.cases(LENGTHS, "quadratic share"):
        book.put(case, counts.quadratic_share(case.whole("n"), case.whole("d")))
    book.fill(LENGTHS, "masked predictions", lambda case: float(case.whole("n") * RATE))
    book.one(LENGTHS, "mean context ratio", full / short)
    book.one(
        LENGTHS,
        "quadratic share at the mean length",
        counts.quadratic_share(float(mean), width),
    )
    book.one(
        LENGTHS,
        "mean quadratic share of the two phases by steps",
        float(part) * share[short] + float(1 - part) * share[full],
    )


def measure_roberta(
    *, series: Path, checks: Path, settings: RobertaStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on RoBERTa, each identity on both sides.

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
    _labels(book, sides)
    _masks(book, sides, points, rng)
    _scaling(book, sides, points, settings.roberta, rng)
    _floor(book, sides, points)
    _recipe(book, sides)
    write_results(points, sides, series, checks)
    return book.measurements()

"""DistilBERT: what is removed, warm gradients, and students of labels or of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.random import Generator

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.attention import softmax
from remeasure.studies.identities.chains import (
    Floats,
    divergence,
    entropy,
    random_chain,
    stationary,
)
from remeasure.studies.identities.claims import Book
from remeasure.studies.identities.estimation import SMOOTHING, law_of_loss
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.settings import DistilbertSettings
from remeasure.studies.identities.sides import EPS, Sides

ARTICLE = "distilbert"

REDUCTION, TAU = "distilbert_tab_reduction", "distilbert_tab_tau"
SOFT, SAMPLES, COUPON = (
    "distilbert_tab_temperature",
    "distilbert_tab_samples",
    "distilbert_stat_coupon",
)

#: The logits of the temperature tables: pairs, classes, seed.
PAIRS, CLASSES, SEED = 500, 8, 3
TAUS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)

#: Steps of the central differences, as the article does not print its own; the usual one.
STEPS, STEP = (1e-3, 1e-4, 1e-5, 1e-6), 1e-4

#: Chains of the students by their states: the printed seed of each.
CHAINS = {5: 25, 10: 30}
CONCENTRATION = 1.0
SIZES = (10, 25, 50, 100, 250, 500, 1000)
TRIALS = 200


class DistilbertStep(Model):
    """What the step is told."""

    distilbert: DistilbertSettings


# --- what is removed ------------------------------------------------------------------------


def _counts(book: Book, sides: Sides, points: Points) -> None:
    base = counts.BERT["BERT-base"]
    d = base.width
    total = counts.size(counts.bert_shapes(base))
    removed = {
        "layers": 6 * counts.encoder_block(d),
        "pooler": d**2 + d,
        "token types": counts.TYPES * d,
    }
    left = total - sum(removed.values())
    small = counts.Size(d, 6)
    kept = counts.size(counts.bert_shapes(small)) - removed["pooler"] - removed["token types"]
    sides.exact(
        "six layers, the pooler and the type table removed",
        "total less what is removed",
        [left],
        "every tensor of a six-layer BERT without pooler and types",
        [kept],
    )
    blocks = base.layers * counts.encoder_block(d)
    embeddings = counts.size(counts.bert_embedding_shapes(d))
    book.one(REDUCTION, "share saved by removing six layers", removed["layers"] / total)
    book.one(
        REDUCTION, "share saved by removing the token-type table", removed["token types"] / total
    )
    book.one(REDUCTION, "total share saved", sum(removed.values()) / total)
    book.one(REDUCTION, "parameters removed", sum(removed.values()))
    book.one(REDUCTION, "parameters left", left)
    book.one(REDUCTION, "block share of BERT-base", blocks / total)
    book.one(REDUCTION, "embedding share of BERT-base", embeddings / total)
    book.one(REDUCTION, "share saved by removing the pooler", removed["pooler"] / total)
    book.one(REDUCTION, "layer parameters removed", removed["layers"])
    after = embeddings - removed["token types"]
    book.one("distilbert_tab_embedding_share", "embedding share after compression", after / left)
    book.one(
        "distilbert_stat_ceiling",
        "share of the layer-removal ceiling reached",
        removed["layers"] / blocks,
    )
    parts = {
        "blocks": (blocks - removed["layers"], removed["layers"]),
        "embeddings": (after, removed["token types"]),
        "pooler": (0, removed["pooler"]),
    }
    for name, (stays, goes) in parts.items():
        points.add(REDUCTION, "kept", stays / 1e6, label=name)
        points.add(REDUCTION, "removed", goes / 1e6, label=name)
    _halves(book, sides)


def _halves(book: Book, sides: Sides) -> None:
    sizes = [(n, d) for n in (1, 128, 512) for d in (64, 768)]
    sides.exact(
        "half the layers cost half",
        "1/2",
        [Fraction(1, 2)] * len(sizes),
        "products of six layers over those of twelve",
        [
            Fraction(
                6 * counts.macs(counts.attention_products(n, d, 4)),
                12 * counts.attention_macs(n, d),
            )
            for n, d in sizes
        ],
    )
    weights = [
        counts.size(shape for shape in counts.encoder_shapes(d) if len(shape) == 2)
        for d in (768, 384)
    ]
    sides.exact(
        "half the width leaves a quarter of the weights",
        "1/4",
        [Fraction(1, 4)],
        "matrices of both blocks",
        [Fraction(weights[1], weights[0])],
    )
    book.one("distilbert_tab_compute", "compute saved by halving depth", 1 / 2)
    book.one("distilbert_stat_width", "block parameters saved by halving d", 1 - 1 / 4)
    book.one("distilbert_stat_width", "block parameters saved by halving depth", 1 - 1 / 2)


# --- gradients ------------------------------------------------------------------------------


def soft_loss(student: Floats, teacher: Floats, tau: float) -> Floats:
    """``-sum p_t log p_s`` at temperature tau along the last axis, nats."""
    scaled = student / tau
    top = scaled.max(axis=-1, keepdims=True)
    logs = scaled - top - np.log(np.exp(scaled - top).sum(axis=-1, keepdims=True))
    return np.asarray(-(softmax(teacher / tau) * logs).sum(axis=-1))


def gradient(student: Floats, teacher: Floats, tau: float) -> Floats:
    """``(p_s - p_t)/tau``: the derivative of the soft loss by the student's logits.

    The log of a softmax has the derivative ``(1 - p)/tau``, and teachers' probabilities sum to 1.
    For warm temperatures it is ``(centred z_s - centred z_t)/(K tau^2)``. Source: DistilBERT,
    mathematical foundation; Hinton et al. 2015, equations 2 to 4.
    """
    return (softmax(student / tau) - softmax(teacher / tau)) / tau


def differences(student: Floats, teacher: Floats, tau: float, step: float) -> Floats:
    """The same by central differences, entry by entry."""
    moves = step * np.eye(student.shape[-1])
    above = soft_loss(student[..., None, :] + moves, teacher[..., None, :], tau)
    below = soft_loss(student[..., None, :] - moves, teacher[..., None, :], tau)
    return np.asarray((above - below) / (2 * step))


def _finite_differences(book: Book, sides: Sides, draws: int, rng: Generator) -> None:
    worst, errors, bounds = [], [], []
    for index in range(draws):
        tau, step = (1.0, 2.0, 4.0, 8.0)[index % 4], STEPS[index // 4 % len(STEPS)]
        student, teacher = 2 * rng.standard_normal((2, CLASSES))
        exact = gradient(student, teacher, tau)
        error = np.abs(differences(student, teacher, tau, step) - exact).max()
        errors.append(float(error))
        worst.append(float(error / np.abs(exact).max()))
        # Third derivative of log-sum-exp: p(1-p)(1-2p)/tau^3, at most 1/(6 sqrt 3).
        size = float(soft_loss(student, teacher, tau))
        bounds.append(step**2 / 6 / (6 * math.sqrt(3) * tau**3) + 8 * EPS * (size + 8) / step)
    sides.at_most(
        "the soft loss has the gradient (p_s−p_t)/τ",
        f"error of central differences, {draws} random pairs",
        errors,
        "their error of truncation and rounding",
        bounds,
    )
    low, middle, high = np.quantile(worst, [0.025, 0.5, 0.975])
    book.put(
        book.case("distilbert_stat_fd", "worst relative deviation of central differences"),
        float(middle),
        low=float(low),
        high=float(high),
        n=draws,
        note=(
            "underdetermined: step, temperature and seed are not printed; an error of truncation"
            f" and rounding, checked as a bound; possible are {min(worst):.2g} to"
            f" {max(worst):.2g}: median and 95% range of {draws} pairs of {CLASSES} logits at"
            " steps from 10⁻⁶ to 10⁻³ and temperatures 1 to 8"
        ),
    )


def _temperatures(book: Book, sides: Sides, points: Points) -> None:
    rng = np.random.default_rng(SEED)
    one, other = (2 * rng.standard_normal((PAIRS, CLASSES)) for _ in range(2))

    def mean_norm(tau: float, scale: float = 1.0) -> float:
        return float(np.linalg.norm(gradient(scale * one, scale * other, tau), axis=1).mean())

    def ratio(tau: float, scale: float = 1.0) -> float:
        return mean_norm(tau / 2, scale) / mean_norm(tau, scale)

    sides.near(
        "gradients of the printed logits",
        "formula",
        gradient(one, other, 2.0),
        "central differences",
        differences(one, other, 2.0, STEP),
        tolerance=1e-8,
    )
    apart = one - other
    centred = apart - apart.mean(axis=1, keepdims=True)
    limit = float(np.linalg.norm(centred, axis=1).mean() / CLASSES)
    sides.near(
        "τ²|g| tends to the mean length of the centred difference over K",
        "limit",
        limit,
        "τ²|g| at τ = 2¹⁶",
        2.0**32 * mean_norm(2.0**16),
        tolerance=1e-6,
    )
    scales = (0.5, 2.0, 3.0, 10.0)
    sides.close(
        "logits and temperature scaled together leave the ratio",
        "ratio at τ=2",
        ratio(2.0),
        "ratio of scaled logits at scaled temperatures",
        [ratio(2.0 * scale, scale) for scale in scales],
        units=256.0,
    )
    scaled = {tau: tau**2 * mean_norm(tau) for tau in TAUS}
    ratios = {tau: ratio(tau) for tau in TAUS}
    book.fill(TAU, "gradient ratio between tau/2 and tau", lambda case: ratios[case.number("tau")])
    book.fill(TAU, "scaled gradient tau^2 |g|", lambda case: scaled[case.number("tau")])
    some = [scaled[tau] for tau in (2.0, 4.0, 8.0)]
    book.one(TAU, "largest over smallest scaled gradient", max(some) / min(some))
    book.one(TAU, "limit of the scaled gradient", limit)

    def settled(values: dict[float, float], goal: float) -> float:
        far = [tau for tau, value in values.items() if abs(value / goal - 1) > 0.01]
        return min(tau for tau in TAUS if tau > max(far))

    book.one(
        TAU,
        "smallest tau from which the scaled gradient stays within 1 % of the limit",
        settled(scaled, limit),
    )
    book.one(TAU, "smallest tau from which the ratio stays within 1 % of 4", settled(ratios, 4.0))
    stat = "distilbert_stat_logits"
    book.one(stat, "standard deviation of the first set of logits", float(one.std()))
    book.one(stat, "mean range of the first set of logits", float(np.ptp(one, axis=1).mean()))
    stat = "distilbert_stat_scale_invariance"
    book.one(stat, "gradient ratio", ratio(2.0), "tau 1 to 2")
    book.one(stat, "gradient ratio", ratio(4.0, 2.0), "tau 2 to 4")
    for tau in TAUS:
        points.add(TAU, "scaled gradient", scaled[tau], x=tau)
        points.add(TAU, "ratio", ratios[tau], x=tau)
    points.add(TAU, "limit", limit, x=TAUS[0])
    _soft_targets(book, sides, points, one[0])


def _soft_targets(book: Book, sides: Sides, points: Points, logits: Floats) -> None:
    def bits(tau: float) -> float:
        return float(entropy(softmax(logits / tau)) / math.log(2))

    def by_partition(tau: float) -> float:
        weights = np.exp(logits / tau)
        total = weights.sum()
        return float(math.log2(total) - weights @ logits / (tau * total * math.log(2)))

    taus = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    sides.close(
        "entropy of a soft target",
        "−Σ p log₂ p",
        [bits(tau) for tau in taus],
        "log₂ Z − E[z]/τ",
        [by_partition(tau) for tau in taus],
        units=256.0,
    )
    sides.at_most(
        "effective classes are at most K",
        "2ᴴ",
        [2 ** bits(tau) for tau in (*taus, 1e6)],
        "K",
        CLASSES,
        units=64.0,
    )
    book.fill(SOFT, "entropy of the soft target", lambda case: bits(case.number("tau")))
    book.fill(SOFT, "effective classes 2^H", lambda case: 2 ** bits(case.number("tau")))
    book.fill(SOFT, "log2 K", lambda case: math.log2(case.whole("K")))
    points.curve(SOFT, "entropy", ((tau, bits(tau)) for tau in taus))


# --- students -------------------------------------------------------------------------------


def unseen(chain: Floats, law: Floats, avoided: tuple[int, ...], size: int) -> float:
    """Probability that none of N states of the stationary chain is one of ``avoided``.

    The chain restricted to the others loses what would have entered: ``pi' T'^(N-1) 1``.
    """
    kept = [state for state in range(law.size) if state not in avoided]
    inside = np.linalg.matrix_power(chain[np.ix_(kept, kept)], size - 1)
    return float(law[kept] @ inside.sum(axis=1))


def all_seen(chain: Floats, law: Floats, size: int) -> float:
    """Probability that N states show every state: inclusion and exclusion over 2^K sets."""
    total = 1.0
    for count in range(1, law.size):
        sign = (-1) ** count
        total += sign * sum(
            unseen(chain, law, each, size) for each in combinations(range(law.size), count)
        )
    return total


def soft_student(chain: Floats, law: Floats, size: int) -> float:
    """Expected loss of a student that copies rows it has seen and guesses evenly elsewhere.

    Claim: it is zero as soon as every state has been seen, whatever the number of samples.
    Source: DistilBERT, mathematical foundation.
    """
    even = divergence(chain, np.full(law.size, 1 / law.size))
    return float(
        sum(
            law[state] * even[state] * unseen(chain, law, (state,), size)
            for state in range(law.size)
        )
    )


@dataclass(frozen=True)
class Students:
    """Of many paths, by size: losses of both students and whether every state was seen."""

    hard: dict[int, Floats]
    soft: dict[int, Floats]
    seen: dict[int, Floats]


def simulate_students(chain: Floats, trials: int, rng: Generator) -> Students:
    """Follow many stationary paths at once and read both students at each size."""
    law = stationary(chain)
    states = law.size
    edges = chain.cumsum(axis=1)[:, :-1]
    tally = np.zeros((trials, states, states))
    state = np.searchsorted(law.cumsum()[:-1], rng.random(trials), side="right")
    even = divergence(chain, np.full(states, 1 / states))
    every = np.arange(trials)
    found = Students({}, {}, {})
    for step in range(1, max(SIZES) + 1):
        after = (rng.random(trials)[:, None] >= edges[state]).sum(axis=1)
        tally[every, state, after] += 1
        state = after
        if step in SIZES:
            visits = tally.sum(axis=2)
            rows = (tally + SMOOTHING) / (visits[..., None] + SMOOTHING * states)
            found.hard[step] = np.asarray((law * divergence(chain, rows)).sum(axis=1))
            found.soft[step] = np.asarray((law * even * (visits == 0)).sum(axis=1))
            found.seen[step] = (visits > 0).all(axis=1).astype(float)
    return found


def _students(
    book: Book, sides: Sides, points: Points, options: DistilbertSettings, rng: Generator
) -> None:
    total = options.trials * options.repetitions
    found: dict[int, Students] = {}
    for states, seed in CHAINS.items():
        chain = random_chain(states, CONCENTRATION, seed)
        law = stationary(chain)
        students = found[states] = simulate_students(chain, total, rng)
        few = [size for size in SIZES if size <= 100]
        exact = [
            *(all_seen(chain, law, size) for size in few),
            *(soft_student(chain, law, size) for size in few),
        ]
        values = [*(students.seen[size] for size in few), *(students.soft[size] for size in few)]
        sides.simulated(
            f"every state seen, and loss of the student of rows, K={states}",
            "inclusion and exclusion over sets of states",
            exact,
            f"{total:,} simulated paths",
            [value.mean() for value in values],
            # An event that never happened has a chance below 3/trials.
            [max(value.std(ddof=1) / math.sqrt(total), 1 / total) for value in values],
        )
        sides.exact(
            f"the student of rows errs only where a state is unseen, K={states}",
            "0 wrong of the paths that saw every state",
            [0],
            "paths with a loss among them",
            [
                sum(
                    int((students.soft[size][students.seen[size] == 1] != 0).sum())
                    for size in SIZES
                )
            ],
        )
        for size in SIZES:
            mean = float(students.hard[size].mean())
            low, high = _range(mean, students.hard[size], options.trials)
            points.add(
                SAMPLES, f"labels, K={states}", mean, x=size,
                low=low, high=high,
            )  # fmt: skip
            if size <= 100:
                points.add(SAMPLES, f"rows, K={states}", soft_student(chain, law, size), x=size)
            points.add(SAMPLES, f"law, K={states}", law_of_loss(states, size), x=size)
    _put_students(book, found, options)
    _teacher(book, sides)


def _range(mean: float, values: Floats, trials: int) -> tuple[float, float]:
    """95% range of an average over ``trials``; neither a loss nor a share is negative."""
    error = 1.959963984540054 * float(values.std(ddof=1)) / math.sqrt(trials)
    return max(0.0, mean - error), mean + error


def _put_students(book: Book, found: dict[int, Students], options: DistilbertSettings) -> None:
    coverage = WHOLE if options.trials == TRIALS else f"{options.trials} of {TRIALS} trials"
    names = {
        "excess loss of the hard-label student": "hard",
        "excess loss of the soft-label student": "soft",
        "share of trials with every state visited": "seen",
    }
    for case in book.cases(SAMPLES):
        students = found[case.whole("K")]
        size = case.whole("N")
        if case.row.kind == "exact":
            lost = students.soft[size][students.seen[size] == 1]
            book.put(case, float(lost.max()), note="of every path that has seen all states")
            continue
        values = getattr(students, names[case.row.quantity])[size]
        chain = random_chain(case.whole("K"), CONCENTRATION, CHAINS[case.whole("K")])
        exact = {"soft": soft_student, "seen": all_seen}.get(names[case.row.quantity])
        if exact is None:
            value, how = float(values.mean()), f"mean of {values.size:,} paths"
        else:
            value, how = exact(chain, stationary(chain), size), "exact expectation"
        low, high = _range(value, values, options.trials)
        if names[case.row.quantity] == "seen":
            high = min(high, 1.0)
        note = f"{how}, and 95% range of averages over {options.trials}"
        if not case.has("T seed 25;") and not case.has("T seed 30; 200"):
            note = (
                f"underdetermined: chain, trials and seed are not printed; possible are"
                f" {low:.4f} to {high:.4f} on the chain of seed 30; {note}"
            )
        book.put(
            case,
            value,
            low=low,
            high=high,
            n=options.trials,
            coverage=coverage,
            note=note,
        )


def _teacher(book: Book, sides: Sides) -> None:
    ratios = []
    for states, seed in CHAINS.items():
        chain = random_chain(states, CONCENTRATION, seed)
        law = stationary(chain)
        for share in (0.05, 0.2, 0.5):
            teacher = (1 - share) * chain + share / states
            student = np.full_like(teacher, np.nan)
            # Any path that sees every state will do: the student copies what it is shown.
            for state in np.random.default_rng(seed).permutation(states):
                student[state] = teacher[state]
            loss = float(law @ divergence(chain, teacher))
            ratios.append(float(law @ divergence(chain, student)) / loss)
    sides.exact(
        "a student of rows errs as much as its teacher",
        "1",
        [1.0] * len(ratios),
        "loss of student over loss of teacher, copied row by row",
        ratios,
    )
    book.one("distilbert_tab_teacher", "student error over teacher error", max(ratios))


def collector(states: int) -> Fraction:
    """``K H_K``: expected draws until each of K equally likely states was seen."""
    return states * sum((Fraction(1, k) for k in range(1, states + 1)), Fraction(0))


def _coupons(book: Book, sides: Sides) -> None:
    sizes = (1, 2, 5, 10, 30)
    sides.exact(
        "equally likely states: all are seen after K·H_K draws on average",
        "K(1 + 1/2 + … + 1/K)",
        [collector(states) for states in sizes],
        "inclusion and exclusion over the states still unseen",
        [
            sum(
                (
                    Fraction((-1) ** (k + 1) * math.comb(states, k) * states, k)
                    for k in range(1, states + 1)
                ),
                Fraction(0),
            )
            for states in sizes
        ],
    )
    book.fill(
        COUPON,
        "K ln K",
        lambda case: case.whole("K") * math.log(case.whole("K")),
        note="smaller than the expectation K·H_K of even uniform visits",
    )
    book.fill(
        COUPON,
        "exact coupon-collector expectation K H_K for uniform visits",
        lambda case: float(collector(case.whole("K"))),
    )
    hard = book.case(SAMPLES, "excess loss of the hard-label student", "K=10; N=1000; up to seed")
    soft = book.case(SAMPLES, "excess loss of the soft-label student", "K=10; N=100; reproduced")
    book.one(COUPON, "data ratio quoted in the introduction", hard.whole("N") / soft.whole("N"))


def measure_distilbert(
    *, series: Path, checks: Path, settings: DistilbertStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on DistilBERT, each identity on both sides.

    Parameters
    ----------
    series, checks
        Outputs, Parquet: see ``results.POINTS`` and ``results.CHECKS``.

    Raises
    ------
    DataError
        When two sides of an identity disagree.
    """
    options = settings.distilbert
    book, sides, points = Book(ARTICLE), Sides(), Points()
    _counts(book, sides, points)
    _finite_differences(book, sides, options.trials * 2, rng)
    _temperatures(book, sides, points)
    _students(book, sides, points, options, rng)
    _coupons(book, sides)
    write_results(points, sides, series, checks)
    return book.measurements()

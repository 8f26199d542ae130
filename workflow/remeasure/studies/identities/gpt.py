"""GPT: causal masks, caches, drift and sampling."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.random import Generator

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.attention import (
    Floats,
    Weights,
    error_bound,
    self_attention,
    softmax,
)
from remeasure.studies.identities.chains import (
    entropy,
    random_chain,
    stationary,
    total_variation,
)
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.rounding import put_residual
from remeasure.studies.identities.settings import GptSettings
from remeasure.studies.identities.sides import EPS, Sides

ARTICLE = "gpt"

PREFIX, DRIFT, SATURATION = "gpt_tab_prefix", "gpt_tab_drift", "gpt_stat_saturation"
TEMPERATURE, TOP_K, TOP_P = "gpt_tab_temperature", "gpt_tab_topk", "gpt_tab_topp"
SPEEDUP, MEMORY = "gpt_tab_kv_speedup", "gpt_tab_kv_memory"

#: Sizes of the random models; the article does not print its own.
SIZES = ((8, 16), (12, 32), (16, 64), (32, 64))
LAYERS = 3

#: The chain and its perturbation: six states, Dirichlet concentrations.
STATES, CONCENTRATION, PERTURBATION = 6, 0.8, 1.0

#: Steps after which a drift has reached its limit.
LONG = 200

#: Temperatures that the figure draws.
TAUS = (0.1, 0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


class GptStep(Model):
    """What the step is told."""

    gpt: GptSettings


# --- masks ----------------------------------------------------------------------------------


def kept_share(n: int) -> float:
    """``n(n+1)/2`` of ``n^2`` score entries stay under a causal mask: ``(n+1)/(2n)``.

    Source: GPT, core components.
    """
    return (n + 1) / (2 * n)


def discarded_cost(n: int, d: int) -> float:
    """Share of an attention layer's arithmetic that the mask discards.

    ``(n-1)/(2n)`` of the quadratic part, which is ``n/(2d+n)`` of all:
    ``(n-1)/(2(2d+n))``. Source: GPT, mathematical foundation.
    """
    return (n - 1) / (2 * (2 * d + n))


def _masks(book: Book, sides: Sides) -> None:
    lengths = (1, 2, 3, 16, 64, 512)
    sides.exact(
        "a causal mask keeps n(n+1)/2 of n² entries",
        "closed form",
        [n * (n + 1) // 2 for n in lengths],
        "entries of a lower triangle, counted",
        [int(np.tri(n, dtype=bool).sum()) for n in lengths],
    )
    width = 768
    masked = [(~np.tri(n, dtype=bool)).sum() * 2 * width for n in lengths]
    every = [counts.macs(counts.attention_products(n, width, 12)) for n in lengths]
    sides.close(
        "the mask discards (n−1)/(2(2d+n)) of all attention arithmetic",
        "closed form",
        [discarded_cost(n, width) for n in lengths],
        "products of masked entries over all products",
        np.array(masked, float) / np.array(every, float),
        units=4.0,
    )
    book.fill(
        "gpt_tab_mask",
        "kept share of the score matrix (n+1)/(2n)",
        lambda case: kept_share(case.whole("n")),
    )
    book.fill(
        "gpt_tab_mask_cost",
        "discarded share of all attention arithmetic",
        lambda case: discarded_cost(case.whole("n"), case.whole("d")),
    )


# --- prefixes -------------------------------------------------------------------------------


def stack(x: Floats, layers: list[Weights], *, causal: bool) -> Floats:
    """Residual attention layers one after another, shape (n, d)."""
    for weights in layers:
        x = x + self_attention(x, weights, causal=causal)
    return x


def prefix_residuals(x: Floats, layers: list[Weights], *, causal: bool) -> Floats:
    """By position: largest change of an output when what follows is cut off, shape (n,).

    Claim: with the mask it is zero, since output i reads rows up to i only, layer by layer;
    without, only the last position has nothing to lose. Source: GPT, core components.
    """
    whole = stack(x, layers, causal=causal)
    return np.array(
        [
            np.abs(stack(x[: i + 1], layers, causal=causal)[-1] - whole[i]).max()
            for i in range(x.shape[0])
        ]
    )


def _prefix(book: Book, sides: Sides, points: Points, draws: int, rng: Generator) -> None:
    causal, unmasked, bounds, deep, last = [], [], [], [], []
    by_position: list[Floats] = []
    for index in range(draws):
        n, d = SIZES[index % len(SIZES)]
        x, weights = rng.standard_normal((n, d)), Weights.draw(d, rng)
        masked = np.abs(
            self_attention(x, weights, causal=True)
            - [self_attention(x[: i + 1], weights, causal=True)[-1] for i in range(n)]
        )
        plain = np.abs(
            self_attention(x, weights) - [self_attention(x[: i + 1], weights)[-1] for i in range(n)]
        ).max(axis=1)
        causal.append(float(masked.max()))
        unmasked.append(float(plain.max()))
        last.append(float(plain[-1]))
        bounds.append(2 * error_bound(x, weights))
        if (n, d) == (16, 64):
            by_position.append(plain)
        if index < 20:
            layers = [Weights.draw(d, rng) for _ in range(LAYERS)]
            deep.append(float(prefix_residuals(x, layers, causal=True).max()))
    bound = min(bounds)
    sides.close(
        "causal outputs do not depend on what follows",
        f"outputs of whole sequences, {draws} random models",
        causal,
        "outputs of every prefix",
        0.0,
        units=bound / EPS,
    )
    sides.close(
        f"the same through {LAYERS} residual layers",
        "outputs of whole sequences, 20 random models",
        deep,
        "outputs of every prefix",
        0.0,
        units=4096.0,
    )
    sides.exact(
        "without a mask the last position alone keeps its output, bit by bit",
        "0",
        [0.0] * draws,
        "change of the last output",
        last,
    )
    sides.control("prefixes of unmasked attention", "no mask", min(unmasked), 0.1)
    missing = "sizes and seed are not printed"
    put_residual(
        book, book.case(PREFIX, "worst causal prefix residual"), max(causal), bound, missing
    )
    low, middle, high = np.quantile(unmasked, [0.025, 0.5, 0.975])
    sizes = ", ".join(f"n={n} d={d}" for n, d in SIZES)
    book.put(
        book.case(PREFIX, "worst unmasked prefix residual (positive control)"),
        float(middle),
        low=float(low),
        high=float(high),
        n=draws,
        note=(
            f"underdetermined: {missing}; possible are {min(unmasked):.2f} to"
            f" {max(unmasked):.2f}: median and 95% range of {draws} random models ({sizes})"
        ),
    )
    book.one(PREFIX, "unmasked residual at the last position", max(last), note="bit by bit")
    for place, value in enumerate(np.median(by_position, axis=0)[:-1], 1):
        points.add(PREFIX, "without mask", float(value), x=place)
    points.add(PREFIX, "causal, all positions at most", max(causal), x=1)
    points.add(PREFIX, "causal, all positions at most", max(causal), x=15)


# --- caches ---------------------------------------------------------------------------------


def uncached(n: int, d: int) -> int:
    """Multiply-accumulates of writing n tokens when each step computes all of attention again.

    ``sum_t (4 t d^2 + 2 t^2 d) = 2 d^2 n(n+1) + d n(n+1)(2n+1)/3``. Source: GPT, mathematical
    foundation.
    """
    return 2 * d**2 * n * (n + 1) + d * n * (n + 1) * (2 * n + 1) // 3


def cached(n: int, d: int) -> int:
    """The same with keys and values kept: ``sum_t (4 d^2 + 2 t d) = 4 n d^2 + d n(n+1)``."""
    return 4 * n * d**2 + d * n * (n + 1)


def _caches(book: Book, sides: Sides, points: Points) -> None:
    grid = [(n, d) for n in range(1, 65) for d in (1, 2, 64, 768)]
    grid += [(case.whole("n"), case.whole("d")) for case in book.cases(SPEEDUP)]
    sides.exact(
        "arithmetic of writing n tokens, without and with a cache",
        "closed forms",
        [form(*each) for each in grid for form in (uncached, cached)],
        "sum over every step, with one new row where keys and values are kept",
        [
            total
            for n, d in grid
            for total in (
                sum(counts.attention_macs(t, d) for t in range(1, n + 1)),
                sum(counts.macs([(1, d, d)] * 4 + [(1, d, t), (1, t, d)]) for t in range(1, n + 1)),
            )
        ],
    )

    def ratio(case: Case) -> float:
        n, d = case.whole("n"), case.whole("d")
        return uncached(n, d) / cached(n, d)

    book.fill(SPEEDUP, "uncached over cached arithmetic", ratio)
    book.fill(
        SPEEDUP, "uncached arithmetic", lambda case: uncached(case.whole("n"), case.whole("d"))
    )
    book.fill(SPEEDUP, "cached arithmetic", lambda case: cached(case.whole("n"), case.whole("d")))
    every = [2**power for power in range(3, 13)]
    points.curve(SPEEDUP, "d=768", ((n, uncached(n, 768) / cached(n, 768)) for n in every))

    def floats(case: Case) -> int:
        return 2 * case.whole("n") * case.whole("d") * case.whole("L")

    cases = book.cases(MEMORY, "cache size (4-byte floats)")
    sides.exact(
        "a cache holds 2·n·d·L numbers",
        "closed form",
        [4 * floats(case) for case in cases],
        "bytes of a key and a value a token and layer, added up",
        [
            sum(
                2 * np.zeros(case.whole("d"), np.float32).nbytes * case.whole("n")
                for _ in range(case.whole("L"))
            )
            for case in cases
        ],
    )
    for case in cases:
        book.put(case, 4 * floats(case) / 1e6)
    case = book.case(MEMORY, "block parameters without biases")
    d, layers = case.whole("d"), case.whole("L")
    weights = layers * counts.size(each for each in counts.encoder_shapes(d) if len(each) == 2)
    book.put(case, weights)
    book.one(MEMORY, "n at which cache floats equal block parameters (6d)", 6 * d)
    sides.exact(
        "the cache is as large as the blocks at n = 6d",
        "6d",
        [6 * d],
        "first n whose cache is not smaller than the weights",
        [next(n for n in range(1, 10 * d) if 2 * n * d * layers >= weights)],
    )


# --- drift ----------------------------------------------------------------------------------


def drift(chain: Floats, learned: Floats, steps: int) -> Floats:
    """Distance of the law after t learned steps from the true one, t = 1 to ``steps``.

    ``m_t = m_(t-1) That`` from the true stationary law; ``drift_t = TV(m_t, pi)``. On an ergodic
    chain it tends to ``TV(pihat, pi)`` instead of growing. Source: GPT, mathematical foundation.
    """
    start = stationary(chain)
    law, found = start, []
    for _ in range(steps):
        law = law @ learned
        found.append(float(total_variation(law, start)))
    return np.array(found)


def worst_event(one: Floats, other: Floats) -> float:
    """Total variation as the largest difference in probability over all 2^K events."""
    states = range(one.size)
    events = (list(each) for size in range(one.size + 1) for each in combinations(states, size))
    return max(abs(float(one[event].sum() - other[event].sum())) for event in events)


def _drift(book: Book, sides: Sides, points: Points) -> None:
    cases = [*book.cases(DRIFT), *book.cases(SATURATION, "")]
    first = next(case for case in cases if case.has("T seed"))
    chain = random_chain(STATES, CONCENTRATION, first.whole("T seed"))
    other = random_chain(STATES, PERTURBATION, first.whole("perturbation seed"))
    law = stationary(chain)
    deltas = sorted({case.number("delta") for case in cases if case.has("delta=")})
    learned = {delta: (1 - delta) * chain + delta * other for delta in deltas}
    drifts = {delta: drift(chain, learned[delta], LONG) for delta in deltas}
    limits = {delta: float(total_variation(stationary(learned[delta]), law)) for delta in deltas}
    one_step = {delta: float(total_variation(learned[delta], chain).max()) for delta in deltas}
    sides.close(
        "total variation",
        "half the sum of absolute differences",
        [*limits.values()],
        "largest difference over all 64 events",
        [worst_event(stationary(each), law) for each in learned.values()],
        units=32.0,
    )
    sides.close(
        "the drift ends at the distance of the stationary laws",
        "TV(π, π̂)",
        [*limits.values()],
        f"drift after {LONG} steps",
        [each[-1] for each in drifts.values()],
        units=256.0,
    )
    sides.close(
        "drift after t steps",
        "one step after another",
        np.array([each[:16] for each in drifts.values()]),
        "powers of the learned matrix",
        np.array(
            [
                [total_variation(law @ np.linalg.matrix_power(each, t), law) for t in range(1, 17)]
                for each in learned.values()
            ]
        ),
        units=256.0,
    )
    sides.close(
        "the one-step error is linear in δ",
        "δ·max_a TV(T_a, U_a)",
        [delta * float(total_variation(other, chain).max()) for delta in deltas],
        "max_a TV(T_a, T̂_a)",
        [*one_step.values()],
        units=32.0,
    )
    sides.at_most(
        "the first drift is at most the one-step error",
        "drift after one step",
        [each[0] for each in drifts.values()],
        "one-step error",
        [*one_step.values()],
    )
    for delta in deltas:
        if delta in (0.02, 0.1):
            steps = enumerate(drifts[delta][:16], 1)
            points.curve(DRIFT, f"δ={delta:g}", steps)
            points.curve(DRIFT, f"limit, δ={delta:g}", ((t, limits[delta]) for t in (1, 16)))
    _put_drift(book, drifts, limits, one_step)


def _put_drift(
    book: Book,
    drifts: dict[float, Floats],
    limits: dict[float, float],
    one_step: dict[float, float],
) -> None:
    for case in book.cases(DRIFT):
        delta = case.number("delta")
        note = ""
        if case.row.quantity.startswith("largest one-step"):
            value = one_step[delta]
        elif case.row.quantity.startswith("true peak"):
            value = float(drifts[delta].max())
        else:
            value = float(drifts[delta][case.whole("t") - 1])
            if case.has("called the peak"):
                peak = int(drifts[delta].argmax())
                note = (
                    f"the largest of the times that the article shows; the peak itself is"
                    f" {drifts[delta][peak]:.6f}, at t={peak + 1}"
                )
        book.put(case, value, note=note)
    for case in book.cases(SATURATION):
        if case.has("decimals to which"):
            apart = max(abs(drifts[delta][-1] - limits[delta]) for delta in drifts)
            agreed = math.floor(-math.log10(max(2 * apart, 1e-300)))
            claimed = round(case.printed)
            book.put(
                case,
                min(claimed, agreed),
                note=(
                    f"a bound: after {LONG} steps both differ by {apart / EPS:.1f} units of machine"
                    f" epsilon, so they agree to {agreed} decimals, of which {claimed} are claimed"
                ),
            )
        else:
            book.put(case, limits[case.number("delta")])


# --- sampling -------------------------------------------------------------------------------


def fewest(law: Floats, share: float) -> int:
    """Fewest tokens whose probability reaches ``share``: sorted, summed, searched."""
    reached = np.cumsum(np.sort(law)[::-1])
    return int(np.searchsorted(reached, share) + 1)


def fewest_by_threshold(law: Floats, share: float) -> int:
    """The same by halving the probability above which tokens are taken, without sorting."""
    low, high = 0.0, float(law.max())
    for _ in range(200):
        middle = (low + high) / 2
        if law[law >= middle].sum() >= share:
            low = middle
        else:
            high = middle
    return int((law >= low).sum())


def _sampling(book: Book, sides: Sides, points: Points) -> None:
    from scipy.special import log_softmax

    first = book.case(TEMPERATURE, "tokens for 90 % of the mass", "temperature 1.00")
    words = first.whole("V")
    logits = 2 * np.random.default_rng(first.whole("seed")).standard_normal(words)
    laws = {tau: softmax(logits / tau) for tau in TAUS}
    library = {tau: log_softmax(logits / tau) for tau in TAUS}
    sides.close(
        "entropy at temperature τ",
        "−Σ p log p of our softmax",
        [float(entropy(law)) for law in laws.values()],
        "the same of scipy.special.log_softmax",
        [-float(np.exp(each) @ each) for each in library.values()],
        units=4096.0,
    )
    levels = [0.5, 0.8, 0.9, 0.95, 0.99]
    sides.exact(
        "fewest tokens for a share of the probability",
        "sorted and summed",
        [fewest(laws[tau], p) for tau in (0.5, 1.0, 2.0) for p in levels],
        "threshold found by halving",
        [fewest_by_threshold(laws[tau], p) for tau in (0.5, 1.0, 2.0) for p in levels],
    )
    sums = np.cumsum(np.sort(laws[1.0])[::-1])
    sides.exact(
        "top-p undoes top-k",
        "k",
        range(1, 2001),
        "fewest tokens that hold the mass of k",
        np.searchsorted(sums, sums[:2000]) + 1,
    )
    values = [float(entropy(law)) for law in laws.values()]
    sides.at_most(
        "entropy grows with temperature", "at a lower one", values[:-1], "at a higher", values[1:]
    )
    sides.at_most("entropy is at most log V", "entropies", values, "log V", math.log(words))
    book.one(TEMPERATURE, "entropy ceiling log V", math.log(words))

    def at(case: Case) -> Floats:
        return laws[case.number("temperature")]

    book.fill(TEMPERATURE, "tokens for 90 % of the mass", lambda case: fewest(at(case), 0.9))
    book.fill(TEMPERATURE, "entropy", lambda case: float(entropy(at(case))))
    book.fill(TEMPERATURE, "largest probability", lambda case: float(at(case).max()))
    ratio = fewest(laws[1.0], 0.9) / fewest(laws[0.5], 0.9)
    book.one(TEMPERATURE, "ratio of the two token counts", ratio)
    book.fill(TOP_K, "mass kept by top-k", lambda case: float(sums[case.whole("k") - 1]))
    book.fill(TOP_P, "k needed by top-p", lambda case: fewest(laws[1.0], case.number("p")))
    points.curve(TEMPERATURE, "entropy", zip(TAUS, values, strict=True))
    points.curve(TEMPERATURE, "tokens", ((tau, fewest(law, 0.9)) for tau, law in laws.items()))
    points.add(TEMPERATURE, "ceiling", math.log(words), x=1.0)


# --- counts ---------------------------------------------------------------------------------


def _counts(book: Book, sides: Sides, points: Points) -> None:
    tab = "gpt_tab_params"
    blocks = {
        name: model.layers * counts.encoder_block(model.width)
        for name, model in counts.GPT2.items()
    }
    embeddings = {
        name: (counts.GPT_WORDS + counts.GPT_POSITIONS) * model.width
        for name, model in counts.GPT2.items()
    }
    totals = {
        name: blocks[name] + embeddings[name] + 2 * model.width
        for name, model in counts.GPT2.items()
    }
    sides.exact(
        "totals of four sizes",
        "closed form",
        totals.values(),
        "sum over every tensor",
        [counts.size(counts.gpt2_shapes(model)) for model in counts.GPT2.values()],
    )

    book.fill(tab, "total parameters", lambda case: totals[case.first])
    book.fill(tab, "embedding share", lambda case: embeddings[case.first] / totals[case.first])
    book.fill(tab, "block share", lambda case: blocks[case.first] / totals[case.first])
    book.fill(
        tab,
        "quadratic share at 1024",
        lambda case: counts.quadratic_share(1024, counts.GPT2[case.first].width),
    )
    for each, total in totals.items():
        points.add(tab, "blocks", blocks[each] / total, label=each)
        points.add(tab, "embeddings", embeddings[each] / total, label=each)


def measure_gpt(
    *, series: Path, checks: Path, settings: GptStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on GPT, each identity on both sides.

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
    _masks(book, sides)
    _prefix(book, sides, points, settings.gpt.residual_draws, rng)
    _caches(book, sides, points)
    _drift(book, sides, points)
    _sampling(book, sides, points)
    _counts(book, sides, points)
    write_results(points, sides, series, checks)
    return book.measurements()

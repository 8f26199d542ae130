"""XLNet: orders of factorisation, the cost of not knowing a position, two streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from numpy.random import Generator

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.studies.identities.attention import softmax
from remeasure.studies.identities.chains import (
    Floats,
    divergence,
    entropy,
    random_chain,
    stationary,
    total_variation,
)
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.rounding import gamma, put_residual
from remeasure.studies.identities.settings import XlnetSettings
from remeasure.studies.identities.sides import EPS, Sides

ARTICLE = "xlnet"

EXCESS, PAIRS = "xlnet_stat_excess", "xlnet_tab_pairs"
STREAMS, SPREAD, SATURATED = "xlnet_tab_two_stream", "xlnet_stat_spread", "xlnet_tab_saturation"
PARTIAL, QUANTILES = "xlnet_tab_partial", "xlnet_tab_context_quantiles"

#: The recovered chain: states, concentration, seed; targets at 1 to 4, position 0 is given.
STATES, CONCENTRATION, SEED, TARGETS = 3, 0.7, 7, (1, 2, 3, 4)

#: Positions of the joint law whose factorisations are compared.
LENGTH = 5

#: The two-stream models that are tried, as the article prints none: tokens and width.
SIZES = ((6, 8), (8, 16), (8, 32), (12, 32), (16, 64))
DIRECTIONS = 200
SCALES = (1e-6, 1e-4, 1e-2, 1.0, 10.0, 100.0)

TOKENS = 512


class XlnetStep(Model):
    """What the step is told."""

    xlnet: XlnetSettings


# --- orders ---------------------------------------------------------------------------------


def joint_law(chain: Floats, length: int) -> Floats:
    """Law of the first ``length`` states of the stationary chain, one axis a position."""
    law = stationary(chain)
    for _ in range(length - 1):
        law = law[..., None] * chain
    return law


def refactored(joint: Floats, order: tuple[int, ...]) -> Floats:
    """The joint law as a product of conditionals in another order, same shape.

    Claim: ``P(x) = prod_i P(x_(o_i) | x_(o_1) ... x_(o_(i-1)))`` for every order o: each factor is
    a marginal over the one before it, and the product telescopes. Source: XLNet, core components.
    """
    every = set(range(joint.ndim))
    product, before = np.ones(joint.shape), np.ones(())
    for count in range(1, joint.ndim + 1):
        now = joint.sum(axis=tuple(every - set(order[:count])), keepdims=True)
        product = product * (now / before)
        before = now
    return product


def _orders(book: Book, sides: Sides) -> None:
    joint = joint_law(random_chain(STATES, CONCENTRATION, SEED), LENGTH)
    every = list(permutations(range(LENGTH)))
    worst = max(float(np.abs(refactored(joint, order) / joint - 1).max()) for order in every)
    # Sums of up to K^n positive terms, twice in each of n quotients.
    bound = 2 * LENGTH * gamma(STATES**LENGTH)
    sides.close(
        "a joint law factorises in any order",
        f"products of conditionals, {len(every)} orders of {joint.size} sequences, relative",
        worst,
        "the joint law",
        0.0,
        units=bound / EPS,
    )
    case = book.case(
        "xlnet_stat_order", "worst relative error of the joint over factorisation orders"
    )
    put_residual(book, case, worst, bound, "chain and sequences are not printed")
    bits = math.lgamma(TOKENS + 1) / math.log(2)
    sides.close(
        "512 positions have 512! orders",
        "log-gamma",
        bits,
        "logarithm of the exact integer",
        math.log2(math.factorial(TOKENS)),
        units=8.0,
        scale=bits,
    )
    book.one("xlnet_stat_orders_bits", "log2(512!)", bits)


# --- not knowing the position ---------------------------------------------------------------


def excess(laws: Floats) -> float:
    """Loss of one prediction for all of these laws: ``H(mean) - mean H``, shape (targets, K).

    Claim: it equals the mean divergence from the mixture, and is zero only for equal laws. The
    best single prediction is the mean law. Source: XLNet, mathematical foundation; Yang et al.
    2019, section 2.3.
    """
    return float(entropy(laws.mean(axis=0)) - entropy(laws).mean())


def _positions(book: Book, sides: Sides, points: Points, rng: Generator) -> None:
    chain = random_chain(STATES, CONCENTRATION, SEED)
    powers = np.stack([np.linalg.matrix_power(chain, t) for t in TARGETS])
    laws = powers[:, 0]
    groups = {"all": laws, "state 1": powers[:, 1], "state 2": powers[:, 2]}
    pairs = {pair: powers[[pair[0] - 1, pair[1] - 1], 0] for pair in combinations(TARGETS, 2)}
    tried = [*groups.values(), *pairs.values()]
    tried += [rng.dirichlet(np.ones(5), size=4) for _ in range(100)]
    sides.close(
        "a prediction that does not know its position loses H(mixture) − mean H",
        "difference of entropies",
        [excess(each) for each in tried],
        "mean divergence from the mixture",
        [float(divergence(each, each.mean(axis=0)).mean()) for each in tried],
        units=64.0,
    )
    other = rng.dirichlet(np.ones(STATES), size=200)
    sides.at_most(
        "no other prediction loses less",
        "loss of the mixture",
        excess(laws),
        "loss of 200 others",
        [float(divergence(laws, law).mean()) for law in other],
    )
    quantity = "excess cross-entropy of a position-unaware distribution"
    book.one(EXCESS, quantity, excess(laws))
    book.one(EXCESS, f"{quantity} (bits)", excess(laws) / math.log(2))
    for name in ("state 1", "state 2"):
        book.one(EXCESS, "excess when position 0 shows another state", excess(groups[name]), name)
    away = float(total_variation(laws[-1], stationary(chain)))
    book.one(
        EXCESS,
        "TV between the conditional of position 4 and the stationary distribution",
        away,
        note="position 4 is not near the stationary law, as the article explains its pairs",
    )
    found = {pair: excess(each) for pair, each in pairs.items()}
    for (one, two), value in found.items():
        book.one(PAIRS, "excess for a pair of targets", value, f"targets {one} and {two};")
        points.add(PAIRS, "pair", value, label=f"{one} and {two}")
    cheap, dear = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    book.one(PAIRS, "cheapest pair", f"{cheap[0]} and {cheap[1]}")
    book.one(PAIRS, "most expensive pair", f"{dear[0]} and {dear[1]}")
    alike = np.tile(stationary(chain), (len(TARGETS), 1))
    # Two entropies of three terms each, below log 3.
    bound = 32 * EPS
    sides.close("equal laws lose nothing", "0", 0.0, "excess", excess(alike), units=bound / EPS)
    case = book.case("xlnet_stat_iid", "excess for an i.i.d. chain")
    put_residual(book, case, excess(alike), bound, "the chain is not printed", signed=True)


# --- two streams ----------------------------------------------------------------------------


@dataclass(frozen=True)
class TwoStreams:
    """Content of n tokens, their positions, a learned query, and projections; width d."""

    content: Floats
    places: Floats
    query: Floats
    weights: Floats

    @classmethod
    def draw(cls, tokens: int, width: int, rng: Generator) -> TwoStreams:
        """Standard normal everything, projections over the root of the width."""
        return cls(
            rng.standard_normal((tokens, width)),
            rng.standard_normal((tokens, width)),
            rng.standard_normal(width),
            rng.standard_normal((3, width, width)) / math.sqrt(width),
        )

    def streams(self, target: Floats) -> tuple[Floats, Floats, Floats]:
        """Query stream, content stream and the target's weight on itself; the target is last.

        Claim: the query stream reads the target's position and the context, never the target's
        content, so it cannot change with it; the content stream reads both. Both attend over all
        rows: the mask alone hides the target from its own query. Source: XLNet, core components;
        Yang et al. 2019, section 2.3.

        Parameters
        ----------
        target
            Content of the target, shape (..., d).
        """
        rows, own = self.content + self.places, target + self.places[-1]
        keys, values = (self._with_target(rows, own, self.weights[i]) for i in (1, 2))
        hidden = np.zeros(rows.shape[0])
        hidden[-1] = -np.inf
        blind, _ = _attended((self.query + self.places[-1]) @ self.weights[0], keys, values, hidden)
        seeing, share = _attended(own @ self.weights[0], keys, values, np.zeros(rows.shape[0]))
        return blind, seeing, share[..., -1]

    def _with_target(self, rows: Floats, own: Floats, weights: Floats) -> Floats:
        """Projections of all rows, the last one from ``own``, shape (..., n, d)."""
        every = np.broadcast_to(rows @ weights, (*own.shape[:-1], *rows.shape)).copy()
        every[..., -1, :] = own @ weights
        return every


def _attended(query: Floats, keys: Floats, values: Floats, mask: Floats) -> tuple[Floats, Floats]:
    """Output and weights of attention from one row, batched; ``mask`` is added to the scores."""
    scores = np.einsum("...d,...nd->...n", query, keys) / math.sqrt(keys.shape[-1])
    share = softmax(scores + mask)
    return np.einsum("...n,...nd->...d", share, values), share


@dataclass(frozen=True)
class Responses:
    """Of one model: responses of the content stream (scales, directions), and what else moved."""

    content: Floats
    changed: int
    weight: float
    context: float


def respond(model: TwoStreams, rng: Generator, *, unit: bool, largest: bool) -> Responses:
    """Move the target's content along random directions, at every scale.

    Parameters
    ----------
    unit
        Directions of length one, or standard normal ones.
    largest
        A response is the largest absolute change of an entry, or the length of the change.
    """
    own = model.content[-1]
    directions = rng.standard_normal((DIRECTIONS, own.size))
    if unit:
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    moved = own + np.array(SCALES)[:, None, None] * directions
    blind, seeing, share = model.streams(moved)
    still, before, _ = model.streams(np.broadcast_to(own, moved.shape))
    context = model.content.copy()
    context[:-1] += directions[: len(context) - 1]
    other, *_ = TwoStreams(context, model.places, model.query, model.weights).streams(own)
    return Responses(
        np.linalg.norm(seeing - before, ord=np.inf if largest else 2, axis=-1),
        int((blind != still).any(axis=-1).sum()),
        float(share[-1].max()),
        float(np.linalg.norm(other - still[0, 0])),
    )


def _streams(book: Book, sides: Sides, points: Points, models: int, rng: Generator) -> None:
    found = [
        respond(
            TwoStreams.draw(*SIZES[index % len(SIZES)], rng),
            rng,
            unit=index % 2 == 0,
            largest=index % 4 < 2,
        )
        for index in range(models)
    ]
    content = np.stack([each.content for each in found])
    total = len(SCALES) * DIRECTIONS
    sides.exact(
        "the query stream does not see its target, bit by bit",
        "0 changes",
        [0] * models,
        f"changes under {total} perturbations of {models} random models",
        [each.changed for each in found],
    )
    sides.control(
        "the query stream against the context",
        "a moved context token",
        min(each.context for each in found),
        1e-3,
    )
    sides.control(
        "the content stream against its target", "a moved target", float(content.min()), 1e-9
    )
    gain = content / np.array(SCALES)[:, None]
    small = gain[:, 1].mean(axis=1) / gain[:, 0].mean(axis=1)
    sides.near(
        "small changes act linearly",
        "mean response at 10⁻⁴ over 10⁻⁴",
        small,
        "the same at 10⁻⁶",
        1.0,
        tolerance=0.02,
    )
    _put_streams(book, found, content)
    for index, scale in enumerate(SCALES):
        means = content[:, index].mean(axis=1)
        low, high = np.quantile(means, [0.025, 0.975])
        points.add(
            STREAMS, "content stream", float(np.median(means)), x=scale,
            low=float(low), high=float(high),
        )  # fmt: skip
    points.add(STREAMS, "query stream", float(max(each.changed for each in found)))


def _put_streams(book: Book, found: list[Responses], content: Floats) -> None:
    sizes = ", ".join(f"n={n} d={d}" for n, d in SIZES)
    one, unit = SCALES.index(1e-6), SCALES.index(1.0)
    directions = content[:, unit]

    def put(case: Case, values: Floats) -> None:
        low, middle, high = np.quantile(values, [0.025, 0.5, 0.975])
        book.put(
            case,
            float(middle),
            low=float(low),
            high=float(high),
            n=len(found),
            note=(
                "underdetermined: sizes, weights, norm and seed are not printed; possible are"
                f" {values.min():.4g} to {values.max():.4g}: median and 95% range of"
                f" {len(found)} random models ({sizes}; directions of length one or standard"
                " normal, changes by length or by largest entry)"
            ),
        )

    book.one(
        STREAMS,
        "perturbations that changed the query stream",
        max(each.changed for each in found),
        note=f"the same for every one of {len(found)} models",
    )
    put(book.case(STREAMS, "mean content response", "scale 1e-6"), content[:, one].mean(axis=1))
    put(book.case(STREAMS, "mean content response", "scale 1;"), directions.mean(axis=1))
    first = book.case(STREAMS, "mean content response", "scale 1e-6").number("scale")
    last = book.case(STREAMS, "mean content response", "scale 1;").number("scale")
    book.one(STREAMS, "scales", math.log10(last / first), note="at least, from 10⁻⁶ to 1")
    put(book.case(SPREAD, "median content response"), np.median(directions, axis=1))
    put(book.case(SPREAD, "smallest content response"), directions.min(axis=1))
    put(book.case(SPREAD, "largest content response"), directions.max(axis=1))
    put(
        book.case(SPREAD, "largest over smallest response"),
        directions.max(axis=1) / directions.min(axis=1),
    )
    put(
        book.case(SATURATED, "attention weight of the target at the largest scale"),
        np.array([each.weight for each in found]),
    )


# --- the last part of an order --------------------------------------------------------------


def mean_context(n: Fraction | int, parts: int) -> Fraction:
    """Mean context when only the last 1/K of an order is predicted: ``n - n/(2K) - 1/2``.

    Rank j sees j tokens; the last n/K ranks average to that. Source: XLNet, mathematical
    foundation.
    """
    return Fraction(n) - Fraction(n, 2 * parts) - Fraction(1, 2)


def _partial(book: Book, sides: Sides, points: Points) -> None:
    grid = [(n, k) for n in (12, 60, 512, 840) for k in (1, 2, 3, 4, 5, 6, 8, 10) if n % k == 0]
    sides.exact(
        "mean context of the last n/K ranks of an order: n−n/(2K)−1/2",
        "closed form",
        [mean_context(*each) for each in grid],
        "average over the ranks",
        [Fraction(sum(range(n - n // k, n)), n // k) for n, k in grid],
    )
    levels = (0.1, 0.25, 0.5, 0.75, 0.9)
    sides.close(
        "contexts of a full order are 0 to n−1",
        "(n−1)·q",
        [(TOKENS - 1) * q for q in levels],
        "numpy.quantile of the ranks",
        np.quantile(np.arange(TOKENS), levels),
        units=8.0,
        scale=TOKENS,
    )

    def parts(case: Case) -> int:
        return case.whole("K")

    book.fill(
        PARTIAL, "mean context", lambda case: float(mean_context(case.whole("n"), parts(case)))
    )
    book.fill(PARTIAL, "predictions n/K", lambda case: case.whole("n") / parts(case))
    book.fill(PARTIAL, "smallest context", lambda case: case.whole("n") * (1 - 1 / parts(case)))
    book.fill(PARTIAL, "premium", parts)
    bert = book.case(PARTIAL, "BERT context")
    seen = bert.whole("n") * (1 - bert.number("p"))
    book.put(bert, seen)
    book.one(
        PARTIAL,
        "full-permutation context over BERT context",
        float(mean_context(TOKENS, 1)) / seen,
    )
    ratio = mean_context(TOKENS, 8) / mean_context(TOKENS, 2)
    book.one(PARTIAL, "mean context K=8 over K=2", float(ratio))
    book.one(PARTIAL, "premium K=8 over K=2", 8 / 2)
    for case in book.cases(QUANTILES):
        level = 0.1 if case.has("bottom decile") else case.number("quantile")
        book.put(case, (TOKENS - 1) * level)
    for k in range(1, 13):
        points.add(PARTIAL, "mean context", float(mean_context(TOKENS, k)), x=k)
        points.add(PARTIAL, "predictions", TOKENS / k, x=k)


def measure_xlnet(
    *, series: Path, checks: Path, settings: XlnetStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on XLNet, each identity on both sides.

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
    _orders(book, sides)
    _positions(book, sides, points, rng)
    _streams(book, sides, points, settings.xlnet.models, rng)
    _partial(book, sides, points)
    write_results(points, sides, series, checks)
    return book.measurements()

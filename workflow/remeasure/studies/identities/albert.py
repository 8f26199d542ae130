"""ALBERT: factoring, sharing, and a layer that is repeated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.random import Generator

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.chains import Floats
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.settings import AlbertSettings
from remeasure.studies.identities.sides import Sides

ARTICLE = "albert"

FACTOR, DECOUPLED = "albert_tab_factor", "albert_tab_decoupled"
ITERATED, RESIDUAL, FIXED = (
    "albert_tab_iterated",
    "albert_tab_residual",
    "albert_stat_fixed_point",
)
TOTALS, CONTRIBUTION = "albert_tab_totals", "albert_stat_contribution"

BOTTLENECK, TOKENS, LAYERS = 128, 512, 12
MASKED = Fraction(15, 100) * TOKENS

#: The iterated map: depth, bias, and the width and seeds of the study card's medians. The
#: article's own width is lost: others are tried for the range of possible values.
DEPTH, BIAS = 24, 0.1
WIDTH, SEEDS = 64, 20
TRIED = (16, 32, 64)
GAINS = (0.5, 1.0)

#: A step below this is rest; the printed count is of layers until then.
REST = 1e-12
LONGEST = 2000


#: Gain, whether one layer is shared, whether a residual connection is added.
Kind = tuple[float, bool, bool]


class AlbertStep(Model):
    """What the step is told."""

    albert: AlbertSettings


# --- factoring ------------------------------------------------------------------------------


def breakeven(words: int, width: int) -> Fraction:
    """Bottleneck at which a factored embedding has as many parameters: ``VH/(V+H)``.

    ``VE + EH < VH`` iff ``E < VH/(V+H)``. Source: ALBERT, mathematical foundation.
    """
    return Fraction(words * width, words + width)


def saved(words: int, width: int, bottleneck: int) -> int:
    """Parameters that factoring saves: ``VH - E(V+H)``."""
    return words * width - bottleneck * (words + width)


def saved_by_tables(words: int, width: int, bottleneck: int) -> int:
    """The same from the shapes of the tables."""
    return counts.size([(words, width)]) - counts.size([(words, bottleneck), (bottleneck, width)])


def _factoring(book: Book, sides: Sides, points: Points, rng: Generator) -> None:
    tab = "albert_tab_breakeven"
    cases = book.cases(tab)
    sizes = [(case.whole("V"), case.whole("H")) for case in cases]
    sides.exact(
        "a factored embedding saves parameters below VH/(V+H)",
        "whole part of the break-even",
        [math.floor(breakeven(*each)) for each in sizes],
        "widest bottleneck that saves, tried one by one",
        [max(e for e in range(1, h + 1) if saved_by_tables(v, h, e) > 0) for v, h in sizes],
    )
    sides.exact(
        "factoring at E = H costs H²",
        "−H²",
        [-(h**2) for _, h in sizes],
        "difference of the tables",
        [saved_by_tables(v, h, h) for v, h in sizes],
    )
    for case, each in zip(cases, sizes, strict=True):
        book.put(case, float(breakeven(*each)))
    first = book.case(FACTOR, "extra parameters at E=H")
    words, width = first.whole("V"), first.whole("H")
    book.put(first, -saved(words, width, width))
    every = [
        (case.whole("V"), case.whole("H"), case.whole("E"))
        for case in book.cases(FACTOR, "parameters saved")
    ]
    sides.exact(
        "factoring saves VH − E(V+H) parameters",
        "closed form",
        [saved(*each) for each in every],
        "difference of the tables",
        [saved_by_tables(*each) for each in every],
    )
    book.fill(
        FACTOR,
        "parameters saved",
        lambda case: saved(case.whole("V"), case.whole("H"), case.whole("E")),
    )
    book.fill(
        FACTOR,
        "cost of the E to H projection over one block projection cost",
        lambda case: case.whole("E") * case.whole("H") / (4 * case.whole("H") ** 2),
        note="over the four projections of a block",
    )
    ranks = [
        int(np.linalg.matrix_rank(rng.standard_normal((40, e)) @ rng.standard_normal((e, 24))))
        for e in (1, 4, 12)
    ]
    sides.exact("rank of a factored table", "E", (1, 4, 12), "rank of random products", ranks)
    book.fill(
        "albert_stat_rank",
        "largest rank over H",
        lambda case: case.whole("E") / case.whole("H"),
    )
    for e in range(16, width + 33, 16):
        points.add(FACTOR, f"H={width}", saved(words, width, e) / 1e6, x=e)


# --- sharing --------------------------------------------------------------------------------


def _sharing(book: Book, sides: Sides) -> None:
    base = counts.BERT["BERT-base"]
    d, total = base.width, counts.size(counts.bert_shapes(base))
    block = counts.encoder_block(d)
    sides.exact(
        "one shared block saves (L−1)/L of the block parameters",
        "(L−1)/L",
        [Fraction(layers - 1, layers) for layers in (2, 12, 24)],
        "tensors of L blocks and of one",
        [
            1 - Fraction(counts.size(counts.encoder_shapes(d)),
                         layers * counts.size(counts.encoder_shapes(d)))
            for layers in (2, 12, 24)
        ],
    )  # fmt: skip
    shared = [
        sum(counts.macs(counts.attention_products(TOKENS, d, 12)) for _ in range(layers))
        for layers in (1, LAYERS)
    ]
    sides.exact(
        "sharing saves no arithmetic",
        "L·(4nd²+2n²d)",
        [LAYERS * counts.attention_macs(TOKENS, d)],
        "products of one block, applied L times",
        [shared[1]],
    )
    stat = "albert_stat_sharing"
    book.one(stat, "share of block parameters saved", (LAYERS - 1) / LAYERS)
    book.one(stat, "compute saved", 1 - shared[1] / (LAYERS * shared[0]))
    book.one(stat, "attention multiply-accumulates of the stack", shared[1])
    embedding = counts.size(counts.bert_embedding_shapes(d))
    rows = counts.ALBERT_WORDS + counts.POSITIONS + counts.TYPES
    factored = counts.size([(rows, BOTTLENECK), (BOTTLENECK, d)])
    sharing, factoring = (LAYERS - 1) * block / total, (embedding - factored) / total
    book.one(CONTRIBUTION, "share of BERT-base saved by sharing", sharing)
    book.one(CONTRIBUTION, "share of BERT-base saved by factorisation", factoring)
    book.one(CONTRIBUTION, "sharing over factorisation", sharing / factoring)
    book.fill(
        CONTRIBUTION,
        "share saved by factorising words only",
        lambda case: saved(case.whole("V"), d, BOTTLENECK) / total,
    )

    def over(case: Case) -> float:
        width = case.whole("H")
        words = saved(case.whole("V"), width, BOTTLENECK)
        return (LAYERS - 1) * counts.encoder_block(width) / words

    book.fill("albert_tab_width_ratio", "sharing (12 layers) over word factorisation", over)


# --- parameters and arithmetic --------------------------------------------------------------


def stack_macs(model: counts.Size, *, feed_forward: bool) -> int:
    """Multiply-accumulates of a stack over 512 tokens; a feed-forward layer adds ``8 n H^2``."""
    extra = 8 * TOKENS * model.width**2 if feed_forward else 0
    return model.layers * (counts.attention_macs(TOKENS, model.width) + extra)


def stack_products(model: counts.Size, *, feed_forward: bool) -> int:
    """The same product by product."""
    d = model.width
    products = list(counts.attention_products(TOKENS, d, d // 64))
    if feed_forward:
        products += [(TOKENS, d, 4 * d), (TOKENS, 4 * d, d)]
    return model.layers * counts.macs(products)


def _decoupled(book: Book, sides: Sides, points: Points) -> None:
    models = {"BERT-large": counts.BERT["BERT-large"], **counts.ALBERT}
    both = (False, True)
    sides.exact(
        "arithmetic of a stack, without and with its feed-forward",
        "closed form",
        [stack_macs(model, feed_forward=kind) for model in models.values() for kind in both],
        "sum over its products",
        [stack_products(model, feed_forward=kind) for model in models.values() for kind in both],
    )
    large = counts.size(counts.bert_shapes(models["BERT-large"]))
    macs = {name: stack_macs(model, feed_forward=False) for name, model in models.items()}
    deep = "ALBERT-xxlarge"
    quantity = "parameters per billion attention multiply-accumulates"
    published = book.case(DECOUPLED, quantity, deep).number("published") * 1e6
    dense = large / (macs["BERT-large"] / counts.BILLION)
    sparse = published / (macs[deep] / counts.BILLION)
    own = counts.size(counts.albert_shapes(models[deep], BOTTLENECK, whole=False))
    book.one(DECOUPLED, "parameters over BERT-large", published / large)
    book.one(DECOUPLED, "parameters over BERT-large with the article own total", own / large)
    book.one(DECOUPLED, quantity, dense, "BERT-large")
    book.one(DECOUPLED, quantity, sparse, deep)
    book.one(DECOUPLED, "ratio of the two", dense / sparse)
    full = [stack_macs(models[name], feed_forward=True) for name in (deep, "BERT-large")]
    book.one(DECOUPLED, "compute over BERT-large including feed-forward", full[0] / full[1])

    book.fill(DECOUPLED, "attention multiply-accumulates", lambda case: macs[case.first])
    book.fill(
        DECOUPLED,
        "attention compute over BERT-large",
        lambda case: macs[case.first] / macs["BERT-large"],
    )
    for each, model in models.items():
        total = (
            large
            if each == "BERT-large"
            else counts.size(counts.albert_shapes(model, BOTTLENECK, whole=True))
        )
        points.add(DECOUPLED, each, macs[each] / counts.BILLION, x=total / 1e6)


def _totals(book: Book, sides: Sides) -> None:
    plain, whole = {}, {}
    rows = counts.ALBERT_WORDS + counts.POSITIONS + counts.TYPES
    for name, model in counts.ALBERT.items():
        h = model.width
        plain[name] = counts.encoder_block(h) + rows * BOTTLENECK + BOTTLENECK * h
        whole[name] = plain[name] + 2 * BOTTLENECK + h + h**2 + h
    sides.exact(
        "totals of four sizes, without and with norm, bias and pooler",
        "closed forms",
        [*plain.values(), *whole.values()],
        "sum over every tensor",
        [
            counts.size(counts.albert_shapes(model, BOTTLENECK, whole=kind))
            for kind in (False, True)
            for model in counts.ALBERT.values()
        ],
    )

    published = {
        case.first: case.number("published") * 1e6
        for case in book.cases(TOTALS, "relative deviation from the published total")
    }
    book.fill(
        TOTALS,
        "total (one block plus factored embeddings with positions and types)",
        lambda case: plain[case.first],
    )
    book.fill(
        TOTALS,
        "total with embedding norm, projection bias and pooler",
        lambda case: whole[case.first],
    )
    for quantity, totals in (
        ("relative deviation from the published total", plain),
        ("relative deviation of that total", whole),
    ):
        for case in book.cases(TOTALS, quantity):
            book.put(case, totals[case.first] / published[case.first] - 1)


def _order(book: Book, sides: Sides) -> None:
    stat = "albert_stat_sop"

    def bits(words: int) -> float:
        return float(MASKED) * math.log2(words)

    case = book.case(stat, "bits of 76.8 masked tokens")
    words = case.whole("V")
    exact = math.log2(words ** int(5 * MASKED)) / 5
    sides.close(
        "bits of the masked tokens of a sequence",
        "r·n·log₂V",
        bits(words),
        "logarithm of the number of fillings of five sequences, a fifth of it",
        exact,
        units=8.0,
        scale=exact,
    )
    book.put(case, bits(words))
    book.one(stat, "share of the sentence label by bits", 1 / (bits(words) + 1))
    quoted = 1 / (bits(counts.BERT_WORDS) + 1)
    book.one(stat, "share quoted from the RoBERTa article", quoted)
    orders = len(list(permutations(range(2))))
    book.one(stat, "ambiguity of swapping two sentences", math.log2(orders))


# --- a layer that is repeated ---------------------------------------------------------------


@dataclass(frozen=True)
class Layers:
    """Two matrices and a bias of each layer, shapes (L, d, d), (L, d), (L, d, d); an input (d,)."""

    first: Floats
    bias: Floats
    second: Floats
    start: Floats

    @classmethod
    def draw(cls, gain: float, width: int, seed: int) -> Layers:
        """Standard normal entries times the gain over the root of the width, biases times 0.1.

        The article's construction is lost. This one is inferred from its numbers; the order of
        draws is that of the study card's medians.
        """
        rng = np.random.default_rng(seed)
        first, bias, second = [], [], []
        for _ in range(DEPTH):
            first.append(gain * rng.standard_normal((width, width)) / math.sqrt(width))
            bias.append(BIAS * rng.standard_normal(width))
            second.append(gain * rng.standard_normal((width, width)) / math.sqrt(width))
        return cls(np.array(first), np.array(bias), np.array(second), rng.standard_normal(width))

    def apply(self, x: Floats, layer: int) -> Floats:
        """``tanh(x W1 + b) W2``."""
        return np.asarray(np.tanh(x @ self.first[layer] + self.bias[layer]) @ self.second[layer])

    def steps(self, depth: int, shared: bool, residual: bool) -> Floats:
        """Lengths of the moves from layer to layer, shape (depth,)."""
        x, lengths = self.start, []
        for layer in range(depth):
            move = self.apply(x, 0 if shared else layer)
            after = x + move if residual else move
            lengths.append(float(np.linalg.norm(after - x)))
            x = after
        return np.array(lengths)


def rest(layers: Layers) -> tuple[Floats, int]:
    """Fixed point of the first layer by repetition, and layers until a step is below 1e-12."""
    x, moved, count = layers.start, math.inf, 0
    while moved >= REST and count < LONGEST:
        after = layers.apply(x, 0)
        x, moved, count = after, float(np.linalg.norm(after - x)), count + 1
    return x, count


def solved(layers: Layers) -> Floats:
    """The same point by Newton's method on ``f(x) - x``."""
    from scipy.optimize import root

    found = root(lambda x: layers.apply(x, 0) - x, np.zeros_like(layers.start), tol=1e-13)
    return np.asarray(found.x)


def _iterated(book: Book, sides: Sides, points: Points, seeds: int) -> None:
    kinds = [(shared, residual) for residual in (False, True) for shared in (False, True)]
    found: dict[Kind, dict[int, Floats]] = {}
    for gain in GAINS:
        drawn = {
            width: [Layers.draw(gain, width, seed) for seed in range(seeds)] for width in TRIED
        }
        for kind in kinds:
            found[gain, *kind] = {
                width: np.array([each.steps(DEPTH, *kind) for each in layers])
                for width, layers in drawn.items()
            }
    paths = {key: each[WIDTH] / each[WIDTH][:, :1] for key, each in found.items()}
    ratios = {
        key: np.concatenate([moves[:, -1] / moves[:, 0] for moves in each.values()])
        for key, each in found.items()
    }
    calm = [Layers.draw(0.5, 32, seed) for seed in range(10)]
    sides.near(
        "a repeated contraction comes to rest at its one fixed point",
        "repetition until a step is below 10⁻¹²",
        [rest(each)[0] for each in calm],
        "Newton's method from the origin, ten layers of gain 0.5",
        [solved(each) for each in calm],
        tolerance=1e-10,
    )
    middle = {key: float(np.median(path[:SEEDS, -1])) for key, path in paths.items()}
    grown = {gain: min(middle[gain, kind, True] for kind in (False, True)) for gain in GAINS}
    sides.at_most(
        "shared plain layers come to rest, unshared ones do not, residual ones grow",
        "medians of 20 seeds, in this order",
        [each for gain in GAINS for each in (
            middle[gain, True, False], middle[gain, False, False], 1.0)],
        "the next",
        [each for gain in GAINS for each in (
            middle[gain, False, False], 1.0, grown[gain])],
    )  # fmt: skip
    _put_iterated(book, ratios, middle)
    counted = np.array([rest(Layers.draw(0.5, width, seed))[1]
                        for width in TRIED for seed in range(min(seeds, 40))])  # fmt: skip
    low, high = np.quantile(counted, [0.025, 0.975])
    book.put(
        book.case(FIXED, "layers until the step is below 1e-12"),
        int(np.median(counted)),
        low=float(low),
        high=float(high),
        n=counted.size,
        note=_lost(counted),
    )
    for (gain, shared, residual), path in paths.items():
        if gain == 0.5 and not residual:
            name = "one layer repeated" if shared else "each layer its own"
            for layer, values in enumerate(path.T, 1):
                low, high = np.quantile(values, [0.025, 0.975])
                points.add(
                    ITERATED, name, float(np.median(values)), x=layer,
                    low=float(low), high=float(high),
                )  # fmt: skip


def _lost(values: Floats) -> str:
    return (
        "underdetermined: construction and seed are not printed; under the inferred one"
        f" possible are {values.min():.4g} to {values.max():.4g}: median and 95% range of"
        f" {values.size} draws of widths {', '.join(map(str, TRIED))}"
    )


def _put_iterated(
    book: Book,
    ratios: dict[Kind, Floats],
    middle: dict[Kind, float],
) -> None:
    for output, residual in ((ITERATED, False), (RESIDUAL, True)):
        for case in book.cases(output):
            if case.row.quantity == "growth quoted in the metrics section":
                book.put(
                    case,
                    max(each.printed for each in book.cases(RESIDUAL, "last over first step size")),
                    note="the largest of the four that the article prints",
                )
                continue
            key = (case.number("gain"), not case.has("unshared"), residual)
            values = ratios[key]
            low, high = (float(each) for each in np.quantile(values, [0.025, 0.975]))
            if case.row.quantity.startswith("median"):
                book.put(case, middle[key], n=SEEDS, note="seeds 0 to 19, drawn again")
            else:
                book.put(
                    case,
                    float(np.median(values)),
                    low=low,
                    high=high,
                    n=values.size,
                    note=_lost(values),
                )


def measure_albert(
    *, series: Path, checks: Path, settings: AlbertStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on ALBERT, each identity on both sides.

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
    _factoring(book, sides, points, rng)
    _sharing(book, sides)
    _decoupled(book, sides, points)
    _iterated(book, sides, points, settings.albert.seeds)
    _totals(book, sides)
    _order(book, sides)
    write_results(points, sides, series, checks)
    return book.measurements()

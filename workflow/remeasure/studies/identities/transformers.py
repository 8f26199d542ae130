"""Transformers: what attention, positions and sizes obey, measured on both sides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.attention import (
    Floats,
    Weights,
    encode,
    error_bound,
    frequencies,
    rotation,
    self_attention,
    softmax,
)
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.rounding import put_residual
from remeasure.studies.identities.settings import TransformersSettings
from remeasure.studies.identities.sides import EPS, Sides

ARTICLE = "transformers"

ENTROPY, RATIOS = "transformers_tab_entropy", "transformers_tab_entropy_ratios"
VARIANCE, SINGLE = "transformers_tab_logit_variance", "transformers_stat_single_draw"

#: The article's simulation: sequences of 16 positions at these widths; seed of the printed draw.
LENGTH = 16
WIDTHS = (8, 32, 128, 512, 2048)
SEED, FIRST_SINGLE_SEED = 2, 5000
SEQUENCES, SINGLES = 2000, 400

#: Sequences drawn at once: bounds memory, changes no number.
SLICE = 250

Z95 = 1.959963984540054

#: Positions and offsets of the rotation identity; the article does not print its own.
PLACES, OFFSETS = (0, 10, 100, 1000), (1, 10, 50)

#: The random models whose residuals are taken; the article prints neither size nor seed.
TOKENS, WIDTH, BATCH = 12, 32, 20


class TransformersStep(Model):
    """What the step is told."""

    transformers: TransformersSettings


# --- path length ----------------------------------------------------------------------------


def layers_needed(n: int, width: int) -> int:
    """Stride-1 layers of windows ``width`` wide that let one unit see n positions.

    Claim: ``ceil((n - 1)/(width - 1))``. A layer adds ``width - 1`` positions to what a unit
    sees, starting from one. Source: Transformers, core components; Vaswani et al. 2017, table 1.
    """
    return -(-(n - 1) // (width - 1))


def layers_counted(n: int, width: int) -> int:
    """The same by spreading what one unit sees, window by window, until it spans n positions."""
    seen = np.zeros(n + width, dtype=bool)
    seen[0] = True
    layers = 0
    while not seen[n - 1]:
        spread = seen.copy()
        # np.convolve of the pattern with a window of ones, as a dilation.
        edge = int(np.flatnonzero(seen)[-1])
        spread[edge : edge + width] = True
        seen = spread
        layers += 1
    return layers


def steps_counted(n: int) -> int:
    """Recurrent steps until the last of n states depends on the first input: one at a time."""
    reaches = [True, *[False] * (n - 1)]
    steps = 0
    while not reaches[-1]:
        reaches = [True, *(reaches[i - 1] or reaches[i] for i in range(1, n))]
        steps += 1
    return steps


def _path_length(book: Book, sides: Sides, points: Points) -> None:
    lengths = [2, 3, 5, 16, 17, 64, 129, 512]
    windows = [2, 3, 4, 5, 7, 129, 512]
    grid = [(n, width) for n in lengths for width in windows]
    grid += [(4096, 3), (4096, 129), (4096, 512)]
    sides.exact(
        "layers of a window w that relate ends n apart: ⌈(n−1)/(w−1)⌉",
        "closed form",
        [layers_needed(*each) for each in grid],
        "spreading what one unit sees, layer by layer",
        [layers_counted(*each) for each in grid],
    )
    sides.exact(
        "recurrent steps that relate ends n apart: n−1",
        "closed form",
        [n - 1 for n in lengths],
        "spreading the first input through the states",
        [steps_counted(n) for n in lengths],
    )
    sides.exact(
        "attention relates any two positions in one layer",
        "one layer",
        [True] * len(lengths),
        "no weight of a softmax of finite scores is zero",
        [bool((softmax(np.linspace(-9, 9, n)[None, :]) > 0).all()) for n in lengths],
    )

    def kernel(case: Case) -> int:
        return layers_needed(case.whole("n"), case.whole("kernel"))

    spread = "closed form, equal to the layers counted by spreading a unit's view"
    first, tab = "transformers_stat_layers", "transformers_tab_path_length"
    book.fill(first, "convolution layers to relate ends", kernel, note=spread)
    book.fill(first, "attention layers to relate ends", lambda _: 1)
    book.fill(tab, "convolution layers", kernel, note=spread)
    book.fill(tab, "recurrent steps", lambda case: case.whole("n") - 1)
    book.fill(tab, "attention layers", lambda _: 1)
    book.fill(
        "transformers_stat_local_attention",
        "layers to relate ends with window w",
        lambda case: layers_needed(case.whole("n"), case.whole("w")),
        note=spread,
    )
    powers = [2**power for power in range(3, 13)]
    points.curve(tab, "recurrence", ((n, n - 1) for n in powers))
    points.curve(tab, "convolution, width 3", ((n, layers_needed(n, 3)) for n in powers))
    points.curve(tab, "attention", ((n, 1) for n in powers))


# --- attention is a set function ------------------------------------------------------------


def permuted(
    x: Floats, weights: Weights, order: npt.NDArray[np.int64], table: Floats | None = None
) -> tuple[Floats, Floats]:
    """Attention of permuted rows, and permuted attention, shapes (n, d).

    Claim: ``Attn(P X) = P Attn(X)``. Scores become ``P S P^T``, the softmax acts on each row,
    and ``P^T P = I``. A table of positions, added before attention, must break it.
    Source: Transformers, mathematical foundation.
    """
    extra = 0.0 if table is None else table
    return self_attention(x[order] + extra, weights), self_attention(x + extra, weights)[order]


def equivariance_residuals(seed: int) -> tuple[float, float, float, float]:
    """Residuals of one random model: all outputs, their mean, both with positions, and a bound.

    The control adds a table of standard normal rows in place of positions. The bound is twice
    the rounding error of one output.
    """
    rng = np.random.default_rng(seed)
    x, weights = rng.standard_normal((TOKENS, WIDTH)), Weights.draw(WIDTH, rng)
    order = rng.permutation(TOKENS)
    one, other = permuted(x, weights, order)
    broken = permuted(x, weights, order, rng.standard_normal((TOKENS, WIDTH)))
    return (
        float(np.abs(one - other).max()),
        float(np.abs(one.mean(axis=0) - other.mean(axis=0)).max()),
        float(np.abs(broken[0] - broken[1]).max()),
        2 * error_bound(x, weights),
    )


def _equivariance(book: Book, sides: Sides, draws: int, rng: Generator) -> None:
    found = np.array([equivariance_residuals(seed) for seed in range(draws)])
    residual, mean = float(found[:, 0].max()), float(found[:, 1].max())
    bound, controls = float(found[:, 3].min()), found[:, 2]
    sides.close(
        "attention without positions commutes with permutations: Attn(PX) = P·Attn(X)",
        f"attention of permuted rows ({draws} random models, n={TOKENS}, d={WIDTH})",
        [residual, mean],
        "permuted attention, and their means",
        [0.0, 0.0],
        units=bound / EPS,
    )
    sides.control("permutation, with positions added", "a table of rows", controls.min(), 0.1)
    _same_as_torch(sides, rng)
    missing = "sizes and seed are not printed"
    stat = "transformers_stat_equivariance"
    case = book.case(stat, "worst residual of permutation equivariance")
    put_residual(book, case, residual, bound, missing)
    case = book.case(stat, "difference of mean-pooled outputs under permutation")
    put_residual(book, case, mean, bound, missing)
    case = book.case(stat, "positive control: worst residual with positions added")
    batch = min(BATCH, draws)
    batches = controls[: draws // batch * batch].reshape(-1, batch).max(axis=1)
    value = float(controls[:batch].max())
    low, high = np.quantile(batches, [0.025, 0.975])
    book.put(
        case,
        value,
        low=min(value, float(low)),
        high=max(value, float(high)),
        n=batch,
        note=(
            f"seeds 0 to {batch - 1}, with a table of standard normal rows; 95% range of the"
            f" worst of {batch} over {batches.size} such batches"
        ),
    )


def _same_as_torch(sides: Sides, rng: Generator) -> None:
    import torch

    x, weights = rng.standard_normal((TOKENS, WIDTH)), Weights.draw(WIDTH, rng)
    query, key, value = (
        torch.from_numpy(x @ each)[None, None]
        for each in (weights.query, weights.key, weights.value)
    )
    theirs = torch.nn.functional.scaled_dot_product_attention(query, key, value)[0, 0]
    sides.close(
        "attention as written in the article",
        "softmax(QKᵀ/√d)·V in NumPy",
        self_attention(x, weights),
        "torch.nn.functional.scaled_dot_product_attention",
        theirs.numpy(),
        units=2 * error_bound(x, weights) / EPS,
    )


# --- positions turn -------------------------------------------------------------------------


def _rotation(book: Book, sides: Sides, rng: Generator) -> None:
    """``PE(p + k) = R_k PE(p)`` with R_k orthogonal.

    Each pair (sin wp, cos wp) turns by the angle wk: the addition theorems. Hence
    ``|PE(p)|^2 = d/2`` and ``PE(p).PE(p+k) = sum cos(w k)`` at every p.
    Source: Transformers, core components; Vaswani et al. 2017, section 3.5.
    """
    pairs = [(p, k) for p in PLACES for k in OFFSETS]
    largest = max(p + k for p, k in pairs)
    # An angle w p errs by its own rounding, two of w and one of the product: 1.5 epsilon times p.
    units = 3.0 * (max(PLACES) + largest) + 16
    worst = 0.0
    for width in (64, 512):
        turned = [rotation(k, width) @ encode([p], width)[0] for p, k in pairs]
        there = [encode([p + k], width)[0] for p, k in pairs]
        worst = max(
            worst,
            sides.close(
                f"positions turn: PE(p+k) = R_k·PE(p), d={width}",
                "the encoding of p+k",
                there,
                "the encoding of p, turned by k",
                turned,
                units=units,
            ),
        )
    put_residual(
        book,
        book.case("transformers_stat_rotation"),
        worst,
        units * EPS,
        "the set of positions and offsets is not printed",
    )
    identity = rotation(10, 64) @ rotation(10, 64).T
    sides.close("R_k is orthogonal", "R_k·R_kᵀ", identity, "I", np.eye(64), units=4)
    table = rng.standard_normal((200, 64))
    best, *_ = np.linalg.lstsq(table[:-10], table[10:], rcond=None)
    left = float(np.sqrt(np.mean((table[:-10] @ best - table[10:]) ** 2)))
    sides.control("a linear map from p to p+10", "a table of random rows", left, 0.1)
    _dots(book, sides, units)


def _dots(book: Book, sides: Sides, units: float) -> None:
    tab, stat = "transformers_tab_pe_dots", "transformers_stat_pe_norm"
    spreads = []
    for case in book.cases(tab, "PE(p).PE(p+k)"):
        width, offset = case.whole("d"), case.whole("k")
        at = encode(PLACES, width)
        dots = (at * encode([p + offset for p in PLACES], width)).sum(axis=1)
        closed = float(np.cos(frequencies(width) * offset).sum())
        sides.close(
            f"PE(p)·PE(p+{offset}) does not depend on p, d={width}",
            "sum of cosines",
            np.full(dots.shape, closed),
            f"inner products at p = {', '.join(map(str, PLACES))}",
            dots,
            units=units * width,
        )
        spreads.append(float(np.ptp(dots)))
        book.put(case, closed, note="sum of cosines, equal to the inner products at four p")
    spread = max(spreads)
    book.one(
        tab,
        "spread of the dot product over base positions 0 10 100 1000",
        spread,
        note=(
            f"{spread / EPS:.0f} units of machine epsilon: zero but for rounding, which grows with"
            f" p; the bound is {units * 64:.0f} units"
        ),
    )
    for case in book.cases(stat):
        width = case.whole("d")
        norms = (encode(PLACES, width) ** 2).sum(axis=1)
        sides.close(
            f"|PE(p)|² = d/2, d={width}",
            "d/2",
            np.full(norms.shape, width / 2),
            "sum of squares at four p",
            norms,
            units=4 * width,
        )
        book.put(case, width / 2)


# --- logits grow, entropy falls -------------------------------------------------------------


def scores(width: int, sequences: int, seed: int) -> Floats:
    """Unscaled logits of random sequences, shape (sequences, 16, 16).

    One generator draws all queries and then, slice by slice, the keys: half a gigabyte at
    d = 2048.
    """
    rng = np.random.default_rng(seed)
    queries = rng.standard_normal((sequences, LENGTH, width))
    found = np.empty((sequences, LENGTH, LENGTH))
    for first in range(0, sequences, SLICE):
        part = queries[first : first + SLICE]
        found[first : first + SLICE] = part @ rng.standard_normal(part.shape).transpose(0, 2, 1)
    return found


def row_entropies(logits: Floats) -> Floats:
    """Entropy of the softmax of each last axis in nats: ``-sum p log p``."""
    law = softmax(logits)
    return np.asarray(-(law * np.log(np.where(law > 0, law, 1.0))).sum(axis=-1))


def row_entropies_by_partition(logits: Floats) -> Floats:
    """The same as ``log Z - E[score]``, which takes no logarithm of a probability."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    weight = np.exp(shifted)
    total = weight.sum(axis=-1)
    return np.asarray(np.log(total) - (weight * shifted).sum(axis=-1) / total)


def exact_variance(width: int) -> float:
    """Variance of ``q.k`` over all vectors of signs: an enumeration of every case.

    Claim: ``d s^4`` for independent entries of mean 0 and variance s^2; signs have s = 1.
    Source: Transformers, mathematical foundation; Vaswani et al. 2017, footnote 4.
    """
    codes = np.arange(2**width)
    signs = np.where((codes[:, None] >> np.arange(width)) & 1, 1.0, -1.0)
    return float((signs @ signs.T).var())


def _entropy(book: Book, sides: Sides, points: Points, sequences: int) -> None:
    coverage = (
        WHOLE if sequences == SEQUENCES else f"{sequences:,} of {SEQUENCES:,} sequences a width"
    )
    raw: dict[int, float] = {}
    scaled: dict[int, float] = {}
    errors: dict[tuple[str, int], float] = {}
    variances: list[float] = []
    variance_errors: list[float] = []
    for width in WIDTHS:
        logits = scores(width, sequences, SEED)
        for name, kept, values in (
            ("unscaled", raw, row_entropies(logits)),
            ("scaled", scaled, row_entropies(logits / math.sqrt(width))),
        ):
            each = values.mean(axis=1)
            kept[width] = float(values.mean())
            errors[name, width] = float(each.std(ddof=1) / math.sqrt(sequences))
            spread = Z95 * errors[name, width]
            points.add(
                ENTROPY,
                name,
                kept[width],
                x=width,
                low=kept[width] - spread,
                high=kept[width] + spread,
            )
        sides.close(
            f"entropy of a softmax, d={width}",
            "−Σ p log p",
            row_entropies(logits[:SLICE]),
            "log Z − E[score]",
            row_entropies_by_partition(logits[:SLICE]),
            units=64.0,
            scale=float(np.abs(logits[:SLICE]).max()),
        )
        squares = (logits**2).mean(axis=(1, 2))
        variances.append(float(logits.var()))
        variance_errors.append(float(squares.std(ddof=1) / math.sqrt(sequences)))
    points.add(ENTROPY, "ceiling log 16", math.log(LENGTH), x=WIDTHS[0])
    points.add(ENTROPY, "ceiling log 16", math.log(LENGTH), x=WIDTHS[-1])
    small = list(range(1, 9))
    sides.close(
        "Var(q·k) = d for entries of variance 1",
        "d",
        small,
        "every pair of sign vectors, d up to 8",
        [exact_variance(width) for width in small],
        units=16.0,
    )
    sides.simulated(
        "Var(q·k) = d for normal entries",
        "d",
        WIDTHS,
        f"{sequences} sequences of {LENGTH} queries and keys a width",
        variances,
        variance_errors,
    )
    _put_variances(book, variances, variance_errors, coverage, sequences)
    _put_entropies(book, raw, scaled, errors, coverage, sequences)
    sides.at_most(
        "entropy of unscaled attention falls as d grows",
        "entropy at 4d",
        [raw[width] for width in WIDTHS[1:]],
        "entropy at d",
        [raw[width] for width in WIDTHS[:-1]],
    )
    sides.at_most(
        "entropy of n weights is at most log n",
        "entropies measured",
        [*raw.values(), *scaled.values()],
        "log 16",
        math.log(LENGTH),
    )


def _put_variances(
    book: Book, values: list[float], errors: list[float], coverage: str, sequences: int
) -> None:
    for width, value, error in zip(WIDTHS, values, errors, strict=True):
        book.one(VARIANCE, "exact variance of q.k", width, f"d={width};")
        book.put(
            book.case(VARIANCE, "pooled variance of q.k", f"d={width};"),
            value,
            low=value - Z95 * error,
            high=value + Z95 * error,
            n=sequences,
            coverage=coverage,
            note="the printed draw, repeated; interval over sequences",
        )


def _put_entropies(
    book: Book,
    raw: dict[int, float],
    scaled: dict[int, float],
    errors: dict[tuple[str, int], float],
    coverage: str,
    sequences: int,
) -> None:
    def put(case: Case, value: float, error: float) -> None:
        book.put(
            case,
            value,
            low=value - Z95 * error,
            high=value + Z95 * error,
            n=sequences,
            coverage=coverage,
            note="the printed draw, repeated; interval over sequences",
        )

    for case in book.cases(ENTROPY):
        quantity = case.row.quantity
        if quantity == "maximum entropy":
            book.put(case, math.log(case.whole("length")), note="the entropy of equal weights")
        elif quantity == "width range":
            book.put(case, WIDTHS[-1] / WIDTHS[0])
        elif quantity == "range of the scaled entropies":
            first = max(scaled, key=scaled.__getitem__)
            last = min(scaled, key=scaled.__getitem__)
            error = math.hypot(errors["scaled", first], errors["scaled", last])
            put(case, scaled[first] - scaled[last], error)
        elif quantity == "smallest scaled entropy over log 16":
            width = min(scaled, key=scaled.__getitem__)
            top = math.log(LENGTH)
            put(case, scaled[width] / top, errors["scaled", width] / top)
        else:
            name = "unscaled" if "unscaled" in quantity else "scaled"
            kept, width = (raw if name == "unscaled" else scaled), case.whole("d")
            chosen = kept[width]
            if quantity.startswith("largest"):
                chosen = max(kept.values())
            elif quantity.startswith("smallest"):
                chosen = min(kept.values())
            put(case, chosen, errors[name, width])
    for case in book.cases(RATIOS, "entropy ratio H(d)/H(4d)"):
        width = case.whole("d")
        ratio = raw[width] / raw[4 * width]
        relative = math.hypot(
            errors["unscaled", width] / raw[width],
            errors["unscaled", 4 * width] / raw[4 * width],
        )
        put(case, ratio, ratio * relative)


def two_key_entropy(width: float) -> float:
    """Mean entropy of attention over two keys whose logits are N(0, d), nats, by quadrature.

    The difference of the logits is N(0, 2d); its softmax has an entropy that only differences
    near zero contribute to, so the mean falls as ``1/sqrt(d)``.
    """
    from scipy.integrate import quad

    def weighted(gap: float) -> float:
        p = 1 / (1 + math.exp(-gap))
        q = 1 - p
        own = -(p * math.log(p) + q * math.log1p(-p)) if q > 0 else 0.0
        return own * math.exp(-(gap**2) / (4 * width)) / math.sqrt(4 * math.pi * width)

    return 2 * float(quad(weighted, 0, 40, epsabs=1e-14, epsrel=1e-13)[0])


def _limit(book: Book, sides: Sides) -> None:
    ratio = two_key_entropy(1e10) / two_key_entropy(4e10)
    sides.near(
        "H ∝ 1/√d for large d, so fourfold d halves it",
        "√4",
        math.sqrt(4),
        "entropy over two keys at d = 10¹⁰ by quadrature",
        ratio,
        tolerance=1e-8,
    )
    book.one(RATIOS, "limit predicted by H proportional to 1/sqrt(d)", math.sqrt(4))


# --- one draw is not a trend ----------------------------------------------------------------


def single_entropies(seeds: int) -> Floats:
    """Mean row entropy of one sequence for each seed and width, shape (seeds, widths)."""
    found = np.empty((seeds, len(WIDTHS)))
    for seed in range(seeds):
        for column, width in enumerate(WIDTHS):
            rng = np.random.default_rng(FIRST_SINGLE_SEED + seed)
            q, k = rng.standard_normal((LENGTH, width)), rng.standard_normal((LENGTH, width))
            found[seed, column] = row_entropies(q @ k.T).mean()
    return found


def _singles(book: Book, points: Points, draws: int) -> None:
    found = single_entropies(draws)
    coverage = WHOLE if draws == SINGLES else f"{draws} of {SINGLES} draws"
    column = {width: index for index, width in enumerate(WIDTHS)}
    for width, values in zip(WIDTHS, found.T, strict=True):
        for value in values:
            points.add(SINGLE, f"d={width}", float(value), x=width)
        low, middle, high = (float(np.quantile(values, share)) for share in (0.025, 0.5, 0.975))
        points.add(SINGLE, "median", middle, x=width, low=low, high=high)

    def below(one: int, other: int) -> float:
        return float((found[:, column[one]] < found[:, column[other]]).mean())

    points.add(SINGLE, "rank 512 below 2048", below(512, 2048))
    for case in book.cases(SINGLE):
        quantity = case.row.quantity
        ends: tuple[float | None, float | None] = (None, None)
        if quantity == "adjacent width pairs that some pair of seeds inverts":
            value = float(
                sum(bool(found[:, i].min() < found[:, i + 1].max()) for i in range(len(WIDTHS) - 1))
            )
        elif quantity.startswith("mean"):
            values = found[:, column[case.whole("d")]]
            value = float(values.mean())
            error = float(values.std(ddof=1)) / math.sqrt(draws)
            ends = (value - Z95 * error, value + Z95 * error)
        elif quantity.startswith("standard deviation"):
            values = found[:, column[case.whole("d")]]
            value = float(values.std(ddof=1))
        elif case.has("d below 4d"):
            width = case.whole("d")
            value = below(width, 4 * width)
        else:
            value = below(case.whole("ranking"), case.whole("below"))
        book.put(
            case,
            value,
            low=ends[0],
            high=ends[1],
            n=draws,
            coverage=coverage,
            note="the printed draws, repeated",
        )


# --- counts ---------------------------------------------------------------------------------


def _torch_sizes() -> Iterator[tuple[int, int, int]]:
    """Width, and parameters of torch's encoder and decoder layers of that width."""
    import torch

    for width, heads in ((768, 12), (1024, 16)):
        layers = (
            torch.nn.TransformerEncoderLayer(width, heads, 4 * width, device="meta"),
            torch.nn.TransformerDecoderLayer(width, heads, 4 * width, device="meta"),
        )
        encoder, decoder = (sum(each.numel() for each in layer.parameters()) for layer in layers)
        yield width, encoder, decoder


def _counts(book: Book, sides: Sides, points: Points) -> None:
    library = list(_torch_sizes())
    sides.exact(
        "an encoder block has 12d²+13d parameters, a decoder block 16d²+19d",
        "closed form",
        [f(width) for width, *_ in library for f in (counts.encoder_block, counts.decoder_block)],
        "parameters of torch.nn.TransformerEncoderLayer and TransformerDecoderLayer",
        [count for _, *both in library for count in both],
    )
    bert, gpt = counts.BERT["BERT-base"], counts.GPT2["GPT-2 small"]
    d, layers = bert.width, bert.layers
    embedding = (counts.BERT_WORDS + counts.POSITIONS + counts.TYPES) * d + 2 * d
    totals = {
        "BERT-base": layers * counts.encoder_block(d) + embedding + d**2 + d,
        "GPT-2 small": gpt.layers * counts.encoder_block(gpt.width)
        + (counts.GPT_WORDS + counts.GPT_POSITIONS) * gpt.width
        + 2 * gpt.width,
    }
    sides.exact(
        "totals of BERT-base and GPT-2 small",
        "closed form",
        totals.values(),
        "sum over every tensor",
        [counts.size(counts.bert_shapes(bert)), counts.size(counts.gpt2_shapes(gpt))],
    )
    matrices = [
        counts.size(shape for shape in counts.encoder_shapes(d, factor) if len(shape) == 2)
        for factor in (2, 4, 8)
    ]
    sides.exact(
        "a block has (4+2m)d² weights for a feed-forward of m·d",
        "closed form",
        [(4 + 2 * factor) * d**2 for factor in (2, 4, 8)],
        "sum over the matrices of a block",
        matrices,
    )
    tab = "transformers_tab_totals"
    for output in ("transformers_tab_block_params", "transformers_tab_ffn_multiplier"):
        for case in book.cases(output, "block multiplier"):
            factor = int(case.row.condition.partition("d_ff=")[2].partition("d")[0])
            book.put(case, 4 + 2 * factor, note="in units of d², biases and norms left out")
    book.one(tab, "block stack with biases and norms", layers * counts.encoder_block(d))
    book.one(tab, "block stack without biases and norms", layers * matrices[1])
    for case in book.cases(tab, "total parameters"):
        book.put(case, totals[case.first], note="every tensor counted")
    for case in book.cases(tab):
        if case.has("relative deviation"):
            total = totals[case.first]
            book.put(case, total / (case.number("published") * 1e6) - 1)
    for name, total in totals.items():
        points.add("transformers_tab_totals", name, total, label=name)


# --- what attention costs -------------------------------------------------------------------


def crossover(width: int, kernel: int, *, whole: bool) -> float:
    """Length at which attention costs what a convolution does.

    Claim: ``2 n^2 d = n k d^2`` at ``n = k d/2``; with the projections, ``4 n d^2 + 2 n^2 d = n k
    d^2`` at ``(k - 4) d/2``, which is negative for k below 4: never.
    Source: Transformers, mathematical foundation.
    """
    return (kernel - (4 if whole else 0)) * width / 2


def crossover_root(width: int, kernel: int, *, whole: bool) -> float:
    """The same as the root of the difference of costs that is not zero."""
    linear = (4 if whole else 0) * width**2 - kernel * width**2
    roots = np.roots([2.0 * width, float(linear), 0.0])
    return float(roots[np.argmax(np.abs(roots))].real)


def _costs(book: Book, sides: Sides, points: Points) -> None:
    grid = [(n, d, h) for n in (1, 7, 128, 512) for d, h in ((8, 2), (768, 12), (1024, 16))]
    sides.exact(
        "an attention layer costs 4nd²+2n²d multiply-accumulates, whatever the heads",
        "closed form",
        [counts.attention_macs(n, d) for n, d, _ in grid],
        "sum over the matrix products of every head",
        [counts.macs(counts.attention_products(*each)) for each in grid],
    )
    cases = [(768, 3, False), (768, 3, True), (768, 7, True), (512, 5, True)]
    sides.close(
        "attention costs as much as a convolution at n = kd/2, all of it at (k−4)d/2",
        "closed form",
        [crossover(d, k, whole=whole) for d, k, whole in cases],
        "root of the difference of costs",
        [crossover_root(d, k, whole=whole) for d, k, whole in cases],
        units=8.0,
        scale=2048.0,
    )
    stat, tab = "transformers_stat_crossover", "transformers_tab_quadratic_share"
    for case in book.cases(stat):
        whole = case.has("4nd^2+2n^2d")
        book.put(case, crossover(case.whole("d"), case.whole("k"), whole=whole))

    def share(case: Case) -> float:
        n, d = case.whole("n"), case.whole("d")
        return counts.quadratic_share(n, d)

    book.fill(tab, "quadratic share n/(2d+n)", share)
    book.fill(
        tab,
        "multiply-accumulates of one attention layer (4nd^2+2n^2d)",
        lambda case: counts.attention_macs(case.whole("n"), case.whole("d")),
    )
    lengths = [case.whole("n") for case in book.cases(tab, "quadratic share n/(2d+n)")]
    products = [list(counts.attention_products(n, 768, 12)) for n in lengths]
    sides.close(
        "the quadratic part is n/(2d+n) of attention",
        "closed form",
        [counts.quadratic_share(n, 768) for n in lengths],
        "products of scores and values over all products",
        [counts.macs(each[4:]) / counts.macs(each) for each in products],
        units=4.0,
    )
    every = [2**power for power in range(6, 16)]
    points.curve(tab, "d=768", ((n, counts.quadratic_share(n, 768)) for n in every))
    points.curve(tab, "d=1600", ((n, counts.quadratic_share(n, 1600)) for n in every))


def measure_transformers(
    *, series: Path, checks: Path, settings: TransformersStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on Transformers, each identity on both sides.

    Parameters
    ----------
    series, checks
        Outputs, Parquet: see ``results.POINTS`` and ``results.CHECKS``.

    Raises
    ------
    DataError
        When two sides of an identity disagree.
    """
    options = settings.transformers
    book, sides, points = Book(ARTICLE), Sides(), Points()
    _path_length(book, sides, points)
    _equivariance(book, sides, options.residual_draws, rng)
    _rotation(book, sides, rng)
    _entropy(book, sides, points, options.sequences)
    _limit(book, sides)
    _singles(book, points, options.single_draws)
    _counts(book, sides, points)
    _costs(book, sides, points)
    write_results(points, sides, series, checks)
    return book.measurements()

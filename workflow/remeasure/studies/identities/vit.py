"""Vision Transformer: patches as a convolution, what they keep, and how far they see."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.attention import (
    Floats,
    Weights,
    error_bound,
    self_attention,
)
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.rounding import gamma, put_residual
from remeasure.studies.identities.settings import VitSettings
from remeasure.studies.identities.sides import EPS, Sides

ARTICLE = "vit"

TOKENS, GROWTH, COST = "vit_tab_tokens", "vit_tab_p4", "vit_tab_cost"
CONV, SQUARE, RECOVER = "vit_stat_conv", "vit_tab_square", "vit_stat_recover"
PERMUTED, ARRANGED = "vit_stat_permutation", "vit_tab_arrangement"
CORNER, PARAMS = "vit_tab_corner", "vit_tab_params"

SIDE, WIDTH, CHANNELS, CLASSES = 224, 768, 3, 1000
PATCHES = (32, 16, 14, 8, 4)

#: Images, patches and widths on which the convolution identity is tried.
IMAGES = ((32, 8, 64), (64, 16, 64), (224, 16, 768))

#: The random read-outs: patches, width, layers. The article does not print its own.
MODELS = ((16, 32), (49, 64))
DEPTH = 2

#: Seed of the printed square map.
SQUARE_SEED = 2


class VitStep(Model):
    """What the step is told."""

    vit: VitSettings


# --- tokens ---------------------------------------------------------------------------------


def tokens(side: int, patch: int, *, extra: int = 1) -> int:
    """``(S/P)^2`` patches and a class token. Source: Vision Transformer, core components."""
    return (side // patch) ** 2 + extra


def _tokens(book: Book, sides: Sides, points: Points) -> None:
    every = [(SIDE, patch) for patch in PATCHES] + [(32, 8), (64, 16)]
    sides.exact(
        "an image has (S/P)² patches",
        "closed form",
        [tokens(*each, extra=0) for each in every],
        "corners of patches inside the image, listed",
        [len([(r, c) for r in range(0, s, p) for c in range(0, s, p)]) for s, p in every],
    )
    sides.exact(
        "half the patch: sixteen times the score entries",
        "16",
        [16] * 3,
        "entries of both score matrices without a class token",
        [tokens(SIDE, p // 2, extra=0) ** 2 // tokens(SIDE, p, extra=0) ** 2 for p in (32, 16, 8)],
    )
    book.fill(TOKENS, "tokens", lambda case: tokens(case.whole("S"), case.whole("P")))

    def share(case: Case) -> float:
        return counts.quadratic_share(tokens(SIDE, case.whole("P")), case.whole("d"))

    book.fill(TOKENS, "quadratic share", share)
    for quantity, extra in (
        ("quadratic-term ratio with the class token", 1),
        ("quadratic-term ratio without the class token", 0),
    ):
        for case in book.cases(GROWTH, quantity):
            coarse, fine = case.whole("P"), case.whole("to")
            ratio = tokens(SIDE, fine, extra=extra) ** 2 / tokens(SIDE, coarse, extra=extra) ** 2
            book.put(case, ratio)

    def macs(patch: int) -> int:
        return counts.attention_macs(tokens(SIDE, patch), WIDTH)

    sides.exact(
        "an attention layer over n tokens costs 4nd²+2n²d",
        "closed form",
        [macs(patch) for patch in PATCHES],
        "sum over the products of every head",
        [
            counts.macs(counts.attention_products(tokens(SIDE, patch), WIDTH, 12))
            for patch in PATCHES
        ],
    )
    book.fill(COST, "attention multiply-accumulates per layer", lambda case: macs(case.whole("P")))
    book.fill(
        COST, "attention cost ratio", lambda case: macs(case.whole("to")) / macs(case.whole("P"))
    )
    for patch in PATCHES:
        n = tokens(SIDE, patch)
        points.add(COST, "projections", 4 * n * WIDTH**2 / 1e9, label=f"{patch}")
        points.add(COST, "scores and mixing", 2 * n**2 * WIDTH / 1e9, label=f"{patch}")


# --- a convolution --------------------------------------------------------------------------


def embed(image: Floats, table: Floats, patch: int) -> Floats:
    """Flatten each patch as (channel, row, column) and multiply, shape (patches, d).

    Claim: it equals a convolution with kernel and stride P whose kernel is the transposed table,
    reshaped. Source: Vision Transformer, mathematical foundation; Dosovitskiy et al. 2021.
    """
    channels, side, _ = image.shape
    grid = side // patch
    cut = image.reshape(channels, grid, patch, grid, patch).transpose(1, 3, 0, 2, 4)
    return np.asarray(cut.reshape(grid * grid, channels * patch * patch) @ table)


def convolve(image: Floats, table: Floats, patch: int, *, swapped: bool = False) -> Floats:
    """The same by torch's convolution; ``swapped`` exchanges the kernel's rows and columns."""
    import torch

    kernel = torch.from_numpy(np.ascontiguousarray(table.T)).reshape(
        -1, image.shape[0], patch, patch
    )
    if swapped:
        kernel = kernel.transpose(2, 3)
    made = torch.nn.functional.conv2d(torch.from_numpy(image)[None], kernel, stride=patch)[0]
    return np.asarray(made.flatten(1).T.numpy(), dtype=np.float64)


def _convolution(book: Book, sides: Sides, draws: int, rng: Generator) -> None:
    worst, bounds, broken = [], [], []
    for index in range(max(draws // 10, len(IMAGES))):
        side, patch, width = IMAGES[index % 2] if index >= len(IMAGES) else IMAGES[index]
        image = rng.standard_normal((CHANNELS, side, side))
        length = CHANNELS * patch**2
        table = rng.standard_normal((length, width)) / math.sqrt(length)
        ours = embed(image, table, patch)
        worst.append(float(np.abs(ours - convolve(image, table, patch)).max()))
        bounds.append(2 * gamma(length) * float(embed(np.abs(image), np.abs(table), patch).max()))
        broken.append(float(np.abs(ours - convolve(image, table, patch, swapped=True)).max()))
    residual, bound = max(worst), min(bounds)
    sides.close(
        "embedding patches is a convolution with stride P",
        f"flattened patches times a table, {len(worst)} images",
        worst,
        "torch.nn.functional.conv2d",
        0.0,
        units=bound / EPS,
    )
    sides.control("the kernel's rows and columns", "exchanged", min(broken), 0.1)
    case = book.case(CONV, "worst difference between patch embedding and strided convolution")
    put_residual(book, case, residual, bound, "sizes and seed are not printed")
    low, middle, high = np.quantile(broken, [0.025, 0.5, 0.975])
    book.put(
        book.case(CONV, "negative control: kernel axes swapped"),
        float(middle),
        low=float(low),
        high=float(high),
        n=len(broken),
        note=(
            "underdetermined: sizes and seed are not printed; possible are"
            f" {min(broken):.2f} to {max(broken):.2f}: median and 95% range of {len(broken)} images"
        ),
    )


# --- what a patch keeps ---------------------------------------------------------------------


def _square(book: Book, sides: Sides, rng: Generator) -> None:
    length = CHANNELS * 16**2
    table = np.random.default_rng(SQUARE_SEED).standard_normal((length, WIDTH))
    values = np.linalg.svd(table, compute_uv=False)
    condition = float(values[0] / values[-1])
    inverse = np.linalg.inv(table)
    by_inverse = float(values[0] * np.linalg.norm(inverse, 2))
    sides.near(
        "condition number of the square map, relative",
        "largest over smallest singular value",
        1.0,
        "norm of the map times that of its inverse",
        by_inverse / condition,
        tolerance=1e-9,
    )
    patches = rng.standard_normal((20, length))
    back = np.linalg.solve(table.T, (patches @ table).T).T
    worst = float(np.abs(back - patches).max())
    # Independent roundings of both products, n of them in each entry, seen through the inverse:
    # five standard deviations (Higham and Mary 2019, a probabilistic rounding error analysis).
    rounded = math.sqrt(2 * length) * EPS / 2 * (np.abs(back) @ np.abs(table))
    bound = 5 * float(np.sqrt(rounded**2 @ inverse**2).max())
    sides.close(
        "a square patch embedding can be undone",
        "twenty patches",
        patches,
        "solved from their embeddings",
        back,
        units=bound / EPS,
    )
    case = book.case(RECOVER, "worst error recovering a patch")
    put_residual(book, case, worst, bound, "the patch is not printed")
    book.put(
        book.case(RECOVER, "condition number of the square map"),
        condition,
        note="the printed draw, repeated",
    )
    ranks = {
        patch: int(np.linalg.matrix_rank(rng.standard_normal((CHANNELS * patch**2, WIDTH))))
        for patch in (8, 16)
    }
    sides.exact(
        "the rank of a patch embedding is min(3P², d)",
        "closed form",
        [min(CHANNELS * patch**2, WIDTH) for patch in ranks],
        "rank of random tables",
        ranks.values(),
    )
    large, small = CHANNELS * 32**2, CHANNELS * 8**2
    book.one(SQUARE, "pixels per patch", length)
    book.one(SQUARE, "compression", large / WIDTH)
    book.one(SQUARE, "dimensions lost at least", large - WIDTH)
    book.one(SQUARE, "share of dimensions retained", WIDTH / large)
    book.one(SQUARE, "rank bound", ranks[8])
    book.one(SQUARE, "rank bound over d", small / WIDTH)


# --- shuffled patches -----------------------------------------------------------------------


def read_out(x: Floats, layers: list[Weights]) -> Floats:
    """Class token, the first row, after residual attention layers, shape (d,)."""
    for weights in layers:
        x = x + self_attention(x, weights)
    return np.asarray(x[0])


def shuffled(x: Floats, order: npt.NDArray[np.int64]) -> Floats:
    """The same rows with the patches, not the class token, in another order."""
    return np.concatenate([x[:1], x[1:][order]])


def _permutation(book: Book, sides: Sides, draws: int, rng: Generator) -> None:
    """Without positions the class token depends on the set of patches alone."""
    plain, placed, bounds = [], [], []
    for index in range(draws):
        count, width = MODELS[index % len(MODELS)]
        x = rng.standard_normal((count + 1, width))
        table = rng.standard_normal(x.shape)
        layers = [Weights.draw(width, rng) for _ in range(DEPTH)]
        order = rng.permutation(count)
        whole = read_out(x, layers)
        plain.append(float(np.abs(whole - read_out(shuffled(x, order), layers)).max()))
        other = read_out(shuffled(x, order) + table, layers)
        placed.append(float(np.abs(read_out(x + table, layers) - other).max()))
        # A second layer carries on what the first one rounded; twice is enough to first order.
        second = x + self_attention(x, layers[0])
        first, last = error_bound(x, layers[0]), error_bound(second, layers[1])
        gain = float(np.abs(layers[1].value).sum(axis=0).max())
        bounds.append(2 * (first * (1 + gain) + last))
    bound = min(bounds)
    sides.close(
        "without positions the class token ignores the order of patches",
        f"class token, {draws} random models",
        plain,
        "class token of shuffled patches",
        0.0,
        units=bound / EPS,
    )
    sides.control("shuffled patches with positions", "a table of rows", min(placed), 0.05)
    missing = "sizes and seed are not printed"
    case = book.case(PERMUTED, "worst change under patch permutation without positions")
    put_residual(book, case, max(plain), bound, missing)
    low, middle, high = np.quantile(placed, [0.025, 0.5, 0.975])
    book.put(
        book.case(PERMUTED, "positive control with position embeddings"),
        float(middle),
        low=float(low),
        high=float(high),
        n=draws,
        note=(
            f"underdetermined: {missing}; possible are {min(placed):.2f} to {max(placed):.2f}:"
            f" median and 95% range of {draws} random models of {DEPTH} layers"
        ),
    )


def _arrangements(book: Book, sides: Sides, points: Points) -> None:
    def bits(count: int) -> float:
        return math.lgamma(count + 1) / math.log(2)

    counted = [tokens(SIDE, patch, extra=0) for patch in PATCHES]
    sides.close(
        "m patches have m! arrangements",
        "log-gamma",
        [bits(count) for count in counted],
        "logarithms of exact integers",
        [math.log2(math.factorial(count)) for count in counted],
        units=16.0,
        scale=bits(max(counted)),
    )
    book.fill(ARRANGED, "log2(m!)", lambda case: bits(tokens(SIDE, case.whole("P"), extra=0)))
    for patch, count in zip(PATCHES, counted, strict=True):
        points.add(ARRANGED, "bits", bits(count), label=f"{patch}")


# --- from corner to corner ------------------------------------------------------------------


def strided_layers(side: int, kernel: int = 3) -> int:
    """Layers until a unit sees ``side`` pixels, with stride 2 at every second layer.

    Receptive field ``r <- r + (k-1) j`` and jump ``j <- 2 j`` after every second layer. Source:
    Vision Transformer, mathematical foundation.
    """
    seen, jump, layers = 1, 1, 0
    while seen < side:
        layers += 1
        seen += (kernel - 1) * jump
        jump *= 2 if layers % 2 == 0 else 1
    return layers


def plain_layers(side: int, kernel: int = 3) -> int:
    """The same without strides: ``ceil((S - 1)/(k - 1))``."""
    return -(-(side - 1) // (kernel - 1))


def counted_layers(side: int, *, strided: bool, kernel: int = 3) -> int:
    """The same by following which pixels one unit depends on, layer by layer, from above."""
    layers = 0
    while True:
        layers += 1
        needed = {0}
        for layer in range(layers, 0, -1):
            stride = 2 if strided and layer % 2 == 0 else 1
            needed = {stride * unit + tap for unit in needed for tap in range(kernel)}
        if max(needed) - min(needed) + 1 >= side:
            return layers


def _corners(book: Book, sides: Sides, points: Points) -> None:
    few = (2, 3, 5, 8, 16, 32, 64)
    both = (False, True)
    sides.exact(
        "layers until one unit sees the whole image, without and with strides",
        "recursions",
        [strided_layers(s) if kind else plain_layers(s) for s in few for kind in both],
        "pixels that one unit depends on, followed down",
        [counted_layers(s, strided=kind) for s in few for kind in both],
    )
    forms = {
        "stride-1 convolution layers": plain_layers,
        "layers with stride 2 at every second layer": strided_layers,
    }
    for quantity, form in forms.items():
        for case in book.cases(CORNER, quantity):
            book.put(case, form(case.whole("S")))
    book.one(CORNER, "attention layers", 1)
    for side in (16, 32, 64, 128, 224, 384, 512, 1024):
        points.add(CORNER, "convolution, width 3", plain_layers(side), x=side)
        points.add(CORNER, "with strides", strided_layers(side), x=side)
        points.add(CORNER, "attention", 1, x=side)


# --- counts ---------------------------------------------------------------------------------


def _counts(book: Book, sides: Sides, points: Points) -> None:
    patch = {name: int(name.rpartition("/")[2]) for name in counts.VIT}
    bare, headed, blocks = {}, {}, {}
    for name, model in counts.VIT.items():
        d, n = model.width, tokens(SIDE, patch[name])
        blocks[name] = model.layers * counts.encoder_block(d)
        bare[name] = blocks[name] + CHANNELS * patch[name] ** 2 * d + d + d + n * d + 2 * d
        headed[name] = bare[name] + CLASSES * (d + 1)
    sides.exact(
        "totals of three sizes, without and with a head",
        "closed forms",
        [*bare.values(), *headed.values()],
        "sum over every tensor",
        [
            counts.size(counts.vit_shapes(model, SIDE, patch[name], classes))
            for classes in (0, CLASSES)
            for name, model in counts.VIT.items()
        ],
    )

    book.fill(PARAMS, "total parameters without head", lambda case: bare[case.first])
    book.fill(PARAMS, "total parameters with a 1000-class head", lambda case: headed[case.first])
    book.fill(PARAMS, "block share", lambda case: blocks[case.first] / bare[case.first])
    book.fill(
        PARAMS, "share outside the blocks", lambda case: 1 - blocks[case.first] / bare[case.first]
    )
    off = []
    for case in book.cases(PARAMS, "relative deviation from the published total"):
        deviation = bare[case.first] / (case.number("published") * 1e6) - 1
        book.put(case, deviation)
        off.append(abs(deviation))
    book.one(PARAMS, "largest deviation of the three totals", max(off))


def measure_vit(
    *, series: Path, checks: Path, settings: VitStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on the Vision Transformer, each identity on both sides.

    Parameters
    ----------
    series, checks
        Outputs, Parquet: see ``results.POINTS`` and ``results.CHECKS``.

    Raises
    ------
    DataError
        When two sides of an identity disagree.
    """
    draws = settings.vit.residual_draws
    book, sides, points = Book(ARTICLE), Sides(), Points()
    _tokens(book, sides, points)
    _convolution(book, sides, draws, rng)
    _square(book, sides, rng)
    _permutation(book, sides, draws, rng)
    _arrangements(book, sides, points)
    _corners(book, sides, points)
    _counts(book, sides, points)
    write_results(points, sides, series, checks)
    return book.measurements()

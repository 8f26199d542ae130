"""T5: two architectures, buckets of distances, spans and sizes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from remeasure.ledger.measurement import Measurement
from remeasure.studies.identities import counts
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.sides import Sides

ARTICLE = "t5"

COST, LIMIT, REUSE = "t5_tab_cost", "t5_tab_cost_limit", "t5_tab_reuse"
BUCKETS, RANGE, SPAN = "t5_tab_buckets", "t5_stat_bucket_range", "t5_tab_span"
BLOCK, RATIO, TOTALS = "t5_tab_block", "t5_tab_ratio", "t5_tab_totals"

#: Relative positions: buckets of a table, and the distance from which one bucket takes all.
TABLE, FARTHEST = 32, 128

#: A document long enough that every span length divides its corrupted tokens.
LONG = 51_200


# --- score entries --------------------------------------------------------------------------


def encoder_decoder(m: int, k: int) -> int:
    """Scores of an encoder over m tokens and a causal decoder over k that reads it.

    ``m^2 + k(k+1)/2 + k m``. Projections and feed-forward are not counted. Source: T5,
    mathematical foundation.
    """
    return m**2 + k * (k + 1) // 2 + k * m


def decoder_only(m: int, k: int) -> int:
    """Scores of one causal decoder over input and output: ``(m+k)(m+k+1)/2``."""
    return (m + k) * (m + k + 1) // 2


def ratio(m: int, k: int) -> Fraction:
    """The first over the second; it tends to 2 as m grows."""
    return Fraction(encoder_decoder(m, k), decoder_only(m, k))


def reused(m: int, k: int, outputs: int) -> Fraction:
    """The same when one input has several outputs and is read once by both.

    The encoder-decoder keeps its excess ``m(m-1)/2``, which more outputs share.
    """
    each = k * m + k * (k + 1) // 2
    return Fraction(m**2 + outputs * each, m * (m + 1) // 2 + outputs * each)


def masks_counted(m: int, k: int) -> tuple[int, int]:
    """Both numbers by counting the entries of every mask."""
    parts = (np.ones((m, m), bool), np.tri(k, dtype=bool), np.ones((k, m), bool))
    return sum(int(part.sum()) for part in parts), int(np.tri(m + k, dtype=bool).sum())


def reuse_counted(m: int, k: int, outputs: int) -> Fraction:
    """The ratio for several outputs, each with masks of its own behind one input."""
    own = np.tri(m + k, dtype=bool)[m:]
    both = int(own[:, :m].sum() + own[:, m:].sum())
    return Fraction(m * m + outputs * both, int(np.tri(m, dtype=bool).sum()) + outputs * both)


def _lengths(case: Case) -> tuple[int, int]:
    k = case.whole("k")
    return (k if case.has("m=k") else case.whole("m")), k


def _costs(book: Book, sides: Sides, points: Points) -> None:
    grid = [(m, k) for m in (1, 2, 7, 64, 512) for k in (1, 3, 64, 512)]
    sides.exact(
        "score entries of an encoder-decoder and of a causal decoder",
        "closed forms",
        [(encoder_decoder(*each), decoder_only(*each)) for each in grid],
        "entries of every mask, counted",
        [masks_counted(*each) for each in grid],
    )
    far = 10**15
    sides.exact(
        "the ratio tends to 2",
        "2 less a term below 4(k+1)/m",
        [True, True],
        "exact ratio at m = 10¹⁵",
        [0 < 2 - ratio(far, k) < Fraction(4 * (k + 1), far) for k in (1, 64)],
    )
    sides.exact(
        "ratio for N outputs an input",
        "closed form",
        [reused(m, 64, n) for m in (16, 512) for n in (1, 2, 64)],
        "masks of every output, counted",
        [reuse_counted(m, 64, n) for m in (16, 512) for n in (1, 2, 64)],
    )
    book.fill(COST, "score entries encoder-decoder", lambda case: encoder_decoder(*_lengths(case)))
    book.fill(COST, "score entries decoder-only", lambda case: decoder_only(*_lengths(case)))
    book.fill(COST, "ratio", lambda case: float(ratio(*_lengths(case))))
    book.one(LIMIT, "limit of the ratio as m grows with k fixed", 2)
    for quantity in ("largest ratio quoted", "ratio"):
        book.fill(LIMIT, quantity, lambda case: float(ratio(*_lengths(case))))
    first = book.case(COST, "score entries encoder-decoder")
    m, k = _lengths(first)
    total = encoder_decoder(m, k)
    budget = "t5_tab_budget"
    book.one(budget, "encoder share of the entries", m * m / total)
    book.one(budget, "cross-attention share", k * m / total)
    book.one(budget, "decoder self-attention share", k * (k + 1) / 2 / total)
    book.fill(
        REUSE,
        "ratio for N outputs per input (input read once by both)",
        lambda case: float(reused(*_lengths(case), case.whole("N"))),
    )
    book.one(
        "t5_stat_naive",
        "ratio without the causal mask",
        float(Fraction(1 + 1 + 1, (1 + 1) ** 2)),
        note="three full blocks of m² against one of (2m)²",
    )
    for outputs in (16, 64, 256):
        every = [2**power for power in range(4, 16)]
        points.curve(LIMIT, f"k={outputs}", ((m, float(ratio(m, outputs))) for m in every))
    points.curve(REUSE, "N outputs", ((2**p, float(reused(m, k, 2**p))) for p in range(9)))


# --- buckets --------------------------------------------------------------------------------


def bucket(distance: int, buckets: int) -> int:
    """Bucket of a distance in one direction, by logarithms.

    The first half of the buckets hold one distance each; then
    ``h + floor(h log(r/h) / log(128/h))`` with h half their number, and the last takes the rest.
    Source: T5, core components; Raffel et al. 2020, section 2.1.
    """
    half = buckets // 2
    if distance < half:
        return distance
    # A hair above the rounding error of both logarithms: powers of two sit on an edge.
    step = half * math.log(distance / half) / math.log(FARTHEST / half) + 1e-12
    return min(buckets - 1, half + math.floor(step))


def bucket_in_integers(distance: int, buckets: int) -> int:
    """The same without logarithms: the largest j with ``r^h >= h^h (128/h)^j``."""
    half = buckets // 2
    if distance < half:
        return distance
    above = (j for j in range(half) if distance**half >= half**half * (FARTHEST // half) ** j)
    return half + max(above)


def sizes(distances: Sequence[int], buckets: int) -> Counter[int]:
    """How many of these distances fall into each bucket."""
    return Counter(bucket(distance, buckets) for distance in distances)


def _buckets(book: Book, sides: Sides, points: Points) -> None:
    near, far = range(201), range(2001)
    one_way = TABLE // 2
    for buckets, name in ((one_way, "both directions"), (TABLE, "one direction")):
        sides.exact(
            f"bucket of every distance up to 2000, {name}",
            "logarithms",
            [bucket(distance, buckets) for distance in far],
            "powers of integers",
            [bucket_in_integers(distance, buckets) for distance in far],
        )
    both, causal = sizes(near, one_way), sizes(near, TABLE)
    own = "distances with a bucket of their own"
    book.one(BUCKETS, own, sum(n == 1 for n in both.values()), "bidirectional")
    book.one(BUCKETS, own, sum(n == 1 for n in causal.values()), "unidirectional")
    for index in range(8, one_way):
        book.one(BUCKETS, f"distances in bucket {index}", both[index])
    for index in range(one_way):
        points.add(BUCKETS, "distances up to 200", both[index], x=index)
    last = one_way - 1
    book.one(RANGE, "distances in the last bucket", sizes(far, one_way)[last])
    first = next(distance for distance in far if bucket(distance, one_way) == last)
    book.one(RANGE, "smallest distance in the last bucket", first)
    for case in book.cases(RANGE):
        if case.has("share a bucket"):
            words = case.row.quantity.split()
            one, other = int(words[1]), int(words[3])
            book.put(case, int(bucket(one, one_way) == bucket(other, one_way)))
    for name, model in counts.T5.items():
        book.one("t5_tab_bias_params",
            "relative bias parameters of one table (heads times 32 buckets)",
            model.heads * TABLE,
            name,
        )  # fmt: skip


# --- spans ----------------------------------------------------------------------------------


def corrupt(n: int, corrupted: int, span: int) -> tuple[int, int, int]:
    """A document with spans replaced by sentinels: their number, target and input lengths.

    Spans of ``span`` tokens lie evenly; the target repeats every sentinel before its span.
    """
    spans = corrupted // span
    gap = n // spans
    source: list[str] = []
    target: list[str] = []
    for _ in range(spans):
        source += ["sentinel", *["kept"] * (gap - span)]
        target += ["sentinel", *["lost"] * span]
    source += ["kept"] * (n - spans * gap)
    return target.count("sentinel"), len(target), len(source)


def _spans(book: Book, sides: Sides, points: Points) -> None:
    case = book.case(SPAN, "corrupted tokens")
    n = case.whole("n")
    rate = Fraction(case.row.condition.partition("r=")[2].partition(";")[0])
    lengths = [1, 2, 3, 4, 5, 8, 10]

    def of(span: int) -> dict[str, Fraction]:
        sentinels = n * rate / span
        target = n * rate + sentinels
        return {
            "sentinels": sentinels,
            "target length": target,
            "decoder entries k^2/2": target**2 / 2,
            "input length": n - n * rate + sentinels,
        }

    many = LONG // n
    sides.exact(
        "spans of length l: rn/l sentinels, a target of rn(1+1/l), an input of n−rn+rn/l",
        "closed forms",
        [
            tuple(of(span)[name] * many for name in ("sentinels", "target length", "input length"))
            for span in lengths
        ],
        f"a document of {LONG:,} tokens, corrupted and counted",
        [corrupt(LONG, int(LONG * rate), span) for span in lengths],
    )
    book.put(case, float(n * rate))
    for row in book.cases(SPAN):
        quantity = row.row.quantity
        if row.has("span length ") and not row.has("any span length"):
            values = of(row.whole("span length"))
            note = ""
            if "(" in quantity:
                note = "the article prints the whole part"
            book.put(row, float(values[quantity.partition(" (")[0]]), note=note)
        elif quantity == "autoregressive premium left":
            book.put(row, float(1 / rate))
    for span in range(1, 11):
        points.add(SPAN, "target", float(of(span)["target length"]), x=span)
        points.add(SPAN, "corrupted tokens", float(n * rate), x=span)


# --- sizes ----------------------------------------------------------------------------------


def _blocks(book: Book, sides: Sides, points: Points) -> None:
    encoder, decoder, totals, whole = {}, {}, {}, {}
    for name, model in counts.T5.items():
        inner, d = model.heads * model.head, model.width
        encoder[name] = Fraction(4 * inner + 2 * model.inner, d)
        decoder[name] = Fraction(8 * inner + 2 * model.inner, d)
        blocks = model.layers * (encoder[name] + decoder[name]) * d**2
        totals[name] = int(blocks) + counts.T5_WORDS * d
        norms = 5 * model.layers * d + 2 * d
        whole[name] = totals[name] + norms + 2 * TABLE * model.heads
    sides.exact(
        "a T5 block has (4w+2f)/d·d² weights, a decoder block (8w+2f)/d·d²",
        "closed forms",
        [each * model.width**2 for name, model in counts.T5.items()
         for each in (encoder[name], decoder[name])],
        "sum over the matrices of a block",
        [counts.size(counts.t5_block_shapes(model, decoder=kind))
         for model in counts.T5.values() for kind in (False, True)],
    )  # fmt: skip
    sides.exact(
        "totals of five sizes, without and with norms and tables of positions",
        "closed forms",
        [*totals.values(), *whole.values()],
        "sum over every tensor",
        [
            counts.size(counts.t5_shapes(model, norms=norms))
            for norms in (False, True)
            for model in counts.T5.values()
        ],
    )
    stat = "t5_stat_stack"
    usual = counts.T5["T5-base"]
    stack = [counts.size(counts.t5_block_shapes(usual, decoder=kind)) for kind in (False, True)]
    book.one(
        stat,
        "encoder plus decoder stack over decoder-only of twice the layers 28/24",
        float(Fraction(sum(stack), 2 * stack[0])),
    )
    book.one(
        stat,
        "encoder plus decoder stack over a decoder-only stack of L layers 28/12",
        float(Fraction(sum(stack), stack[0])),
    )
    book.one(stat, "decoder block multiplier", float(Fraction(stack[1], usual.width**2)))
    _put_blocks(book, encoder, decoder, totals, whole)
    for name in counts.T5:
        points.add(BLOCK, "encoder block", float(encoder[name]), label=name)
        points.add(BLOCK, "decoder block", float(decoder[name]), label=name)


def _put_blocks(
    book: Book,
    encoder: dict[str, Fraction],
    decoder: dict[str, Fraction],
    totals: dict[str, int],
    whole: dict[str, int],
) -> None:
    def model(case: Case) -> counts.Size:
        return counts.T5[case.first]

    def attention(case: Case) -> int:
        return 4 * model(case).heads * model(case).head * model(case).width

    def feed_forward(case: Case) -> int:
        return 2 * model(case).inner * model(case).width

    def squared(case: Case) -> int:
        return model(case).width ** 2

    book.fill(BLOCK, "encoder block multiplier", lambda case: float(encoder[case.first]))
    book.fill(BLOCK, "understatement by 12 d^2", lambda case: float(encoder[case.first] / 12))
    book.fill(
        BLOCK,
        "attention inner width over d",
        lambda case: model(case).heads * model(case).head / model(case).width,
    )
    book.fill(
        BLOCK, "feed-forward width over d", lambda case: model(case).inner / model(case).width
    )
    book.fill(BLOCK, "attention parameters of an encoder block", attention)
    book.fill(BLOCK, "feed-forward parameters of an encoder block", feed_forward)
    book.fill(
        BLOCK,
        "encoder block parameters",
        lambda case: counts.size(counts.t5_block_shapes(model(case), decoder=False)),
    )
    book.fill(
        BLOCK,
        "feed-forward share of an encoder block",
        lambda case: feed_forward(case) / (feed_forward(case) + attention(case)),
    )
    book.fill(BLOCK, "attention multiplier", lambda case: attention(case) / squared(case))
    book.fill(BLOCK, "feed-forward multiplier", lambda case: feed_forward(case) / squared(case))
    book.fill(
        RATIO,
        "decoder over encoder block",
        lambda case: float(decoder[case.first] / encoder[case.first]),
    )
    book.fill(RATIO, "decoder block multiplier", lambda case: float(decoder[case.first]))
    book.fill(
        TOTALS,
        "total parameters (blocks plus one 32128 embedding)",
        lambda case: totals[case.first],
    )
    book.fill(TOTALS, "total with norms and the two bias tables", lambda case: whole[case.first])
    cases = book.cases(TOTALS, "relative deviation from the published total")
    deviations = [totals[case.first] / (case.number("published") * 1e6) - 1 for case in cases]
    for case, deviation in zip(cases, deviations, strict=True):
        book.put(case, deviation)
    book.one(
        TOTALS,
        "variants within 3 %",
        sum(abs(each) < 0.03 for each in deviations),
        note="with 2.8 billion for the third size; against the usual 3 billion three are",
    )


def measure_t5(*, series: Path, checks: Path) -> list[Measurement]:
    """Every number of the article on T5, each identity on both sides.

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
    _costs(book, sides, points)
    _buckets(book, sides, points)
    _spans(book, sides, points)
    _blocks(book, sides, points)
    write_results(points, sides, series, checks)
    return book.measurements()

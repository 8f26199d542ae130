"""Parameters and arithmetic, each counted twice: by a polynomial, and tensor by tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

Shape = tuple[int, ...]

#: Words of the vocabularies, as the model papers give them.
BERT_WORDS = 30_522
GPT_WORDS = 50_257
ROBERTA_WORDS = BART_WORDS = 50_265
T5_WORDS = 32_128
ALBERT_WORDS = 30_000

#: Rows of the tables of learned positions (BART keeps two more than it uses) and of types.
POSITIONS, GPT_POSITIONS, BART_POSITIONS, TYPES = 512, 1024, 1026, 2

BILLION = 1e9


@dataclass(frozen=True)
class Size:
    """Width and layers of a stack; T5 also heads, head size and feed-forward width."""

    width: int
    layers: int
    heads: int = 0
    head: int = 0
    inner: int = 0


BERT: Mapping[str, Size] = MappingProxyType(
    {"BERT-base": Size(768, 12), "BERT-large": Size(1024, 24)}
)
GPT2: Mapping[str, Size] = MappingProxyType(
    {
        "GPT-2 small": Size(768, 12),
        "GPT-2 medium": Size(1024, 24),
        "GPT-2 large": Size(1280, 36),
        "GPT-2 XL": Size(1600, 48),
    }
)
T5: Mapping[str, Size] = MappingProxyType(
    {
        "T5-small": Size(512, 6, 8, 64, 2048),
        "T5-base": Size(768, 12, 12, 64, 3072),
        "T5-large": Size(1024, 24, 16, 64, 4096),
        "T5-3B": Size(1024, 24, 32, 128, 16384),
        "T5-11B": Size(1024, 24, 128, 128, 65536),
    }
)
BART: Mapping[str, Size] = MappingProxyType(
    {"BART-base": Size(768, 6), "BART-large": Size(1024, 12)}
)
ALBERT: Mapping[str, Size] = MappingProxyType(
    {
        "ALBERT-base": Size(768, 12),
        "ALBERT-large": Size(1024, 24),
        "ALBERT-xlarge": Size(2048, 24),
        "ALBERT-xxlarge": Size(4096, 12),
    }
)
VIT: Mapping[str, Size] = MappingProxyType(
    {"ViT-B/16": Size(768, 12), "ViT-L/16": Size(1024, 24), "ViT-H/14": Size(1280, 32)}
)


# --- closed forms ---------------------------------------------------------------------------


def encoder_block(d: int) -> int:
    """``12 d^2 + 13 d``: one encoder block with biases, norms and a feed-forward of 4d.

    Four projections give ``4 d^2 + 4 d``, the feed-forward ``8 d^2 + 5 d``, two norms ``4 d``.
    """
    return 12 * d**2 + 13 * d


def decoder_block(d: int) -> int:
    """``16 d^2 + 19 d``: one more attention (``4 d^2 + 4 d``) and one more norm (``2 d``)."""
    return 16 * d**2 + 19 * d


def attention_macs(n: int, d: int) -> int:
    """Multiply-accumulates of one attention layer: ``4 n d^2 + 2 n^2 d``, in any number of heads.

    Four projections of n rows cost ``4 n d^2``, scores and mixing ``n^2 d`` each; softmax, norms
    and feed-forward are not counted.
    """
    return 4 * n * d**2 + 2 * n**2 * d


def quadratic_share(n: float, d: float) -> float:
    """``2 n^2 d / (4 n d^2 + 2 n^2 d) = n / (2 d + n)``."""
    return n / (2 * d + n)


# --- tensor by tensor -----------------------------------------------------------------------


def size(shapes: Iterable[Shape]) -> int:
    """Numbers in tensors of these shapes."""
    return sum(prod(shape) for shape in shapes)


def _linear(inner: int, outer: int, *, bias: bool = True) -> Iterator[Shape]:
    yield (outer, inner)
    if bias:
        yield (outer,)


def _norm(d: int) -> Iterator[Shape]:
    yield (d,)
    yield (d,)


def attention_shapes(d: int) -> Iterator[Shape]:
    """Query, key, value and output projections with biases."""
    for _ in ("query", "key", "value", "output"):
        yield from _linear(d, d)


def encoder_shapes(d: int, factor: int = 4) -> Iterator[Shape]:
    """One encoder block with a feed-forward of ``factor`` widths."""
    yield from attention_shapes(d)
    yield from _norm(d)
    yield from _linear(d, factor * d)
    yield from _linear(factor * d, d)
    yield from _norm(d)


def decoder_shapes(d: int) -> Iterator[Shape]:
    """One decoder block: an encoder block, cross-attention and its norm."""
    yield from encoder_shapes(d)
    yield from attention_shapes(d)
    yield from _norm(d)


def bert_embedding_shapes(d: int) -> Iterator[Shape]:
    """Words, positions, types and the norm of BERT's embedding."""
    yield from ((BERT_WORDS, d), (POSITIONS, d), (TYPES, d))
    yield from _norm(d)


def bert_shapes(model: Size) -> Iterator[Shape]:
    """Every tensor of BERT without the heads of pre-training."""
    yield from bert_embedding_shapes(model.width)
    for _ in range(model.layers):
        yield from encoder_shapes(model.width)
    yield from _linear(model.width, model.width)  # the pooler


def gpt2_shapes(model: Size) -> Iterator[Shape]:
    """Every tensor of GPT-2; the output reads the embedding again."""
    yield from ((GPT_WORDS, model.width), (GPT_POSITIONS, model.width))
    for _ in range(model.layers):
        yield from encoder_shapes(model.width)
    yield from _norm(model.width)


def t5_block_shapes(model: Size, *, decoder: bool) -> Iterator[Shape]:
    """Matrices of one T5 block: no biases, attention of heads times head size."""
    inner = model.heads * model.head
    for _ in range(2 if decoder else 1):
        for _ in ("query", "key", "value"):
            yield (inner, model.width)
        yield (model.width, inner)
    yield from ((model.inner, model.width), (model.width, model.inner))


def t5_shapes(model: Size, *, norms: bool, buckets: int = 32) -> Iterator[Shape]:
    """Every matrix of T5; with ``norms`` also its scales and the two tables of position biases."""
    yield (T5_WORDS, model.width)
    for decoder in (False, True):
        for _ in range(model.layers):
            yield from t5_block_shapes(model, decoder=decoder)
            if norms:
                yield from [(model.width,)] * (3 if decoder else 2)
        if norms:
            yield from ((model.width,), (buckets, model.heads))


def bart_shapes(model: Size, *, positions: bool) -> Iterator[Shape]:
    """Every tensor of BART; ``positions`` adds both tables and the norms of both embeddings."""
    yield (BART_WORDS, model.width)
    for _ in range(model.layers):
        yield from encoder_shapes(model.width)
        yield from decoder_shapes(model.width)
    if positions:
        for _ in ("encoder", "decoder"):
            yield (BART_POSITIONS, model.width)
            yield from _norm(model.width)


def albert_shapes(model: Size, bottleneck: int, *, whole: bool) -> Iterator[Shape]:
    """One shared block and the factored embedding.

    ``whole`` adds the norm of the embedding, the bias of its projection and the pooler.
    """
    yield from encoder_shapes(model.width)
    yield from ((ALBERT_WORDS, bottleneck), (POSITIONS, bottleneck), (TYPES, bottleneck))
    yield from _linear(bottleneck, model.width, bias=whole)
    if whole:
        yield from _norm(bottleneck)
        yield from _linear(model.width, model.width)


def vit_shapes(model: Size, side: int, patch: int, classes: int) -> Iterator[Shape]:
    """Every tensor of a Vision Transformer; no head for 0 classes."""
    tokens = (side // patch) ** 2 + 1
    yield from ((model.width, 3, patch, patch), (model.width,))
    yield from ((1, model.width), (tokens, model.width))
    for _ in range(model.layers):
        yield from encoder_shapes(model.width)
    yield from _norm(model.width)
    if classes:
        yield from _linear(model.width, classes)


def attention_products(n: int, d: int, heads: int) -> Iterator[tuple[int, int, int]]:
    """The matrix products of one attention layer, each as rows, inner length and columns."""
    for _ in ("query", "key", "value", "output"):
        yield (n, d, d)
    for _ in range(heads):
        yield (n, d // heads, n)
        yield (n, n, d // heads)


def macs(products: Iterable[tuple[int, int, int]]) -> int:
    """Multiply-accumulates of these products."""
    return sum(prod(each) for each in products)

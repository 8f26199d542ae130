"""The Vision Transformer (Dosovitskiy et al. 2021), and DINO's (Caron et al. 2021), which is one.

Patches become vectors, a class token is put in front, learned positions are added, and pre-norm
blocks of attention and a GELU network follow. The class token's last state is what a
classifier reads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.patches import PatchEmbedding, cat_tokens, stretch


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """Sizes of a model.

    Attributes
    ----------
    image, patch, channels
        Side of the native image and of a patch in pixels; colours.
    width, layers, heads, hidden
        Channels; blocks; heads; channels inside the network of a block.
    classes
        Of the classifier; 0 for none.
    eps
        Added to variances in the norms. Published files say 1e-12; where none is said it is 1e-6.
    """

    image: int
    patch: int
    width: int
    layers: int
    heads: int
    hidden: int
    classes: int
    channels: int = 3
    eps: float = 1e-6

    @classmethod
    def from_json(cls, config: dict[str, Any], *, where: str = "config.json") -> ViTConfig:
        """From the published ``config.json``; without ``id2label`` there is no classifier.

        Raises
        ------
        DataError
            When a size is missing, or the activation is another than the exact GELU.
        """
        check_activation(config, where)
        try:
            return cls(
                image=config["image_size"],
                patch=config["patch_size"],
                width=config["hidden_size"],
                layers=config["num_hidden_layers"],
                heads=config["num_attention_heads"],
                hidden=config["intermediate_size"],
                classes=len(config.get("id2label", ())),
                channels=config.get("num_channels", 3),
                eps=config.get("layer_norm_eps", 1e-6),
            )
        except KeyError as error:
            raise no_size(error, where) from error

    @property
    def grid(self) -> int:
        """Patches along one side of the native image."""
        return self.image // self.patch

    @property
    def tokens(self) -> int:
        """Length of the sequence: patches and the class token."""
        return self.grid**2 + 1

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        w, h = self.width, self.hidden
        embedding = self.channels * self.patch**2 * w + w
        attention = 4 * (w * w + w)
        mlp = w * h + h + h * w + w
        block = attention + mlp + 4 * w
        head = (w + 1) * self.classes
        return embedding + w + self.tokens * w + self.layers * block + 2 * w + head


def check_activation(config: dict[str, Any], where: str) -> None:
    """Refuse an activation that these models do not have; DataError names it."""
    given = config.get("hidden_act", "gelu")
    if given != "gelu":
        raise DataError(
            f"the activation is {given!r}, not the exact GELU",
            where=where,
            remedy="name a checkpoint of the published architecture",
        )


def no_size(error: KeyError, where: str) -> DataError:
    """The error of a configuration that lacks a key."""
    return DataError(
        f"the configuration has no {error.args[0]}",
        where=where,
        remedy="name a checkpoint of the published architecture",
    )


#: ViT-B/16 at 224 pixels with the classes of ImageNet-1k.
VIT_B16 = ViTConfig(
    image=224, patch=16, width=768, layers=12, heads=12, hidden=3072, classes=1000, eps=1e-12
)
#: DINO's ViT-S/8: no classifier.
DINO_S8 = ViTConfig(
    image=224, patch=8, width=384, layers=12, heads=6, hidden=1536, classes=0, eps=1e-12
)
#: The small ViT of the study, for tiles of 64 pixels.
SMALL_VIT = ViTConfig(image=64, patch=8, width=192, layers=6, heads=3, hidden=768, classes=10)


def _names(prefix: str) -> Names:
    block, theirs = "blocks.{i}.", f"{prefix}encoder.layer.{{i}}."
    pairs = [
        ("embed.projection", f"{prefix}embeddings.patch_embeddings.projection"),
        (f"{block}attention.query", f"{theirs}attention.attention.query"),
        (f"{block}attention.key", f"{theirs}attention.attention.key"),
        (f"{block}attention.value", f"{theirs}attention.attention.value"),
        (f"{block}attention.out", f"{theirs}attention.output.dense"),
        (f"{block}norm1", f"{theirs}layernorm_before"),
        (f"{block}norm2", f"{theirs}layernorm_after"),
        (f"{block}mlp.fc1", f"{theirs}intermediate.dense"),
        (f"{block}mlp.fc2", f"{theirs}output.dense"),
        ("norm", f"{prefix}layernorm"),
        ("head", "classifier"),
    ]
    return Names(
        [
            Name("cls", f"{prefix}embeddings.cls_token"),
            Name("positions", f"{prefix}embeddings.position_embeddings"),
            *(
                Name(f"{ours}.{part}", f"{published}.{part}")
                for ours, published in pairs
                for part in ("weight", "bias")
            ),
        ],
        ignored=[f"{prefix}pooler.dense.weight", f"{prefix}pooler.dense.bias"],
    )


#: Names in files of a classifier, and of a body alone (DINO, ImageNet-21k without a head).
NAMES, BODY_NAMES = _names("vit."), _names("")


def names_of(tensors: Iterable[str]) -> Names:
    """The mapping that fits the names of a file."""
    return NAMES if any(name.startswith("vit.") for name in tensors) else BODY_NAMES


class Attention(nn.Module):
    """Every token looks at every token; all four maps have a bias."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, keep: list[Tensor] | None = None) -> Tensor:
        """Shape ``(batch, length, width)`` in and out.

        With a list, weights are written out instead of torch's fused kernel and appended to it,
        shape ``(batch, heads, length, length)``; the result is the same within rounding.
        """
        query = split_heads(self.query(x), self.heads)  # (batch, heads, length, head width)
        key = split_heads(self.key(x), self.heads)
        value = split_heads(self.value(x), self.heads)
        if keep is None:
            mixed = attend(query, key, value)
        else:
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            keep.append(scores.softmax(-1))
            mixed = keep[-1] @ value
        out: Tensor = self.out(join_heads(mixed))
        return out


class MLP(nn.Module):
    """Two maps with an exact (erf) GELU between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(width, hidden)
        self.fc2 = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        out: Tensor = self.fc2(F.gelu(self.fc1(x)))
        return out


class Block(nn.Module):
    """``x + attention(norm1(x))``, then ``x + mlp(norm2(x))``."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width, config.eps)
        self.attention = Attention(config.width, config.heads)
        self.norm2 = nn.LayerNorm(config.width, config.eps)
        self.mlp = MLP(config.width, config.hidden)

    def forward(self, x: Tensor, keep: list[Tensor] | None = None) -> Tensor:
        """Shape ``(batch, length, width)`` in and out; ``keep`` as in `Attention`."""
        x = x + self.attention(self.norm1(x), keep)
        out: Tensor = x + self.mlp(self.norm2(x))
        return out


class ViT(nn.Module):
    """Images to logits of classes.

    Class token and positions start at zero, everything else as torch starts it; published
    weights replace both.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = PatchEmbedding(config.channels, config.patch, config.width)
        self.cls = nn.Parameter(torch.zeros(1, 1, config.width))
        self.positions = nn.Parameter(torch.zeros(1, config.tokens, config.width))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, config.eps)
        self.head = nn.Linear(config.width, config.classes) if config.classes else None

    def sequence(
        self, images: Tensor, *, order: Tensor | None = None, positions: bool = True
    ) -> Tensor:
        """What the first block reads, shape ``(batch, 1 + patches, width)``.

        Images of another size than the native one get stretched positions.

        Parameters
        ----------
        images
            Normalised, shape ``(batch, channels, height, width)``.
        order
            A permutation of the patch vectors, taken before the class token is put in front
            and positions are added; None leaves them in reading order.
        positions
            False adds none.
        """
        patches = self.embed(images)
        if order is not None:
            patches = patches[:, order]
        x = cat_tokens(self.cls, patches)
        if positions:
            patch = self.config.patch
            x = x + stretch(self.positions, (images.shape[2] // patch, images.shape[3] // patch))
        return x

    def hidden(
        self,
        images: Tensor,
        *,
        order: Tensor | None = None,
        positions: bool = True,
        keep: list[Tensor] | None = None,
    ) -> Tensor:
        """States after the last norm, shape ``(batch, 1 + patches, width)``; see `forward`."""
        x = self.sequence(images, order=order, positions=positions)
        for block in self.blocks:
            x = block(x, keep)
        out: Tensor = self.norm(x)
        return out

    def forward(
        self,
        images: Tensor,
        *,
        order: Tensor | None = None,
        positions: bool = True,
        keep: list[Tensor] | None = None,
    ) -> Tensor:
        """Logits, shape ``(batch, classes)``; without a classifier the class token's state.

        Parameters
        ----------
        images, order, positions
            As in `sequence`.
        keep
            A list that gets the attention weights of each block, shape
            ``(batch, heads, 1 + patches, 1 + patches)``.
        """
        state = self.hidden(images, order=order, positions=positions, keep=keep)[:, 0]
        return state if self.head is None else self.head(state)

    def replace_head(self, classes: int) -> None:
        """A new classifier with torch's start, in place of whatever there was."""
        self.head = nn.Linear(self.config.width, classes, device=self.cls.device)

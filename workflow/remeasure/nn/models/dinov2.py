"""DINOv2 (Oquab et al. 2023): a Vision Transformer whose branches have a learned scale.

``x + s1 * attention(norm1(x))``, then ``x + s2 * mlp(norm2(x))``, one factor a channel (Touvron
et al. 2021, CaiT, eq. 10). There is no classifier: features are read from the states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.patches import PatchEmbedding, cat_tokens, stretch
from remeasure.nn.models.vit import MLP, Attention, check_activation, no_size


@dataclass(frozen=True, kw_only=True)
class Dinov2Config:
    """Sizes of a model, as in `remeasure.nn.models.vit.ViTConfig`."""

    image: int
    patch: int
    width: int
    layers: int
    heads: int
    hidden: int
    channels: int = 3
    eps: float = 1e-6

    @classmethod
    def from_json(cls, config: dict[str, Any], *, where: str = "config.json") -> Dinov2Config:
        """From the published ``config.json``.

        Raises
        ------
        DataError
            When a size is missing, or the network of a block is another (the giant's SwiGLU).
        """
        check_activation(config, where)
        if config.get("use_swiglu_ffn"):
            raise DataError(
                "its blocks have a SwiGLU, which only the giant has",
                where=where,
                remedy="name a smaller checkpoint, as facebook/dinov2-small",
            )
        try:
            return cls(
                image=config["image_size"],
                patch=config["patch_size"],
                width=config["hidden_size"],
                layers=config["num_hidden_layers"],
                heads=config["num_attention_heads"],
                hidden=int(config["hidden_size"] * config["mlp_ratio"]),
                channels=config.get("num_channels", 3),
                eps=config.get("layer_norm_eps", 1e-6),
            )
        except KeyError as error:
            raise no_size(error, where) from error

    @property
    def tokens(self) -> int:
        """Length of the native sequence: patches and the class token."""
        return (self.image // self.patch) ** 2 + 1

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        w, h = self.width, self.hidden
        embedding = self.channels * self.patch**2 * w + w
        block = 4 * (w * w + w) + w * h + h + h * w + w + 6 * w
        # Class token and mask token, one vector each.
        return embedding + 2 * w + self.tokens * w + self.layers * block + 2 * w


#: DINOv2 small: native images of 518 pixels, 37 patches a side.
DINOV2_SMALL = Dinov2Config(image=518, patch=14, width=384, layers=12, heads=6, hidden=1536)

_BLOCK, _THEIRS = "blocks.{i}.", "encoder.layer.{i}."
NAMES = Names(
    [
        Name("cls", "embeddings.cls_token"),
        Name("mask", "embeddings.mask_token"),
        Name("positions", "embeddings.position_embeddings"),
        Name(f"{_BLOCK}scale1", f"{_THEIRS}layer_scale1.lambda1"),
        Name(f"{_BLOCK}scale2", f"{_THEIRS}layer_scale2.lambda1"),
        *(
            Name(f"{ours}.{part}", f"{theirs}.{part}")
            for ours, theirs in (
                ("embed.projection", "embeddings.patch_embeddings.projection"),
                (f"{_BLOCK}attention.query", f"{_THEIRS}attention.attention.query"),
                (f"{_BLOCK}attention.key", f"{_THEIRS}attention.attention.key"),
                (f"{_BLOCK}attention.value", f"{_THEIRS}attention.attention.value"),
                (f"{_BLOCK}attention.out", f"{_THEIRS}attention.output.dense"),
                (f"{_BLOCK}norm1", f"{_THEIRS}norm1"),
                (f"{_BLOCK}norm2", f"{_THEIRS}norm2"),
                (f"{_BLOCK}mlp.fc1", f"{_THEIRS}mlp.fc1"),
                (f"{_BLOCK}mlp.fc2", f"{_THEIRS}mlp.fc2"),
                ("norm", "layernorm"),
            )
            for part in ("weight", "bias")
        ),
    ]
)


class Block(nn.Module):
    """Both branches scaled, channel by channel."""

    def __init__(self, config: Dinov2Config) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(config.width, config.eps)
        self.attention = Attention(config.width, config.heads)
        self.scale1 = nn.Parameter(torch.ones(config.width))
        self.norm2 = nn.LayerNorm(config.width, config.eps)
        self.mlp = MLP(config.width, config.hidden)
        self.scale2 = nn.Parameter(torch.ones(config.width))

    def forward(self, x: Tensor, keep: list[Tensor] | None = None) -> Tensor:
        """Shape ``(batch, length, width)`` in and out; ``keep`` as in ``vit.Attention``."""
        x = x + self.scale1 * self.attention(self.norm1(x), keep)
        out: Tensor = x + self.scale2 * self.mlp(self.norm2(x))
        return out


class Dinov2(nn.Module):
    """Images to states of the class token and of every patch.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: Dinov2Config) -> None:
        super().__init__()
        self.config = config
        self.embed = PatchEmbedding(config.channels, config.patch, config.width)
        self.cls = nn.Parameter(torch.zeros(1, 1, config.width))
        # Stands for hidden patches while the model is trained; its file has it.
        self.mask = nn.Parameter(torch.zeros(1, config.width))
        self.positions = nn.Parameter(torch.zeros(1, config.tokens, config.width))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, config.eps)

    def forward(self, images: Tensor, *, keep: list[Tensor] | None = None) -> Tensor:
        """States after the last norm, shape ``(batch, 1 + patches, width)``.

        Parameters
        ----------
        images
            Normalised, shape ``(batch, channels, height, width)``; another size than the
            native one gets stretched positions.
        keep
            As in ``vit.ViT.forward``.
        """
        patch = self.config.patch
        grid = (images.shape[2] // patch, images.shape[3] // patch)
        x = cat_tokens(self.cls, self.embed(images)) + stretch(self.positions, grid)
        for block in self.blocks:
            x = block(x, keep)
        out: Tensor = self.norm(x)
        return out

    def features(self, images: Tensor) -> Tensor:
        """The class token's state beside the mean of the patches', shape ``(batch, 2 width)``."""
        states = self(images)
        return torch.cat((states[:, 0], states[:, 1:].mean(1)), dim=1)

"""Our ViT beside the reference library's: the same weights, the same kernel of attention."""

from __future__ import annotations

import importlib.util
from typing import Any

import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import published_names
from remeasure.nn.models.vit import NAMES, ViT, ViTConfig

#: Why there is no such number.
NO_LIBRARY = "needs the package transformers (pip install 'remeasure[networks]')"

#: The card's configuration of this check.
SMALL = ViTConfig(
    image=224, patch=16, width=64, layers=2, heads=4, hidden=128, classes=1000, eps=1e-12
)


def logit_difference(
    config: dict[str, Any], tensors: dict[str, Tensor], model: ViT, images: Tensor
) -> float | None:
    """Largest difference of a logit between ours and the library's; None without the library.

    Parameters
    ----------
    config, tensors
        As published: the library reads them itself.
    model
        Ours, with these weights.
    images
        Normalised, of the native side.
    """
    if importlib.util.find_spec("transformers") is None:
        return None
    from transformers import ViTConfig as LibraryConfig
    from transformers import ViTForImageClassification
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    reference: Any = ViTForImageClassification.from_pretrained(
        None, config=LibraryConfig(**config), state_dict=tensors
    )
    with torch.inference_mode():
        return float((reference.eval()(images).logits - model.eval()(images)).abs().max())


def random_difference(batch: int, seed: int = 0) -> float | None:
    """The same for random weights, every one of them moved from where it starts."""
    torch.manual_seed(seed)
    model = ViT(SMALL)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.1)
    config = {
        "image_size": SMALL.image,
        "patch_size": SMALL.patch,
        "hidden_size": SMALL.width,
        "num_hidden_layers": SMALL.layers,
        "num_attention_heads": SMALL.heads,
        "intermediate_size": SMALL.hidden,
        "num_labels": SMALL.classes,
        "layer_norm_eps": SMALL.eps,
    }
    images = torch.randn(batch, SMALL.channels, SMALL.image, SMALL.image)
    return logit_difference(config, published_names(model, NAMES), model, images)

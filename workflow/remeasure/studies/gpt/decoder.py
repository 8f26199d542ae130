"""SmolLM2-135M, whose rounded weights ship inside a package, read as the article reads GPT-2.

It is another model than the article's (a Llama of 30 layers, tuned to answer), so that it answers
no published row: it shows what the same analyses say of a real decoder where GPT-2's weights are
not at hand. Texts are given as they stand, without the layout of a conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl
import torch
from torch import Tensor

from remeasure.errors import ConfigError
from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.nn.checkpoints.gguf_file import read_gguf
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.device import device_of
from remeasure.nn.models.decoder import RotaryDecoder
from remeasure.nn.models.llama import NAMES, Llama, LlamaConfig
from remeasure.store.frames import write_frame
from remeasure.studies.gpt import article
from remeasure.studies.gpt.byte_pairs import SHOWN_SPACE
from remeasure.studies.gpt.decoder_tables import CACHES, LABEL, LAYERS, NEXT, PROMPTS
from remeasure.studies.gpt.lens import token_probabilities, tokens_frame
from remeasure.studies.gpt.read_tables import TOKENS
from remeasure.studies.gpt.settings import Device
from remeasure.studies.gpt.typed import frame_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: How many of the likeliest next tokens are kept.
TOP: Final = 5
#: What comes next after each of the article's prompts: two names, and the usual reply to the
#: Spanish game.
_KASPAROV, _SPASSKY = article.LENS_PROMPTS.values()
EXPECTED: Final = {_KASPAROV: " Kasparov", _SPASSKY: " Spassky", article.RUY_LOPEZ: " a6"}
#: What stands for a character that no font has.
_UNPRINTABLE: Final = "\N{REPLACEMENT CHARACTER}"


class DecoderStep(Model):
    """Settings of `read_decoder`: where networks run."""

    device: Device
    threads: int


@dataclass(frozen=True)
class Opened:
    """The decoder on a device, with its tokens and how its file stores the weights."""

    model: Llama
    tokenizer: Tokenizer
    device: torch.device
    weights: str

    def ids(self, text: str) -> list[int]:
        """Tokens of a text."""
        return list(self.tokenizer.encode(text).ids)

    def shown(self, token: int) -> str:
        """A token as figures label it: spaces, line ends and marks of control show."""
        text: str = self.tokenizer.decode([token], skip_special_tokens=False)
        text = text.replace(" ", SHOWN_SPACE).replace("\n", "⏎").replace("\t", "⇥")
        return "".join(each if each.isprintable() else _UNPRINTABLE for each in text)


def read_decoder(
    *,
    checkpoint: Path,
    tokens: Path,
    prompts: Path,
    following: Path,
    layers: Path,
    caches: Path,
    settings: DecoderStep,
) -> None:
    """Step: read the decoder of a package.

    Parameters
    ----------
    checkpoint
        Input, JSON: a manifest of one GGUF file.
    tokens
        Output, Parquet: ``read_tables.TOKENS`` of the article's sentence.
    prompts, following, layers, caches
        Outputs, Parquet: ``PROMPTS``, ``NEXT``, ``LAYERS`` and ``CACHES`` of ``decoder_tables``.

    Raises
    ------
    ConfigError
        When a library that reads the file is not installed.
    DataError, SourceError
        When the file is not a whole one of the Llama family, or not that of the manifest.
    """
    torch.set_num_threads(settings.threads)
    own = opened(checkpoint, device_of(settings.device))
    write_frame(sentence(own, article.ALPHAGO_TEXT), tokens, TOKENS)
    read = {prompt: layer_chances(own.model, own.ids(prompt), own.device) for prompt in EXPECTED}
    write_frame(prompt_frame(own, read), prompts, PROMPTS)
    write_frame(next_frame(own, read), following, NEXT)
    write_frame(layer_frame(own, read), layers, LAYERS)
    write_frame(cache_frame(own), caches, CACHES)


def opened(checkpoint: Path, device: torch.device) -> Opened:
    """The decoder of a manifest, its file hashed again; errors as `read_decoder`."""
    try:
        import gguf  # noqa: F401
        import tokenizers  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"the decoder of a package needs the library {error.name}, which is not installed",
            where="gpt.decoder",
            remedy="python -m pip install 'remeasure[networks]', or decoder: none",
        ) from error
    known = Manifest.read(checkpoint)
    known.read_verified(known.files[0])
    path = known.file(known.files[0])
    found = read_gguf(path)
    model = Llama(LlamaConfig.from_json(found.config)).eval()
    load(model, found.tensors, NAMES, where=str(path))
    return Opened(model.to(device), found.tokenizer(), device, ", ".join(found.quantisation))


@torch.inference_mode()
def layer_chances(model: RotaryDecoder, ids: Sequence[int], device: str | torch.device) -> Tensor:
    """The logit lens: chances of the next token if each layer were the last.

    Every state of the residual stream goes through the final norm and the output map
    (nostalgebraist 2020).

    Returns
    -------
    Tensor
        Float64 on the CPU, shape ``(layers + 1, vocabulary)``: after the embeddings and after
        each block; the last row is what the model says.
    """
    states: list[Tensor] = []
    model.hidden(torch.tensor([list(ids)], device=device), keep=states)
    last = torch.stack([state[0, -1] for state in states])
    return model.logits(model.norm(last)).double().softmax(-1).cpu()


def ranks(chances: Tensor, token: int) -> Tensor:
    """Place of a token among all, one the likeliest, along the last dimension."""
    return 1 + (chances > chances[..., token, None]).sum(-1)


def settled(likeliest: Sequence[int]) -> int:
    """The first layer from which on the likeliest token is that of the last layer.

    >>> settled([4, 7, 4, 7, 7]), settled([7, 7]), settled([4, 7])
    (3, 0, 1)
    """
    layer = len(likeliest) - 1
    while layer and likeliest[layer - 1] == likeliest[-1]:
        layer -= 1
    return layer


def cache_bytes(config: LlamaConfig, tokens: int, number_bytes: int) -> int:
    """Bytes of keys and values: two numbers a layer, key-value head, channel and token."""
    head = config.width // config.heads
    return 2 * config.layers * config.groups * head * tokens * number_bytes


@torch.inference_mode()
def counted_bytes(model: Llama, ids: Sequence[int], device: str | torch.device) -> int:
    """Bytes that a cache holds after a text was read into it."""
    cache = model.cache(1, len(ids))
    model.hidden(torch.tensor([list(ids)], device=device), None, cache)
    return cache.numbers() * model.embed.weight.element_size()


def sentence(own: Opened, text: str) -> pl.DataFrame:
    """`TOKENS`: probability of each token of a text but the first."""
    ids = own.ids(text)
    chances = token_probabilities(own.model, ids, own.device)
    return tokens_frame(LABEL, [own.shown(token) for token in ids[1:]], chances)


def prompt_frame(own: Opened, read: dict[str, Tensor]) -> pl.DataFrame:
    """`PROMPTS`: of each prompt the word that comes next, and how likely it is.

    A word of several tokens is as likely as their product; ``rank`` and ``probability`` are those
    of its first token.
    """
    lines = []
    for prompt, chances in read.items():
        ids, word = own.ids(prompt), own.ids(EXPECTED[prompt])
        said = token_probabilities(own.model, [*ids, *word], own.device)[-len(word) :]
        line = (
            len(ids),
            settled(chances.argmax(-1).tolist()),
            EXPECTED[prompt].strip(),
            own.shown(word[0]),
            int(ranks(chances[-1], word[0])),
            float(chances[-1, word[0]]),
            float(said.prod()),
        )
        lines.append((LABEL, prompt, *line))
    return frame_of(lines, PROMPTS)


def next_frame(own: Opened, read: dict[str, Tensor]) -> pl.DataFrame:
    """`NEXT`: the likeliest next tokens of each prompt."""
    lines = []
    for prompt, chances in read.items():
        top = chances[-1].topk(TOP)
        lines += [
            (LABEL, prompt, rank, own.shown(token), chance)
            for rank, (token, chance) in enumerate(
                zip(top.indices.tolist(), top.values.tolist(), strict=True), 1
            )
        ]
    return frame_of(lines, NEXT)


def layer_frame(own: Opened, read: dict[str, Tensor]) -> pl.DataFrame:
    """`LAYERS`: the likeliest token of each layer, and where the last layer's stands there."""
    lines = []
    for prompt, chances in read.items():
        top = chances.max(-1)
        final = int(top.indices[-1])
        columns = (
            top.indices.tolist(),
            top.values.tolist(),
            ranks(chances, final).tolist(),
            chances[:, final].tolist(),
        )
        lines += [
            (LABEL, prompt, layer, own.shown(token), chance, own.shown(final), rank, final_chance)
            for layer, (token, chance, rank, final_chance) in enumerate(zip(*columns, strict=True))
        ]
    return frame_of(lines, LAYERS)


def cache_frame(own: Opened) -> pl.DataFrame:
    """`CACHES`: bytes by formula and counted, in 16 bits, and with a key for every query head."""
    config, size = own.model.config, own.model.embed.weight.element_size()
    lines = []
    for prompt in EXPECTED:
        ids = own.ids(prompt)
        formula = cache_bytes(config, len(ids), size)
        counted = counted_bytes(own.model, ids, own.device)
        half = cache_bytes(config, len(ids), 2)
        whole = formula * config.heads // config.groups
        lines.append((LABEL, own.weights, prompt, len(ids), size, formula, counted, half, whole))
    return frame_of(lines, CACHES)

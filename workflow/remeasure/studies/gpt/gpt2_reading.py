"""GPT-2 opened: parity, probabilities, greedy text, samples and the logit lens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
import torch

from remeasure.ledger.measurement import Measurement
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.generate.greedy import greedy
from remeasure.nn.models.gpt2 import GPT2
from remeasure.studies.gpt import article
from remeasure.studies.gpt.byte_pairs import SHOWN_SPACE, Tokenizer, labels, read_tokenizer
from remeasure.studies.gpt.lens import (
    guesses_by_layer,
    lens_frame,
    sampled,
    token_probabilities,
    tokens_frame,
)
from remeasure.studies.gpt.openai import load_gpt2
from remeasure.studies.gpt.published import keys, measurement
from remeasure.studies.gpt.read_tables import LARGE

_PARITY: Final = "largest difference in the scores"
_ON_CPU: Final = "on another device than the article's T4"


@dataclass(frozen=True)
class Opened:
    """GPT-2 with its byte pairs on a device."""

    model: GPT2
    tokenizer: Tokenizer
    device: torch.device

    def ids(self, text: str) -> list[int]:
        """Tokens of a text."""
        return list(self.tokenizer.encode(text).ids)


def opened(manifest: Path, device: torch.device) -> tuple[Opened, tuple[str, ...]]:
    """GPT-2 on a device, and the tensors of its file that were not loaded."""
    model, report = load_gpt2(manifest)
    return Opened(model.to(device), read_tokenizer(manifest), device), report.ignored


def answers(
    own: Opened, ignored: Sequence[str], manifest: Path, tokens: pl.DataFrame, lens: pl.DataFrame
) -> Iterator[Measurement]:
    """Every row that needs the weights."""
    yield from _loaded(ignored, manifest)
    yield from _parity(own, manifest)
    yield from _read(own, tokens)
    yield from _lens(lens)


def large_tokens(opened: Opened) -> pl.DataFrame:
    """`TOKENS` of GPT-2 on the published sentence."""
    text = article.ALPHAGO_TEXT
    chances = token_probabilities(opened.model, opened.ids(text), opened.device)
    return tokens_frame(LARGE, labels(opened.tokenizer, text)[1:], chances)


def large_lens(opened: Opened) -> pl.DataFrame:
    """`LENS` of GPT-2 after both published prompts."""
    frames = []
    for text in article.LENS_PROMPTS.values():
        found = guesses_by_layer(opened.model, opened.ids(text), opened.device)
        shown = [opened.tokenizer.decode([token]).replace(" ", SHOWN_SPACE) for token, _ in found]
        frames.append(lens_frame(LARGE, text, found, shown))
    return pl.concat(frames)


_LOAD: Final = tuple(key for key in keys("stat_gpt2_load") if key[1] != "parameters loaded")


def _loaded(ignored: Sequence[str], manifest: Path) -> Iterator[Measurement]:
    tensors = read_stored(manifest).tensors
    shape = tuple(tensors[ignored[0]].shape) if ignored else ()
    values: tuple[int | str, ...] = (len(ignored), ignored[0] if ignored else "none", str(shape))
    for key, value in zip(_LOAD, values, strict=True):
        yield measurement(key, value)


def _parity(opened: Opened, manifest: Path) -> Iterator[Measurement]:
    """Against the transformers library, where it is installed."""
    try:
        import transformers
    except ImportError:
        return
    from remeasure.fetch.hugging_face import weights
    from remeasure.fetch.manifest import Manifest

    config, _ = weights(Manifest.read(manifest))
    library: Any = transformers.GPT2LMHeadModel
    other = library.from_pretrained(config.parent, local_files_only=True, use_safetensors=True)
    other.eval().to(opened.device)
    ids = torch.tensor([opened.ids(article.PARITY_TEXT)], device=opened.device)
    with torch.inference_mode():
        ours, theirs = opened.model(ids), other(ids).logits
    gap = float((ours - theirs).abs().max())
    for key in keys("stat_gpt2_parity"):
        if key[:2] == ("stat_gpt2_parity", _PARITY):
            yield measurement(key, gap, note=f"{_ON_CPU}; rounding differs from machine to machine")
        elif key[:2] == ("stat_gpt2_parity", "largest absolute score"):
            yield measurement(key, float(ours.abs().max()))


def near(chance: float) -> str:
    """What the article calls a probability.

    >>> near(0.97), near(0.02), near(0.5)
    ('near 1', 'near 0', 'about 0.50')
    """
    if chance >= 0.9:
        return "near 1"
    return "near 0" if chance <= 0.1 else f"about {chance:.2f}"


def _read(opened: Opened, table: pl.DataFrame) -> Iterator[Measurement]:
    own = table.filter(pl.col("model") == LARGE)
    chances = own["probability"]
    words = {
        each.removeprefix(SHOWN_SPACE): chance
        for each, chance in zip(own["token"], chances, strict=True)
    }
    for key in keys("stat_alphago_loss", "mean loss"):
        yield measurement(key, -float(chances.log().mean()))  # type: ignore[arg-type]
    for key in keys("fig_alphago_probs"):
        if "labels" not in key[1]:
            chance = words[key[2].partition(" ")[0]]
            yield measurement(key, near(chance), note=f"{chance:.3f}")
    ids = opened.ids(article.RUY_LOPEZ)
    device = str(opened.device)
    said = greedy(opened.model, [ids], new_tokens=article.GREEDY_TOKENS, end=-1, device=device)[0]
    text = opened.tokenizer.decode([*ids, *said])
    yield measurement(keys("stat_ruy_lopez", "greedy text, 40 new tokens")[0], text)
    generator = torch.Generator().manual_seed(article.SEED)
    prompt = opened.ids(article.SAMPLE_PROMPT)
    for key in keys("stat_samples"):
        drawn = sampled(
            opened.model,
            prompt,
            tokens=30,
            temperature=0.8,
            generator=generator,
            device=opened.device,
        )
        yield measurement(key, opened.tokenizer.decode([*prompt, *drawn]), note=_ON_CPU)


def _lens(table: pl.DataFrame) -> Iterator[Measurement]:
    for condition, prompt in article.LENS_PROMPTS.items():
        own = table.filter(pl.col("model") == LARGE, pl.col("prompt") == prompt).sort("layer")
        tokens = [each.replace(SHOWN_SPACE, " ").strip() for each in own["token"]]
        chance = float(own["probability"][-1])
        for key in keys("fig_logit_lens"):
            if key[2] == condition:
                yield measurement(key, _seen(key[1], tokens, chance))


def _seen(quantity: str, tokens: Sequence[str], chance: float) -> int | str:
    """One verbal result of the lens, from the top tokens of all layers."""
    if quantity == "top token after layers 0 to 7":
        return " / ".join(dict.fromkeys(tokens[:8]))
    if quantity == "top token in the middle layers":
        middle = tokens[len(tokens) // 3 : 2 * len(tokens) // 3 + 1]
        return max(middle, key=middle.count)
    if quantity == "final top token":
        return tokens[-1]
    if quantity == "final probability":
        return "low" if chance < 0.5 else near(chance)
    if quantity == "Spassky appears":
        return "at some layer" if any(each.startswith("Sp") for each in tokens) else "never"
    first = tokens.index("Kas") if "Kas" in tokens else -1
    if quantity.startswith("first layer"):
        return first if first >= 0 else "never"
    return sum(each != "Kas" for each in tokens[8:])

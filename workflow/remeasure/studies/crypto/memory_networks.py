"""Language models answer about past prices: the networks themselves, with nothing to look it up.

Two kinds of networks answer here. The publication's seven come from the hub and run through
the transformers library, which knows their architectures; in 16 bits, on a GPU where there is
one. One small model ships inside a package and runs on this project's own Llama: it is *not*
one of the seven, its weights are rounded to four bits, and its answers stand apart.

A question is one user turn under the model's own chat template, thinking switched off. A
price is generated greedily. A direction is not generated: at the place of the answer the
probabilities of all first tokens that spell a word are added up (see `first_tokens`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import Field

from remeasure.errors import ConfigError, DataError
from remeasure.fetch.hugging_face import weights
from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.nn.device import Device, device_of
from remeasure.studies.crypto.memory_questions import DOWN, MAX_NEW_TOKENS, UP, questions
from remeasure.studies.crypto.memory_table import write_answers

if TYPE_CHECKING:
    from torch import Tensor

Floats = npt.NDArray[np.float64]
Tokenize = Callable[[str], list[int]]


class AskStep(Model):
    """What one model is asked, and how.

    Attributes
    ----------
    label
        Name of the model in tables and figures.
    first, last
        Window of the questions, ``YYYY-MM-DD``, both included.
    every
        Ask every so many questions of each kind: 1 asks all.
    batch
        Questions at once.
    device
        ``auto`` takes a GPU where there is one.
    """

    label: str
    first: str
    last: str
    every: int = Field(default=1, ge=1)
    batch: int = Field(default=16, ge=1)
    device: Device = "auto"


class Network(Protocol):
    """A model that can be asked: prompts in, texts or scores out."""

    def tokenize(self, text: str) -> list[int]:
        """Ids of a text without any marks around it."""

    def answers(self, prompts: Sequence[str]) -> list[str]:
        """Greedy answers of at most `MAX_NEW_TOKENS` tokens."""

    def scores(self, prompts: Sequence[str]) -> Tensor:
        """Logits of the answer's first token, shape ``(prompts, vocabulary)``."""


# --- directions -----------------------------------------------------------------------------


def first_tokens(tokenize: Tokenize) -> tuple[list[int], list[int]]:
    """Tokens with which an answer of up, or of down, can begin.

    Each word is spelled four ways: lower-case or capitalised, with a space before it or
    without, and in capitals. A spelling of several tokens counts by its first one; a token
    that begins spellings of both words, or is nothing but a space, tells nothing and is
    left out.

    Raises
    ------
    DataError
        When no token is left that tells the two words apart.
    """

    def begins(word: str) -> set[int]:
        forms = (word, word.capitalize(), f" {word}", f" {word.capitalize()}", word.upper())
        return {ids[0] for ids in map(tokenize, forms) if ids}

    nothing = set(tokenize(" "))
    up, down = begins(UP) - nothing, begins(DOWN) - nothing
    both = up & down
    if not up - both or not down - both:
        raise DataError(
            "the tokenizer begins both words with the same tokens",
            where=f"first tokens of {UP!r} and {DOWN!r}",
            remedy="ask for two words that this tokenizer tells apart",
        )
    return sorted(up - both), sorted(down - both)


def masses(scores: Tensor, up: Sequence[int], down: Sequence[int]) -> tuple[Floats, Floats]:
    """Softmax mass on the first tokens of each word.

    Parameters
    ----------
    scores
        Logits, shape ``(questions, vocabulary)``; a constant added to a row changes nothing.
    up, down
        Token ids of each word.

    Returns
    -------
    tuple
        Mass of up and of down, shape ``(questions,)`` each. Both tiny: the model wanted to
        say something else.
    """
    probability = scores.double().softmax(-1)
    each = (probability[:, list(ids)].sum(-1).numpy() for ids in (up, down))
    first, second = (np.minimum(mass, 1.0) for mass in each)
    return first, second


# --- asking ---------------------------------------------------------------------------------


def ask(network: Network, settings: AskStep) -> pl.DataFrame:
    """All answers of one model, in the order of the questions; columns of ``ANSWERS``."""
    asked = questions(settings.first, settings.last)
    if settings.every > 1:
        place = pl.int_range(pl.len()).over("kind")
        asked = asked.filter(place % settings.every == 0)
    up, down = first_tokens(network.tokenize)
    label = pl.lit(settings.label).alias("model")
    price = pl.col("kind") == "price"
    prices, directions = asked.filter(price), asked.filter(~price)
    texts = [
        text
        for batch in _batches(prices["prompt"].to_list(), settings.batch)
        for text in network.answers(batch)
    ]
    found = [
        masses(network.scores(batch), up, down)
        for batch in _batches(directions["prompt"].to_list(), settings.batch)
    ]
    said = prices.select(label, "kind", "first", "last").with_columns(
        pl.Series("text", texts, dtype=pl.String)
    )
    weighed = directions.select(label, "kind", "first", "last").with_columns(
        pl.Series(name, np.concatenate([pair[side] for pair in found]), dtype=pl.Float64)
        for side, name in enumerate(("mass_up", "mass_down"))
    )
    return pl.concat([said, weighed], how="diagonal")


def _batches(prompts: list[str], size: int) -> list[list[str]]:
    return [prompts[start : start + size] for start in range(0, len(prompts), size)]


# --- the small model of a package -----------------------------------------------------------


class Shipped:
    """A GGUF file of the Llama family, on this project's own model.

    Parameters
    ----------
    path
        The file.
    device
        Where it runs.
    """

    def __init__(self, path: Path, device: str = "cpu") -> None:
        from remeasure.nn.checkpoints.gguf_file import read_gguf
        from remeasure.nn.checkpoints.loading import load
        from remeasure.nn.models.llama import NAMES, Llama, LlamaConfig

        found = read_gguf(path)
        self._model = Llama(LlamaConfig.from_json(found.config)).eval()
        load(self._model, found.tensors, NAMES, where=str(path))
        self._model.to(device)
        self._device, self._end = device, found.end
        self._tokenizer = found.tokenizer()
        self._template = _template(found.chat_template, path)

    def tokenize(self, text: str) -> list[int]:
        """See `Network`."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def _prompt(self, question: str) -> list[int]:
        turn = [{"role": "user", "content": question}]
        return self.tokenize(self._template(messages=turn, add_generation_prompt=True))

    def answers(self, prompts: Sequence[str]) -> list[str]:
        """See `Network`."""
        from remeasure.nn.generate.greedy import greedy

        said = greedy(
            self._model,
            [self._prompt(each) for each in prompts],
            new_tokens=MAX_NEW_TOKENS,
            end=self._end,
            device=self._device,
        )
        return [str(self._tokenizer.decode(each)) for each in said]

    def scores(self, prompts: Sequence[str]) -> Tensor:
        """See `Network`."""
        from remeasure.nn.generate.greedy import last_logits

        texts = [self._prompt(each) for each in prompts]
        return last_logits(self._model, texts, padding=self._end, device=self._device)


def _template(text: str, path: Path) -> Callable[..., str]:
    """A chat template, rendered as the transformers library does, in a sandbox."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    try:
        return environment.from_string(text).render
    except TemplateError as error:
        raise DataError(
            f"its chat template cannot be read: {error}",
            where=path,
            remedy="use another file of this model",
        ) from error


def ask_shipped(*, manifest: Path, answers: Path, settings: AskStep) -> None:
    """Step: ask the small model that ships in a package.

    Parameters
    ----------
    manifest
        Input, JSON: lists one GGUF file.
    answers
        Output, Parquet as ``memory_table.ANSWERS``.

    Raises
    ------
    DataError
        When the file is not a whole one of the Llama family.
    """
    listed = Manifest.read(manifest)
    network = Shipped(listed.file(listed.files[0]), device_of(settings.device).type)
    write_answers(ask(network, settings), answers)


# --- the publication's models ---------------------------------------------------------------


class Published:
    """A checkpoint of the hub, on the transformers library.

    Parameters
    ----------
    folder
        Holds ``config.json``, the tokenizer and safetensors weights.
    device
        Where it runs: 16-bit numbers on a GPU, 32-bit on the CPU.

    Raises
    ------
    ConfigError
        When the library is not installed.
    """

    def __init__(self, folder: Path, device: str) -> None:
        try:
            import transformers
        except ImportError as error:
            raise ConfigError(
                "the published language models run on the transformers library, which is not"
                " installed",
                where="crypto.memory.answerer",
                remedy="python -m pip install 'remeasure[networks]', or answerer: simulated",
            ) from error
        import torch

        local: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, padding_side="left", **local
        )
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        made: Any = transformers.AutoModelForCausalLM
        self._model = made.from_pretrained(
            folder,
            dtype=torch.bfloat16 if device == "cuda" else torch.float32,
            use_safetensors=True,
            **local,
        )
        self._model.eval().to(device)
        self._device = device

    def tokenize(self, text: str) -> list[int]:
        """See `Network`."""
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _prompts(self, prompts: Sequence[str]) -> Any:
        """A padded batch. Templates that know no thinking ignore that it is off."""
        texts = [
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": each}],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
            for each in prompts
        ]
        batch = self._tokenizer(texts, add_special_tokens=False, padding=True, return_tensors="pt")
        return batch.to(self._device)

    def answers(self, prompts: Sequence[str]) -> list[str]:
        """See `Network`."""
        import torch

        batch = self._prompts(prompts)
        with torch.inference_mode():
            whole = self._model.generate(
                **batch,
                max_new_tokens=MAX_NEW_TOKENS,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        said = whole[:, batch["input_ids"].shape[1] :]
        return [str(each) for each in self._tokenizer.batch_decode(said, skip_special_tokens=True)]

    def scores(self, prompts: Sequence[str]) -> Tensor:
        """See `Network`."""
        import torch

        with torch.inference_mode():
            logits: Tensor = self._model(**self._prompts(prompts), logits_to_keep=1).logits
        return logits[:, -1].float().cpu()


def ask_published(*, manifest: Path, answers: Path, settings: AskStep) -> None:
    """Step: ask one of the publication's models.

    Parameters
    ----------
    manifest
        Input, JSON: lists the checkpoint, see `remeasure.fetch.hugging_face`.
    answers
        Output, Parquet as ``memory_table.ANSWERS``.

    Raises
    ------
    ConfigError
        When the transformers library is absent.
    DataError
        When the checkpoint holds no configuration that can be read, or a GPU is asked for and
        there is none.
    """
    config, _ = weights(Manifest.read(manifest))
    try:
        json.loads(config.read_text("utf-8"))
    except ValueError as error:
        raise DataError(
            f"the checkpoint's configuration is no JSON: {error}",
            where=config,
            remedy="fetch the checkpoint again",
        ) from error
    network = Published(config.parent, device_of(settings.device).type)
    write_answers(ask(network, settings), answers)

"""The chess model: fresh or stored weights, and how it says a move."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Final, Protocol

import torch
from torch import Tensor

from remeasure.errors import DataError
from remeasure.nn.models.gpt2 import GPT2, GPT2Config, initialise
from remeasure.studies.gpt.chess_text import ALPHABET, Format, encode
from remeasure.studies.gpt.settings import ModelSettings

#: Longest answer in characters; ``Qa1xb2+`` has seven.
LONGEST: Final = 8

_SPACE: Final = ALPHABET.index(" ")


class Player(Protocol):
    """What answers a prompt with a move."""

    @property
    def form(self) -> Format:
        """The form of the prompts that it reads."""

    @property
    def longest(self) -> int:
        """Characters of the longest prompt that it has room for."""

    def word(self, text: str, generator: torch.Generator | None = None) -> str:
        """The move: the likeliest one, or one drawn with a generator."""


def chess_config(sizes: ModelSettings) -> GPT2Config:
    """The configuration of our model."""
    return GPT2Config(
        vocabulary=len(ALPHABET),
        context=sizes.context,
        width=sizes.width,
        layers=sizes.layers,
        heads=sizes.heads,
    )


def fresh(sizes: ModelSettings, seed: int) -> GPT2:
    """Our model before training: also the untrained control."""
    model = GPT2(chess_config(sizes))
    initialise(model, seed)
    return model.eval()


def save(model: GPT2, path: Path) -> None:
    """Weights and sizes as safetensors; equal weights give equal bytes."""
    from safetensors.torch import save_file

    weights = {name: each.detach().cpu().contiguous() for name, each in model.state_dict().items()}
    config = json.dumps(dataclasses.asdict(model.config), sort_keys=True)
    save_file(weights, path, metadata={"config": config})


def read(path: Path) -> GPT2:
    """A model as `save` wrote it; DataError when the file is not one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            config = GPT2Config(**json.loads((file.metadata() or {})["config"]))
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"this file holds no chess model: {error!r}",
            where=path,
            remedy="run the training again",
        ) from error
    model = GPT2(config)
    model.load_state_dict(weights)
    return model.eval()


class ChessPlayer:
    """A character model that says moves.

    What it has read is remembered from prompt to prompt: a game's next prompt begins with the
    last one, so that only the new characters are computed.

    Parameters
    ----------
    model
        In evaluation mode, on ``device``.
    device
        Where it lies.
    room
        Characters that a prompt leaves free.
    """

    form: Final[Format] = "characters"

    def __init__(self, model: GPT2, device: str | torch.device = "cpu", room: int = 10) -> None:
        self._model, self._device = model, device
        self.longest = model.config.context - room
        self._cache = model.cache(1, model.config.context)
        self._read: list[int] = []

    @torch.inference_mode()
    def scores(self, ids: list[int]) -> Tensor:
        """Logits of the next character, shape ``(vocabulary,)``, float32 on the CPU."""
        same = 0
        for new, old in zip(ids[:-1], self._read, strict=False):
            if new != old:
                break
            same += 1
        self._cache.rewind(same)
        fresh_ids = torch.tensor([ids[same:]], device=self._device)
        hidden = self._model.hidden(fresh_ids, None, self._cache)
        self._read = ids
        return self._model.logits(hidden[0, -1]).float().cpu()

    def word(self, text: str, generator: torch.Generator | None = None) -> str:
        """Characters until a space, `LONGEST` at most; see `Player`."""
        ids = encode(text).tolist()
        said = ""
        while len(said) < LONGEST:
            scores = self.scores(ids)
            if generator is None:
                chosen = int(scores.argmax())
            else:
                chosen = int(torch.multinomial(scores.softmax(-1), 1, generator=generator))
            if chosen == _SPACE:
                break
            said += ALPHABET[chosen]
            ids = [*ids, chosen]
        return said

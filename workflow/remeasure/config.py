"""The configuration as typed models, read and checked before any job runs.

``config/config.yaml`` holds every setting with its explanation; overlays and
the command line change single keys. The core knows its own keys here; each
study brings

``studies.<id>.settings.Settings``
    a pydantic model of its section;
``studies.<id>.plan.check(settings, config)``
    which raises ConfigError where settings contradict each other or the sources;
``studies.<id>.plan.steps(settings, config)``
    which gives the settings model of every step of the study, by step name.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, Field, ValidationError

from remeasure.errors import ConfigError
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model

STUDIES = Path(__file__).resolve().parent / "studies"


class Core(Model):
    """The settings that belong to no study."""

    run: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,40}$")]
    seed: int = Field(ge=0, lt=2**31, strict=True)
    studies: tuple[str, ...] = Field(min_length=1)
    mirror: Annotated[str, Field(min_length=1)] | None
    client: ClientSettings


class Config(Model):
    """A whole validated configuration: the core and each chosen study's section."""

    core: Core
    sections: dict[str, Any]

    def section(self, study: str) -> Any:
        """The validated settings of one study."""
        return self.sections[study]


def available_studies() -> tuple[str, ...]:
    """Every study folder, sorted: a study is a folder with rules."""
    return tuple(sorted(path.parent.name for path in STUDIES.glob("*/rules.smk")))


def study_module(study: str, name: str) -> ModuleType:
    """A module of a study, imported by name: no list anywhere knows the studies."""
    return importlib.import_module(f"remeasure.studies.{study}.{name}")


def _problems(error: ValidationError, prefix: str, model: type[BaseModel]) -> Iterator[str]:
    for item in error.errors():
        key = ".".join(str(part) for part in (*([prefix] if prefix else []), *item["loc"]))
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = f"unknown key; allowed here: {', '.join(_siblings(model, item['loc']))}"
        elif item["type"] == "missing":
            message = "this key is required"
        elif item["type"] not in ("value_error",):
            message += f" (given: {item['input']!r})"
        yield f"{key}: {message}"


def _siblings(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """Names of the keys allowed where an unknown key was found."""
    found: Any = model
    for part in location[:-1]:
        field = getattr(found, "model_fields", {}).get(part)
        annotation = field.annotation if field is not None else None
        inner = [a for a in _flat(annotation) if isinstance(a, type) and issubclass(a, BaseModel)]
        found = inner[0] if inner else found
    return sorted(getattr(found, "model_fields", {}))


def _flat(annotation: Any) -> Iterator[Any]:
    yield annotation
    for each in getattr(annotation, "__args__", ()):
        yield from _flat(each)


def _raise(problems: Sequence[str]) -> None:
    raise ConfigError(
        "the configuration is not valid:\n" + "\n".join(f"    {problem}" for problem in problems),
        where="config/config.yaml, its overlays (--configfile) and --config",
        remedy="correct the named keys; config/README.md explains each",
    )


def validate(raw: Mapping[str, Any]) -> Config:
    """Validate a merged configuration.

    Raises
    ------
    ConfigError
        Naming every key that is unknown or out of range, and what is allowed.
    """
    studies = available_studies()
    core_keys = list(Core.model_fields)
    problems = [
        f"{key}: unknown key; allowed here: {', '.join([*core_keys, *studies])}"
        for key in raw
        if key not in core_keys and key not in studies
    ]
    given = {key: raw[key] for key in core_keys if key in raw}
    if given.get("studies") == "all":
        given["studies"] = studies
    try:
        core = Core.model_validate(given)
    except ValidationError as error:
        _raise([*problems, *_problems(error, "", Core)])
        raise
    if len(set(core.studies)) != len(core.studies):
        problems.append(f"studies: values must not repeat (given: {list(core.studies)})")
    problems += [
        f"studies: there is no study {study!r}; allowed: {', '.join(studies)}"
        for study in core.studies
        if study not in studies
    ]
    if core.mirror is not None and not Path(core.mirror).is_dir():
        problems.append(
            f"mirror: the folder {core.mirror!r} does not exist; name a folder in the raw layout"
            " <mirror>/<host>/<path>, or null for none"
        )
    sections: dict[str, Any] = {}
    for study in core.studies:
        if study not in studies:
            continue
        model = study_module(study, "settings").Settings
        try:
            sections[study] = model.model_validate(raw.get(study) or {})
        except ValidationError as error:
            problems += _problems(error, study, model)
    if problems:
        _raise(problems)
    config = Config(core=core, sections=sections)
    for study in core.studies:
        study_module(study, "plan").check(sections[study], config)
    return config


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Overlay ``over`` on ``base``, mapping by mapping, as Snakemake does with its files."""
    merged = dict(base)
    for key, value in over.items():
        known = merged.get(key)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            merged[key] = merge(known, value)
        else:
            merged[key] = value
    return merged


def read_files(files: Sequence[Path], overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Merge configuration files in order, then ``overrides``; not yet validated."""
    raw: dict[str, Any] = {}
    for file in files:
        try:
            loaded = yaml.safe_load(file.read_text("utf-8")) or {}
        except FileNotFoundError as error:
            raise ConfigError(
                "this configuration file does not exist",
                where=file,
                remedy="name a file below config/",
            ) from error
        except yaml.YAMLError as error:
            raise ConfigError(
                f"this is not YAML: {error}", where=file, remedy="correct the file"
            ) from error
        raw = merge(raw, loaded)
    return merge(raw, overrides or {})

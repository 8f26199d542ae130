"""Provenance records: the side files that say what made an output, and from what."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeInt, ValidationError

from remeasure.errors import DataError
from remeasure.ledger.measurement import ORIGINS

#: Folders whose second (or, under data, third) component is the name of the run.
STAGES = (("data", "features"), ("results",), ("reports",))


class Entry(BaseModel):
    """One file that went in or came out."""

    path: str
    sha256: str
    size: NonNegativeInt
    tables: dict[str, str] = {}


class MadeBy(BaseModel):
    """The call that a record repeats; see `remeasure.step.Call`."""

    step: str
    run: str
    seed: int
    code: str
    settings: dict[str, Any]
    contract: int


def _known(origin: str) -> str:
    if origin not in ORIGINS:
        raise ValueError(f"{origin!r} is no origin; allowed: {', '.join(ORIGINS)}")
    return origin


class Record(BaseModel):
    """What a provenance record must hold; what else it holds is for people."""

    model_config = ConfigDict(extra="allow")

    step: str
    call: MadeBy
    wildcards: dict[str, str]
    seed: int
    origin: Annotated[str, AfterValidator(_known)]
    inputs: dict[str, list[Entry]]
    outputs: dict[str, list[Entry]]


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stage_and_run(path: Path) -> tuple[tuple[str, ...], str, Path] | None:
    """Split a path relative to the project into stage, run and the rest; None for other paths."""
    for stage in STAGES:
        if path.parts[: len(stage)] == stage and len(path.parts) > len(stage) + 1:
            return stage, path.parts[len(stage)], Path(*path.parts[len(stage) + 1 :])
    return None


def record_path(output: Path) -> Path:
    """Where the record of ``output`` lies: ``provenance/<run>/<stage>/<rest>.json``.

    Raises
    ------
    DataError
        When ``output`` is not below data/features, results or reports of a run.
    """
    split = stage_and_run(output)
    if split is None:
        raise DataError(
            "an output must lie below data/features/<run>, results/<run> or reports/<run>",
            where=output,
            remedy="correct the output's path in the rule",
        )
    stage, run, rest = split
    return Path("provenance", run, *stage, rest.parent, rest.name + ".json")


def read_record(output: Path) -> dict[str, Any] | None:
    """The record of ``output``, or None when there is none.

    Raises
    ------
    DataError
        When the record is not JSON, or lacks what a record must hold.
    """
    path = record_path(output)
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        Record.model_validate(record)
    except ValueError as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first else str(error)
        raise DataError(
            f"the provenance record is malformed ({what})",
            where=path,
            remedy=f"make the output again: snakemake --cores 1 --force {output}",
        ) from error
    return record


def write_atomically(path: Path, text: str) -> None:
    """Write a text file under a temporary name in the same folder, then rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    try:
        temporary.write_text(text, "utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_record(output: Path, record: Mapping[str, Any]) -> None:
    """Write the record of ``output``."""
    write_atomically(record_path(output), json.dumps(record, indent=1, sort_keys=True) + "\n")

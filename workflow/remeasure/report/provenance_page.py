"""The page of provenance: for every artefact the step, code, settings and bytes behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remeasure.errors import DataError
from remeasure.records import read_record
from remeasure.report.pages import write_page
from remeasure.report.study_page import navigation

PACKAGE_FILES = ("templates/provenance.html",)


@dataclass(frozen=True)
class Entry:
    """One run of a step. Times, memory and the machine are left out: they say nothing of bytes."""

    paths: tuple[str, ...]
    step: str
    wildcards: dict[str, str]
    code: str
    seed: int
    configured_seed: int
    origin: str
    contract: int
    settings: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    packages: dict[str, str]
    python: str

    @classmethod
    def of(cls, record: dict[str, Any]) -> Entry:
        """From a provenance record."""
        call = record["call"]
        return cls(
            paths=tuple(
                entry["path"] for _, group in sorted(record["outputs"].items()) for entry in group
            ),
            step=record["step"],
            wildcards=dict(sorted(record["wildcards"].items())),
            code=call["code"],
            seed=record.get("seed", call["seed"]),
            configured_seed=call["seed"],
            origin=record["origin"],
            contract=record["contract"],
            settings=json.dumps(call["settings"], indent=2, sort_keys=True, ensure_ascii=False),
            inputs=_with_tables(record["inputs"]),
            outputs=_with_tables(record["outputs"]),
            packages=dict(sorted(record["packages"].items())),
            python=record["python"],
        )


def _with_tables(groups: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    return {
        name: [{"tables": None, **entry} for entry in entries]
        for name, entries in sorted(groups.items())
    }


def read_entries(artefacts: Sequence[Path]) -> list[Entry]:
    """Records of artefacts, one entry a run of a step, sorted by their first path.

    Raises
    ------
    DataError
        When an artefact has no record, or its record lacks a field.
    """
    entries: dict[tuple[str, ...], Entry] = {}
    for artefact in artefacts:
        record = read_record(artefact)
        if record is None:
            raise DataError(
                "an artefact has no provenance record",
                where=artefact,
                remedy=f"make it again with its record: snakemake --cores 1 --force {artefact}",
            )
        try:
            entry = Entry.of(record)
        except (KeyError, TypeError) as error:
            raise DataError(
                f"the provenance record lacks {error}",
                where=artefact,
                remedy=f"make it again: snakemake --cores 1 --force {artefact}",
            ) from error
        entries[entry.paths] = entry
    return [entries[paths] for paths in sorted(entries)]


def render_provenance(
    artefacts: Sequence[Path], *, page: Path, run: str, studies: Sequence[str]
) -> None:
    """Write the page. Paths are relative to the project, as records name them."""
    entries = read_entries(artefacts)
    write_page(
        page,
        "provenance.html",
        title=f"Provenance – run {run}",
        navigation=navigation(*studies),
        here="provenance",
        run=run,
        entries=entries,
        known={path for entry in entries for path in entry.paths},
    )

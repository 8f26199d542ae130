"""References, measurements and errata of every study, joined into one ledger."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from remeasure.errors import DataError
from remeasure.ledger.measurements import Measured, describe, key_of, read_measurements
from remeasure.ledger.reference import Erratum, Key, Reference, read_errata, read_references
from remeasure.ledger.settings import LedgerSettings
from remeasure.ledger.table import TYPES, csv_text, validated
from remeasure.ledger.verdict import VERDICTS, format_number, verdict, wider_than_published
from remeasure.studies.base import Output, Study

WITHOUT_ROWS = ("drawing", "cited", "table")
REFERENCE_CSV, ERRATA_CSV = "reference.csv", "errata.csv"


@dataclass(frozen=True)
class StudyRows:
    """Everything the ledger knows of one study.

    Attributes
    ----------
    study
        What the study declares about its outputs.
    references
        Its published rows, in the order of ``reference.csv``.
    measured
        By key; every key is that of a reference row.
    errata
        By key.
    """

    study: Study
    references: Sequence[Reference]
    measured: Mapping[Key, Measured] = field(default_factory=dict)
    errata: Mapping[Key, Erratum] = field(default_factory=dict)


def declared(study: str) -> Study:
    """What a study says of itself: ``STUDY`` in its ``outputs.py``.

    Raises
    ------
    DataError
        When it declares nothing, or another study.
    """
    module = f"remeasure.studies.{study}.outputs"
    try:
        found = importlib.import_module(module).STUDY
    except (ModuleNotFoundError, AttributeError) as error:
        raise DataError(
            f"study {study!r} declares no outputs ({error})",
            where=module,
            remedy="write outputs.py with STUDY = Study(...) into the study's folder",
        ) from error
    if not isinstance(found, Study) or found.id != study:
        raise DataError(
            f"STUDY is not the declaration of {study!r}",
            where=module,
            remedy=f"set STUDY = Study(id={study!r}, ...)",
        )
    return found


def _raise_all(what: str, problems: Sequence[str], where: object, remedy: str) -> None:
    if problems:
        raise DataError(
            what + ":\n" + "\n".join(f"    {each}" for each in problems),
            where=where,
            remedy=remedy,
        )


def check_declaration(study: Study, references: Sequence[Reference]) -> None:
    """Every row belongs to a declared output, and every output has rows.

    Drawings may have none, as they show no numbers, and so may tables and
    ``cited`` outputs, which may gather the rows of others. Optional outputs must have none.

    Raises
    ------
    DataError
        Listing every output that one side lacks.
    """
    known = {output.id for output in study.outputs}
    printed = {row.output_id for row in references}
    problems = [f"{each}: in reference.csv, not in outputs.py" for each in sorted(printed - known)]
    problems += [
        f"{output.id}: in outputs.py, without a row in reference.csv"
        for output in study.outputs
        if output.id not in printed and output.kind not in WITHOUT_ROWS and not output.optional
    ]
    problems += [
        f"{output.id}: optional in outputs.py, with a row in reference.csv"
        for output in study.outputs
        if output.optional and output.id in printed
    ]
    counts = Counter(output.id for output in study.outputs)
    problems += [f"{each}: declared twice" for each, count in counts.items() if count > 1]
    _raise_all(
        f"outputs and reference rows of study {study.id!r} do not match",
        problems,
        f"studies/{study.id}",
        "declare each output id of reference.csv once in outputs.py, letter for letter",
    )


def _study_of(path: Path, name: str) -> str:
    if path.name != name:
        raise DataError(f"this is not a {name}", where=path, remedy=f"name .../studies/<id>/{name}")
    return path.parent.name


def _study_of_measurements(path: Path) -> str:
    if path.parent.name != "measurements":
        raise DataError(
            "measurements lie in an unexpected place",
            where=path,
            remedy="write them to results/<run>/<study>/measurements/<module>.parquet",
        )
    return path.parent.parent.name


def collect(
    studies: Mapping[str, Sequence[Reference]], measured: Iterable[tuple[str, Measured]]
) -> dict[str, dict[Key, Measured]]:
    """Sort measurements (study, measurement) to the rows they answer, in any order.

    Raises
    ------
    DataError
        Listing every measurement of an unknown row and every row measured twice.
    """
    keys = {study: {row.key for row in rows} for study, rows in studies.items()}
    found: dict[str, dict[Key, Measured]] = {study: {} for study in studies}
    problems = []
    for study, each in measured:
        key = key_of(each.measurement)
        name = f"{study}, {describe(key)}"
        if key not in keys.get(study, ()):
            problems.append(f"{name}: no such row in reference.csv; measured by {each.step}")
        elif key in found[study]:
            steps = sorted((found[study][key].step, each.step))
            problems.append(f"{name}: measured twice, by {steps[0]} and {steps[1]}")
        else:
            found[study][key] = each
    _raise_all(
        "measurements do not fit the reference rows",
        sorted(problems),
        "the measuring steps named above",
        "use the key of the reference row, letter for letter, in one step only",
    )
    return found


def not_run_reason(output: Output, *, others_measured: bool) -> str:
    """Why a row of ``output`` has no value, from what the study declares.

    Parameters
    ----------
    output
        The declared output.
    others_measured
        Whether this run measured other rows of it: then what it needs was there.
    """
    if output.pending:
        return output.pending
    if others_measured:
        return "no step of this run measures this row, though it measures others of this output"
    if output.needs:
        return f"needs {', '.join(output.needs)}; no step of this run measured it"
    return "no step of this run measured it"


def _sourced(row: Reference, study: Study) -> Reference:
    """A cited row with the best source known: its own, its output's, the publication."""
    if row.kind != "cited" or row.source:
        return row
    own = study.output(row.output_id).source
    return replace(row, source=own or f"stated in {study.publication} without a source")


def ledger_rows(study: StudyRows) -> list[dict[str, Any]]:
    """One row of the ledger for each reference row, in the order of ``reference.csv``."""
    answered = {
        key[0] for key, each in study.measured.items() if each.measurement.value is not None
    }
    rows = []
    for reference in study.references:
        row = _sourced(reference, study.study)
        otherwise = not_run_reason(
            study.study.output(row.output_id), others_measured=row.output_id in answered
        )
        rows.append(
            ledger_row(
                study.study.id,
                row,
                study.measured.get(row.key),
                study.errata.get(row.key),
                otherwise,
            )
        )
    return rows


def ledger_row(
    study: str,
    reference: Reference,
    measured: Measured | None,
    erratum: Erratum | None,
    otherwise: str,
) -> dict[str, Any]:
    """One row of the ledger, with the columns of ``table.SCHEMA``."""
    name, reason = verdict(reference, measured, erratum, otherwise)
    measurement = None if measured is None else measured.measurement
    value = None if measurement is None else measurement.value
    text = value if isinstance(value, str) else None
    number = None if value is None or isinstance(value, str) else float(value)
    return {
        "study": study,
        "output_id": reference.output_id,
        "quantity": reference.quantity,
        "condition": reference.condition,
        "kind": reference.kind,
        "published": reference.published,
        "unit": reference.unit,
        "value": text if number is None else format_number(number),
        "low": measurement and measurement.low,
        "high": measurement and measurement.high,
        "n": measurement and measurement.n,
        # Without a value there is nothing that could rest on an origin.
        "origin": None if measured is None or value is None else measured.origin,
        "verdict": name,
        "reason": reason,
        "step": (measured and measured.step) or None,
        "artifact": (measured and measured.artifact) or None,
        "value_number": number,
        "value_text": text,
        "truth": measurement and measurement.truth,
        "coverage": measurement and measurement.coverage,
        "note": measurement.note if measurement is not None else "",
        "digits": reference.digits,
        "source": reference.source,
        "correct": erratum and erratum.correct,
        "proof": erratum and erratum.proof,
        "otherwise": otherwise,
        "wider_than_published": name == "consistent"
        and measurement is not None
        and wider_than_published(reference, measurement),
    }


def ledger_frame(studies: Iterable[StudyRows]) -> pl.DataFrame:
    """The ledger of several studies: studies sorted by id, no reference row missing.

    Raises
    ------
    DataError
        When a study appears twice or declares other outputs than its rows have.
    """
    rows: list[dict[str, Any]] = []
    expected = 0
    for study in sorted(studies, key=lambda each: each.study.id):
        check_declaration(study.study, study.references)
        rows += ledger_rows(study)
        expected += len(study.references)
    frame = validated(pl.DataFrame(rows, schema=TYPES, orient="row"), "the ledger just built")
    if frame.height != expected:
        raise DataError(
            f"the ledger has {frame.height} rows, the references {expected}",
            where="the ledger just built",
            remedy="this is a bug of the ledger: please report it",
        )
    return frame


def headline_of(frame: pl.DataFrame) -> dict[str, Any]:
    """How many rows got each verdict: in all, and by study.

    Also how many ``consistent`` rows have an interval wider than the published
    value itself. Every verdict is listed, zeros included.
    """

    def counts(part: pl.DataFrame) -> dict[str, Any]:
        found = Counter(part["verdict"])
        return {
            "rows": part.height,
            "verdicts": {name: found[name] for name in VERDICTS},
            "consistent_wider_than_published": int(part["wider_than_published"].sum()),
        }

    studies = frame["study"].unique().sort()
    return {
        **counts(frame),
        "studies": {study: counts(frame.filter(pl.col("study") == study)) for study in studies},
    }


def _by_study(paths: Sequence[Path], name: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in paths:
        study = _study_of(path, name)
        if study in found:
            raise DataError(
                f"study {study!r} has two files {name}",
                where=f"{found[study]} and {path}",
                remedy="give each study once",
            )
        found[study] = path
    return found


def build_ledger(
    *,
    measurements: list[Path],
    references: list[Path],
    errata: list[Path],
    ledger: Path,
    table: Path,
    headline: Path,
    settings: LedgerSettings,
) -> None:
    """Join what was published with what was measured, and give every row its verdict.

    Parameters
    ----------
    measurements
        ``results/<run>/<study>/measurements/<module>.parquet``, any number, any order.
    references, errata
        ``.../studies/<id>/reference.csv`` of each study, ``errata.csv`` of those that have one.
    ledger, table, headline
        Where to write the ledger (Parquet, columns of ``table.SCHEMA``), its
        CSV (``table.COLUMNS``) and the counts of each verdict (JSON).
    settings
        Which studies these must be.

    Raises
    ------
    DataError
        Files of other studies than the settings name; reference or errata
        rows, measurements or declarations that do not fit together.
    """
    paths, wrong = _by_study(references, REFERENCE_CSV), _by_study(errata, ERRATA_CSV)
    strangers = (set(paths) ^ set(settings.studies)) | (set(wrong) - set(paths))
    if strangers:
        raise DataError(
            f"studies and their files do not match: {', '.join(sorted(strangers))}",
            where=f"the rule's references and errata; settings name {', '.join(settings.studies)}",
            remedy="give one reference.csv, and at most one errata.csv, for each study",
        )
    rows = {study: read_references(path) for study, path in paths.items()}
    files = [(_study_of_measurements(path), path) for path in measurements]
    measured = collect(
        rows, ((study, each) for study, path in files for each in read_measurements(path))
    )
    frame = ledger_frame(
        StudyRows(
            study=declared(study),
            references=rows[study],
            measured=measured[study],
            errata=read_errata(wrong[study], rows[study]) if study in wrong else {},
        )
        for study in rows
    )
    frame.write_parquet(ledger)
    table.write_text(csv_text(frame), "utf-8", newline="")
    headline.write_text(json.dumps(headline_of(frame), indent=1) + "\n", "utf-8")

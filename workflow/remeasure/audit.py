"""The audit: from any file back to the bytes that were downloaded, everything re-hashed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remeasure.errors import DataError, ExpectedError
from remeasure.fetch.manifest import Manifest
from remeasure.records import STAGES, read_record, sha256, stage_and_run


@dataclass(frozen=True)
class Problem:
    """One thing wrong with one file."""

    path: str
    what: str


@dataclass
class Findings:
    """What an audit found.

    Attributes
    ----------
    files, raw_files, raw_bytes
        How many files were re-hashed below data/features, results and reports,
        and how many raw files of how many bytes.
    problems
        Everything wrong, in the order of the walk.
    standing
        For each file with a problem, every file made from it, directly or not.
    records
        Record of each audited file, by path.
    """

    files: int = 0
    raw_files: int = 0
    raw_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)
    standing: dict[str, list[str]] = field(default_factory=dict)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def run_files(run: str) -> Iterator[Path]:
    """Every file that a run has made, sorted within its stage."""
    for stage in STAGES:
        folder = Path(*stage, run)
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.name.startswith((".tmp-", ".snakemake")):
                yield path


def recorded_files(run: str) -> Iterator[Path]:
    """Every output that a run's records speak of, whether it still exists or not."""
    root = Path("provenance", run)
    for stage in STAGES:
        base = root.joinpath(*stage)
        for path in sorted(base.rglob("*.json")):
            rest = path.relative_to(base)
            yield Path(*stage, run, rest.parent, rest.name.removesuffix(".json"))


class Auditor:
    """Audits the files of one run.

    Parameters
    ----------
    run
        Name of the run.
    calls
        Today's calls by step (``Plan.calls``), against which the recorded ones are held.
    """

    def __init__(self, run: str, calls: Mapping[str, set[str]]) -> None:
        self.run = run
        self.calls = calls
        self.findings = Findings()
        self._hashes: dict[Path, str | None] = {}
        self._raw_seen: set[Path] = set()

    def _hash(self, path: Path) -> str | None:
        if path not in self._hashes:
            self._hashes[path] = sha256(path) if path.is_file() else None
        return self._hashes[path]

    def _problem(self, path: Path | str, what: str) -> None:
        problem = Problem(str(path), what)
        if problem not in self.findings.problems:
            self.findings.problems.append(problem)

    def all(self) -> Findings:
        """Audit every file of the run and every file its records name."""
        paths = dict.fromkeys([*run_files(self.run), *recorded_files(self.run)])
        if not paths:
            raise DataError(
                f"run {self.run!r} has made nothing here",
                where=Path.cwd(),
                remedy="run it first (make reproduce), or name another run with --run",
            )
        for path in paths:
            self._walk(path)
        return self._finish()

    def one(self, path: Path) -> Findings:
        """Audit one file and everything it stands on."""
        if stage_and_run(path) is None:
            raise DataError(
                "only files below data/features/, results/ and reports/ of a run have a chain",
                where=path,
                remedy="name one of those, for example reports/default/ledger.csv",
            )
        self._walk(path)
        return self._finish()

    def _walk(self, first: Path) -> None:
        todo = [first]
        while todo:
            path = todo.pop()
            if path.as_posix() in self.findings.records:
                continue
            record = self._check(path)
            self.findings.records[path.as_posix()] = record or {}
            for files in (record or {}).get("inputs", {}).values():
                todo.extend(
                    Path(entry["path"]) for entry in files if stage_and_run(Path(entry["path"]))
                )

    def _check(self, path: Path) -> dict[str, Any] | None:
        self.findings.files += 1
        actual = self._hash(path)
        try:
            record = read_record(path)
        except ExpectedError as error:
            self._problem(path, str(error).splitlines()[0])
            return None
        if actual is None:
            self._problem(path, "does not exist, though its record does" if record else "missing")
        if record is None:
            self._problem(path, "has no provenance record: a missing link")
            return None
        try:
            self._against_record(path, actual, record)
        except (KeyError, TypeError, AttributeError) as error:
            self._problem(path, f"its provenance record is malformed ({error!r})")
            return None
        return record

    def _against_record(self, path: Path, actual: str | None, record: Mapping[str, Any]) -> None:
        outputs = {e["path"]: e["sha256"] for files in record["outputs"].values() for e in files}
        if path.as_posix() not in outputs:
            self._problem(path, "its provenance record speaks of other files")
        elif actual is not None and outputs[path.as_posix()] != actual:
            self._problem(path, "was edited after it was made: its sha256 is not the recorded one")
        for entry in (entry for files in record["inputs"].values() for entry in files):
            source = Path(entry["path"])
            now = self._hash(source)
            if now is None:
                self._problem(source, "is missing, though other files were made from it")
            elif now != entry["sha256"]:
                if stage_and_run(source) is None or self._recorded_hash(source) == entry["sha256"]:
                    self._problem(source, "was edited after other files were made from it")
                else:
                    self._problem(path, f"was made from another version of {source}")
        self._against_today(path, record)
        if path.name.endswith(".manifest.json") and actual is not None:
            self._raw(path)

    def _recorded_hash(self, path: Path) -> str | None:
        try:
            record = read_record(path)
        except ExpectedError:
            return None
        outputs = (record or {}).get("outputs", {}).values()
        return next(
            (e["sha256"] for files in outputs for e in files if e["path"] == path.as_posix()), None
        )

    def _against_today(self, path: Path, record: Mapping[str, Any]) -> None:
        planned = self.calls.get(record["step"])
        if not planned:
            self._problem(path, f"was made by step {record['step']}, which is planned no more")
            return
        made = record["call"]
        if json.dumps(made, sort_keys=True, separators=(",", ":")) in planned:
            return
        today = [json.loads(call) for call in sorted(planned)]
        differs = sorted(
            key
            for key in ("code", "settings", "seed", "contract", "run")
            if all(made.get(key) != call[key] for call in today)
        )
        self._problem(
            path, f"was made by other {' and '.join(differs or ['settings'])} than today's"
        )

    def _raw(self, path: Path) -> None:
        try:
            manifest = Manifest.read(path)
        except ExpectedError as error:
            self._problem(path, str(error).splitlines()[0])
            return
        for entry in manifest.files:
            file = manifest.file(entry)
            if file in self._raw_seen:
                continue
            self._raw_seen.add(file)
            self.findings.raw_files += 1
            self.findings.raw_bytes += entry.size
            now = self._hash(file)
            if now is None:
                self._problem(file, "is missing, though the manifest lists it")
            elif now != entry.sha256:
                self._problem(file, "was edited: its sha256 is not the manifest's")

    def _finish(self) -> Findings:
        """Work out, for each file with a problem, what stands on it."""
        made_from: dict[str, set[str]] = defaultdict(set)
        for output in recorded_files(self.run):
            try:
                record = read_record(output) or {}
            except ExpectedError:
                continue
            for files in record.get("inputs", {}).values():
                for entry in files:
                    made_from[entry["path"]].add(output.as_posix())
            if output.name.endswith(".manifest.json") and output.is_file():
                try:
                    manifest = Manifest.read(output)
                except ExpectedError:
                    continue
                for raw in manifest.files:
                    made_from[str(manifest.file(raw))].add(output.as_posix())
        for problem in self.findings.problems:
            todo, seen = [problem.path], set[str]()
            while todo:
                for child in made_from.get(todo.pop(), ()):
                    if child not in seen:
                        seen.add(child)
                        todo.append(child)
            self.findings.standing[problem.path] = sorted(seen)
        return self.findings

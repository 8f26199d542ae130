"""The audit: from any file back to the bytes that were downloaded, everything re-hashed."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remeasure.errors import ExpectedError
from remeasure.fetch.manifest import Manifest
from remeasure.fingerprint import fingerprint
from remeasure.ledger.measurement import weakest
from remeasure.records import STAGES, read_record, record_path, sha256, stage_and_run
from remeasure.step import WRITER, derived_seed


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
            if path.name.startswith((".tmp-", ".snakemake")):
                continue
            if path.is_symlink() or path.is_file():
                yield path


def recorded_files(run: str) -> Iterator[Path]:
    """Every output that a run's records speak of, whether it still exists or not."""
    root = Path("provenance", run)
    for stage in STAGES:
        base = root.joinpath(*stage)
        for path in sorted(base.rglob("*.json")):
            if path.name.startswith(".tmp-"):
                continue
            rest = path.relative_to(base)
            yield Path(*stage, run, rest.parent, rest.name.removesuffix(".json"))


def prune(run: str, planned: Mapping[str, Any]) -> list[Path]:
    """Remove recorded files that a run no longer plans, with their records; which they were."""
    gone = [path for path in recorded_files(run) if path.as_posix() not in planned]
    for path in gone:
        path.unlink(missing_ok=True)
        record_path(path).unlink(missing_ok=True)
    return gone


class Auditor:
    """Audits the files of one run.

    Parameters
    ----------
    run
        Name of the run.
    calls
        Today's calls by step (``Plan.calls``), against which the recorded ones are held.
    planned
        What the run planned (``Plan.remember``): by output, its step and named files.
    whole
        Whether that was everything, or only single targets.
    """

    def __init__(
        self,
        run: str,
        calls: Mapping[str, set[str]],
        planned: Mapping[str, Mapping[str, Any]],
        *,
        whole: bool,
    ) -> None:
        self.run = run
        self.calls = calls
        self.planned = planned
        self.whole = whole
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
        planned = [Path(path) for path in self.planned]
        for path in dict.fromkeys([*run_files(self.run), *recorded_files(self.run), *planned]):
            self._walk(path)
            left_over = self.whole and path.as_posix() not in self.planned
            if left_over and self.findings.records[path.as_posix()]:
                self._problem(
                    path,
                    "is no longer planned by this run's configuration:"
                    f" remeasure prune --run {self.run} removes such files",
                )
        return self._finish()

    def one(self, path: Path) -> Findings:
        """Audit one file and everything it stands on."""
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
            self._problem(path, f"the note of the plan is malformed ({error!r})")
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
        self._against_plan(path, record)
        self._origin(path, record)
        self._against_today(path, record)
        if path.name.endswith(".manifest.json") and actual is not None:
            self._raw(path)

    def _against_plan(self, path: Path, record: Mapping[str, Any]) -> None:
        """A record must name the files that the rule names, under the same names."""
        planned = self.planned.get(path.as_posix())
        if planned is None:
            return
        for side in ("inputs", "outputs"):
            recorded = {
                name: [entry["path"] for entry in files] for name, files in record[side].items()
            }
            if recorded != {name: list(files) for name, files in planned[side].items()}:
                self._problem(path, f"its record names other {side} than its rule")

    def _origin(self, path: Path, record: Mapping[str, Any]) -> None:
        """Origin and seed are recomputed, never believed."""
        origins = []
        for entry in (entry for files in record["inputs"].values() for entry in files):
            source = Path(entry["path"])
            if stage_and_run(source) is not None:
                try:
                    origins.append((read_record(source) or {"origin": "generated"})["origin"])
                except ExpectedError:
                    return
        for entry in (entry for files in record["outputs"].values() for entry in files):
            if entry["path"].endswith(".manifest.json") and Path(entry["path"]).is_file():
                try:
                    origins.append(Manifest.read(Path(entry["path"])).origin)
                except ExpectedError:
                    return
        if record["origin"] != weakest(origins):
            self._problem(
                path, f"its record says origin {record['origin']}, its inputs {weakest(origins)}"
            )
        call = record["call"]
        if record["seed"] != derived_seed(call["seed"], call["step"], record["wildcards"]):
            self._problem(path, "its record's seed does not follow from the configured one")
        if "measurements" in record["outputs"] and record.get("writer") != fingerprint(WRITER):
            self._problem(path, "was made by other code than today's (the writing of measurements)")

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

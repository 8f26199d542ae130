"""The contract of a step: one dispatcher that runs any step of any study.

A step is a plain function. Its parameters are its inputs and outputs (paths,
by the names that the rule gives), ``settings`` (a pydantic model), and, where
it wants them, ``rng`` (a seeded NumPy generator), ``origin`` (the weakest origin
of its inputs) and those of the rule's wildcards that it names (strings). It writes its outputs
where it is told and may return measurements. It runs without Snakemake, too.

A rule calls it through the shell::

    python -m remeasure.step --call '{"step": "studies.crypto.tails:measure_tails", ...}' \\
        -i hours data/features/default/crypto/hours.duckdb \\
        -o table results/default/crypto/tails.parquet --log logs/default/...

This module stands outside the code fingerprints; a change that alters what
steps produce must raise ``CONTRACT``.
"""

from __future__ import annotations

import sys

from remeasure.environment import settle

if __name__ == "__main__":
    settle()

import argparse
import errno
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import logging
import os
import platform
import random
import resource
import secrets
import time
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from remeasure.errors import ConfigError, DataError, ExpectedError
from remeasure.fingerprint import fingerprint
from remeasure.ledger.measurement import Measurement, weakest
from remeasure.records import read_record, sha256, stage_and_run, write_record

#: Version of the contract, part of every call: raising it reruns every step.
CONTRACT = 1

log = logging.getLogger("remeasure")

#: Distributions whose versions a record names where the step has loaded them.
RECORDED = {
    "chess": "chess",
    "dataframely": "dataframely",
    "duckdb": "duckdb",
    "lightgbm": "lightgbm",
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "pydantic": "pydantic",
    "requests": "requests",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "torch": "torch",
}

#: Packages that no step uses, but that a library imports where it finds them, at a third of what
#: a short step costs: SQLAlchemy, which Snakemake brings, by dataframely. Steps do without them.
UNUSED = ("sqlalchemy",)

#: Writes the measurements of every step, from here: part of the wiring of each such rule.
WRITER = "remeasure.ledger.measurements"

Paths = dict[str, list[Path]]


@dataclass(frozen=True)
class Call:
    """Which step, with which settings, seed and code: the one parameter of a rule.

    ``step`` is ``module:function`` below the package, ``code`` the fingerprint of
    that module, ``settings`` the JSON form of the step's settings model.
    """

    step: str
    run: str
    seed: int
    code: str
    settings: Mapping[str, Any]
    contract: int = CONTRACT

    def canonical(self) -> str:
        """One line of JSON with sorted keys: equal calls give equal strings."""
        return json.dumps(
            self.__dict__, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
        )

    @classmethod
    def parse(cls, text: str) -> Call:
        """Read the canonical form; ConfigError when it is not a call."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"this is not a call of a step ({error})",
                where=text[:200],
                remedy="run steps through Snakemake, or build the call with remeasure.plan",
            ) from error

    def load(self) -> Callable[..., list[Measurement] | None]:
        """Import the step's function."""
        module, _, function = self.step.partition(":")
        try:
            step = getattr(importlib.import_module(f"remeasure.{module}"), function)
        except (ModuleNotFoundError, AttributeError) as error:
            raise ConfigError(
                f"there is no step {self.step!r} ({error})",
                where="the rule's call",
                remedy="name it as module:function below the package remeasure",
            ) from error
        return typing.cast("Callable[..., list[Measurement] | None]", step)


def derived_seed(seed: int, step: str, wildcards: Mapping[str, str]) -> int:
    """Seed of one job, 63 bits: a hash of the configured seed, the step and its wildcards."""
    text = json.dumps([seed, step, sorted(wildcards.items())])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % 2**32)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


def _temporary(output: Path) -> Path:
    return output.with_name(f".tmp-{os.getpid()}-{secrets.token_hex(4)}-{output.name}")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


def _sweep(output: Path) -> None:
    """Remove what a killed predecessor left beside ``output`` (write-ahead logs included)."""
    for stale in output.parent.glob(f".tmp-*-*-{output.name}*"):
        pid = stale.name.split("-")[1]
        if not (pid.isdigit() and _alive(int(pid))):
            stale.unlink(missing_ok=True)


def _require(inputs: Paths) -> None:
    for path in (path for files in inputs.values() for path in files):
        if not path.is_file():
            raise DataError(
                "an input does not exist",
                where=path,
                remedy="run the rule through Snakemake, which makes its inputs first",
            )


def _describe(paths: Paths) -> dict[str, list[Any]]:
    described: dict[str, list[Any]] = {}
    for name, files in sorted(paths.items()):
        described[name] = []
        for path in files:
            entry: dict[str, Any] = {
                "path": path.as_posix(),
                "sha256": sha256(path),
                "size": path.stat().st_size,
            }
            if path.suffix == ".duckdb":
                from remeasure.store.tables import content_hashes

                entry["tables"] = content_hashes(path)
            described[name].append(entry)
    return described


def _origin_of_inputs(inputs: Paths, described: Mapping[str, list[Any]]) -> list[str]:
    origins = []
    hashes = {entry["path"]: entry["sha256"] for files in described.values() for entry in files}
    for path in (path for files in inputs.values() for path in files):
        if stage_and_run(path) is None:
            continue
        record = read_record(path)
        if record is None:
            raise DataError(
                "an input has no provenance record, so its origin is unknown",
                where=path,
                remedy=f"make it again with its record: snakemake --cores 1 --force {path}",
            )
        recorded = (
            entry["sha256"]
            for files in record["outputs"].values()
            for entry in files
            if entry["path"] == path.as_posix()
        )
        if next(recorded, None) != hashes[path.as_posix()]:
            raise DataError(
                "an input was edited after it was made: its sha256 is not the recorded one",
                where=path,
                remedy=f"make it again: snakemake --cores 1 --force {path}",
            )
        origins.append(record["origin"])
    return origins


def _origin_of_manifests(outputs: Paths) -> list[str]:
    return [
        json.loads(path.read_text("utf-8"))["origin"]
        for files in outputs.values()
        for path in files
        if path.name.endswith(".manifest.json")
    ]


def _kinds(hint: Any) -> set[Any]:
    """Origins of a type hint, and of the members of a union: ``list`` for ``list[Path] | None``."""
    return {typing.get_origin(each) for each in (hint, *typing.get_args(hint))}


def _arguments(
    step: Callable[..., Any],
    call: Call,
    inputs: Paths,
    outputs: Paths,
    wildcards: Mapping[str, str],
    seed: int,
    origin: str,
) -> dict[str, Any]:
    """Match names with the step's parameters; every mismatch is an error."""
    hints = typing.get_type_hints(step)
    parameters = inspect.signature(step).parameters
    arguments: dict[str, Any] = {}
    offered: dict[str, list[Path]] = {**inputs, **outputs}
    for name, files in offered.items():
        if name == "measurements" and name not in parameters:
            continue
        if list in _kinds(hints.get(name)):
            arguments[name] = files
        elif len(files) == 1:
            arguments[name] = files[0]
        else:
            raise ConfigError(
                f"step {call.step} takes one path as {name!r}, the rule gives {len(files)}",
                where=call.step,
                remedy="annotate the parameter as list[Path], or give one path",
            )
    arguments.update({name: text for name, text in wildcards.items() if name in parameters})
    if "settings" in parameters:
        model = hints["settings"]
        if not issubclass(model, BaseModel):
            raise ConfigError("settings must be a pydantic model", where=call.step, remedy="")
        try:
            arguments["settings"] = model.model_validate_json(json.dumps(dict(call.settings)))
        except ValidationError as error:
            raise ConfigError(
                f"the settings of step {call.step} do not fit: {error}",
                where="the rule's call",
                remedy="correct the setting in config/",
            ) from error
    if "rng" in parameters:
        import numpy as np

        arguments["rng"] = np.random.default_rng(seed)
    if "origin" in parameters:
        arguments["origin"] = origin
    unknown = sorted(set(arguments) - set(parameters))
    absent = sorted(
        name
        for name, parameter in parameters.items()
        if name not in arguments and parameter.default is inspect.Parameter.empty
    )
    if unknown or absent:
        raise ConfigError(
            f"rule and step {call.step} disagree:"
            f" not parameters of the step: {unknown or 'none'}; not given: {absent or 'none'}",
            where=call.step,
            remedy="use the same names in the rule and in the function",
        )
    return arguments


def _misread(error: Exception, inputs: Paths) -> DataError | None:
    """A table that is not what the step expects is no bug of this program: say which."""
    tables = [path for files in inputs.values() for path in files if path.suffix == ".parquet"]
    if "polars" not in sys.modules or not tables:
        return None
    from remeasure.store.frames import misread

    return misread(error, tables)


def run_step(
    call: Call, inputs: Paths, outputs: Paths, wildcards: Mapping[str, str] | None = None
) -> None:
    """Run one step: the whole contract but logging and exit codes.

    Outputs appear under their own names only when all of them are complete; each
    gets a provenance record.

    Raises
    ------
    ExpectedError
        For everything a user can mend.
    """
    started = time.perf_counter()
    wildcards = dict(wildcards or {})
    if call.contract != CONTRACT:
        raise ConfigError(
            f"the call speaks contract {call.contract}, this code contract {CONTRACT}",
            where=call.step,
            remedy="run the workflow of this version",
        )
    finals = [path for files in outputs.values() for path in files]
    for path in finals:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
    _require(inputs)
    described_inputs = _describe(inputs)
    input_origins = _origin_of_inputs(inputs, described_inputs)
    step = call.load()
    seed = derived_seed(call.seed, call.step, wildcards)
    temporary = {name: [_temporary(path) for path in files] for name, files in outputs.items()}
    try:
        arguments = _arguments(
            step, call, inputs, temporary, wildcards, seed, weakest(input_origins)
        )
        _seed_everything(seed)
        try:
            measured = step(**arguments)
        except Exception as error:
            misread = _misread(error, inputs)
            if misread is None:
                raise
            raise misread from error
        origin = weakest(input_origins + _origin_of_manifests(temporary))
        if "measurements" in outputs:
            from remeasure.ledger.measurements import write_measurements

            artifact = next(
                (
                    path
                    for name, files in outputs.items()
                    for path in files
                    if name != "measurements"
                ),
                outputs["measurements"][0],
            )
            write_measurements(
                temporary["measurements"][0],
                measured or [],
                step=call.step,
                artifact=artifact.as_posix(),
                origin=origin,
            )
        elif measured:
            raise ConfigError(
                f"step {call.step} measured {len(measured)} rows, but its rule has no such output",
                where=call.step,
                remedy="add an output named measurements to the rule",
            )
        for path in (path for files in temporary.values() for path in files):
            if not path.is_file():
                raise DataError(
                    "the step ended without writing one of its outputs",
                    where=path.name.split("-", 3)[-1],
                    remedy="this is a bug of the step: please report it with the log",
                )
        for name, files in temporary.items():
            for source, target in zip(files, outputs[name], strict=True):
                source.replace(target)
    finally:
        for path in (path for files in temporary.values() for path in files):
            for left in (path, path.with_name(path.name + ".wal")):
                left.unlink(missing_ok=True)
    record = {
        "contract": CONTRACT,
        "run": call.run,
        "step": call.step,
        "call": json.loads(call.canonical()),
        "wildcards": dict(sorted(wildcards.items())),
        "seed": seed,
        "origin": origin,
        "inputs": described_inputs,
        "outputs": _describe(outputs),
        "packages": {
            name: importlib.metadata.version(name)
            for module, name in sorted(RECORDED.items())
            if module in sys.modules
        },
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "device": "cpu",
        "wall_seconds": round(time.perf_counter() - started, 3),
        "peak_memory_mib": round(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            / (1024 if sys.platform != "darwin" else 1024**2),
            1,
        ),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    if "measurements" in outputs:
        record["writer"] = fingerprint(WRITER)
    for path in finals:
        write_record(path, record)


def _named_paths(groups: list[list[str]], what: str) -> Paths:
    named: Paths = {}
    for name, *paths in groups:
        if name in named or (what == "output" and not paths):
            raise ConfigError(
                f"{what} {name!r} is {'given twice' if name in named else 'empty'}",
                where="command line of remeasure.step",
                remedy=f"give each {what} once, as: name path [path …]",
            )
        named[name] = [Path(path) for path in paths]
    return named


def _logging_to(file: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(file, "w", "utf-8"))
    for handler in handlers:
        handler.setFormatter(logging.Formatter("%(message)s"))
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(logging.WARNING)
    log.setLevel(logging.INFO)


def _full(error: BaseException) -> bool:
    """Whether a full disk is behind an error; DuckDB and Polars say so only in words."""
    words = str(error).lower()
    return (
        getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        or "no space left" in words
        or "os error 28" in words
    )


def main(argv: list[str] | None = None) -> int:
    """Entry point of ``python -m remeasure.step``: 0 done, 2 expected failure, 1 bug."""
    parser = argparse.ArgumentParser(prog="python -m remeasure.step", description="Run one step.")
    parser.add_argument("--call", required=True, help="canonical JSON of the call")
    parser.add_argument("-i", dest="inputs", nargs="+", action="append", default=[])
    parser.add_argument("-o", dest="outputs", nargs="+", action="append", default=[])
    parser.add_argument("-w", dest="wildcards", nargs=2, action="append", default=[])
    parser.add_argument("--log", type=Path)
    options = parser.parse_args(argv)
    for name in UNUSED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    _logging_to(options.log)
    step = "?"
    try:
        call = Call.parse(options.call)
        step = call.step
        run_step(
            call,
            _named_paths(options.inputs, "input"),
            _named_paths(options.outputs, "output"),
            dict(options.wildcards),
        )
    except ExpectedError as error:
        log.error("step %s stopped: %s", step, error)
        return 2
    except MemoryError:
        log.error("step %s stopped: out of memory\n  remedy: fewer jobs (--cores 1)", step)
        return 2
    except Exception as error:
        if _full(error):
            log.error("step %s stopped: no space left\n  remedy: free some, then start again", step)
            return 2
        if isinstance(error, PermissionError):
            log.error("step %s stopped: %s\n  remedy: allow this user to write there", step, error)
            return 2
        log.exception("step %s failed in a way nobody expected: this is a bug", step)
        return 1
    log.info("step %s done", step)
    return 0


if __name__ == "__main__":
    sys.exit(main())

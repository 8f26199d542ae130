"""The contract of a step: temporary outputs, records, seeds, messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import remeasure
from remeasure.environment import ENVIRONMENT, settle
from remeasure.errors import ConfigError, DataError
from remeasure.records import read_record, record_path, sha256
from remeasure.step import Call, derived_seed, main, run_step

STEPS = """
from pathlib import Path
import numpy as np
from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.model import Model

class S(Model):
    factor: int

def double(*, source: Path, table: Path, settings: S) -> None:
    table.write_text(str(int(source.read_text()) * settings.factor))

def dice(*, table: Path, rng: np.random.Generator, face: str) -> None:
    table.write_text(repr(rng.integers(1 << 62)) + face)

def half(*, first: Path, second: Path) -> None:
    first.write_text("done")
    raise DataError("the tin is empty", where="tin.csv, field beans", remedy="buy beans")

def forgets(*, first: Path, second: Path) -> None:
    first.write_text("done")

def slow(*, table: Path) -> None:
    import time
    table.write_text("half")
    table.with_name(table.name + ".wal").write_text("wal")
    print("ready", flush=True)
    time.sleep(60)

def manifest(*, out: Path) -> None:
    out.write_text('{"source": "s", "origin": "generated", "root": "raw", "files": []}')

def tells(*, source: Path, table: Path, origin: str) -> list[Measurement]:
    table.write_text(origin)
    return [Measurement(output_id="a", quantity="b", value=1.5, low=1, high=2, n=3)]

def misreads(*, source: Path, table: Path) -> None:
    import polars as pl
    pl.read_parquet(source).select("coin", "share")

def bug(*, table: Path) -> None:
    table.write_text("x")
    raise ZeroDivisionError
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "teststeps.py").write_text(STEPS)
    monkeypatch.setattr(remeasure, "__path__", [*remeasure.__path__, str(extra)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "remeasure.teststeps", raising=False)
    return tmp_path


def call(function: str, **settings: object) -> Call:
    return Call(step=f"teststeps:{function}", run="r", seed=3, code="c0de", settings=settings)


def test_a_call_survives_its_canonical_form() -> None:
    made = call("double", factor=2)
    assert Call.parse(made.canonical()) == made
    assert Call.parse(made.canonical()).canonical() == made.canonical()
    with pytest.raises(ConfigError, match="not a call"):
        Call.parse('{"no": 1}')


def test_outputs_and_record(place: Path) -> None:
    Path("number.txt").write_text("21")
    out = Path("results/r/s/x.txt")
    run_step(call("double", factor=2), {"source": [Path("number.txt")]}, {"table": [out]})
    assert out.read_text() == "42"
    record = read_record(out)
    assert record is not None
    assert record_path(out) == Path("provenance/r/results/s/x.txt.json")
    assert record["outputs"]["table"] == [
        {"path": out.as_posix(), "sha256": sha256(out), "size": 2}
    ]
    assert record["inputs"]["source"][0]["sha256"] == sha256(Path("number.txt"))
    assert record["call"] == json.loads(call("double", factor=2).canonical())
    assert record["origin"] == "computed"
    assert {"python", "machine", "device", "wall_seconds", "peak_memory_mib", "packages"} <= set(
        record
    )
    assert [path.name for path in out.parent.iterdir()] == ["x.txt"]


def test_seeds_come_from_the_configured_seed_the_step_and_its_wildcards(place: Path) -> None:
    def roll(seed: int, face: str) -> str:
        out = Path("results/r/s/x.txt")
        made = Call(step="teststeps:dice", run="r", seed=seed, code="c", settings={})
        run_step(made, {}, {"table": [out]}, {"face": face})
        return out.read_text()[:-1]

    assert roll(1, "a") == roll(1, "a")
    assert len({roll(1, "a"), roll(2, "a"), roll(1, "b")}) == 3
    assert derived_seed(1, "m:f", {}) != derived_seed(1, "m:g", {})


def test_a_failing_step_leaves_the_old_outputs_and_nothing_half_written(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = Path("results/r/s/first.txt"), Path("results/r/s/second.txt")
    first.parent.mkdir(parents=True)
    first.write_text("old")
    code = main(
        ["--call", call("half").canonical(), "-o", "first", str(first), "-o", "second", str(second)]
    )
    assert code == 2
    message = capsys.readouterr().err
    assert "the tin is empty" in message
    assert "tin.csv, field beans" in message
    assert "buy beans" in message
    assert "Traceback" not in message
    assert first.read_text() == "old"
    assert [path.name for path in first.parent.iterdir()] == ["first.txt"]


def test_a_step_that_forgets_an_output_fails(place: Path) -> None:
    with pytest.raises(DataError, match="without writing"):
        run_step(
            call("forgets"),
            {},
            {"first": [Path("results/r/a.txt")], "second": [Path("results/r/b.txt")]},
        )
    assert not Path("results/r/a.txt").exists()


def test_an_unexpected_failure_is_called_a_bug(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--call", call("bug").canonical(), "-o", "table", "results/r/a.txt"]) == 1
    assert "this is a bug" in capsys.readouterr().err


def test_a_table_of_another_shape_is_no_bug(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import polars as pl

    pl.DataFrame({"coin": ["BTC"]}).write_parquet("t.parquet")
    words = ["-i", "source", "t.parquet", "-o", "table", "results/r/a.txt"]
    assert main(["--call", call("misreads").canonical(), *words]) == 2
    said = capsys.readouterr().err
    assert "lacks the column share" in said
    assert "where:  t.parquet" in said
    assert "remedy:" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("function", "settings", "inputs", "message"),
    [
        ("double", {"factor": "x"}, {"source": [Path("n")]}, "factor"),
        ("double", {"factor": 2, "more": 1}, {"source": [Path("n")]}, "more"),
        ("double", {"factor": 2}, {}, "not given: \\['source'\\]"),
        ("double", {"factor": 2}, {"source": [Path("n")], "salt": [Path("n")]}, "salt"),
        ("double", {"factor": 2}, {"source": [Path("n"), Path("n")]}, "takes one path"),
        ("nothing", {}, {}, "there is no step"),
    ],
)
def test_rule_and_step_must_agree(
    place: Path,
    function: str,
    settings: dict[str, object],
    inputs: dict[str, list[Path]],
    message: str,
) -> None:
    Path("n").write_text("1")
    with pytest.raises(ConfigError, match=message):
        run_step(call(function, **settings), inputs, {"table": [Path("results/r/x.txt")]})


def test_origin_travels_from_manifest_to_measurement(place: Path) -> None:
    import polars as pl

    manifest = Path("data/features/r/s.manifest.json")
    run_step(call("manifest"), {}, {"out": [manifest]})
    table, rows = Path("results/r/s/t.txt"), Path("results/r/s/measurements/t.parquet")
    run_step(call("tells"), {"source": [manifest]}, {"table": [table], "measurements": [rows]})
    assert table.read_text() == "generated"
    row = pl.read_parquet(rows).row(0, named=True)
    assert row["origin"] == "generated"
    assert row["step"] == "teststeps:tells"
    assert row["artifact"] == table.as_posix()


def test_an_input_without_a_record_is_refused(place: Path) -> None:
    stray = Path("results/r/s/stray.txt")
    stray.parent.mkdir(parents=True)
    stray.write_text("1")
    with pytest.raises(DataError, match="no provenance record"):
        run_step(
            call("double", factor=2), {"source": [stray]}, {"table": [Path("results/r/y.txt")]}
        )


def test_measuring_needs_a_place_for_the_measurements(place: Path) -> None:
    Path("n").write_text("1")
    with pytest.raises(ConfigError, match="no such output"):
        run_step(call("tells"), {"source": [Path("n")]}, {"table": [Path("results/r/x.txt")]})


def test_a_killed_step_leaves_nothing_after_the_next_start(place: Path) -> None:
    out = Path("results/r/s/x.txt")
    code = (
        f"import remeasure, sys; remeasure.__path__.append({str(place / 'extra')!r});"
        "from remeasure.step import main; main(sys.argv[1:])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "--call", call("slow").canonical(), "-o", "table", str(out)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(remeasure.__path__[0]).parent)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert len(list(out.parent.iterdir())) == 2
    assert not out.exists()
    time.sleep(0.05)
    Path("number.txt").write_text("1")
    run_step(call("double", factor=2), {"source": [Path("number.txt")]}, {"table": [out]})
    assert [path.name for path in out.parent.iterdir()] == ["x.txt"]


def test_the_dispatcher_settles_threads_and_hash_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It restarts itself once, with one thread and a fixed hash seed."""
    restarts: list[list[str]] = []
    environment = {**os.environ, **ENVIRONMENT, "OMP_NUM_THREADS": "7"}
    monkeypatch.setattr(os, "environ", environment)
    monkeypatch.setattr(os, "execv", lambda _, arguments: restarts.append(arguments))
    settle()
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["PYTHONHASHSEED"] == "0"
    assert restarts[0][1:3] == ["-m", "remeasure.step"]
    settle()
    assert len(restarts) == 1

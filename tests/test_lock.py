"""Locks go only when nobody is at work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from remeasure.lock import release, workers


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    folder = tmp_path / ".snakemake" / "locks"
    folder.mkdir(parents=True)
    (folder / "0.input.lock").touch()
    return tmp_path


def test_a_dead_run_is_unlocked(locked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release(locked)
    assert not list((locked / ".snakemake/locks").iterdir())
    assert "removed the locks" in capsys.readouterr().err
    assert release(locked)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("word", ["snakemake", "remeasure.step"])
def test_a_living_one_is_not(locked: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = "import sys; print('up', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code, word],
        cwd=locked,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert workers(locked) == [process.pid]
        assert workers(locked.parent) == []
        assert not release(locked)
        assert str(process.pid) in capsys.readouterr().err
        process.kill()
    assert list((locked / ".snakemake/locks").iterdir())

"""The same bytes in results, whatever the cores and whoever was killed on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from runs.tree import SMOKE, Tree, copied

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.xdist_group("determinism")]


#: Everything in results; figures and pages are drawn from it, and tested elsewhere.
RESULTS = "ledger"


def start(tree: Tree, cores: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        tree.command("snakemake", RESULTS, "--cores", str(cores), *SMOKE),
        cwd=tree.folder,
        env=tree.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_one_core_two_cores_and_a_killed_run_give_the_same_bytes(tmp_path: Path) -> None:
    one = copied(tmp_path / "one")
    done = one.snakemake(RESULTS, "--cores", "1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    expected = one.hashes("results")
    assert len(expected) > 15

    killed = copied(tmp_path / "killed")
    process = start(killed, 2)
    deadline = time.monotonic() + 300
    while not list(killed.folder.glob("results/smoke/crypto/forecasts/*.parquet")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert len(killed.hashes("results")) < len(expected)
    assert list((killed.folder / ".snakemake/locks").iterdir())

    assert killed.run("python", "-m", "remeasure.lock").returncode == 0
    done = killed.snakemake(RESULTS, "--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert killed.hashes("results") == expected
    assert not list(killed.folder.glob("results/**/.tmp-*"))
    assert killed.run("remeasure", "audit", "--all", "--run", "smoke").returncode == 0


def test_a_living_run_keeps_its_lock(tmp_path: Path) -> None:
    tree = copied(tmp_path / "alive")
    process = start(tree, 1)
    try:
        deadline = time.monotonic() + 60
        while not list((tree.folder / ".snakemake").glob("locks/*")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        done = tree.run("python", "-m", "remeasure.lock")
        assert done.returncode == 1
        assert str(process.pid) in done.stderr
        assert list((tree.folder / ".snakemake/locks").iterdir())
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

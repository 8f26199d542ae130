"""Unlock a folder after a killed run, but only if nobody is working in it."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil


def workers(folder: Path) -> list[int]:
    """Process ids of Snakemake or of steps that are alive in ``folder``, this process left out."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        if process.pid == psutil.Process().pid:
            continue
        try:
            words = process.info["cmdline"] or []
            named = any(
                Path(word).name == "snakemake" or word in ("snakemake", "remeasure.step")
                for word in words[:5]
            )
            if named and Path(process.cwd()).resolve() == folder.resolve():
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def release(folder: Path) -> bool:
    """Remove Snakemake's locks of ``folder`` if nobody is alive in it; whether it is free now."""
    locks = sorted((folder / ".snakemake" / "locks").glob("*"))
    if not locks:
        return True
    alive = workers(folder)
    if alive:
        print(
            f"a Snakemake of this folder is still at work (process {', '.join(map(str, alive))}):"
            " wait for it or stop it, then start again",
            file=sys.stderr,
        )
        return False
    for lock in locks:
        lock.unlink(missing_ok=True)
    print("removed the locks of a run that was killed", file=sys.stderr)
    return True


if __name__ == "__main__":
    sys.exit(0 if release(Path.cwd()) else 1)

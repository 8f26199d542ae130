"""A copy of the project that tests may run, edit and break."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SMOKE = ("--configfile", "config/smoke.yaml")
NOT_COPIED = (".git", ".venv", ".snakemake", "data", "results", "reports", "provenance", "logs")


@dataclass(frozen=True)
class Tree:
    """A copied project folder."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The caller's environment without what would point into another tree."""
        return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def command(self, *words: str) -> list[str]:
        """A program of the environment that runs the tests."""
        program, *rest = words
        return [str(Path(sys.executable).parent / program), *rest]

    def run(self, *words: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        """Run a program here and wait."""
        return subprocess.run(
            self.command(*words),
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def snakemake(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Snakemake here at smoke scale."""
        return self.run("snakemake", *words, *SMOKE)

    def planned(self) -> dict[str, str]:
        """Rules that a dry run lists, with the reason of the first job of each."""
        done = self.snakemake("--cores", "2", "--dry-run", "--nocolor")
        assert done.returncode == 0, done.stdout + done.stderr
        text = done.stdout + done.stderr
        found: dict[str, str] = {}
        for match in re.finditer(
            r"^(?:local)?rule (\w+):\n((?:    .*\n)*)", text, flags=re.MULTILINE
        ):
            reason = re.search(r"reason: (.*)", match[2])
            found.setdefault(match[1], reason[1] if reason else "")
        return found

    def hashes(self, top: str) -> dict[str, str]:
        """SHA-256 of every file below ``top``."""
        found = {}
        for path in sorted((self.folder / top).rglob("*")):
            if path.is_file():
                with path.open("rb") as file:
                    found[path.relative_to(self.folder).as_posix()] = file_digest(
                        file, "sha256"
                    ).hexdigest()
        return found


#: Studies that copied trees measure: what is tested on them is the workflow, which is one.
STUDIES = ("crypto", "free_energy")


def copied(folder: Path, source: Path = PROJECT, *, everything: bool = False) -> Tree:
    """Copy a project folder: its code, or with ``everything`` all but the environment.

    A copy of the code measures `STUDIES` alone, so that a run takes minutes.
    """
    leave = (".git", ".venv") if everything else NOT_COPIED

    def ignored(where: str, names: list[str]) -> set[str]:
        top = Path(where) == source
        return {
            name
            for name in names
            if (top and name in leave) or name in ("__pycache__", ".mypy_cache", ".ruff_cache")
        }

    shutil.copytree(source, folder, ignore=ignored, copy_function=shutil.copy)
    if not everything:
        config = folder / "config" / "config.yaml"
        text, found = re.subn(
            r"^studies: \[[^\]]*\]$",
            f"studies: [{', '.join(STUDIES)}]",
            config.read_text("utf-8"),
            flags=re.MULTILINE,
        )
        assert found == 1, "config.yaml names its studies in one list"
        config.write_text(text, "utf-8")
    return Tree(folder)

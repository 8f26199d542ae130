"""Code fingerprints follow imports, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remeasure import fingerprint as fp
from remeasure.errors import ConfigError

FILES = {
    "__init__.py": "",
    "errors.py": "",
    "shared/__init__.py": "",
    "shared/boot.py": "import math\nfrom . import deep\n",
    "shared/deep.py": "X = 1\n",
    "shared/other.py": "Y = 1\n",
    "room/__init__.py": "",
    "room/one.py": "from remeasure.shared.boot import X\nPACKAGE_FILES = ('one.sql',)\n",
    "room/one.sql": "select 1",
    "room/two.py": "def f():\n    import remeasure.shared.other\n",
    "room/figures.py": "from remeasure.errors import x\n",
    "room/sub/__init__.py": "",
    "room/sub/up.py": "from ...shared import other\nfrom .. import two\n",
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    root = tmp_path / "remeasure"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setattr(fp, "ROOT", root)
    fp.forget()
    yield root
    fp.forget()


@pytest.fixture
def moved(tree: Path) -> Callable[[str], set[str]]:
    modules = ["room.one", "room.two", "room.figures", "room.sub.up"]

    def edit(name: str) -> set[str]:
        before = {m: fp.fingerprint(f"remeasure.{m}") for m in modules}
        with (tree / name).open("a") as file:
            file.write("\n# edited\n")
        fp.forget()
        return {m for m in modules if fp.fingerprint(f"remeasure.{m}") != before[m]}

    return edit


@pytest.mark.parametrize(
    ("edited", "users"),
    [
        ("room/figures.py", {"room.figures"}),
        ("room/one.py", {"room.one"}),
        ("room/one.sql", {"room.one"}),
        ("shared/boot.py", {"room.one"}),
        ("shared/deep.py", {"room.one"}),
        ("shared/other.py", {"room.two", "room.sub.up"}),
        ("shared/__init__.py", {"room.one", "room.two", "room.sub.up"}),
        ("room/two.py", {"room.two", "room.sub.up"}),
        ("errors.py", {"room.figures"}),
        ("__init__.py", {"room.one", "room.two", "room.figures", "room.sub.up"}),
    ],
)
def test_an_edit_moves_exactly_its_users(
    moved: Callable[[str], set[str]], edited: str, users: set[str]
) -> None:
    assert moved(edited) == users


def test_modules_named_by_hand_count(tree: Path) -> None:
    alone = fp.fingerprint("remeasure.room.figures")
    with_two = fp.fingerprint("remeasure.room.figures", also=["remeasure.room.two"])
    assert alone != with_two


def test_a_declared_file_must_exist(tree: Path) -> None:
    (tree / "room" / "one.sql").unlink()
    fp.forget()
    with pytest.raises(ConfigError, match=r"one\.sql"):
        fp.fingerprint("remeasure.room.one")


def test_an_unknown_module_is_refused(tree: Path) -> None:
    with pytest.raises(ConfigError, match="no module"):
        fp.fingerprint("remeasure.room.nine")


def test_the_syntax_tree_finds_what_the_interpreter_imports() -> None:
    """Against an independent truth: the modules that importing a step really loads."""
    import subprocess

    fp.forget()
    code = (
        "import sys, remeasure.studies.crypto.tails;"
        "print('\\n'.join(m for m in sys.modules if m.split('.')[0] == 'remeasure'))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(fp.ROOT.parent), "PATH": ""},
    ).stdout.split()
    covered = set(fp.sources("remeasure.studies.crypto.tails"))
    for module in loaded:
        file = fp.module_file(module)
        assert file is not None
        assert file.relative_to(fp.ROOT).as_posix() in covered
    assert "step.py" not in covered

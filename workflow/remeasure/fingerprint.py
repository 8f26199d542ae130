"""Code fingerprints: which code, transitively, made a result.

The fingerprint of a module is a hash over the bytes of the module itself, of
every module of this package that it imports (read from the syntax tree, so
imports inside functions count), of the ``__init__`` modules on the way, and
of the package files that any of these declare in a module-level tuple
``PACKAGE_FILES`` (names relative to the module's folder).

Nothing is imported to compute it, so a Snakefile can afford to ask for all.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NoReturn

from remeasure.errors import ConfigError

PACKAGE = "remeasure"
ROOT = Path(__file__).resolve().parent

#: A module of this package spelt elsewhere than in an import; names are spelt in one piece.
_SPELT = re.compile(rb"(?<!from )(?<!import )" + PACKAGE.encode() + rb"\.")
#: Where a statement holds statements.
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@cache
def module_file(module: str) -> Path | None:
    """Path of the source of ``module``, or None when it is not a module of this package."""
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return None
    base = ROOT.joinpath(*parts[1:])
    if (base / "__init__.py").is_file():
        return base / "__init__.py"
    source = base.with_suffix(".py") if len(parts) > 1 else base
    return source if source.is_file() else None


def _name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return ".".join((PACKAGE, *parts))


def _is_declaration(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "PACKAGE_FILES"


def _refuse(what: str, module: str, remedy: str) -> NoReturn:
    raise ConfigError(
        f"{module} {what}: its fingerprint could not follow", where=module, remedy=remedy
    )


def _nodes(tree: ast.Module, text: bytes) -> Iterable[ast.AST]:
    """The nodes that may name modules: all, or the statements where no string spells a name.

    Nine nodes in ten are parts of expressions, and most sources name no module in a string.
    """
    if _SPELT.search(text):
        return ast.walk(tree)
    return _statements(tree)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    todo = [node]
    while todo:
        node = todo.pop()
        yield node
        for part in _BLOCKS:
            todo.extend(getattr(node, part, ()))


@cache
def _parsed(file: Path) -> tuple[frozenset[Path], frozenset[Path]]:
    """Sources and declared package files that one source names directly."""
    text = file.read_bytes()
    try:
        tree = ast.parse(text, filename=str(file))
    except SyntaxError as error:
        raise ConfigError(
            f"this is not Python: {error}", where=file, remedy="correct the module"
        ) from error
    module = _name(file)
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    named: set[str] = set()
    for node in _nodes(tree, text):
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                anchor = package.split(".")
                anchor = anchor[: len(anchor) - node.level + 1]
                base = ".".join([*anchor, *([node.module] if node.module else [])])
            else:
                base = node.module or ""
            named.add(base)
            named.update(f"{base}.{alias.name}" for alias in node.names)
            if base.split(".")[0] == PACKAGE and any(alias.name == "*" for alias in node.names):
                _refuse(f"imports everything from {base}", module, "name what is imported")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A module named in a string is imported by name somewhere: count it.
            if node.value.startswith(PACKAGE + ".") and node.value.isprintable():
                named.add(node.value)
        elif isinstance(node, ast.AugAssign) and _is_declaration(node.target):
            _refuse("adds to PACKAGE_FILES", module, "declare all files in one tuple of strings")
    sources = {path for name in named if (path := module_file(name)) is not None}
    files: set[Path] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            target, value = statement.targets[0], statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, value = statement.target, statement.value
        else:
            continue
        if _is_declaration(target):
            try:
                items = tuple(ast.literal_eval(value))
            except (ValueError, TypeError):
                _refuse(
                    "computes PACKAGE_FILES", module, "declare all files in one tuple of strings"
                )
            for item in items:
                path = file.parent / item
                if not path.is_file():
                    raise ConfigError(
                        f"declared package file {item!r} does not exist",
                        where=f"{module}.PACKAGE_FILES",
                        remedy="correct the name or add the file beside the module",
                    )
                files.add(path)
    return frozenset(sources), frozenset(files)


@cache
def _packages(folder: Path) -> tuple[Path, ...]:
    """The ``__init__`` modules on the way from the package to a folder."""
    own = folder / "__init__.py"
    above = () if folder == ROOT else _packages(folder.parent)
    return (*above, own) if own.is_file() else above


@cache
def sources(module: str) -> tuple[str, ...]:
    """Every file that the fingerprint of ``module`` covers, relative to the package, sorted."""
    first = module_file(module)
    if first is None:
        raise ConfigError(
            f"there is no module {module!r} in this package",
            where=module,
            remedy="name a module below remeasure, as in remeasure.studies.crypto.tails",
        )
    todo, seen, files = [first], set[Path](), set[Path]()
    while todo:
        file = todo.pop()
        if file in seen:
            continue
        seen.add(file)
        found, declared = _parsed(file)
        files |= declared
        todo.extend(found)
        todo.extend(_packages(file.parent))
    return tuple(sorted(path.relative_to(ROOT).as_posix() for path in seen | files))


def fingerprint(module: str, also: Iterable[str] = ()) -> str:
    """Hash of the code that ``module`` (and the modules ``also``) stand on.

    Returns 16 hexadecimal digits of a SHA-256 over names and bytes.
    """
    names: set[str] = set()
    for each in (module, *also):
        names.update(sources(each))
    digest = hashlib.sha256()
    for name in sorted(names):
        body = (ROOT / name).read_bytes()
        digest.update(f"{name}\0{len(body)}\0".encode())
        digest.update(body)
    return digest.hexdigest()[:16]


def forget() -> None:
    """Drop cached syntax trees: for tests that edit sources in place."""
    for cached in (module_file, _parsed, _packages, sources):
        cached.cache_clear()

"""The command line: ``remeasure audit``, ``remeasure ledger``, ``remeasure sources``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.tree import Tree

from remeasure.errors import ConfigError, DataError, ExpectedError
from remeasure.ledger.command import ledger_command

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Audit results, read the ledger, list sources.",
)
app.command("ledger")(ledger_command)
console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)


def _run_of(path: Path | None, run: str) -> str:
    from remeasure.records import stage_and_run

    split = stage_and_run(path) if path is not None else None
    return split[1] if split else run


def _note_of(run: str) -> dict[str, Any]:
    """The note that the workflow wrote when it last started this run."""
    memory = Path("provenance", run, "run.json")
    remedy = (
        "start the run once more with its configuration, for example"
        " snakemake --cores 1 --forcerun site_index: it writes the note when it starts"
    )
    if not memory.is_file():
        raise DataError(
            f"run {run!r} has made nothing here, or its note is lost", where=memory, remedy=remedy
        )
    try:
        noted: dict[str, Any] = json.loads(memory.read_text("utf-8"))
        if not (
            isinstance(noted["configfiles"], list)
            and isinstance(noted["overrides"], dict)
            and isinstance(noted["planned"], dict)
            and isinstance(noted["whole"], bool)
        ):
            raise TypeError("configfiles, overrides, planned or whole has the wrong type")
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"the note of run {run!r} is malformed ({error!r})", where=memory, remedy=remedy
        ) from error
    return noted


def _plan_of(noted: dict[str, Any]) -> Any:
    from remeasure.plan import Plan

    return Plan.from_files([Path(file) for file in noted["configfiles"]], noted["overrides"])


def _tree(path: Path, records: dict[str, dict[str, Any]], bad: set[str]) -> Tree:
    shown: set[str] = set()

    def label(name: str) -> str:
        mark = "[red]wrong[/red]" if name in bad else "[green]ok[/green]"
        record = records.get(name) or {}
        made = f"  [dim]by {record['step']}, code {record['call']['code']}[/dim]" if record else ""
        return f"{mark} {escape(name)}{made}"

    def grow(branch: Tree, name: str) -> None:
        for files in (records.get(name) or {}).get("inputs", {}).values():
            for entry in files:
                child = entry["path"]
                if child in shown:
                    branch.add(f"{label(child)} [dim](above)[/dim]")
                    continue
                shown.add(child)
                grow(branch.add(label(child)), child)
        if name.endswith(".manifest.json") and Path(name).is_file():
            from remeasure.fetch.manifest import Manifest

            try:
                manifest = Manifest.read(Path(name))
            except ExpectedError:
                return
            size = sum(entry.size for entry in manifest.files)
            branch.add(
                f"{len(manifest.files)} raw files, {size:,} bytes, origin {manifest.origin},"
                f" below {escape(manifest.root)}"
            )

    root = Tree(label(path.as_posix()))
    grow(root, path.as_posix())
    return root


@app.command()
def audit(
    path: Annotated[Path | None, typer.Argument(help="a file of a run")] = None,
    all_files: Annotated[bool, typer.Option("--all", help="every file of the run")] = False,
    run: Annotated[str, typer.Option(help="name of the run, with --all")] = "default",
) -> None:
    """Follow a file back to the downloaded bytes and re-hash everything on the way."""
    from remeasure.audit import Auditor
    from remeasure.records import record_path, stage_and_run

    if (path is None) == (not all_files):
        raise DataError(
            "name one file, or give --all", where="remeasure audit", remedy="remeasure audit --help"
        )
    if path is not None:
        try:
            path = path.resolve().relative_to(Path.cwd().resolve())
        except ValueError as error:
            raise DataError(
                "this file lies outside the project folder",
                where=path,
                remedy="run the audit in the folder that holds the Snakefile",
            ) from error
        if stage_and_run(path) is None or not (path.is_file() or record_path(path).is_file()):
            raise DataError(
                "only files that a run made below data/features, results and reports have a chain",
                where=path,
                remedy="name one of those, for example reports/default/ledger.csv",
            )
    run = _run_of(path, run)
    noted = _note_of(run)
    auditor = Auditor(run, _plan_of(noted).calls(), noted["planned"], whole=noted["whole"])
    findings = auditor.all() if path is None else auditor.one(path)
    bad = {problem.path for problem in findings.problems}
    if path is not None:
        console.print(_tree(path, findings.records, bad), soft_wrap=True)
    for problem in findings.problems:
        console.print(f"[red]FAIL[/red] {escape(problem.path)}: {problem.what}", soft_wrap=True)
        for child in findings.standing[problem.path]:
            console.print(f"       stands on it: {escape(child)}", soft_wrap=True)
    console.print(
        f"audit of run {run}: {findings.files} files and {findings.raw_files} raw files"
        f" ({findings.raw_bytes:,} bytes) re-hashed; "
        + ("[green]passed[/green]" if findings.passed else f"[red]{len(bad)} files fail[/red]"),
        soft_wrap=True,
    )
    if not findings.passed:
        raise typer.Exit(1)


@app.command()
def prune(
    run: Annotated[str, typer.Option(help="name of the run")] = "default",
) -> None:
    """Remove what a run made under an earlier configuration and no longer plans."""
    from remeasure.audit import prune as prune_run

    noted = _note_of(run)
    if not noted["whole"]:
        raise DataError(
            f"only single targets of run {run!r} were ever planned: what is left over is unknown",
            where=Path("provenance", run, "run.json"),
            remedy="start the whole run once: snakemake --cores 2, with its configuration",
        )
    gone = prune_run(run, noted["planned"])
    for path in gone:
        console.print(f"removed {escape(str(path))}", soft_wrap=True)
    console.print(f"{len(gone)} files of run {run} removed")


@app.command()
def sources(
    configfile: Annotated[
        list[Path] | None,
        typer.Option(help="overlay of config/config.yaml; may be repeated, merged in order"),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(help="KEY=VALUE, value in YAML, as in Snakemake; may be repeated"),
    ] = None,
    files: Annotated[bool, typer.Option("--files", help="name every file with its size")] = False,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="every remote source of the project instead")
    ] = False,
) -> None:
    """Say what a configuration would fetch, before it does: files, bytes, licence by service."""
    if catalogue:
        _print_catalogue()
        return
    from remeasure.config import read_files, validate
    from remeasure.fetch.remote import file_list, planned, table_rows

    overlays = [Path("config/config.yaml"), *(configfile or [])]
    found = planned(validate(read_files(overlays, _overrides(config or []))))
    if not found:
        console.print(
            "This configuration fetches nothing over the network. For one that does:"
            " remeasure sources --configfile config/public.yaml",
            soft_wrap=True,
        )
        return
    if files:
        typer.echo(file_list(found))
        return
    _print_table("What this configuration fetches", table_rows(found))
    console.print(
        "≈: estimated from the typical sizes in config/sources.yaml; other sizes are known."
        " --files names every file.",
        soft_wrap=True,
    )


def _print_catalogue() -> None:
    from remeasure.fetch.catalogue import rows

    _print_table("Remote sources (config/sources.yaml)", rows())


def _print_table(title: str, rows: list[dict[str, str]]) -> None:
    table = Table(title=title)
    for column in rows[0]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(escape(value) for value in row.values()))
    console.print(table)


def _overrides(words: list[str]) -> dict[str, Any]:
    """``KEY=VALUE`` words as Snakemake reads them."""
    import yaml

    found: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        try:
            if not equals or not key.isidentifier():
                raise ValueError("it is not KEY=VALUE")
            found[key] = yaml.safe_load(text)
        except (ValueError, yaml.YAMLError) as error:
            raise ConfigError(
                f"{word!r} cannot be understood ({error})",
                where="--config",
                remedy="write it as in --config run=mine, or --config 'crypto={origin: public}'",
            ) from error
    return found


def _prefer_the_tree_here() -> None:
    """In a copied tree, run the copy's code even from another tree's environment."""
    here = Path.cwd() / "workflow"
    ours = Path(__file__).resolve().parent
    if (here / "remeasure" / "cli.py").is_file() and (here / "remeasure").resolve() != ours:
        environment = {**os.environ, "PYTHONPATH": str(here)}
        if os.environ.get("PYTHONPATH") != str(here):
            os.execve(  # noqa: S606
                sys.executable, [sys.executable, "-m", "remeasure.cli", *sys.argv[1:]], environment
            )


def main() -> None:
    """Entry point: expected failures are messages with exit code 2."""
    _prefer_the_tree_here()
    try:
        app()
    except ExpectedError as error:
        Console(stderr=True, highlight=False).print(str(error), markup=False, soft_wrap=True)
        sys.exit(2)


if __name__ == "__main__":
    main()

"""``remeasure ledger``: shows the ledger of a run, or tests whether it would notice an error."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from remeasure.errors import DataError, ExpectedError


class Format(StrEnum):
    """How the ledger is printed."""

    table = "table"
    csv = "csv"
    json = "json"


def ledger_command(
    run: Annotated[str, typer.Option(help="The run, as its configuration names it.")] = "default",
    study: Annotated[
        list[str] | None, typer.Option(help="Only this study; may be repeated.")
    ] = None,
    output: Annotated[
        list[str] | None, typer.Option(help="Only this output, as fig_tails; may be repeated.")
    ] = None,
    verdict: Annotated[
        list[str] | None, typer.Option(help="Only this verdict, as differs; may be repeated.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    selftest: Annotated[
        bool, typer.Option("--selftest", help="Disturb every praised row; each must lose.")
    ] = False,
) -> None:
    """Show every published number beside ours, with its verdict and the reason for it."""
    try:
        if selftest:
            _selftest(run)
        else:
            _show(run, study or [], output or [], verdict or [], format_)
    except ExpectedError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


def _show(
    run: str, studies: list[str], outputs: list[str], verdicts: list[str], format_: Format
) -> None:
    from remeasure.ledger.show import filter_ledger, ledger_json, load_ledger, print_table
    from remeasure.ledger.table import csv_text

    total = load_ledger(run)
    chosen = filter_ledger(total, studies, outputs, verdicts)
    if format_ is Format.csv:
        typer.echo(csv_text(chosen), nl=False)
    elif format_ is Format.json:
        typer.echo(ledger_json(chosen), nl=False)
    else:
        print_table(chosen, total, sys.stdout)


def _selftest(run: str) -> None:
    from remeasure.ledger.selftest import run_selftest
    from remeasure.ledger.show import ledger_paths
    from remeasure.ledger.table import read_ledger

    parquet, _ = ledger_paths(run)
    if not parquet.is_file():
        typer.echo(run_selftest(None).text())
        raise DataError(
            f"run {run!r} has no ledger yet: only made-up rows were tested",
            where=parquet,
            remedy=f"run the workflow: snakemake --cores 2 {parquet}",
        )
    report = run_selftest(read_ledger(parquet))
    typer.echo(report.text())
    if not report.passed:
        raise typer.Exit(1)

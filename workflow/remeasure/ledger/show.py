"""The ledger for people at a terminal: filters, a table, CSV, JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from remeasure.errors import ConfigError, DataError
from remeasure.ledger.table import COLUMNS, read_csv, read_ledger
from remeasure.ledger.verdict import VERDICTS, format_number, short_number

#: Width of a table that is not shown on a terminal, in characters.
PIPED_WIDTH = 180

#: Colours help, but the verdict always stands there in words, too.
STYLES = {
    "exact": "green",
    "reproduced": "green",
    "consistent": "cyan",
    "partial": "yellow",
    "differs": "bold red",
    "planted": "blue",
    "planted-missed": "bold magenta",
    "generated": "blue",
    "not run": "dim",
    "cited": "dim",
    "erratum": "bold yellow",
}


def ledger_paths(run: str, root: Path = Path()) -> tuple[Path, Path]:
    """Where the ledger of a run lies below ``root``: Parquet, CSV."""
    return root / "results" / run / "ledger.parquet", root / "reports" / run / "ledger.csv"


def load_ledger(run: str, root: Path = Path()) -> pl.DataFrame:
    """The ledger of a run from its Parquet file, else the fixed columns from its CSV.

    Raises
    ------
    DataError
        When the run has neither, naming the runs that have one.
    """
    parquet, table = ledger_paths(run, root)
    if parquet.is_file():
        return read_ledger(parquet)
    if table.is_file():
        return read_csv(table)
    others = sorted(
        {path.parent.name for path in root.glob("results/*/ledger.parquet")}
        | {path.parent.name for path in root.glob("reports/*/ledger.csv")}
    )
    raise DataError(
        f"run {run!r} has no ledger yet",
        where=f"{parquet} and {table}",
        remedy=f"run the workflow: snakemake --cores 2 {parquet}"
        + (f"; or choose a run that has one: --run {', '.join(others)}" if others else ""),
    )


def _allowed(option: str, chosen: Sequence[str], allowed: Sequence[str]) -> None:
    unknown = [each for each in chosen if each not in allowed]
    if unknown:
        raise ConfigError(
            f"nothing in this ledger is called {', '.join(map(repr, unknown))}",
            where=option,
            remedy=f"allowed are: {', '.join(allowed)}",
        )


def filter_ledger(
    frame: pl.DataFrame,
    studies: Sequence[str] = (),
    outputs: Sequence[str] = (),
    verdicts: Sequence[str] = (),
) -> pl.DataFrame:
    """The rows of these studies, outputs and verdicts; no choice means all.

    Raises
    ------
    ConfigError
        For a name that the ledger does not know, listing those it does.
    """
    _allowed("--study", studies, frame["study"].unique(maintain_order=True).to_list())
    _allowed("--verdict", verdicts, VERDICTS)
    if studies:
        frame = frame.filter(pl.col("study").is_in(list(studies)))
    _allowed("--output", outputs, frame["output_id"].unique(maintain_order=True).to_list())
    if outputs:
        frame = frame.filter(pl.col("output_id").is_in(list(outputs)))
    if verdicts:
        frame = frame.filter(pl.col("verdict").is_in(list(verdicts)))
    return frame


def counts_line(frame: pl.DataFrame) -> str:
    """``505 rows: 80 exact · 3 consistent (1 wider than the published value) · …``."""
    counts = Counter(frame["verdict"])
    wide = (
        int(frame["wider_than_published"].sum()) if "wider_than_published" in frame.columns else 0
    )
    parts = []
    for name in VERDICTS:
        if counts[name]:
            extra = (
                f" ({wide} wider than the published value)" if name == "consistent" and wide else ""
            )
            parts.append(f"{counts[name]} {name}{extra}")
    return f"{frame.height} rows: {' · '.join(parts) or 'none'}"


def _ours(row: dict[str, Any]) -> str:
    """Our value, shortened for the eye, with its interval."""
    number = row.get("value_number")
    if number is None:
        shown = row["value"] or ""
    else:
        shown = format_number(number) if number.is_integer() else short_number(number, 6)
    if row["low"] is None:
        return shown
    return f"{shown} [{short_number(row['low'], 4)}, {short_number(row['high'], 4)}]"


def ledger_table(frame: pl.DataFrame) -> Table:
    """A table of the rows for a terminal: what was published, what we found, the verdict."""
    several = frame["study"].n_unique() > 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (*(["study"] if several else []), "output", "quantity", "condition"):
        table.add_column(name, overflow="fold")
    table.add_column("published", justify="right", overflow="fold")
    table.add_column(Text("ours [interval]"), justify="right", overflow="fold")
    table.add_column("unit", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=1)
    for row in frame.iter_rows(named=True):
        names = (*([row["study"]] if several else []), row["output_id"], row["quantity"])
        # Text, not str: quantities hold square brackets, which rich would read as markup.
        table.add_row(
            *(Text(each) for each in (*names, row["condition"], row["published"])),
            Text(_ours(row)),
            Text(row["unit"]),
            Text(row["verdict"], style=STYLES[row["verdict"]]),
            Text(row["reason"]),
        )
    return table


def print_table(frame: pl.DataFrame, total: pl.DataFrame, file: IO[str] | None = None) -> None:
    """Print the rows, and under them the headline: of the run, and of the choice if smaller."""
    console = Console(file=file, highlight=False)
    if not console.is_terminal:
        console = Console(file=file, highlight=False, width=PIPED_WIDTH)
    if frame.height:
        console.print(ledger_table(frame))
    if frame.height != total.height:
        console.print(Text(f"shown: {counts_line(frame)}"))
    console.print(Text(f"run:   {counts_line(total)}"))


def ledger_json(frame: pl.DataFrame) -> str:
    """The rows as JSON: the fixed columns, numbers as numbers.

    Of a ledger read from its CSV alone, ``value`` stays text.
    """
    rows = []
    for row in frame.iter_rows(named=True):
        shown = {name: row[name] for name in COLUMNS}
        if row.get("value_number") is not None:
            shown["value"] = row["value_number"]
        rows.append(shown)
    return json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

"""The ledger at a terminal."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from remeasure.ledger.command import ledger_command
from remeasure.ledger.join import ledger_row
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import Reference
from remeasure.ledger.show import counts_line
from remeasure.ledger.table import COLUMNS, TYPES, csv_text, validated

LONG = "average over the [bold]whole[/bold] window [3]"


def ledger() -> pl.DataFrame:
    rows = []
    for study in ("crypto", "gpt"):
        for output, quantity, published, value, low, high in (
            ("fig_tails", LONG, "53.9", 53.91234567, None, None),
            ("fig_tails", "wide", "0.1", 3.25, -1.0, 9.87654321),
            ("fig_acf", "off", "7", 51057.0, None, None),
            ("fig_acf", "none", " Garry", None, None, None),
        ):
            reference = Reference.printed(output, quantity, "BTC", published, "%", "empirical")
            measured = Measured(
                measurement=Measurement(
                    output_id=output,
                    quantity=quantity,
                    condition="BTC",
                    value=value,
                    low=low,
                    high=high,
                ),
                origin="mirror",
                step="m:f",
                artifact="a.parquet",
            )
            rows.append(ledger_row(study, reference, measured, None, "needs a GPU"))
    return validated(pl.DataFrame(rows, schema=TYPES, orient="row"), "test")


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("results/default", "reports/default"):
        (tmp_path / name).mkdir(parents=True)
    ledger().write_parquet(tmp_path / "results/default/ledger.parquet")
    (tmp_path / "reports/default/ledger.csv").write_text(csv_text(ledger()))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    app = typer.Typer()
    app.command("ledger")(ledger_command)
    return CliRunner().invoke(app, list(arguments))


def test_the_table_shows_every_row_and_the_headline(finished: Path) -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout.count("reproduced") == 3  # two rows and the headline
    assert "[bold]whole[/bold]" in result.stdout  # what looks like markup is printed, not obeyed
    assert "[3]" in result.stdout
    assert "ours [interval]" in result.stdout
    assert "53.9123" in result.stdout
    assert "3.25 [-1, 9.877]" in result.stdout
    assert "51057" in result.stdout
    assert result.stdout.splitlines()[-1] == (
        "run:   8 rows: 2 reproduced · 2 consistent (2 wider than the published value)"
        " · 2 differs · 2 not run"
    )


def test_filters_choose_and_say_so(finished: Path) -> None:
    result = run("--study", "gpt", "--output", "fig_acf", "--verdict", "differs")
    lines = result.stdout.splitlines()
    assert lines[-2] == "shown: 1 rows: 1 differs"
    assert lines[-1].startswith("run:   8 rows")
    both = run("--verdict", "differs", "--verdict", "not run", "--format", "csv")
    assert len(both.stdout.splitlines()) == 5


def test_no_row_left_is_no_error(finished: Path) -> None:
    result = run("--verdict", "exact")
    assert result.exit_code == 0
    assert "shown: 0 rows: none" in result.stdout


def test_csv_is_the_file_of_the_run(finished: Path) -> None:
    text = run("--format", "csv").stdout
    assert text == (finished / "reports/default/ledger.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(COLUMNS)
    assert rows[3]["published"] == " Garry"


def test_json_has_numbers_as_numbers(finished: Path) -> None:
    rows = json.loads(run("--format", "json", "--output", "fig_tails").stdout)
    assert list(rows[0]) == list(COLUMNS)
    assert rows[0]["value"] == 53.91234567
    assert rows[1]["high"] == 9.87654321
    assert rows[0]["low"] is None


def test_the_csv_alone_is_enough_to_look_at(finished: Path) -> None:
    whole = run("--study", "gpt", "--format", "csv").stdout
    (finished / "results/default/ledger.parquet").unlink()
    assert run("--study", "gpt", "--format", "csv").stdout == whole
    assert "2 reproduced" in run().stdout
    assert json.loads(run("--format", "json").stdout)[0]["value"] == "53.91234567"
    assert run("--selftest").exit_code == 1


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("--study", "allowed are: crypto, gpt"),
        ("--output", "allowed are: fig_tails, fig_acf"),
        ("--verdict", "allowed are: exact, reproduced, consistent, partial, differs"),
    ],
)
def test_unknown_names_are_answered_with_the_known(
    finished: Path, option: str, allowed: str
) -> None:
    result = run(option, "nothing")
    assert result.exit_code == 1
    assert "'nothing'" in result.stderr
    assert allowed in result.stderr
    assert not result.stdout


def test_a_missing_run_is_explained(finished: Path) -> None:
    result = run("--run", "mirror")
    assert result.exit_code == 1
    assert "run 'mirror' has no ledger yet" in result.stderr
    assert "snakemake --cores 2 results/mirror/ledger.parquet" in result.stderr
    assert "--run default" in result.stderr


def test_a_file_that_is_no_ledger_is_explained(finished: Path) -> None:
    ledger().drop("proof").write_parquet("results/default/ledger.parquet")
    assert "schema" in run().stderr
    Path("results/default/ledger.parquet").write_text("no")
    assert "not a Parquet file" in run().stderr


def test_unknown_formats_are_refused(finished: Path) -> None:
    assert run("--format", "xml").exit_code == 2


def test_selftest_of_a_run(finished: Path) -> None:
    result = run("--selftest")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "passed"
    bad = ledger().with_columns(verdict=pl.lit("reproduced"))
    bad.write_parquet("results/default/ledger.parquet")
    result = run("--selftest")
    assert result.exit_code == 1
    assert "SURVIVOR" in result.stdout


def test_selftest_without_a_ledger_tests_made_up_rows_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("--selftest")
    assert result.exit_code == 1
    assert "passed" in result.stdout
    assert "only made-up rows were tested" in result.stderr


def test_counts_need_only_the_fixed_columns() -> None:
    assert counts_line(ledger().select(COLUMNS)).startswith("8 rows: 2 reproduced · 2 consistent ·")

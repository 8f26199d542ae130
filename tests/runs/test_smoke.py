"""The whole path at smoke scale: run, run again, edit, touch, copy, break."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runs.tree import PROJECT, Tree, copied

pytestmark = [pytest.mark.workflow, pytest.mark.slow, pytest.mark.xdist_group("smoke")]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = copied(tmp_path_factory.mktemp("smoke") / "project")
    done = made.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return made


@contextmanager
def edited(path: Path, text: str = "\n# edited\n") -> Iterator[None]:
    before = path.read_bytes()
    path.write_bytes(before + text.encode())
    try:
        yield
    finally:
        path.write_bytes(before)


def test_every_reference_row_has_a_verdict(tree: Tree) -> None:
    with (PROJECT / "workflow/remeasure/studies/crypto/reference.csv").open() as file:
        reference = [(r["output_id"], r["quantity"], r["condition"]) for r in csv.DictReader(file)]
    with (tree.folder / "reports/smoke/ledger.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = (
        "study output_id quantity condition kind published unit value low high n origin"
        " verdict reason step artifact"
    )
    assert " ".join(rows[0]) == columns
    found = [
        (r["output_id"], r["quantity"], r["condition"]) for r in rows if r["study"] == "crypto"
    ]
    assert found == reference
    assert all(row["verdict"] for row in rows)
    assert all(row["reason"] for row in rows if row["verdict"] in ("not run", "differs"))


def test_the_door_leads_to_the_run(tree: Tree) -> None:
    assert "smoke" in (tree.folder / "reports/index.html").read_text()
    assert (tree.folder / "reports/smoke/index.html").is_file()


def test_a_second_run_finds_nothing_to_do_quickly(tree: Tree) -> None:
    started = time.monotonic()
    done = tree.snakemake("--cores", "2")
    assert "Nothing to be done" in done.stdout + done.stderr
    assert time.monotonic() - started < 15


def test_the_audit_and_the_selftest_pass(tree: Tree) -> None:
    done = tree.run("remeasure", "audit", "--all", "--run", "smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    one = tree.run("remeasure", "audit", "reports/smoke/ledger.csv")
    assert one.returncode == 0
    assert "raw files" in one.stdout
    assert tree.run("remeasure", "ledger", "--run", "smoke", "--selftest").returncode == 0


@pytest.mark.parametrize(
    "pattern",
    [
        "data/raw/generated/*/data.binance.vision/data/spot/monthly/klines/ETHUSDT/5m/*-2024-10.zip",
        "data/features/smoke/crypto/hours.duckdb",
        "results/smoke/crypto/forecasts.parquet",
        "results/smoke/crypto/measurements/reversal.parquet",
        "reports/smoke/crypto/figures/fig_reversal.csv",
    ],
)
def test_the_audit_names_a_changed_file_and_what_stands_on_it(tree: Tree, pattern: str) -> None:
    (path,) = tree.folder.glob(pattern)
    before = path.read_bytes()
    middle = len(before) // 2
    path.write_bytes(before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1 :])
    try:
        done = tree.run("remeasure", "audit", "--all", "--run", "smoke")
    finally:
        path.write_bytes(before)
    assert done.returncode == 1, done.stdout + done.stderr
    name = path.relative_to(tree.folder).as_posix()
    assert f"FAIL {name}" in done.stdout
    standing = [
        line.split("stands on it: ")[1]
        for line in done.stdout.splitlines()
        if "stands on it" in line
    ]
    assert any(each.startswith("reports/smoke/") for each in standing)
    if "raw" in name or "hours" in name:
        assert "results/smoke/crypto/forecasts.parquet" in standing
        assert "reports/smoke/ledger.csv" in standing


def test_the_audit_fails_on_a_missing_link(tree: Tree) -> None:
    record = tree.folder / "provenance/smoke/results/crypto/forecasts.parquet.json"
    aside = record.rename(record.with_suffix(".aside"))
    try:
        done = tree.run("remeasure", "audit", "reports/smoke/ledger.csv")
    finally:
        aside.rename(record)
    assert done.returncode == 1
    assert "missing link" in done.stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"origin": "public"}, "says origin public, its inputs generated"),
        ({"inputs": {}}, "names other inputs than its rule"),
        ({"seed": 1}, "seed does not follow"),
        ({"writer": "0"}, "the writing of measurements"),
        ({"inputs": None}, "malformed"),
        ({"call": {}}, "malformed"),
    ],
)
def test_the_audit_believes_no_record(tree: Tree, change: dict[str, object], message: str) -> None:
    path = tree.folder / "provenance/smoke/results/crypto/measurements/tails.parquet.json"
    before = path.read_text()
    path.write_text(json.dumps({**json.loads(before), **change}))
    try:
        done = tree.run("remeasure", "audit", "--all", "--run", "smoke")
        one = tree.run("remeasure", "audit", "results/smoke/crypto/measurements/tails.parquet")
    finally:
        path.write_text(before)
    assert done.returncode == one.returncode == 1, done.stderr + one.stderr
    assert message in done.stdout
    assert message in one.stdout


def test_the_audit_misses_what_was_planned_and_is_gone(tree: Tree, tmp_path: Path) -> None:
    copy = copied(tmp_path / "gone", tree.folder, everything=True)
    (copy.folder / "reports/smoke/index.html").unlink()
    (copy.folder / "provenance/smoke/reports/index.html.json").unlink()
    done = copy.run("remeasure", "audit", "--all", "--run", "smoke")
    assert done.returncode == 1
    assert "FAIL reports/smoke/index.html" in done.stdout
    (copy.folder / "provenance/smoke/run.json").write_text("{")
    done = copy.run("remeasure", "audit", "--all", "--run", "smoke")
    assert done.returncode == 2
    assert "--forcerun site_index" in done.stderr


def test_what_is_no_longer_planned_is_named_and_pruned(tree: Tree, tmp_path: Path) -> None:
    copy = copied(tmp_path / "pruned", tree.folder, everything=True)
    note = copy.folder / "provenance/smoke/run.json"
    noted = json.loads(note.read_text())
    del noted["planned"]["results/smoke/crypto/boosters/2025.txt"]
    note.write_text(json.dumps(noted))
    done = copy.run("remeasure", "audit", "--all", "--run", "smoke")
    assert done.returncode == 1
    assert "no longer planned" in done.stdout
    done = copy.run("remeasure", "prune", "--run", "smoke")
    assert "removed results/smoke/crypto/boosters/2025.txt" in done.stdout
    assert not (copy.folder / "results/smoke/crypto/boosters/2025.txt").exists()


def test_swapped_files_of_a_rule_make_it_run_again(tree: Tree) -> None:
    drawn = tree.folder / "workflow/remeasure/studies/crypto/drawn.py"
    before = drawn.read_text()
    drawn.write_text(
        before.replace('("tails", "tails.parquet")', '("tails", "x")')
        .replace('"tails_histogram.parquet"', '"tails.parquet"')
        .replace('"x"', '"tails_histogram.parquet"')
    )
    try:
        planned = tree.planned()
    finally:
        drawn.write_text(before)
    assert "crypto_fig_tails" in planned
    assert "crypto_tails" not in planned


def test_editing_the_writer_of_measurements_lists_every_measuring_rule(tree: Tree) -> None:
    listed = users(tree, "workflow/remeasure/ledger/measurements.py")
    assert {"crypto_tails", "crypto_calendar", "crypto_trading"} <= listed
    assert "crypto_forecast" not in listed


def test_a_step_refuses_an_edited_input(tree: Tree, tmp_path: Path) -> None:
    copy = copied(tmp_path / "edited", tree.folder, everything=True)
    table = copy.folder / "results/smoke/crypto/reversal.parquet"
    table.write_bytes(table.read_bytes() + b"x")
    done = copy.snakemake("--cores", "1", "--force", "crypto_fig_reversal")
    assert done.returncode != 0
    assert "was edited after it was made" in done.stdout + done.stderr


def test_the_audit_fails_on_other_code_and_other_settings(tree: Tree) -> None:
    with edited(tree.folder / "workflow/remeasure/studies/crypto/reversal.py"):
        done = tree.run("remeasure", "audit", "results/smoke/crypto/measurements/reversal.parquet")
    assert done.returncode == 1
    assert "other code" in done.stdout
    config = tree.folder / "config/smoke.yaml"
    text = config.read_text()
    config.write_text(text.replace("trading: {resamples: 100}", "trading: {resamples: 101}"))
    try:
        done = tree.run("remeasure", "audit", "--all", "--run", "smoke")
    finally:
        config.write_text(text)
    assert done.returncode == 1
    assert "other settings" in done.stdout


def test_editing_the_figures_lists_figure_and_site_rules_only(tree: Tree) -> None:
    with edited(tree.folder / "workflow/remeasure/studies/crypto/figures.py"):
        planned = tree.planned()
    site = {"all", "site_index", "site_ledger", "site_provenance", "site_study"}
    figures = {rule for rule in planned if rule.startswith("crypto_fig_")}
    assert len(figures) >= 7
    assert set(planned) - figures <= site


#: More rules whose intervals come from the shared bootstrap. Two others stand on one of
#: these: Snakemake then names the updated input as the reason, not the code.
BOOTSTRAPPED = {
    "crypto_arena",
    "crypto_funding",
    "crypto_memory_direction",
    "crypto_random_strategies",
    "crypto_rules_grid",
    "crypto_synthetic",
    "crypto_volatility",
}


def users(tree: Tree, source: str) -> set[str]:
    """Rules that a dry run would run for their own sake after ``source`` was edited."""
    with edited(tree.folder / source):
        planned = tree.planned()
    return {rule for rule, reason in planned.items() if "Params have changed" in reason}


def test_editing_a_shared_estimator_lists_exactly_its_users(tree: Tree) -> None:
    assert users(tree, "workflow/remeasure/stats/auc.py") == {
        "crypto_direction",
        "crypto_synthetic",
    }
    assert users(tree, "workflow/remeasure/stats/bootstrap.py") == {
        "crypto_tails",
        "crypto_autocorrelation",
        "crypto_breakeven",
        "crypto_direction",
        "crypto_leak_audit",
        "crypto_trading",
        *BOOTSTRAPPED,
    }


def test_touching_lists_nothing(tree: Tree) -> None:
    for path in tree.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()
    assert tree.planned() == {}


def test_a_copied_tree_lists_nothing_and_runs_its_own_code(tree: Tree, tmp_path: Path) -> None:
    copy = copied(tmp_path / "elsewhere", tree.folder, everything=True)
    assert copy.planned() == {}
    with edited(copy.folder / "workflow/remeasure/studies/crypto/figures.py"):
        assert copy.planned()
        assert tree.planned() == {}
    with edited(
        copy.folder / "workflow/remeasure/errors.py", "\nraise SystemExit('the code of the copy')\n"
    ):
        assert "the code of the copy" in copy.run("remeasure", "sources").stderr


def test_a_failing_step_shows_its_message(tree: Tree, tmp_path: Path) -> None:
    copy = copied(tmp_path / "broken", tree.folder, everything=True)
    (raw,) = copy.folder.glob(
        "data/raw/generated/*/*/data/spot/monthly/klines/BTCUSDT/5m/*-2024-11.zip"
    )
    raw.write_bytes(raw.read_bytes()[:-7])
    done = copy.snakemake("--cores", "2", "--force", "data/features/smoke/crypto/candles_5m.duckdb")
    assert done.returncode != 0
    message = done.stdout + done.stderr
    assert "BTCUSDT-5m-2024-11.zip" in message
    assert "remedy:" in message
    assert "Traceback" not in message

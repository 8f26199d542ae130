"""The step that joins references, measurements and errata."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remeasure.studies
from remeasure.errors import DataError
from remeasure.ledger.join import (
    StudyRows,
    build_ledger,
    check_declaration,
    collect,
    headline_of,
    ledger_frame,
    not_run_reason,
)
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured, write_measurements
from remeasure.ledger.reference import Reference
from remeasure.ledger.settings import LedgerSettings
from remeasure.ledger.table import COLUMNS, SCHEMA, csv_text, read_csv, read_ledger
from remeasure.ledger.verdict import VERDICTS, verdict
from remeasure.studies.base import Output, Study

OUTPUTS = """
from remeasure.studies.base import Output, Study

STUDY = Study(
    id={id!r}, title="t", question="q", method=("m",), publication="A post, 2026",
    outputs=(
        Output(id="fig_a", kind="figure", title="a", needs=("spot candles", "a GPU")),
        Output(id="fig_b", kind="figure", title="b", pending="needs order books"),
        Output(id="cite_c", kind="cited", title="c", source="Lo 2002"),
        Output(id="fig_d", kind="drawing", title="d"),
    ),
)
"""
REFERENCE = """output_id,quantity,condition,value,unit,kind
fig_a,"rate [1], up",BTC,53.9,percent,empirical
fig_a,rate,ETH,53.8,percent,empirical
fig_a,hours,,51057,hours,exact
fig_a,models,,6,models,cited
fig_b,cost,,0.01,bp,empirical
fig_b,sum,,3,,exact
cite_c,years,,20,years,cited
"""
ERRATA = """output_id,quantity,condition,published,correct,proof
fig_b,sum,,3,2,1 + 1 is 2
"""


class World:
    """Two studies in a folder of their own, and a run that measured some of their rows."""

    def __init__(self, root: Path) -> None:
        self.root, self.files = root, list[Path]()
        for study in ("one", "two"):
            folder = root / "studies" / study
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text("")
            (folder / "outputs.py").write_text(OUTPUTS.format(id=study))
            (folder / "reference.csv").write_text(REFERENCE)
            (folder / "errata.csv").write_text(ERRATA)

    def measure(self, study: str, module: str, *rows: Measurement, origin: str = "mirror") -> World:
        path = self.root / "results" / "default" / study / "measurements" / f"{module}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_measurements(path, rows, step=f"{study}.{module}:f", artifact="a.csv", origin=origin)
        self.files.append(path)
        return self

    def paths(self, name: str) -> list[Path]:
        return sorted((self.root / "studies").glob(f"*/{name}"))

    def build(self, **changes: Any) -> tuple[pl.DataFrame, Path, dict[str, Any]]:
        ledger, table, headline = (
            self.root / name for name in ("ledger.parquet", "ledger.csv", "headline.json")
        )
        arguments: dict[str, Any] = {
            "measurements": self.files,
            "references": self.paths("reference.csv"),
            "errata": self.paths("errata.csv"),
            "settings": LedgerSettings(studies=("two", "one")),
            "ledger": ledger,
            "table": table,
            "headline": headline,
        }
        build_ledger(**{**arguments, **changes})
        return read_ledger(ledger), table, json.loads(headline.read_text())


def row(output: str, quantity: str, condition: str, value: Any, **more: Any) -> Measurement:
    return Measurement(
        output_id=output, quantity=quantity, condition=condition, value=value, **more
    )


UP = "rate [1], up"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    made = World(tmp_path)
    monkeypatch.setattr(
        remeasure.studies, "__path__", [*remeasure.studies.__path__, str(tmp_path / "studies")]
    )
    yield made
    for name in [each for each in sys.modules if each.startswith("remeasure.studies.")]:
        if name.split(".")[2] in ("one", "two"):
            del sys.modules[name]
            vars(remeasure.studies).pop(name.split(".")[2], None)


def test_every_row_has_its_verdict_in_order(world: World) -> None:
    world.measure(
        "one",
        "rates",
        row("fig_a", UP, "BTC", 53.93, low=53.4, high=54.4, n=42142),
        row("fig_a", "rate", "ETH", None, note="no ETH candles"),
        row("fig_a", "hours", "", 51057),
    )
    frame, table, headline = world.build()
    with table.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert frame["study"].to_list() == ["one"] * 7 + ["two"] * 7
    printed = list(csv.DictReader(REFERENCE.splitlines()))
    for lines_of_study in (lines[:7], lines[7:]):
        for line, reference in zip(lines_of_study, printed, strict=True):
            for name in ("output_id", "quantity", "condition", "unit", "kind"):
                assert line[name] == reference[name]
            assert line["published"] == reference["value"]
    assert [(line["verdict"], line["reason"]) for line in lines[:7]] == [
        ("reproduced", "rounds to the published value"),
        ("not run", "no ETH candles"),
        ("exact", "equal at the printed precision"),
        ("cited", "quoted: stated in A post, 2026 without a source"),
        ("not run", "needs order books"),
        ("erratum", "1 + 1 is 2"),
        ("cited", "quoted: Lo 2002"),
    ]
    assert [line["reason"] for line in lines[7:9]] == [
        "needs spot candles, a GPU; no step of this run measured it"
    ] * 2
    assert [line["origin"] for line in lines[:3]] == ["mirror", "", "mirror"]
    assert [line["step"] for line in lines[:4]] == ["one.rates:f"] * 3 + [""]
    assert headline["rows"] == 14
    assert headline["verdicts"]["not run"] == 6
    assert headline["studies"]["one"]["verdicts"] == {
        **dict.fromkeys(VERDICTS, 0),
        "reproduced": 1,
        "not run": 2,
        "exact": 1,
        "cited": 2,
        "erratum": 1,
    }


def test_csv_is_fixed_and_plain(world: World) -> None:
    world.measure(
        "one",
        "rates",
        row("fig_a", UP, "BTC", 53.0, low=-0.1, high=1e9, n=3),
        row("fig_a", "hours", "", "many, or few"),
        origin="public",
    )
    _, table, _ = world.build()
    lines = table.read_bytes().decode().split("\n")
    assert lines[0] == (
        "study,output_id,quantity,condition,kind,published,unit,value,low,high,n,origin,"
        "verdict,reason,step,artifact"
    )
    assert lines[1] == (
        'one,fig_a,"rate [1], up",BTC,empirical,53.9,percent,53,-0.1,1000000000,3,public,'
        'consistent,"the published value lies in our interval, width 1000000000, wider than the'
        ' published value itself",one.rates:f,a.csv'
    )
    assert lines[3].startswith('one,fig_a,hours,,exact,51057,hours,"many, or few",,,,public,')
    assert lines[7] == "one,cite_c,years,,cited,20,years,,,,,,cited,quoted: Lo 2002,,"
    assert lines[-1] == ""
    assert "\r" not in table.read_text()


def test_csv_reads_back_as_the_ledger(world: World) -> None:
    world.measure("two", "rates", row("fig_a", UP, "BTC", 0.1, low=0.0, high=0.3, n=3))
    frame, table, _ = world.build()
    assert read_csv(table).equals(frame.select(COLUMNS))
    assert csv_text(read_csv(table)) == table.read_text()
    assert csv_text(frame) == table.read_text()
    table.write_text("study,verdict\none,exact\n")
    with pytest.raises(DataError, match="the header is study,verdict"):
        read_csv(table)


def test_headline_counts_weak_consistency(world: World) -> None:
    world.measure(
        "one",
        "rates",
        row("fig_a", UP, "BTC", 50.0, low=0.0, high=60.0),
        row("fig_a", "rate", "ETH", 50.0, low=50.0, high=60.0),
    )
    _, _, headline = world.build()
    assert headline["verdicts"]["consistent"] == 2
    assert headline["consistent_wider_than_published"] == 1
    assert headline["studies"]["one"]["consistent_wider_than_published"] == 1
    assert headline["studies"]["two"]["consistent_wider_than_published"] == 0


def test_same_inputs_give_the_same_bytes_in_any_order(world: World) -> None:
    world.measure("one", "rates", row("fig_a", UP, "BTC", 53.9))
    world.measure("one", "hours", row("fig_a", "hours", "", 51057), origin="generated")
    world.measure("two", "rates", row("fig_a", UP, "BTC", 1.0), origin="generated")
    names = ("ledger.parquet", "ledger.csv", "headline.json")
    world.build()
    first = [(world.root / name).read_bytes() for name in names]
    world.files.reverse()
    world.build(
        references=world.paths("reference.csv")[::-1], errata=world.paths("errata.csv")[::-1]
    )
    assert [(world.root / name).read_bytes() for name in names] == first


def test_all_misfits_are_listed_at_once(world: World) -> None:
    world.measure("one", "rates", row("fig_a", UP, "BTC", 1.0), row("fig_a", UP, "btc", 1.0))
    world.measure("one", "again", row("fig_a", UP, "BTC", 2.0))
    world.measure("three", "rates", row("fig_a", UP, "BTC", 2.0))
    with pytest.raises(DataError) as caught:
        world.build()
    problems = caught.value.what.splitlines()[1:]
    assert [problem.strip() for problem in problems] == [
        "one, fig_a: rate [1], up (BTC): measured twice, by one.again:f and one.rates:f",
        "one, fig_a: rate [1], up (btc): no such row in reference.csv; measured by one.rates:f",
        "three, fig_a: rate [1], up (BTC): no such row in reference.csv; measured by three.rates:f",
    ]
    assert not (world.root / "ledger.parquet").exists()


def edit(world: World, name: str, change: Callable[[str], str]) -> None:
    path = world.root / "studies" / "one" / name
    path.write_text(change(path.read_text()))


def test_declarations_and_rows_must_match(world: World) -> None:
    edit(world, "errata.csv", lambda text: text.replace("fig_b", "fig_x"))
    edit(world, "reference.csv", lambda text: text.replace("fig_b", "fig_x"))
    edit(world, "reference.csv", lambda text: text.replace("cite_c", "cite_y"))
    with pytest.raises(DataError) as caught:
        world.build()
    assert [line.strip() for line in caught.value.what.splitlines()[1:]] == [
        "cite_y: in reference.csv, not in outputs.py",
        "fig_x: in reference.csv, not in outputs.py",
        "fig_b: in outputs.py, without a row in reference.csv",
    ]


def test_outputs_are_declared_once() -> None:
    twice = (Output(id="fig_a", kind="figure", title="a"),) * 2
    study = Study(id="s", title="", question="", method=(), publication="", outputs=twice)
    with pytest.raises(DataError, match="fig_a: declared twice"):
        check_declaration(study, [Reference.printed("fig_a", "q", "", "1", "", "exact")])


def test_studies_without_a_declaration_are_named(world: World) -> None:
    edit(world, "outputs.py", lambda _: "")
    with pytest.raises(DataError, match="study 'one' declares no outputs"):
        world.build()
    edit(world, "outputs.py", lambda _: OUTPUTS.format(id="other"))
    sys.modules.pop("remeasure.studies.one.outputs")
    with pytest.raises(DataError, match="not the declaration of 'one'"):
        world.build()


def test_files_must_be_those_of_the_studies(world: World) -> None:
    with pytest.raises(DataError, match="do not match: three"):
        world.build(settings=LedgerSettings(studies=("one", "two", "three")))
    with pytest.raises(DataError, match="do not match: two"):
        world.build(settings=LedgerSettings(studies=("one",)))
    with pytest.raises(DataError, match=r"two files reference\.csv"):
        world.build(references=world.paths("reference.csv") * 2)
    with pytest.raises(DataError, match=r"not a reference\.csv"):
        world.build(references=world.paths("errata.csv"))
    stray = world.root / "stray.parquet"
    write_measurements(stray, [], step="s", artifact="a", origin="mirror")
    with pytest.raises(DataError, match="measurements lie in an unexpected place"):
        world.build(measurements=[stray])


def test_errata_are_optional(world: World) -> None:
    frame, _, headline = world.build(errata=[])
    assert headline["verdicts"]["erratum"] == 0
    assert frame.height == 14


@pytest.mark.parametrize(
    ("output", "others", "reason"),
    [
        ({"pending": "needs order books", "needs": ("x",)}, True, "needs order books"),
        ({"needs": ("x", "y")}, False, "needs x, y; no step of this run measured it"),
        ({"needs": ("x",)}, True, "no step of this run measures this row"),
        ({}, False, "no step of this run measured it"),
    ],
)
def test_reasons_of_not_run(output: dict[str, Any], others: bool, reason: str) -> None:
    declared = Output(id="o", kind="figure", title="t", **output)
    assert not_run_reason(declared, others_measured=others).startswith(reason)


# --- laws -----------------------------------------------------------------------------------

KEYS = [("fig_a", f"q{i}", "") for i in range(6)]


def study_of(references: Sequence[Reference]) -> Study:
    outputs = tuple(
        Output(id=each, kind="number", title="")
        for each in sorted({row.output_id for row in references})
    )
    return Study(id="s", title="", question="", method=(), publication="", outputs=outputs)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(["exact", "empirical", "cited"]), min_size=6, max_size=6),
    st.lists(st.none() | st.integers(-9, 9), min_size=6, max_size=6),
    st.randoms(use_true_random=False),
)
def test_no_row_is_missing_and_order_does_not_matter(
    kinds: list[str], values: list[int | None], random: Any
) -> None:
    references = [
        Reference.printed(*key, str(i), "", kind)
        for i, (key, kind) in enumerate(zip(KEYS, kinds, strict=True))
    ]
    measured = [
        Measured(measurement=row(*key, value), origin="mirror", step=f"s{value}")
        for key, value in zip(KEYS, values, strict=True)
        if value is not None
    ]
    shuffled = random.sample(measured, len(measured))
    study = study_of(references)
    frames = [
        ledger_frame(
            [StudyRows(study, references, collect({"s": references}, [("s", m) for m in ms])["s"])]
        )
        for ms in (measured, shuffled)
    ]
    assert frames[0].equals(frames[1])
    frame = frames[0]
    assert list(frame.columns) == list(SCHEMA.columns)
    assert frame["quantity"].to_list() == [each.quantity for each in references]
    answers = {m.measurement.quantity: m for m in measured}
    for line, reference in zip(frame.iter_rows(named=True), references, strict=True):
        expected = verdict(reference, answers.get(reference.quantity)).verdict
        assert line["verdict"] == expected
    headline = headline_of(frame)
    assert headline["rows"] == sum(headline["verdicts"].values()) == len(references)

"""The self-test finds every way in which the ledger could be too kind."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from remeasure.ledger import verdict as room
from remeasure.ledger.join import ledger_row
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import Erratum, Reference
from remeasure.ledger.selftest import RULES, run_selftest
from remeasure.ledger.table import TYPES, validated
from remeasure.ledger.verdict import VERDICTS, Verdict, verdict


def line(quantity: str, published: str, kind: str, origin: str = "mirror", **more: Any) -> Any:
    digits = more.pop("digits", None)
    reference = Reference.printed("f", quantity, "", published, "", kind, digits)
    measured = Measured(
        measurement=Measurement(output_id="f", quantity=quantity, condition="", **more),
        origin=origin,
        step="m:f",
        artifact="a",
    )
    return ledger_row("s", reference, measured, None, "no GPU")


def ledger() -> pl.DataFrame:
    rows = [
        line("a", "51057", "exact", value=51057),
        line("b", "58000", "exact", value=57853.6, digits=2),
        line("c", "53.9", "empirical", value=53.93, low=53.0, high=54.0),
        line("d", "53.9", "empirical", value=53.0, low=52.0, high=54.0),
        line("e", "53.9", "empirical", "generated", value=53.0, low=52.0, high=54.0, truth=52.0),
        line("f", "2025-03", "empirical", value="2025-03"),
        line("g", "1e6", "empirical", value=7e5),
    ]
    return validated(pl.DataFrame(rows, schema=TYPES, orient="row"), "test")


def test_a_sound_ledger_passes_and_every_rule_was_tried() -> None:
    report = run_selftest(ledger())
    assert report.passed, report.text()
    assert dict(report.rows["run"]) == {
        "exact": 2,
        "reproduced": 3,
        "consistent": 1,
        "planted": 1,
    }
    assert dict(report.probes["run"]) == dict(zip(RULES, (4, 6, 2, 2, 6, 4, 7), strict=True))
    assert all(report.probes["made up"][rule] for rule in RULES)
    assert all(report.rows["made up"][name] for name in VERDICTS)


def test_what_a_run_could_not_test_is_said() -> None:
    text = run_selftest(None).text()
    assert "passed" in text.splitlines()
    for name in VERDICTS:
        assert any(
            each.startswith(name) and "no row of this run to test" in each
            for each in text.splitlines()
        )
    tested = run_selftest(ledger()).text().splitlines()
    assert not any(each.startswith("consistent ") and "no row" in each for each in tested)


def test_a_ledger_whose_verdict_was_typed_by_hand_fails() -> None:
    typed = ledger().with_columns(
        verdict=pl.when(pl.col("quantity") == "d")
        .then(pl.lit("reproduced"))
        .otherwise(pl.col("verdict"))
    )
    report = run_selftest(typed)
    assert not report.passed
    assert any("the ledger says reproduced, judged again consistent" in s for s in report.survivors)
    assert "FAILED" in report.text()


def lenient(better: Callable[[Reference, Measured, Verdict], Verdict]) -> Any:
    """A judge that improves some verdicts."""

    def judge(
        reference: Reference,
        measured: Measured | None,
        erratum: Erratum | None = None,
        not_run: str = "",
    ) -> Verdict:
        found = verdict(reference, measured, erratum, not_run)
        if measured is None or reference.number is None or reference.kind == "cited":
            return found
        return better(reference, measured, found)

    return judge


def generous_rounding(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    value = measured.measurement.value
    if not isinstance(value, float) or found.verdict not in ("differs", "consistent"):
        return found
    assert reference.number is not None
    assert reference.precision is not None
    off = abs(Decimal(repr(value)) - reference.number)
    near = off <= Decimal("1.5") * (reference.precision or 1)
    return (
        Verdict("reproduced" if reference.kind == "empirical" else "exact", "x") if near else found
    )


def always_consistent(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    has = measured.measurement.low is not None and found.verdict == "differs"
    return Verdict("consistent", "x") if has else found


def always_planted(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    return Verdict("planted", "x") if found.verdict == "planted-missed" else found


def coverage_ignored(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    return Verdict("reproduced", "x") if found.verdict == "partial" else found


def origin_ignored(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    return Verdict("reproduced", "x") if found.verdict == "generated" else found


def silence_is_praise(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    return Verdict("exact", "x") if found.verdict == "not run" else found


def no_reasons(reference: Reference, measured: Measured, found: Verdict) -> Verdict:
    return Verdict(found.verdict, "")


@pytest.mark.parametrize("frame", [None, ledger()], ids=["made up", "run"])
@pytest.mark.parametrize(
    "better",
    [
        generous_rounding,
        always_consistent,
        always_planted,
        coverage_ignored,
        origin_ignored,
        silence_is_praise,
        no_reasons,
    ],
)
def test_a_judge_that_is_too_kind_is_caught(better: Any, frame: pl.DataFrame | None) -> None:
    assert not run_selftest(frame, judge=lenient(better)).passed


def test_a_wider_tolerance_in_the_code_itself_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    original = room.rounds_to
    monkeypatch.setattr(
        room, "rounds_to", lambda value, number, unit: original(value, number, 3 * unit)
    )
    assert any(RULES[0] in each for each in run_selftest(None).survivors)
    assert any(RULES[1] in each for each in run_selftest(None).survivors)

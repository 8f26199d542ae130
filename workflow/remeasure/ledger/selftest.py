"""Does the ledger notice? Perturb every row that it praises; each must lose its verdict.

A ledger that calls everything fine would look the same as a good one. So
every praised row of a finished run is disturbed, and every disturbed row is
judged again by the same function:

- ``exact`` and ``reproduced``: the published value one unit of its last
  printed digit up, and down;
- ``consistent``: our value and interval moved until the published value lies
  below, and above;
- ``planted``: the truth moved out of the interval, below and above;
- ``exact``, ``reproduced`` and ``consistent``: part of the data declared missing,
  must become ``partial``;
- ``reproduced`` and ``consistent``: the data declared generated;
- every row with a value: the value taken away, must become ``not run``.

The same is done to rows made up here, which exercise each rule and each
verdict even where a run has no row of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured, describe
from remeasure.ledger.reference import Erratum, Reference
from remeasure.ledger.verdict import VERDICTS, Verdict, verdict

Judge = Callable[[Reference, Measured | None, Erratum | None, str], Verdict]


@dataclass(frozen=True)
class Case:
    """One row with everything its verdict rests on, and the verdict it has."""

    study: str
    reference: Reference
    measured: Measured | None
    erratum: Erratum | None
    otherwise: str
    verdict: str

    @property
    def name(self) -> str:
        """The row, for people."""
        return f"{self.study}, {describe(self.reference.key)}"


@dataclass(frozen=True)
class Probe:
    """One disturbed row: the rule it tests, and the verdicts it may have now."""

    rule: str
    case: Case
    allowed: frozenset[str]


@dataclass
class SelfTest:
    """What the self-test found.

    Attributes
    ----------
    rows
        Rows by verdict: of the run, and made up.
    probes
        Disturbed rows by rule: of the run, and made up.
    survivors
        What a disturbed row kept, or a stored verdict that is not today's; empty when all is well.
    """

    rows: dict[str, Counter[str]] = field(
        default_factory=lambda: {"run": Counter(), "made up": Counter()}
    )
    probes: dict[str, Counter[str]] = field(
        default_factory=lambda: {"run": Counter(), "made up": Counter()}
    )
    survivors: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no disturbed row kept its verdict."""
        return not self.survivors

    def text(self) -> str:
        """The report for a terminal."""
        lines = ["verdict          rows of this run  rows made up"]
        for name in VERDICTS:
            ours, made = self.rows["run"][name], self.rows["made up"][name]
            gap = "" if ours else "   no row of this run to test: made-up rows only"
            lines.append(f"{name:<16} {ours:>16}  {made:>12}{gap}")
        lines += ["", f"{'disturbed and judged again':<58} {'this run':>9} {'made up':>8}"]
        for rule in RULES:
            ours, made = self.probes["run"][rule], self.probes["made up"][rule]
            gap = "" if ours else "   no row of this run to test"
            lines.append(f"{rule:<58} {ours:>9} {made:>8}{gap}")
        total = sum(sum(each.values()) for each in self.probes.values())
        lines += ["", f"{total} disturbed rows, {len(self.survivors)} survivors"]
        lines += [f"  SURVIVOR {each}" for each in self.survivors]
        lines.append("passed" if self.passed else "FAILED")
        return "\n".join(lines)


RULES = (
    "exact: published one printed unit away must not be exact",
    "reproduced: published one printed unit away must not be so",
    "consistent: interval off the published value must differ",
    "planted: truth out of the interval must be missed",
    "real or exact: part of the data missing must be partial",
    "real data declared generated must not be real",
    "measured value taken away must be not run",
)
_EXACT, _REPRODUCED, _CONSISTENT, _PLANTED, _PARTIAL, _GENERATED, _NOT_RUN = RULES


def cases(frame: pl.DataFrame) -> Iterator[Case]:
    """The rows of a stored ledger, whole again.

    Parameters
    ----------
    frame
        With the columns of ``table.SCHEMA``.
    """
    for row in frame.iter_rows(named=True):
        reference = Reference.printed(
            row["output_id"],
            row["quantity"],
            row["condition"],
            row["published"],
            row["unit"],
            row["kind"],
            row["digits"],
            row["source"],
        )
        erratum = None
        if row["proof"] is not None:
            erratum = Erratum(
                output_id=row["output_id"],
                quantity=row["quantity"],
                condition=row["condition"],
                published=row["published"],
                correct=row["correct"],
                proof=row["proof"],
            )
        yield Case(
            row["study"], reference, _measured(row), erratum, row["otherwise"], row["verdict"]
        )


def _measured(row: dict[str, Any]) -> Measured | None:
    if row["origin"] is None:
        return None
    text = row["value_text"]
    return Measured(
        measurement=Measurement(
            output_id=row["output_id"],
            quantity=row["quantity"],
            condition=row["condition"],
            value=row["value_number"] if text is None else text,
            low=row["low"],
            high=row["high"],
            n=row["n"],
            truth=row["truth"],
            coverage=row["coverage"],
            note=row["note"],
        ),
        origin=row["origin"],
        step=row["step"] or "",
        artifact=row["artifact"] or "",
    )


def _all_but(*names: str) -> frozenset[str]:
    return frozenset(VERDICTS) - frozenset(names)


def _altered(case: Case, **changes: Any) -> Case:
    """The case with a changed measurement."""
    if case.measured is None:
        return case
    changed = replace(case.measured.measurement, **changes)
    return replace(case, measured=replace(case.measured, measurement=changed))


def _shifted(case: Case, up: bool) -> Case:
    """Our value and interval moved as a whole to one side of the published value.

    The nearer end stops two printed units, or the interval's width, whichever
    is more, away: no value in it can round to the printed one.
    """
    if case.measured is None or case.reference.number is None:
        return case
    measurement = case.measured.measurement
    value, low, high = measurement.value, measurement.low, measurement.high
    if not isinstance(value, float) or low is None or high is None:
        return case
    published = float(case.reference.number)
    clear = max(high - low, 2 * float(case.reference.precision or 0), abs(published) * 1e-9)
    by = published + clear - low if up else published - clear - high
    new_low, new_value, new_high = low + by, value + by, high + by
    return _altered(case, value=new_value, low=new_low, high=new_high)


def _planted_elsewhere(case: Case) -> Iterator[Case]:
    if case.measured is None or not isinstance(case.measured.measurement.value, float):
        return
    measurement = case.measured.measurement
    value = case.measured.measurement.value
    low = value if measurement.low is None else measurement.low
    high = value if measurement.high is None else measurement.high
    clear = max(high - low, abs(value) * 1e-6, 1e-12)
    yield _altered(case, truth=low - clear)
    yield _altered(case, truth=high + clear)


def probes(case: Case) -> Iterator[Probe]:
    """Every disturbance of one row, with the verdicts that a sound ledger may give it."""
    name = case.verdict
    if name in ("exact", "reproduced"):
        rule = _EXACT if name == "exact" else _REPRODUCED
        for units in (-1, 1):
            moved = replace(case, reference=case.reference.moved(units))
            yield Probe(rule, moved, _all_but("exact", "reproduced"))
    if name == "consistent":
        for up in (False, True):
            yield Probe(_CONSISTENT, _shifted(case, up), frozenset({"differs"}))
    if name == "planted":
        for moved in _planted_elsewhere(case):
            yield Probe(_PLANTED, moved, frozenset({"planted-missed"}))
    if name in ("exact", "reproduced", "consistent"):
        yield Probe(_PARTIAL, _altered(case, coverage="half of it"), frozenset({"partial"}))
    if name in ("reproduced", "consistent") and case.measured is not None:
        generated = replace(case, measured=replace(case.measured, origin="generated"))
        yield Probe(_GENERATED, generated, frozenset({"generated", "planted", "planted-missed"}))
    if name not in ("cited", "erratum", "not run"):
        gone = _altered(case, value=None, low=None, high=None, truth=None)
        yield Probe(_NOT_RUN, gone, frozenset({"not run"}))


def _constructed() -> Iterator[Case]:
    """Rows made up so that every verdict and every rule is exercised."""

    def case(
        expected: str,
        published: str,
        kind: str,
        origin: str = "",
        *,
        digits: int | None = None,
        erratum: bool = False,
        **measurement: Any,
    ) -> Case:
        key = ("made_up", f"{expected} {published}", origin)
        reference = Reference.printed(*key, published, "", kind, digits)
        measured = None
        if origin:
            measured = Measured(
                measurement=Measurement(
                    output_id=key[0], quantity=key[1], condition=key[2], **measurement
                ),
                origin=origin,
            )
        listed = None
        if erratum:
            listed = Erratum(
                output_id=key[0],
                quantity=key[1],
                condition=key[2],
                published=published,
                correct="0",
                proof="1 + 1 is not 3",
            )
        return Case("made up", reference, measured, listed, "needs a GPU", expected)

    yield case("exact", "51057", "exact", "generated", value=51057.0)
    yield case("exact", "-0.5", "exact", "computed", value=-0.55)
    yield case("exact", "58000", "exact", "computed", value=57853.6, digits=2)
    yield case("exact", "8.4e-05", "exact", "computed", value=8.36e-05)
    yield case("exact", "0", "exact", "computed", value=0.0)
    yield case("exact", "0.0e+00", "exact", "computed", value=0.0)
    yield case("exact", "MA 12/24", "exact", "computed", value="ma  12/24")
    for origin in ("files", "mirror", "package", "public", "computed"):
        yield case("reproduced", "53.9", "empirical", origin, value=53.85, low=53.0, high=54.0)
        yield case("consistent", "53.9", "empirical", origin, value=53.2, low=52.0, high=54.0)
        yield case("differs", "53.9", "empirical", origin, value=50.0, low=49.0, high=51.0)
        yield case("partial", "53.9", "empirical", origin, value=53.9, coverage="2025 only")
    yield case("reproduced", "2025-03", "empirical", "public", value="2025-03")
    yield case("consistent", "-0.005", "empirical", "mirror", value=0.1, low=-0.1, high=0.3)
    yield case(
        "planted", "54.0", "empirical", "generated", value=53.0, low=52.0, high=54.0, truth=53.5
    )
    yield case("planted", "12", "empirical", "generated", value=7.0, truth=7.0)
    yield case(
        "planted-missed",
        "54.0",
        "empirical",
        "generated",
        value=53.0,
        low=52.0,
        high=54.0,
        truth=9.0,
    )
    yield case("planted-missed", "12", "empirical", "generated", value=7.0, truth=7.5)
    yield case("generated", "53.9", "empirical", "generated", value=53.9, low=53.0, high=54.0)
    yield case("partial", "51057", "exact", "mirror", value=51057.0, coverage="2025 only")
    yield case("differs", "51057", "exact", "computed", value=51056.0)
    yield case("not run", "1.56", "empirical")
    yield case("not run", "1.56", "empirical", "mirror", value=None, note="no candles")
    yield case("cited", "10000", "cited")
    yield case("erratum", "3", "exact", "computed", value=2.0, erratum=True)


def run_selftest(frame: pl.DataFrame | None, judge: Judge = verdict) -> SelfTest:
    """Disturb every praised row of a ledger, and the rows made up here.

    Parameters
    ----------
    frame
        A ledger with the columns of ``table.SCHEMA``; None tests the made-up rows alone.
    judge
        The function under test; anything but ``verdict`` only in tests of this test.

    Returns
    -------
    Counts and survivors. A row whose stored verdict is not the one that the
    function gives today counts as a survivor as well.
    """
    report = SelfTest()
    sources: Sequence[tuple[str, Iterator[Case]]] = (
        ("made up", _constructed()),
        ("run", iter(()) if frame is None else cases(frame)),
    )
    for source, rows in sources:
        for case in rows:
            report.rows[source][case.verdict] += 1
            now = judge(case.reference, case.measured, case.erratum, case.otherwise)
            if now.verdict != case.verdict or not now.reason.strip():
                report.survivors.append(
                    f"{case.name}: the ledger says {case.verdict}, judged again {now.verdict}"
                )
            for probe in probes(case):
                report.probes[source][probe.rule] += 1
                disturbed = probe.case
                again = judge(
                    disturbed.reference,
                    disturbed.measured,
                    disturbed.erratum,
                    disturbed.otherwise,
                )
                if again.verdict not in probe.allowed:
                    report.survivors.append(f"{case.name}: {probe.rule}; it is {again.verdict}")
    report.survivors += [
        f"no row exercises: {rule}" for rule in RULES if not report.probes["made up"][rule]
    ]
    report.survivors += [
        f"no made-up row has the verdict: {name}"
        for name in VERDICTS
        if not report.rows["made up"][name]
    ]
    return report

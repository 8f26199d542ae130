"""The one verdict function: a table of every verdict, and laws that hold for all rows."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remeasure.errors import DataError
from remeasure.ledger.measurement import ORIGINS, Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import KINDS, Erratum, Reference
from remeasure.ledger.verdict import (
    VERDICTS,
    Verdict,
    format_number,
    rounds_to,
    short_number,
    verdict,
    wider_than_published,
)

REAL = [origin for origin in ORIGINS if origin != "generated"]
WIDE = ", wider than the published value itself"
IN = "the published value lies in our interval, width "


def row(published: str, kind: str = "empirical", **more: Any) -> Reference:
    return Reference.printed("f", "q", "c", published, "%", kind, **more)


def got(value: Any, origin: str = "mirror", **more: Any) -> Measured:
    return Measured(
        measurement=Measurement(output_id="f", quantity="q", condition="c", value=value, **more),
        origin=origin,
        step="m:f",
    )


ERRATUM = Erratum(
    output_id="f", quantity="q", condition="c", published="3", correct="2", proof="1 + 1 is 2"
)
EQUAL, ROUNDS = "equal at the printed precision", "rounds to the published value"
UNKNOWN = "no reason is known yet"
TRUTH, MET = "planted truth", "to be met exactly: no interval was computed"
GENERATED = "generated data, no truth planted for this quantity: not comparable"

GEN_PART = f"{GENERATED}; 1 y; n"
INSIDE = f"{TRUTH} 7 lies inside our interval"
OUTSIDE = f"{TRUTH} 9.01 lies outside our interval"


def sim(truth: float) -> Measured:
    return got(8.0, "generated", low=7.0, high=9.0, truth=truth)


TABLE: list[tuple[Reference, Measured | None, Erratum | None, str, str, str]] = [
    # cited: always
    (row("10", "cited"), None, None, "", "cited", "quoted, no source named"),
    (row("10", "cited", source="Lo 2002"), None, None, "", "cited", "quoted: Lo 2002"),
    (row("10", "cited"), got(3.0), None, "", "cited", "quoted, no source named"),
    (row("10", "cited", source="A"), None, ERRATUM, "", "cited", "quoted: A; 1 + 1 is 2"),
    # erratum: whatever was measured
    (row("3", "exact"), None, ERRATUM, "", "erratum", "1 + 1 is 2"),
    (row("3", "exact"), got(3.0), ERRATUM, "", "erratum", "1 + 1 is 2"),
    (row("3"), got(2.0, coverage="half"), ERRATUM, "", "erratum", "1 + 1 is 2"),
    (row("3"), got(None, note="no GPU"), ERRATUM, "", "erratum", "1 + 1 is 2; no GPU"),
    # not run: the measurement's own reason first
    (row("3"), None, None, "needs a GPU", "not run", "needs a GPU"),
    (row("3"), None, None, "", "not run", "no step of this run measured it"),
    (row("3"), got(None, note="no candles"), None, "needs a GPU", "not run", "no candles"),
    (row("3"), got(None), None, "needs a GPU", "not run", "needs a GPU"),
    (row("3", "exact"), got(None), None, " ", "not run", "no step of this run measured it"),
    # exact: origin does not matter, coverage does
    (row("3", "exact"), got(3.4, "generated"), None, "", "exact", EQUAL),
    (row("3", "exact"), got(3.5), None, "", "differs", UNKNOWN),
    (row("3", "exact"), got(3.5, note="typo"), None, "", "differs", "typo"),
    (row("3", "exact"), got(4, low=2, high=5), None, "", "differs", UNKNOWN),
    (row("3", "exact"), got(3, coverage="2025"), None, "", "partial", "2025"),
    (row("3", "exact"), got(9, "generated", coverage="2025"), None, "", "partial", "2025"),
    (row("3", "exact"), got(3, note="n"), None, "", "exact", EQUAL + "; n"),
    (row("MA 12/24", "exact"), got(" ma  12/24 "), None, "", "exact", EQUAL),
    (row("MA 12/24", "exact"), got("MA 12/48"), None, "", "differs", UNKNOWN),
    (row("3", "exact"), got("3"), None, "", "exact", EQUAL),
    (row("3", "exact"), got("3.0"), None, "", "differs", UNKNOWN),
    (row("yes", "exact"), got(1.0), None, "", "differs", UNKNOWN),
    # generated
    (row("3"), got(3.0, "generated"), None, "", "generated", GENERATED),
    (row("3"), got(3, "generated", coverage="1 y", note="n"), None, "", "generated", GEN_PART),
    (row("a"), got("a", "generated"), None, "", "generated", GENERATED),
    (row("3"), sim(truth=7), None, "", "planted", INSIDE),
    (row("3"), sim(truth=9.01), None, "", "planted-missed", OUTSIDE),
    (row("3"), got(8, "generated", truth=8), None, "", "planted", f"{TRUTH} 8, {MET}"),
    (row("3"), got(3, "generated", truth=8), None, "", "planted-missed", f"{TRUTH} 8, {MET}"),
    # real data
    (row("53.9"), got(53.94), None, "", "reproduced", ROUNDS),
    (row("53.9"), got(53.96), None, "", "differs", UNKNOWN),
    (row("53.9"), got(53.96, note="other halts"), None, "", "differs", "other halts"),
    (row("53.9"), got(53.96, low=53.9, high=54), None, "", "consistent", IN + "0.1"),
    (row("53.9"), got(53.96, low=53.91, high=54), None, "", "differs", UNKNOWN),
    (row("-0.005"), got(0.001, low=-0.008, high=0.01), None, "", "consistent", IN + "0.018" + WIDE),
    (row("0"), got(0.7, low=-1, high=1), None, "", "consistent", IN + "2" + WIDE),
    (row("53.9"), got(53.9, coverage="2025"), None, "", "partial", "2025"),
    (row("53.9"), got(53, low=5, high=60, coverage="A", note="n"), None, "", "partial", "A; n"),
    (row("53.9"), got(50, low=49, high=51, coverage="2025"), None, "", "partial", "2025"),
    (row("58000", digits=2), got(57853.6), None, "", "reproduced", ROUNDS),
    (row("58000"), got(57853.6), None, "", "differs", UNKNOWN),
    (row("2025-03"), got("2025-03"), None, "", "reproduced", ROUNDS),
    (row("2025-03"), got("2025-04"), None, "", "differs", UNKNOWN),
    # a truth on real data is not read
    (row("53.9"), got(53.9, truth=1.0), None, "", "reproduced", ROUNDS),
]  # fmt: skip


@pytest.mark.parametrize(("reference", "measured", "erratum", "not_run", "name", "reason"), TABLE)
def test_table_of_verdicts(
    reference: Reference,
    measured: Measured | None,
    erratum: Erratum | None,
    not_run: str,
    name: str,
    reason: str,
) -> None:
    assert verdict(reference, measured, erratum, not_run) == Verdict(name, reason)


def test_the_table_holds_every_verdict() -> None:
    assert {line[4] for line in TABLE} == set(VERDICTS)


@pytest.mark.parametrize("origin", REAL)
def test_all_real_origins_are_judged_alike(origin: str) -> None:
    assert verdict(row("3"), got(3.2, origin)).verdict == "reproduced"
    assert verdict(row("3"), got(4, origin, low=2, high=5)).verdict == "consistent"
    assert verdict(row("3"), got(4, origin)).verdict == "differs"
    assert verdict(row("3"), got(3, origin, coverage="x")).verdict == "partial"


@pytest.mark.parametrize(
    ("published", "digits", "value", "agree"),
    [
        ("0.54", None, 0.535, True),
        ("0.54", None, 0.5349999999999999, False),
        ("0.54", None, 0.545, False),
        ("0.54", None, 0.5449999999999999, True),
        ("-0.5", None, -0.55, True),
        ("-0.5", None, -0.5500000000000002, False),
        ("-0.5", None, -0.45, False),
        ("-0.5", None, -0.45000000000000007, True),
        ("0", None, -0.5, True),
        ("0", None, 0.5, False),
        ("0", None, 0.49999999999999994, True),
        ("0.0", None, -0.05, True),
        ("0.0", None, 0.05, False),
        ("8.4e-05", None, 8.35e-05, True),
        ("8.4e-05", None, 8.45e-05, False),
        ("1e6", None, 1499999.9, True),
        ("1e6", None, 1500000.0, False),
        ("0.0e+00", None, 0.0, True),
        ("0.0e+00", None, -0.0, True),
        ("0.0e+00", None, 1e-300, False),
        ("58000", 2, 57500.0, True),
        ("58000", 2, 57499.99, False),
        ("58000", 2, 58500.0, False),
        ("1.1", None, 1.15, False),
        ("1.1", None, 1.05, True),
        ("2.675", None, 2.675, True),
    ],
)
def test_half_unit_boundaries(
    published: str, digits: int | None, value: float, agree: bool
) -> None:
    for kind, name in (("exact", "exact"), ("empirical", "reproduced")):
        judged = verdict(row(published, kind, digits=digits), got(value)).verdict
        assert judged == (name if agree else "differs")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"value": math.nan}, "value is nan"),
        ({"value": 2.0, "low": 1.0}, "one end"),
        ({"value": 2.0, "low": 3.0, "high": 1.0}, "above high"),
        ({"value": 2.0, "low": 3.0, "high": 4.0}, "outside its interval"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_measurements_get_no_verdict(kind: str, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        verdict(row("3", kind), got(**changes))


def test_measurements_of_other_rows_and_unknown_origins_get_no_verdict() -> None:
    other = replace(row("3"), condition="d")
    with pytest.raises(DataError, match="answers another row"):
        verdict(other, got(3.0))
    with pytest.raises(DataError, match="origin 'hearsay' is unknown"):
        verdict(row("3"), got(3.0, "hearsay"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (51057.0, "51057"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e-9, "1e-09"),
        (1e22, "1e+22"),
        (-2.5, "-2.5"),
    ],
)
def test_shortest_numbers(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (53.912345, 4, "53.91"),
        (22300745198.53, 6, "22300745199"),
        (0.000123456, 3, "0.000123"),
        (999.6, 3, "1000"),
        (-1234.5678, 3, "-1235"),
        (1e22, 3, "1e+22"),
    ],
)
def test_numbers_for_the_eye(value: float, digits: int, text: str) -> None:
    assert short_number(value, digits) == text


def test_wide_intervals_are_told_from_narrow_ones() -> None:
    narrow = got(1.0, low=0.0, high=1.0).measurement
    assert not wider_than_published(row("1"), narrow)
    assert not wider_than_published(row("-1"), narrow)
    assert wider_than_published(row("0.9"), narrow)
    assert wider_than_published(row("-0.9"), narrow)
    assert not wider_than_published(row("0.9"), got(1.0).measurement)
    assert not wider_than_published(row("text"), narrow)


# --- laws -----------------------------------------------------------------------------------

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12)
published_numbers = st.one_of(
    st.decimals(-10000, 10000, places=2).map(str),
    st.integers(-100000, 100000).map(str),
    st.tuples(st.integers(-999, 999), st.integers(-20, 20)).map(lambda t: f"{t[0] / 100}e{t[1]}"),
    st.just("0"),
    st.just("0.0e+00"),
)
texts = st.sampled_from(["yes", "2025-03", "MA 12/24", ">0.5", "nan"])


@st.composite
def references(draw: st.DrawFn) -> Reference:
    return row(draw(st.one_of(published_numbers, texts)), draw(st.sampled_from(KINDS)))


@st.composite
def intervals(draw: st.DrawFn) -> dict[str, Any]:
    low, value, high = sorted(draw(st.tuples(finite, finite, finite)))
    return {"value": value, "low": low, "high": high}


@st.composite
def measurements(draw: st.DrawFn) -> Measured | None:
    more: dict[str, Any] = {
        "note": draw(st.sampled_from(["", "a note"])),
        "coverage": draw(st.sampled_from(["whole", "2025 only"])),
    }
    value = draw(
        st.one_of(
            st.none(),
            texts.map(lambda text: {"value": text}),
            finite.map(lambda number: {"value": number}),
            intervals(),
            st.just({"value": None}),
        )
    )
    if value is None:
        return None
    if isinstance(value["value"], float):
        more["truth"] = draw(st.one_of(st.none(), finite))
    return got(origin=draw(st.sampled_from(ORIGINS)), **value, **more)


@settings(deadline=None)
@given(
    references(), measurements(), st.sampled_from([None, ERRATUM]), st.sampled_from(["", "no GPU"])
)
def test_every_row_gets_one_verdict_by_the_order_of_the_table(
    reference: Reference, measured: Measured | None, erratum: Erratum | None, not_run: str
) -> None:
    name, reason = verdict(reference, measured, erratum, not_run)
    assert name in VERDICTS
    assert reason.strip()
    missing = measured is None or measured.measurement.value is None
    assert (name == "cited") == (reference.kind == "cited")
    if reference.kind != "cited":
        assert (name == "erratum") == (erratum is not None)
        if erratum is None:
            assert (name == "not run") == missing
            if not missing:
                assert measured is not None
                simulated = reference.kind == "empirical" and measured.origin == "generated"
                assert (name in ("generated", "planted", "planted-missed")) == simulated
                if not simulated:
                    # Partial takes precedence over everything that a comparison could say.
                    partial = measured.measurement.coverage != "whole"
                    assert (name == "partial") == partial
                assert (name == "exact") <= (reference.kind == "exact")
                assert (name in ("reproduced", "consistent")) <= (reference.kind == "empirical")


@settings(deadline=None)
@given(published_numbers, finite, st.sampled_from(["exact", "empirical"]))
def test_exact_and_reproduced_are_half_a_unit_and_nothing_else(
    published: str, value: float, kind: str
) -> None:
    """Independent truth: the printed multiple of the unit, found by floor in fractions."""
    reference = row(published, kind)
    assert reference.number is not None
    assert reference.precision is not None
    unit, exactly = Fraction(reference.precision), Fraction(Decimal(repr(value)))
    if unit == 0:
        prints = exactly == 0
    else:
        prints = math.floor(exactly / unit + Fraction(1, 2)) * unit == Fraction(reference.number)
    praised = verdict(reference, got(value)).verdict in ("exact", "reproduced")
    assert praised == prints


@settings(deadline=None)
@given(published_numbers, st.fractions(-2, 2, max_denominator=1000))
def test_near_values_agree_far_values_never(published: str, share: Fraction) -> None:
    """A value a share of a unit off agrees exactly for shares in [-1/2, 1/2)."""
    reference = row(published)
    assert reference.number is not None
    assert reference.precision is not None
    assume(reference.precision > 0)
    off = Decimal(share.numerator * 1000 // share.denominator).scaleb(-3)
    value = reference.number + off * reference.precision
    agrees = rounds_to(value, reference.number, reference.precision)
    assert agrees == (Decimal("-0.5") <= off < Decimal("0.5"))


@settings(deadline=None)
@given(published_numbers, st.integers(1, 9), st.sampled_from([-1, 1]))
def test_moving_the_published_value_by_units_loses_it_both_ways(
    published: str, units: int, sign: int
) -> None:
    reference = row(published)
    assert reference.number is not None
    value = float(reference.number)
    assert verdict(reference, got(value)).verdict == "reproduced"
    assert verdict(reference.moved(sign * units), got(value)).verdict == "differs"


@settings(deadline=None)
@given(published_numbers, intervals(), st.sampled_from(REAL))
def test_consistent_is_the_interval_and_nothing_else(
    published: str, interval: dict[str, Any], origin: str
) -> None:
    reference = row(published)
    assert reference.number is not None
    name, reason = verdict(reference, got(origin=origin, **interval))
    inside = (
        Fraction(Decimal(repr(interval["low"])))
        <= Fraction(reference.number)
        <= Fraction(Decimal(repr(interval["high"])))
    )
    if name != "reproduced":
        assert name == ("consistent" if inside else "differs")
    assert ("width" in reason) == (name == "consistent")


@settings(deadline=None)
@given(references(), measurements())
def test_a_missing_part_takes_every_praise(reference: Reference, measured: Measured | None) -> None:
    assume(measured is not None)
    assert measured is not None
    before = verdict(reference, measured).verdict
    part = replace(measured, measurement=replace(measured.measurement, coverage="half"))
    after = verdict(reference, part).verdict
    if before in ("exact", "reproduced", "consistent", "differs"):
        assert after == "partial"
    else:
        assert after == before


@settings(deadline=None)
@given(intervals(), finite)
def test_planted_is_the_truth_inside_the_interval(interval: dict[str, Any], truth: float) -> None:
    name = verdict(row("3"), got(origin="generated", truth=truth, **interval)).verdict
    assert name == ("planted" if interval["low"] <= truth <= interval["high"] else "planted-missed")


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_in_the_csv_read_back(value: float) -> None:
    assert float(format_number(value)) == value

"""The one function that gives a reference row its verdict."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from remeasure.errors import DataError
from remeasure.ledger.measurement import ORIGINS, WHOLE, Measurement
from remeasure.ledger.measurements import Measured, check, describe
from remeasure.ledger.reference import EXACT, Erratum, Reference

#: Every verdict, in the order in which people read them, with its meaning.
MEANINGS = {
    "exact": "mathematics, recomputed and equal at the printed precision",
    "reproduced": "real data, or a published simulation repeated: rounds to the printed value",
    "consistent": "real data, or such a simulation: the published value lies in our interval",
    "partial": "real data, or such a simulation, but not the whole window, sample or scale",
    "differs": "our value does not agree with the published one",
    "planted": "generated data: the planted truth lies in our interval",
    "planted-missed": "generated data: the planted truth lies outside our interval",
    "generated": "generated data without a planted truth: shown, not comparable",
    "not run": "this run did not measure it, for the reason given",
    "cited": "quoted from elsewhere, never recomputed",
    "erratum": "the published value contradicts itself or its own formula",
}
VERDICTS = tuple(MEANINGS)

NO_REASON_KNOWN = "no reason is known yet"
NOT_MEASURED = "no step of this run measured it"
NO_SOURCE = "quoted, no source named"


class Verdict(NamedTuple):
    """A verdict, one of ``VERDICTS``, and the reason for it, never empty."""

    verdict: str
    reason: str


def exact_decimal(value: float | int) -> Decimal:
    """The decimal number that prints as ``value`` does: 0.1 is one tenth."""
    return Decimal(repr(float(value))) if isinstance(value, float) else Decimal(value)


def format_number(value: float) -> str:
    """The shortest text that reads back as ``value``: ``51057``, ``0.1``, ``1e-09``."""
    text = repr(float(value)).removesuffix(".0")
    return "0" if text == "-0" else text


def short_number(value: float, digits: int) -> str:
    """A number for the eye: ``digits`` significant digits, or all of a longer whole part."""
    if abs(value) >= 10**digits:
        return format_number(float(round(value)))
    return format_number(float(f"{value:.{digits}g}"))


def normalised(text: str) -> str:
    """Text as the ledger compares it: case folded, white space collapsed."""
    return " ".join(text.casefold().split())


def rounds_to(value: Decimal, number: Decimal, precision: Decimal) -> bool:
    """Whether ``value`` prints as ``number``: in ``[number - h, number + h)``, h half a precision.

    The interval is closed below for negative numbers too, so that every value
    prints as exactly one multiple of the precision. A precision of zero asks
    for equality.
    """
    if precision == 0:
        return value == number
    half = EXACT.divide(precision, Decimal(2))
    return EXACT.subtract(number, half) <= value < EXACT.add(number, half)


def agrees(reference: Reference, value: float | int | str) -> bool:
    """Whether a measured value equals the published one at its printed precision.

    Numbers are compared as numbers only where both sides are; else as normalised text.
    """
    if isinstance(value, str):
        return normalised(value) == normalised(reference.published)
    if reference.number is None or reference.precision is None:
        return normalised(format_number(value)) == normalised(reference.published)
    return rounds_to(exact_decimal(value), reference.number, reference.precision)


def interval_width(measurement: Measurement) -> Decimal | None:
    """``high - low``, exactly; None without an interval."""
    if measurement.low is None or measurement.high is None:
        return None
    return EXACT.subtract(exact_decimal(measurement.high), exact_decimal(measurement.low))


def wider_than_published(reference: Reference, measurement: Measurement) -> bool:
    """Whether the interval is wider than the published number itself: consistent, but weak."""
    width = interval_width(measurement)
    return width is not None and reference.number is not None and width > abs(reference.number)


def _holds(reference: Reference, measurement: Measurement) -> bool:
    """Whether the published number lies in the measured interval, ends included."""
    if measurement.low is None or measurement.high is None or reference.number is None:
        return False
    return exact_decimal(measurement.low) <= reference.number <= exact_decimal(measurement.high)


def _with_note(reason: str, measurement: Measurement) -> str:
    return f"{reason}; {measurement.note}" if measurement.note.strip() else reason


def _differs(measurement: Measurement) -> Verdict:
    return Verdict("differs", measurement.note.strip() or NO_REASON_KNOWN)


def _exact(reference: Reference, measurement: Measurement, value: float | str) -> Verdict:
    if agrees(reference, value):
        return Verdict("exact", _with_note("equal at the printed precision", measurement))
    return _differs(measurement)


def _generated(measurement: Measurement) -> Verdict:
    truth, low, high = measurement.truth, measurement.low, measurement.high
    if truth is None:
        reason = "generated data, no truth planted for this quantity: not comparable"
        name = "generated"
    elif low is None or high is None:
        name = "planted" if truth == measurement.value else "planted-missed"
        reason = (
            f"planted truth {format_number(truth)}, to be met exactly: no interval was computed"
        )
    else:
        name = "planted" if low <= truth <= high else "planted-missed"
        where = "inside" if name == "planted" else "outside"
        reason = f"planted truth {format_number(truth)} lies {where} our interval"
    if measurement.coverage != WHOLE:
        reason = f"{reason}; {measurement.coverage}"
    return Verdict(name, _with_note(reason, measurement))


def _real(reference: Reference, measurement: Measurement, value: float | str) -> Verdict:
    if agrees(reference, value):
        return Verdict("reproduced", _with_note("rounds to the published value", measurement))
    width = interval_width(measurement)
    if width is not None and _holds(reference, measurement):
        reason = f"the published value lies in our interval, width {short_number(float(width), 3)}"
        if wider_than_published(reference, measurement):
            reason += ", wider than the published value itself"
        return Verdict("consistent", _with_note(reason, measurement))
    return _differs(measurement)


def verdict(
    reference: Reference,
    measured: Measured | None,
    erratum: Erratum | None = None,
    not_run: str = "",
) -> Verdict:
    """The verdict on one reference row. Pure; no verdict comes from anywhere else.

    Parameters
    ----------
    reference
        The published row.
    measured
        What this run measured for it, with its origin; None for nothing.
    erratum
        Its line in ``errata.csv``, if any.
    not_run
        Why there is no value, where the measurement itself does not say.

    Returns
    -------
    The first line that applies; a note of the measurement is added to the
    reason, and for ``differs`` and ``not run`` it is the reason.

    =====================  =====================================================  ==============
    kind, origin           condition                                              verdict
    =====================  =====================================================  ==============
    cited                  always                                                 cited
    any                    listed in errata.csv                                   erratum
    any                    no measurement, or its value is None                   not run
    exact, any             coverage is not whole                                  partial
    exact, any             equal at the printed precision                         exact
    exact, any             otherwise                                              differs
    empirical, generated   no truth planted                                       generated
    empirical, generated   low <= truth <= high (no interval: truth == value)     planted
    empirical, generated   otherwise                                              planted-missed
    empirical, other       coverage is not whole                                  partial
    empirical, other       rounds to the printed value                            reproduced
    empirical, other       low <= published <= high                               consistent
    empirical, other       otherwise                                              differs
    =====================  =====================================================  ==============

    Equal, or rounds, means the half-open interval of half a unit of the last
    significant printed digit around the published number (:func:`rounds_to`),
    in exact decimal arithmetic; nothing widens it. Text agrees with text when
    equal with case folded and white space collapsed, and is never consistent.
    A degenerate interval (``low == high``) is one like any other. The ``truth``
    is read on generated data only; ``computed`` data are not generated.

    Raises
    ------
    DataError
        For measurements that :func:`remeasure.ledger.measurements.check`
        refuses, of another row, or of an unknown origin.
    """
    if measured is not None:
        _belongs(reference, measured)
    measurement = None if measured is None else check(measured.measurement)
    if reference.kind == "cited":
        reason = f"quoted: {reference.source}" if reference.source else NO_SOURCE
        if erratum is not None:
            reason = f"{reason}; {erratum.proof}"
        return Verdict("cited", reason)
    if erratum is not None:
        return Verdict(
            "erratum",
            erratum.proof if measurement is None else _with_note(erratum.proof, measurement),
        )
    if measured is None or measurement is None or measurement.value is None:
        note = "" if measurement is None else measurement.note.strip()
        return Verdict("not run", note or not_run.strip() or NOT_MEASURED)
    value = measurement.value
    if reference.kind == "empirical" and measured.origin == "generated":
        return _generated(measurement)
    if measurement.coverage != WHOLE:
        return Verdict("partial", _with_note(measurement.coverage, measurement))
    judge = _exact if reference.kind == "exact" else _real
    return judge(reference, measurement, value)


def _belongs(reference: Reference, measured: Measured) -> None:
    key = (
        measured.measurement.output_id,
        measured.measurement.quantity,
        measured.measurement.condition,
    )
    if key != reference.key:
        raise DataError(
            f"the measurement answers another row: {describe(key)}",
            where=describe(reference.key),
            remedy="use the key of the reference row, letter for letter",
        )
    if measured.origin not in ORIGINS:
        raise DataError(
            f"the origin {measured.origin!r} is unknown",
            where=describe(key),
            remedy=f"use one of {', '.join(ORIGINS)}",
        )

"""The published numbers of a study as typed rows, with the precision they were printed at.

``reference.csv`` has the columns ``output_id,quantity,condition,value,unit,kind``
and, where a study needs them, ``digits`` and ``source``; ``errata.csv`` names
the rows that a test proves wrong. Both are UTF-8, one header line, any line end.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from pathlib import Path
from typing import Literal, NoReturn, cast, get_args

from remeasure.errors import DataError

Key = tuple[str, str, str]
Kind = Literal["exact", "empirical", "cited"]

KINDS: tuple[str, ...] = get_args(Kind)
COLUMNS = ("output_id", "quantity", "condition", "value", "unit", "kind")
OPTIONAL_COLUMNS = ("digits", "source")
ERRATA_COLUMNS = ("output_id", "quantity", "condition", "published", "correct", "proof")

#: Wide enough that sums and halves of printed numbers are never rounded.
EXACT = Context(prec=5000)

_KEY = "output_id, quantity, condition"

# Decimal itself also reads "nan", "Infinity", "1_000" and digits of other scripts: not printed
# numbers, but text.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


class FieldError(ValueError):
    """A field of a line that cannot be read: which, what is wrong, what to do."""

    def __init__(self, field: str, what: str, remedy: str) -> None:
        self.field, self.what, self.remedy = field, what, remedy
        super().__init__(f"field {field!r}: {what}; {remedy}")


@dataclass(frozen=True, kw_only=True)
class Reference:
    """One published number or word. Make it with :meth:`printed`.

    Attributes
    ----------
    output_id, quantity, condition
        The key, unique in its study.
    published
        The value as printed.
    unit
        Of ``number`` and ``precision``; may be empty.
    kind
        ``exact`` (mathematics), ``empirical`` (depends on data or training), ``cited``.
    digits
        Significant digits of a number printed round or with 'about'; None: all that are printed.
    source
        Whose fact a cited one is; may be empty.
    number
        The printed number, exactly; None for text.
    precision
        Unit of the last significant printed digit. Zero for a zero in scientific
        notation: ``0.0e+00`` can only come from zero itself, any other value
        would have printed its own exponent.
    """

    output_id: str
    quantity: str
    condition: str
    published: str
    unit: str
    kind: Kind
    digits: int | None = None
    source: str = ""
    number: Decimal | None = None
    precision: Decimal | None = None

    @property
    def key(self) -> Key:
        """Output, quantity, condition."""
        return (self.output_id, self.quantity, self.condition)

    @classmethod
    def printed(
        cls,
        output_id: str,
        quantity: str,
        condition: str,
        published: str,
        unit: str,
        kind: str,
        digits: int | None = None,
        source: str = "",
    ) -> Reference:
        """A row from its printed value.

        ``1.56`` has precision 0.01, ``8.4e-05`` 1e-6, ``58000`` 1, and with
        ``digits=2`` 1000.

        Raises
        ------
        FieldError
            Naming the field and what is wrong with it.
        """
        if kind not in KINDS:
            raise FieldError("kind", f"{kind!r} is unknown", f"write one of {', '.join(KINDS)}")
        if not published.strip():
            raise FieldError("value", "it is empty", "write the value as printed")
        for name, text in (
            ("output_id", output_id),
            ("quantity", quantity),
            ("condition", condition),
            ("unit", unit),
            ("source", source),
        ):
            if text != text.strip():
                raise FieldError(name, f"{text!r} has spaces around it", "remove them")
            if not text and name in ("output_id", "quantity"):
                raise FieldError(name, "it is empty", "every row needs one")
        number = parse_number(published)
        return cls(
            output_id=output_id,
            quantity=quantity,
            condition=condition,
            published=published,
            unit=unit,
            kind=cast("Kind", kind),
            digits=digits,
            source=source,
            number=number,
            precision=_precision(published, number, digits),
        )

    def moved(self, units: int) -> Reference:
        """The same row with its number moved by whole units of its last printed digit.

        Its precision stays, so that a moved row is judged as strictly as the
        row itself; an exact zero moves by whole ones. Text gets a mark.
        """
        if self.number is None or self.precision is None:
            return replace(self, published=f"{self.published} [{units:+d}]")
        step = self.precision or Decimal(1)
        number = EXACT.add(self.number, EXACT.multiply(step, Decimal(units)))
        return replace(self, published=str(number), number=number)


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A published value that a test proves wrong.

    Attributes
    ----------
    output_id, quantity, condition
        Key of the reference row.
    published, correct
        The value as printed, and what it should be.
    proof
        Why, in words that can be checked.
    """

    output_id: str
    quantity: str
    condition: str
    published: str
    correct: str
    proof: str

    @property
    def key(self) -> Key:
        """Output, quantity, condition."""
        return (self.output_id, self.quantity, self.condition)


def parse_number(text: str) -> Decimal | None:
    """The number that ``text`` prints, exactly; None where it is not one plain number."""
    text = text.strip()
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _precision(published: str, number: Decimal | None, digits: int | None) -> Decimal | None:
    def refuse(what: str, remedy: str) -> NoReturn:
        raise FieldError("digits", f"{published!r} {what}", remedy)

    if number is None:
        if digits is not None:
            refuse("is not a number", "leave digits empty")
        return None
    exponent = cast("int", number.as_tuple().exponent)
    if number == 0:
        if digits is not None:
            refuse("has no significant digits", "leave digits empty")
        return Decimal(0) if "e" in published.lower() else Decimal(1).scaleb(exponent)
    if digits is None:
        return Decimal(1).scaleb(exponent)
    last = number.adjusted() - digits + 1
    if digits < 1 or last < exponent:
        refuse(f"does not print {digits} digits", "count the significant ones it prints")
    # Digits may only declare trailing zeros insignificant, never blur a printed digit.
    unit = Decimal(1).scaleb(last)
    if EXACT.remainder(number, unit) != 0:
        refuse(f"has more than {digits} significant digits", "count those it has")
    return unit


def _fail(path: Path, line: int, field: str, what: str, remedy: str) -> NoReturn:
    raise DataError(
        f"{path.name} cannot be read: field {field!r}: {what}",
        where=f"{path}, line {line}",
        remedy=remedy,
    )


def _table(
    path: Path, required: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines of a CSV file with exactly these columns: line number and fields."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise DataError(
            "this file does not exist",
            where=path,
            remedy=f"every study folder has one, with the header {','.join(required)}",
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"this file is not UTF-8 ({error})", where=path, remedy="save it as UTF-8"
        ) from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        allowed = [*required, *optional]
        if header[: len(required)] != list(required) or (
            not set(header) <= set(allowed) or len(set(header)) != len(header)
        ):
            raise DataError(
                f"the header is {','.join(header) or 'missing'}",
                where=f"{path}, line 1",
                remedy=f"write {','.join(required)}"
                + (f", then any of {', '.join(optional)}" if optional else ""),
            )
        for fields in reader:
            if len(fields) != len(header):
                raise DataError(
                    f"the line has {len(fields)} fields, the header {len(header)}",
                    where=f"{path}, line {reader.line_num}",
                    remedy="quote fields that contain a comma, and write no blank lines",
                )
            yield reader.line_num, dict(zip(header, fields, strict=True))
    except csv.Error as error:
        raise DataError(
            f"this is not CSV ({error})",
            where=f"{path}, line {reader.line_num}",
            remedy='quote fields with ", and double a " inside them',
        ) from error


def read_references(path: Path) -> list[Reference]:
    """Read a study's ``reference.csv``.

    Returns
    -------
    The rows in the order of the file; keys are unique.

    Raises
    ------
    DataError
        With file, line, field and remedy: unknown columns or kinds, empty
        values or names, a key that appears twice, impossible ``digits``.
    """
    rows: list[Reference] = []
    seen: dict[Key, int] = {}
    for line, fields in _table(path, COLUMNS, OPTIONAL_COLUMNS):
        digits = fields.get("digits", "")
        try:
            if digits and not re.fullmatch(r"[0-9]{1,3}", digits):
                raise FieldError("digits", f"{digits!r} is not a count", "write 2, or nothing")
            row = Reference.printed(
                fields["output_id"],
                fields["quantity"],
                fields["condition"],
                fields["value"],
                fields["unit"],
                fields["kind"],
                int(digits) if digits else None,
                fields.get("source", ""),
            )
        except FieldError as error:
            _fail(path, line, error.field, error.what, error.remedy)
        if row.key in seen:
            _fail(
                path,
                line,
                _KEY,
                f"{row.key} already stands in line {seen[row.key]}",
                "make the condition say what differs",
            )
        seen[row.key] = line
        rows.append(row)
    return rows


def read_errata(path: Path, references: Sequence[Reference]) -> dict[Key, Erratum]:
    """Read a study's ``errata.csv`` against its reference rows.

    Raises
    ------
    DataError
        With file, line, field and remedy: a key that is not in
        ``reference.csv`` or appears twice, a ``published`` that is not the
        reference value letter for letter, an empty or unchanged ``correct``,
        an empty ``proof``.
    """
    published = {row.key: row.published for row in references}
    errata: dict[Key, Erratum] = {}
    for line, fields in _table(path, ERRATA_COLUMNS):
        erratum = Erratum(**fields)
        key = erratum.key
        copied = "copy it letter for letter"
        if key not in published:
            _fail(path, line, _KEY, f"{key} is no row of reference.csv", copied)
        if key in errata:
            _fail(path, line, _KEY, f"{key} stands here twice", "keep one")
        if erratum.published != published[key]:
            what = f"{erratum.published!r} is not the reference value {published[key]!r}"
            _fail(path, line, "published", what, copied)
        for name in ("correct", "proof"):
            if not fields[name].strip():
                _fail(path, line, name, "it is empty", "every erratum needs one")
        if erratum.correct == erratum.published:
            _fail(path, line, "correct", "it equals the published value", "remove the line")
        errata[key] = erratum
    return errata

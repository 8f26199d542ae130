"""Reading reference.csv and errata.csv, and the precision of printed numbers."""

from __future__ import annotations

import csv
import os
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.errors import DataError
from remeasure.ledger.reference import (
    Reference,
    parse_number,
    read_errata,
    read_references,
)

HEADER = "output_id,quantity,condition,value,unit,kind"
STUDIES = Path(
    os.environ.get("REMEASURE_STUDIES", Path(__file__).parents[2] / ".." / "shared" / "studies")
)


def reference_csv(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "reference.csv"
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return path


def errata_csv(folder: Path, *lines: str) -> Path:
    path = folder / "errata.csv"
    header = "output_id,quantity,condition,published,correct,proof"
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "digits", "precision"),
    [
        ("1.56", None, "0.01"),
        ("60.0", None, "0.1"),
        ("-0.005", None, "0.001"),
        ("58000", None, "1"),
        ("58000", 2, "1000"),
        ("58000", 4, "10"),
        ("281000", 3, "1000"),
        ("22000000", 2, "1000000"),
        ("8.4e-05", None, "0.000001"),
        ("1e6", None, "1000000"),
        ("14e9", None, "1000000000"),
        ("1e-12", None, "0.000000000001"),
        ("+0.040", None, "0.001"),
        (".5", None, "0.1"),
        ("0", None, "1"),
        ("0.00", None, "0.01"),
        ("0.0e+00", None, "0"),
        ("1.50", 2, "0.1"),
    ],
)
def test_precision_is_the_unit_of_the_last_significant_digit(
    text: str, digits: int | None, precision: str
) -> None:
    row = Reference.printed("a", "b", "", text, "", "exact", digits)
    assert row.number == Decimal(text)
    assert row.precision == Decimal(precision)


@pytest.mark.parametrize(
    "text",
    [
        "2025-03",
        "nan",
        "inf",
        "1_000",
        "77%",
        ">0.5",
        "1,024",
        "2.9.0+cpu",
        "12 and 96",
        "１２",
        "e5",
    ],
)
def test_what_is_not_one_plain_number_is_text(text: str) -> None:
    row = Reference.printed("a", "b", "", text, "", "empirical")
    assert (row.number, row.precision, row.published) == (None, None, text)


@settings(deadline=None)
@given(
    st.decimals(
        allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4
    )
)
def test_printed_numbers_read_back_exactly(number: Decimal) -> None:
    assert parse_number(str(number)) == number
    assert parse_number(f"{number:.3e}") == Decimal(f"{number:.3e}")


@settings(deadline=None)
@given(st.integers(1, 999), st.integers(0, 6), st.booleans())
def test_digits_declare_trailing_zeros_insignificant(head: int, zeros: int, negative: bool) -> None:
    text = ("-" if negative else "") + str(head) + "0" * zeros
    row = Reference.printed("a", "b", "", text, "", "exact", len(str(head)))
    assert row.precision is not None
    assert Fraction(row.precision) == Fraction(10) ** zeros


@pytest.mark.parametrize(
    ("text", "digits"),
    [("58123", 2), ("0.25", 1), ("0.5", 3), ("0", 1), ("58000", 0), ("text", 2)],
)
def test_digits_never_blur_a_printed_digit_nor_invent_one(text: str, digits: int) -> None:
    with pytest.raises(ValueError, match="digits"):
        Reference.printed("a", "b", "", text, "", "exact", digits)


def test_moved_rows_keep_their_precision_and_leave_their_value() -> None:
    row = Reference.printed("a", "b", "", "9900", "", "exact", 2)
    assert row.moved(1).number == 10000
    assert row.moved(1).precision == row.precision == 100
    assert row.moved(-1).number == 9800
    assert Reference.printed("a", "b", "", "0.0e+00", "", "exact").moved(1).number == 1
    assert Reference.printed("a", "b", "", "yes", "", "exact").moved(1).published != "yes"


def test_rows_are_read_in_order_with_any_line_end(tmp_path: Path) -> None:
    path = tmp_path / "reference.csv"
    path.write_bytes(
        b"\xef\xbb\xbf" + HEADER.encode() + b",source,digits\r\n"
        b'f,"q, with comma",c1,58000,years,exact,,2\r\n'
        b'f,"q, with comma",c2, Garry,token,empirical,,\r\n'
        b'f,"two\nlines\xc2\x85here",,3,,cited,"Lo, 2002",\r\n'
    )
    rows = read_references(path)
    assert [row.key for row in rows] == [
        ("f", "q, with comma", "c1"),
        ("f", "q, with comma", "c2"),
        ("f", "two\nlines\x85here", ""),
    ]
    assert rows[0].precision == 1000
    assert rows[1].published == " Garry"
    assert rows[2].source == "Lo, 2002"


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["f,q,,3,,guess"], 2, "field 'kind'"),
        (["f,q,,3,,exact", "f,q,,4,,exact"], 3, "already stands in line 2"),
        (["f,q,, ,,exact"], 2, "field 'value'"),
        (["f,,,3,,exact"], 2, "field 'quantity'"),
        ([",q,,3,,exact"], 2, "field 'output_id'"),
        (["f,q, c,3,,exact"], 2, "field 'condition'"),
        (["f,q,,3,exact"], 2, "5 fields"),
        (["f,q,a,b,3,,exact"], 2, "7 fields"),
        (["f,q,,3,,exact", ""], 3, "0 fields"),
        (['f,"q"x,,3,,exact'], 2, "not CSV"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, lines: list[str], line: int, words: str) -> None:
    path = reference_csv(tmp_path, *lines)
    with pytest.raises(DataError) as caught:
        read_references(path)
    assert words in str(caught.value)
    assert caught.value.where == f"{path}, line {line}"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("digits", "words"), [("two", "not a count"), ("-1", "not a count"), ("1", "more than 1")]
)
def test_bad_digits_are_named(tmp_path: Path, digits: str, words: str) -> None:
    path = reference_csv(tmp_path, f"f,q,,0.25,,exact,{digits}", header=HEADER + ",digits")
    with pytest.raises(DataError, match=words) as caught:
        read_references(path)
    assert "field 'digits'" in caught.value.what


@pytest.mark.parametrize(
    "header",
    [
        "output_id,quantity,condition,value,unit",
        "output_id,condition,quantity,value,unit,kind",
        HEADER + ",comment",
        HEADER + ",digits,digits",
        "",
    ],
)
def test_other_columns_are_refused(tmp_path: Path, header: str) -> None:
    with pytest.raises(DataError, match="the header is"):
        read_references(reference_csv(tmp_path, header=header))


def test_missing_file_and_other_encodings_are_explained(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_references(tmp_path / "reference.csv")
    (tmp_path / "reference.csv").write_bytes(HEADER.encode() + b"\nf,q\xff,,3,,exact\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_references(tmp_path / "reference.csv")


def test_errata_are_read_against_their_rows(tmp_path: Path) -> None:
    rows = read_references(reference_csv(tmp_path, "f,q,c,3.0,,exact", "f,q,d,4,,exact"))
    errata = read_errata(errata_csv(tmp_path, "f,q,c,3.0,2,1 + 1 is 2"), rows)
    assert list(errata) == [("f", "q", "c")]
    assert errata["f", "q", "c"].proof == "1 + 1 is 2"
    assert read_errata(errata_csv(tmp_path), rows) == {}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["f,q,x,3.0,2,p"], "no row of reference.csv"),
        (["f,q,c,3,2,p"], "not the reference value '3.0'"),
        (["f,q,c,3.0,,p"], "field 'correct'"),
        (["f,q,c,3.0,3.0,p"], "equals the published"),
        (["f,q,c,3.0,2, "], "field 'proof'"),
        (["f,q,c,3.0,2,p", "f,q,c,3.0,2,p"], "twice"),
    ],
)
def test_bad_errata_are_named(tmp_path: Path, lines: list[str], words: str) -> None:
    rows = read_references(reference_csv(tmp_path, "f,q,c,3.0,,exact"))
    with pytest.raises(DataError, match=words) as caught:
        read_errata(errata_csv(tmp_path, *lines), rows)
    assert caught.value.where.endswith(f"errata.csv, line {len(lines) + 1}")


@pytest.mark.skipif(not STUDIES.is_dir(), reason=f"no folder of studies at {STUDIES}")
def test_every_study_on_this_machine_can_be_read() -> None:
    paths = sorted(STUDIES.glob("*.reference.csv"))
    assert paths
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            plain = list(csv.DictReader(file))
        rows = read_references(path)
        assert [row.published for row in rows] == [line["value"] for line in plain], path.name
        for row in rows:
            if row.number is not None:
                assert row.precision is not None
                assert float(row.number) == float(row.published), row

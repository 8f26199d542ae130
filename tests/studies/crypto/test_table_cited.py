"""The table of quoted facts: every cited row once, as printed, with its source."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import remeasure.studies.crypto as crypto
from remeasure.studies.crypto.outputs import STUDY
from remeasure.studies.crypto.table_cited import cited_frame, tab_cited


def quoted() -> list[dict[str, str]]:
    with (Path(crypto.__file__).parent / "reference.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        return [row for row in csv.DictReader(file) if row["kind"] == "cited"]


def test_every_quoted_row_stands_in_the_table_once_as_printed(tmp_path: Path) -> None:
    tab_cited(table=tmp_path / "t.html", origin="computed")
    html = ElementTree.fromstring(  # noqa: S314 - our own table
        f"<div>{(tmp_path / 't.html').read_text('utf-8')}</div>"
    )
    body = [
        ["".join(cell.itertext()).strip() for cell in row]
        for row in html.iter("tr")
        if row.find("td") is not None
    ]
    expected = quoted()
    assert len(body) == len(expected) > 80
    for cells, row in zip(body, expected, strict=True):
        fact, value, unit, subject, source = cells
        own = [] if row["output_id"].startswith("cite_") else [row["condition"]]
        assert fact == ", ".join([row["quantity"], *filter(None, own)])
        assert value.replace(",", "").replace("−", "-") == row["value"]
        assert unit == row["unit"]
        output = STUDY.output(row["output_id"])
        assert subject == output.title
        assert source == output.source or not output.source
        assert source
    assert all(
        row.find("th").get("scope") == "row"
        for row in html.iter("tr")
        if row.find("td") is not None
    )


def test_all_values_are_numbers_or_words_of_the_article() -> None:
    frame = cited_frame()
    assert frame.null_count().sum_horizontal().item() == 0
    assert frame.filter(frame["subject"] == "Traders who use AI")["value"].to_list() == [
        "84.8", "13", "6.5",
    ]  # fmt: skip

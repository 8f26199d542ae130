"""Fragments of tables: read back with a parser that did not write them."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import polars as pl
import pytest

from remeasure.report.tables import Column, html_table

FRAME = pl.DataFrame(
    {
        "coin": ["<b>BTC</b> & co", None],
        "hits": [53.87123, -0.001],
        "hours": [42142, None],
        "fine": [True, False],
    }
)
COLUMNS = [
    Column(name="coin", title="coin"),
    Column(name="hits", title="hit rate", unit="%", decimals=2),
    Column(name="hours", title="hours"),
    Column(name="fine", title="holds"),
    Column(name="hits", title="again", show=lambda value: f"<{value:.1f}>"),
]


def parsed(fragment: str) -> ET.Element:
    return ET.fromstring(f"<div>{fragment}</div>")  # noqa: S314 our own text


def test_cells_heads_and_alignment() -> None:
    root = parsed(html_table(FRAME, caption="Hits & misses", columns=COLUMNS, note="from nowhere"))
    table = root.find(".//table")
    assert table is not None
    assert table.findtext("caption") == "Hits & misses"
    heads = table.findall("thead/tr/th")
    assert {head.get("scope") for head in heads} == {"col"}
    assert "".join(heads[1].itertext()).strip() == "hit rate %"
    rows = [["".join(cell.itertext()) for cell in row] for row in table.findall("tbody/tr")]
    assert rows == [
        ["<b>BTC</b> & co", "53.87", "42,142", "yes", "<53.9>"],
        ["–", "0.00", "–", "no", "<-0.0>"],
    ]
    first = table.findall("tbody/tr")[0]
    assert [cell.tag for cell in first] == ["th", "td", "td", "td", "td"]
    assert first[0].get("scope") == "row"
    assert [cell.get("class") for cell in first] == [None, "num", "num", None, "num"]
    assert root.findtext("p") == "from nowhere"


def test_refusals() -> None:
    with pytest.raises(ValueError, match="caption"):
        html_table(FRAME, caption=" ", columns=COLUMNS)
    with pytest.raises(ValueError, match="no columns missing"):
        html_table(FRAME, caption="x", columns=[Column(name="missing", title="x")])

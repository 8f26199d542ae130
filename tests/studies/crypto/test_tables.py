"""The table of the direction scores: read back by a parser that did not write it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from remeasure.errors import DataError
from remeasure.store.frames import write_frame
from remeasure.studies.crypto.direction import SCORES
from remeasure.studies.crypto.tables import tab_direction

Cells = dict[str, dict[str, str]]


def scores(*coins: str) -> pl.DataFrame:
    """Made-up scores, one row a coin."""
    values: dict[str, object] = {
        "coin": list(coins),
        "hours": 26303,
        "first": datetime(2023, 1, 1),
        "last": datetime(2025, 12, 31, 23),
        "hit_rate": 0.53142,
        "hit_low": 0.5262,
        "hit_high": 0.5367,
        "hit_se": 0.00271,
        "binomial_se": 0.003077,
        "up_rate": 0.5,
        "up_low": 0.4951,
        "up_high": 0.5049,
        "auc": 0.54321,
        "auc_se": 0.0035,
        "auc_low": 0.5364,
        "auc_high": 0.5501,
        "rank_correlation": -0.0567,
        "rank_low": -0.0692,
        "rank_high": -0.0441,
    }
    every = {name: values[name] for name in SCORES.columns}
    return pl.DataFrame(every).cast(SCORES.types)  # type: ignore[arg-type]


def parsed(folder: Path, frame: pl.DataFrame, origin: str) -> tuple[Cells, str, ET.Element]:
    """Cells by row and column, the note under the table, and the whole fragment."""
    write_frame(frame, folder / "scores.parquet", SCORES)
    tab_direction(scores=folder / "scores.parquet", table=folder / "table.html", origin=origin)
    root = ET.fromstring(f"<div>{(folder / 'table.html').read_text('utf-8')}</div>")  # noqa: S314
    heads = [(head.text or "").strip() for head in root.findall(".//thead/tr/th")]
    cells = {
        (row[0].text or "").strip(): {
            name: (cell.text or "").strip() for name, cell in zip(heads[1:], row[1:], strict=True)
        }
        for row in root.findall(".//tbody/tr")
    }
    return cells, root.findtext("p") or "", root


def plain(text: str) -> str:
    return text.replace("\xa0", " ")


def test_measured_and_printed_stand_side_by_side(tmp_path: Path) -> None:
    cells, note, root = parsed(tmp_path, scores("BTC", "ETH", "SOL"), "mirror")
    assert len(cells) == len(root.findall(".//tbody/tr"))  # no two rows of one name
    right = {name: plain(text) for name, text in cells["called right (%)"].items()}
    assert right == {
        "BTC": "53.14 (52.62 to 53.67)",
        "BTC published": "53.9",
        "ETH": "53.14 (52.62 to 53.67)",
        "ETH published": "53.8",
        "SOL": "53.14 (52.62 to 53.67)",
        "SOL published": "52.9",
    }
    btc = {
        row: (plain(each["BTC"]), each["BTC published"], each["ETH published"])
        for row, each in cells.items()
    }
    assert btc["hours forecast"] == ("26,303", "42,142", "42,142")
    assert btc["right by always saying up (%)"] == ("50.00 (49.51 to 50.49)", "50.5", "–")
    assert btc["area under the ROC curve"] == ("0.5432 (0.5364 to 0.5501)", "0.555", "–")
    assert list(btc.values())[4:6] == [("0.308", "0.25", "–"), ("0.271", "–", "–")]
    last = "rank correlation of an hour’s return with the one before"
    assert btc[last] == ("−0.057 (−0.069 to −0.044)", "−0.06", "–")
    assert note == "Real data, from a mirror; hours predicted: 2023-01-01 to 2025-12-31."
    assert root.findtext(".//caption", "").strip()
    # Every interval keeps its line.
    assert " to " not in "".join(text for row in cells.values() for text in row.values())


def test_generated_data_is_named_and_absent_coins_have_no_column(tmp_path: Path) -> None:
    cells, note, _ = parsed(tmp_path, scores("BTC"), "generated")
    assert note.startswith("Generated data; ")
    assert set(cells["called right (%)"]) == {"BTC", "BTC published"}


def test_a_coin_of_which_nothing_is_printed_has_dashes(tmp_path: Path) -> None:
    cells, _, _ = parsed(tmp_path, scores("BTC", "DOGE"), "files")
    assert cells["called right (%)"]["DOGE published"] == "–"
    assert plain(cells["called right (%)"]["DOGE"]) == "53.14 (52.62 to 53.67)"


def test_equal_scores_give_equal_bytes_and_no_scores_an_error(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        parsed(folder, scores("BTC", "SOL"), "public")
    assert (first / "table.html").read_bytes() == (second / "table.html").read_bytes()
    with pytest.raises(DataError, match="no such table"):
        tab_direction(scores=tmp_path / "none", table=tmp_path / "table.html", origin="public")

"""Open readings side by side: every measured one has a line, in the order of its question."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import polars as pl

from remeasure.studies.crypto.table_variants import tab_variants


def written(folder: Path, grid: object) -> list[list[str]]:
    scores = [
        ("BTC", target, variant, benchmark, 0.5, 0.4, 0.6)
        for target in ("log variance", "returns")
        for variant in ("7/30 days, log of mean", "5/22 days, log of mean")
        for benchmark in ("mean of the days fitted on", "zero")
    ]
    names = ["coin", "target", "variant", "benchmark", "r2", "low", "high"]
    pl.DataFrame(scores, schema=names, orient="row").write_parquet(folder / "v.parquet")
    sizes = {
        "coin": ["BTC", "SOL"],
        "position": ["held", "sized"],
        "volatility": [0.61, 0.48],
        "volatility_low": [0.5, 0.4],
        "volatility_high": [0.7, 0.5],
        "drawdown": [0.9, 0.72],
        "sharpe": [-0.001, 1.234],
        "sharpe_low": [-0.004, 0.0],
        "sharpe_high": [0.5, 2.0],
    }
    pl.DataFrame(sizes).write_parquet(folder / "t.parquet")
    falls = {
        "coin": ["ETH", "ETH"],
        "convention": ["open to low", "open to low"],
        "window": ["own", "BTC's"],
        "percent": [14.1, 13.0],
    }
    pl.DataFrame(falls).write_parquet(folder / "c.parquet")
    (folder / "g.json").write_text(json.dumps(grid), "utf-8")
    tab_variants(
        volatility=folder / "v.parquet",
        targeting=folder / "t.parquet",
        crash=folder / "c.parquet",
        grid=folder / "g.json",
        table=folder / "t.html",
        origin="mirror",
    )
    html = ElementTree.fromstring(  # noqa: S314 - our own table
        f"<div>{(folder / 't.html').read_text('utf-8')}</div>"
    )
    return [
        ["".join(cell.itertext()).strip() for cell in row]
        for row in html.iter("tr")
        if row.find("td") is not None
    ]


def test_every_reading_has_a_line_and_a_cell_for_its_coins(tmp_path: Path) -> None:
    excess = {"excess": {"value": -0.2, "se": 0.1}, "excess_with_mean": {"value": 0.1, "se": 0.1}}
    rows = written(tmp_path, {"estimates": excess})
    assert len(rows) == 8 + 3 * 2 + 2 + 2
    first = "7/30 days, log of mean; against the mean of the days fitted on"
    dash = "\N{EN DASH}"
    assert rows[0] == [
        "R² of log variance", first, "0.500 (0.400\xa0to\xa00.600)", dash, dash, dash,
    ]  # fmt: skip
    assert rows[1][1] == "7/30 days, log of mean; against zero"
    assert [row[0] for row in rows[4:8]] == ["R² of daily returns"] * 4
    assert rows[8][2:5] == ["0.610 (0.500\xa0to\xa00.700)", dash, dash]
    assert rows[12][2] == "0.00 (0.00\xa0to\xa00.50)"
    assert rows[15][1:4] == ["open to low, BTC’s window", dash, "13.0"]
    assert rows[-1][-1] == "0.10 (−0.10\xa0to\xa00.30)"


def test_a_grid_that_was_not_run_leaves_its_lines_out(tmp_path: Path) -> None:
    assert len(written(tmp_path, {"not_run": "no hourly candles"})) == 8 + 6 + 2

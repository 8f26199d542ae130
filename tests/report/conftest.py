"""A sample site from invented numbers, and a headless browser to look at it."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import remeasure.studies.crypto as crypto
from remeasure.draw.save import save_figure
from remeasure.draw.style import Theme, interval_bars, label_axes, published
from remeasure.ledger.verdict import VERDICTS
from remeasure.records import write_record
from remeasure.report.models import PageSettings, StudyPageSettings
from remeasure.report.site import (
    build_index,
    build_ledger_page,
    build_provenance_page,
    build_study_page,
    write_door,
)
from remeasure.report.tables import Column, html_table
from remeasure.studies.crypto.outputs import STUDY

LEDGER_SCHEMA = {
    "study": pl.String, "output_id": pl.String, "quantity": pl.String, "condition": pl.String,
    "kind": pl.String, "published": pl.String, "unit": pl.String, "value": pl.String,
    "low": pl.Float64, "high": pl.Float64, "n": pl.Int64, "origin": pl.String,
    "verdict": pl.String, "reason": pl.String, "step": pl.String, "artifact": pl.String,
}  # fmt: skip
HERE = Path(crypto.__file__).parent
TAILS = "results/default/crypto/tails.parquet"


def invented_rows(count: int | None = None) -> pl.DataFrame:
    """The study's reference rows with invented values; repeated under other names to ``count``."""
    with (HERE / "reference.csv").open(encoding="utf-8", newline="") as file:
        references = list(csv.DictReader(file))
    rng = np.random.default_rng(5)
    # As in a run without checkpoints.
    unmeasured = {
        output.id for output in STUDY.outputs if any("checkpoint" in need for need in output.needs)
    }
    rows: list[dict[str, Any]] = []
    for number in range(count or len(references)):
        reference = references[number % len(references)]
        copy = number // len(references)
        row: dict[str, Any] = {
            "study": "crypto" if copy == 0 else f"study_{copy}",
            "output_id": reference["output_id"],
            "quantity": reference["quantity"],
            "condition": reference["condition"],
            "kind": reference["kind"],
            "published": reference["value"],
            "unit": reference["unit"],
            "value": None, "low": None, "high": None, "n": None, "origin": "",
            "verdict": "not run", "reason": "this run has no checkpoints",
            "step": "", "artifact": "",
        }  # fmt: skip
        if reference["kind"] == "cited":
            row |= {"verdict": "cited", "reason": "quoted: someone"}
        elif reference["output_id"] not in unmeasured and reference["value"][:1].isdigit():
            true = float(reference["value"])
            value = true * (1 + 0.05 * rng.standard_normal())
            row |= {
                "value": repr(value),
                "low": value - 0.1 * abs(value),
                "high": value + 0.1 * abs(value),
                "n": 51057,
                "origin": "generated",
                "verdict": VERDICTS[number % 9],
                "reason": f"planted truth {true} lies inside our interval, <b>& more</b>",
                "step": "studies.crypto.tails:measure_tails",
                "artifact": TAILS,
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=LEDGER_SCHEMA)


def headline_of(ledger: pl.DataFrame) -> dict[str, Any]:
    """The counts of the ledger, in the form of the ledger's own step."""
    found = dict(ledger["verdict"].value_counts().iter_rows())
    return {
        "rows": ledger.height,
        "verdicts": {name: found.get(name, 0) for name in VERDICTS},
        "consistent_wider_than_published": 3,
        "studies": {},
    }


def invented_figure(folder: Path, name: str) -> list[Path]:
    """One figure with all its parts."""
    data = pl.DataFrame({"year": [2021, 2022, 2023], "share": [48.6, 46.0, 45.9]})

    def draw(figure: Figure, theme: Theme) -> None:
        ax = figure.add_subplot()
        share = data["share"].to_numpy()
        interval_bars(ax, data["year"], share, share - 1, share + 1, colour=theme.colour(0))
        published(ax, data["year"], share + 0.3, theme)
        ax.set_xticks([2021, 2022, 2023])
        label_axes(ax, x="year", y="share", y_unit="%")
        ax.legend()

    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        part: folder / f"{name}.{part.replace('_', '.')}"
        for part in ("light_svg", "light_png", "dark_svg", "dark_png")
    }
    save_figure(
        draw,
        data,
        **parts,
        csv=folder / f"{name}.csv",
        alt=folder / f"{name}.alt.txt",
        alt_text="Share by year: 48.6% in 2021, 46.0% in 2022, 45.9% in 2023.",
        origin="generated",
    )
    return [*parts.values(), folder / f"{name}.csv", folder / f"{name}.alt.txt"]


def invented_record(output: str, inputs: list[str]) -> dict[str, Any]:
    """A provenance record as the dispatcher writes it."""

    def files(paths: list[str]) -> list[dict[str, Any]]:
        return [{"path": path, "sha256": "ab" * 32, "size": 12345} for path in paths]

    return {
        "contract": 1, "run": "default", "step": "studies.crypto.tails:measure_tails",
        "call": {
            "step": "studies.crypto.tails:measure_tails", "run": "default", "seed": 7,
            "code": "0123456789abcdef", "settings": {"tails": {"threshold": 6.0}}, "contract": 1,
        },
        "wildcards": {}, "seed": 12345, "origin": "generated",
        "inputs": {"hours": [{**entry, "tables": {"hours": "cd" * 32}} for entry in files(inputs)]},
        "outputs": {"table": files([output])}, "packages": {"polars": "2.1.0"},
        "python": "3.11.9", "machine": "SECRET-MACHINE", "device": "cpu",
        "wall_seconds": 1.5, "peak_memory_mib": 99.0, "finished": "2026-11-29T00:00:00Z",
    }  # fmt: skip


def build_site(root: Path) -> Path:
    """A whole site below ``root`` (the current folder); returns ``reports/default``."""
    reports, results = root / "reports/default", root / "results/default"
    results.mkdir(parents=True)
    reports.mkdir(parents=True)
    ledger = invented_rows()
    ledger.write_parquet(results / "ledger.parquet")
    ledger.write_csv(results / "ledger.csv")
    (results / "headline.json").write_text(json.dumps(headline_of(ledger)))
    figures = [
        path
        for name in ("fig_tails", "fig_reversal")
        for path in invented_figure(reports / "crypto/figures", name)
    ]
    table = reports / "crypto/tables/tab_direction.html"
    table.parent.mkdir(parents=True)
    table.write_text(
        html_table(
            pl.DataFrame({"coin": ["BTC", "ETH"], "hit": [53.9, 53.8], "hours": [42142, 42142]}),
            caption="Hit rates of the next hour",
            columns=[
                Column(name="coin", title="coin"),
                Column(name="hit", title="hit rate", unit="%", decimals=1),
                Column(name="hours", title="hours"),
            ],
        ),
        "utf-8",
    )
    write_record(Path(TAILS), invented_record(TAILS, ["data/features/default/crypto/hours.duckdb"]))
    hours = "data/features/default/crypto/hours.duckdb"
    write_record(Path(hours), invented_record(hours, []))
    settings = PageSettings(run="default", seed=7, studies=("crypto",))
    csv_file = results / "ledger.csv"
    build_study_page(
        ledger=results / "ledger.parquet",
        figures=figures,
        tables=[table],
        card=HERE / "card.md",
        page=reports / "crypto.html",
        settings=StudyPageSettings(run="default", study="crypto"),
    )
    build_ledger_page(
        ledger=results / "ledger.parquet",
        page=reports / "ledger.html",
        settings=settings,
        csv=csv_file,
    )
    build_provenance_page(
        artefacts=[Path(TAILS), Path(hours)], page=reports / "provenance.html", settings=settings
    )
    build_index(
        ledger=results / "ledger.parquet",
        headline=results / "headline.json",
        page=reports / "index.html",
        settings=settings,
        csv=csv_file,
    )
    write_door(root / "reports")
    return reports


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample site's ``reports/default``; read only."""
    root = tmp_path_factory.mktemp("site")
    before = Path.cwd()
    os.chdir(root)
    try:
        return build_site(root)
    finally:
        os.chdir(before)


@pytest.fixture(scope="session")
def big_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a ledger as long as that of all studies."""
    folder = tmp_path_factory.mktemp("big")
    invented_rows(10_000).write_parquet(folder / "ledger.parquet")
    build_ledger_page(
        ledger=folder / "ledger.parquet",
        page=folder / "ledger.html",
        settings=PageSettings(run="big", seed=0, studies=("crypto",)),
    )
    return folder / "ledger.html"


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium without a window, with a profile of its own."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("needs chromium and chromedriver on the PATH")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--disable-dev-shm-usage", "--force-prefers-color-scheme=light",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=chromedriver)
    )
    yield browser
    browser.quit()

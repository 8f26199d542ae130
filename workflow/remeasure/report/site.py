"""The static site of a run: the steps that write its pages, and the door to all runs."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path

from remeasure.errors import DataError
from remeasure.report.ledger_page import render_ledger
from remeasure.report.ledger_rows import TONES, Row, counted, origins, read_ledger
from remeasure.report.models import PageSettings, StudyPageSettings
from remeasure.report.pages import link, write_page
from remeasure.report.provenance_page import render_provenance
from remeasure.report.study_page import navigation, render_study
from remeasure.studies.base import Study

PACKAGE_FILES = ("templates/index.html", "templates/door.html")


def declared(study: str) -> Study:
    """A study's own declaration, loaded by name.

    The fingerprint of a page's step does not see this import: the plan adds
    ``remeasure.studies.<id>.outputs`` to it.
    """
    found: Study = importlib.import_module(f"remeasure.studies.{study}.outputs").STUDY
    return found


def build_study_page(
    *,
    ledger: Path,
    figures: list[Path],
    tables: list[Path],
    card: Path,
    page: Path,
    settings: StudyPageSettings,
) -> None:
    """Write ``reports/<run>/<study>.html``.

    Parameters
    ----------
    ledger
        The joined ledger (Parquet).
    figures
        Files of the study's figures, ``<output id>.light.svg`` and so on; one file
        a figure is enough, its other parts lie beside it.
    tables
        HTML fragments of its tables, ``<output id>.html``.
    card
        The study card.
    page
        Output.

    Raises
    ------
    DataError
        When a row, figure or table belongs to no declared output.
    """
    render_study(
        declared(settings.study),
        rows=read_ledger(ledger),
        figures=figures,
        tables=tables,
        card=card,
        page=page,
        run=settings.run,
    )


def build_ledger_page(
    *, ledger: Path, page: Path, settings: PageSettings, csv: Path | None = None
) -> None:
    """Write ``reports/<run>/ledger.html``; ``csv`` is the ledger as CSV, to be linked."""
    render_ledger(
        read_ledger(ledger), page=page, run=settings.run, studies=settings.studies, csv=csv
    )


def build_provenance_page(*, artefacts: list[Path], page: Path, settings: PageSettings) -> None:
    """Write ``reports/<run>/provenance.html`` from the records of ``artefacts``.

    Raises
    ------
    DataError
        When an artefact has no record.
    """
    render_provenance(artefacts, page=page, run=settings.run, studies=settings.studies)


@dataclass(frozen=True)
class _Line:
    """One study on the overview."""

    id: str
    title: str
    question: str
    rows: int
    counts: dict[str, int]
    origins: tuple[str, ...]


def _checked_headline(path: Path, rows: list[Row]) -> int:
    """The headline's count of wide intervals, once its totals agree with the ledger's rows."""
    headline = json.loads(path.read_text("utf-8"))
    total = {verdict: count for verdict, count in headline["verdicts"].items() if count}
    if total != counted(rows):
        raise DataError(
            f"the headline counts {total}, the ledger holds {counted(rows)}",
            where=path,
            remedy="make both again: snakemake --cores 1 --force <ledger>",
        )
    return int(headline["consistent_wider_than_published"])


def build_index(
    *,
    ledger: Path,
    headline: Path,
    page: Path,
    settings: PageSettings,
    csv: Path | None = None,
) -> None:
    """Write ``reports/<run>/index.html``, the overview of a run.

    Parameters
    ----------
    ledger, headline
        The joined ledger (Parquet) and its counts (JSON).
    page
        Output.
    csv
        The ledger as CSV, to be linked.

    Raises
    ------
    DataError
        When headline and ledger disagree.
    """
    rows = read_ledger(ledger)
    wide = _checked_headline(headline, rows)
    lines = []
    for name in settings.studies:
        study, own = declared(name), [row for row in rows if row.study == name]
        counts = counted(own)
        lines.append(
            _Line(
                id=name,
                title=study.title,
                question=study.question,
                rows=len(own),
                counts={verdict: counts.get(verdict, 0) for verdict in counted(rows)},
                origins=origins(own),
            )
        )
    write_page(
        page,
        "index.html",
        title=f"Run {settings.run}",
        navigation=navigation(*settings.studies),
        here="overview",
        run=settings.run,
        seed=settings.seed,
        origins=origins(rows),
        total=len(rows),
        wide=wide,
        counts=counted(rows),
        tones=TONES,
        studies=lines,
        csv=link(csv, page) if csv else "",
    )


def write_door(reports: Path) -> None:
    """Write ``reports/index.html``, which leads to every run that has an overview.

    No rule's output: the workflow rewrites it at its end from the folders found.
    """
    runs = sorted(path.parent.name for path in reports.glob("*/index.html"))
    write_page(
        reports / "index.html",
        "door.html",
        title="Runs",
        navigation=[("all runs", "index.html")],
        here="all runs",
        runs=runs,
    )

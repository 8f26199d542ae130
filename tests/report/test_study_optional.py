"""Optional outputs: on the page of a run that drew them, and never with a published row."""

from __future__ import annotations

from pathlib import Path

import pytest

from remeasure.errors import DataError
from remeasure.ledger.join import check_declaration
from remeasure.ledger.reference import Reference
from remeasure.report.study_page import render_study
from remeasure.studies.base import Output, Study

STUDY = Study(
    id="made",
    title="Made up",
    question="Why?",
    method=("So.",),
    publication="nowhere",
    outputs=(
        Output(id="stat_a", kind="number", title="A"),
        Output(id="fig_b", kind="figure", title="Only sometimes", optional=True),
        Output(id="tab_b", kind="table", title="A table, sometimes", optional=True),
    ),
)


def page(at: Path, *tables: Path) -> str:
    card = at / "card.md"
    card.write_text("card", "utf-8")
    render_study(
        STUDY, rows=(), figures=(), tables=tables, card=card, page=at / "made.html", run="run"
    )
    return (at / "made.html").read_text("utf-8")


def test_they_stand_on_the_page_only_where_they_were_drawn(tmp_path: Path) -> None:
    text = page(tmp_path)
    assert 'id="stat_a"' in text
    assert "sometimes" not in text
    (tmp_path / "tab_b.html").write_text("<table></table>", "utf-8")
    text = page(tmp_path, tmp_path / "tab_b.html")
    assert "A table, sometimes" in text
    assert "Only sometimes" not in text


def test_they_need_no_row_and_must_have_none() -> None:
    own = Reference.printed("stat_a", "q", "", "1", "", "exact")
    check_declaration(STUDY, [own])
    with pytest.raises(DataError, match=r"fig_b: optional in outputs\.py, with a row"):
        check_declaration(STUDY, [own, Reference.printed("fig_b", "q", "", "1", "", "exact")])

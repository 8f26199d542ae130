"""Figures and tables: drawn from results alone, same bytes twice, numbers in their words."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from remeasure.draw.save import check_axes
from remeasure.draw.style import LIGHT
from remeasure.studies.identities.chart_parts import FigureStep, points
from remeasure.studies.identities.drawn import ARTICLES, FIGURES, article_of, step_of
from remeasure.studies.identities.tables import TableStep, show_checks
from studies.identities.small import checks, measured

PARTS = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")


def draw(figure: str, folder: Path) -> dict[str, Path]:
    folder.mkdir()
    article = article_of(figure)
    module = importlib.import_module(f"remeasure.studies.identities.chart_{article}")
    files = {part: folder / f"{figure}.{part}" for part in PARTS}
    module.draw(
        series=measured(article)[1] / "series.parquet",
        settings=FigureStep(figure=figure),
        origin="computed",
        **files,
    )
    return files


def test_every_article_has_a_figure_and_every_figure_a_chart() -> None:
    assert {article_of(figure) for figure in FIGURES} == set(ARTICLES)
    for article in ARTICLES:
        module = importlib.import_module(f"remeasure.studies.identities.chart_{article}")
        assert sorted(module.CHARTS) == sorted(
            each for each in FIGURES if article_of(each) == article
        )
    assert step_of("vit_tab_cost") == "chart_vit:draw[vit_tab_cost]"


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_says_its_numbers_and_names_its_axes(figure: str) -> None:
    article = article_of(figure)
    module = importlib.import_module(f"remeasure.studies.identities.chart_{article}")
    chart = module.CHARTS[figure](points(measured(article)[1] / "series.parquet", figure))
    assert any(character.isdigit() for character in chart.alt_text)
    assert "nan" not in chart.alt_text
    assert chart.data.height > 0
    with LIGHT.context():
        drawn = Figure(figsize=chart.size)
        chart.draw(drawn, LIGHT)
        check_axes(drawn)


def test_drawing_again_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = (
        draw("bert_tab_cmi_bound", tmp_path / "1"),
        draw("bert_tab_cmi_bound", tmp_path / "2"),
    )
    assert [one[part].read_bytes() for part in PARTS] == [two[part].read_bytes() for part in PARTS]


@pytest.mark.parametrize("article", ["vit", "bert"])
def test_the_table_holds_a_line_an_identity(article: str, tmp_path: Path) -> None:
    table = tmp_path / "table.html"
    rows = measured(article)[1] / "checks.parquet"
    show_checks(rows=rows, table=table, settings=TableStep(title="An article"))
    text = table.read_text("utf-8")
    assert text.count("<tr>") == checks(article).height + 1
    assert "ε" in text
    assert "at least" in text

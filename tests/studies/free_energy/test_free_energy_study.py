"""The study as a whole: every row answered, every output declared, every figure readable."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from pydantic import ValidationError

from remeasure.config import read_files, validate
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.ledger.join import StudyRows, ledger_frame
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.plan import Plan
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.free_energy import (
    bound,
    chart_curves,
    chart_drawings,
    descent,
    drawn,
    figures,
    forms,
    policies,
    tables,
)
from remeasure.studies.free_energy.food import free_energy
from remeasure.studies.free_energy.outputs import STUDY
from remeasure.studies.free_energy.published import rows
from remeasure.studies.free_energy.settings import BoundSettings, DescentSettings, Settings

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/free_energy"
DEFAULT = PROJECT / "config/config.yaml"


def default_settings() -> Settings:
    given: Settings = validate(read_files([DEFAULT], {"studies": ["free_energy"]})).section(
        "free_energy"
    )
    return given


def measured_descent(at: Path, given: DescentSettings) -> list[Measurement]:
    return descent.measure_descent(
        paths=at / "descent.parquet",
        density=at / "posterior.parquet",
        summary=at / "descent.json",
        settings=descent.DescentStep(descent=given),
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measurement]]:
    at = tmp_path_factory.mktemp("free_energy")
    given = default_settings()
    measured = [
        *bound.measure_bound(
            table=at / "bound.parquet",
            summary=at / "bound.json",
            settings=bound.BoundStep(bound=given.bound),
        ),
        *measured_descent(at, given.descent),
        *policies.measure_policies(
            table=at / "policies.parquet",
            settings=policies.PoliciesStep(preference_floor=given.preference_floor),
        ),
        *forms.measure_forms(forms_file=at / "forms.json"),
    ]
    return at, measured


def ledger(measured: list[Measurement]) -> pl.DataFrame:
    references = list(rows().values())
    return ledger_frame(
        [
            StudyRows(
                study=STUDY,
                references=references,
                measured={
                    (each.output_id, each.quantity, each.condition): Measured(
                        measurement=each, origin="computed", step="step", artifact="artifact"
                    )
                    for each in measured
                },
                errata=read_errata(FOLDER / "errata.csv", references),
            )
        ]
    )


def test_every_row_is_exact_quoted_or_a_proved_erratum(
    results: tuple[Path, list[Measurement]],
) -> None:
    found = ledger(results[1])
    assert Counter(found["verdict"]) == {"exact": 87, "cited": 24, "erratum": 2}


def test_every_row_is_answered_once(results: tuple[Path, list[Measurement]]) -> None:
    keys = Counter((each.output_id, each.quantity, each.condition) for each in results[1])
    assert set(keys.values()) == {1}
    assert set(keys) == {row.key for row in rows().values() if row.kind != "cited"}


def test_cited_rows_have_sources_and_stand_in_the_table(
    results: tuple[Path, list[Measurement]],
) -> None:
    cited = ledger(results[1]).filter(pl.col("kind") == "cited")
    assert all(reason.startswith("quoted: ") for reason in cited["reason"])
    assert tables.cited_frame().height == cited.height == 24


def test_another_step_answers_no_row_that_names_this_one(tmp_path: Path) -> None:
    measured = measured_descent(tmp_path, DescentSettings(step=0.02, time=4))
    named = [each for each in measured if "Euler step 0.01" in each.condition]
    assert named
    assert all(each.value is None for each in named)


def test_a_short_run_leaves_late_times_open(tmp_path: Path) -> None:
    measured = measured_descent(tmp_path, DescentSettings(step=0.01, time=6))
    late = [each for each in measured if each.condition.startswith("t=10.0")]
    assert [each.value for each in late] == [None]


def test_what_is_drawn_is_what_its_column_says(
    results: tuple[Path, list[Measurement]],
) -> None:
    at, _ = results
    curves = read_frame(at / "bound.parquet")
    assert curves.filter(pl.col("fixed") < pl.col("best") - 1e-12).is_empty()
    at_two = curves.filter((pl.col("centre") - 2).abs() < 1e-9).row(0, named=True)
    # F of N(2, 0.3^2) by hand: E[v^2] = 4.09, E[v^4] = 16 + 24 * 0.09 + 3 * 0.0081.
    by_hand = -0.5 * np.log(2 * np.pi * np.e * 0.09) + np.log(2 * np.pi)
    by_hand += (4.09 - 12 + 9) / 2 + (4 - 4 * 4.09 + 16 + 2.16 + 0.0243) / 2
    assert at_two["fixed"] == pytest.approx(by_hand)
    posterior, known = read_frame(at / "posterior.parquet"), read_json(at / "descent.json")
    top = posterior.sort("density", descending=True)["size"][0]
    assert (top, known["peak"], known["mean"]) == pytest.approx((1.5675, 1.5675, 1.4797), abs=6e-3)
    rest = read_frame(at / "descent.parquet").row(-1, named=True)
    assert rest["prior_error"] == pytest.approx(rest["network"] - 3, abs=0.05)
    assert rest["sensory_error"] == pytest.approx(2 - rest["network"] ** 2, abs=0.05)
    chosen = read_frame(at / "policies.parquet")
    assert chosen["preferred"].to_list() == pytest.approx([0.82, 0.5, None, None])
    assert chosen["value"].to_list() == pytest.approx([2.409, 7.307, 0.656, 0.518], abs=1e-3)


def test_beliefs_below_the_surprisal_would_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were the surprisal 3.3 nats, some beliefs would lie below it: as many as found one by one."""
    monkeypatch.setattr(
        bound, "whole_line", lambda: SimpleNamespace(surprisal=3.3, evidence=np.exp(-3.3))
    )
    given = default_settings().bound
    bound.measure_bound(
        table=tmp_path / "t.parquet",
        summary=tmp_path / "s.json",
        settings=bound.BoundStep(bound=given),
    )
    found = read_json(tmp_path / "s.json")
    curves = read_frame(tmp_path / "t.parquet")
    widths = np.geomspace(0.02, 3.0, 300)
    grid = [free_energy(np.array(centre), widths) for centre in curves["centre"]]
    every = np.concatenate([*grid, curves["fixed"].to_numpy(), curves["best"].to_numpy()])
    assert found["beliefs"] == every.size
    assert found["below"] == (every < 3.3).sum() > 100


def charts(at: Path) -> dict[str, Chart]:
    frames = {path.stem: read_frame(path) for path in at.glob("*.parquet")}
    summary = {path.stem: read_json(path) for path in at.glob("*.json")}
    return {
        "fig_bound": chart_curves.bound(frames["bound"], summary["bound"]),
        "fig_bogacz": chart_curves.bogacz(
            frames["posterior"], frames["descent"], summary["descent"]
        ),
        "fig_efe": chart_curves.efe(frames["policies"]),
        "fig_decompose": chart_drawings.decompose(summary["forms"]),
        "fig_hierarchy": chart_drawings.hierarchy(summary["forms"]),
        "fig_blanket": chart_drawings.blanket(summary["forms"]),
        "fig_evidence": chart_drawings.evidence(),
    }


@pytest.mark.parametrize("name", list(drawn.FIGURES))
def test_figures_keep_their_words_inside_and_apart(
    name: str, results: tuple[Path, list[Measurement]]
) -> None:
    chart = charts(results[0])[name]
    assert len(chart.alt_text) > 60
    for theme in THEMES:
        with theme.context():
            figure = Figure(figsize=chart.size, layout="constrained")
            chart.draw(figure, theme)
            check_axes(figure)
            figure.draw_without_rendering()
            frame = figure.bbox
            for ax in figure.get_axes():
                ticks = ax.get_xticklabels() if ax.axison else []
                own = [text for text in (*ax.texts, ax.title, *ticks) if text.get_text()]
                boxes = [text.get_window_extent() for text in own]
                for index, box in enumerate(boxes):
                    assert box.x0 >= frame.x0 - 1, own[index]
                    assert box.x1 <= frame.x1 + 1, own[index]
                    for other, words in zip(boxes[:index], own[:index], strict=True):
                        assert not box.padded(-1).overlaps(other.padded(-1)), (own[index], words)


def test_a_form_that_does_not_agree_is_not_drawn() -> None:
    found = {"forms": ["energy minus entropy"]}
    assert "1 ways" in chart_drawings.decompose(found).alt_text


def test_planned_settings_fit_the_steps() -> None:
    plan = Plan.from_files([DEFAULT], {"studies": ["free_energy"]})
    planned = import_module("remeasure.studies.free_energy.plan").steps(
        default_settings(), plan.config
    )
    assert bound.BoundStep.model_validate(planned["bound:measure_bound"])
    assert descent.DescentStep.model_validate(planned["descent:measure_descent"])
    assert policies.PoliciesStep.model_validate(planned["policies:measure_policies"])
    for step in planned:
        assert plan.call(f"studies.free_energy.{step}")
        module, _, function = step.partition(":")
        assert callable(getattr(import_module(f"remeasure.studies.free_energy.{module}"), function))
    assert list(figures.STEPS) == [*drawn.FIGURES, *drawn.TABLES]
    assert all(step.__name__ == output for output, step in figures.STEPS.items())


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match="must lie below last"):
        BoundSettings(first=3.0, last=1.0, points=100, width=0.3)
    with pytest.raises(ValidationError):
        DescentSettings(step=0.5, time=5)


def test_outputs_are_those_of_the_reference_and_the_card() -> None:
    declared = {output.id for output in STUDY.outputs}
    printed = {row.output_id for row in rows().values()}
    assert printed <= declared
    assert declared - printed == {"fig_blanket", "tab_cited"}
    shown = set(drawn.FIGURES) | set(drawn.TABLES)
    assert shown == {o.id for o in STUDY.outputs if o.kind in ("figure", "drawing", "table")}


def test_no_step_holds_a_printed_result() -> None:
    """Rows are matched by their words; the values live in reference.csv alone."""
    values = {
        row.published
        for row in rows().values()
        if row.kind != "cited"
        and row.number is not None
        and len(row.published.replace(".", "").strip("0")) >= 4
    }
    text = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    assert not [value for value in values if value in text]


def test_the_table_is_written(tmp_path: Path) -> None:
    tables.tab_cited(table=tmp_path / "table.html", origin="computed")
    assert "Solomon" in (tmp_path / "table.html").read_text("utf-8")

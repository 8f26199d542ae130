"""The page as a whole: every row answered and exact, every output declared, figures readable."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.config import read_files, validate
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.ledger.join import StudyRows, ledger_frame
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.models import qwen3
from remeasure.plan import Plan
from remeasure.store.frames import read_frame
from remeasure.studies.models import charts, definitions, drawn, parity, referees, tables
from remeasure.studies.models.outputs import STUDY
from remeasure.studies.models.published import answer, merged, rows
from remeasure.studies.models.settings import Settings

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/models"
DEFAULT = PROJECT / "config/config.yaml"

needs_reference = pytest.mark.skipif(not parity.there(), reason="transformers is the referee here")


def default_settings() -> Settings:
    given: Settings = validate(read_files([DEFAULT], {"studies": ["models"]})).section("models")
    return given


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measurement]]:
    at = tmp_path_factory.mktemp("models")
    measured = [
        *definitions.measure_definitions(
            models_table=at / "models.parquet",
            parts_table=at / "parts.parquet",
            caches_table=at / "caches.parquet",
            settings=definitions.DefinitionsStep(text=default_settings().text),
        ),
        *parity.measure_parity(parity_table=at / "parity.parquet"),
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


def test_every_row_is_exact(results: tuple[Path, list[Measurement]]) -> None:
    found = Counter(ledger(results[1])["verdict"])
    if parity.there():
        assert found == {"exact": 1018}
    else:
        assert found == {"exact": 994, "not run": 24}


def test_every_row_is_answered_once(results: tuple[Path, list[Measurement]]) -> None:
    keys = Counter((each.output_id, each.quantity, each.condition) for each in results[1])
    assert set(keys.values()) == {1}
    assert set(keys) == set(rows())


def test_rows_name_their_card_and_output() -> None:
    for row in rows().values():
        card, _, output = row.source.partition(": ")
        assert row.output_id == f"{card}_{output}"
        assert row.kind == "exact"


def test_every_model_has_the_parameters_of_its_formula(
    results: tuple[Path, list[Measurement]],
) -> None:
    models = read_frame(results[0] / "models.parquet", definitions.MODELS)
    assert models.height >= 41
    assert models.filter(pl.col("formula") != pl.col("counted")).is_empty()
    parts = read_frame(results[0] / "parts.parquet", definitions.PART_COUNTS)
    sums = parts.group_by("model").agg(pl.col("parameters").sum())
    assert dict(sums.iter_rows()) == dict(models.select("model", "counted").iter_rows())
    # No large tensor is left to the rest, but the convolutions of one model.
    share = pl.col("parameters") / pl.col("parameters").sum().over("model")
    left = parts.with_columns(share.alias("share")).filter(
        (pl.col("part") == "rest") & (pl.col("share") > 0.02)
    )
    assert left["model"].to_list() == ["small CNN"]


@needs_reference
def test_every_model_equals_the_reference(results: tuple[Path, list[Measurement]]) -> None:
    frame = read_frame(results[0] / "parity.parquet", parity.PARITY)
    assert frame.height >= 21
    assert frame["outputs"].all()
    assert frame["gradients"].all()


@needs_reference
def test_a_wrong_rotary_base_or_two_exchanged_maps_are_no_parity() -> None:
    case = next(each for each in referees.CASES if each.name == "Qwen3")

    def other_base(published: dict[str, object]) -> object:
        rope = {"rope_type": "default", "rope_theta": 600.0}
        return case.ours(published | {"rope_parameters": rope})

    assert referees.compare(replace(case, ours=other_base)).outputs > 1e-3  # type: ignore[arg-type]
    exchanged = Names(
        [
            Name("blocks.{i}.mlp.gate.weight", "model.layers.{i}.mlp.up_proj.weight"),
            Name("blocks.{i}.mlp.up.weight", "model.layers.{i}.mlp.gate_proj.weight"),
            *qwen3.NAMES.rules,
        ],
        ignored=["lm_head.weight"],
    )
    mixed = replace(case, ours=lambda published: (case.ours(published)[0], exchanged))
    assert referees.compare(mixed).outputs > 1e-3


def test_without_the_reference_its_rows_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parity, "there", lambda: False)
    measured = parity.measure_parity(parity_table=tmp_path / "parity.parquet")
    missing = [each for each in measured if each.value is None]
    assert len(missing) == 24
    assert all("not installed" in each.note for each in missing)
    tables.tab_parity(
        parity_table=tmp_path / "parity.parquet", table=tmp_path / "t.html", origin="computed"
    )
    assert "not installed" in (tmp_path / "t.html").read_text("utf-8")


def all_charts(at: Path) -> dict[str, Chart]:
    return {
        "fig_parts": charts.parts(read_frame(at / "parts.parquet")),
        "fig_caches": charts.caches(read_frame(at / "caches.parquet")),
    }


@pytest.mark.parametrize("name", list(drawn.FIGURES))
def test_figures_keep_their_words_inside_and_apart(
    name: str, results: tuple[Path, list[Measurement]]
) -> None:
    chart = all_charts(results[0])[name]
    assert len(chart.alt_text) > 60
    for theme in THEMES:
        with theme.context():
            figure = Figure(figsize=chart.size, layout="constrained")
            chart.draw(figure, theme)
            check_axes(figure)
            figure.draw_without_rendering()
            for ax in figure.get_axes():
                low, high = ax.get_xlim()
                ticks = [t for t in ax.get_xticklabels() if low <= t.get_position()[0] <= high]
                own = [*ax.texts, *ticks, *ax.get_yticklabels()]
                boxes = [text.get_window_extent() for text in own]
                for index, box in enumerate(boxes):
                    assert box.x0 >= figure.bbox.x0 - 1, own[index]
                    assert box.x1 <= figure.bbox.x1 + 1, own[index]
                    for other, words in zip(boxes[:index], own[:index], strict=True):
                        assert not box.padded(-1).overlaps(other.padded(-1)), (own[index], words)


def test_tables_are_written(results: tuple[Path, list[Measurement]], tmp_path: Path) -> None:
    at = results[0]
    tables.tab_models(
        models_table=at / "models.parquet", table=tmp_path / "models.html", origin="computed"
    )
    assert "both agree for every model" in (tmp_path / "models.html").read_text("utf-8")


def test_planned_settings_fit_the_steps() -> None:
    plan = Plan.from_files([DEFAULT], {"studies": ["models"]})
    planned = import_module("remeasure.studies.models.plan").steps(default_settings(), plan.config)
    told = planned["definitions:measure_definitions"]
    assert definitions.DefinitionsStep.model_validate(told)
    for step in planned:
        assert plan.call(f"studies.models.{step}")
        module, _, function = step.partition(":")
        assert callable(getattr(import_module(f"remeasure.studies.models.{module}"), function))


def test_outputs_are_those_of_the_reference_and_the_page() -> None:
    declared = [output.id for output in STUDY.outputs]
    printed = list(dict.fromkeys(row.output_id for row in rows().values()))
    own = [output.id for output in STUDY.outputs if output.kind != "number"]
    assert declared == [*own, *printed]
    assert set(own) == set(drawn.FIGURES) | set(drawn.TABLES)


def test_no_step_holds_a_printed_result() -> None:
    """Lengths are inputs; long numbers are results, and live in reference.csv alone."""
    values = {
        row.published
        for row in rows().values()
        if row.number is not None
        and row.published not in row.condition
        and len(row.published.replace(".", "").strip("0")) >= 6
    }
    text = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    assert len(values) > 100
    # Bytes of a token in Llama 3.1, and the length of the longest text.
    assert [value for value in values if value in text.replace("_", "")] == ["131072"]


def test_rules_that_answer_nothing_or_twice_are_refused() -> None:
    with pytest.raises(ValueError, match="no row asks for"):
        answer({"bert_stat_loaded_params": {"parametres": 1}})
    with pytest.raises(ValueError, match="answered twice"):
        merged(*({"bert_stat_loaded_params": {"parameters": 1}} for _ in range(2)))

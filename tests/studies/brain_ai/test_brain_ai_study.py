"""The study as a whole: every row answered, every output declared, every figure readable."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from remeasure.config import read_files, validate
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.ledger.join import StudyRows, ledger_frame
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.plan import Plan
from remeasure.store.frames import read_frame
from remeasure.store.fsaverage import weight
from remeasure.studies.brain_ai import (
    atlas,
    chart_bars,
    chart_brains,
    chart_drawings,
    drawn,
    essay,
    figures,
    tables,
)
from remeasure.studies.brain_ai.content import MODULES, VENTRAL, VISION
from remeasure.studies.brain_ai.outputs import STUDY
from remeasure.studies.brain_ai.published import rows
from remeasure.studies.brain_ai.settings import Settings

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/brain_ai"
DEFAULT = PROJECT / "config/config.yaml"

Results = tuple[Path, list[Measurement]]


def default_settings(**changed: object) -> Settings:
    given: Settings = validate(
        read_files([DEFAULT], {"studies": ["brain_ai"], "brain_ai": changed})
    ).section("brain_ai")
    return given


def measured_at(at: Path, given: Settings) -> list[Measurement]:
    return essay.measure_essay(
        table=at / "facts.parquet",
        errors_table=at / "errors.parquet",
        maps_table=at / "maps.parquet",
        derived=at / "conversions.parquet",
        settings=essay.EssayStep(dopamine=given.dopamine, maps=given.maps),
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    at = tmp_path_factory.mktemp("brain_ai")
    return at, measured_at(at, default_settings())


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


def test_every_row_has_its_verdict(results: Results) -> None:
    found = ledger(results[1])
    assert Counter(found["verdict"]) == {"cited": 143, "exact": 39, "not run": 2, "erratum": 1}
    keys = Counter((each.output_id, each.quantity, each.condition) for each in results[1])
    assert set(keys.values()) == {1}
    assert set(keys) == {row.key for row in rows().values() if row.kind != "cited"}


def test_quoted_facts_have_sources_and_stand_in_the_table(results: Results) -> None:
    at, measured = results
    cited = ledger(measured).filter(kind="cited")
    assert all(reason.startswith("quoted: ") for reason in cited["reason"])
    facts = read_frame(at / "facts.parquet")
    assert facts.height == cited.height
    assert "Lipkin et al. 2022" in tables.cited(facts)
    (gpt3,) = cited.filter(quantity="GPT-3 training")["reason"]
    assert "300 billion" in gpt3


def test_the_list_lengths_say_why_they_are_not_counted(results: Results) -> None:
    left = ledger(results[1]).filter(verdict="not run")
    assert set(left["output_id"]) == {"stat_lists"}
    assert all("nothing to count" in reason for reason in left["reason"])


def test_too_few_trials_answer_honestly(tmp_path: Path) -> None:
    short = default_settings(dopamine={"trials": 3})
    found = ledger(measured_at(tmp_path, short)).filter(output_id="fig_dopamine")
    learned = found.filter(
        pl.col("condition") == "after learning", pl.col("quantity").str.contains("at the cue")
    )
    assert learned["verdict"].to_list() == ["differs"]
    assert "3 trials" in learned["reason"].item()


def test_what_is_drawn_may_have_another_discount(tmp_path: Path) -> None:
    """Rows that name a discount keep it; the figure shows the setting."""
    own = measured_at(tmp_path, default_settings(dopamine={"discount": 0.9}))
    assert ledger(own).filter(verdict="differs").height == 0
    errors = read_frame(tmp_path / "errors.parquet")
    spike = errors.filter(trial="after learning", time=0)["error"].item()
    assert spike == pytest.approx(0.9**10, abs=1e-6)


def charts(at: Path) -> dict[str, Chart]:
    facts = read_frame(at / "facts.parquet")
    return {
        "fig_drive": chart_bars.drive(facts),
        "fig_encoding": chart_drawings.encoding(),
        "fig_vision": chart_drawings.vision(facts),
        "fig_memory": chart_drawings.memory(facts),
        "fig_dopamine": chart_drawings.dopamine(read_frame(at / "errors.parquet")),
        "fig_physics": chart_bars.physics(facts),
        "fig_energy": chart_bars.energy(facts, read_frame(at / "conversions.parquet")),
        "fig_data": chart_bars.data(facts),
    }


def drawn_figure(chart: Chart, theme_number: int = 0) -> Figure:
    theme = THEMES[theme_number]
    with theme.context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, theme)
        check_axes(figure)
        figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def pictures(results: Results) -> dict[str, Figure]:
    """Every figure, drawn once."""
    return {name: drawn_figure(chart) for name, chart in charts(results[0]).items()}


@pytest.mark.parametrize("name", drawn.SHEETS["figures:draw_figures"][1])
def test_figures_keep_their_words_inside_and_apart(
    name: str, results: Results, pictures: dict[str, Figure]
) -> None:
    assert len(charts(results[0])[name].alt_text) > 60
    figure = pictures[name]
    for ax in figure.get_axes():
        low, high = ax.get_xlim()
        labels = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        ticks = [text for at, text in labels if ax.axison and low <= at <= high]
        own = [
            text for text in (*ax.texts, ax.title, *ticks) if text.get_text() and text.get_visible()
        ]
        boxes = [text.get_window_extent() for text in own]
        for index, box in enumerate(boxes):
            assert box.x0 >= figure.bbox.x0 - 1, own[index]
            assert box.x1 <= figure.bbox.x1 + 1, own[index]
            for other, words in zip(boxes[:index], own[:index], strict=True):
                assert not box.padded(-1).overlaps(other.padded(-1)), (own[index], words)


def test_bars_and_panels_are_as_many_as_the_card_says(
    results: Results, pictures: dict[str, Figure]
) -> None:
    (physics,) = pictures["fig_physics"].get_axes()
    assert len(physics.patches) == 7
    assert len(pictures["fig_dopamine"].get_axes()) == 3
    assert charts(results[0])["fig_vision"].data.height == len(VISION) == 5
    facts = read_frame(results[0] / "facts.parquet")
    states = Counter(facts.filter(output_id="tab_modules")["value"])
    assert states == {"strong": 4, "partial": 3, "absent": 2}
    judged = facts.filter(output_id="fig_modules")
    assert Counter(judged["value"]) == {"close": 3, "partial": 3, "none yet": 3}
    assert {each.name: each.group for each in MODULES} == dict(
        judged.select("condition", "value").iter_rows()
    )


def test_bars_hold_what_the_card_prints(results: Results, pictures: dict[str, Figure]) -> None:
    made = charts(results[0])
    used = dict(made["fig_energy"].data.select("what", "value").iter_rows())
    assert used == pytest.approx(
        {
            "brain, 20 years": 3.5064,
            "GPT-3": 1287,
            "Llama 3.1 405B": 21588,
            "Grok 4 (estimate)": 310_000,
            "Gemini prompt, median": 0.24,
            "GPT-4o query": 0.3,
            "brain, one minute": 1 / 3,
            "GPT-4o, 10,000 tokens in": 2.5,
            "GPT-4o, 100,000 tokens in": 40,
        }
    )
    words = {what: (low, high) for what, low, high, _ in made["fig_data"].data.iter_rows()}
    assert words["heard by age 5"] == (6e6, 60e6)
    assert words["heard and read by age 20"] == (30e6, 400e6)
    assert words["GPT-3, data set"] == (500e9, 500e9)
    assert words["Llama 3.1, training"] == (15.6e12, 15.6e12)
    assert dict(made["fig_drive"].data.iter_rows()) == {"drive": 85.7, "suppress": -97.5}
    (physics,) = pictures["fig_physics"].get_axes()
    colours = [to_hex(bar.get_facecolor()) for bar in physics.patches]
    assert colours == [THEMES[0].colour(0)] + [THEMES[0].colour(1)] * 6
    assert physics.get_yticklabels()[0].get_text() == "people"


def test_the_trials_are_those_of_the_essay(results: Results) -> None:
    """Where the spikes of each trial stand: steps from the cue, the juice at step 10."""
    errors = read_frame(results[0] / "errors.parquet")
    spikes = {
        trial: dict(own.filter(pl.col("error").abs() > 0.1).select("time", "error").iter_rows())
        for (trial,), own in errors.group_by("trial", maintain_order=True)
    }
    assert list(spikes) == list(essay.TRIALS)
    before, after, withheld = spikes.values()
    assert before == {10: 1}
    assert after == pytest.approx({0: 1}, abs=1e-6)
    assert withheld == pytest.approx({0: 1, 10: -1}, abs=1e-6)


def test_maps_stand_in_the_middle_of_the_box(results: Results) -> None:
    fields = read_frame(results[0] / "maps.parquet")
    side = default_settings().maps.side
    top = fields.sort("place", descending=True).row(0, named=True)
    assert (top["x"], top["y"]) == pytest.approx((side / 2, side / 2), abs=0.02 * side)
    # Rows of the picture run from south to north, columns from west to east.
    assert fields["x"].head(3).is_sorted()
    assert fields["y"].head(3).n_unique() == 1


def test_numbers_of_the_figures_have_a_source(
    results: Results, pictures: dict[str, Figure]
) -> None:
    """No orphan: every number that a figure of facts shows is quoted or converted."""
    facts = read_frame(results[0] / "facts.parquet")
    quoted = {
        number.replace(",", "").lstrip("-") for value in facts["value"] for number in value.split()
    }
    # Conversions as they are drawn, and quoted ones with the zeros of three digits.
    converted = {"3.51", "21588", "0.333", "0.240", "0.300", "2.50"}
    words = chain.from_iterable(
        [text.get_text() for ax in pictures[name].get_axes() for text in ax.texts]
        for name in ("fig_drive", "fig_vision", "fig_physics", "fig_energy", "fig_data")
    )
    numbers = {
        word.strip("%():;+−").replace(",", "")
        for text in words
        for word in text.split()
        if word.strip("+−")[:1].isdigit()
    }
    years = {"2014", "2018", "2023", "2024", "2025"}
    assert len(numbers) > 20
    assert numbers <= quoted | converted | years


def test_regions_lie_where_they_should() -> None:
    """Points whose place is beyond doubt (MNI, mm): which stage and which region they are in."""
    places = {
        "occipital pole": ([-12, -100, 0], "early", "visual cortex"),
        "fusiform gyrus": ([-38, -54, -18], "late", None),
        "Heschl's gyrus": ([-50, -20, 8], None, "auditory cortex"),
        "hand knob": ([-38, -20, 56], None, "motor cortex"),
        "anterior insula": ([-36, 8, 0], None, "insula"),
        "subgenual": ([-6, 46, -12], None, "ventromedial prefrontal cortex"),
        "superior parietal": ([-24, -62, 58], None, None),
    }
    for place, (point, stage, module) in places.items():
        at = np.array([point], dtype=float)
        stages = [each.group for each in VENTRAL if weight(at, each.balls)[0] > 0.5]
        modules = [each.name for each in MODULES if weight(at, each.balls)[0] > 0.5]
        assert stages == ([stage] if stage else []), place
        assert modules == ([module] if module else []), place


def test_the_slice_and_the_maps_are_drawn(results: Results) -> None:
    maps = read_frame(results[0] / "maps.parquet")
    plane = pl.DataFrame(
        {"x": [0.0, 0.0, 1.0, 1.0], "z": [0.0, 1.0, 0.0, 1.0], "value": [0.0, 0.2, 0.5, 1.0]}
    )
    chart = chart_brains.space(plane, maps)
    assert "peak 1.00" in chart.alt_text
    brain, *fields = drawn_figure(chart).get_axes()
    np.testing.assert_array_equal(brain.images[0].get_array(), [[0.0, 0.5], [0.2, 1.0]])
    assert len(brain.patches) == 2
    size = default_settings().maps.points
    assert [ax.images[0].get_array().shape for ax in fields] == [(size, size)] * 2  # type: ignore[union-attr]


def test_planned_settings_fit_the_steps() -> None:
    changed = {"studies": ["brain_ai"], "brain_ai": {"atlas": "public"}}
    plan = Plan.from_files([DEFAULT], changed)
    planned = import_module("remeasure.studies.brain_ai.plan").steps(
        default_settings(atlas="public"), plan.config
    )
    assert essay.EssayStep.model_validate(planned["essay:measure_essay"])
    assert atlas.FetchStep.model_validate(planned["atlas:fetch_atlas"])
    assert figures.LanguageStep.model_validate(planned["figures:draw_language"])
    for step in planned:
        assert plan.call(f"studies.brain_ai.{step}")
        module, _, function = step.partition(":")
        assert callable(getattr(import_module(f"remeasure.studies.brain_ai.{module}"), function))


def test_outputs_are_those_of_the_reference_and_the_card() -> None:
    declared = {output.id for output in STUDY.outputs}
    printed = {row.output_id for row in rows().values()}
    assert printed <= declared
    assert declared - printed == {"fig_encoding", "fig_ventral", "tab_conversions", "tab_cited"}
    names = chain.from_iterable(names for _, names in drawn.sheets("public").values())
    shown = {*names, *drawn.TABLES}
    assert shown == {o.id for o in STUDY.outputs if o.kind in ("figure", "drawing", "table")}
    measured = {row.output_id for row in rows().values() if row.kind != "cited"}
    assert {o.id for o in STUDY.outputs if o.kind == "cited"} == {
        each for each in printed - measured if each.startswith("stat_")
    }


def test_tables_are_written(tmp_path: Path, results: Results) -> None:
    at = results[0]
    paths = [tmp_path / f"{name}.html" for name in drawn.TABLES]
    tables.write_tables(
        table=at / "facts.parquet", derived=at / "conversions.parquet", tables=paths
    )
    modules, conversions, cited = (path.read_text("utf-8") for path in paths)
    assert "4 strong, 3 partial, 2 absent" in modules
    assert "43.2" in conversions
    assert "Hadidi" in cited

"""The study as a whole: every row answered, shares exact, grids counted, figures readable."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from itertools import chain
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy.optimize import brentq

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
from remeasure.studies.consciousness import (
    chart_brains,
    chart_drawings,
    chart_facts,
    drawn,
    essay,
    tables,
)
from remeasure.studies.consciousness.content import REGIONS
from remeasure.studies.consciousness.outputs import STUDY
from remeasure.studies.consciousness.published import rows
from remeasure.studies.consciousness.settings import Settings

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/consciousness"
DEFAULT = PROJECT / "config/config.yaml"

Results = tuple[Path, list[Measurement]]


def default_settings() -> Settings:
    given: Settings = validate(read_files([DEFAULT], {"studies": ["consciousness"]})).section(
        "consciousness"
    )
    return given


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    at = tmp_path_factory.mktemp("consciousness")
    given = default_settings()
    measured = essay.measure_essay(
        table=at / "facts.parquet",
        grids=at / "squares.parquet",
        counted=at / "shares.parquet",
        settings=essay.EssayStep(columns=given.columns, level=given.level),
    )
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


def test_every_row_has_its_verdict(results: Results) -> None:
    found = ledger(results[1])
    assert Counter(found["verdict"]) == {"cited": 78, "exact": 16, "not run": 2}
    keys = Counter((each.output_id, each.quantity, each.condition) for each in results[1])
    assert set(keys.values()) == {1}
    assert set(keys) == {row.key for row in rows().values() if row.kind != "cited"}


def test_what_is_not_run_says_why(results: Results) -> None:
    left = ledger(results[1]).filter(verdict="not run")
    assert left["quantity"].to_list() == ["theories discussed", "conclusions listed"]
    assert all("nothing to count" in reason for reason in left["reason"])


def test_quoted_facts_have_sources_and_stand_in_the_table(results: Results) -> None:
    at, measured = results
    cited = ledger(measured).filter(kind="cited")
    assert all(reason.startswith("quoted: ") for reason in cited["reason"])
    facts = read_frame(at / "facts.parquet")
    assert facts.height == cited.height
    fragment = tables.cited(facts)
    assert fragment.count("<tr>") >= facts.height
    assert "10.1056/NEJMoa2400645" in fragment


def test_printed_facts_agree_with_each_other(results: Results) -> None:
    facts = read_frame(results[0] / "facts.parquet")

    def values(output: str, quantity: str) -> list[str]:
        return facts.filter(output_id=output, quantity=quantity)["value"].to_list()

    survey = {
        (row["question"], row["answer"]): row["share"]
        for row in essay.survey(facts).iter_rows(named=True)
    }
    zombie = {
        "inconceivable": "inconceivable",
        "conceivable but not possible": "conceivable but not metaphysically possible",
        "possible": "metaphysically possible",
    }
    for printed, answer in zombie.items():
        assert values("fig_zombie", f"share: {printed}") == [f"{survey['zombies', answer]:.0f}"]
    assert values("stat_headline", "philosophers who say there is a hard problem") == [
        f"{survey['is there a hard problem', 'yes']:.0f}"
    ]
    assert values("stat_headline", "philosophers who lean physicalist") == [
        f"{survey['mind', 'physicalism']:.0f}"
    ]
    assert values("fig_cogitate", "electrodes with offset ignition") == ["0"]
    assert values("fig_cogitate", "prefrontal electrodes") == ["655"]
    years = [
        int(values("stat_bet", name)[0][:4]) for name in ("year of the bet", "day it was settled")
    ]
    assert years[1] - years[0] == int(values("stat_bet", "length of the bet")[0])


def test_shares_and_sums_are_those_of_the_card(results: Results) -> None:
    at, measured = results
    value = {(each.output_id, each.quantity, each.condition): each.value for each in measured}
    shares = read_frame(at / "shares.parquet")
    np.testing.assert_allclose(shares["share"], [0.248963, 0.383929, 36 / 38, 0.209302], atol=1e-6)
    total = "sum of the shares shown (derived)"
    names = ("mind", "hard problem", "zombies", "consciousness")
    assert [value["fig_survey", total, name] for name in names] == [84, 92, 77, 81]
    assert value["stat_patients", "sum of the two groups (derived)", "241+112"] == 353


def test_intervals_invert_the_score_test(results: Results) -> None:
    """Each end is where the normal test of the share just refuses: solved without the formula."""
    shares = read_frame(results[0] / "shares.parquet")
    for row in shares.iter_rows(named=True):

        def distance(p: float, share: float = row["share"], of: int = row["of"]) -> float:
            return (share - p) ** 2 - 1.959963984540054**2 * p * (1 - p) / of

        low = brentq(distance, 1e-9, row["share"], xtol=1e-12)
        high = brentq(distance, row["share"], 1 - 1e-9, xtol=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((low, high), abs=1e-9)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Exact coverage at the four shares, summed over the binomial law."""
    from remeasure.stats.proportion import wilson

    for count, of in ((60, 241), (43, 112), (9, 43)):
        p = count / of
        inside = [k for k in range(of + 1) if wilson(k, of)[0] <= p <= wilson(k, of)[1]]
        covered = sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in inside)
        assert 0.93 < covered < 0.97


def charts(at: Path) -> dict[str, Chart]:
    facts = read_frame(at / "facts.parquet")
    return {
        "fig_problems": chart_drawings.problems(),
        "fig_survey": chart_facts.survey_chart(facts),
        "fig_mary": chart_drawings.mary(),
        "fig_zombie": chart_drawings.zombie(facts),
        "fig_fading": chart_drawings.fading(),
        "fig_positions": chart_drawings.positions(),
        "fig_cogitate": chart_facts.cogitate(facts),
        "fig_patients": chart_facts.patients(read_frame(at / "squares.parquet")),
    }


def drawn_figure(chart: Chart, theme_number: int) -> Figure:
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
    return {name: drawn_figure(chart, 0) for name, chart in charts(results[0]).items()}


@pytest.mark.parametrize("name", drawn.SHEETS["figures:draw_figures"][1])
def test_figures_keep_their_words_inside_and_apart(
    name: str, results: Results, pictures: dict[str, Figure]
) -> None:
    assert len(charts(results[0])[name].alt_text) > 60
    figure = pictures[name]
    for ax in figure.get_axes():
        own = [text for text in (*ax.texts, ax.title) if text.get_text()]
        boxes = [text.get_window_extent() for text in own]
        for index, box in enumerate(boxes):
            assert box.x0 >= figure.bbox.x0 - 1, own[index]
            assert box.x1 <= figure.bbox.x1 + 1, own[index]
            for other, words in zip(boxes[:index], own[:index], strict=True):
                assert not box.padded(-1).overlaps(other.padded(-1)), (own[index], words)


def test_the_drawn_squares_are_the_patients(pictures: dict[str, Figure]) -> None:
    (ax,) = pictures["fig_patients"].get_axes()
    count = {
        to_hex(np.asarray(each.get_facecolor())[0]): 0  # type: ignore[arg-type]
        for each in ax.collections
    }
    for each in ax.collections:
        count[to_hex(np.asarray(each.get_facecolor())[0])] += len(each.get_paths())
    theme = THEMES[0]
    assert count == {theme.colour(0): 60, theme.colour(1): 43, theme.grid: 181 + 69}


def test_squares_fill_row_by_row(results: Results) -> None:
    squares = read_frame(results[0] / "squares.parquet")
    for _, own in squares.group_by("grid"):
        ordered = own.sort("row", "column")
        assert own["column"].max() == default_settings().columns - 1
        # In reading order no filled square follows an empty one.
        assert not ordered["filled"].cast(pl.Int8).diff().drop_nulls().gt(0).any()


def test_bars_and_verdicts_say_what_is_quoted(pictures: dict[str, Figure]) -> None:
    survey = {}
    for ax in pictures["fig_survey"].get_axes():
        names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
        for name, bar, text in zip(names, ax.patches, ax.texts, strict=True):
            survey[name] = bar.get_width()  # type: ignore[attr-defined]
            assert text.get_text() == f"{survey[name]:.0f}%"
    assert (survey["physicalism"], survey["yes"], survey["functionalism"]) == (52, 62, 33)
    assert (survey["conceivable, not possible"], survey["possible"]) == (37, 24)
    (ax,) = pictures["fig_cogitate"].get_axes()
    columns: dict[int, list[str]] = {}
    for text in sorted(
        ax.texts, key=lambda text: (text.get_position()[0], -text.get_position()[1])
    ):
        columns.setdefault(round(text.get_position()[0]), []).append(text.get_text())
    _, *told = columns.values()  # the first column holds the predictions
    assert told == [
        ["integrated information\ntheory", "✓  pass", "✓  pass", "✗  fail"],
        ["global\nworkspace", "~  mixed", "✗  fail", "~  mixed"],
    ]
    (ax,) = pictures["fig_patients"].get_axes()
    said = [text.get_text() for text in ax.texts]
    assert said[1::2] == [
        "60 of 241 aware on the tests: 24.9%",
        "43 of 112 aware on the tests: 38.4%",
    ]


def test_numbers_of_the_figures_have_a_source(
    results: Results, pictures: dict[str, Figure]
) -> None:
    """No orphan: every number that a figure of facts shows is quoted, or follows from two."""
    facts = read_frame(results[0] / "facts.parquet")
    quoted = {value.replace(",", "") for value in facts["value"]} | {"24.9", "38.4"}
    words = chain.from_iterable(
        [
            text.get_text()
            for ax in pictures[name].get_axes()
            for text in (*ax.texts, ax.xaxis.label)
        ]
        for name in ("fig_survey", "fig_zombie", "fig_cogitate", "fig_patients")
    )
    numbers = {
        word.strip("%():;").replace(",", "")
        for text in words
        for word in text.split()
        if word[0].isdigit()
    }
    assert len(numbers) > 12
    assert numbers <= quoted


def test_regions_lie_in_their_lobes() -> None:
    """Points whose lobe is beyond doubt (MNI, mm): which theories colour them."""
    lobes = {
        "occipital pole": ([-18, -100, 2], {"integrated information", "recurrent processing"}),
        "dorsolateral prefrontal": ([-44, 32, 28], {"global workspace", "higher-order"}),
        "intraparietal": ([-40, -56, 46], {"global workspace", "integrated information"}),
        "temporal pole": ([-40, 14, -34], set()),
        "central sulcus": ([-40, -22, 54], set()),
    }
    for place, (point, wanted) in lobes.items():
        found = {
            region.group.removesuffix(" theory")
            for region in REGIONS
            if weight(np.array([point], dtype=float), region.balls)[0] > 0.5
        }
        assert found == wanted, place


def test_brains_are_drawn_for_the_quoted_theories(results: Results) -> None:
    facts = read_frame(results[0] / "facts.parquet")
    points = pl.DataFrame(
        {"x": [0.0, 1, 0, 0], "y": [0.0, 0, 1, 0], "z": [0.0, 0, 0, 1], "depth": [0.0] * 4}
    )
    triangles = pl.DataFrame({"a": [0, 0, 0, 1], "b": [2, 1, 3, 2], "c": [1, 3, 2, 3]})
    weights = pl.DataFrame(
        {"region": [REGIONS[0].name], "point": [1], "weight": [1.0]},
    )
    chart = chart_brains.theories(facts, points, triangles, weights)
    figure = drawn_figure(chart, 1)
    titles = [ax.get_title(loc="center").lower() for ax in figure.get_axes()]
    quoted = facts.filter(output_id="fig_theories")["condition"].to_list()
    assert titles == quoted
    assert {region.group for region in REGIONS} == set(quoted)


def test_planned_settings_fit_the_steps() -> None:
    plan = Plan.from_files([DEFAULT], {"studies": ["consciousness"]})
    planned = import_module("remeasure.studies.consciousness.plan").steps(
        default_settings(), plan.config
    )
    assert essay.EssayStep.model_validate(planned["essay:measure_essay"])
    assert tables.TableStep.model_validate(planned["tables:write_tables"])
    for step in planned:
        assert plan.call(f"studies.consciousness.{step}")
        module, _, function = step.partition(":")
        assert callable(
            getattr(import_module(f"remeasure.studies.consciousness.{module}"), function)
        )


def test_outputs_are_those_of_the_reference_and_the_card() -> None:
    declared = {output.id for output in STUDY.outputs}
    printed = {row.output_id for row in rows().values()}
    assert declared - printed == {"tab_intervals", "tab_cited"}
    assert printed <= declared
    shown = set(drawn.FIGURES) | set(drawn.TABLES)
    assert shown == {o.id for o in STUDY.outputs if o.kind in ("figure", "drawing", "table")}
    cited = {row.output_id for row in rows().values()} - {
        row.output_id for row in rows().values() if row.kind != "cited"
    }
    assert {o.id for o in STUDY.outputs if o.kind == "cited"} <= cited


def test_tables_are_written(tmp_path: Path, results: Results) -> None:
    at = results[0]
    paths = [tmp_path / "a.html", tmp_path / "b.html"]
    tables.write_tables(
        table=at / "facts.parquet",
        counted=at / "shares.parquet",
        tables=paths,
        settings=tables.TableStep(level=0.95),
    )
    assert "not in the article" in paths[0].read_text("utf-8")
    assert "Lenharo" in paths[1].read_text("utf-8")

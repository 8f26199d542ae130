"""The study as a whole: every row answered, every output declared, every figure readable."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from pydantic import ValidationError

from remeasure.config import read_files, validate
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.errors import ConfigError
from remeasure.ledger.join import StudyRows, ledger_frame
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.plan import Plan
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.game_theory import (
    chart_curves,
    chart_cycles,
    chart_grids,
    chart_tournament,
    cycles,
    dilemma,
    drawn,
    echo,
    figures,
    forgiveness,
    reputation,
    stag_hunt,
    tables,
    tournament,
)
from remeasure.studies.game_theory.outputs import STUDY
from remeasure.studies.game_theory.published import rows
from remeasure.studies.game_theory.settings import Settings

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/game_theory"
DEFAULT = PROJECT / "config/config.yaml"


def default_settings(**population: Any) -> Settings:
    raw = read_files([DEFAULT], {"studies": ["game_theory"]})
    given = validate(raw).section("game_theory")
    return Settings.model_validate(
        {
            **given.model_dump(),
            "population": {**given.population.model_dump(), **population},
        }
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measurement]]:
    """Every measuring step at the default settings, with short runs of the population."""
    at = tmp_path_factory.mktemp("game_theory")
    given = default_settings(repeats=1, steps=6000, short_steps=3000)
    measured = [
        *dilemma.measure_dilemma(game=at / "dilemma.json", curves=at / "shadow.parquet"),
        *tournament.measure_tournament(
            table=at / "tournament.parquet",
            pairs=at / "tournament_pairs.parquet",
            lengths=at / "tournament_lengths.parquet",
            settings=tournament.TournamentStep(tournament=given.tournament),
        ),
        *echo.measure_echo(
            table=at / "echo.parquet",
            settings=echo.EchoStep(echo=given.echo),
            rng=np.random.default_rng(0),
        ),
        *forgiveness.measure_forgiveness(
            table=at / "forgiveness.parquet",
            settings=forgiveness.ForgivenessStep(forgiveness=given.forgiveness),
        ),
        *cycles.measure_cycles(
            paths=at / "cycles_paths.parquet",
            averages=at / "cycles.parquet",
            tried=at / "cycles_tried.parquet",
            settings=cycles.CyclesStep(population=given.population),
            rng=np.random.default_rng(0),
        ),
        *reputation.measure_reputation(table=at / "reputation.parquet"),
        *stag_hunt.measure_stag(curves=at / "stag.parquet", points=at / "stag.json"),
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


def test_every_exact_row_is_equal_or_a_proved_erratum(
    results: tuple[Path, list[Measurement]],
) -> None:
    found = ledger(results[1])
    exact = found.filter(pl.col("kind") == "exact")
    assert Counter(exact["verdict"]) == {"exact": 327, "erratum": 3}
    assert found.filter(pl.col("verdict") == "not run")["kind"].unique().to_list() == ["empirical"]
    errata = found.filter(pl.col("verdict") == "erratum")
    assert errata.height == 5


def test_the_ends_of_echoes_hold_95_percent_of_them(
    results: tuple[Path, list[Measurement]],
) -> None:
    (echoes,) = [each for each in results[1] if each.quantity == "rounds until the echo stops"]
    # Of a geometric length with chance 1/3, 97.4% are at most 8 and 98.3% at most 9 rounds.
    assert echoes.low == 0
    assert echoes.high is not None
    assert 8 <= echoes.high <= 9


def test_simulated_rows_say_that_the_article_s_rule_is_unknown(
    results: tuple[Path, list[Measurement]],
) -> None:
    names = ("time with a majority of defectors", "average payoff")
    simulated = [each for each in results[1] if each.quantity in names and each.value is not None]
    assert len(simulated) == 4
    assert {each.coverage for each in simulated} == {cycles.UNKNOWN}


def test_nothing_that_rests_on_the_stand_in_counts_as_reproduced(
    results: tuple[Path, list[Measurement]],
) -> None:
    found = ledger(results[1]).filter(
        (pl.col("output_id") == "fig_tournament") & (pl.col("kind") == "empirical")
    )
    assert set(found["verdict"]) == {"partial", "erratum"}


def test_every_row_is_answered_once(results: tuple[Path, list[Measurement]]) -> None:
    keys = Counter((each.output_id, each.quantity, each.condition) for each in results[1])
    assert set(keys.values()) == {1}
    assert set(keys) == {row.key for row in rows().values() if row.kind != "cited"}


def test_cited_rows_have_sources_and_stand_in_the_table(
    results: tuple[Path, list[Measurement]],
) -> None:
    cited = ledger(results[1]).filter(pl.col("kind") == "cited")
    assert cited.height == 13
    assert all(reason.startswith("quoted: ") for reason in cited["reason"])
    assert tables.cited_frame().height == cited.height
    assert tables.cited_frame()["source"].str.len_chars().min() > 5


def test_other_settings_answer_no_row_of_the_published_ones(tmp_path: Path) -> None:
    given = default_settings(
        players=30, mistakes=0.03, tried=(), repeats=1, steps=2000, short_steps=1000
    )
    measured = cycles.measure_cycles(
        paths=tmp_path / "a", averages=tmp_path / "b", tried=tmp_path / "c",
        settings=cycles.CyclesStep(population=given.population), rng=np.random.default_rng(0),
    )  # fmt: skip
    stationary = [each for each in measured if "stationary" in each.quantity]
    assert stationary
    assert all(each.value is None and "settings" in each.note for each in stationary)
    line_up = given.tournament.model_copy(update={"rounds": 77})
    measured = tournament.measure_tournament(
        table=tmp_path / "a", pairs=tmp_path / "b", lengths=tmp_path / "c",
        settings=tournament.TournamentStep(tournament=line_up),
    )  # fmt: skip
    fitted = [each for each in measured if "R250" in each.condition]
    assert fitted
    assert all(each.value is None for each in fitted)


def charts(at: Path) -> dict[str, Chart]:
    game, points = read_json(at / "dilemma.json"), read_json(at / "stag.json")
    frames = {path.stem: read_frame(path) for path in at.glob("*.parquet")}
    return {
        "fig_dilemma": chart_grids.dilemma(game["points"], game["equilibria"]),
        "fig_shadow": chart_curves.shadow(frames["shadow"], game),
        "fig_tournament": chart_tournament.tournament(frames["tournament"]),
        "fig_echo": chart_grids.echo(frames["echo"]),
        "fig_forgiveness": chart_curves.forgiveness(frames["forgiveness"]),
        "fig_cycles": chart_cycles.cycles(frames["cycles_paths"], frames["cycles"]),
        "fig_reputation": chart_grids.reputation(frames["reputation"]),
        "fig_stag": chart_curves.stag(frames["stag"], points),
    }


@pytest.mark.parametrize("name", list(drawn.FIGURES))
def test_figures_keep_their_words_inside_and_apart(
    name: str, results: tuple[Path, list[Measurement]]
) -> None:
    chart = charts(results[0])[name]
    assert any(letter.isdigit() for letter in chart.alt_text) or name == "fig_reputation"
    for theme in THEMES:
        with theme.context():
            figure = Figure(figsize=chart.size, layout="constrained")
            chart.draw(figure, theme)
            check_axes(figure)
            figure.draw_without_rendering()
            frame = figure.bbox
            for ax in figure.get_axes():
                own = [text for text in (*ax.texts, ax.title) if text.get_text()]
                boxes = [text.get_window_extent() for text in own]
                for text, box in zip(own, boxes, strict=True):
                    assert box.x0 >= frame.x0 - 1, text
                    assert box.x1 <= frame.x1 + 1, text
                for index, box in enumerate(boxes):
                    for other, words in zip(boxes[:index], own[:index], strict=True):
                        if own[index].get_rotation() == words.get_rotation() == 0:
                            assert not box.padded(-1).overlaps(other.padded(-1)), (
                                own[index],
                                words,
                            )


def test_tables_are_written(tmp_path: Path, results: tuple[Path, list[Measurement]]) -> None:
    at = results[0]
    out = tmp_path / "table.html"
    tables.tab_tournament_lengths(
        lengths=at / "tournament_lengths.parquet", table=out, origin="computed"
    )
    assert "300 rounds" in out.read_text("utf-8")
    tables.tab_tournament_pairs(
        pairs=at / "tournament_pairs.parquet",
        standings=at / "tournament.parquet",
        table=out,
        origin="computed",
    )
    assert out.read_text("utf-8").count("<tr") >= 13
    tables.tab_cycles_settings(tried=at / "cycles_tried.parquet", table=out, origin="computed")
    assert "offspring" in out.read_text("utf-8")
    tables.stat_cited(table=out, origin="computed")
    assert "Henrich" in out.read_text("utf-8")


def test_planned_settings_fit_the_steps() -> None:
    plan = Plan.from_files([DEFAULT], {"studies": ["game_theory"]})
    assert plan.call("studies.game_theory.cycles:measure_cycles")
    given = default_settings()
    planned = import_module("remeasure.studies.game_theory.plan").steps(given, plan.config)
    assert tournament.TournamentStep.model_validate(planned["tournament:measure_tournament"])
    assert echo.EchoStep.model_validate(planned["echo:measure_echo"])
    assert cycles.CyclesStep.model_validate(planned["cycles:measure_cycles"])
    assert forgiveness.ForgivenessStep.model_validate(planned["forgiveness:measure_forgiveness"])
    for step in planned:
        assert plan.call(f"studies.game_theory.{step}")
    assert list(figures.STEPS) == [*drawn.FIGURES, *drawn.TABLES]
    assert all(step.__name__ == output for output, step in figures.STEPS.items())


@pytest.mark.parametrize(
    ("section", "change", "words"),
    [
        ("echo", {"mistake": 15}, "no room for an echo"),
        ("population", {"short_steps": 600_000}, "more than steps"),
    ],
)
def test_contradictions_are_refused(section: str, change: dict[str, Any], words: str) -> None:
    raw = read_files([DEFAULT], {"studies": ["game_theory"], "game_theory": {section: change}})
    with pytest.raises(ConfigError, match=words):
        validate(raw)


def test_impossible_settings_are_refused() -> None:
    given = default_settings().model_dump()
    for path, value in ((("tournament", "line_up"), ["Grim", "Grim"]), (("echo", "draws"), 5)):
        broken = {**given, path[0]: {**given[path[0]], path[1]: value}}
        with pytest.raises(ValidationError):
            Settings.model_validate(broken)


def test_outputs_are_those_of_the_reference_and_the_card() -> None:
    declared = {output.id for output in STUDY.outputs}
    printed = {row.output_id for row in rows().values()}
    assert printed <= declared
    assert declared - printed == {"tab_tournament_lengths", "tab_cycles_settings"}
    shown = set(drawn.FIGURES) | set(drawn.TABLES)
    assert shown == {o.id for o in STUDY.outputs if o.kind in ("figure", "table")}

"""The study as a whole: rows answered once, exact ones equal, figures readable, settings true."""

from __future__ import annotations

import typing
from collections import Counter
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.config import read_files, validate
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.errors import ConfigError
from remeasure.fetch.catalogue import Catalogue
from remeasure.ledger.join import StudyRows, ledger_frame
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.plan import Plan
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.gpt import (
    article,
    chart_boards,
    chart_drawings,
    chart_gpt2,
    chart_learning,
    drawn,
    tables,
)
from remeasure.studies.gpt.outputs import STUDY
from remeasure.studies.gpt.plan import steps
from remeasure.studies.gpt.published import rows
from remeasure.studies.gpt.remote import remote

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/gpt"
DEFAULT = PROJECT / "config/config.yaml"
PUBLIC = PROJECT / "config/public.yaml"


@pytest.fixture(scope="module")
def ledger(made: typing.Any) -> pl.DataFrame:
    references = list(rows().values())
    own = {"closed_forms", "rules_of_chess", "mechanics", "tokens", "timing", "reading"}
    measured = {}
    for each in made.measured:
        key = (each.output_id, each.quantity, each.condition)
        exact = rows()[key].kind == "exact"
        origin = "computed" if exact or key[0] in own else "generated"
        measured[key] = Measured(measurement=each, origin=origin, step="step", artifact="artifact")
    errata = read_errata(FOLDER / "errata.csv", references)
    study = StudyRows(study=STUDY, references=references, measured=measured, errata=errata)
    return ledger_frame([study])


def test_every_row_is_answered_once(made: typing.Any) -> None:
    keys = Counter((each.output_id, each.quantity, each.condition) for each in made.measured)
    assert set(keys.values()) == {1}
    assert set(keys) == {row.key for row in rows().values() if row.kind != "cited"}


def test_every_exact_row_is_verified(ledger: pl.DataFrame) -> None:
    exact = ledger.filter(pl.col("kind") == "exact")
    assert Counter(exact["verdict"]) == {"exact": 112}


def test_rows_without_a_value_say_what_they_need(ledger: pl.DataFrame) -> None:
    idle = ledger.filter(pl.col("verdict") == "not run")
    assert idle.height
    assert all(
        "needs" in text or "time" in text or "gpt." in text or "article's own" in text
        for text in idle["reason"]
    )


def test_counts_of_generated_games_meet_the_truth(ledger: pl.DataFrame) -> None:
    planted = ledger.filter(pl.col("verdict").str.starts_with("planted"))
    assert set(planted["verdict"]) == {"planted"}
    assert {"tab_time_control", "stat_games_kept", "stat_lichess_rows"} <= set(planted["output_id"])


def test_cited_rows_have_sources_and_stand_in_the_table(ledger: pl.DataFrame) -> None:
    cited = ledger.filter(pl.col("kind") == "cited")
    assert all(reason.startswith("quoted: ") for reason in cited["reason"])
    assert tables.cited_frame().height == cited.height == 58


def test_outputs_are_those_of_the_reference_and_the_card() -> None:
    declared = {output.id for output in STUDY.outputs}
    printed = {row.output_id for row in rows().values()}
    assert printed <= declared
    own = {"fig_hero", "fig_objective", "fig_prenorm", "fig_kvcache", "fig_family"}
    assert declared - printed == {*own, "tab_legal_gaps", "tab_chess_seeds", *drawn.DECODER}
    shown = set(drawn.FIGURES) | set(drawn.TABLES)
    assert shown == {o.id for o in STUDY.outputs if o.kind in ("figure", "drawing", "table")}


def charts(at: Path) -> dict[str, Chart]:
    def frame(name: str) -> pl.DataFrame:
        return read_frame(at / f"{name}.parquet")

    return {
        "fig_hero": chart_drawings.hero(),
        "fig_objective": chart_drawings.objective(),
        "fig_param_share": chart_gpt2.param_share(frame("family")),
        "fig_prenorm": chart_drawings.norms(),
        "fig_alphago_probs": chart_gpt2.token_probabilities(
            frame("reading_tokens"), frame("chess_tokens")
        ),
        "fig_kvcache": chart_drawings.cache(),
        "fig_kv_timing": chart_gpt2.kv_timing(frame("costs")),
        "fig_logit_lens": chart_gpt2.logit_lens(frame("reading_lens"), frame("chess_lens")),
        "fig_chess_tokens": chart_boards.chess_tokens(frame("chips")),
        "fig_training": chart_learning.training(
            frame("training_log"), read_json(at / "training.json"), frame("shares")
        ),
        "fig_shortest_win": chart_boards.shortest_win(read_json(at / "replayed.json")),
        "fig_probe_accuracy": chart_learning.probe_accuracy(frame("probes")),
        "fig_probe_boards": chart_boards.probe_boards(read_json(at / "probe_boards.json")),
        "fig_passport": chart_drawings.passport(),
        "fig_family": chart_drawings.family(),
    }


def test_figures_keep_their_words_inside_and_apart(made: typing.Any) -> None:
    found = charts(made.at)
    assert list(found) == list(drawn.shown(drawn.FIGURES, decoder=False))
    for name, chart in found.items():
        assert len(chart.alt_text) > 60
        theme = THEMES[len(name) % 2]
        with theme.context():
            figure = Figure(figsize=chart.size, layout="constrained")
            chart.draw(figure, theme)
            check_axes(figure)
            figure.draw_without_rendering()
            frame = figure.bbox
            for ax in figure.get_axes():
                texts = [text for text in (*ax.texts, ax.title) if text.get_text()]
                boxes = [text.get_window_extent() for text in texts]
                for index, box in enumerate(boxes):
                    assert box.x0 >= frame.x0 - 1, (name, texts[index])
                    assert box.x1 <= frame.x1 + 1, (name, texts[index])
                    for other in boxes[:index]:
                        assert not box.padded(-1.5).overlaps(other.padded(-1.5)), (
                            name,
                            texts[index],
                        )


def test_tables_are_written(made: typing.Any, tmp_path: Path) -> None:
    for name, inputs in drawn.shown(drawn.TABLES, decoder=False).items():
        step = getattr(import_module(f"remeasure.studies.gpt.{drawn.module_of(name)}"), name)
        given = {parameter: made.at / file for parameter, file in inputs}
        step(**given, table=tmp_path / f"{name}.html", origin="generated")
        assert "<table" in (tmp_path / f"{name}.html").read_text("utf-8")
    text = (tmp_path / "tab_verdicts_by_model.html").read_text("utf-8")
    assert "n-gram (this run)" in text
    assert "0.996" in text


# --- configuration --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overlay",
    ["config.yaml", "smoke.yaml", "public.yaml", "gpt_files.yaml", "gpt_decoder.yaml"],
)
def test_planned_settings_fit_the_steps(overlay: str) -> None:
    plan = Plan.from_files([DEFAULT, PROJECT / "config" / overlay], {"studies": ["gpt"]})
    for name, given in steps(plan.config.section("gpt"), plan.config).items():
        module, _, function = name.partition(":")
        step = getattr(import_module(f"remeasure.studies.gpt.{module}"), function)
        wanted = typing.get_type_hints(step).get("settings")
        assert (wanted is None) == (not given)
        if wanted is not None:
            assert wanted.model_validate(given)
        assert plan.call(f"studies.gpt.{name}")


def test_the_public_run_is_the_articles() -> None:
    given = validate(read_files([DEFAULT, PUBLIC], {"studies": ["gpt"]})).section("gpt")
    assert tuple(given.model.model_dump().values()) == article.CHESS[:4]
    options = given.training
    assert (options.steps, options.batch, options.rate) == (3400, 64, 1e-3)
    assert (options.warm_up, options.floor, options.betas) == (300, 0.1, (0.9, 0.95))
    assert (options.decay, options.clip, options.every, options.seed) == (0.1, 1.0, 500, 42)
    assert given.filters.classes == article.CLASSES
    assert (given.filters.minimum_rating, given.filters.minimum_spaces) == (1800, 10)
    assert (given.split.held_out, given.split.seed) == (4000, 42)
    assert (given.positions.count, given.positions.largest) == (1000, 70)
    assert given.positions.monitored == article.MONITORED
    assert (given.arena.games, given.arena.half_moves, given.arena.tries) == (100, 150, 5)
    probes = given.probes
    assert (probes.training_games, probes.test_games, probes.epochs) == (3000, 600, 12)
    assert (probes.batch, probes.rate, probes.decay) == (1024, 3e-3, 0.01)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"origin": "files"}, "gpt.files"),
        ({"origin": "mirror"}, "mirror"),
        ({"checkpoints": "mirror"}, "mirror"),
        ({"split": {"held_out": 20}}, "gpt.split.held_out"),
        ({"generator": {"games": 150}}, "gpt.split.held_out"),
        ({"model": {"heads": 5}}, "gpt.model"),
        ({"training": {"warm_up": 1000}}, "gpt.training"),
        ({"training": {"further_seeds": [7, 42]}}, "gpt.training"),
        ({"training": {"further_seeds": [7, 7]}}, "gpt.training"),
        ({"training": {"further_seeds": [-1]}}, "gpt.training"),
        ({"positions": {"monitored": 500}}, "gpt.positions"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    change: dict[str, object], named: str
) -> None:
    with pytest.raises(ConfigError, match=named.replace(".", r"\.")):
        validate(read_files([DEFAULT], {"studies": ["gpt"], "gpt": change}))


def test_what_is_fetched_stands_in_the_catalogue() -> None:
    config = validate(read_files([DEFAULT, PUBLIC], {"studies": ["gpt"]}))
    files = remote(config.section("gpt"), config)
    catalogue = Catalogue.read()
    sizes = [catalogue.source(each.source).typical(each.value) for each in files]
    assert len({each.source for each in files}) == 4
    assert 1.5e9 < sum(sizes) < 2e9
    default = validate(read_files([DEFAULT], {"studies": ["gpt"]}))
    assert remote(default.section("gpt"), default) == []


def test_no_step_holds_a_printed_result() -> None:
    """Rows are matched by their words; results live in reference.csv alone."""
    values = {
        row.published
        for row in rows().values()
        if row.kind == "empirical"
        and row.number is not None
        and len(row.published.replace(".", "").strip("0")) >= 4
    }
    text = "\n".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    assert not [
        value for value in values if value in text and value not in ("1023", "1024", "40478")
    ]

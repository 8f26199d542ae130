"""The study as a whole at its smallest: every row answered, every figure readable."""

from __future__ import annotations

import typing
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from pydantic import BaseModel, ValidationError
from safetensors.torch import load_file

from remeasure.config import read_files, validate
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.errors import ConfigError
from remeasure.fetch.remote import planned
from remeasure.ledger.join import StudyRows, ledger_frame
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.plan import Plan
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.vit import (
    chart_drawings,
    chart_opened,
    chart_photos,
    chart_race,
    drawn,
    parts,
    race,
    tables,
)
from remeasure.studies.vit.fetching import FetchPhotosStep, fetch_photos
from remeasure.studies.vit.generate import GenerateStep, generate_tiles
from remeasure.studies.vit.opened import OpenTrainedStep, open_trained
from remeasure.studies.vit.outputs import STUDY
from remeasure.studies.vit.photos import show_photos
from remeasure.studies.vit.published import rows
from remeasure.studies.vit.runs import ACCURACY, CONFUSION
from remeasure.studies.vit.settings import RaceSettings, Settings
from remeasure.studies.vit.tiles import TilesStep, read_tiles
from remeasure.studies.vit.training import SmallStep, train_small

PROJECT = Path(__file__).parents[3]
FOLDER = PROJECT / "workflow/remeasure/studies/vit"
DEFAULT, SMOKE = PROJECT / "config/config.yaml", PROJECT / "config/smoke.yaml"
PUBLIC = PROJECT / "config/public.yaml"
FILES, BACKBONE = PROJECT / "config/vit_files.yaml", PROJECT / "config/vit_backbone.yaml"


def settings_of(*files: Path) -> Settings:
    raw = read_files(files, {"studies": ["vit"]})
    found: Settings = validate(raw).section("vit")
    return found


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Measurement]]:
    """The smoke run, step by step."""
    at = tmp_path_factory.mktemp("vit")
    given = settings_of(DEFAULT, SMOKE)
    tiles, own = given.tiles, given.race
    manifest = at / "tiles.manifest.json"
    generate_tiles(
        manifest=manifest, settings=GenerateStep(generator=tiles.generator, raw=str(at / "raw"))
    )
    where = {"tiles": at / "tiles.safetensors"}
    read_tiles(
        manifest=manifest, summary=at / "tiles.json",
        settings=TilesStep(test_per_class=tiles.test_per_class), **where,
    )  # fmt: skip
    photos = given.photos
    fetch_photos(
        manifest=at / "photos.manifest.json",
        settings=FetchPhotosStep(
            origin=photos.origin, folder=photos.folder, package=photos.package
        ),
    )  # fmt: skip
    show_photos(
        photos=at / "photos.manifest.json",
        pictures=at / "photos.safetensors",
        summary=at / "photos.json",
    )
    for learner in ("vit", "cnn"):
        train_small(
            runs=at / f"runs_{learner}.parquet",
            guesses=at / f"guesses_{learner}.parquet",
            weights=at / f"weights_{learner}.safetensors",
            learner=learner,
            settings=SmallStep(
                budgets=own.budgets, seeds=own.seeds, test_per_class=None, device="cpu",
                threads=1, save_every=0, small=own.small,
            ),
            rng=np.random.default_rng(0),
            **where,
        )  # fmt: skip
    open_trained(
        tiles_summary=at / "tiles.json",
        weights=at / "weights_vit.safetensors",
        opened=at / "opened.safetensors",
        summary=at / "opened.json",
        settings=OpenTrainedStep(small=own.small),
        **where,
    )
    measured = [
        *parts.measure_parts(
            photos_summary=at / "photos.json",
            opened_summary=at / "opened.json",
            cost=at / "cost.parquet",
            sizes=at / "sizes.json",
        ),
        *race.measure_race(
            tiles_summary=at / "tiles.json",
            runs=[at / "runs_vit.parquet", at / "runs_cnn.parquet"],
            guesses=[at / "guesses_vit.parquet", at / "guesses_cnn.parquet"],
            accuracy=at / "accuracy.parquet",
            confusion=at / "confusion.parquet",
            samples=at / "samples.safetensors",
            summary=at / "race.json",
            settings=race.RaceMeasureStep(generated=True),
            **where,
        ),
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
                        measurement=each, origin="generated", step="step", artifact="artifact"
                    )
                    for each in measured
                },
                errata=read_errata(FOLDER / "errata.csv", references),
            )
        ]
    )


def test_every_row_is_answered_once(results: tuple[Path, list[Measurement]]) -> None:
    keys = Counter((each.output_id, each.quantity, each.condition) for each in results[1])
    assert set(keys.values()) == {1}
    assert set(keys) == {row.key for row in rows().values() if row.kind != "cited"}


def test_every_exact_row_is_exact_but_those_of_the_published_tiles(
    results: tuple[Path, list[Measurement]],
) -> None:
    pytest.importorskip("transformers", reason="one row compares with it")
    found = ledger(results[1]).filter(pl.col("kind") == "exact")
    other = found.filter(pl.col("verdict") != "exact")
    assert set(other["output_id"]) == {"stat_eurosat"}
    assert set(other["verdict"]) == {"not run"}
    assert all("EuroSAT" in reason for reason in other["reason"])


def test_no_generated_number_passes_for_a_published_one(
    results: tuple[Path, list[Measurement]],
) -> None:
    found = ledger(results[1]).filter(pl.col("kind") == "empirical")
    assert set(found["verdict"]) == {"not run"}  # the smoke budgets are none of the published
    assert all(found["reason"])


def test_cited_rows_have_sources_and_stand_in_the_table() -> None:
    cited = tables.cited_frame()
    assert cited.height == sum(row.kind == "cited" for row in rows().values()) == 33
    assert all(cited["source"])


def charts(at: Path) -> dict[str, Chart]:
    from safetensors.numpy import load_file

    told = {path.stem: read_json(path) for path in at.glob("*.json") if "manifest" not in path.name}
    pictures, seen = load_file(at / "photos.safetensors"), told["photos"]["photos"]
    opened, samples = load_file(at / "opened.safetensors"), load_file(at / "samples.safetensors")
    return {
        "fig_hero": chart_drawings.hero(),
        "fig_embedding": chart_drawings.embedding(),
        "fig_passport": chart_drawings.passport(),
        "fig_family": chart_drawings.family(),
        "fig_photos": chart_photos.photos(pictures, seen),
        "fig_normalise": chart_photos.normalise(pictures, seen),
        "fig_grid": chart_photos.grid(pictures, seen),
        "fig_patch50": chart_photos.patch(pictures, seen),
        "fig_sequence": chart_opened.sequence(opened, told["opened"]),
        "fig_top5": chart_opened.top(opened, told["opened"]),
        "fig_filters": chart_opened.filters(opened, told["opened"]),
        "fig_position_similarity": chart_opened.similarity(opened, told["opened"]),
        "fig_attention_distance": chart_opened.distance(opened, told["opened"]),
        "fig_rollout": chart_opened.rollout(opened, told["opened"]),
        "fig_eurosat_samples": chart_race.shown(samples, told["race"]),
        "fig_eurosat": chart_race.race(
            read_frame(at / "accuracy.parquet", ACCURACY), told["race"]
        ),
        "fig_confusion": chart_race.confused(
            read_frame(at / "confusion.parquet", CONFUSION), told["race"]
        ),
        "fig_mistakes": chart_race.mistakes(samples, told["race"]),
    }  # fmt: skip


def test_figures_keep_their_words_inside(results: tuple[Path, list[Measurement]]) -> None:
    made = charts(results[0])
    assert set(made) == set(drawn.FIGURES) - set(drawn.NEEDS)
    for name, chart in made.items():
        assert len(chart.alt_text) > 60, name
        for theme in THEMES[:1]:
            with theme.context():
                figure = Figure(figsize=chart.size, layout="constrained")
                chart.draw(figure, theme)
                check_axes(figure)
                figure.draw_without_rendering()
                for ax in figure.get_axes():
                    for text in (*ax.texts, ax.title):
                        box = text.get_window_extent()
                        if text.get_text():
                            assert box.x0 >= figure.bbox.x0 - 1, (name, text)
                            assert box.x1 <= figure.bbox.x1 + 1, (name, text)


def test_the_data_of_filters_are_the_pictures(results: tuple[Path, list[Measurement]]) -> None:
    chart = charts(results[0])["fig_filters"]
    found = load_file(results[0] / "opened.safetensors")["directions"]
    for channel, colour in enumerate(("red", "green", "blue")):
        assert chart.data.sort("direction", "row", "column")[colour].to_numpy() == pytest.approx(
            found[:, channel].flatten().numpy()
        )


def test_tables_are_written(results: tuple[Path, list[Measurement]], tmp_path: Path) -> None:
    at, _ = results
    page = tmp_path / "t.html"
    tables.tab_shuffle(summary=at / "opened.json", table=page, origin="generated")
    assert "small ViT of this run" in page.read_text("utf-8")
    tables.tab_cost(cost=at / "cost.parquet", table=page, origin="computed")
    assert "4097" in page.read_text("utf-8")
    tables.tab_eurosat(
        accuracy=at / "accuracy.parquet", summary=at / "race.json", table=page, origin="generated"
    )
    assert "CNN minus ViT" in page.read_text("utf-8")
    tables.tab_cited(table=page, origin="computed")
    assert "Helber" in page.read_text("utf-8")


@pytest.mark.parametrize("files", [(DEFAULT,), (DEFAULT, PUBLIC), (DEFAULT, FILES, BACKBONE)])
def test_planned_settings_fit_the_steps(files: tuple[Path, ...]) -> None:
    plan = Plan.from_files(files, {"studies": ["vit"]})
    section = plan.config.section("vit")
    for step, told in (
        import_module("remeasure.studies.vit.plan").steps(section, plan.config).items()
    ):
        module, _, function = step.partition("[")[0].partition(":")
        found = getattr(import_module(f"remeasure.studies.vit.{module}"), function)
        model = typing.get_type_hints(found).get("settings")
        if model is None:
            assert not told, step
        else:
            assert issubclass(model, BaseModel)
            assert model.model_validate(told), step
        assert plan.call(f"studies.vit.{step}")


def test_a_public_run_says_what_it_fetches() -> None:
    raw = read_files([DEFAULT, PUBLIC], {"studies": ["vit"]})
    found = planned(validate(raw), cache=Path("nowhere"))
    sources = Counter(file.source.id for file in found)
    assert sources == {"hugging_face": 4, "hugging_face_data": 2, "vit_photos": 5}
    assert 0.8e9 < sum(file.size for file in found) < 1.1e9
    assert not planned(validate(read_files([DEFAULT], {"studies": ["vit"]})))


def test_impossible_settings_are_refused() -> None:
    given = settings_of(DEFAULT).race.model_dump()
    for change, message in (
        ({"budgets": (10, 5)}, "must ascend"),
        ({"small": given["small"] | {"side": 36}}, "multiple of patch"),
        ({"small": given["small"] | {"heads": 5}}, "multiple of heads"),
    ):
        with pytest.raises(ValidationError, match=message):
            RaceSettings.model_validate(given | change)
    with pytest.raises(ConfigError, match=r"vit\.tiles\.path"):
        validate(read_files([DEFAULT], {"studies": ["vit"], "vit": {"tiles": {"origin": "files"}}}))


def test_outputs_are_those_of_the_reference_and_the_card() -> None:
    declared = {output.id for output in STUDY.outputs}
    printed = {row.output_id for row in rows().values()}
    assert printed <= declared
    assert declared - printed == {"tab_cited"}
    shown = set(drawn.FIGURES) | set(drawn.TABLES)
    assert shown == {o.id for o in STUDY.outputs if o.kind in ("figure", "drawing", "table")}

"""The language atlas and the slice: read from files as their makers write them."""

from __future__ import annotations

import gzip
from importlib import metadata
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.config import read_files, validate
from remeasure.draw.style import LIGHT
from remeasure.errors import ConfigError, DataError, SourceError
from remeasure.fetch.catalogue import Catalogue
from remeasure.plan import Plan
from remeasure.store.frames import read_frame
from remeasure.store.fsaverage import FOLDER, listed_files
from remeasure.studies.brain_ai import atlas, chart_brains, remote
from remeasure.studies.brain_ai.nifti import read_nifti
from remeasure.studies.brain_ai.surfaces import TEMPLATE, coronal
from studies.brain_ai.lana_files import archive, nifti, shares

PROJECT = Path(__file__).parents[3]
DEFAULT = PROJECT / "config/config.yaml"


@pytest.mark.parametrize("kind", [2, 4, 16, 64])
@pytest.mark.parametrize("end", ["<", ">"])
def test_numbers_of_every_kind_and_order(kind: int, end: str) -> None:
    values = np.arange(24)
    image = read_nifti(nifti(values, (2, 3, 4), kind=kind, end=end), "test")
    # The first dimension runs fastest.
    np.testing.assert_array_equal(image.values, values.reshape(4, 3, 2).T)


def test_numbers_are_scaled_and_placed() -> None:
    affine = np.diag([2.0, 3.0, 4.0, 1.0])
    affine[:3, 3] = [-10, -20, -30]
    body = nifti(np.arange(8), (2, 2, 2), kind=4, slope=0.5, intercept=-1, affine=affine)
    image = read_nifti(gzip.compress(body), "test")
    assert image.values[1, 1, 1] == 7 * 0.5 - 1
    np.testing.assert_array_equal(image.affine, affine)


def test_a_length_beyond_a_dimension_stands_elsewhere() -> None:
    values = np.arange(40_000) % 100
    image = read_nifti(nifti(values, (1, 1, 1), kind=2, long_first=40_000), "test")
    np.testing.assert_array_equal(image.values.ravel(), values)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x1f\x8bno gzip",
        gzip.compress(nifti(np.zeros(8), (2, 2, 2)))[:-12],
        nifti(np.zeros(8), (2, 2, 3)),
        nifti(np.zeros(8), (2, 2, 2))[:344] + b"ni1\0",
        nifti(np.zeros(8), (0, 2, 2)),
    ],
    ids=["empty", "no gzip", "cut gzip", "short", "other magic", "no length"],
)
def test_other_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(DataError, match="no NIfTI file"):
        read_nifti(body, "test")


def test_the_slice_is_that_of_its_place() -> None:
    affine = np.diag([1.0, 1.0, 1.0, 1.0])
    affine[:3, 3] = [-2, -3, -1]
    values = np.zeros((5, 7, 3))
    values[4, 2, 1] = 5.0
    body = nifti(values.ravel(order="F"), values.shape, affine=affine)
    plane = coronal(read_nifti(body, "test"), -1.0)
    assert plane.height == 15
    assert plane.filter(value=1.0).rows() == [(2.0, 0.0, 1.0)]
    with pytest.raises(DataError, match="no slice"):
        coronal(read_nifti(body, "test"), 40.0)


def test_the_packaged_template_is_a_head() -> None:
    try:
        metadata.version("nilearn")
    except metadata.PackageNotFoundError:
        pytest.skip("the package nilearn is not installed")
    manifest = listed_files("test", [f"{FOLDER}/{TEMPLATE}"])
    path = manifest.file(manifest.files[0])
    plane = coronal(read_nifti(path.read_bytes(), path), -21.0, path)
    inside = plane.filter(pl.col("value") > 0.2)
    # A brain is some 130 mm wide, about as much left as right of the middle.
    low, high = inside["x"].min(), inside["x"].max()
    assert -80 < low < -60  # type: ignore[operator]
    assert 60 < high < 80  # type: ignore[operator]


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("mirror")
    path = at / atlas.wanted(Catalogue.read(PROJECT / "config/sources.yaml")).path
    path.parent.mkdir(parents=True)
    path.write_bytes(archive())
    return at


def test_the_atlas_is_cut_to_the_drawn_surface(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(PROJECT)
    manifest, table, whole = (tmp_path / name for name in ("m.json", "a.parquet", "w.parquet"))
    atlas.fetch_atlas(
        manifest=manifest,
        settings=atlas.FetchStep(origin="mirror", mirror=mirror.as_posix()),
    )
    atlas.read_atlas(manifest=manifest, atlas=table, whole=whole)
    found = read_frame(table)
    for side in ("left", "right"):
        own = found.filter(hemisphere=side).sort("point")["probability"].to_numpy()
        # The first 10,242 points of fsaverage7 are those of fsaverage5.
        np.testing.assert_allclose(own, shares(side)[:10_242], atol=1e-6)
    left, right = read_frame(whole).rows(named=True)
    assert left["points"] == right["points"] == 163_842
    assert left["highest"] > right["highest"]
    assert left["mean"] > right["mean"]
    np.testing.assert_allclose(left["mean"], shares("left").mean(), rtol=1e-5)


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        ({"left": np.full(163_842, 1.5)}, "outside 0 to 1"),
        ({"right": np.full(1_000, 0.5)}, "1,000 values"),
    ],
)
def test_another_map_is_refused(tmp_path: Path, maps: dict[str, np.ndarray], words: str) -> None:
    path = tmp_path / "FS.zip"
    path.write_bytes(archive(**maps))
    with pytest.raises(DataError, match=words):
        atlas.read_archive(path)


def test_no_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "FS.zip"
    path.write_bytes(b"<html>not here</html>")
    with pytest.raises(DataError, match="no archive of the atlas"):
        atlas.read_archive(path)
    with pytest.raises(SourceError, match="missing"):
        atlas.fetch_atlas(
            manifest=tmp_path / "m.json",
            settings=atlas.FetchStep(origin="mirror", mirror=tmp_path.as_posix()),
        )


def test_the_atlas_is_asked_for_where_it_is_configured() -> None:
    for origin, files in (("none", 0), ("public", 1)):
        config = validate(
            read_files([DEFAULT], {"studies": ["brain_ai"], "brain_ai": {"atlas": origin}})
        )
        assert len(remote.remote(config.section("brain_ai"), config)) == files
        assert ("studies.brain_ai.atlas:fetch_atlas" in Plan(config).calls()) == bool(files)
    with pytest.raises(ConfigError, match="no folder is named"):
        validate(read_files([DEFAULT], {"studies": ["brain_ai"], "brain_ai": {"atlas": "mirror"}}))


def test_the_figure_colours_what_is_above_the_threshold() -> None:
    points = pl.DataFrame(
        {
            "hemisphere": ["left"] * 4 + ["right"] * 4,
            "x": [0.0, -1, 0, 0, 0, 1, 0, 0],
            "y": [0.0, 0, 1, 0, 0, 0, 1, 0],
            "z": [0.0, 0, 0, 1, 0, 0, 0, 1],
            "depth": [0.0] * 8,
        }
    )
    left = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    turned = [(a, c, b) for a, b, c in left]
    # Mirrored points turn the triangles: the left hemisphere's corners run the other way.
    rows = [("left", *each) for each in turned] + [("right", *each) for each in left]
    triangles = pl.DataFrame(rows, schema=["hemisphere", "a", "b", "c"], orient="row")
    shown = pl.DataFrame(
        {
            "hemisphere": ["left"] * 4 + ["right"] * 4,
            "point": [0, 1, 2, 3] * 2,
            "probability": [0.0, 0.8, 0.8, 0.8, 0.0, 0.05, 0.05, 0.05],
        }
    )
    whole = pl.DataFrame(
        {"hemisphere": ["left", "right"], "mean": [0.6, 0.04], "highest": [0.8, 0.05]}
    )
    chart = chart_brains.language(points, triangles, shown, whole, 0.1)
    assert "highest 0.80" in chart.alt_text
    assert chart.data.height == 3
    with LIGHT.context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, LIGHT)
    coloured = [np.asarray(ax.collections[0].get_facecolor())[0] for ax in figure.get_axes()]
    spread = [float(np.ptp(each[:3])) for each in coloured]
    assert spread[0] > 0.1 > 0.01 > spread[1]

"""Views of surfaces, squares, and several figures of one step."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart
from remeasure.draw.panels import sheet, squares
from remeasure.draw.several import run_each, save_charts
from remeasure.draw.style import LIGHT, Theme
from remeasure.draw.surface import Mesh, draw_surface, seen

KINDS = {
    "light_svg": ".light.svg",
    "light_png": ".light.png",
    "dark_svg": ".dark.svg",
    "dark_png": ".dark.png",
    "csv": ".csv",
    "alt": ".alt.txt",
}


def octahedron() -> Mesh:
    """Six points with normals outwards."""
    points = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    faces = []
    for x in (0, 1):
        for y in (2, 3):
            for z in (4, 5):
                a, b, c = points[[x, y, z]]
                outward = np.dot(np.cross(b - a, c - a), a + b + c) > 0
                faces.append([x, y, z] if outward else [x, z, y])
    return Mesh(points, np.array(faces), np.zeros(6))


@pytest.mark.parametrize("hemisphere", ["left", "right"])
@pytest.mark.parametrize("view", ["lateral", "medial", "ventral"])
def test_views_are_rotations(hemisphere: str, view: str) -> None:
    turned = seen(np.eye(3), hemisphere, view)  # type: ignore[arg-type]
    np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(turned) == pytest.approx(1)


def test_the_outer_side_faces_the_viewer() -> None:
    outer = {"left": [[-1.0, 0, 0]], "right": [[1.0, 0, 0]]}
    for side, point in outer.items():
        assert seen(np.array(point), side, "lateral")[0, 2] == 1
        assert seen(np.array(point), side, "medial")[0, 2] == -1


def test_only_triangles_that_face_the_viewer_are_drawn() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    paint = [("#ff0000", np.ones(6))]
    draw_surface(ax, LIGHT, octahedron(), hemisphere="left", view="lateral", paint=paint)
    (drawn,) = ax.collections
    assert len(drawn.get_paths()) == 4
    red, green, blue = np.asarray(drawn.get_facecolor())[0, :3]
    assert red > 2 * max(green, blue)


def filled(ax: Axes, colour: str) -> int:
    """Squares of a colour."""
    return sum(
        len(each.get_paths())
        for each in ax.collections
        if isinstance(each, PolyCollection)
        and to_hex(np.asarray(each.get_facecolor())[0]) == colour
    )


def test_squares_are_counted_out() -> None:
    ax = sheet(Figure(), 20)
    places = [(number % 5, number // 5, number < 7) for number in range(23)]
    squares(ax, LIGHT, places, corner=(1, 19), pitch=1.0, series=0)
    assert filled(ax, LIGHT.colour(0)) == 7
    assert filled(ax, LIGHT.grid) == 16


def _draw(figure: Figure, theme: Theme, *, text: str) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.text(0.5, 0.5, text)


def charts(*names: str) -> dict[str, Chart]:
    return {
        name: Chart(partial(_draw, text=name), pl.DataFrame({"name": [name]}), f"Drawing 1 {name}.")
        for name in names
    }


def test_each_figure_gets_its_own_files(tmp_path: Path) -> None:
    names = ("first", "second")
    files = {kind: [tmp_path / f"{each}{end}" for each in names] for kind, end in KINDS.items()}
    # Charts may come in any order; files follow the names.
    save_charts(charts("second", "first"), names, origin="computed", **files)
    for name in names:
        assert (tmp_path / f"{name}.csv").read_text() == f"name,origin\n{name},computed\n"
        assert name in (tmp_path / f"{name}.alt.txt").read_text()
        assert (tmp_path / f"{name}.light.png").stat().st_size > 500


def test_charts_without_files_are_refused(tmp_path: Path) -> None:
    files = {kind: [tmp_path / f"a{end}"] for kind, end in KINDS.items()}
    with pytest.raises(ValueError, match="do not match"):
        save_charts(charts("a", "b"), ("a",), origin="computed", **files)
    with pytest.raises(ValueError, match="do not match"):
        save_charts(charts("a", "b"), ("a", "b"), origin="computed", **files)


def test_each_function_gets_its_own_results_and_files(tmp_path: Path) -> None:
    called = {}

    def first(*, curve: Path, csv: Path, origin: str) -> None:
        called["first"] = (curve.name, csv.name, origin)

    def second(*, csv: Path, origin: str) -> None:
        called["second"] = (csv.name, origin)

    drawn_from = {"second": (), "first": (("curve", "a.parquet"),)}
    results = [tmp_path / "b.parquet", tmp_path / "a.parquet"]
    files = {"csv": [tmp_path / "second.csv", tmp_path / "first.csv"]}
    run_each({"first": first, "second": second}, drawn_from, results, files, "computed")
    assert called == {
        "first": ("a.parquet", "first.csv", "computed"),
        "second": ("second.csv", "computed"),
    }
    with pytest.raises(ValueError, match="share a name"):
        run_each({}, drawn_from, [results[0], results[0]], files, "computed")
    with pytest.raises(ValueError, match="do not match"):
        run_each({}, {}, results, files, "computed")

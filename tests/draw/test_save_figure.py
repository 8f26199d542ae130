"""A saved figure: equal bytes each time, everything beside it, nothing unnamed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import matplotlib.image
import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.draw.save import check_axes, save_figure
from remeasure.draw.style import Theme, interval_band, label_axes, log_axis, published

DATA = pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, 10.0, 100.0], "low": [0.5, None, 90.0]})
ALT = "Growth from 1 to 100 over three steps."


def draw(figure: Figure, theme: Theme) -> None:
    ax = figure.add_subplot()
    ax.plot(DATA["x"], DATA["y"], color=theme.colour(0), label="measured")
    interval_band(ax, DATA["x"], DATA["y"] * 0.9, DATA["y"] * 1.1, colour=theme.colour(0))
    published(ax, [2], [11], theme)
    log_axis(ax, "y")
    label_axes(ax, x="step", y="value", y_unit="USD")
    ax.legend()


def save(folder: Path, **changes: object) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    paths = {
        "light_svg": folder / "a.light.svg",
        "light_png": folder / "a.light.png",
        "dark_svg": folder / "a.dark.svg",
        "dark_png": folder / "a.dark.png",
        "csv": folder / "a.csv",
        "alt": folder / "a.alt.txt",
    }
    given: dict[str, object] = {"alt_text": ALT, "origin": "generated", **changes}
    save_figure(given.pop("draw", draw), given.pop("data", DATA), **paths, **given)  # type: ignore[arg-type]
    return paths


def hashes(paths: dict[str, Path]) -> dict[str, str]:
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One saved figure of generated data; read only."""
    return save(tmp_path_factory.mktemp("saved") / "first")


def test_bytes_are_equal_on_repeat_and_in_another_process(
    tmp_path: Path, saved: dict[str, Path]
) -> None:
    first = hashes(saved)
    assert hashes(save(tmp_path / "second")) == first
    # No pyplot, so nothing stays open either.
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or pyplot.get_fignums() == []
    script = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        "from pathlib import Path\n"
        "import test_save_figure as module\n"
        f"print(module.hashes(module.save(Path({str(tmp_path / 'third')!r}))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONHASHSEED": "4711",
            "TZ": "Asia/Tokyo",
            "PYTHONPATH": str(Path(__file__).parents[2] / "workflow"),
        },
    )
    assert done.stdout.strip() == str(first)


def test_files_hold_no_time_and_no_software(saved: dict[str, Path]) -> None:
    for name in ("light_svg", "dark_svg"):
        text = saved[name].read_text("utf-8")
        assert "<dc:date>" not in text
        assert "Matplotlib v" not in text
        assert ALT in text
        ET.fromstring(text)  # noqa: S314 our own file
    for name in ("light_png", "dark_png"):
        raw = saved[name].read_bytes()
        assert b"Software" not in raw
        assert b"tIME" not in raw
        assert matplotlib.image.imread(saved[name]).shape[:2] == (700, 1120)  # 200 dpi


def test_themes_have_their_own_background(saved: dict[str, Path]) -> None:
    light, dark = (
        matplotlib.image.imread(saved[name])[5, 5, :3] for name in ("light_png", "dark_png")
    )
    assert light.min() > 0.99
    assert dark.max() < 0.15


def test_data_and_words_lie_beside_the_figure(tmp_path: Path, saved: dict[str, Path]) -> None:
    table = pl.read_csv(saved["csv"])
    assert table.drop("origin").equals(DATA)
    assert table["origin"].to_list() == ["generated"] * 3
    assert saved["alt"].read_text("utf-8") == f"Generated data. {ALT}\n"
    # Another origin changes the face, and the words do not claim to be generated.
    pure = save(tmp_path, origin="computed")
    assert pure["alt"].read_text("utf-8") == f"{ALT}\n"
    assert pure["light_png"].read_bytes() != saved["light_png"].read_bytes()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alt_text": " \n"}, "alt text is empty"),
        ({"alt_text": "A line goes up."}, "holds no number"),
        ({"data": DATA.with_columns(origin=pl.lit("x"))}, "column named origin"),
        ({"draw": lambda figure, theme: figure.add_subplot()}, "no label on x and y"),
        ({"draw": lambda figure, theme: None}, "no visible axes"),
    ],
)
def test_refusals(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        save(tmp_path / "out", **changes)
    assert list((tmp_path / "out").iterdir()) == []


def test_shared_axes_are_named_once_and_schematics_not_at_all(tmp_path: Path) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2, sharey=True)
    left.set(xlabel="x", ylabel="y")
    with pytest.raises(ValueError, match="axes 2 has no label on x"):
        check_axes(figure)
    right.set_xlabel("x")
    check_axes(figure)

    def schematic(figure: Figure, theme: Theme) -> None:
        ax = figure.add_subplot()
        ax.set_axis_off()
        ax.text(0.5, 0.5, "agent")

    save(tmp_path, draw=schematic, alt_text="A box.", drawing=True)

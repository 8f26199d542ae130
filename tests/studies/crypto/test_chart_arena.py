"""Chart of the contest: lines and bands are those of the results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.store.frames import write_frame
from remeasure.studies.crypto import chart_arena
from remeasure.studies.crypto.account_files import HOURS
from remeasure.studies.crypto.arena import BANDS, HELD, NAMES, PATHS, band

RETURNS = [23, 5, -33, -48, -55, -63, -0.03]


def paths(names: tuple[str, ...] = (*NAMES, HELD)) -> pl.DataFrame:
    hour = np.arange(HOURS + 1)
    frames = [
        pl.DataFrame(
            {
                "account": [name] * hour.size,
                "hour": hour,
                "dollars": 10_000 * np.exp((0.3 - 0.15 * number) * hour / HOURS),
            }
        )
        for number, name in enumerate(names)
    ]
    empty = pl.DataFrame(schema={"account": pl.String, "hour": pl.Int64, "dollars": pl.Float64})
    return pl.concat([empty, *frames])


def bands() -> pl.DataFrame:
    hour = np.arange(HOURS + 1)
    light, dark = (band(0.025, hour.astype(float), z) for z in (1.96, 1.0))
    return pl.DataFrame(
        {
            "hour": hour,
            "light_low": light[0],
            "dark_low": dark[0],
            "dark_high": dark[1],
            "light_high": light[1],
        }
    )


def drawing(made: chart_arena.Chart, theme: int = 0) -> Figure:
    with THEMES[theme].context():
        figure = Figure(figsize=made.size, layout="constrained")
        made.draw(figure, THEMES[theme])
        check_axes(figure)
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("theme", [0, 1])
def test_lines_diamonds_and_names(theme: int) -> None:
    (ax,) = drawing(chart_arena.arena(paths(), bands()), theme).axes
    lines = [np.asarray(line.get_ydata()) for line in ax.lines if len(line.get_xdata()) > HOURS]
    assert [round(float(line[-1])) for line in lines] == [
        round(10_000 * np.exp(0.3 - 0.15 * number)) for number in range(7)
    ]
    (diamonds,) = [line for line in ax.lines if line.get_marker() == "D"]
    assert np.allclose(diamonds.get_ydata(), [10_000 * (1 + each / 100) for each in RETURNS])
    assert [text.get_text() for text in ax.texts] == [*NAMES, HELD]


def test_six_files_and_words(tmp_path: Path) -> None:
    write_frame(paths(), tmp_path / "paths.parquet", PATHS)
    write_frame(bands(), tmp_path / "bands.parquet", BANDS)
    ends = ("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt")
    names = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")
    files = {name: tmp_path / f"f.{end}" for name, end in zip(names, ends, strict=True)}
    chart_arena.fig_arena(
        paths=tmp_path / "paths.parquet",
        bands=tmp_path / "bands.parquet",
        **files,
        origin="generated",
    )
    text = files["alt"].read_text()
    assert text.startswith("Generated data. ")
    assert f"{NAMES[0]} 35.0, published 23;" in text
    top = 10_000 * np.exp(1.96 * 0.025 * HOURS**0.5)
    assert f"{top:,.0f} USD in 95" in text
    assert pl.read_csv(files["csv"]).height == 7 * (HOURS + 1)


def test_without_accounts_the_printed_values_stay() -> None:
    made = chart_arena.arena(paths((HELD,)), bands().clear())
    assert "Qwen3-Max not measured, published 23" in made.alt_text
    (ax,) = drawing(made).axes
    assert "accounts not measured" in [text.get_text() for text in ax.texts]
    drawing(chart_arena.arena(paths(()), bands().clear()))

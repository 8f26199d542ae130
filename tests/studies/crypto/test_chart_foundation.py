"""Chart of ready-made forecasters: with all models, without them, and with other weights."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.store.frames import write_frame
from remeasure.studies.crypto import chart_foundation
from remeasure.studies.crypto.foundation import RATES, SCORES

ALL = ("LightGBM", "Chronos-2", "Kronos-small")
NOT_MEASURED = "not measured: Chronos-2, Kronos-small"


def rates(models: tuple[str, ...] = ALL) -> pl.DataFrame:
    rows = [
        {
            "model": model,
            "coin": coin,
            "hours": 7248,
            "first": datetime(2026, 1, 1),
            "last": datetime(2026, 10, 29, 23),
            "hit_rate": 0.53 - 0.01 * number + 0.001 * place,
            "low": 0.51 - 0.01 * number,
            "high": 0.55 - 0.01 * number,
            "se": 0.006,
            "up_share": 0.5,
            "up_low": 0.4,
            "up_high": 0.6,
            "lead": -0.01 * number,
            "lead_low": -0.02,
            "lead_high": 0.01,
            "lead_se": 0.007,
        }
        for number, model in enumerate(models)
        for place, coin in enumerate(("BTC", "ETH", "SOL"))
    ]
    return pl.DataFrame(rows, schema=RATES.types)


def scores(models: tuple[str, ...] = ("HAR", "Chronos-2")) -> pl.DataFrame:
    rows = [
        {
            "model": model,
            "coin": coin,
            "days": 302,
            "first": date(2026, 1, 1),
            "last": date(2026, 10, 29),
            "r2": 0.7 - 0.2 * number,
            "low": 0.5 - 0.2 * number,
            "high": 0.8 - 0.2 * number,
        }
        for number, model in enumerate(models)
        for coin in ("BTC", "ETH", "SOL")
    ]
    return pl.DataFrame(rows, schema=SCORES.types)


def drawing(made: chart_foundation.Chart, theme: int = 0) -> Figure:
    with THEMES[theme].context():
        figure = Figure(figsize=made.size, layout="constrained")
        made.draw(figure, THEMES[theme])
        check_axes(figure)
        figure.draw_without_rendering()
    return figure


@pytest.mark.parametrize("theme", [0, 1])
def test_points_bars_and_diamonds(theme: int) -> None:
    top, bottom = drawing(chart_foundation.foundation(rates(), scores()), theme).axes
    for number, container in enumerate(top.containers):
        drawn = container.lines[0].get_ydata()
        assert np.allclose(drawn, 53 - number + 0.1 * np.arange(3))
    assert len(top.containers) == 3
    heights = [patch.get_height() for patch in bottom.patches]
    assert np.allclose(heights, [0.7] * 3 + [0.5] * 3)
    diamonds = [
        np.asarray(line.get_ydata()) for ax in (top, bottom) for line in ax.lines
        if line.get_marker() == "D"
    ]  # fmt: skip
    assert np.allclose(np.concatenate(diamonds[:3]), [53.2, 52.3, 53, 49.3, 49.6, 49.2,
                                                       52.2, 50.7, 49.6])  # fmt: skip
    assert np.allclose(np.concatenate(diamonds[3:]), [0.77, 0.83, 0.89, 0.67, 0.64, 0.66])
    assert [text.get_text() for ax in (top, bottom) for text in ax.texts] == ["", ""]


def test_without_ready_made_models_the_printed_values_stay() -> None:
    made = chart_foundation.foundation(rates(ALL[:1]), scores(("HAR",)))
    top, bottom = drawing(made).axes
    assert top.texts[0].get_text() == NOT_MEASURED
    assert bottom.texts[0].get_text() == "not measured: Chronos-2"
    assert "SOL Kronos-small not measured, published 49.6." in made.alt_text
    nothing = chart_foundation.foundation(rates(()), scores(()))
    assert drawing(nothing).axes[1].texts[0].get_text() == "not measured: HAR, Chronos-2"


def test_other_weights_are_named_on_the_figure() -> None:
    other = "Chronos-2 of 1,234 parameters"
    made = chart_foundation.foundation(rates((ALL[0], other, ALL[2])), scores(("HAR", other)))
    assert [ax.texts[0].get_text() for ax in drawing(made).axes] == [
        "not the published weights: Chronos-2"
    ] * 2
    assert other in made.data["weights"].to_list()


def test_six_files_and_words(tmp_path: Path) -> None:
    write_frame(rates(), tmp_path / "rates.parquet", RATES)
    write_frame(scores(), tmp_path / "scores.parquet", SCORES)
    ends = ("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt")
    names = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")
    files = {name: tmp_path / f"f.{end}" for name, end in zip(names, ends, strict=True)}
    chart_foundation.fig_foundation(
        rates=tmp_path / "rates.parquet",
        scores=tmp_path / "scores.parquet",
        **files,
        origin="generated",
    )
    text = files["alt"].read_text()
    assert "ETH LightGBM 53.1 (51.0 to 55.0), published 52.3;" in text
    assert "BTC HAR 0.700 (0.50 to 0.80), published 0.77;" in text
    assert pl.read_csv(files["csv"]).height == 15

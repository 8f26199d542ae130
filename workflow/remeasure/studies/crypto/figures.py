"""The study's figures: one step each, named after the output that it draws.

A figure computes no statistic: it draws what a result holds, and beside it the
printed value as an open diamond. Rows that a run could not measure are left out,
the printed ones stay. Results are read by the names of their columns and no
experiment is imported, so a change of code that leaves a result alone redraws
nothing. ``drawn.py`` lists which results each step reads.
"""

from __future__ import annotations

from pathlib import Path

from remeasure.draw.chart import save_chart
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.crypto import chart_forecasts, chart_market


def fig_tails(
    *,
    tails: Path,
    histogram: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How often BTC's hourly returns fall into each bin, with the normal law.

    Parameters
    ----------
    tails, histogram
        Parquet, as ``tails.TABLE`` and ``tails.HISTOGRAM``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_market.tails(read_frame(tails), read_frame(histogram))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_acf(
    *,
    acf: Path,
    hour_of_day: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What BTC's returns and their size remember, and the mean move by hour of the day.

    Parameters
    ----------
    acf, hour_of_day
        Parquet, as ``autocorrelation.ACF`` and ``autocorrelation.HOUR_OF_DAY``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_market.autocorrelation(read_frame(acf), read_frame(hour_of_day))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_walk_forward(
    *,
    identities: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Schematic of the publication's expanding windows.

    Parameters
    ----------
    identities
        JSON, as ``calendar_identities.measure_calendar`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_forecasts.walk_forward(read_json(identities))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_reversal(
    *,
    reversal: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Share of hours that move like the hour before, by year and coin.

    Parameters
    ----------
    reversal
        Parquet, as ``reversal.REVERSAL``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_market.reversal(read_frame(reversal))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_breakeven(
    *,
    breakeven: Path,
    moves: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Break-even hit rate of BTC against the length of the bar.

    Parameters
    ----------
    breakeven, moves
        Parquet, as ``breakeven.BREAKEVEN`` and ``breakeven.MOVES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_market.breakeven(read_frame(breakeven), read_frame(moves))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_growth(
    *,
    curves: Path,
    fees: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """One dollar on BTC's forecasts, at several fees, and one that is held.

    Parameters
    ----------
    curves, fees
        Parquet, as ``trading.CURVES`` and ``trading.FEES`` (for the intervals at the end).
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_forecasts.growth(read_frame(curves), read_frame(fees))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_fees(
    *,
    fees: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Return a year against one-way trades a day, by fee, for BTC and SOL.

    Parameters
    ----------
    fees
        Parquet, as ``trading.FEES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = chart_forecasts.fees(read_frame(fees))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)

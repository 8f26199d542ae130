"""The study's figures: one step each, named after the output that it draws.

A figure computes no statistic: it draws what a result holds, and beside it the printed value as
an open diamond. ``drawn.py`` lists which results each step reads.
"""

from __future__ import annotations

from pathlib import Path

from remeasure.draw.chart import save_chart
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.polymarket import (
    chart_calibration,
    chart_returns,
    chart_singles,
    chart_skill,
)


def fig_anatomy(
    *,
    quote: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """One share of Yes and of No, and what a buyer at the ask wins and loses.

    Parameters
    ----------
    quote
        JSON, as ``quotes.measure_quotes`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_singles.anatomy(read_json(quote))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_forecasters(
    *,
    bins: Path,
    scores: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Reliability of the market and of its bold and timid copies.

    Parameters
    ----------
    bins
        Parquet, as ``calibration.BINNED``.
    scores
        Parquet, as ``calibration.SCORES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_calibration.forecasters(read_frame(bins), read_frame(scores))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_election(
    *,
    election: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Price that Trump wins over the campaign of 2024.

    Parameters
    ----------
    election
        Parquet, as ``single_markets.SERIES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_singles.election(read_frame(election))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_population(
    *,
    counted: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Resolved markets by year and topic.

    Parameters
    ----------
    counted
        Parquet, as ``counts.POPULATION``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_singles.population(read_frame(counted))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_calibration(
    *,
    bins: Path,
    scores: Path,
    histogram: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Reliability diagram and distribution of prices.

    Parameters
    ----------
    bins
        Parquet, as ``calibration.BINNED``.
    scores
        Parquet, as ``calibration.SCORES``.
    histogram
        Parquet, as ``calibration.HISTOGRAM``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_calibration.calibration(
        read_frame(bins), read_frame(scores), read_frame(histogram)
    )
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_accuracy(
    *,
    accuracy: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Accuracy beside always No, and skill, on one panel.

    Parameters
    ----------
    accuracy
        Parquet, as ``accuracy.ACCURACY``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_skill.accuracy(read_frame(accuracy))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_convergence(
    *,
    convergence: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Brier score and extreme prices by days before the close.

    Parameters
    ----------
    convergence
        Parquet, as ``convergence.CONVERGENCE``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_skill.convergence(read_frame(convergence))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_trap(
    *,
    trap: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Longshots by total volume, and by dollars traded before.

    Parameters
    ----------
    trap
        Parquet, as ``trap.TRAP``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_returns.trap(read_frame(trap))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_returns(
    *,
    returns: Path,
    net: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Mean return by band of price.

    Parameters
    ----------
    returns
        Parquet, as ``band_returns.RETURNS``.
    net
        Parquet, as ``net_returns.NET``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_returns.returns(read_frame(returns), read_frame(net))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_spread(
    *,
    spread: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Median half-spread by band of price.

    Parameters
    ----------
    spread
        Parquet, as ``spread.SPREAD``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_returns.spread(read_frame(spread))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_topics(
    *,
    topics: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Skill and gap by topic.

    Parameters
    ----------
    topics
        Parquet, as ``topic_scores.TOPIC_SCORES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_skill.topics(read_frame(topics))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_crypto(
    *,
    months: Path,
    pooled: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Bullish close calls by month, beside Bitcoin's return.

    Parameters
    ----------
    months
        Parquet, as ``crypto_months.MONTHS``.
    pooled
        Parquet, as ``crypto_months.POOLED``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_singles.crypto(read_frame(months), read_frame(pooled))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_long(
    *,
    long: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Favourites held for months.

    Parameters
    ----------
    long
        Parquet, as ``long_dated.LONG``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_returns.long_dated(read_frame(long))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_recalibration(
    *,
    curves: Path,
    fits: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Fitted curves against the diagonal.

    Parameters
    ----------
    curves
        Parquet, as ``recalibration.CURVES``.
    fits
        Parquet, as ``recalibration.FITS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_calibration.recalibration(read_frame(curves), read_frame(fits))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_nobel(
    *,
    nobel: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Prices of the candidates before the announcement.

    Parameters
    ----------
    nobel
        Parquet, as ``single_markets.SERIES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = chart_singles.nobel(read_frame(nobel))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)

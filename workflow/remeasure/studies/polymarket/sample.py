"""Draw the sample: two independent draws by hash, and the probability to be in either.

A draw depends on nothing but the market's id: the order of markets does not matter, another
market changes nothing, and a larger share only adds markets.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl

from remeasure.errors import ConfigError
from remeasure.model import Model
from remeasure.stats.sampling import hash_uniform, solve_share, union_probability
from remeasure.store.tables import read_table, write_tables
from remeasure.studies.polymarket.schema import MARKETS, SAMPLE
from remeasure.studies.polymarket.settings import DrawSettings


class SampleStep(Model):
    """Settings of `draw_sample`: the draws, and parts of the crawl."""

    draw: DrawSettings
    shards: int


def draw_sample(*, population: Path, sample: Path, settings: SampleStep) -> None:
    """Step: the clean markets that one draw or both choose, with their probabilities.

    Parameters
    ----------
    population
        Input, DuckDB: table ``markets``.
    sample
        Output, DuckDB: table ``sample``.

    Raises
    ------
    ConfigError
        When no share gives the target.
    """
    clean = read_table(
        population,
        MARKETS,
        columns=("market", "topic", "total_dollars"),
        where="reason IS NULL",
    )
    write_tables(sample, [(SAMPLE, drawn(clean, settings.draw, settings.shards))])


def drawn(clean: pl.DataFrame, draw: DrawSettings, shards: int) -> pl.DataFrame:
    """Rows of ``sample`` for a population of columns market, topic, total_dollars."""
    marked = clean.with_columns(
        pi_topic=pl.col("topic").replace_strict(dict(draw.topic_share), return_dtype=pl.Float64),
        dollars=pl.col("total_dollars").fill_null(0.0),
        threshold=pl.when(pl.col("topic") == "sports")
        .then(draw.certain_sports)
        .otherwise(draw.certain),
    )
    certain = (marked["dollars"] > marked["threshold"]).to_numpy()
    partial = (marked["dollars"] > draw.partial_from).to_numpy() & ~certain
    pi_topic = marked["pi_topic"].to_numpy()
    share = draw.share
    if share is None:
        share = solved(pi_topic, certain, partial, draw.target or 0)
    pi_size = np.where(certain, 1.0, np.where(partial, share, 0.0))
    keys = marked["market"].to_list()
    by_topic = hash_uniform(draw.seed, "topic", keys) < pi_topic
    by_size = hash_uniform(draw.seed, "size", keys) < pi_size
    pi = union_probability(pi_topic, pi_size)
    return (
        pl.DataFrame(
            {
                "market": marked["market"],
                "in_topic_draw": by_topic,
                "in_size_draw": by_size,
                "pi": pi,
                "pi_topic": pi_topic,
                "pi_size": pi_size,
                "weight": 1.0 / pi,
            }
        )
        .filter(pl.col("in_topic_draw") | pl.col("in_size_draw"))
        .with_columns(shard=shard_of(pl.col("market"), shards))
        .select(SAMPLE.schema().keys())
    )


def solved(pi_topic: np.ndarray, certain: np.ndarray, partial: np.ndarray, target: int) -> float:
    """The common share that gives ``target`` markets on average; ConfigError where none does."""
    share = solve_share(pi_topic, certain, partial, target)
    if not 0 <= share <= 1:
        without = float(np.where(certain, 1.0, pi_topic).sum())
        most = without + float((1 - pi_topic)[partial].sum())
        raise ConfigError(
            f"no common share gives {target:,} markets: the population allows"
            f" {without:,.0f} to {most:,.0f}",
            where="polymarket.draw.target",
            remedy="choose a target between them, or give draw.share and target: null",
        )
    return share


def shard_of(market: pl.Expr, shards: int) -> pl.Expr:
    """Part of the crawl of a market: by the last digits of its id, so that parts are alike."""
    return market.map_batches(
        lambda ids: pl.Series(
            [
                int.from_bytes(hashlib.sha256(each.encode()).digest()[8:12], "big") % shards
                for each in ids.to_list()
            ],
            dtype=pl.Int32,
        ),
        return_dtype=pl.Int32,
    )

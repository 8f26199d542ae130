"""Trainings with other seeds: the same training, judged the same, and pooled as NumPy does."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import typing
from pathlib import Path

import chess
import numpy as np
import polars as pl
import pytest
import torch

from gpt_small import DEFAULT, rng, training_step
from remeasure.nn.train.loop import Plan as Training
from remeasure.nn.train.loop import train
from remeasure.nn.train.schedules import warmup_cosine
from remeasure.plan import Plan
from remeasure.stats.bootstrap import mean_interval
from remeasure.store.frames import write_frame
from remeasure.studies.gpt import move_tables, moves, seeds
from remeasure.studies.gpt.chess_model import ChessPlayer, fresh, read, save
from remeasure.studies.gpt.chess_text import encode_stream
from remeasure.studies.gpt.further_judging import FurtherJudgingStep, judge_further
from remeasure.studies.gpt.further_training import train_further
from remeasure.studies.gpt.judging import LEGAL, NOWHERE
from remeasure.studies.gpt.positions import POSITIONS, drawn
from remeasure.studies.gpt.settings import ModelSettings, PositionSettings
from remeasure.studies.gpt.table_seeds import tab_chess_seeds
from remeasure.studies.gpt.training import LOG, next_character_loss
from remeasure.studies.gpt.windows import starts, window

SIZES = ModelSettings(layers=2, width=32, heads=2, context=64)
KNOWN = ";1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.Ba4 Nf6 5.O-O Be7"
OTHER = ";1.h4 a5 2.Rh3 Ra6 3.Ra3 Rh6 4.Rb3 b6 5.Na3 Nc6"
FIRST = [True] * 5 + [False] * 7
COUNTED = [True] * 3 + [False] * 9


@dataclasses.dataclass(frozen=True)
class Pooled:
    """Three trainings: where their files lie, the positions, the last losses, and the answer."""

    at: Path
    found: pl.DataFrame
    losses: tuple[float, ...]
    table: pl.DataFrame
    spread: pl.DataFrame


def verdicts(model: str, legal: list[bool]) -> pl.DataFrame:
    """`moves.MOVES` with planted verdicts."""
    lines = [
        (model, place, "e4", LEGAL if each else NOWHERE, False) for place, each in enumerate(legal)
    ]
    return pl.DataFrame(lines, schema=moves.MOVES.types, orient="row")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Pooled:
    """A planted first seed, a model that knows one game by heart, and fresh weights."""
    at = tmp_path_factory.mktemp("seeds")
    found = drawn(
        [KNOWN] * 8 + [OTHER] * 4,
        PositionSettings(count=12, largest=70, seed=1, monitored=1),
        SIZES.context - 10,
    )
    write_frame(found, at / "positions", POSITIONS)
    said = pl.concat([verdicts(move_tables.COUNTS, COUNTED), verdicts(move_tables.TRAINED, FIRST)])
    write_frame(said, at / "moves", moves.MOVES)
    write_frame(moves.shares_of(said), at / "shares", move_tables.SHARES)
    write_frame(moves.gaps_of(said, 100, rng()), at / "gaps", move_tables.GAPS)
    losses = (1.5, 1.25, 2.0)
    for number, loss in enumerate(losses):
        lines = [(1, 0.1, 3.4, 1.0, None, None, None), (2, 0.1, loss, 1.0, 0.5, 0.4, 0.6)]
        log = pl.DataFrame(lines, schema=LOG.types, orient="row")
        write_frame(log, at / f"log{number}", LOG)
    # One move more, so that a space follows the last one that is asked for.
    stream = encode_stream([f"{KNOWN} 6.Re1 b5"])
    taken = torch.from_numpy(window(stream, starts(stream, len(KNOWN))[:1], len(KNOWN)))
    learned = fresh(SIZES, 1)
    train(
        learned,
        next_character_loss,
        lambda step: taken,
        plan=Training(steps=60, betas=(0.9, 0.95), clip=1.0, decay="matrices"),
        schedule=warmup_cosine(0.01, 60, warm=5),
    )
    save(learned, at / "model1")
    save(fresh(SIZES, 2), at / "model2")
    judge_further(
        positions=at / "positions",
        moves=at / "moves",
        weights=[at / "model1", at / "model2"],
        logs=[at / "log1", at / "log2"],
        further=at / "further",
        settings=FurtherJudgingStep(further=(43, 7), device="cpu", threads=1, resamples=100),
        rng=rng(),
    )
    seeds.pool_seeds(
        shares=at / "shares",
        gaps=at / "gaps",
        log=at / "log0",
        further=[at / "further"],
        seeds=at / "seeds",
        spread=at / "spread",
        settings=seeds.SeedsStep(first=42),
    )
    return Pooled(at, found, losses, pl.read_parquet(at / "seeds"), pl.read_parquet(at / "spread"))


def test_the_same_seed_is_the_same_training(made: typing.Any, tmp_path: Path) -> None:
    """Of two further trainings the one with the first seed has its bytes, the other has not."""
    given = training_step(made.settings, tmp_path)
    first = made.settings.training.seed
    for told, seed in ((5, first), (first, 5)):
        training = given.training.model_copy(update={"seed": told})
        (tmp_path / str(seed)).mkdir()
        train_further(
            games=made.at / "games.parquet",
            positions=made.at / "positions.parquet",
            summary=made.at / "games.json",
            weights=tmp_path / str(seed) / "chess_model.safetensors",
            log=tmp_path / str(seed) / "training_log.parquet",
            training_facts=tmp_path / str(seed) / "training.json",
            seed=str(seed),
            settings=given.model_copy(update={"training": training}),
        )
    for name in ("chess_model.safetensors", "training_log.parquet", "training.json"):
        assert (tmp_path / str(first) / name).read_bytes() == (made.at / name).read_bytes()
        assert (tmp_path / "5" / name).read_bytes() != (made.at / name).read_bytes()


def test_the_first_seed_has_the_numbers_of_the_ledger(made: typing.Any) -> None:
    (row,) = pl.read_parquet(made.at / "seeds.parquet").iter_rows(named=True)
    (told,) = [
        each
        for each in made.measured
        if (each.output_id, each.quantity) == ("stat_chess_moves", "legal moves")
    ]
    assert (100 * row["share"], row["n"]) == (told.value, told.n)
    assert (100 * row["low"], 100 * row["high"]) == (told.low, told.high)
    gaps = pl.read_parquet(made.at / "gaps.parquet").filter(pl.col("less") == move_tables.COUNTS)
    assert (row["gap"], row["gap_low"], row["gap_high"]) == gaps.select("gap", "low", "high").row(0)
    assert row["gap"] != 0
    assert row["loss"] == pl.read_parquet(made.at / "training_log.parquet")["loss"][-1]
    assert row["seed"] == made.settings.training.seed


def test_each_seed_is_judged_at_the_same_positions(three: Pooled) -> None:
    """Legal moves of stored models, counted with python-chess alone."""
    counts, generator = [sum(FIRST)], rng()
    for number in (1, 2):
        player = ChessPlayer(read(three.at / f"model{number}"))
        legal = np.zeros(12)
        for place, (fen, prompt) in enumerate(three.found.select("fen", "prompt").iter_rows()):
            with contextlib.suppress(ValueError):
                legal[place] = bool(chess.Board(fen).parse_san(player.word(prompt)))
        counts.append(int(legal.sum()))
        # Position by position: a shifted model has the same gap and another interval.
        ends = mean_interval(legal - np.array(COUNTED, dtype=float), 1, 100, generator)
        row = three.table.row(number, named=True)
        assert (row["gap_low"], row["gap_high"]) == pytest.approx(tuple(map(float, ends)))
    assert counts[1] >= 8 > counts[2], "one model knows the game of eight positions"
    assert three.table["seed"].to_list() == [42, 43, 7]
    assert three.table["legal"].to_list() == counts
    shares = np.array(counts) / 12
    assert three.table["share"].to_numpy() == pytest.approx(shares)
    assert three.table["gap"].to_numpy() == pytest.approx(shares - sum(COUNTED) / 12)
    assert three.table["loss"].to_list() == list(three.losses)
    inside = (pl.col("gap_low") <= pl.col("gap")) & (pl.col("gap") <= pl.col("gap_high"))
    assert three.table.select(inside.all()).item()


def test_the_spread_is_that_of_numpy(three: Pooled) -> None:
    for what, count, mean, deviation in three.spread.iter_rows():
        values = three.table[what].to_numpy()
        assert count == 3
        assert mean == pytest.approx(np.mean(values))
        assert deviation == pytest.approx(np.std(values, ddof=1))
    assert three.spread["what"].to_list() == ["share", "gap", "loss"]
    alone = seeds.spread_of(three.table.head(1))
    assert alone["deviation"].to_list() == [None] * 3
    assert tuple(alone["mean"]) == three.table.select(alone["what"].to_list()).row(0)


def test_the_table_says_how_many_seeds_it_has(three: Pooled, tmp_path: Path) -> None:
    tab_chess_seeds(
        seeds=three.at / "seeds",
        spread=three.at / "spread",
        table=tmp_path / "three.html",
        origin="generated",
    )
    text = (tmp_path / "three.html").read_text("utf-8")
    assert text.count('<th scope="row">') == 5
    assert f">{np.std(three.losses, ddof=1):.3f}<" in text
    assert "over 3 seeds" in text
    assert "12 test positions" in text
    alone = three.table.head(1)
    write_frame(alone, tmp_path / "seeds", seeds.SEEDS)
    write_frame(seeds.spread_of(alone), tmp_path / "spread", seeds.SPREAD)
    tab_chess_seeds(
        seeds=tmp_path / "seeds",
        spread=tmp_path / "spread",
        table=tmp_path / "one.html",
        origin="generated",
    )
    text = (tmp_path / "one.html").read_text("utf-8")
    assert text.count('<th scope="row">') == 1
    assert "deviation" not in text
    assert "One seed was trained" in text


def test_further_seeds_change_no_call_of_the_first_training() -> None:
    """Without them no training is planned beside it, and with them it is not trained again."""
    none, two = (
        Plan.from_files(
            [DEFAULT], {"studies": ["gpt"], "gpt": {"training": {"further_seeds": further}}}
        )
        for further in ([], [43, 44])
    )
    name = "studies.gpt.training:train_model"
    assert none.call(name) == two.call(name)
    again = "studies.gpt.further_training:train_further"
    assert again not in none.calls()
    settings = [json.loads(two.call(each))["settings"] for each in (name, again)]
    assert settings[0] == settings[1]
    assert "further_seeds" not in settings[0]["training"]
    judging = json.loads(two.call("studies.gpt.further_judging:judge_further"))
    assert judging["settings"]["further"] == [43, 44]

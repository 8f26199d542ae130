"""The whole study once, as small as it goes: generated games, a few steps of training."""

from __future__ import annotations

import pytest

from gpt_small import Made, rng, settings_of, training_step
from remeasure.studies.gpt import (
    arena,
    chess_reading,
    closed_forms,
    games,
    generate,
    mechanics,
    moves,
    positions,
    probes,
    reading,
    rules_of_chess,
    seeds,
    timing,
    tokens,
    training,
)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    at = tmp_path_factory.mktemp("gpt")
    given = settings_of()
    generate.generate_games(
        manifest=at / "games.manifest.json",
        truth=at / "truth.json",
        settings=generate.GenerateStep(
            generator=given.generator,
            filters=given.filters,
            file="hub/games.parquet",
            raw=str(at / "raw"),
        ),
    )
    data = {"games": at / "games.parquet", "summary": at / "games.json"}
    learned = {"weights": at / "chess_model.safetensors", "training_facts": at / "training.json"}
    on_cpu = {"device": "cpu", "threads": 1}
    control = {"model": given.model, "seed": given.training.seed}
    measured = games.clean_games(
        manifest=at / "games.manifest.json",
        truth=[at / "truth.json"],
        **data,
        settings=games.GamesStep(filters=given.filters, split=given.split),
        origin="generated",
    )
    measured += positions.draw_positions(
        **data,
        positions=at / "positions.parquet",
        settings=positions.PositionsStep(positions=given.positions, longest=70),
    )
    measured += training.train_model(
        **data,
        positions=at / "positions.parquet",
        log=at / "training_log.parquet",
        **learned,
        settings=training_step(given, at),
    )
    measured += moves.measure_moves(
        **data,
        positions=at / "positions.parquet",
        **learned,
        gpt2=[],
        karvonen=[],
        moves=at / "moves.parquet",
        shares=at / "shares.parquet",
        gaps=at / "gaps.parquet",
        settings=moves.MovesStep(
            **control, baseline=given.baseline, **on_cpu, resamples=given.resamples
        ),
        rng=rng(),
    )
    seeds.pool_seeds(
        shares=at / "shares.parquet",
        gaps=at / "gaps.parquet",
        log=at / "training_log.parquet",
        further=[],
        seeds=at / "seeds.parquet",
        spread=at / "seed_spread.parquet",
        settings=seeds.SeedsStep(first=given.training.seed),
    )
    measured += arena.measure_games(
        **learned,
        karvonen=[],
        played=at / "played.parquet",
        settings=arena.ArenaStep(arena=given.arena, **on_cpu, resamples=given.resamples),
        rng=rng(),
    )
    measured += probes.measure_probes(
        **data,
        **learned,
        karvonen=[],
        accuracy=at / "probes.parquet",
        shown=at / "probe_boards.json",
        settings=probes.ProbesStep(
            **control,
            probes=given.probes,
            longest=given.model.context,
            **on_cpu,
            resamples=given.resamples,
        ),
        rng=rng(),
    )
    chess_reading.read_chess(
        weights=learned["weights"],
        tokens=at / "chess_tokens.parquet",
        lens=at / "chess_lens.parquet",
    )
    measured += reading.measure_reading(
        gpt2=[],
        karvonen=[],
        tokens=at / "reading_tokens.parquet",
        lens=at / "reading_lens.parquet",
        settings=reading.ReadingStep(**on_cpu),
    )
    measured += tokens.measure_tokens(vocabulary=[], chips=at / "chips.parquet")
    measured += timing.measure_timing(
        costs=at / "costs.parquet", settings=timing.TimingStep(timing=given.timing, **on_cpu)
    )
    measured += closed_forms.measure_closed_forms(
        checkpoints=[], family_table=at / "family.parquet", summary=at / "closed_forms.json"
    )
    measured += rules_of_chess.measure_rules(replayed=at / "replayed.json")
    measured += mechanics.measure_mechanics(summary=at / "mechanics.json")
    return Made(at, measured, given)

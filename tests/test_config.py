"""A wrong configuration stops with the key and what is allowed."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from remeasure.config import available_studies, merge, read_files, validate
from remeasure.errors import ConfigError
from remeasure.plan import Plan

CONFIG = Path(__file__).resolve().parents[1] / "config"
DEFAULT = CONFIG / "config.yaml"


def default(**over: Any) -> dict[str, Any]:
    return merge(read_files([DEFAULT]), over)


def crypto(**over: Any) -> dict[str, Any]:
    return default(crypto=over)


def test_the_default_is_valid_and_takes_every_study_folder_it_names() -> None:
    config = validate(default())
    assert config.core.run == "default"
    assert set(config.core.studies) <= set(available_studies())
    assert config.section("crypto").spot["5m"].last == date(2026, 10, 29)


@pytest.mark.parametrize("overlay", ["public.yaml", "smoke.yaml"])
def test_overlays_are_valid_and_name_their_run(overlay: str) -> None:
    config = validate(read_files([DEFAULT, CONFIG / overlay]))
    assert config.core.run == overlay.removesuffix(".yaml")


def test_all_means_every_study_folder() -> None:
    assert validate(default(studies="all")).core.studies == available_studies()


@pytest.mark.parametrize(
    ("raw", "key", "allowed"),
    [
        (default(colour=1), "colour: unknown key", "allowed here: run, seed, studies"),
        (crypto(colour=1), "crypto.colour: unknown key", "base, breakeven, checkpoints, coins"),
        (
            crypto(tails={"treshold": 5}),
            "crypto.tails.treshold: unknown key",
            "bin_width, threshold",
        ),
        (default(studies=["kryptos"]), "studies: there is no study 'kryptos'", "crypto"),
        (default(run="Big Run"), "run: ", "pattern"),
        (default(seed=-1), "seed: ", "greater than or equal to 0"),
        (default(mirror="/no/such/folder"), "mirror: the folder '/no/such/folder'", "raw layout"),
        (
            crypto(spot={"1h": {"first": date(2026, 11, 1)}}),
            "crypto.spot.1h: first (2026-11-01)",
            "must not be after last (2026-10-29)",
        ),
        (crypto(coins=["BTCUSDT", "PEPEUSDT"]), "crypto.coins: PEPEUSDT", "allowed: BTCUSDT"),
        (
            crypto(spot={"5m": {"coins": ["BTCUSDT", "ETHUSDT", "SOLUSDT", "PEPEUSDT"]}}),
            "crypto.spot.5m.coins: the generator does not know PEPEUSDT",
            "allowed: BTCUSDT",
        ),
        (crypto(coins=["ETHUSDT"]), "crypto.coins: BTCUSDT must be among them", ""),
        (crypto(base="15m"), "crypto.base: there are no 15m candles", "allowed: 5m, 1h"),
        (
            crypto(walk_forward={"first_test": "2021-01"}),
            "crypto.walk_forward.first_test: 2021-01",
            "first month allowed is 2021-03",
        ),
        (
            crypto(walk_forward={"last_test": "2027-01"}),
            "crypto.walk_forward.last_test: 2027-01",
            "which end on 2026-10-29",
        ),
        (
            crypto(walk_forward={"first_test": "2024-01", "last_test": "2023-01"}),
            "crypto.walk_forward: first_test (2024-01)",
            "must not be after last_test",
        ),
        (crypto(origin="mirror"), "mirror: crypto.origin is mirror", "must name a folder"),
        (crypto(origin="carrier pigeon"), "crypto.origin", "'generated', 'mirror'"),
        (
            crypto(origin="files", files={"5m": {"BTCUSDT": "no/such.parquet"}}),
            "crypto.files.5m.BTCUSDT: the file 'no/such.parquet' does not exist",
            "",
        ),
        (crypto(coins=["BTCUSDT", "BTCUSDT"]), "crypto.coins: values must not repeat", ""),
        (crypto(base="1d"), "crypto.base", "'5m', '15m' or '1h'"),
        (crypto(breakeven={"bars": ["1h", "1h"]}), "crypto.breakeven.bars: values must not", ""),
        (crypto(walk_forward={"gap_hours": 10**8}), "crypto.walk_forward.gap_hours", "8760"),
        (
            crypto(spot={"5m": {"last": date(9999, 12, 31)}}),
            "crypto.spot.5m: last (9999-12-31)",
            "before 2100",
        ),
        (default(studies=["crypto", "crypto"]), "studies: values must not repeat", ""),
        (default(mirror=""), "mirror: ", "at least 1 character"),
        (default(seed=True), "seed: ", "valid integer"),
        (crypto(trading={"bands": [0.01]}), "crypto.trading: bands must contain 0", ""),
        (crypto(generator={"beta": 1.5}), "crypto.generator.beta", "less than or equal to 1"),
    ],
)
def test_a_wrong_setting_is_named_with_what_is_allowed(
    raw: dict[str, Any], key: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as error:
        validate(raw)
    assert key in str(error.value)
    assert allowed in str(error.value)


def test_all_problems_of_a_kind_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as error:
        validate(default(colour=1, crypto={"tails": {"threshold": -1}}))
    assert "colour" in str(error.value)
    assert "crypto.tails.threshold" in str(error.value)


def test_a_mirror_without_a_coin_or_month_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data.binance.vision/data/spot/monthly/klines/BTCUSDT/1h"
    folder.mkdir(parents=True)
    for month in range(1, 13):
        (folder / f"BTCUSDT-1h-2024-{month:02}.zip").touch()
    window = {"first": date(2024, 1, 1), "last": date(2024, 12, 31)}
    raw = default(
        mirror=str(tmp_path),
        crypto={
            "origin": "mirror",
            "base": "1h",
            "coins": ["BTCUSDT"],
            "spot": {"5m": None, "1h": {"coins": ["BTCUSDT", "ETHUSDT"], **window}},
            "walk_forward": {"first_test": "2024-06", "last_test": "2024-12"},
        },
    )
    with pytest.raises(ConfigError) as error:
        validate(raw)
    assert "crypto.spot.1h.coins: the mirror" in str(error.value)
    assert "ETHUSDT; allowed: BTCUSDT" in str(error.value)
    (folder / "BTCUSDT-1h-2024-07.zip").unlink()
    with pytest.raises(ConfigError, match=r"lacks\s+1 files, first .*2024-07"):
        validate(raw)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        read_files([tmp_path / "none.yaml"])
    (tmp_path / "bad.yaml").write_text("a: [1")
    with pytest.raises(ConfigError, match="not YAML"):
        read_files([tmp_path / "bad.yaml"])


def test_a_call_moves_with_its_own_settings_only() -> None:
    before = Plan.from_raw(default()).calls()
    after = Plan.from_raw(crypto(tails={"threshold": 5.0})).calls()
    moved = {step for step in before if before[step] != after[step]}
    assert moved == {
        "studies.crypto.synthetic:measure_synthetic",  # counts extreme hours, too
        "studies.crypto.tails:measure_tails",
    }


def test_every_setting_is_explained_where_it_stands() -> None:
    """Each top-level key and each key of the study has a comment above or beside it."""
    lines = DEFAULT.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if line[:1].isalpha() or (line.startswith("  ") and line[2:3].isalpha()):
            block = lines[max(0, number - 1)]
            assert "#" in line or block.lstrip().startswith("#") or "#" in block, line


def test_merging_is_what_snakemake_does() -> None:
    from snakemake.utils import update_config

    base, over = default(), yaml.safe_load((CONFIG / "mirror.yaml").read_text("utf-8"))
    ours = merge(base, over)
    update_config(base, over)
    assert ours == base

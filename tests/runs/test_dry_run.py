"""A dry run on the public sources names every file that it would fetch, with its size."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from remeasure.config import read_files, validate
from remeasure.fetch.binance import plan_funding, plan_klines
from runs.tree import PROJECT, copied

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

#: With what is recorded live, too.
LIVE = {"depth": {"books": True}}
LINE = re.compile(r"^ *[0-9.]+ [kMG]?B  (?:estimated|known) +(?:to be fetched|in the cache) +(\S+)")


def test_a_dry_run_lists_every_file_of_the_public_configuration(tmp_path: Path) -> None:
    tree = copied(tmp_path / "project")
    words = ("--configfile", "config/public.yaml", "--config", f"crypto={json.dumps(LIVE)}")
    done = tree.run("snakemake", "-n", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    listed = [match[1] for line in done.stderr.splitlines() if (match := LINE.match(line))]
    config = PROJECT / "config"
    files = [config / "config.yaml", config / "public.yaml"]
    settings = validate(read_files(files, {"crypto": LIVE})).section("crypto")
    plan = [
        file.url
        for interval, data in settings.spot.items()
        if data is not None
        for file in plan_klines(data.coins, interval, data.first, data.last)
    ]
    data = settings.funding.data
    plan += [file.url for file in plan_funding(data.coins, data.first, data.last)]
    live = [url for url in listed if url.startswith("https://fapi.binance.com/")]
    assert sorted(set(listed) - set(live)) == sorted(plan)
    assert len(live) == 2 + settings.depth.snapshots * len(settings.depth.contracts)
    assert f"still to be fetched: {len(plan) + len(live):,} files" in done.stderr
    assert "rule crypto_record_books" in done.stdout
    assert not (tree.folder / "data" / "raw" / "public").exists()


def test_every_further_seed_of_the_chess_model_is_a_job(tmp_path: Path) -> None:
    tree = copied(tmp_path / "project")
    settings = json.dumps({"training": {"further_seeds": [43, 44]}})
    words = ("gpt_tab_chess_seeds", "--config", 'studies=["gpt"]', f"gpt={settings}")
    done = tree.run("snakemake", "-n", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout, flags=re.MULTILINE))
    assert (jobs["gpt_training"], jobs["gpt_train_further"]) == ("1", "2")
    assert (jobs["gpt_judge_further"], jobs["gpt_seeds"]) == ("1", "1")
    for seed in (43, 44):
        assert f"results/default/gpt/chess_model_{seed}.safetensors" in done.stdout


def test_a_dry_run_lists_every_job_and_walk_of_the_published_prediction_markets(
    tmp_path: Path,
) -> None:
    """With three shards instead of 256, which are the same rules again."""
    tree = copied(tmp_path / "project")
    words = ("--configfile", "config/public.yaml", "--config", 'studies=["polymarket"]')
    done = tree.run("snakemake", "-n", *words, 'polymarket={"crawl": {"shards": 3}}')
    assert done.returncode == 0, done.stdout + done.stderr
    listed = [match[1] for line in done.stderr.splitlines() if (match := LINE.match(line))]
    walks = {url.removesuffix("?{every-page}") for url in listed if "{every-page}" in url}
    assert walks == {
        "https://gamma-api.polymarket.com/events/keyset",
        "https://clob.polymarket.com/prices-history",
        "https://data-api.polymarket.com/v2/prices-history",
        "https://data-api.polymarket.com/trades",
    }
    assert len(listed) == len(walks) + 2
    assert "still to be fetched: 6 files, ≈ 30.2 GB" in done.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", done.stdout, flags=re.MULTILINE))
    for rule in ("prices", "three_hourly", "asof", "trades"):
        assert jobs[f"polymarket_{rule}"] == "3", rule
    assert jobs["polymarket_listing"] == "5"
    assert jobs["polymarket_thresholds"] == "1"
    assert not (tree.folder / "data" / "raw" / "public").exists()

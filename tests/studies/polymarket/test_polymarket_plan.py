"""The plan of the study: every step's settings fit, contradictions are named, answers are whole."""

from __future__ import annotations

import importlib
import typing
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from remeasure.config import merge, read_files
from remeasure.errors import ConfigError
from remeasure.plan import Plan
from remeasure.studies.polymarket.addresses import Hosts, price_window, trades_page, week_window
from remeasure.studies.polymarket.drawn import EXPERIMENTS, FILES_RESULTS, RESULTS
from remeasure.studies.polymarket.published import measurable, rows

CONFIG = Path(__file__).parents[3] / "config"
PREFIX = "studies.polymarket."


def plan(*overlays: str, **changes: Any) -> Plan:
    raw = read_files([CONFIG / name for name in ("config.yaml", *overlays)])
    return Plan.from_raw(merge(raw, {"studies": ["polymarket"], "polymarket": changes}))


@pytest.mark.parametrize("origin", ["generated", "public", "files"])
def test_every_step_takes_the_settings_that_are_planned_for_it(origin: str, tmp_path: Path) -> None:
    changes: dict[str, Any] = {"origin": origin}
    if origin == "files":
        changes |= {"files": {"pancake": str(tmp_path), "drozy": str(tmp_path)}}
    planned = plan(**changes)
    for name, settings in planned._settings.items():
        if not name.startswith(PREFIX):
            continue
        module, _, function = name.removeprefix("studies.").partition("[")[0].partition(":")
        step = getattr(importlib.import_module(f"remeasure.studies.{module}"), function)
        model = typing.get_type_hints(step).get("settings")
        told = settings.model_dump() if isinstance(settings, BaseModel) else dict(settings)
        if model is None:
            assert not told, name
        else:
            model.model_validate(told)


@pytest.mark.parametrize("overlay", ["smoke.yaml", "public.yaml", "mirror.yaml"])
def test_overlays_fit(overlay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = read_files([CONFIG / "config.yaml", CONFIG / overlay])
    raw = merge(raw, {"studies": ["polymarket"], "mirror": str(tmp_path)})
    assert Plan.from_raw(raw).studies == ("polymarket",)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"origin": "files"}, "polymarket.files.pancake"),
        ({"origin": "mirror"}, "mirror: polymarket.origin"),
        ({"definitions": {"inner_low": 0.99}}, "inner_low"),
        ({"definitions": {"trap_high": 0.6}}, "trap_low"),
        ({"definitions": {"fit_before": "2023-01-01 00:00:00"}}, "fit_before"),
        ({"draw": {"target": 5}}, "either share or target"),
        ({"draw": {"certain": 5}}, "partial_from"),
        ({"draw": {"topic_share": {"politics": 0}}}, "each above 0"),
        ({"crawl": {"volume_cuts": [5000, 2000]}}, "volume_cuts must rise"),
        ({"crawl": {"three_hourly": True}}, "three_hourly"),
        ({"window": {"first": "2027-01-01"}}, "must not be after last"),
        ({"definitions": {"cluster": "series"}}, "definitions.cluster"),
    ],
)
def test_contradictions_are_named(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan(**changes)
    assert key in str(caught.value)


def test_every_measured_row_belongs_to_one_experiment() -> None:
    """By the outputs that each experiment answers for; a row answered twice stops the ledger."""
    owners: Counter[str] = Counter()
    for step, _, _ in EXPERIMENTS.values():
        module = importlib.import_module(f"remeasure.studies.polymarket.{step.partition(':')[0]}")
        owners.update(set(module.OUTPUTS))
    wanted = {row.output_id for row in measurable({key[0] for key in rows()})}
    assert wanted == owners.keys()
    assert set(owners.values()) == {1}
    assert not RESULTS.keys() & FILES_RESULTS.keys()


def test_what_reads_nothing_is_arithmetic_or_says_that_it_is_generated() -> None:
    """A step without inputs counts as mathematics; one that draws worlds must not."""
    for name, (step, reads, writes) in EXPERIMENTS.items():
        if reads:
            continue
        module = importlib.import_module(f"remeasure.studies.polymarket.{step.partition(':')[0]}")
        kinds = {row.kind for row in measurable(module.OUTPUTS)}
        assert kinds == {"exact"} or "manifest" in dict(writes), name
    for name, (_, reads, writes) in RESULTS.items():
        assert reads or "manifest" in dict(writes), name


def test_addresses_are_what_the_services_take() -> None:
    hosts = Hosts()
    with pytest.raises(ValueError, match="1296000"):
        price_window(hosts, "1", 0, 1_296_001, minutes=60)
    with pytest.raises(ValueError, match="1296000"):
        price_window(hosts, "1", 5, 5, minutes=60)
    assert price_window(hosts, "1", 0, 1_296_000, minutes=5).endswith("&fidelity=5")
    # The week (t - 7 d, t]: the second at its start is out, the one at its end is in.
    start, end = week_window(1000 * 86_400.0, 7)
    assert (start, end) == (986 * 86_400 + 1, 993 * 86_400)
    assert trades_page(hosts, "0x1", start, end, side="SELL").endswith(
        f"&takerOnly=true&side=SELL&start={start}&end={end}"
    )

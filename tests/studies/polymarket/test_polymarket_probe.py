"""The probe of the services, against services that keep or break its assumptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fetch.loopback import FAST
from remeasure.config import read_files
from remeasure.errors import SourceError
from remeasure.studies.polymarket.probe import (
    ASSUMPTIONS,
    FAILS,
    HOLDS,
    NOT_ASKED,
    UNKNOWN,
    ProbeStep,
    probe_services,
    refuse_broken,
)
from remeasure.studies.polymarket.settings import CrawlSettings
from remeasure.studies.polymarket.table_probe import tab_api_probe
from studies.polymarket.polymarket_service import Service, event, trade

RAW = read_files([Path(__file__).parents[3] / "config" / "config.yaml"])["polymarket"]


def good(service: Service) -> None:
    """A service that is what the crawl takes it for."""
    service.events = [event(number) for number in range(1, 700)]
    close = 1_780_533_259
    for token in (10**76 + 1, 2 * 10**76 + 1):
        price = 0.3 if token < 2 * 10**76 else 0.7
        service.histories[str(token)] = [
            {"t": close - hour * 3600, "p": price} for hour in range(300, -1, -1)
        ]
    service.trades = [trade(close - 2 * 86_400 - at, market=1) for at in range(5000)]


def found(service: Service, tmp_path: Path, **crawl: Any) -> dict[str, str]:
    """What each probe finds."""
    client = FAST.model_copy(update={"retries": 0})
    settings = ProbeStep(
        live=True,
        client=client,
        crawl=CrawlSettings.model_validate(
            {
                **RAW["crawl"],
                "hosts": service.hosts,
                "rates": {"gamma": 500, "clob": 500, "data": 500},
                **crawl,
            }
        ),
    )
    probe_services(probe=tmp_path / "probe.parquet", settings=settings)
    table = pl.read_parquet(tmp_path / "probe.parquet")
    assert table["probe"].to_list() == list(ASSUMPTIONS)
    return dict(zip(table["probe"], table["found"], strict=True))


def test_every_assumption_holds_of_a_good_service(service: Service, tmp_path: Path) -> None:
    good(service)
    assert set(found(service, tmp_path).values()) == {HOLDS}
    table = pl.read_parquet(tmp_path / "probe.parquet")
    assert table["url"].str.starts_with(service.base).all()
    assert table.filter(pl.col("probe") != "window")["as_of"].str.contains("GMT").all()
    refuse_broken(tmp_path / "probe.parquet", tuple(ASSUMPTIONS))
    tab_api_probe(probe=tmp_path / "probe.parquet", table=tmp_path / "t.html")
    assert f"{len(ASSUMPTIONS)} of {len(ASSUMPTIONS)} assumptions" in (
        tmp_path / "t.html"
    ).read_text("utf-8")


@pytest.mark.parametrize(
    ("broken", "probe"),
    [
        ({"page": 100}, "page size"),
        ({"cursor_name": "cursor"}, "cursor"),
        ({"trades_page": 100}, "trades rows"),
        ({"offset_cap": 1000}, "trades offset"),
        ({"ignores_window": True}, "trades window"),
    ],
)
def test_a_broken_assumption_is_found(
    service: Service, tmp_path: Path, broken: dict[str, Any], probe: str
) -> None:
    good(service)
    # A fill long before the window, for a service that ignores it.
    service.trades.append(trade(1_600_000_000, market=1))
    service.trades.sort(key=lambda row: row["timestamp"])
    for name, value in broken.items():
        setattr(service, name, value)
    answers = found(service, tmp_path)
    assert {name for name, each in answers.items() if each != HOLDS} == {probe}
    assert answers[probe] == FAILS
    with pytest.raises(SourceError, match="not what this crawl takes them for"):
        refuse_broken(tmp_path / "probe.parquet", (probe,))
    refuse_broken(tmp_path / "probe.parquet", ("both sides",))


def test_services_that_do_not_answer_leave_it_unknown(service: Service, tmp_path: Path) -> None:
    good(service)
    dead = service.hosts.model_copy(update={"clob": "http://127.0.0.1:9"})
    answers = found(service, tmp_path, hosts=dead)
    assert answers["hourly prices"] == answers["life prices"] == UNKNOWN
    assert answers["cursor"] == HOLDS


def test_without_network_nothing_is_asked(service: Service, tmp_path: Path) -> None:
    crawl = CrawlSettings.model_validate({**RAW["crawl"], "hosts": service.hosts})
    probe_services(probe=tmp_path / "p.parquet", settings=ProbeStep(live=False, crawl=crawl))
    assert set(pl.read_parquet(tmp_path / "p.parquet")["found"]) == {NOT_ASKED}
    assert not service.asked

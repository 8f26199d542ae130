"""The services on loopback for each test that wants them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from studies.polymarket.polymarket_service import Service, serving


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(Service()) as running:
        yield running

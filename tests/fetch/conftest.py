"""A loopback server for each test of the fetch room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fetch.loopback import Site, start


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server, running = start()
    yield running
    server.shutdown()
    server.server_close()

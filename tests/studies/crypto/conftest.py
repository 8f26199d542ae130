"""The loopback server of the fetch room, for the steps that fetch."""

from __future__ import annotations

from fetch.conftest import site as site

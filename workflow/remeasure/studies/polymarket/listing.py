"""Walk chains of pages whose next address stands in the page before.

A chain ends where the service says so (no ``next_cursor``), never at a short page: limits
are clamped silently. A chain that returns to a page it has seen is a loop: an ignored
parameter gives the first page for ever, with HTTP 200.
"""

from __future__ import annotations

from collections.abc import Sequence


def slices(event_usd: float, cuts: Sequence[float]) -> list[tuple[float, float | None]]:
    """Dollar ranges of the listing's shards: both ends included, the last one open above."""
    bounds = [event_usd, *(cut for cut in cuts if cut > event_usd)]
    return list(zip(bounds, [*bounds[1:], None], strict=True))

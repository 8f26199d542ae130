"""How the listing of events is cut into shards that are crawled apart."""

from __future__ import annotations

from collections.abc import Sequence


def slices(event_usd: float, cuts: Sequence[float]) -> list[tuple[float, float | None]]:
    """Dollar ranges of the listing's shards: both ends included, the last one open above."""
    bounds = [event_usd, *(cut for cut in cuts if cut > event_usd)]
    return list(zip(bounds, [*bounds[1:], None], strict=True))

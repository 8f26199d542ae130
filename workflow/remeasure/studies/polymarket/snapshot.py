"""Best bids and asks of all open markets, from the pages of one night."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.store.tables import write_tables
from remeasure.studies.polymarket import listing_pages
from remeasure.studies.polymarket.schema import BOOK_SNAPSHOT


class SnapshotStep(Model):
    """Settings of `parse_snapshot`: none."""


def parse_snapshot(*, manifest: Path, snapshot: Path, settings: SnapshotStep) -> None:
    """Step: pages of open events to the table ``book_snapshot``, every market once.

    Parameters
    ----------
    manifest
        Input: the pages.
    snapshot
        Output, DuckDB.
    """
    del settings
    raw = Manifest.read(manifest)
    parts = [BOOK_SNAPSHOT.empty()]
    for entry in raw.files:
        page = listing_pages.decoded(raw.read_verified(entry), raw.file(entry))
        parts.append(
            listing_pages.markets(page)
            .filter(~pl.col("is_closed"))
            .select(
                market=pl.coalesce("condition", pl.lit("gamma:") + pl.col("gamma")),
                slug="slug",
                question="question",
                bid="bid",
                ask="ask",
                total_dollars="volumeNum",
            )
        )
    rows = pl.concat(parts).unique("market", keep="first", maintain_order=True)
    write_tables(snapshot, [(BOOK_SNAPSHOT, rows)])

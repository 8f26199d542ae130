"""Which tables the collections of the origin ``files`` have, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remeasure.studies.polymarket.settings import FilesSettings

#: Tables of each collection.
TABLES: Final = {
    "pancake": ("resolved_markets.parquet", "daily_prices.parquet"),
    "drozy": ("bets.parquet",),
    "midterms": ("markets.parquet", "trades.parquet"),
}


def table_paths(files: FilesSettings) -> list[Path]:
    """All tables of the collections that are named."""
    return [
        Path(folder) / table
        for name, folder in files
        if folder is not None
        for table in TABLES[name]
    ]

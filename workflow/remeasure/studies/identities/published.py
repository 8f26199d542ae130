"""The printed numbers of the ten articles: read from ``reference.csv``, typed nowhere again."""

from __future__ import annotations

from pathlib import Path

from remeasure.ledger.published import Published

PACKAGE_FILES = ("reference.csv",)

PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])


def outputs_of(article: str) -> tuple[str, ...]:
    """Ids of the outputs of one article, in the order of the file."""
    return tuple(
        dict.fromkeys(
            row.output_id for row in PUBLISHED.rows.values() if _article(row.output_id) == article
        )
    )


def _article(output_id: str) -> str:
    return output_id.partition("_")[0]

"""Settings of the ledger's step; light, so that a plan can import it."""

from __future__ import annotations

from remeasure.model import Model


class LedgerSettings(Model):
    """Which studies the ledger joins. Verdicts have no settings."""

    studies: tuple[str, ...]

"""The ledger: references, measurements, verdicts."""

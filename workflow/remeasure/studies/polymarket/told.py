"""What each experiment of the study is told: of all settings, the ones that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.studies.polymarket.settings import Settings


def experiment_steps(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """Settings of each experiment, by step name."""
    definitions = settings.definitions
    scope = {
        "scope": {
            "origin": settings.origin,
            "window": settings.window,
            "draw": settings.draw,
            "event_usd": definitions.event_usd,
            "traded_usd": definitions.traded_usd,
        }
    }

    def of(*names: str) -> dict[str, Any]:
        return {**scope, **{name: getattr(definitions, name) for name in names}}

    bootstrap = ("resamples", "bootstrap_seed")
    scored = ("traded_usd", *bootstrap)
    return {
        "closed_forms:measure_closed_forms": {},
        "quotes:measure_quotes": {},
        "counts:measure_counts": scope,
        "calibration:measure_calibration": of("gap_weights", *scored),
        "accuracy:measure_accuracy": of("inner_low", "inner_high", *scored),
        "convergence:measure_convergence": of("convergence_days", *scored),
        "trap:measure_trap": {
            **of("trap_low", "trap_high", "trap_weights", "first_sample_sides", *bootstrap),
            "certain": settings.draw.certain,
            "partial_from": settings.draw.partial_from,
        },
        "band_returns:measure_returns": of(*scored),
        "spread:measure_spread": of("two_sided_strict"),
        "net_returns:measure_net": of("net_return"),
        "topic_scores:measure_topics": of("gap_weights", *scored),
        "crypto_months:measure_crypto": of(
            "crypto_traded", "crypto_weighted", "crypto_least", *scored
        ),
        "long_dated:measure_long": of(*scored),
        "recalibration:measure_recalibration": of("fit_weighted", "fit_before", *scored),
        "single_markets:measure_singles": {"nobel_candidates": definitions.nobel_candidates},
        "headline:measure_headline": scope,
        "definitions:compare_definitions": {
            name: getattr(definitions, name)
            for name in ("trap_low", "trap_high", "fit_before", *scored)
        },
        "real_prices:measure_real": {name: getattr(definitions, name) for name in bootstrap},
    }

"""What the study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from remeasure.config import Config
from remeasure.errors import ConfigError
from remeasure.studies.polymarket.drawn import FIGURES, TABLES, module_of
from remeasure.studies.polymarket.listing import slices
from remeasure.studies.polymarket.settings import Settings
from remeasure.studies.polymarket.told import experiment_steps


def listing_shards(settings: Settings) -> dict[str, tuple[float, float | None]]:
    """Dollar range of each shard of the listing, by its number."""
    ranges = slices(settings.definitions.event_usd, settings.crawl.volume_cuts)
    return {str(number): each for number, each in enumerate(ranges)}


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name."""
    definitions = settings.definitions
    told: dict[str, Mapping[str, Any]] = {
        "generate:generate_world": {
            "generator": settings.generator,
            "draw": settings.draw,
            "definitions": definitions,
            "crawl": settings.crawl,
            "window": settings.window,
        },
        "population:parse_population": {
            "window": settings.window,
            "definitions": definitions,
        },
        "sample:draw_sample": {"draw": settings.draw, "shards": settings.crawl.shards},
        "asof:price_at_horizons": {
            "hosts": settings.crawl.hosts,
            "definitions": definitions,
        },
        "features:build_forecasts": {},
        "intervals:measure_intervals": {
            "worlds": settings.worlds,
            "generator": settings.generator,
        },
        "thresholds:measure_thresholds": {
            "thresholds": settings.thresholds,
            "generator": settings.generator,
        },
        "synthetic:measure_synthetic": {
            "generator": settings.generator,
            **settings.synthetic.model_dump(),
        },
        "probe:probe_services": _probe(settings, config),
        "snapshot:parse_snapshot": {},
        "side_series:parse_series": {
            "hosts": settings.crawl.hosts,
            "window": settings.window,
        },
        **experiment_steps(settings),
        **{f"{module_of(figure)}:{figure}": {} for figure in FIGURES},
        **{f"{module_of(table)}:{table}": {} for table in TABLES},
    }
    if settings.origin == "files":
        told["real_files:list_files"] = {"files": settings.files}
        told["real_files:parse_files"] = {"files": settings.files, "definitions": definitions}
    else:
        told |= _crawl(settings, config)
    return told


def _probe(settings: Settings, config: Config) -> Mapping[str, Any]:
    return {
        "live": settings.origin == "public",
        "client": config.core.client,
        "crawl": settings.crawl,
    }


def _crawl(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    fetched = {
        "origin": settings.origin,
        "mirror": config.core.mirror,
        "client": config.core.client,
        "crawl": settings.crawl,
    }
    return {
        **{
            f"fetch_listing:fetch_listing[{number}]": {
                **fetched,
                "source": f"polymarket_listing_{number}",
                "closed": True,
                "volume_min": low,
                "volume_max": high,
            }
            for number, (low, high) in listing_shards(settings).items()
        },
        "fetch_listing:fetch_listing[snapshot]": {
            **fetched,
            "source": "polymarket_snapshot",
            "closed": False,
        },
        "fetch_prices:fetch_prices": fetched,
        "fetch_three_hourly:fetch_three_hourly": fetched,
        "fetch_trades:fetch_trades": {**fetched, "definitions": settings.definitions},
        "side_series:fetch_series": {**fetched, "window": settings.window},
    }


def check(settings: Settings, config: Config) -> None:
    """Refuse settings that contradict each other or the chosen source.

    Raises
    ------
    ConfigError
        Naming every key at fault and what is allowed.
    """
    problems = list(_problems(settings, config.core.mirror))
    if problems:
        raise ConfigError(
            "the configuration is not valid:\n" + "\n".join(f"    {each}" for each in problems),
            where="section polymarket of config/config.yaml, its overlays and --config",
            remedy="correct the named keys; config/README.md explains each",
        )


def _problems(settings: Settings, mirror: str | None) -> Iterator[str]:
    definitions = settings.definitions
    if settings.origin == "mirror" and mirror is None:
        yield "mirror: polymarket.origin is mirror, so this must name a folder"
    if settings.origin == "generated" and settings.crawl.three_hourly:
        yield "polymarket.crawl.three_hourly: the generated market has no such series; false"
    if settings.origin == "files":
        for name, folder in settings.files:
            if folder is not None and not Path(folder).is_dir():
                yield f"polymarket.files.{name}: the folder {folder!r} does not exist"
        if settings.files.pancake is None:
            yield "polymarket.files.pancake: polymarket.origin is files, so this must be a folder"
    if set(definitions.horizon_days) != {"day", "week", "month", "quarter", "half"}:
        yield "polymarket.definitions.horizon_days: all five horizons are needed"
    if not definitions.inner_low < definitions.inner_high:
        yield "polymarket.definitions.inner_low: must lie below inner_high"
    if not definitions.trap_low < definitions.trap_high <= 0.5:
        yield "polymarket.definitions.trap_low: must lie below trap_high, and that at most at 0.5"
    if definitions.fit_before.tzinfo is not None:
        yield "polymarket.definitions.fit_before: write it in UTC, without a time zone"
    elif not (settings.window.first <= definitions.fit_before.date() <= settings.window.last):
        yield "polymarket.definitions.fit_before: must lie within polymarket.window"

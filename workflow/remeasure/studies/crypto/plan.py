"""What the crypto study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from remeasure.config import Config
from remeasure.errors import ConfigError
from remeasure.studies.crypto.checkpoint_list import checkpoints_of
from remeasure.studies.crypto.drawn import FIGURES, TABLES, module_of
from remeasure.studies.crypto.memory_models import LanguageModel
from remeasure.studies.crypto.settings import KNOWN_COINS, Dataset, Interval, Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    datasets = {name: each for name, each in settings.spot.items() if each is not None}
    base = datasets[settings.base]
    audited = datasets[settings.leak_audit.interval]
    coins = settings.coins
    walked = {
        "coins": coins,
        "base": settings.base,
        "candles": base,
        "walk_forward": settings.walk_forward,
    }
    predicted = {
        "coins": coins,
        "base": settings.base,
        "candles": base,
        "first_test": settings.walk_forward.first_test,
        "last_test": settings.walk_forward.last_test,
    }
    candles = {
        name: {"interval": name, "dataset": each, "files": settings.files.get(name, {})}
        for name, each in datasets.items()
    }
    return {
        "generate:generate_archive": {
            "generator": settings.generator,
            "datasets": [
                {"interval": name, **each.model_dump()} for name, each in datasets.items()
            ],
            "first_test": settings.walk_forward.first_test,
        },
        **{
            f"fetching:fetch_candles[{name}]": {
                **each,
                "origin": settings.origin,
                "mirror": config.core.mirror,
                "client": config.core.client,
            }
            for name, each in candles.items()
        },
        **{
            f"sources:parse_candles[{name}]": {
                **each,
                "known_holes": settings.known_holes.get(name, ()),
            }
            for name, each in candles.items()
        },
        "features:build_hours": {"interval": settings.base, "dataset": base, "coins": coins},
        "calendar_identities:measure_calendar": {},
        "closed_forms:measure_closed_forms": {},
        "tails:measure_tails": {"coins": coins, "tails": settings.tails},
        "autocorrelation:measure_autocorrelation": {
            "coins": coins,
            "autocorrelation": settings.autocorrelation,
        },
        "reversal:measure_reversal": {"coins": coins},
        "breakeven:measure_breakeven": {"coins": coins, "breakeven": settings.breakeven},
        "forecasts:forecast_year": {"coins": coins, "walk_forward": settings.walk_forward},
        "forecasts:join_forecasts": {},
        "direction:measure_direction": {**walked, "direction": settings.direction},
        "leak_audit:measure_leak_audit": {
            "coins": coins,
            "leak_audit": settings.leak_audit,
            "candles": audited,
            "direction": settings.direction,
        },
        "trading:measure_trading": {**walked, "trading": settings.trading},
        "volatility:measure_volatility": {**predicted, "volatility": settings.volatility},
        "targeting:measure_targeting": {**predicted, "targeting": settings.targeting},
        "crash:measure_crash": {"coins": coins, "intervals": list(datasets)},
        "rules_grid:measure_grid": {"candles": datasets.get("1h"), "grid": settings.grid},
        "deflated:measure_deflated": {},
        "random_strategies:measure_random": {
            "candles": datasets.get("1h"),
            "random": settings.random,
        },
        "synthetic:measure_synthetic": {
            "synthetic": settings.synthetic,
            "leak_audit": settings.leak_audit,
            "direction": settings.direction,
            "volatility": settings.volatility,
            "random": settings.random,
            "tails": settings.tails,
        },
        **_networks(settings, config, walked),
        **_costs(settings, config),
        **_memory(settings),
        **{f"{module_of(figure)}:{figure}": {} for figure in FIGURES},
        **{f"{module_of(table)}:{table}": {} for table in TABLES},
    }


def _networks(
    settings: Settings, config: Config, walked: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Ready-made forecasters, and the checkpoints that this run has."""
    own = settings.foundation
    period = own.period.model_dump()
    told: dict[str, Mapping[str, Any]] = {
        "foundation:measure_foundation": {
            **walked,
            **period,
            "block_hours": own.block_hours,
            "block_days": own.block_days,
            "resamples": own.resamples,
        }
    }
    where = {"coins": settings.coins, **period, "device": own.device, "threads": own.threads}
    checkpoints = checkpoints_of(settings)
    if "chronos2" in checkpoints:
        told["foundation_chronos:forecast_chronos"] = {
            **where,
            "every_hours": own.chronos.every_hours,
            "batch": own.chronos.batch,
        }
    if "kronos" in checkpoints:
        told["foundation_kronos:forecast_kronos"] = {
            **where,
            "every_hours": own.kronos.every_hours,
            "sampling": own.kronos.sampling,
            "batch": own.kronos.batch,
        }
    for name, checkpoint in checkpoints.items():
        told[f"checkpoints:fetch_hub[{name}]"] = {
            "source": f"crypto_{name}",
            "checkpoint": checkpoint,
            "origin": settings.checkpoints,
            "mirror": config.core.mirror,
            "client": config.core.client,
        }
    return told


def _memory(settings: Settings) -> dict[str, Mapping[str, Any]]:
    """Language models asked about past prices: what their steps are told."""
    memory = settings.memory
    daily = settings.spot.get("1d")
    asked = {
        "answerer": memory.answerer,
        "models": memory.models,
        "daily": daily is not None and "BTCUSDT" in daily.coins,
        "resamples": memory.resamples,
        "others": [LanguageModel(label=each.label, release=each.release) for each in memory.others],
    }
    asking = {
        "first": str(memory.first),
        "last": str(memory.last),
        "batch": memory.batch,
        "device": memory.device,
    }
    return {
        **{
            f"memory_networks:ask_published[{model.slug}]": {"label": model.label, **asking}
            for model in memory.models
        },
        **{
            f"memory_networks:ask_shipped[{model.slug}]": {
                "label": model.label,
                **asking,
                "every": model.every,
            }
            for model in memory.shipped
        },
        **{
            f"checkpoints:list_package[{model.slug}]": {
                "source": f"crypto_memory_{model.slug}",
                "distribution": model.distribution,
                "version": model.version,
                "file": model.file,
            }
            for model in memory.shipped
        },
        "memory_identities:measure_memory_identities": {},
        "memory_simulated:simulate_answers": {
            "first": memory.first,
            "last": memory.last,
            "models": memory.models,
            "simulated": memory.simulated,
        },
        "memory_direction:measure_memory_direction": asked,
        "memory_strategy:measure_memory_strategy": asked,
        "memory_prices:measure_memory_prices": asked,
    }


def _costs(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """Funding, order books and account values: what their steps are told."""
    funding, depth, arena = settings.funding, settings.depth, settings.arena
    symbols = tuple(depth.contracts.values())
    books = {
        "contracts": depth.contracts,
        "snapshots": depth.snapshots,
        "sizes_usd": depth.sizes_usd,
    }
    told: dict[str, Mapping[str, Any]] = {
        "funding:measure_funding": {
            "dataset": funding.data,
            "funding": {"block_days": funding.block_days, "resamples": funding.resamples},
        },
        "depth:measure_depth": {"depth": books if depth.books else None},
        "arena:measure_arena": {
            "arena": {"block_hours": arena.block_hours, "resamples": arena.resamples}
        },
        "generate_books:generate_books": {**books, "seed": depth.seed},
        "book_files:parse_books": {
            "contracts": depth.contracts,
            "snapshots": depth.snapshots,
            "live": settings.origin == "public",
        },
        "generate_accounts:generate_accounts": {"seed": arena.seed, "sigma": arena.sigma},
        "account_files:parse_accounts": {},
    }
    if funding.data is not None:
        told["generate_funding:generate_funding"] = {
            "dataset": funding.data,
            "seed": funding.seed,
        }
        told["funding_files:parse_funding"] = {"dataset": funding.data}
        if settings.origin in ("mirror", "public"):
            told["fetch_funding:fetch_funding"] = {
                "dataset": funding.data,
                "rest_from": funding.rest_from,
                "origin": settings.origin,
                "mirror": config.core.mirror,
                "client": config.core.client,
            }
    if settings.origin == "public":
        told["record_books:record_books"] = {
            "ranks": tuple(depth.contracts),
            "snapshots": depth.snapshots,
            "spacing_minutes": depth.spacing_minutes,
            "client": config.core.client,
        }
    if settings.origin == "mirror":
        told["recorded:list_recorded[books]"] = {
            "source": "crypto_books",
            "mirror": config.core.mirror,
            "paths": [
                f"fapi.binance.com/fapi/v1/depth%Qsymbol={symbol}&limit=1000%S{number}"
                for symbol in symbols
                for number in range(1, depth.snapshots + 1)
            ],
        }
        told["recorded:list_recorded[accounts]"] = {
            "source": "crypto_accounts",
            "mirror": config.core.mirror,
            "paths": ["nof1.ai/api/account-totals"],
        }
    return told


def check(settings: Settings, config: Config) -> None:
    """Refuse settings that contradict each other or the chosen source.

    Raises
    ------
    ConfigError
        Naming every key at fault and what is allowed.
    """
    problems = [
        *_base_problems(settings),
        *_month_problems(settings),
        *_source_problems(settings, config.core.mirror),
        *_cost_problems(settings, config.core.mirror),
        *_network_problems(settings, config.core.mirror),
    ]
    if problems:
        raise ConfigError(
            "the configuration is not valid:\n" + "\n".join(f"    {each}" for each in problems),
            where="section crypto of config/config.yaml, its overlays and --config",
            remedy="correct the named keys; config/README.md explains each",
        )


def _base_problems(settings: Settings) -> Iterator[str]:
    configured = [name for name, dataset in settings.spot.items() if dataset is not None]
    base = settings.spot.get(settings.base)
    if base is None:
        yield (
            f"crypto.base: there are no {settings.base} candles in crypto.spot;"
            f" allowed: {', '.join(configured) or 'none'}"
        )
        return
    for coin in settings.coins:
        if coin not in base.coins:
            yield (
                f"crypto.coins: {coin} has no candles in crypto.spot.{settings.base};"
                f" allowed: {', '.join(base.coins)}"
            )
    if "BTCUSDT" not in settings.coins:
        yield "crypto.coins: BTCUSDT must be among them (its returns are features of every coin)"
    audited = settings.spot.get(settings.leak_audit.interval)
    if audited is None:
        yield (
            f"crypto.leak_audit.interval: there are no {settings.leak_audit.interval} candles in"
            " crypto.spot; allowed: "
            + (", ".join(name for name in configured if name in ("5m", "15m")) or "none")
        )
    else:
        for coin in settings.coins:
            if coin not in audited.coins:
                yield (
                    f"crypto.spot.{settings.leak_audit.interval}.coins: {coin} is missing,"
                    " but the leak audit needs every coin of crypto.coins"
                )


def _month_problems(settings: Settings) -> Iterator[str]:
    for key, walk, interval in (
        ("walk_forward", settings.walk_forward, settings.base),
        ("leak_audit.walk_forward", settings.leak_audit.walk_forward, settings.leak_audit.interval),
    ):
        dataset = settings.spot.get(interval)
        if dataset is None:
            continue
        # Features need 168 hours; a month of training rows is the least that makes sense.
        earliest = dataset.first + timedelta(days=8 + 30, hours=walk.gap_hours)
        first = date.fromisoformat(f"{walk.first_test}-01")
        if first < earliest:
            yield (
                f"crypto.{key}.first_test: {walk.first_test} leaves less than 30 days to train on;"
                f" candles ({interval}) start on {dataset.first}, so the first month allowed is"
                f" {_month_after(earliest)}"
            )
        if walk.last_test > dataset.last.isoformat()[:7]:
            yield (
                f"crypto.{key}.last_test: {walk.last_test} lies after the candles ({interval}),"
                f" which end on {dataset.last}"
            )


def _month_after(day: date) -> str:
    if day.day == 1:
        return day.isoformat()[:7]
    return (day.replace(day=1) + timedelta(days=32)).isoformat()[:7]


def _source_problems(settings: Settings, mirror: str | None) -> Iterator[str]:
    datasets = {name: each for name, each in settings.spot.items() if each is not None}
    if settings.origin == "mirror" and mirror is None:
        yield "mirror: crypto.origin is mirror, so this must name a folder"
        return
    for interval, dataset in datasets.items():
        for coin in dataset.coins:
            if settings.origin == "generated" and coin not in KNOWN_COINS:
                yield (
                    f"crypto.spot.{interval}.coins: the generator does not know {coin};"
                    f" allowed: {', '.join(KNOWN_COINS)}"
                )
            elif settings.origin == "mirror":
                yield from _mirror_problems(Path(mirror or ""), interval, coin, dataset)
            elif settings.origin == "files":
                path = settings.files.get(interval, {}).get(coin)
                if path is None or not Path(path).is_file():
                    yield (
                        f"crypto.files.{interval}.{coin}: "
                        + (f"the file {path!r} does not exist" if path else "names no file")
                    )


def _cost_problems(settings: Settings, mirror: str | None) -> Iterator[str]:
    """Funding, books and accounts that the chosen origin cannot have."""
    if settings.origin == "files" and settings.depth.books:
        yield "crypto.depth.books: origin files has none recorded; allowed: false"
    if settings.origin in ("public", "files") and settings.arena.accounts:
        yield f"crypto.arena.accounts: origin {settings.origin} has none stored; allowed: false"
    data = settings.funding.data
    if data is None:
        return
    since = settings.funding.rest_from
    if since is not None and (
        since.day != 1 or not data.first + timedelta(days=3) <= since <= data.last
    ):
        yield (
            f"crypto.funding.rest_from: {since} must be null or the first day of a month inside"
            f" crypto.funding.data ({data.first} to {data.last}), with three days before it"
        )
        return
    if settings.origin == "files":
        yield "crypto.funding.data: origin files has no funding rates; allowed: null"
    elif settings.origin == "mirror" and mirror is not None:
        from remeasure.fetch.binance import plan_funding

        archived = data.last if since is None else since - timedelta(days=1)
        absent = [
            file.path
            for file in plan_funding(data.coins, data.first, archived)
            if not (Path(mirror) / file.path).is_file()
        ]
        if absent:
            yield (
                f"crypto.funding.data: the mirror {mirror} lacks {len(absent)} files of funding,"
                f" first {absent[0]}; allowed: contracts and months that it has, or null"
            )


def _network_problems(settings: Settings, mirror: str | None) -> Iterator[str]:
    """Checkpoints that this run cannot have."""
    if settings.checkpoints == "mirror" and mirror is None:
        yield "mirror: crypto.checkpoints is mirror, so this must name a folder"
    if settings.memory.answerer == "networks" and settings.checkpoints == "none":
        yield (
            "crypto.memory.answerer: networks needs their weights;"
            " set crypto.checkpoints to mirror or public, or answerer to simulated or none"
        )
    asked = settings.memory.answerer == "networks" or bool(settings.memory.others)
    if asked and settings.origin == "generated":
        yield (
            "crypto.memory: networks know nothing of generated prices; set crypto.origin to mirror"
            " or public, or answerer to simulated and ask to false"
        )
    kronos = settings.foundation.kronos
    if (kronos.model is None) != (kronos.tokenizer is None):
        yield (
            "crypto.foundation.kronos: model and tokenizer belong together;"
            " name both, or set both to null"
        )


def _mirror_problems(
    mirror: Path, interval: Interval, coin: str, dataset: Dataset
) -> Iterator[str]:
    from remeasure.fetch.binance import HOST, spot_plan

    folder = mirror / HOST / "data" / "spot" / "monthly" / "klines"
    if not (folder / coin / interval).is_dir():
        there = sorted(path.parent.name for path in folder.glob(f"*/{interval}"))
        yield (
            f"crypto.spot.{interval}.coins: the mirror {mirror} has no {interval} candles of"
            f" {coin}; allowed: {', '.join(there) or 'none'}"
        )
        return
    absent = [
        path for path in spot_plan(coin, interval, dataset.first, dataset.last)
        if not (mirror / path).is_file()
    ]  # fmt: skip
    if absent:
        months = sorted(path.stem[-7:] for path in (folder / coin / interval).glob("*.zip"))
        yield (
            f"crypto.spot.{interval} ({coin}, {dataset.first} to {dataset.last}): the mirror lacks"
            f" {len(absent)} files, first {absent[0]};"
            f" allowed: months from {months[0] if months else 'none'}"
            f" to {months[-1] if months else 'none'}"
        )

"""Generate account values of a season: six accounts without skill, of known volatility.

Hourly log changes are normal with one standard deviation for all accounts. Four accounts
follow one common factor; what they share is the planted correlation of each of their pairs.
"""

from __future__ import annotations

import hashlib
import json
import math
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from remeasure.fetch.manifest import Manifest
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.store.frames import write_json
from remeasure.studies.crypto.account_files import ACCOUNTS, CAPITAL, HOURS, START
from remeasure.studies.crypto.raw_files import put_raw

PLACE = "nof1.ai/api/account-totals"

#: Accounts that move together, by the site's names, and the correlation of their pairs.
TOGETHER = ("claude-sonnet-4-5", "grok-4", "deepseek-chat-v3.1", "qwen3-max")
CORRELATION = 0.65

MODELS = tuple(name for name in ACCOUNTS if name != "gemini-2-5-pro")


class GenerateAccountsStep(Model):
    """Settings of `generate_accounts`: seed, volatility over the season, folder of raw data."""

    seed: int = Field(ge=0)
    sigma: float = Field(default=0.55, gt=0, le=2)
    raw: str = "data/raw"


def generate_accounts(*, manifest: Path, truth: Path, settings: GenerateAccountsStep) -> None:
    """Step: write the account values of a world, their manifest and the truth.

    Parameters
    ----------
    manifest
        Output, JSON: the one file.
    truth
        Output, JSON: planted volatility over the season, correlation of the four accounts,
        and the final value of each account.
    """
    values = account_values(settings.sigma, settings.seed)
    begin = START.replace(tzinfo=UTC).timestamp()
    records = [
        {
            "id": f"{model}_{hour - 1}",
            "model_id": model,
            "timestamp": begin + 3600.0 * hour - 30.5 * number,
            "dollar_equity": round(float(value), 6),
            "since_inception_hourly_marker": hour - 1,
            "positions": {},
        }
        for number, (model, path) in enumerate(values.items())
        for hour, value in enumerate(path.tolist(), 1)
    ]
    answer = {"accountTotals": records, "lastHourlyMarkerRead": HOURS - 1}
    body = json.dumps(answer, separators=(",", ":")).encode("ascii")
    root = Path(settings.raw, "generated", world_id(settings))
    entry = put_raw(root, PLACE, body)
    Manifest.of("crypto_accounts", "generated", root.as_posix(), [entry]).write(manifest)
    finals = {ACCOUNTS[model]: round(float(path[-1]), 6) for model, path in values.items()}
    write_json(
        {
            "world": _world(settings),
            "sigma": settings.sigma,
            "correlation": CORRELATION,
            "final": finals,
        },
        truth,
    )


def account_values(sigma: float, seed: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """Values at hours 1 to 408 by the site's names; a fair game in logarithms."""
    common = _stream(seed, "common").standard_normal(HOURS)
    made = {}
    for model in MODELS:
        share = CORRELATION if model in TOGETHER else 0.0
        own = _stream(seed, model).standard_normal(HOURS)
        change = math.sqrt(share) * common + math.sqrt(1 - share) * own
        made[model] = CAPITAL * np.exp(sigma / math.sqrt(HOURS) * np.cumsum(change))
    return made


def world_id(settings: GenerateAccountsStep) -> str:
    """Name of the world: 16 hexadecimal digits over code, seed and volatility."""
    text = json.dumps(_world(settings), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _world(settings: GenerateAccountsStep) -> dict[str, Any]:
    return {"code": fingerprint(__name__), "seed": settings.seed, "sigma": settings.sigma}


def _stream(seed: int, name: str) -> np.random.Generator:
    words = np.random.SeedSequence([seed, *f"accounts {name}".encode()])
    return np.random.Generator(np.random.PCG64(words))

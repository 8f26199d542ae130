"""The steps of the study at the sizes of the smoke run, as tests call them."""

from __future__ import annotations

import importlib
import inspect
import typing
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import polars as pl
import yaml

from remeasure.ledger.measurement import Measurement

SMOKE = Path(__file__).resolve().parents[3] / "config" / "smoke.yaml"


@cache
def measured(article: str, seed: int = 0) -> tuple[list[Measurement], Path]:
    """The answers of an article's step and the folder of its two tables; run once a session."""
    module = importlib.import_module(f"remeasure.studies.identities.{article}")
    step = getattr(module, f"measure_{article}")
    folder = Path(mkdtemp(prefix=f"identities-{article}-"))
    given: dict[str, object] = {
        "series": folder / "series.parquet",
        "checks": folder / "checks.parquet",
    }
    wanted = inspect.signature(step).parameters
    if "settings" in wanted:
        section = yaml.safe_load(SMOKE.read_text("utf-8"))["identities"]
        model = typing.get_type_hints(step)["settings"]
        given["settings"] = model.model_validate({article: section[article]})
    if "rng" in wanted:
        given["rng"] = np.random.default_rng(seed)
    return step(**given), folder


def checks(article: str) -> pl.DataFrame:
    """The identities that an article's step held against each other."""
    return pl.read_parquet(measured(article)[1] / "checks.parquet")

"""What the plan tells the steps of funding and order books fits them, for every origin."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_jsonable_python

from remeasure.config import Config, read_files, validate
from remeasure.errors import ConfigError
from remeasure.fetch.binance import plan_funding
from remeasure.step import Call
from remeasure.studies.crypto import plan

CONFIG = Path(__file__).parents[3] / "config"
ROOM = ("fetch", "book_files", "record", "depth", "funding", "generate", "sources", "arena")


def config(origin: str, **crypto: Any) -> Config:
    files = [CONFIG / "config.yaml"] + [CONFIG / "public.yaml"] * (origin == "public")
    return validate(read_files(files, {"crypto": crypto}))


def told(chosen: Config) -> dict[str, Mapping[str, Any]]:
    every = plan.steps(chosen.section("crypto"), chosen)
    return {name: each for name, each in every.items() if name.startswith(ROOM)}


@pytest.mark.parametrize(
    ("origin", "crypto"),
    [
        ("generated", {}),
        ("public", {}),
        ("public", {"depth": {"books": True}, "funding": {"rest_from": "2026-10-01"}}),
    ],
)
def test_settings_fit_the_steps_that_get_them(origin: str, crypto: dict[str, Any]) -> None:
    every = told(config(origin, **crypto))
    assert ("record_books:record_books" in every) == (origin == "public")
    for name, settings in every.items():
        if origin == "generated" and name.startswith("fetching:"):
            continue  # no rule of this origin calls it
        step = name.partition("[")[0]
        function = Call(f"studies.crypto.{step}", "r", 0, "c", {}).load()
        model = typing.get_type_hints(function)["settings"]
        model.model_validate_json(json.dumps(to_jsonable_python(settings)))
    live = every["book_files:parse_books"]["live"]
    assert live == (origin == "public")


@pytest.mark.parametrize("since", ["2026-10-02", "2020-01-01", "2026-11-01"])
def test_a_tail_that_cannot_be_is_refused_before_any_job(since: str) -> None:
    with pytest.raises(ConfigError, match=f"crypto.funding.rest_from: {since} must be null or"):
        config("public", funding={"rest_from": since})
    assert config("public", funding={"rest_from": "2026-10-01"})


def test_a_mirror_needs_no_archive_file_of_the_tail(tmp_path: Path) -> None:
    chosen = config("public", funding={"rest_from": "2026-10-01"}).section("crypto").funding.data
    files = plan_funding(chosen.coins, chosen.first, date(2026, 9, 30))
    for file in files:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).touch()

    def problems(**funding: Any) -> list[str]:
        settings = config("public", funding=funding).section("crypto")
        mirrored = settings.model_copy(update={"origin": "mirror"})
        return list(plan._cost_problems(mirrored, str(tmp_path)))

    assert problems(rest_from="2026-10-01") == []
    (lacking,) = problems()
    assert "lacks 2 files of funding" in lacking

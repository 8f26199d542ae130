"""What a configuration would fetch: every file, its size, what is there already, by service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from remeasure.cli import app
from remeasure.config import Config, read_files, validate
from remeasure.fetch import remote
from remeasure.fetch.binance import plan_funding, plan_klines
from remeasure.fetch.layout import sidecar, url_to_path
from remeasure.fetch.remote import Planned, file_list, planned, table_rows

CONFIG = Path(__file__).parents[2] / "config"


def config(name: str = "public", **crypto: Any) -> Config:
    return validate(
        read_files([CONFIG / "config.yaml", CONFIG / f"{name}.yaml"], {"crypto": crypto})
    )


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CONFIG.parent)


def urls(settings: Any) -> list[str]:
    """Every address, by the plans that the fetching steps use."""
    found = []
    for interval, data in settings.spot.items():
        if data is not None:
            found += plan_klines(data.coins, interval, data.first, data.last)
    data = settings.funding.data
    found += plan_funding(data.coins, data.first, data.last)
    return [file.url for file in found]


def test_every_planned_file_is_listed_once_with_its_size(tmp_path: Path) -> None:
    chosen = config()
    files = planned(chosen, cache=tmp_path)
    assert sorted(file.url for file in files) == sorted(urls(chosen.section("crypto")))
    assert all(file.size > 0 and not file.known and file.left == file.bytes for file in files)
    text = file_list(files).splitlines()
    assert len(text) == len(files) + 1
    for file, line in zip(files, text, strict=False):
        assert file.url in line
        assert line.split()[1] in ("B", "kB", "MB")
        assert " estimated  to be fetched " in line
        name = file.url.rpartition("/")[2]
        assert f"(+ .CHECKSUM, {64 + 2 + len(name) + 1} B)" in line
    assert text[-1].startswith(f"{len(files):,} files with {len(files):,} checksum files, ≈ ")


def test_other_origins_fetch_nothing(tmp_path: Path) -> None:
    chosen = validate(read_files([CONFIG / "config.yaml"]))
    assert planned(chosen, cache=tmp_path) == []
    assert remote.dry_run(chosen) == ""


def test_what_is_in_the_cache_is_known_and_not_fetched_again(tmp_path: Path) -> None:
    chosen = config()
    first, second, third, *_ = [file.url for file in planned(chosen, cache=tmp_path)]
    for url, record in ((first, {}), (second, {"size": 9}), (third, None)):
        file = tmp_path / url_to_path(url)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"1234567")
        file.with_name(file.name + ".CHECKSUM").write_text("x")
        if record is not None:
            body = {"url": url, "status": 200, "size": 7, "sha256": "", "etag": "", "retrieved": ""}
            sidecar(file).write_text(json.dumps(body | record))
    found = {file.url: file for file in planned(chosen, cache=tmp_path)}
    for url in (first, third):  # fetched here, or copied beside its checksum file
        assert (found[url].size, found[url].known, found[url].left) == (7, True, 0)
    assert not found[second].cached  # broken off or edited
    rows = table_rows(list(found.values()))
    assert rows[0]["in the cache"].startswith("2, ")
    assert rows[-1]["to be fetched"].startswith(f"{len(found) - 2:,}, ≈ ")


def test_rows_add_up_by_service_and_name_its_licence(tmp_path: Path) -> None:
    chosen = config(funding={"rest_from": "2026-10-01"}, depth={"books": True})
    files = planned(chosen, cache=tmp_path)
    rows = table_rows(files)
    services = [row for row in rows if row["licence"]]
    assert [row["service"] for row in services] == ["data.binance.vision", "fapi.binance.com"]
    counts = [int(row["files"].replace(",", "")) for row in services]
    assert sum(counts) == len(files) == int(rows[-1]["files"].replace(",", ""))
    parts = [row for row in rows if row["service"].startswith("  ")]
    assert sum(int(row["files"].replace(",", "")) for row in parts) == len(files)
    assert counts[1] == 2 + 2 + 6 * 8
    assert "terms of use" in services[1]["licence"]
    books = [file.url for file in files if "/depth" in file.url]
    assert "https://fapi.binance.com/fapi/v1/depth?symbol={rank 5}&limit=1000 (answer 2)" in books
    archived = [file.url for file in files if "fundingRate-2026" in file.url]
    assert not [url for url in archived if "2026-10" in url]


def of(size: int, known: bool, cached: bool) -> Planned:
    source = remote.Catalogue.read().sources[0]
    return Planned("crypto", source, "https://h/a", "h", size, known, cached, 0, False)


def test_estimates_are_marked() -> None:
    assert remote.about([of(1000, True, True), of(500, True, False)]) == "1.5 kB"
    assert remote.about([of(1000, True, True), of(500, False, False)]) == "≈ 1.5 kB"
    assert of(1000, True, True).line().split() == [
        "1",
        "kB",
        "known",
        "in",
        "the",
        "cache",
        "https://h/a",
    ]
    assert of(1000, True, True).left == 0


# --- the command ----------------------------------------------------------------------------


def command(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["sources", *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        return 2, str(done.exception)
    return done.exit_code, done.output


def test_the_command_takes_configurations_as_snakemake_does() -> None:
    files = len(urls(config().section("crypto")))
    code, said = command("--configfile", "config/public.yaml", "--files")
    assert code == 0
    assert said.count("https://") == files
    code, said = command(
        "--configfile",
        "config/public.yaml",
        "--files",
        "--config",
        "crypto={funding: {data: null}}",
    )
    assert "fundingRate" not in said
    assert "BTCUSDT-5m-2021-01.zip" in said
    for word, why in (
        ("nonsense", "it is not KEY=VALUE"),
        ("run=[", "cannot be understood"),
        ("colour=red", "colour: unknown key"),
    ):
        assert why in command("--config", word)[1]
    assert "no/such.yaml" in command("--configfile", "no/such.yaml")[1]


def test_checkpoints_are_listed_with_what_is_known_of_them(tmp_path: Path) -> None:
    both = [CONFIG / f"{name}.yaml" for name in ("config", "public", "networks")]
    every = planned(validate(read_files(both)), cache=tmp_path)
    files = [file for file in every if file.source.id == "hugging_face"]
    assert len(files) == 3 + 7
    assert {file.host for file in files} == {"huggingface.co"}
    assert all("{every-file}" in file.url and not file.known for file in files)
    assert sum(file.size for file in files) > 100_000_000_000

"""Every way in which the services write a field, as the card lists them."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from remeasure.config import read_files
from remeasure.errors import ConfigError, SourceError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.store.tables import read_table
from remeasure.studies.polymarket import listing_pages
from remeasure.studies.polymarket.listing_pages import (
    decoded,
    event_ids,
    events,
    markets,
    next_cursor,
)
from remeasure.studies.polymarket.population import PopulationStep, parse_population
from remeasure.studies.polymarket.schema import EVENTS, MARKETS
from remeasure.studies.polymarket.settings import Definitions, Window
from remeasure.studies.polymarket.times import parsed_time
from remeasure.studies.polymarket.topics import chosen_rule, direction, expect_version, topic_of
from studies.polymarket.polymarket_service import event, market

CONFIG = Path(__file__).parents[3] / "config" / "config.yaml"
DEFINITIONS = Definitions.model_validate(read_files([CONFIG])["polymarket"]["definitions"])
STEP = PopulationStep(
    window=Window(first=date(2024, 1, 1), last=date(2026, 10, 31)), definitions=DEFINITIONS
)


def body(*rows: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"events": list(rows), **more}).encode()


def one(**changes: Any) -> dict[str, Any]:
    """The parsed row of a market with some fields changed; None takes a field away."""
    fields = {name: value for name, value in market(1, **changes).items() if value is not ...}
    page = decoded(body({**event(1), "markets": [fields]}), "here")
    return markets(page).row(0, named=True)


def parsed(tmp_path: Path, pages: list[bytes], step: PopulationStep = STEP) -> Path:
    """The population of some pages, through the step."""
    entries = []
    for number, page in enumerate(pages):
        file = tmp_path / "raw" / f"{number}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(page)
        entries.append(RawFile(f"{number}", *digest(file)))
    manifest = tmp_path / "m.json"
    Manifest.of("listing", "mirror", tmp_path / "raw", entries).write(manifest)
    population = tmp_path / "population.duckdb"
    parse_population(listings=[manifest], population=population, settings=step)
    return population


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-06-04 00:34:19+00", datetime(2026, 6, 4, 0, 34, 19)),
        ("2026-06-04 00:34:19.5+00", datetime(2026, 6, 4, 0, 34, 19, 500_000)),
        ("2026-06-04T00:34:19Z", datetime(2026, 6, 4, 0, 34, 19)),
        ("2026-06-04T00:34:19.123456789Z", datetime(2026, 6, 4, 0, 34, 19, 123_456)),
        ("2026-06-04T00:34:19+00:00", datetime(2026, 6, 4, 0, 34, 19)),
        ("2026-06-04T02:34:19+0200", datetime(2026, 6, 4, 0, 34, 19)),
        ("2026-06-03T19:04:19-05:30", datetime(2026, 6, 4, 0, 34, 19)),
        ("2026-06-04", datetime(2026, 6, 4)),
        ("", None),
        (None, None),
    ],
)
def test_times_in_every_form(written: str | None, read: datetime | None) -> None:
    frame = pl.DataFrame({"time": [written]}, schema={"time": pl.String})
    assert frame.select(parsed_time("time")).item() == read


@pytest.mark.parametrize(
    "written",
    ["soon", "2026-06-04 00:34", "2026-13-04T00:00:00Z", "1780000000", "2026-06-04T00:34:19 CET"],
)
def test_other_times_are_errors(written: str) -> None:
    with pytest.raises(pl.exceptions.PolarsError):
        pl.DataFrame({"time": [written]}).select(parsed_time("time"))


@pytest.mark.parametrize(
    ("outcomes", "read"),
    [
        ('["Yes", "No"]', ["Yes", "No"]),
        (["Yes", "No"], ["Yes", "No"]),
        ('["A", "B", "C"]', ["A", "B", "C"]),
        ('["A \\"quoted\\", with a comma", "B"]', ['A "quoted", with a comma', "B"]),
        ("", None),
        (None, None),
        (..., None),
        ([], None),
    ],
)
def test_lists_in_every_form(outcomes: Any, read: list[str] | None) -> None:
    assert one(outcomes=outcomes)["outcomes"] == read


def test_token_ids_stay_text() -> None:
    """77 digits: no float can hold them."""
    digits = "21742633143463906290569050155826241533067272736897614950488156847949938836455"
    assert one(clobTokenIds=f'["{digits}", "1"]')["token"] == digits
    assert one(clobTokenIds=[digits, "1"])["token"] == digits
    for nothing in ("", None, "[]", []):
        assert one(clobTokenIds=nothing)["token"] is None


@pytest.mark.parametrize(
    ("volumes", "read"),
    [
        ({"volumeNum": 12.5}, 12.5),
        ({"volumeNum": "12.5"}, 12.5),
        ({"volumeNum": None, "volume": "7.25"}, 7.25),
        ({"volumeNum": ..., "volume": 7}, 7.0),
        ({"volumeNum": ..., "volume": ""}, None),
    ],
)
def test_volumes_in_every_form(volumes: dict[str, Any], read: float | None) -> None:
    assert one(**volumes)["volumeNum"] == read


@pytest.mark.parametrize("wrong", [{"question": {"en": "?"}}, {"outcomes": {"0": "Yes"}}])
def test_a_field_of_another_shape_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match="no page of events"):
        one(**wrong)


@pytest.mark.parametrize("wrong", [{"volumeNum": "much"}, {"closedTime": "soon"}])
def test_a_damaged_value_names_its_page(wrong: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="unknown form"):
        parsed(tmp_path, [body({**event(1), "markets": [market(1, **wrong)]})])


CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "clean": ({}, None),
    "nearly settled": ({"outcomePrices": '["0.995", "0.005"]'}, None),
    "50-50": ({"outcomePrices": '["0.5", "0.5"]'}, "resolved 50-50"),
    "mid-dispute": ({"outcomePrices": '["0.93", "0.07"]'}, "not settled"),
    "both zero": ({"outcomePrices": '["0", "0"]'}, "not settled"),
    "open": ({"closed": False}, "still open"),
    "three outcomes": (
        {"outcomes": '["A", "B", "C"]', "outcomePrices": '["0", "1", "0"]'},
        "not two outcomes",
    ),
    "no outcomes": ({"outcomes": ""}, "no outcomes or no settlement"),
    "no prices": ({"outcomePrices": None}, "no outcomes or no settlement"),
    "too early": ({"closedTime": "2023-12-31T23:59:59Z"}, "closed outside the window"),
    "first moment": ({"closedTime": "2024-01-01T00:00:00Z"}, None),
    "last moment": ({"closedTime": "2026-10-31T23:59:59.9Z"}, None),
    "too late": ({"closedTime": "2026-11-01T00:00:00Z"}, "closed outside the window"),
    "without tokens": ({"clobTokenIds": "", "enableOrderBook": False}, None),
}


def test_every_market_is_in_or_says_why_not(tmp_path: Path) -> None:
    rows = [
        {**event(number), "markets": [market(number, **changes)]}
        for number, (changes, _) in enumerate(CASES.values())
    ]
    rows.append({**event(99, volume=999.0), "markets": [market(99)]})
    table = read_table(parsed(tmp_path, [body(*rows)]), MARKETS).sort(
        pl.col("gamma").cast(pl.Int64)
    )
    assert table["reason"].to_list() == [
        *(reason for _, reason in CASES.values()),
        "event traded too little",
    ]
    clean = table.filter(pl.col("reason").is_null())
    assert clean["outcome"].is_in([0, 1]).all()
    assert table.row(by_predicate=pl.col("gamma") == "1", named=True)["outcome"] == 1


def test_a_market_under_two_events_counts_once(tmp_path: Path) -> None:
    twice = market(5)
    pages = [
        body({**event(20), "markets": [twice]}),
        body({**event(3), "markets": [twice, market(6)]}, next_cursor=None),
        body({**event(3), "markets": [twice, market(6)]}),
    ]
    population = parsed(tmp_path, pages)
    table = read_table(population, MARKETS)
    assert dict(zip(table["gamma"], table["event"], strict=True)) == {"5": "3", "6": "3"}
    assert read_table(population, EVENTS)["event"].to_list() == ["20", "3"]


def test_markets_before_the_order_book_have_a_key_too(tmp_path: Path) -> None:
    rows = [{**event(1), "markets": [market(1, conditionId=""), market(2, conditionId=None)]}]
    table = read_table(parsed(tmp_path, [body(*rows)]), MARKETS)
    assert table["market"].to_list() == ["gamma:1", "gamma:2"]


def test_the_close_is_never_the_nominal_end(tmp_path: Path) -> None:
    missing = {"closedTime": None, "endDate": "2026-05-01T00:00:00Z"}
    uma = {**missing, "umaEndDate": "2026-06-05T01:00:00+00:00"}
    rows = [
        {**event(1), "markets": [market(1, **missing)]},
        {**event(2), "closedTime": None, "markets": [market(2, **uma)]},
        {**event(3), "closedTime": "", "markets": [market(3, **missing)]},
    ]
    table = read_table(parsed(tmp_path, [body(*rows)]), MARKETS)
    assert table["close_source"].to_list() == ["event", "uma", None]
    assert table["closed"].to_list() == [
        datetime(2026, 6, 4, 0, 34, 19),
        datetime(2026, 6, 5, 1),
        None,
    ]
    assert table["reason"].to_list() == [None, None, "no close time"]


def test_parents_widen_the_cluster(tmp_path: Path) -> None:
    rows = [
        {**event(1), "parentEventId": 77},
        {**event(2), "parentEventId": None},
    ]
    assert read_table(parsed(tmp_path, [body(*rows)]), MARKETS)["cluster"].to_list() == ["77", "2"]


def test_a_page_that_is_not_the_one_of_the_manifest_is_refused(tmp_path: Path) -> None:
    parsed(tmp_path, [body(event(1))])
    (tmp_path / "raw" / "0").write_bytes(body(event(2)))
    with pytest.raises(SourceError, match="not the one in the manifest"):
        parse_population(
            listings=[tmp_path / "m.json"], population=tmp_path / "p.duckdb", settings=STEP
        )


@pytest.mark.parametrize(
    ("tags", "fields", "topic"),
    [
        (["politics"], {}, "politics"),
        (["politics", "bitcoin"], {}, "crypto"),
        (["sports", "crypto"], {}, "sports"),
        (["politics"], {"sportsMarketType": "moneyline"}, "sports"),
        (["politics"], {"gameStartTime": ""}, "politics"),
        (["weather", "world"], {}, "science"),
        (["fed-rates", "politics"], {}, "economy"),
        (["something-new"], {}, "culture"),
        ([], {}, "culture"),
    ],
)
def test_the_first_rule_that_fits_gives_the_topic(
    tags: list[str], fields: dict[str, str], topic: str
) -> None:
    listed = {
        **event(1),
        "tags": [{"slug": tag} for tag in tags],
        "markets": [market(1), market(2, **fields)],
    }
    found = (
        events(decoded(body(listed), "here"))
        .with_columns(rule=chosen_rule())
        .with_columns(topic=topic_of())
    )
    assert found["topic"].item() == topic
    assert (found["rule"].item() == "no rule fits") == (tags in (["something-new"], []))


@pytest.mark.parametrize(
    ("question", "first", "sign"),
    [
        ("Will Bitcoin reach $120,000 in July?", "Yes", 1),
        ("Will Bitcoin reach $120,000 in July?", "No", -1),
        ("Will Ethereum dip to $2,000?", "Yes", -1),
        ("Bitcoin Up or Down on July 4?", "Up", 1),
        ("Bitcoin Up or Down on July 4?", "Down", -1),
        ("Will the price of Solana be between $150 and $160?", "Yes", 0),
        ("Will the price of XRP be less than $2?", "Yes", -1),
        ("Bitcoin all time high by December 31?", "Yes", 1),
        ("Will MicroStrategy buy Bitcoin?", "Yes", 0),
        ("Will the Fed cut rates?", "Yes", 0),
    ],
)
def test_directions_of_crypto_questions(question: str, first: str, sign: int) -> None:
    frame = pl.DataFrame({"question": [question], "first_outcome": [first]})
    assert frame.select(direction()).item() == sign


def test_another_version_of_the_mapping_is_refused() -> None:
    expect_version(DEFINITIONS.topics_version)
    with pytest.raises(ConfigError, match=r"topics\.yaml is version"):
        expect_version(99)


def test_both_parsers_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick one takes pages of the usual form only; the other one takes them, too."""
    usual = body(
        {**event(1), "parentEventId": 77},
        {**event(2), "tags": None, "markets": [market(2), market(3, outcomes="", volume=None)]},
        {**event(3), "markets": [market(4, clobTokenIds=None, bestBid=0, bestAsk=0.5)]},
        {**event(4), "markets": [], "closedTime": None},
        next_cursor="abc",
    )
    quick = decoded(usual, "here")
    monkeypatch.setattr(listing_pages, "_usual", lambda body: None)
    slow = decoded(usual, "here")
    assert quick.dtype != slow.dtype
    assert markets(quick).equals(markets(slow))
    assert events(quick).equals(events(slow))
    assert next_cursor(quick) == next_cursor(slow) == "abc"
    assert event_ids(quick) == event_ids(slow) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("odd", [{"id": 7}, {"outcomes": ["Yes", "No"]}, {"volumeNum": "12.5"}])
def test_unusual_forms_go_to_the_other_parser(odd: dict[str, Any]) -> None:
    page = body({**event(1), "markets": [market(1, **odd)]})
    assert listing_pages._usual(page) is None
    plain = markets(decoded(body(event(1)), "here"))
    assert (
        markets(decoded(page, "here"))
        .drop("gamma", "volumeNum", "volumeClob")
        .equals(plain.drop("gamma", "volumeNum", "volumeClob"))
    )


def test_pages_of_both_forms_end_in_one_table(tmp_path: Path) -> None:
    """More pages than are typed at once, every third one of the unusual form."""
    pages = [
        body({**event(number), "id": number if number % 3 == 0 else str(number)})
        for number in range(1, 30)
    ]
    table = read_table(parsed(tmp_path, pages), MARKETS)
    assert sorted(int(each) for each in table["event"]) == list(range(1, 30))

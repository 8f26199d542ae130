"""The study's declaration against its reference rows, its card and the report captions."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import remeasure.studies.crypto as crypto
from remeasure.studies.crypto.outputs import STUDY

HERE = Path(crypto.__file__).parent


def references() -> list[dict[str, str]]:
    with (HERE / "reference.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def card_ids() -> list[str]:
    """First cells of the card's table of outputs."""
    text = (HERE / "card.md").read_text("utf-8")
    section = text.split("\n## Outputs\n")[1].split("\n## ")[0]
    return re.findall(r"^\| ([a-z_]+) \|", section, flags=re.M)[1:]


def test_every_published_output_is_declared_once() -> None:
    ids = [output.id for output in STUDY.outputs]
    assert len(set(ids)) == len(ids)
    published = {row["output_id"] for row in references()} | set(card_ids())
    assert set(ids) == published


def test_outputs_stand_in_the_order_of_the_card() -> None:
    declared = [output.id for output in STUDY.outputs if not output.id.startswith("cite_")]
    assert declared == card_ids()


def test_kinds_follow_the_names() -> None:
    kinds = {"fig": {"figure", "drawing"}, "stat": {"number"}, "cite": {"cited"}}
    for output in STUDY.outputs:
        allowed = kinds.get(output.id.partition("_")[0])
        assert allowed is None or output.kind in allowed, output.id
    cited = {row["output_id"] for row in references() if row["output_id"].startswith("cite_")}
    assert cited == {o.id for o in STUDY.outputs if o.kind == "cited"}
    assert {row["kind"] for row in references() if row["output_id"] in cited} == {"cited"}
    without_rows = {output.id for output in STUDY.outputs} - {r["output_id"] for r in references()}
    assert without_rows == {"fig_agent", "fig_crash_chain", "tab_cited", "tab_variants"}


def test_words_are_there_and_every_output_has_a_step() -> None:
    for output in STUDY.outputs:
        assert output.title
        if output.kind == "cited":
            assert output.source, output.id
            continue
        assert output.caption.endswith("."), output.id
        assert not output.pending, output.id
        assert (output.minutes > 0) == (not output.pending), output.id
        assert not output.pending.endswith("."), output.id
    assert sum(output.minutes for output in STUDY.outputs) < 15
    assert "korolevalab" in STUDY.publication

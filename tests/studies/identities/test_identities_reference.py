"""The study's files: rows as they were printed, errata with proofs that are computed here."""

from __future__ import annotations

import csv
import os
import re
from decimal import Decimal
from itertools import combinations
from pathlib import Path

import pytest

import remeasure.studies.identities as identities
from remeasure.ledger.join import check_declaration
from remeasure.ledger.reference import read_errata, read_references
from remeasure.studies.identities.outputs import STUDY

HERE = Path(identities.__file__).parent
STUDIES = Path(
    os.environ.get("REMEASURE_STUDIES", Path(__file__).parents[3] / ".." / "shared" / "studies")
)
ROWS = {row.key: row for row in read_references(HERE / "reference.csv")}
ERRATA = {key[:2]: each for key, each in read_errata(HERE / "errata.csv", [*ROWS.values()]).items()}

#: Claims of the articles about their own numbers: arithmetic, not quotations.
OWN_CLAIMS = {
    ("bert_stat_shares", "headroom of embedding factorisation base over large"),
    ("xlnet_tab_two_stream", "scales"),
    ("distilbert_stat_coupon", "data ratio quoted in the introduction"),
    ("albert_tab_residual", "growth quoted in the metrics section"),
}

#: Five of forty chains, which the card had rounded half to even.
FIVE_OF_FORTY = ("bart_stat_chance", "share of chains with exact deletion accuracy below 1/3")


def printed(output: str, quantity: str, *words: str) -> Decimal:
    found = [
        row
        for key, row in ROWS.items()
        if key[:2] == (output, quantity) and all(word in key[2] for word in words)
    ]
    assert len(found) == 1
    assert found[0].number is not None
    return found[0].number


def test_every_output_is_declared_and_has_its_rows() -> None:
    check_declaration(STUDY, [*ROWS.values()])
    assert all(output.caption.endswith(".") for output in STUDY.outputs if output.kind != "cited")
    assert sum(output.minutes for output in STUDY.outputs) < 2


@pytest.mark.skipif(not STUDIES.is_dir(), reason=f"no folder of studies at {STUDIES}")
def test_the_published_rows_are_untouched_but_for_what_the_card_corrects() -> None:
    with (STUDIES / "identities.reference.csv").open(encoding="utf-8", newline="") as file:
        given = [tuple(line.values()) for line in csv.DictReader(file)]
    ours = [(*row.key, row.published, row.unit, row.kind) for row in ROWS.values()]
    changed = [(theirs, row) for theirs, row in zip(given, ours, strict=True) if theirs != row]
    kinds = {row[:2] for theirs, row in changed if theirs[:5] == row[:5]}
    values = [(theirs[:2], theirs[3], row[3]) for theirs, row in changed if theirs[3] != row[3]]
    assert kinds == OWN_CLAIMS
    assert values == [(FIVE_OF_FORTY, "0.12", "0.125")] * 2
    assert len(changed) == 6


def test_the_card_lists_its_corrections() -> None:
    text = (HERE / "card.md").read_text("utf-8").split("\n## Corrections\n")[1]
    for output in {key[0] for key in OWN_CLAIMS} | {FIVE_OF_FORTY[0]}:
        assert f"`{output}`" in text
    assert not re.search(r"shared/|workplace", (HERE / "card.md").read_text("utf-8"))


def test_there_is_an_erratum_for_each_false_claim() -> None:
    assert set(ERRATA) == OWN_CLAIMS
    assert all(ROWS[each.key].kind == "exact" for each in ERRATA.values())


def test_headroom_is_two_not_four() -> None:
    shares = [printed("bert_stat_shares", "embedding share", name) for name in ("base", "large")]
    ratio = shares[0] / shares[1]
    erratum = ERRATA["bert_stat_shares", "headroom of embedding factorisation base over large"]
    assert Decimal(erratum.correct) == round(ratio, 2)
    assert ratio < Decimal(erratum.published) * Decimal("0.6")


def test_the_scales_span_six_decades() -> None:
    scales = [
        Decimal(re.search(r"scale (\S+);", key[2])[1])  # type: ignore[index]
        for key in ROWS
        if key[:2] == ("xlnet_tab_two_stream", "mean content response")
    ]
    decades = (max(scales) / min(scales)).log10()
    erratum = ERRATA["xlnet_tab_two_stream", "scales"]
    assert decades == Decimal(erratum.correct) != Decimal(erratum.published)


def test_the_worked_case_is_tenfold() -> None:
    sizes = [
        Decimal(re.search(r"N=(\d+)", key[2])[1])  # type: ignore[index]
        for key in ROWS
        if key[0] == "distilbert_tab_samples"
        and ("K=10; N=1000; up to seed" in key[2] or "K=10; N=100; reproduced" in key[2])
    ]
    erratum = ERRATA["distilbert_stat_coupon", "data ratio quoted in the introduction"]
    assert max(sizes) / min(sizes) == Decimal(erratum.correct) != Decimal(erratum.published)


def test_growth_is_no_printed_factor_and_no_mean_of_any() -> None:
    factors = [
        row.number
        for key, row in ROWS.items()
        if key[:2] == ("albert_tab_residual", "last over first step size")
    ]
    assert len(factors) == 4
    erratum = ERRATA["albert_tab_residual", "growth quoted in the metrics section"]
    means = {
        round(sum(each, Decimal(0)) / size, 2)  # type: ignore[arg-type]
        for size in range(1, 5)
        for each in combinations(factors, size)
    }
    assert Decimal(erratum.published) not in means
    assert Decimal(erratum.correct) == max(each for each in factors if each is not None)

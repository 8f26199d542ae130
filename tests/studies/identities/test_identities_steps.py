"""Every article's step: one answer a row, honest notes, and two sides that are really two."""

from __future__ import annotations

import re

import pytest

from answers import answered, printed_rows
from remeasure.ledger.measurement import WHOLE
from remeasure.ledger.measurements import Measured
from remeasure.ledger.reference import read_errata
from remeasure.ledger.verdict import verdict
from remeasure.studies.identities.drawn import ARTICLES
from remeasure.studies.identities.published import PUBLISHED, outputs_of
from studies.identities.small import checks, measured

#: Rows whose printed value no run can round to: a mean of 20,000 trials that fell far off.
DIFFER = {("roberta_tab_scaling", "expected ratio (20000 trials)")}

ERRATA = read_errata(
    PUBLISHED._path.with_name("errata.csv"),
    list(PUBLISHED.rows.values()),
)


def verdicts(article: str) -> dict[tuple[str, str, str], str]:
    found = {}
    for each in measured(article)[0]:
        key = (each.output_id, each.quantity, each.condition)
        given = Measured(measurement=each, step="s", artifact="a", origin="computed")
        found[key] = verdict(PUBLISHED.rows[key], given, ERRATA.get(key)).verdict
    return found


@pytest.mark.parametrize("article", ARTICLES)
def test_every_row_is_answered_once_and_measured(article: str) -> None:
    answers, _ = measured(article)
    assert answered(answers) == sorted(printed_rows("identities", outputs_of(article)))
    assert all(each.value is not None for each in answers)


@pytest.mark.parametrize("article", ARTICLES)
def test_exact_rows_are_exact_whatever_the_sizes(article: str) -> None:
    for key, name in verdicts(article).items():
        row = PUBLISHED.rows[key]
        if row.kind == "exact":
            assert name in ("exact", "erratum", "partial"), (key, name)
        assert name != "not run", key


@pytest.mark.parametrize("article", ARTICLES)
def test_whole_simulations_hold_the_printed_value(article: str) -> None:
    for each in measured(article)[0]:
        key = (each.output_id, each.quantity, each.condition)
        row = PUBLISHED.rows[key]
        if row.kind != "empirical" or each.low is None or row.number is None:
            continue
        assert each.high is not None
        assert each.low <= float(each.value) <= each.high, key  # type: ignore[arg-type]


@pytest.mark.parametrize("article", ARTICLES)
def test_rows_that_lack_inputs_say_so_and_what_is_possible(article: str) -> None:
    for each in measured(article)[0]:
        key = (each.output_id, each.quantity, each.condition)
        if PUBLISHED.rows[key].kind != "empirical" or "derived" in each.condition:
            continue
        lost = re.search(r"not printed|underdetermined|lost|up to seed|order of m", each.condition)
        if lost and "control" not in each.quantity:
            assert "underdetermined" in each.note, key
            assert "possible are" in each.note or "seeds" in each.note, key
            assert each.low is not None, key


@pytest.mark.parametrize("article", ARTICLES)
def test_rounding_residuals_are_bounds_in_units_of_epsilon(article: str) -> None:
    for each in measured(article)[0]:
        key = (each.output_id, each.quantity, each.condition)
        row = PUBLISHED.rows[key]
        if row.kind == "empirical" and row.number is not None and 0 < abs(row.number) < 1e-11:
            assert "units of machine epsilon" in each.note, key
            assert each.low is not None, key
            assert each.high is not None, key
            assert each.low <= float(row.number) <= each.high < 1e-8, key
            assert each.coverage == WHOLE, key


@pytest.mark.parametrize("article", ARTICLES)
def test_two_sides_are_named_differently_and_hold(article: str) -> None:
    frame = checks(article)
    assert frame.height >= 8
    assert frame["identity"].n_unique() == frame.height
    for row in frame.iter_rows(named=True):
        assert row["one"] != row["other"], row
        if row["unit"] == "control":
            assert row["worst"] >= row["allowed"], row
        else:
            assert row["worst"] <= row["allowed"], row


def test_controls_guard_the_identities_that_a_blind_test_would_pass() -> None:
    guarded = {article for article in ARTICLES if (checks(article)["unit"] == "control").any()}
    assert guarded >= {"transformers", "bert", "gpt", "xlnet", "vit"}

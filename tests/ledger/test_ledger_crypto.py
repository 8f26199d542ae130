"""The crypto study's reference and errata files: arithmetic rows by hand, errata by proof."""

from __future__ import annotations

import csv
import math
import os
from decimal import Decimal
from pathlib import Path

import pytest
from scipy.stats import norm

from remeasure.ledger.join import check_declaration, declared
from remeasure.ledger.reference import read_errata, read_references
from remeasure.ledger.verdict import agrees

CRYPTO = Path(__file__).parents[2] / "workflow" / "remeasure" / "studies" / "crypto"
STUDIES = Path(
    os.environ.get("REMEASURE_STUDIES", Path(__file__).parents[2] / ".." / "shared" / "studies")
)
ROWS = {row.key: row for row in read_references(CRYPTO / "reference.csv")}
ERRATA = read_errata(CRYPTO / "errata.csv", list(ROWS.values()))

WAIT = "stat_six_sigma_wait"
SIXTY, SIXTY_PRINTED = "$1,000 at 60% a month", "$1,000 at 60% a month, printed"
DSR = ("stat_deflated", "DSR from printed inputs")

#: Independent arithmetic, straight from the words of the row.
BY_HAND = {
    ("fig_tails", "P(|z|>6)", "normal law"): math.erfc(6 / math.sqrt(2)),
    ("fig_tails", "expected hours beyond 6 sd", "normal law, n=51057"): 51057
    * math.erfc(6 / math.sqrt(2)),
    (WAIT, "waiting time", "8760 h/year"): 1 / math.erfc(6 / math.sqrt(2)) / 8760,
    (WAIT, "waiting time", "printed"): 1 / math.erfc(6 / math.sqrt(2)) / 8760,
    ("fig_acf", "noise band", "1.96/sqrt(51057)"): 1.96 / math.sqrt(51057),
    ("stat_right_wrong", "gross edge implied", "0.539 x 31.5 - 0.461 x 35.6"): 0.539 * 31.5
    - 0.461 * 35.6,
    ("stat_sharpe_se", "standard error of annual Sharpe", "17 days"): math.sqrt(365 / 17),
    ("stat_sharpe_se", "Sharpe needed (printed as above)", "17 days"): 1.96 * math.sqrt(365 / 17),
    ("stat_sharpe_se", "years to show Sharpe 1 (printed about)", ""): 1.96**2,
    ("stat_sixty_percent", SIXTY, "12 months"): 1000 * 1.6**12,
    ("stat_sixty_percent", SIXTY_PRINTED, "12 months"): 1000 * 1.6**12,
}


@pytest.mark.parametrize("key", BY_HAND, ids=str)
def test_round_and_plain_numbers_hold_at_their_precision(key: tuple[str, str, str]) -> None:
    assert agrees(ROWS[key], BY_HAND[key])
    for units in (-1, 1):
        assert not agrees(ROWS[key].moved(units), BY_HAND[key])


def test_digits_stand_where_a_number_is_printed_round() -> None:
    assert {key: row.digits for key, row in ROWS.items() if row.digits is not None} == {
        (WAIT, "waiting time", "printed"): 2,
        ("fig_targeting", "lowest 30-day volatility (about)", "SOL held"): 1,
        ("fig_targeting", "highest 30-day volatility (over)", "SOL held"): 2,
        ("stat_sixty_percent", SIXTY_PRINTED, "12 months"): 3,
        ("stat_sixty_percent", SIXTY_PRINTED, "36 months"): 2,
    }


@pytest.mark.skipif(not STUDIES.is_dir(), reason=f"no folder of studies at {STUDIES}")
def test_the_published_rows_are_untouched() -> None:
    with (STUDIES / "crypto.reference.csv").open(encoding="utf-8", newline="") as file:
        given = [tuple(line.values()) for line in csv.DictReader(file)]
    ours = [(*row.key, row.published, row.unit, row.kind) for row in ROWS.values()]
    changed = [theirs for theirs, row in zip(given, ours, strict=True) if theirs != row]
    # The one correction of a kind that the card explains: a count of what the text names.
    assert [(row[0], row[1], row[-1]) for row in changed] == [
        ("fig_fees", "fee levels shown", "empirical")
    ]


def dollars_after_36_months() -> Decimal:
    return 1000 * Decimal("1.6") ** 36


def deflated_sharpe(kurtosis: float) -> float:
    """Bailey and Lopez de Prado 2014, equation 2, hourly bars of three years, no skewness."""
    best, luck = 1.81 / math.sqrt(8760), 2.04 / math.sqrt(8760)
    spread = math.sqrt(1 + (kurtosis - 1) / 4 * best**2)
    return float(norm.cdf((best - luck) * math.sqrt(26280 - 1) / spread))


def test_every_erratum_is_proved() -> None:
    proofs = {
        ("stat_sixty_percent", SIXTY, "36 months"): float(dollars_after_36_months()),
        ("stat_sixty_percent", SIXTY_PRINTED, "36 months"): float(dollars_after_36_months()),
        (*DSR, "T=26280, skew 0, kurtosis 30"): deflated_sharpe(30),
    }
    assert set(proofs) == set(ERRATA)
    for key, correct in proofs.items():
        assert not agrees(ROWS[key], correct)
        digits = len(ROWS[key].published.replace("0.", "").rstrip("0"))
        assert float(f"{correct:.{digits}g}") == pytest.approx(
            float(f"{float(ERRATA[key].correct):.{digits}g}")
        )


def test_sixty_percent_a_month_is_billions_after_three_years() -> None:
    assert round(dollars_after_36_months()) == 22_300_745_199
    # What is printed is the growth of one dollar, while the row of twelve months starts from 1,000.
    assert round(dollars_after_36_months() / 1000) == 22_300_745
    assert agrees(ROWS["stat_sixty_percent", SIXTY, "12 months"], 1000 * 1.6**12)


def test_fat_tails_cannot_lower_this_deflated_sharpe() -> None:
    assert agrees(ROWS[(*DSR, "T=26280, skew 0, kurtosis 3")], deflated_sharpe(3))
    assert deflated_sharpe(3) < deflated_sharpe(30) < 0.5
    assert float(ROWS[(*DSR, "T=26280, skew 0, kurtosis 30")].published) < deflated_sharpe(3)


def test_every_output_is_declared_and_has_rows() -> None:
    check_declaration(declared("crypto"), list(ROWS.values()))

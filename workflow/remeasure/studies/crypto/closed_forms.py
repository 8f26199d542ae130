"""Published numbers that are arithmetic: they rest on no data at all."""

from __future__ import annotations

from remeasure.ledger.measurement import Measurement
from remeasure.stats.sharpe import DAYS_PER_YEAR, days_needed, sharpe_needed, standard_error
from remeasure.studies.crypto.published import answer_all

OUTPUTS = ("stat_sharpe_se", "stat_sixty_percent")

#: Length of the contest in days, and the normal quantile that the publication uses.
DAYS = 17
Z = 1.96

CAPITAL = 1000.0
MONTHLY_RETURN = 0.60


def compounded(capital: float, monthly_return: float, months: int) -> float:
    """What ``capital`` grows to at a constant monthly return."""
    return float(capital * (1 + monthly_return) ** months)


def measure_closed_forms() -> list[Measurement]:
    """The Sharpe ratio's standard error after 17 days, and 60% a month compounded."""
    error, needed = standard_error(DAYS), sharpe_needed(DAYS, Z)
    days = days_needed(1.0, Z)
    promised = "$1,000 at 60% a month"
    rows = [
        ("stat_sharpe_se", "standard error of annual Sharpe", "17 days", error),
        ("stat_sharpe_se", "standard error, unrounded", "17 days", error),
        ("stat_sharpe_se", "Sharpe needed to differ from zero", "17 days, 1.96 SE", needed),
        ("stat_sharpe_se", "Sharpe needed (printed as above)", "17 days", needed),
        ("stat_sharpe_se", "days to show Sharpe 1", "z=1.96", days),
        ("stat_sharpe_se", "years to show Sharpe 1 (printed about)", "", days / DAYS_PER_YEAR),
    ]
    for months in (12, 36):
        value = compounded(CAPITAL, MONTHLY_RETURN, months)
        rows += [
            ("stat_sixty_percent", promised, f"{months} months", value),
            ("stat_sixty_percent", f"{promised}, printed", f"{months} months", value),
        ]
    measured = [
        Measurement(output_id=output, quantity=quantity, condition=condition, value=value)
        for output, quantity, condition, value in rows
    ]
    return answer_all(measured, OUTPUTS, "no step measures it")

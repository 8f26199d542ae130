"""Identity 7 and check E26: printed counts, months and percentages fit each other exactly."""

from __future__ import annotations

from answers import answered, printed_rows
from remeasure.studies.crypto.calendar_identities import RELEASED, memory_months
from remeasure.studies.crypto.memory_identities import (
    hits_implied,
    measure_memory_identities,
    sd_above_half,
)
from remeasure.studies.crypto.memory_models import SEVEN
from remeasure.studies.crypto.memory_windows import counted
from remeasure.studies.crypto.published import printed

OUTPUTS = ("fig_memory_direction", "stat_memory_pooled", "fig_memory_strategy")


def test_every_exact_row_is_answered_once_and_as_printed() -> None:
    rows = {
        key: row for key, row in printed_rows("crypto", OUTPUTS).items() if row["kind"] == "exact"
    }
    measured = measure_memory_identities()
    assert answered(measured) == sorted(rows)
    assert len(measured) == 21
    for each in measured:
        row = rows[each.output_id, each.quantity, each.condition]
        decimals = len(row["value"].partition(".")[2])
        assert round(float(str(each.value)), decimals) == float(row["value"]), row


def test_the_models_are_those_of_the_calendar_and_months_count_as_there() -> None:
    assert {model.label: model.release for model in SEVEN} == RELEASED
    for model in SEVEN:
        both = counted(model, "month")
        assert (both["before"], both["after"]) == memory_months(model.release)
        assert 105 - sum(both.values()) == 12


def test_each_printed_percentage_has_one_count_behind_it_and_their_sums_are_printed() -> None:
    total = {"before": [0, 0], "after": [0, 0]}
    for model in SEVEN:
        for window, n in counted(model, "month").items():
            when = f"{model.label}, {window}"
            hits = hits_implied(printed("fig_memory_direction", "months right", when), n)
            assert hits == (
                int(printed("fig_memory_direction", "months right, count implied", when)),
            )
            total[window][0] += hits[0]
            total[window][1] += n
    assert total == {"before": [315, 525], "after": [59, 126]}
    for name, (hits_all, n) in total.items():
        assert round(100 * hits_all / n, 1) == printed("stat_memory_pooled", "months right", name)
    assert round(sd_above_half(315, 525), 1) == 4.6
    assert round(sd_above_half(59, 126), 1) == -0.7


def test_a_percentage_of_many_trials_has_several_counts_behind_it() -> None:
    assert hits_implied(50, 1000) == tuple(range(495, 506))

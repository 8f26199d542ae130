"""The card's exact checks by number, each with the test that proves it; none is left out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

#: Number in the card's table of exact checks: where the test is, and its name.
CHECKS = {
    1: ("polymarket_closed_forms", "test_printed_numbers_agree_with_each_other"),
    2: ("calibration", "test_five_terms_are_exact"),
    3: ("calibration", "test_three_terms_are_exact_for_equal_prices"),
    4: ("calibration", "test_the_worked_example"),
    5: ("calibration", "test_base_rate_and_clairvoyant"),
    6: ("sampling", "test_union_of_two_draws_by_simulation"),
    7: ("sampling", "test_fixed_size_draws_have_the_same_mean_weight"),
    8: ("calibration", "test_brier_is_that_of_scikit_learn"),
    9: ("platt", "test_equals_scikit_learn"),
    10: ("platt", "test_expected_outcomes_return_the_planted_line"),
    11: ("calibration", "test_swapping_outcomes_leaves_scores_alone"),
    12: ("contracts", "test_dollars_won_are_dollars_lost_on_the_other_side"),
    13: ("polymarket_closed_forms", "test_favourites_mirror_longshots"),
    14: ("contracts", "test_spreads"),
    15: ("contracts", "test_fees"),
    16: ("contracts", "test_years"),
    17: ("calibration", "test_distortion"),
    18: ("polymarket_closed_forms", "test_manski_bounds_by_brute_force"),
    19: ("cluster_bootstrap", "test_copies_in_one_cluster_are_one_observation"),
    20: ("cluster_bootstrap", "test_equals_the_loop_over_rows"),
    21: ("polymarket_features", "test_draws_do_not_depend_on_order_and_larger_shares_only_add"),
    22: ("bands", "test_edges_land_on_the_right"),
    23: ("polymarket_features", "test_the_as_of_join_equals_a_loop_over_random_series"),
    24: ("polymarket_plan", "test_addresses_are_what_the_services_take"),
    25: ("polymarket_experiments", "test_volume_after_the_forecast_changes_nothing_but_the_trap"),
    26: ("polymarket_closed_forms", "test_crypto_rows_are_counts"),
    27: ("polymarket_parsing", "test_every_market_is_in_or_says_why_not"),
    28: ("polymarket_closed_forms", "test_printed_numbers_agree_with_each_other"),
    29: ("polymarket_closed_forms", "test_printed_numbers_agree_with_each_other"),
    30: ("polymarket_generator_checks", "test_g18_the_volume_filter_flatters_thin_longshots"),
}


@pytest.mark.parametrize("number", range(1, 31))
def test_every_exact_check_is_a_test(number: int) -> None:
    file, name = CHECKS[number]
    assert name in _tests(file)


def test_every_check_of_the_generator_is_a_test() -> None:
    names = " ".join(_tests("polymarket_generator_checks"))
    assert {f"g{number}" for number in range(1, 19)} <= set(names.split("_"))


def _tests(file: str) -> list[str]:
    folder = "studies/polymarket" if file.startswith("polymarket_") else "stats"
    tree = ast.parse((TESTS / folder / f"test_{file}.py").read_text("utf-8"))
    return [each.name for each in tree.body if isinstance(each, ast.FunctionDef)]

"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/polymarket/`` that it is given.
Input = tuple[str, str]

#: Files that lie below ``data/features/<run>/polymarket/`` instead.
FEATURES = frozenset(
    {
        "population.duckdb",
        "sample.duckdb",
        "forecasts.duckdb",
        "snapshot.duckdb",
        "series.duckdb",
        "truth.parquet",
        "real.duckdb",
        "probe.parquet",
        "synthetic.manifest.json",
        "intervals.manifest.json",
        "thresholds.manifest.json",
    }
)

#: What most experiments read; the truth and the population are missing where data are real.
_FORECASTS: tuple[Input, ...] = (
    ("forecasts", "forecasts.duckdb"),
    ("truth", "truth.parquet"),
    ("population", "population.duckdb"),
)

#: Measuring steps by name: the step, what it reads and what it writes; each writes
#: ``measurements/<name>.parquet`` besides. A parameter ``truth`` is given on generated data.
EXPERIMENTS: dict[str, tuple[str, tuple[Input, ...], tuple[Input, ...]]] = {
    "closed_forms": ("closed_forms:measure_closed_forms", (), ()),
    "quotes": (
        "quotes:measure_quotes",
        (("snapshot", "snapshot.duckdb"),),
        (("quote", "quote.json"),),
    ),
    "counts": (
        "counts:measure_counts",
        (
            ("population", "population.duckdb"),
            ("sample", "sample.duckdb"),
            ("forecasts", "forecasts.duckdb"),
        ),
        (
            ("counted", "population.parquet"),
            ("excluded", "exclusions.parquet"),
            ("sampled", "sampled.parquet"),
        ),
    ),
    "calibration": (
        "calibration:measure_calibration",
        _FORECASTS,
        (
            ("bins", "bins.parquet"),
            ("scores", "scores.parquet"),
            ("histogram", "price_histogram.parquet"),
        ),
    ),
    "accuracy": (
        "accuracy:measure_accuracy",
        _FORECASTS,
        (("accuracy", "accuracy.parquet"),),
    ),
    "convergence": (
        "convergence:measure_convergence",
        _FORECASTS,
        (("convergence", "convergence.parquet"),),
    ),
    "trap": (
        "trap:measure_trap",
        _FORECASTS,
        (("trap", "trap.parquet"), ("first", "first_sample.parquet")),
    ),
    "returns": (
        "band_returns:measure_returns",
        _FORECASTS,
        (("returns", "returns.parquet"),),
    ),
    "spread": (
        "spread:measure_spread",
        (("snapshot", "snapshot.duckdb"),),
        (("spread", "spread.parquet"),),
    ),
    "net": (
        "net_returns:measure_net",
        (("returns", "returns.parquet"), ("spread", "spread.parquet")),
        (("net", "net.parquet"),),
    ),
    "topics": (
        "topic_scores:measure_topics",
        _FORECASTS,
        (("topics", "topics.parquet"),),
    ),
    "crypto": (
        "crypto_months:measure_crypto",
        (("forecasts", "forecasts.duckdb"), ("bitcoin", "series.duckdb")),
        (("months", "crypto_months.parquet"), ("pooled", "crypto_pooled.parquet")),
    ),
    "long": (
        "long_dated:measure_long",
        (*_FORECASTS, ("rates", "series.duckdb")),
        (("long", "long.parquet"),),
    ),
    "recalibration": (
        "recalibration:measure_recalibration",
        _FORECASTS,
        (("fits", "recalibration.parquet"), ("curves", "recalibration_curves.parquet")),
    ),
    "singles": (
        "single_markets:measure_singles",
        (("series", "series.duckdb"), ("population", "population.duckdb")),
        (("election", "election.parquet"), ("nobel", "nobel.parquet")),
    ),
    "synthetic": (
        "synthetic:measure_synthetic",
        (),
        (("synthetic", "synthetic.parquet"), ("manifest", "synthetic.manifest.json")),
    ),
    "headline": (
        "headline:measure_headline",
        (
            ("scores", "scores.parquet"),
            ("accuracy", "accuracy.parquet"),
            ("returns", "returns.parquet"),
        ),
        (),
    ),
}

#: Steps that measure nothing published, likewise.
RESULTS: dict[str, tuple[str, tuple[Input, ...], tuple[Input, ...]]] = {
    "intervals": (
        "intervals:measure_intervals",
        (),
        (("intervals", "intervals.parquet"), ("manifest", "intervals.manifest.json")),
    ),
    "thresholds": (
        "thresholds:measure_thresholds",
        (),
        (("thresholds", "thresholds.parquet"), ("manifest", "thresholds.manifest.json")),
    ),
    "definitions": (
        "definitions:compare_definitions",
        (("forecasts", "forecasts.duckdb"), ("snapshot", "snapshot.duckdb")),
        (("variants", "definitions.parquet"),),
    ),
}

#: Steps that only a run on tables of one's own has (origin ``files``), likewise.
FILES_RESULTS: dict[str, tuple[str, tuple[Input, ...], tuple[Input, ...]]] = {
    "real": (
        "real_prices:measure_real",
        (("real", "real.duckdb"),),
        (("scores", "real_prices.parquet"),),
    ),
}

#: What only such a run has, and what it lacks: an input among these is left out where it is not.
ONLY_FILES = frozenset({"real.duckdb", "real_prices.parquet"})
NEVER_FILES = frozenset(
    {"population.duckdb", "sample.duckdb", "snapshot.duckdb", "series.duckdb", "truth.parquet"}
)

#: Steps by the figure that they draw, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_anatomy": (("quote", "quote.json"),),
    "fig_forecasters": (
        ("bins", "bins.parquet"),
        ("scores", "scores.parquet"),
    ),
    "fig_election": (("election", "election.parquet"),),
    "fig_population": (("counted", "population.parquet"),),
    "fig_calibration": (
        ("bins", "bins.parquet"),
        ("scores", "scores.parquet"),
        ("histogram", "price_histogram.parquet"),
    ),
    "fig_accuracy": (("accuracy", "accuracy.parquet"),),
    "fig_convergence": (("convergence", "convergence.parquet"),),
    "fig_trap": (("trap", "trap.parquet"),),
    "flow_trap": (),
    "fig_returns": (
        ("returns", "returns.parquet"),
        ("net", "net.parquet"),
    ),
    "fig_spread": (("spread", "spread.parquet"),),
    "fig_topics": (("topics", "topics.parquet"),),
    "fig_crypto": (
        ("months", "crypto_months.parquet"),
        ("pooled", "crypto_pooled.parquet"),
    ),
    "fig_long": (("long", "long.parquet"),),
    "fig_recalibration": (
        ("curves", "recalibration_curves.parquet"),
        ("fits", "recalibration.parquet"),
    ),
    "fig_nobel": (("nobel", "nobel.parquet"),),
    "flow_uma": (),
}

#: Module of the step, where it is not ``figures`` or ``tables``.
MODULES: dict[str, str] = {
    "flow_trap": "chart_flows",
    "flow_uma": "chart_flows",
    "tab_cited": "table_cited",
    "tab_intervals": "table_intervals",
    "tab_api_probe": "table_probe",
}

#: Steps that write a table as an HTML fragment.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_cited": (),
    "tab_bins": (("bins", "bins.parquet"),),
    "tab_bands": (("returns", "returns.parquet"), ("net", "net.parquet")),
    "tab_topics": (("topics", "topics.parquet"),),
    "tab_long": (("long", "long.parquet"),),
    "tab_crypto": (("months", "crypto_months.parquet"),),
    "tab_population": (("counted", "population.parquet"), ("sampled", "sampled.parquet")),
    "tab_exclusions": (("excluded", "exclusions.parquet"),),
    "tab_definitions": (("variants", "definitions.parquet"),),
    "tab_intervals": (
        ("intervals", "intervals.parquet"),
        ("thresholds", "thresholds.parquet"),
    ),
    "tab_api_probe": (("probe", "probe.parquet"),),
    "tab_real": (("scores", "real_prices.parquet"),),
}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables" if output in TABLES else "figures")

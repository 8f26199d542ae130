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
    }
)

#: Measuring steps by name: the step, what it reads and what it writes; each writes
#: ``measurements/<name>.parquet`` besides. A parameter ``truth`` is given on generated data.
EXPERIMENTS: dict[str, tuple[str, tuple[Input, ...], tuple[Input, ...]]] = {}

#: Steps that measure nothing published, likewise.
RESULTS: dict[str, tuple[str, tuple[Input, ...], tuple[Input, ...]]] = {}

#: Steps by the figure that they draw, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {}

#: Module of the step, where it is not ``figures`` or ``tables``.
MODULES: dict[str, str] = {}

#: Steps that write a table as an HTML fragment.
TABLES: dict[str, tuple[Input, ...]] = {}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables" if output in TABLES else "figures")

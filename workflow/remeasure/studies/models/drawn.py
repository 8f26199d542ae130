"""What each figure and table of the page is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/models/`` that it is given.
Input = tuple[str, str]

#: Figures by output, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_parts": (("table", "parts.parquet"),),
    "fig_caches": (("table", "caches.parquet"),),
}

#: Tables likewise; each step writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_models": (("models_table", "models.parquet"),),
    "tab_parity": (("parity_table", "parity.parquet"),),
}

#: Module of the step, where it is not ``tables``.
MODULES = {"fig_parts": "charts", "fig_caches": "charts"}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables")

"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/free_energy/`` that it is given.
Input = tuple[str, str]

#: Figures by output, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_decompose": (("forms_file", "forms.json"),),
    "fig_bound": (("table", "bound.parquet"), ("summary", "bound.json")),
    "fig_bogacz": (
        ("density", "posterior.parquet"),
        ("paths", "descent.parquet"),
        ("summary", "descent.json"),
    ),
    "fig_hierarchy": (("forms_file", "forms.json"),),
    "fig_efe": (("table", "policies.parquet"),),
    "fig_blanket": (("forms_file", "forms.json"),),
    "fig_evidence": (),
}

#: Tables likewise; each step writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {"tab_cited": ()}

#: Module of the step, where it is not ``tables``.
MODULES = {
    "fig_bound": "chart_curves",
    "fig_bogacz": "chart_curves",
    "fig_efe": "chart_curves",
    "fig_decompose": "chart_drawings",
    "fig_hierarchy": "chart_drawings",
    "fig_blanket": "chart_drawings",
    "fig_evidence": "chart_drawings",
}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables")

"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the drawing function, and its file below ``results/<run>/free_energy/``.
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

#: Tables likewise; each function writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {"tab_cited": ()}

#: All files that figures and tables are drawn from, sorted.
RESULTS = tuple(
    sorted({file for inputs in (*FIGURES.values(), *TABLES.values()) for _, file in inputs})
)

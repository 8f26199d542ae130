"""The table of what the services were found to do."""

from __future__ import annotations

from pathlib import Path

from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame


def tab_api_probe(*, probe: Path, table: Path) -> None:
    """Every assumption of the crawl, whether it holds, and the evidence.

    Parameters
    ----------
    probe
        Parquet, as ``probe.PROBES``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(probe)
    asked = frame.filter(frame["found"] != "not asked").height
    note = f"{asked} of {frame.height} assumptions were put to the services in this run."
    fragment = html_table(
        frame,
        caption="What the crawl assumes about the services",
        columns=[
            Column(name="probe", title="probe"),
            Column(name="assumption", title="assumption"),
            Column(name="found", title="found"),
            Column(name="evidence", title="evidence"),
            Column(name="as_of", title="answer of"),
        ],
        note=note,
    )
    table.write_text(fragment, "utf-8")

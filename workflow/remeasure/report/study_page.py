"""The page of one study: every output in reading order, its figure or table, its numbers."""

from __future__ import annotations

import csv as csv_module
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from markupsafe import Markup

from remeasure.draw.origins import ORIGIN_LABELS
from remeasure.errors import DataError
from remeasure.report.ledger_rows import TONES, Row, counted, origins
from remeasure.report.pages import link, write_page
from remeasure.studies.base import Group, Output, Study

PACKAGE_FILES = ("templates/study.html",)

#: What one figure consists of, after the output's id.
FIGURE_PARTS = (".light.svg", ".dark.svg", ".light.png", ".dark.png", ".csv", ".alt.txt")

#: How many names of cited outputs a heading holds.
QUOTED = 4


@dataclass(frozen=True)
class Figure:
    """A figure as the page embeds it; addresses are relative to the page."""

    light: str
    dark: str
    images: tuple[tuple[str, str], ...]
    csv: str
    alt: str
    origin: str
    width: int
    height: int


@dataclass(frozen=True)
class CitedOutput:
    """A cited output, and the first of its rows: where a link to it leads."""

    declared: Output
    first: Row


@dataclass(frozen=True)
class Opening:
    """The head of a group of outputs: what it is, and the verdicts of its rows."""

    group: Group
    rows: tuple[Row, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each verdict."""
        return counted(self.rows)


@dataclass(frozen=True)
class Block:
    """One section of the page: an output, or a run of cited ones (``cited``)."""

    id: str
    title: str
    output: Output
    rows: tuple[Row, ...] = ()
    figure: Figure | None = None
    table: Markup | None = None
    command: str = ""
    cited: bool = False
    facts: tuple[tuple[CitedOutput, Row], ...] = ()
    opening: Opening | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each verdict."""
        return counted(self.rows)

    @property
    def measured(self) -> bool:
        """Whether this run measured any of its rows: closed forms come before experiments."""
        return any(row.value is not None for row in self.rows)

    @property
    def label(self) -> str:
        """What is said of the figure's origin."""
        known = ORIGIN_LABELS.get(self.figure.origin if self.figure else "")
        if known is not None:
            return known
        if 2 * sum(row.kind == "cited" for row in self.rows) > len(self.rows):
            return "no data of its own: quoted facts"
        return "no data: a drawing" if self.output.kind == "drawing" else "no data: mathematics"


def _svg_size(path: Path) -> tuple[int, int]:
    """Width and height in CSS pixels, so that the page does not jump when images arrive."""
    head = path.read_bytes()[:2000]
    width = re.search(rb'\swidth="([0-9.]+)pt"', head)
    height = re.search(rb'\sheight="([0-9.]+)pt"', head)
    if width is None or height is None:
        raise DataError(
            "this SVG does not state its size in points",
            where=path,
            remedy="draw it with remeasure.draw.save.save_figure",
        )
    return round(float(width[1]) * 4 / 3), round(float(height[1]) * 4 / 3)


def _origin_of(path: Path) -> str:
    """The column ``origin`` of a figure's data; empty for a figure without rows."""
    with path.open(encoding="utf-8", newline="") as file:
        first = next(csv_module.DictReader(file), None)
    return "" if first is None else first.get("origin", "")


def collect_figures(files: Sequence[Path], page: Path) -> dict[str, Figure]:
    """Group the files of figures by output id: ``<id>.light.svg``, ``<id>.csv`` and so on.

    Any file of a figure names it; all six parts must lie beside it.

    Raises
    ------
    DataError
        For a file that is no part of a figure, or a part that is missing.
    """
    figures: dict[str, Figure] = {}
    for file in files:
        name, dot, rest = file.name.partition(".")
        if dot + rest not in FIGURE_PARTS:
            raise DataError(
                f"this is no part of a figure: its name should be <output id> and one of"
                f" {', '.join(FIGURE_PARTS)}",
                where=file,
                remedy="give the page the outputs of figure rules",
            )
        if name in figures:
            continue
        parts = {part: file.with_name(name + part) for part in FIGURE_PARTS}
        missing = [path.name for path in parts.values() if not path.is_file()]
        if missing:
            raise DataError(
                f"the figure {name} lacks {', '.join(missing)}",
                where=file.parent,
                remedy="draw it again: its rule writes all six files",
            )
        width, height = _svg_size(parts[".light.svg"])
        addresses = {part: link(path, page) for part, path in parts.items()}
        figures[name] = Figure(
            light=addresses[".light.svg"],
            dark=addresses[".dark.svg"],
            images=tuple(
                (f"{kind.upper()} {theme}", addresses[f".{theme}.{kind}"])
                for kind in ("svg", "png")
                for theme in ("light", "dark")
            ),
            csv=addresses[".csv"],
            alt=parts[".alt.txt"].read_text("utf-8").strip(),
            origin=_origin_of(parts[".csv"]),
            width=width,
            height=height,
        )
    return figures


def _check_known(study: Study, ids: Sequence[str], what: str) -> None:
    unknown = sorted(set(ids) - {output.id for output in study.outputs})
    if unknown:
        raise DataError(
            f"the study declares no outputs {', '.join(unknown)}, but there are {what} of them",
            where=f"remeasure/studies/{study.id}/outputs.py",
            remedy="declare them there, or correct their names",
        )


def _quoted(outputs: Sequence[Output]) -> str:
    """Heading of a run of cited outputs: what they are about, a long run cut short."""
    titles = [output.title for output in outputs]
    if len(titles) > QUOTED:
        titles = [*titles[: QUOTED - 1], f"and {len(titles) - QUOTED + 1} more"]
    return f"Quoted: {'; '.join(titles)}"


def _blocks(
    study: Study, rows: Sequence[Row], figures: dict[str, Figure], tables: dict[str, Markup]
) -> Iterator[Block]:
    by_output: dict[str, list[Row]] = {}
    for row in rows:
        by_output.setdefault(row.output_id, []).append(row)
    for (_, cited), group in groupby(
        study.outputs, key=lambda output: (output.group, output.kind == "cited")
    ):
        outputs = list(group)
        if cited:
            facts = [
                (CitedOutput(output, by_output[output.id][0]), row)
                for output in outputs
                for row in by_output.get(output.id, ())
            ]
            yield Block(
                id=f"cited-{outputs[0].id}",
                title=_quoted(outputs),
                output=outputs[0],
                rows=tuple(row for _, row in facts),
                cited=True,
                facts=tuple(facts),
            )
            continue
        for output in outputs:
            drawn = output.id in figures or output.id in tables
            if output.optional and not drawn:
                continue
            yield Block(
                id=output.id,
                title=output.title,
                output=output,
                rows=tuple(by_output.get(output.id, ())),
                figure=figures.get(output.id),
                table=tables.get(output.id),
                command=f"snakemake --cores 1 {study.id}_{output.id}" if drawn else "",
            )


def _opened(study: Study, blocks: Sequence[Block]) -> Iterator[Block]:
    """The same blocks; the first of each group carries the head of its group."""
    groups = {group.id: group for group in study.groups}
    for name, members in groupby(blocks, key=lambda block: block.output.group):
        first, *others = members
        if name in groups:
            rows = tuple(row for block in (first, *others) for row in block.rows)
            first = replace(first, opening=Opening(groups[name], rows))
        yield from (first, *others)


def navigation(*studies: str) -> list[tuple[str, str]]:
    """Links at the head of a page of a run."""
    return [
        ("all runs", "../index.html"),
        ("overview", "index.html"),
        *((study, f"{study}.html") for study in studies),
        ("ledger", "ledger.html"),
        ("provenance", "provenance.html"),
    ]


def render_study(
    study: Study,
    *,
    rows: Sequence[Row],
    figures: Sequence[Path],
    tables: Sequence[Path],
    card: Path,
    page: Path,
    run: str,
) -> None:
    """Write the page of a study.

    Parameters
    ----------
    study
        Its declaration; the page follows the order of its outputs.
    rows
        Rows of the ledger, of this and other studies.
    figures, tables
        Files of its figures, and fragments ``<output id>.html``.
    card
        The study card as text.
    page
        Output.
    run
        Name of the run.

    Raises
    ------
    DataError
        When a row, figure or table belongs to no declared output, or a figure is
        incomplete.
    """
    own = [row for row in rows if row.study == study.id]
    drawn = collect_figures(figures, page)
    # Fragments come from remeasure.report.tables, which escapes what it is given.
    fragments = {
        path.name.partition(".")[0]: Markup(path.read_text("utf-8"))  # noqa: S704
        for path in tables
    }
    _check_known(study, [row.output_id for row in own], "rows of the ledger")
    _check_known(study, list(drawn), "figures")
    _check_known(study, list(fragments), "tables")
    blocks = list(_opened(study, list(_blocks(study, own, drawn, fragments))))
    plain = [block for block in blocks if not block.cited]
    write_page(
        page,
        "study.html",
        title=f"{study.title} – run {run}",
        navigation=navigation(study.id),
        here=study.id,
        study=study,
        run=run,
        origins=origins(own),
        total=len(own),
        counts=counted(own),
        tones=TONES,
        card=card.read_text("utf-8"),
        blocks=blocks,
        block_outputs=len(plain),
        measured_outputs=sum(not block.output.pending for block in plain),
    )

"""The pages as files: complete, equal on repeat, silent about time and place, and safe."""

from __future__ import annotations

import html.parser
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import remeasure.studies.crypto as crypto
from remeasure.errors import DataError
from remeasure.fingerprint import sources
from remeasure.ledger.join import build_ledger
from remeasure.ledger.settings import LedgerSettings
from remeasure.ledger.verdict import VERDICTS
from remeasure.report.ledger_page import render_ledger
from remeasure.report.ledger_rows import TONES, Row, read_ledger
from remeasure.report.models import PageSettings, StudyPageSettings
from remeasure.report.pages import anchor, write_page
from remeasure.report.provenance_page import read_entries
from remeasure.report.site import build_index, build_study_page, write_door
from remeasure.report.study_page import Block, Figure
from remeasure.studies.base import Kind, Output
from remeasure.studies.crypto.outputs import STUDY

HERE = Path(crypto.__file__).parent
PAGES = ("index.html", "crypto.html", "ledger.html", "provenance.html")


class Elements(html.parser.HTMLParser):
    """Every start tag with its attributes, and the text of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="session")
def parsed(site: Path) -> dict[str, Elements]:
    return {name: Elements((site / name).read_text("utf-8")) for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_of_the_network(parsed: dict[str, Elements], name: str) -> None:
    loads = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}
    for tag, attributes in parsed[name].tags:
        address = attributes.get(loads.get(tag, ""))
        assert not (address or "").startswith(("http:", "https:", "//")), (tag, address)
    text = "".join(
        f"{value}" for tag, a in parsed[name].tags if tag == "meta" for value in a.values()
    )
    assert "default-src 'none'" in text


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(site: Path, parsed: dict[str, Elements], name: str) -> None:
    ids = {page: {a.get("id") for _, a in parsed[page].tags} for page in PAGES}
    for tag, attributes in parsed[name].tags:
        address = attributes.get("href") or attributes.get("src")
        if tag not in ("a", "img") or not address or address.startswith("https://blog."):
            continue
        file, _, fragment = address.partition("#")
        assert (site / file).exists() if file else True, address
        target = file or name
        if target in ("crypto.html", "provenance.html") and fragment:
            assert fragment in ids[target], address


def test_every_output_and_every_number_is_on_the_page(parsed: dict[str, Elements]) -> None:
    ids = [attributes.get("id") for _, attributes in parsed["crypto.html"].tags]
    named = [each for each in ids if each is not None]
    assert len(named) == len(set(named))
    expected = [output.id for output in STUDY.outputs if output.id != "tab_cited"]
    assert [each for each in named if each in expected] == expected
    rows = [a for tag, a in parsed["crypto.html"].tags if tag == "th" and a.get("scope") == "row"]
    assert len(rows) == 505 + 2  # two rows of the sample table


def test_the_study_page_says_what_a_reader_needs(parsed: dict[str, Elements]) -> None:
    text = " ".join(parsed["crypto.html"].text.split())
    assert STUDY.question in text
    assert all(line in text for line in STUDY.method)
    assert "snakemake --cores 1 crypto_fig_tails" in text
    assert "this run has no checkpoints" in text
    assert "<b>& more</b>" in text  # a reason is text, not markup
    images = [a for tag, a in parsed["crypto.html"].tags if tag == "img"]
    assert len(images) == 4
    assert all(
        (image["alt"] or "").startswith("Generated data. Share by year: 48.6%") for image in images
    )
    assert text.count("generated data data (CSV)") == 2
    # Headings of quoted facts say what they are about; a long run of them is cut short.
    cited = [output.title for output in STUDY.outputs if output.kind == "cited"]
    assert f"Quoted: {'; '.join(cited[:3])}; and " in text
    card = (HERE / "card.md").read_text("utf-8")
    assert " ".join(card.split()) in text


@pytest.mark.parametrize(
    ("origin", "kind", "rows", "label"),
    [
        ("package", "figure", ["exact"], "real data, from a Python package"),
        ("computed", "figure", ["exact", "cited"], "no data: mathematics"),
        ("computed", "figure", ["exact", "cited", "cited"], "no data of its own: quoted facts"),
        ("computed", "drawing", ["exact"], "no data: a drawing"),
        ("computed", "drawing", [], "no data: a drawing"),
    ],
)
def test_a_figure_says_what_it_rests_on(
    origin: str, kind: Kind, rows: list[str], label: str
) -> None:
    figure = Figure("", "", (), "", "", origin, 1, 1)
    output = Output(id="fig_x", kind=kind, title="x")
    known = read_row(*rows)
    assert Block(id="fig_x", title="x", output=output, rows=known, figure=figure).label == label


def read_row(*kinds: str) -> tuple[Row, ...]:
    """Rows of these kinds and of nothing else."""
    none = (None, None, None, None)
    return tuple(
        Row("s", "fig_x", "q", "", kind, "1", "", *none, "computed", "exact", "", "", "")
        for kind in kinds
    )


def test_provenance_names_bytes_but_no_time_and_no_machine(
    site: Path, parsed: dict[str, Elements]
) -> None:
    text = (site / "provenance.html").read_text("utf-8")
    for secret in ("SECRET-MACHINE", "2026-11-29", "wall_seconds", "99.0"):
        assert secret not in text
    shown = parsed["provenance.html"].text
    for fact in (
        "ab" * 32,
        "cd" * 32,
        "0123456789abcdef",
        '"threshold": 6.0',
        "configured 7",
        "12,345",
    ):
        assert fact in shown


def test_ledger_travels_inside_its_page(site: Path) -> None:
    text = (site / "ledger.html").read_text("utf-8")
    found = re.search(
        r'<script type="application/json" id="ledger-data">(.*?)</script>', text, re.S
    )
    assert found is not None
    data = json.loads(found[1])
    assert len(data["rows"]) == 505
    rows = [dict(zip(data["columns"], row, strict=True)) for row in data["rows"]]
    row = next(row for row in rows if row["output"] == "fig_breakeven")
    assert (row["study"], row["quantity"], row["published"]) == (
        "crypto",
        "average absolute move",
        "11",
    )
    assert row["reason"].endswith("<b>& more</b>")


def test_pages_are_equal_on_repeat(site: Path, tmp_path: Path) -> None:
    root = site.parents[1]
    for name in ("first", "second"):
        render_ledger(
            read_ledger(root / "results/default/ledger.parquet"),
            page=tmp_path / f"{name}.html",
            run="default",
            studies=["crypto"],
            csv=None,
        )
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


def test_pages_of_a_ledger_that_nothing_was_measured_for(tmp_path: Path) -> None:
    (tmp_path / "crypto").mkdir()
    references = tmp_path / "crypto/reference.csv"
    references.write_bytes((HERE / "reference.csv").read_bytes())
    ledger, headline = tmp_path / "ledger.parquet", tmp_path / "headline.json"
    build_ledger(
        measurements=[],
        references=[references],
        errata=[],
        ledger=ledger,
        table=tmp_path / "ledger.csv",
        headline=headline,
        settings=LedgerSettings(studies=("crypto",)),
    )
    page, index = tmp_path / "crypto.html", tmp_path / "index.html"
    build_study_page(
        ledger=ledger,
        figures=[],
        tables=[],
        card=HERE / "card.md",
        page=page,
        settings=StudyPageSettings(run="mirror", study="crypto"),
    )
    settings = PageSettings(run="mirror", seed=3, studies=("crypto",))
    build_index(ledger=ledger, headline=headline, page=index, settings=settings)
    counts = json.loads(headline.read_text())["verdicts"]
    text = Elements(index.read_text("utf-8")).text
    assert f"not run {counts['not run']}" in text
    assert "Seed 3" in text
    assert "Generated data." not in text
    assert "Generated data." not in Elements(page.read_text("utf-8")).text
    # A headline that contradicts the ledger is refused.
    headline.write_text(
        json.dumps({"verdicts": {"exact": 1}, "consistent_wider_than_published": 0})
    )
    with pytest.raises(DataError, match="headline counts"):
        build_index(ledger=ledger, headline=headline, page=index, settings=settings)


def render(site: Path, tmp_path: Path, **changes: Any) -> None:
    given = {
        "ledger": site.parents[1] / "results/default/ledger.parquet",
        "figures": [],
        "tables": [],
        "card": HERE / "card.md",
        "page": tmp_path / "page.html",
        "settings": StudyPageSettings(run="default", study="crypto"),
        **changes,
    }
    build_study_page(**given)


def test_refusals(site: Path, tmp_path: Path) -> None:
    stray = tmp_path / "fig_tails.light.svg"
    stray.write_text("<svg/>")
    with pytest.raises(DataError, match=r"fig_tails lacks fig_tails\.dark\.svg"):
        render(site, tmp_path, figures=[stray])
    with pytest.raises(DataError, match="no part of a figure"):
        render(site, tmp_path, figures=[tmp_path / "fig_tails.pdf"])
    (tmp_path / "tab_unknown.html").write_text("<table></table>")
    with pytest.raises(DataError, match="declares no outputs tab_unknown"):
        render(site, tmp_path, tables=[tmp_path / "tab_unknown.html"])
    root = site.parents[1]
    ledger = pl.read_parquet(root / "results/default/ledger.parquet")
    ledger.with_columns(verdict=pl.lit("splendid")).write_parquet(tmp_path / "odd.parquet")
    with pytest.raises(DataError, match="splendid"):
        read_ledger(tmp_path / "odd.parquet")
    ledger.drop("origin").write_parquet(tmp_path / "short.parquet")
    with pytest.raises(DataError, match="no columns origin"):
        read_ledger(tmp_path / "short.parquet")


def test_an_artefact_without_a_record_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="no provenance record"):
        read_entries([Path("results/default/crypto/tails.parquet")])


def test_the_door_leads_to_runs_that_have_a_report(tmp_path: Path) -> None:
    for run in ("zeta", "alpha", "empty"):
        (tmp_path / run).mkdir()
    for run in ("zeta", "alpha"):
        (tmp_path / run / "index.html").write_text("x")
    write_door(tmp_path)
    page = Elements((tmp_path / "index.html").read_text("utf-8"))
    links = [a.get("href") for tag, a in page.tags if tag == "a" and "/" in (a.get("href") or "")]
    assert links == ["alpha/index.html", "zeta/index.html"]


def test_text_is_escaped_and_names_must_exist(tmp_path: Path) -> None:
    write_page(
        tmp_path / "door.html",
        "door.html",
        title="<script>alert(1)</script>",
        navigation=[],
        here="",
        runs=["<i>run</i>"],
    )
    text = (tmp_path / "door.html").read_text("utf-8")
    assert "<script>alert" not in text
    assert "&lt;i&gt;run" in text


def test_verdicts_have_one_order_and_a_tone_each() -> None:
    assert tuple(TONES) == VERDICTS
    assert set(TONES.values()) == {"good", "half", "bad", "none"}
    assert anchor("results/default/a_b.parquet") == "a-results-default-a-b-parquet"


def test_templates_and_assets_are_part_of_the_fingerprint() -> None:
    package = Path(__file__).parents[2] / "workflow/remeasure"
    files = {
        path.relative_to(package).as_posix()
        for folder in ("templates", "assets")
        for path in (package / "report" / folder).iterdir()
    }
    assert files <= set(sources("remeasure.report.site")) | {"report/templates/table.html"}
    assert "report/templates/table.html" in sources("remeasure.report.tables")

"""Outputs in groups: declared once, together, and headed on the study's page."""

from __future__ import annotations

from pathlib import Path

import pytest

from remeasure.report.study_page import render_study
from remeasure.studies.base import Group, Output, Study


def output(name: str, group: str) -> Output:
    return Output(id=name, kind="number", title=name.title(), caption="A number.", group=group)


def study(*outputs: Output, groups: tuple[Group, ...] = ()) -> Study:
    return Study(
        id="made",
        title="Made up",
        question="Why?",
        method=("So.",),
        publication="nowhere",
        outputs=outputs,
        groups=groups,
    )


ONE = Group(id="one", title="First article", text="It claims <this>.", method=("By counting.",))
TWO = Group(id="two", title="Second article", text="It claims that.")


def test_groups_head_their_outputs_in_order(tmp_path: Path) -> None:
    made = study(output("a", "one"), output("b", "one"), output("c", "two"), groups=(ONE, TWO))
    page, card = tmp_path / "made.html", tmp_path / "card.md"
    card.write_text("card", "utf-8")
    render_study(made, rows=(), figures=(), tables=(), card=card, page=page, run="run")
    text = page.read_text("utf-8")
    places = [text.index(f'id="{name}"') for name in ("one", "a", "b", "two", "c")]
    assert places == sorted(places)
    assert "It claims &lt;this&gt;." in text
    assert "By counting." in text
    assert text.count('class="group" id=') == 2


def test_a_study_without_groups_has_no_heads(tmp_path: Path) -> None:
    page, card = tmp_path / "made.html", tmp_path / "card.md"
    card.write_text("card", "utf-8")
    made = study(output("a", ""))
    render_study(made, rows=(), figures=(), tables=(), card=card, page=page, run="run")
    assert 'class="group"' not in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (("one", "two", "one"), (ONE, TWO)),
        (("two", "one"), (ONE, TWO)),
        (("one", "three"), (ONE,)),
        (("one",), (ONE, TWO)),
        (("one",), ()),
    ],
)
def test_groups_torn_apart_or_undeclared_are_refused(
    names: tuple[str, ...], groups: tuple[Group, ...]
) -> None:
    with pytest.raises(ValueError, match="stand in the groups"):
        study(*(output(str(index), name) for index, name in enumerate(names)), groups=groups)

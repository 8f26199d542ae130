"""What a study declares about itself: read by rules, pages and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Literal

Kind = Literal["figure", "table", "number", "drawing", "cited"]


@dataclass(frozen=True, kw_only=True)
class Output:
    """One published output: what it is and what it needs.

    Attributes
    ----------
    id
        As in ``reference.csv``.
    kind
        ``figure`` (drawn from results), ``drawing`` (no data), ``table``,
        ``number`` (stands in the text only) or ``cited`` (quoted, never recomputed).
    title, caption
        For people; the caption says what is drawn, not what came out.
    needs
        Names of data sets, checkpoints or devices without which it cannot be
        measured, as in ``spot candles`` or ``GPU``.
    minutes
        Budget on two cores at the default scale.
    pending
        Why no step measures it yet; empty when one does.
    source
        For ``cited`` outputs: whose figure it is.
    group
        Id of the group of outputs it belongs to; empty where the study has none.
    optional
        Not published: it has no row, and stands on the page only in a run that drew it.
    """

    id: str
    kind: Kind
    title: str
    caption: str = ""
    needs: tuple[str, ...] = ()
    minutes: float = 0.0
    pending: str = ""
    source: str = ""
    group: str = ""
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Outputs that are read together, as those of one article of several.

    Attributes
    ----------
    id
        As outputs name it.
    title, text
        Its heading, and what it claims in a paragraph.
    method
        How that is checked, a line each.
    """

    id: str
    title: str
    text: str
    method: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study's face: question, method in short, and every output in reading order.

    Outputs of one group stand together, in the order of ``groups``.
    """

    id: str
    title: str
    question: str
    method: tuple[str, ...]
    publication: str
    outputs: tuple[Output, ...]
    groups: tuple[Group, ...] = ()

    def __post_init__(self) -> None:
        """Refuse groups that are not declared, declared twice or torn apart."""
        found = [name for name, _ in groupby(output.group for output in self.outputs)]
        declared = [group.id for group in self.groups]
        if [name for name in found if name] != declared:
            raise ValueError(
                f"outputs of study {self.id!r} stand in the groups {found}, declared are {declared}"
            )

    def output(self, output_id: str) -> Output:
        """The declared output called ``output_id``; KeyError when there is none."""
        for output in self.outputs:
            if output.id == output_id:
                return output
        raise KeyError(output_id)

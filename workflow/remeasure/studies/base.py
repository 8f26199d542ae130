"""What a study declares about itself: read by rules, pages and the ledger."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    id: str
    kind: Kind
    title: str
    caption: str = ""
    needs: tuple[str, ...] = ()
    minutes: float = 0.0
    pending: str = ""
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study's face: question, method in short, and every output in reading order."""

    id: str
    title: str
    question: str
    method: tuple[str, ...]
    publication: str
    outputs: tuple[Output, ...]

    def output(self, output_id: str) -> Output:
        """The declared output called ``output_id``; KeyError when there is none."""
        for output in self.outputs:
            if output.id == output_id:
                return output
        raise KeyError(output_id)

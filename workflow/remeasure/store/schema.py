"""Declared tables: their columns, and what must hold in each of them and between them.

A `Table` is declared once, beside the step that writes it, and is checked where the table is
written and where it is read. Columns are dataframely's: unless it is said, none of them takes
null, and a float takes neither NaN nor an infinity.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import new_class
from typing import Any, Final

import dataframely as dy
import polars as pl

#: How many offending values an error shows.
_SHOWN: Final = 5

_COLUMNS: Final[Mapping[type[pl.DataType], type[dy.Column]]] = {
    pl.Boolean: dy.Bool,
    pl.Date: dy.Date,
    pl.Float64: dy.Float64,
    pl.Int32: dy.Int32,
    pl.Int64: dy.Int64,
    pl.String: dy.String,
}


@dataclass(frozen=True, eq=False)
class Table:
    """A declared table; made by `declare`.

    Attributes
    ----------
    name
        What the table is called in errors.
    columns
        Its columns, in their order.
    unique
        Columns that together name a row; empty where rows may be equal.
    rules
        What holds between columns, by a name for people.
    """

    name: str
    columns: Mapping[str, dy.Column]
    unique: tuple[str, ...] = ()
    rules: Mapping[str, pl.Expr] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, pl.DataType]:
        """The type of each column, in their order."""
        return {name: column.dtype for name, column in self.columns.items()}

    def empty(self) -> pl.DataFrame:
        """The table without a row."""
        return pl.DataFrame(schema=self.types)

    @cached_property
    def schema(self) -> type[dy.Schema]:
        """The table for dataframely; built when first used, as most steps check few tables."""
        rules = dict(self.rules)
        if self.unique:
            rules[f"no two rows are equal in {', '.join(self.unique)}"] = pl.struct(
                self.unique
            ).is_unique()
        # Columns get attributes of their own: their names may be those of a schema's methods.
        body: dict[str, Any] = {
            f"column_{number}": column.with_alias(name)
            for number, (name, column) in enumerate(self.columns.items())
        }
        body |= {name: dy.rule()(_always(rule)) for name, rule in rules.items()}
        return new_class(self.name, (dy.Schema,), exec_body=lambda space: space.update(body))

    def problems(self, frame: pl.DataFrame) -> list[str]:
        """What is wrong with a frame, a line each, with its first offending values.

        The frame must have exactly these columns, in this order and of these types. The values
        are looked at once that holds.
        """
        return self._shape(frame.schema) or self._values(frame)

    def _shape(self, found: pl.Schema) -> list[str]:
        lines = [f"column {name} is missing" for name in self.columns if name not in found]
        lines += [
            f"column {name} does not belong to it; found: {', '.join(found)}"
            for name in found
            if name not in self.columns
        ]
        lines += [
            f"column {name}: must be {kind}; found: {found[name]}"
            for name, kind in self.types.items()
            if name in found and found[name] != kind
        ]
        if not lines and list(found) != list(self.columns):
            lines = [f"its columns stand in another order; found: {', '.join(found)}"]
        return lines

    def _values(self, frame: pl.DataFrame) -> list[str]:
        if self.schema.is_valid(frame):
            return []
        _, failure = self.schema.filter(frame)
        broken = failure.details()
        return [self._broken(rule, broken) for rule in failure.counts()]

    def _broken(self, rule: str, rows: pl.DataFrame) -> str:
        rows = rows.filter(pl.col(rule) == "invalid")
        name, _, check = rule.partition("|")
        if name not in self.columns:
            at = list(self.unique) if self.unique else list(self.columns)
            shown = rows.select(at).head(_SHOWN).rows()
            return f"{rule}; first offending: {', '.join(map(str, shown))}"
        values = ", ".join(map(str, rows[name].head(_SHOWN)))
        return f"column {name}: {_said(check, self.columns[name])}; first offending: {values}"


def declare(
    name: str,
    columns: Mapping[str, dy.Column],
    *,
    unique: Sequence[str] = (),
    rules: Mapping[str, pl.Expr] | None = None,
) -> Table:
    """Declare a table.

    Parameters
    ----------
    name
        What it is called in errors.
    columns
        Its columns, in their order.
    unique
        Columns that together name a row: no two rows are equal in all of them.
    rules
        What holds between columns: a name for people, and an expression that is true (or null)
        in every good row.

    Raises
    ------
    ValueError
        When ``unique`` names a column that the table lacks.
    """
    strange = [each for each in unique if each not in columns]
    if strange:
        raise ValueError(f"table {name} has no columns {', '.join(strange)}")
    return Table(name=name, columns=dict(columns), unique=tuple(unique), rules=dict(rules or {}))


def one_of(values: Collection[str], **options: Any) -> dy.String:
    """A column of text that takes these values only; ``options`` are those of ``dy.String``."""
    known = list(values)
    return dy.String(
        check={f"one of {', '.join(known)}": lambda each: each.is_in(known)}, **options
    )


def of_type(kind: pl.DataType | type[pl.DataType], **options: Any) -> dy.Column:
    """The column of a Polars type; ``options`` are those that every column takes."""
    if isinstance(kind, pl.Datetime):
        return dy.Datetime(time_unit=kind.time_unit, time_zone=kind.time_zone, **options)
    return _COLUMNS[kind if isinstance(kind, type) else type(kind)](**options)


def _always(rule: pl.Expr) -> Any:
    return lambda _: rule


def _said(check: str, column: dy.Column) -> str:
    """A check of a column in words."""
    if check.startswith("check__"):
        return check.removeprefix("check__")
    words = {"nullability": "takes no null", "unique": "takes no value twice"}
    words |= {"nan": "takes no NaN", "inf": "takes no infinity"}
    limit = getattr(column, check, None)
    return words.get(check, f"{check.replace('_', ' ')} {limit}")

"""Failures that a user can mend: shown as a message, never as a traceback."""

from __future__ import annotations


class ExpectedError(Exception):
    """An expected failure: says what is wrong, where, and what to do about it.

    Parameters
    ----------
    what
        What is wrong, in one sentence.
    where
        The file, URL, table or setting in which it was found.
    remedy
        What the reader can do.
    """

    def __init__(self, what: str, *, where: object = "", remedy: str = "") -> None:
        self.what, self.where, self.remedy = what, str(where), remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [self.what]
        if self.where:
            lines.append(f"  where:  {self.where}")
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


class ConfigError(ExpectedError):
    """A setting that is unknown, out of range or contradicts another."""


class SourceError(ExpectedError):
    """A source that is missing, unreachable or not what its checksum promises."""


class DataError(ExpectedError):
    """A record or table that breaks its schema, its calendar or an invariant."""

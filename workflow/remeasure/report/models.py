"""What the pages of the site must know of their run."""

from __future__ import annotations

from remeasure.model import Model


class PageSettings(Model):
    """A page of the whole run: its name, its configured seed, its studies in order."""

    run: str
    seed: int
    studies: tuple[str, ...]


class StudyPageSettings(Model):
    """The page of one study: in which run, and whose."""

    run: str
    study: str

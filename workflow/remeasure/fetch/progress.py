"""How far a long fetch is: pages, rate and time left, on a terminal and in a log alike."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO


class Progress:
    """Counts pages and says now and then how many, how fast and how long still.

    Parameters
    ----------
    title
        What is fetched.
    total
        Pages in all; None where nobody knows beforehand.
    unit
        What is counted.
    every
        Seconds between two lines.
    clock, stream
        For tests.
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        *,
        unit: str = "pages",
        every: float = 15.0,
        clock: Callable[[], float] = time.monotonic,
        stream: TextIO | None = None,
    ) -> None:
        self.title, self.total, self.unit = title, total, unit
        self.every, self.clock = every, clock
        self.stream = stream or sys.stderr
        self.done = self.asked = 0
        self._started = self._last = clock()

    def add(self, pages: int = 1, *, asked: int | None = None) -> None:
        """Count what is done; ``asked`` pages came from the service for it, others were there."""
        self.done += pages
        self.asked += pages if asked is None else asked
        if self.clock() - self._last >= self.every:
            self._last = self.clock()
            print(self.line(), file=self.stream, flush=True)

    def line(self) -> str:
        """As in ``prices: 420 of 1,200 pages (35%), 19.8 a second, 39 s left``."""
        seconds = max(self.clock() - self._started, 1e-9)
        rate = self.done / seconds
        of = "" if self.total is None else f" of {self.total:,}"
        share = f" ({self.done / self.total:.0%})" if self.total else ""
        text = f"{self.title}: {self.done:,}{of} {self.unit}{share}, {rate:.1f} a second"
        if self.total is not None and rate > 0:
            text += f", {duration((self.total - self.done) / rate)} left"
        return f"{text}; {self.asked:,} pages asked for"

    def finish(self) -> None:
        """The last line."""
        print(self.line(), file=self.stream, flush=True)


def duration(seconds: float) -> str:
    """Seconds for people, as in ``2 d 3 h`` or ``39 s``."""
    whole = round(seconds)
    for unit, size, smaller in (("d", 86_400, "h"), ("h", 3600, "min"), ("min", 60, "s")):
        if whole >= size:
            rest = whole % size // {"h": 3600, "min": 60, "s": 1}[smaller]
            return f"{whole // size} {unit} {rest} {smaller}"
    return f"{whole} s"

"""What a long fetch says of itself: count, rate, time left."""

from __future__ import annotations

import io

import pytest

from remeasure.fetch.progress import Progress, duration


def test_lines_come_now_and_then_and_say_how_long_still() -> None:
    now, out = [0.0], io.StringIO()
    progress = Progress("prices", 1200, every=15, clock=lambda: now[0], stream=out)
    for _ in range(420):
        now[0] += 0.05
        progress.add(asked=1)
    progress.add(0)
    lines = out.getvalue().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("prices: 300 of 1,200 pages (25%), 20.0 a second, 45 s left")
    progress.finish()
    last = out.getvalue().splitlines()[-1]
    assert last == (
        "prices: 420 of 1,200 pages (35%), 20.0 a second, 39 s left; 420 pages asked for"
    )


def test_a_chain_of_unknown_length_tells_no_time() -> None:
    now = [0.0]
    progress = Progress("listing", clock=lambda: now[0], stream=io.StringIO())
    now[0] = 2.0
    progress.add(4, asked=1)
    assert progress.line() == "listing: 4 pages, 2.0 a second; 1 pages asked for"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3700, "1 h 1 min"), (200_000, "2 d 7 h")],
)
def test_durations_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text

"""Contrast of colours as WCAG 2.2 defines it, and text colours that can be read."""

from __future__ import annotations

#: WCAG 2.2, success criteria 1.4.3 (text) and 1.4.11 (lines and marks).
TEXT_CONTRAST = 4.5
MARK_CONTRAST = 3.0


def _channels(colour: str) -> tuple[float, float, float]:
    """Red, green and blue in 0..1 of ``#rrggbb``."""
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, 0 (black) to 1 (white)."""
    linear = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in _channels(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours ``#rrggbb``, 1 (equal) to 21 (black on white)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mix(one: str, other: str, share: float) -> str:
    """``one`` with ``share`` (0..1) of ``other`` mixed in."""
    mixed = (
        round(255 * ((1 - share) * a + share * b))
        for a, b in zip(_channels(one), _channels(other), strict=True)
    )
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def readable(colour: str, *, text: str, background: str) -> str:
    """``colour`` moved towards ``text`` just so far that it can be read as text.

    Returns the first mixture, in steps of a twentieth, whose contrast with
    ``background`` reaches 4.5; ``text`` itself where none does.
    """
    for step in range(20):
        candidate = mix(colour, text, step / 20)
        if contrast(candidate, background) >= TEXT_CONTRAST:
            return candidate
    return text

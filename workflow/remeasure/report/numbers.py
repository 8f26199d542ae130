"""Numbers as people read them. Exact values stay in the ledger; pages show these."""

from __future__ import annotations

import math
import re

_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

#: Values are shown with at least so many significant digits.
LEAST_DIGITS = 4
MOST_DIGITS = 12


def number(text: str | None) -> float | None:
    """The number that ``text`` is; None for words and for nothing."""
    if text is None or not _NUMBER.fullmatch(text.strip()):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def significant_digits(text: str) -> int:
    """How many significant digits a printed number has: ``0.285`` 3, ``46.0`` 3, ``58000`` 5."""
    mantissa = re.split("[eE]", text.strip().lstrip("+-"))[0]
    return len(mantissa.replace(".", "").lstrip("0")) or 1


def grouped(text: str) -> str:
    """A printed number with thousands separators and a true minus; other text unchanged."""
    text = text.strip()
    if not _PLAIN.fullmatch(text):
        return text
    sign = "\N{MINUS SIGN}" if text.startswith("-") else ""
    whole, dot, rest = text.lstrip("+-").partition(".")
    # Four digits stay together, so that years and small counts read as they are printed.
    return sign + (f"{int(whole):,}" if len(whole) > 4 else whole) + dot + rest


def rounded(value: float, digits: int = LEAST_DIGITS) -> str:
    """``value`` at ``digits`` significant digits; whole numbers keep all of theirs.

    >>> rounded(53.8712), rounded(51057.0), rounded(0.00010074), rounded(-1234567.8)
    ('53.87', '51,057', '0.0001007', '−1,234,568')
    """
    if value == 0:
        return "0"
    size = abs(value)
    if float(value).is_integer() and size < 1e15:
        return grouped(str(int(value)))
    exponent = math.floor(math.log10(size))
    if not -5 <= exponent < 15:
        return f"{value:.{max(digits, 1) - 1}e}".replace("-", "\N{MINUS SIGN}")
    return grouped(f"{value:.{max(0, digits - 1 - exponent)}f}")


def _decimals(value: float, digits: int) -> int:
    if value == 0:
        return 0
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def measured(value: str | None, published: str) -> str:
    """A measured value one digit finer than the published one, at least four digits."""
    exact = number(value)
    if value is None or exact is None:
        return value or ""
    digits = LEAST_DIGITS
    if number(published) is not None:
        digits = min(MOST_DIGITS, max(digits, significant_digits(published) + 1))
    return rounded(exact, digits)


def interval(low: float | None, high: float | None) -> str:
    """``53.1 to 54.1``: both ends with the decimals that their distance asks for.

    Empty without an interval.
    """
    if low is None or high is None:
        return ""
    width = high - low
    if width == 0:
        return f"{rounded(low)} to {rounded(high)}"
    if max(abs(low), abs(high)) >= 1e7 or width < 1e-6:
        return f"{rounded(low)} to {rounded(high)}"
    decimals = _decimals(width, 2)
    return f"{_fixed(low, decimals)} to {_fixed(high, decimals)}"


def _fixed(value: float, decimals: int) -> str:
    text = f"{value:.{decimals}f}"
    return grouped(text.lstrip("-") if float(text) == 0 else text)


def width(low: float | None, high: float | None) -> str:
    """``high - low`` at three significant digits; empty without an interval."""
    return "" if low is None or high is None else rounded(high - low, 3)

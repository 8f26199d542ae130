"""Pictures inside figures: how images, maps and diverging colours are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from remeasure.draw.style import Theme

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]


def picture(ax: Axes, pixels: NDArray[Any], **how: Any) -> None:
    """An image without axes, its pixels as they are unless ``how`` says otherwise."""
    ax.set_axis_off()
    ax.imshow(pixels, **{"interpolation": "nearest", **how})


def grey(pixels: Bytes) -> Floats:
    """Brightness (Rec. 601) of shape ``(height, width)``, 0 to 1."""
    light: Floats = pixels.astype(np.float64) @ np.array([0.299, 0.587, 0.114]) / 255
    return light


def diverging(theme: Theme) -> LinearSegmentedColormap:
    """Colours from one hue over the background to another: for values on both sides of 0."""
    ends = (theme.colour(2), theme.background, theme.colour(1))
    return LinearSegmentedColormap.from_list("diverging", ends)


def rising(theme: Theme, series: int = 0) -> LinearSegmentedColormap:
    """Colours from the background to one hue: for values from 0 upwards."""
    return LinearSegmentedColormap.from_list("rising", (theme.background, theme.colour(series)))


def heat(theme: Theme, series: int = 3) -> LinearSegmentedColormap:
    """One hue that fades in: to lie over an image."""
    colour = theme.colour(series)
    return LinearSegmentedColormap.from_list("heat", [(0.0, f"{colour}00"), (1.0, f"{colour}e0")])


def cut(text: str, length: int) -> str:
    """A name that fits: longer ones end in a dot-dot-dot."""
    return text if len(text) <= length else text[: length - 1] + "…"


def two_lines(name: str) -> str:
    """A class name broken between its words: ``PermanentCrop``, ``grid-fine``.

    >>> two_lines("PermanentCrop"), two_lines("River"), two_lines("grid-fine")
    ('Permanent\\nCrop', 'River', 'grid\\nfine')
    """
    if "-" in name:
        return name.replace("-", "\n")
    for place, letter in enumerate(name[1:], 1):
        if letter.isupper() and name[place - 1].islower():
            return f"{name[:place]}\n{name[place:]}"
    return name

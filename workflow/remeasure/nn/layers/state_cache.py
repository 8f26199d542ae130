"""What a recurrent model remembers: as much after a million tokens as after one."""

from __future__ import annotations

from torch import Tensor


class StateCache:
    """Per block the window of its convolution and its state, replaced at every call.

    Attributes
    ----------
    windows, states
        One tensor a block.
    length
        Tokens seen so far.
    """

    def __init__(self, windows: list[Tensor], states: list[Tensor]) -> None:
        self.windows, self.states = windows, states
        self.length = 0

    def numbers(self) -> int:
        """How many numbers are kept."""
        return sum(each.numel() for each in (*self.windows, *self.states))

"""What a recurrent model remembers: as much after a million tokens as after one."""

from __future__ import annotations

from torch import Tensor

from remeasure.nn.layers.cache import KeyValueCache


class StateCache:
    """Per block the window of its convolution and its state, replaced at every call.

    Attributes
    ----------
    windows, states
        One tensor a block, the batch on the first axis.
    length
        Tokens seen so far.
    """

    def __init__(self, windows: list[Tensor], states: list[Tensor]) -> None:
        self.windows, self.states = windows, states
        self.length = 0

    def select(self, rows: Tensor) -> None:
        """Keep these texts, in this order; a text may be named more than once."""
        self.windows = [each.index_select(0, rows) for each in self.windows]
        self.states = [each.index_select(0, rows) for each in self.states]

    def numbers(self) -> int:
        """How many numbers are kept."""
        return sum(each.numel() for each in (*self.windows, *self.states))


class HybridCache(KeyValueCache):
    """Keys and values of the blocks with attention, states of the others.

    Parameters
    ----------
    attending
        Numbers of the blocks with attention.
    windows, states
        Of each other block, by its number.
    batch, groups, longest, width, like
        As in `KeyValueCache`.
    """

    def __init__(
        self,
        attending: list[int],
        windows: dict[int, Tensor],
        states: dict[int, Tensor],
        batch: int,
        groups: int,
        longest: int,
        width: int,
        like: Tensor,
    ) -> None:
        super().__init__(len(attending), batch, groups, longest, width, like)
        self._place = {block: place for place, block in enumerate(attending)}
        self.windows, self.states = windows, states

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """As in `KeyValueCache`; ``layer`` counts all blocks."""
        return super().extend(self._place[layer], key, value)

    def select(self, rows: Tensor) -> None:
        """Keep these texts, in this order; a text may be named more than once."""
        super().select(rows)
        for kept in (self.windows, self.states):
            for block, tensor in kept.items():
                kept[block] = tensor.index_select(0, rows)

    def rewind(self, length: int) -> None:
        """A state cannot be taken back: only the whole length is no change.

        Raises
        ------
        ValueError
            When anything would have to be forgotten.
        """
        if length != self.length:
            raise ValueError("a recurrent state cannot be rewound")

    def numbers(self) -> int:
        """How many numbers it holds for the tokens seen so far, all texts together."""
        kept = (*self.windows.values(), *self.states.values())
        return super().numbers() + sum(each.numel() for each in kept)

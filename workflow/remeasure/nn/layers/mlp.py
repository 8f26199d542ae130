"""The feed-forward half of a block."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


class SwiGLU(nn.Module):
    """Gated linear unit with the SiLU as gate (Shazeer 2020, eq. 6): ``down(silu(gate x) * up x)``.

    Parameters
    ----------
    width, hidden
        Channels outside and inside.
    bias
        Whether the three maps have one.
    """

    def __init__(self, width: int, hidden: int, *, bias: bool = False) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=bias)
        self.up = nn.Linear(width, hidden, bias=bias)
        self.down = nn.Linear(hidden, width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        out: Tensor = self.down(F.silu(self.gate(x)) * self.up(x))
        return out

"""Mixtures of experts: who is chosen, how tokens get there, and what keeps the load even.

Routers differ in when they take the softmax (R1 to R4 below, in the order of the published
models); the experts are SwiGLU networks whose matrices stand stacked.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def softmax_top(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """R1: the k largest of a softmax, as they are, so that they sum to less than one (OLMoE).

    Parameters
    ----------
    scores
        Shape ``(tokens, experts)``.
    k
        Experts a token.

    Returns
    -------
    tuple
        Weights in descending order and the experts that they belong to, ``(tokens, k)``.
    """
    weights, chosen = scores.softmax(-1).topk(k, dim=-1)
    return weights, chosen


def softmax_top_renormalised(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """R2: R1 divided by its sum (Mixtral, Qwen3); see `softmax_top`."""
    weights, chosen = softmax_top(scores, k)
    return weights / weights.sum(-1, keepdim=True), chosen


def top_softmax(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """R3: the softmax of the k largest scores (Granite, gpt-oss): R2 in exact arithmetic."""
    best, chosen = scores.topk(k, dim=-1)
    return best.softmax(-1), chosen


def sigmoid_bias(scores: Tensor, k: int, bias: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """R4: chosen by sigmoid plus bias, weighted by the sigmoid alone (DeepSeek-V3).

    ``bias`` has shape ``(experts,)``. The order is that of the weights.
    """
    affinity = scores.sigmoid()
    chosen = (affinity if bias is None else affinity + bias).topk(k, dim=-1).indices
    weights, order = affinity.gather(-1, chosen).sort(dim=-1, descending=True, stable=True)
    return weights / weights.sum(-1, keepdim=True), chosen.gather(-1, order)


def balancing_loss(scores: Tensor, chosen: Tensor, real: Tensor | None = None) -> Tensor:
    """``E Σ f_i P_i`` (Fedus et al. 2022, eqs. 4 to 6): k when the load is even.

    ``f_i`` is the number of times that expert i was chosen a token (the sum is k; a constant in
    the backward pass) and ``P_i`` its mean softmax. To weigh several layers as one, lay
    their tokens one after the other.

    Parameters
    ----------
    scores
        Of the router, before any softmax, shape ``(tokens, experts)``.
    chosen
        Shape ``(tokens, k)``.
    real
        False on tokens that do not count, shape ``(tokens,)``.
    """
    experts = scores.shape[-1]
    counts = F.one_hot(chosen, experts).sum(1).float()  # (tokens, experts)
    share = scores.float().softmax(-1)
    if real is not None:
        counts, share = counts[real], share[real]
    return experts * (counts.mean(0) * share.mean(0)).sum()


def z_loss(scores: Tensor, real: Tensor | None = None) -> Tensor:
    """Mean square of the log-sum-exp of a router's scores (Zoph et al. 2022, eq. 5).

    The shapes are those of `balancing_loss`.
    """
    level = scores.float().logsumexp(-1).square()
    return (level if real is None else level[real]).mean()


class Experts(nn.Module):
    """SwiGLU networks with stacked matrices.

    Parameters
    ----------
    experts, width, hidden
        How many; channels outside and inside.
    """

    def __init__(self, experts: int, width: int, hidden: int) -> None:
        super().__init__()
        # of each expert the rows of the gate, then those of the other half
        self.gate_up = nn.Parameter(torch.empty(experts, 2 * hidden, width))
        self.down = nn.Parameter(torch.empty(experts, width, hidden))
        with torch.no_grad():
            for matrix in (self.gate_up, self.down):
                bound = matrix.shape[-1] ** -0.5
                matrix.uniform_(-bound, bound)

    def _run(self, x: Tensor, expert: int) -> Tensor:
        gate, up = F.linear(x, self.gate_up[expert]).chunk(2, dim=-1)
        return F.linear(F.silu(gate) * up, self.down[expert])

    def forward(self, x: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
        """Weighted sums over the chosen experts, each of which runs once on all its tokens.

        Parameters
        ----------
        x
            Shape ``(tokens, width)``.
        chosen, weights
            Shape ``(tokens, k)``.

        Returns
        -------
        Tensor
            Shape ``(tokens, width)``.
        """
        k = chosen.shape[-1]
        order = chosen.flatten().argsort(stable=True)
        token = order // k
        counts = chosen.flatten().bincount(minlength=len(self.gate_up)).tolist()
        rows = torch.split(x[token], counts)
        done = [self._run(part, expert) for expert, part in enumerate(rows) if len(part)]
        share = weights.flatten()[order].to(x.dtype).unsqueeze(-1)
        return torch.zeros_like(x).index_add(0, token, torch.cat(done) * share)

    def everyone(self, x: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
        """The same sums the wasteful way: every expert on every token, most of it times zero."""
        gates = torch.zeros(len(x), len(self.gate_up), dtype=x.dtype, device=x.device)
        gates = gates.scatter(-1, chosen, weights.to(x.dtype))
        gate, up = torch.einsum("td,ehd->eth", x, self.gate_up).chunk(2, dim=-1)
        return torch.einsum("eth,edh,te->td", F.silu(gate) * up, self.down, gates)

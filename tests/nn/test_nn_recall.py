"""Networks of recall: every kind of memory step by step, causal, and as the rules say."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from nn_parity import counted, gap, moved, tokens
from remeasure.nn.models.recall import LAYOUTS, Mixer, Recall, RecallConfig

SMALL = RecallConfig(
    vocabulary=41, kinds=("attention",), width=16, heads=2, head=6, hidden=20, reach=3, chunk=4
)
EVERY = [dataclasses.replace(SMALL, kinds=kinds) for kinds in LAYOUTS.values()]


@pytest.mark.parametrize("config", EVERY)
def test_step_by_step_is_the_full_pass(config: RecallConfig) -> None:
    torch.manual_seed(0)
    model = moved(Recall(config), spread=0.1)
    assert counted(model) == config.parameters()
    ids = tokens(config.vocabulary, 2, 15)
    with torch.inference_mode():
        whole = model(ids)
        cache = model.cache(2)
        parts = [model(ids[:, :6], cache)]
        parts += [model(ids[:, place : place + 1], cache) for place in range(6, 12)]
        parts.append(model(ids[:, 12:], cache))
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
    other = ids.clone()
    other[:, 9:] = (other[:, 9:] + 1) % config.vocabulary
    with torch.inference_mode():
        changed = model(other)
    assert gap(changed[:, :9], whole[:, :9]) < 1e-6
    assert gap(changed[:, 9:], whole[:, 9:]) > 1e-3


def test_the_gate_starts_where_it_should() -> None:
    """stat_gate: the median head keeps 0.94 a token."""
    torch.manual_seed(1)
    wide = dataclasses.replace(SMALL, heads=20_000, head=1, width=1)
    kept = Mixer(wide, "gated_delta").decay(torch.zeros(1, 1, 1)).exp()
    assert kept.median().item() == pytest.approx(0.94, abs=0.005)


def test_gate_and_correction_can_be_taken_away() -> None:
    """Without fading the gated rule is the delta rule."""
    torch.manual_seed(2)
    gated, plain = Mixer(SMALL, "gated_delta"), Mixer(SMALL, "delta")
    plain.load_state_dict(gated.state_dict(), strict=False)
    x = torch.randn(2, 9, 16)
    assert not torch.allclose(gated(x)[0], plain(x)[0])
    with torch.no_grad():
        gated.rate.zero_()
    torch.testing.assert_close(gated(x)[0], plain(x)[0])

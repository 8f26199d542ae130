"""Matrices laid out for decoding: the same model in another order of memory."""

from __future__ import annotations

import torch

from remeasure.nn.generate.layout import lay_for_decoding
from remeasure.nn.models.gpt2 import GPT2, GPT2Config


def test_the_layout_changes_no_number() -> None:
    torch.manual_seed(0)
    model = GPT2(GPT2Config(vocabulary=50, context=16, width=8, layers=2, heads=2)).eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    ids = torch.randint(0, 50, (2, 9))
    with torch.inference_mode():
        expected = model(ids)
    lay_for_decoding(model)
    assert model.embed.weight.stride() == (1, 50)
    assert model.blocks[0].mlp.down.weight.is_contiguous()
    assert all(torch.equal(before[name], each) for name, each in model.state_dict().items())
    with torch.inference_mode():
        torch.testing.assert_close(model(ids), expected, atol=1e-6, rtol=1e-5)

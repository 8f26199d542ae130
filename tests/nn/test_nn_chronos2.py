"""Chronos-2 against the package of its authors, and what must hold whatever the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import load, published_names
from remeasure.nn.models.chronos2 import NAMES, PARAMETERS, QUANTILES, Chronos2, Config

PUBLISHED: dict[str, Any] = {
    "architectures": ["Chronos2Model"],
    "d_model": 768,
    "d_kv": 64,
    "d_ff": 3072,
    "num_layers": 12,
    "num_heads": 12,
    "dropout_rate": 0.1,
    "feed_forward_proj": "relu",
    "layer_norm_epsilon": 1e-6,
    "rope_theta": 10_000.0,
    "vocab_size": 2,
    "chronos_config": {
        "context_length": 8192,
        "input_patch_size": 16,
        "input_patch_stride": 16,
        "output_patch_size": 16,
        "max_output_patches": 64,
        "quantiles": list(QUANTILES),
        "time_encoding_scale": 8192,
        "use_arcsinh": True,
        "use_reg_token": True,
    },
}
SMALL: dict[str, Any] = PUBLISHED | {
    "d_model": 24,
    "d_kv": 10,
    "d_ff": 40,
    "num_layers": 3,
    "num_heads": 3,
    "chronos_config": PUBLISHED["chronos_config"]
    | {"context_length": 96, "time_encoding_scale": 128, "max_output_patches": 3},
}


def small(seed: int = 0) -> Chronos2:
    """Every parameter random, those that start at one or zero too."""
    model = Chronos2(Config.of(SMALL)).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return model


MODEL = small()


def series(lengths: int = 75, count: int = 5, seed: int = 1) -> Tensor:
    """Random walks of other levels and sizes, with holes, and one that starts late."""
    generator = torch.Generator().manual_seed(seed)
    out = torch.randn(count, lengths, generator=generator).cumsum(-1)
    out = out * torch.logspace(-2, 2, count)[:, None] + torch.linspace(-3, 5, count)[:, None]
    out[torch.rand(out.shape, generator=generator) < 0.15] = torch.nan
    out[-1, :40] = torch.nan
    return out


def referee(config: Mapping[str, Any], model: Chronos2 | None = None) -> nn.Module:
    """The authors' model, with our parameters or its own, all perturbed."""
    pytest.importorskip("chronos", reason="the referee chronos-forecasting is not installed")
    from chronos.chronos2.config import Chronos2CoreConfig
    from chronos.chronos2.model import Chronos2Model

    inner = dict(config["chronos_config"])
    theirs = Chronos2Model(Chronos2CoreConfig(**{**config, "chronos_config": inner})).eval()
    with torch.no_grad():
        if model is None:
            generator = torch.Generator().manual_seed(3)
            for parameter in theirs.parameters():
                parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
        else:
            named = dict(theirs.named_parameters())
            ours = published_names(model, NAMES)
            assert ours.keys() == named.keys()
            for name, tensor in ours.items():
                named[name].copy_(tensor)
    return theirs


def relative(found: Tensor, wanted: Tensor) -> float:
    """Largest difference, in units of each series' largest number."""
    size = wanted.abs().flatten(1).amax(1)[:, None, None]
    return float(((found - wanted).abs() / size).max())


def test_published_size() -> None:
    config = Config.of(PUBLISHED)
    assert config == Config()
    with torch.device("meta"):
        model = Chronos2(config)
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert counted == config.parameters() == PARAMETERS == 119_477_664
    assert (len(config.quantiles), config.quantiles[10]) == (21, 0.5)
    other = Config.of(SMALL)
    counted = sum(parameter.numel() for parameter in Chronos2(other).parameters())
    assert counted == other.parameters()


GROUPS = [None, [0, 1, 2, 3, 4], [7, 7, 2, 7, 2], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize("groups", GROUPS, ids=str)
@pytest.mark.parametrize(("length", "horizon"), [(75, 1), (64, 16), (5, 40), (120, 48)])
def test_equals_the_authors_model(groups: list[int] | None, length: int, horizon: int) -> None:
    model = small()
    theirs = referee(SMALL, model)
    context = series(length)
    ids = None if groups is None else torch.tensor(groups)
    with torch.no_grad():
        found = model(context, ids, horizon)
        wanted = theirs(context, group_ids=ids, num_output_patches=-(-horizon // 16))
    assert found.shape == (5, 21, horizon)
    assert relative(found, wanted.quantile_preds[..., :horizon]) < 1e-4


def test_takes_the_authors_weights() -> None:
    theirs = referee(SMALL)
    model = Chronos2(Config.of(SMALL)).eval()
    report = load(model, theirs.state_dict(), NAMES, where="referee")
    assert report.ignored == ()
    assert report.parameters == sum(parameter.numel() for parameter in theirs.parameters())
    context = series(50)
    with torch.no_grad():
        wanted = theirs(context, num_output_patches=2).quantile_preds
        assert relative(model(context, None, 32), wanted) < 1e-4


def test_gradients_equal_the_authors() -> None:
    """Of a loss that weighs every output, in the scaled space, where all series count alike."""
    model = small()
    theirs = referee(SMALL, model)
    context, ids = series(75), torch.tensor([0, 1, 0, 2, 2])
    weights = torch.randn(5, 21, 32, generator=torch.Generator().manual_seed(5))
    mean, spread = (each[..., None] for each in model.scale(context))
    for out in (
        model(context, ids, 32),
        theirs(context, group_ids=ids, num_output_patches=2).quantile_preds,
    ):
        (weights * ((out - mean) / spread).arcsinh()).mean().backward()
    wanted = dict(theirs.named_parameters())
    for name, parameter in model.named_parameters():
        hit = NAMES.theirs(name)
        assert hit is not None
        gradient = wanted[hit[0]].grad
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient, rtol=1e-3, atol=1e-4 * gradient.abs().max())


@settings(max_examples=25, deadline=None)
@given(
    st.floats(1e-3, 1e3),
    st.floats(-20, 20),
    st.integers(0, 10_000),
    st.integers(3, 100),
)
def test_scaling_and_shifting_a_series_maps_its_forecast(
    a: float, b: float, seed: int, length: int
) -> None:
    model, x = MODEL, series(length, count=3, seed=seed)
    # One size for all: a shift far beyond a series' own spread costs float32 its digits.
    x = x - x.nanmean(1, keepdim=True)
    x = x / x.abs().nan_to_num(0).amax(1, keepdim=True).clamp_min(1e-3)
    if (x.isfinite().sum(1) < 3).any():
        return
    with torch.no_grad():
        found, wanted = model(a * (x + b)), a * (model(x) + b)
    assert relative(found, wanted) < 1e-4


def test_groups_apart_do_not_see_each_other() -> None:
    model, context = small(), series()
    changed = context.clone()
    changed[[1, 3]] = changed[[1, 3]].flip(-1) * 5 + 1
    ids = torch.tensor([0, 1, 0, 1, 0])
    with torch.no_grad():
        for groups, same in ((ids, [0, 2, 4]), (None, [0, 2, 4]), (torch.arange(5), [0, 2, 4])):
            before, after = model(context, groups, 20), model(changed, groups, 20)
            assert relative(after[same], before[same]) < 1e-5
            assert relative(after[[1, 3]], before[[1, 3]]) > 1e-2
        # In one group each does inform the others, and alone none does.
        together = model(context, torch.zeros(5, dtype=torch.long), 20)
        apart = model(context, torch.arange(5), 20)
        assert relative(together[:3], apart[:3]) > 1e-3
        assert relative(model(context, None, 20), apart) < 1e-5
        assert relative(model(context[2:3], None, 20), apart[2:3]) < 1e-5


def test_missing_values_and_the_left_edge() -> None:
    model = small()
    x = series(40, count=2, seed=8)
    padded = torch.cat([torch.full((2, 24), torch.nan), x], dim=1)
    with torch.no_grad():
        # Patches without any value are looked at by none; places turn with the distance alone.
        assert relative(model(padded, None, 16), model(x, None, 16)) < 1e-4
        nothing = model(torch.full((2, 40), torch.nan), torch.tensor([0, 1]), 16)
        flat = model(torch.full((1, 40), 3.0), None, 16)
    assert torch.isfinite(nothing).all()
    assert torch.isfinite(flat).all()


def test_the_horizon_is_bounded() -> None:
    model = small()
    for horizon in (0, 49):
        with pytest.raises(ValueError, match=r"1\.\.48"):
            model(series(), None, horizon)


@pytest.mark.parametrize(
    "change",
    [
        {"d_model": None},
        {"feed_forward_proj": "gated-gelu"},
        {"chronos_config": {}},
        {"chronos_config": PUBLISHED["chronos_config"] | {"use_reg_token": False}},
        {"chronos_config": PUBLISHED["chronos_config"] | {"output_patch_size": 8}},
        {"chronos_config": PUBLISHED["chronos_config"] | {"input_patch_stride": 8}},
    ],
)
def test_other_configurations_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"Chronos-2|patches"):
        Config.of(PUBLISHED | change)


def test_time_is_scaled_by_the_context_where_nothing_else_is_said() -> None:
    inner = {**PUBLISHED["chronos_config"], "context_length": 512}
    del inner["time_encoding_scale"]
    found = Config.of(PUBLISHED | {"chronos_config": inner})
    assert found == replace(Config(), context=512, time_scale=512)

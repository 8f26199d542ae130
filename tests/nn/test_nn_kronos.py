"""Kronos against what the published code puts out, the quantiser against brute force."""

from __future__ import annotations

import itertools
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from kronos_checkpoint import MODEL, TOKENIZER, market, network_of, tokenizer_of, uniform, weights
from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.models.kronos import KRONOS_NAMES, Kronos, KronosConfig
from remeasure.nn.models.kronos_forecast import (
    CLIP,
    Sampling,
    choose,
    forecast,
    generate,
    keep_likely,
    likeliest,
    marks_of,
)
from remeasure.nn.models.kronos_tokenizer import (
    TOKENIZER_NAMES,
    KronosTokenizer,
    TokenizerConfig,
    code_of,
    index_of,
    quantise,
)

PARITY: dict[str, Any] = json.loads((Path(__file__).parent / "kronos_parity.json").read_text())
TOLERANCE = 1e-4
TINY = 2.0**-24


@pytest.fixture(scope="module")
def tokenizer() -> KronosTokenizer:
    return tokenizer_of()


@pytest.fixture(scope="module")
def network() -> Kronos:
    return network_of()


def _close(ours: torch.Tensor | np.ndarray, theirs: list[float]) -> None:
    expected = np.reshape(theirs, tuple(ours.shape))
    np.testing.assert_allclose(np.asarray(ours), expected, atol=TOLERANCE, rtol=TOLERANCE)


@torch.inference_mode()
@pytest.mark.parametrize("case", ["grow", "slide"])
def test_parity_with_the_published_code(
    case: str, tokenizer: KronosTokenizer, network: Kronos
) -> None:
    assert (PARITY["tokenizer"], PARITY["model"]) == (TOKENIZER, MODEL)
    known = PARITY[case]
    windows, length, steps, context = (
        known[each] for each in ("windows", "length", "steps", "max_context")
    )
    candles, times = market(windows, length + steps)
    x = candles[:, :length]
    scaled = (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-5)
    marks = marks_of(times)

    coarse, fine = tokenizer.encode(torch.from_numpy(scaled.clip(-CLIP, CLIP)))
    assert coarse.tolist() == known["coarse"]
    assert fine.tolist() == known["fine"]
    assert len(torch.unique(coarse)) > 10  # the case tells tokens apart
    _close(tokenizer.decode(coarse, fine), known["decoded"])

    begin = max(0, length - context)
    now = torch.from_numpy(marks[:, begin:length])
    hidden = network(coarse[:, begin:], fine[:, begin:], now)
    _close(network.coarse_logits(hidden[:, -1]), known["coarse_logits"])
    chosen = torch.arange(windows).unsqueeze(-1)
    _close(network.fine_logits(hidden, chosen)[:, 0], known["fine_logits"])

    ahead = forecast(
        tokenizer,
        network,
        x,
        marks[:, : length + steps - 1],
        uniform=likeliest(windows, steps),
        max_context=context,
    )
    _close(ahead[:, 0], known["forecast"])


@pytest.mark.parametrize(
    ("part", "names"), [("tokenizer", TOKENIZER_NAMES), ("model", KRONOS_NAMES)]
)
def test_published_names_both_ways(
    part: str, names: Names, tokenizer: KronosTokenizer, network: Kronos
) -> None:
    model: nn.Module = tokenizer if part == "tokenizer" else network
    shapes = {name: tuple(shape) for name, shape in PARITY["shapes"][part].items()}
    back = published_names(model, names)
    assert {name: tuple(tensor.shape) for name, tensor in back.items()} == shapes
    tensors = weights(shapes)
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)
    extra = {name: torch.zeros(2) for name in PARITY["buffers"][part]}
    report = load(model, tensors | extra, names, where="here")
    assert report.ignored == tuple(PARITY["buffers"][part])


@pytest.mark.parametrize(
    ("sizes", "count"),
    [
        ({}, 24_741_376),
        ({"n_layers": 12, "d_model": 832, "n_heads": 16, "ff_dim": 2048}, 102_310_592),
        ({"n_layers": 4, "d_model": 256, "n_heads": 4, "ff_dim": 512}, None),
    ],
)
def test_parameters_of_the_network(sizes: dict[str, int], count: int | None) -> None:
    config = KronosConfig(**sizes)
    with torch.device("meta"):
        counted = sum(each.numel() for each in Kronos(config).parameters())
    assert counted == config.parameters()
    assert count in (None, counted)


def test_parameters_of_the_tokenizer() -> None:
    with torch.device("meta"):
        counted = sum(each.numel() for each in KronosTokenizer(TokenizerConfig()).parameters())
    assert counted == TokenizerConfig().parameters() == 3_958_042


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_heads": None}, "n_heads missing"),
        ({"learn_te": False}, "learn_te"),
        ({"n_heads": 5}, "multiple of 10"),
        ({"d_model": "wide"}, "d_model"),
    ],
)
def test_a_configuration_that_is_not_one(change: dict[str, Any], message: str) -> None:
    config = {key: value for key, value in (MODEL | change).items() if value is not None}
    with pytest.raises(DataError, match=message):
        KronosConfig.of(config)
    assert KronosConfig.of(MODEL).n_layers == 3
    with pytest.raises(DataError, match=r"d_in.*missing"):
        TokenizerConfig.of({})


# --- the quantiser ----------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=7))
def test_the_nearest_corner(values: list[float]) -> None:
    z = torch.tensor(values)
    bits = len(values)
    corners = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=bits))) / bits**0.5
    code = quantise(z)
    assert torch.isclose(code.norm(), torch.tensor(1.0))
    direction = z.double() / max(float(z.double().norm()), 1e-300)
    distance = (corners.double() - direction).norm(dim=-1)
    assert float((code.double() - direction).norm()) <= float(distance.min()) + 1e-6
    assert bool((code[z == 0] < 0).all())


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 12), st.data())
def test_numbers_of_codes(bits: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, 2**bits - 1))
    code = code_of(torch.tensor([[number]]), bits)
    digits = [(number >> place) & 1 for place in range(bits)]  # lowest first
    assert code[0, 0].tolist() == [2 * digit - 1 for digit in digits]
    assert index_of(code).tolist() == [[number]]


def test_tokens_of_ten_bits_lie_within_1023() -> None:
    wide = tokenizer_of(TOKENIZER | {"s1_bits": 10, "s2_bits": 10})
    x = torch.from_numpy(4 * uniform("wide", 40 * 64 * 6).reshape(40, 64, 6)).float()
    with torch.inference_mode():
        halves = wide.encode(x)
    for half in halves:
        assert int(half.min()) >= 0
        assert 512 <= int(half.max()) <= 1023  # the tenth bit is used


@torch.inference_mode()
def test_nothing_depends_on_what_comes_later(tokenizer: KronosTokenizer, network: Kronos) -> None:
    x = torch.from_numpy(uniform("x", 2 * 30 * 6).reshape(2, 30, 6)).float()
    changed = x.clone()
    changed[:, 20:] = 3.0
    marks = torch.from_numpy(marks_of(market(2, 30)[1]))
    tokens = [tokenizer.encode(each) for each in (x, changed)]
    for before, after in zip(*tokens, strict=True):
        assert torch.equal(before[:, :20], after[:, :20])
        assert not torch.equal(before, after)
    candles = [tokenizer.decode(*each)[:, :20] for each in tokens]
    torch.testing.assert_close(*candles)
    hidden = [network(*each, marks)[:, :20] for each in tokens]
    torch.testing.assert_close(*hidden)


# --- drawing ----------------------------------------------------------------------------------


def test_likely_tokens_are_those_of_the_published_code() -> None:
    logits = torch.from_numpy(uniform("logits", 4 * 32).reshape(4, 32) * 3).float()
    for known in PARITY["kept"]:
        kept = keep_likely(logits, top_k=known["top_k"], top_p=known["top_p"]).isfinite()
        assert [row.nonzero().flatten().tolist() for row in kept] == known["kept"]


_LOGITS = st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=9)


@settings(max_examples=80, deadline=None)
@given(
    _LOGITS,
    st.floats(0, 1 - TINY, width=32),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.integers(0, 4),
    st.sampled_from([0.05, 0.5, 0.9, 1.0]),
)
def test_a_draw_by_hand(
    logits: list[float], number: float, temperature: float, top_k: int, top_p: float
) -> None:
    scores = np.array(logits, dtype=np.float64) / temperature
    chance = np.exp(scores - scores.max())
    order = np.argsort(-scores, kind="stable")
    if top_k:
        kept = scores >= scores[order[min(top_k, scores.size) - 1]]
    else:
        shares = chance[order] / chance.sum()
        ahead = np.cumsum(shares) - shares
        kept = np.zeros(scores.size, dtype=bool)
        kept[order] = ahead <= top_p
        kept[order[0]] = True
    reached = np.cumsum(np.where(kept, chance, 0))
    # Not where rounding decides: a level on a border, or a token at the limit.
    level = number * reached[-1]
    border = np.abs(reached[kept] - level).min() < 1e-5
    limit = not top_k and top_p < 1 and np.abs(ahead - top_p).min() < 1e-5
    got = choose(torch.tensor(logits), torch.tensor(number), Sampling(temperature, top_k, top_p))
    assert kept[int(got)] or limit
    if not border and not limit:
        assert int(got) == int(np.searchsorted(reached, level, side="right"))


def test_the_ends_of_the_draw_are_tokens_that_may_be_drawn() -> None:
    logits = torch.tensor([0.0, 5.0, 4.9, -3.0]).expand(3, -1)
    numbers = torch.tensor([0.0, 1 - TINY, torch.nan])
    assert choose(logits, numbers, Sampling(top_p=0.9)).tolist() == [1, 2, 1]


def test_drawn_shares_are_the_probabilities() -> None:
    logits = torch.tensor([0.3, -1.0, 1.2, 0.0])
    numbers = (torch.arange(10_000) + 0.5) / 10_000
    drawn = choose(logits.expand(10_000, -1), numbers, Sampling(temperature=0.7, top_p=1.0))
    shares = torch.bincount(drawn, minlength=4) / 10_000
    torch.testing.assert_close(shares, (logits / 0.7).softmax(-1), atol=2e-4, rtol=0)


def _generated(
    tokenizer: KronosTokenizer, network: Kronos, numbers: torch.Tensor, context: int = 24
) -> torch.Tensor:
    windows, steps = numbers.shape[0], numbers.shape[2]
    x = torch.from_numpy(uniform("window", 3 * 20 * 6).reshape(3, 20, 6)[:windows]).float()
    marks = torch.from_numpy(marks_of(market(3, 19 + steps)[1])[:windows])
    return generate(tokenizer, network, x, marks, uniform=numbers, max_context=context)


def test_paths_that_share_a_window_are_paths_of_their_own(
    tokenizer: KronosTokenizer, network: Kronos
) -> None:
    numbers = torch.rand(3, 4, 7, 2, generator=torch.Generator().manual_seed(1))
    numbers[:, 2] = torch.nan
    together = _generated(tokenizer, network, numbers)
    assert together.shape == (3, 4, 7, 6)
    for path in range(4):
        alone = _generated(tokenizer, network, numbers[:, [path]])
        torch.testing.assert_close(together[:, [path]], alone, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(together[:, 0], together[:, 1])
    first = _generated(tokenizer, network, numbers[:1])
    torch.testing.assert_close(first, together[:1], atol=1e-5, rtol=1e-5)


def test_a_longer_forecast_begins_like_a_shorter_one(
    tokenizer: KronosTokenizer, network: Kronos
) -> None:
    numbers = torch.rand(2, 2, 4, 2, generator=torch.Generator().manual_seed(2))
    long = _generated(tokenizer, network, numbers)
    short = _generated(tokenizer, network, numbers[:, :, :2])
    torch.testing.assert_close(long[:, :, :2], short, atol=1e-5, rtol=1e-5)


def test_what_cannot_be_generated(tokenizer: KronosTokenizer, network: Kronos) -> None:
    with pytest.raises(ValueError, match="from 1 to 24, not 25"):
        _generated(tokenizer, network, likeliest(3, 25))
    marks = torch.zeros(3, 20, 5, dtype=torch.long)
    with pytest.raises(ValueError, match="do not fit marks"):
        generate(tokenizer, network, torch.zeros(3, 20, 6), marks, uniform=likeliest(3, 2))


@settings(max_examples=100, deadline=None)
@given(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)))
def test_marks_of_the_calendar(time: datetime) -> None:
    marks = marks_of(np.array([time], dtype="datetime64[us]"))
    assert marks.tolist() == [[time.minute, time.hour, time.weekday(), time.day, time.month]]

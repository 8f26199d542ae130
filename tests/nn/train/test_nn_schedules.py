"""Learning rates against torch's own schedulers and against values worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch

from remeasure.nn.train import schedules

GPT = {0: 3.333e-6, 149: 5e-4, 299: 1e-3, 300: 1e-3, 1850: 5.5e-4, 3399: 1.000002e-4}


@pytest.mark.parametrize(("steps", "warm"), [(40, 0.1), (41, 0.3), (7, 0.5)])
def test_one_cycle_is_torchs_in_rate_and_momentum(steps: int, warm: float) -> None:
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=3e-3, total_steps=steps, pct_start=warm
    )
    ours = schedules.one_cycle(3e-3, steps, warm=warm)
    for step in range(steps):
        group = optimizer.param_groups[0]
        assert ours(step) == pytest.approx(group["lr"], rel=1e-12)
        assert ours.beta(step) == pytest.approx(group["betas"][0], rel=1e-12)
        optimizer.step()
        if step + 1 < steps:
            theirs.step()


def test_one_cycle_starts_and_ends_where_it_should() -> None:
    ours = schedules.one_cycle(1e-3, 1000, warm=0.1)
    assert ours(0) == pytest.approx(1e-3 / 25)
    assert ours(99) == pytest.approx(1e-3)
    assert ours(999) == pytest.approx(1e-3 / 250_000)
    assert [ours.beta(step) for step in (0, 99, 999)] == pytest.approx([0.95, 0.85, 0.95])


@pytest.mark.parametrize(("step", "rate"), GPT.items())
def test_warmup_cosine_at_the_published_steps(step: int, rate: float) -> None:
    ours = schedules.warmup_cosine(1e-3, 3400, warm=300)
    assert ours(step) == pytest.approx(rate, rel=2e-4 if step == 0 else 1e-6)


def test_warmup_cosine_is_torchs_after_the_line() -> None:
    ours = schedules.warmup_cosine(1.0, 50, warm=10)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 10),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40, eta_min=0.1),
        ],
        milestones=[10],
    )
    for step in range(50):
        assert ours(step) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        theirs.step()


def test_warmup_linear_in_both_readings() -> None:
    steps, warm = 750, 75
    ours = schedules.warmup_linear(5e-5, steps, warm=warm)
    for step in (0, 74, 75, 400, 749):
        factor = min((step + 1) / warm, max(0.0, (steps - step) / (steps - warm)))
        assert ours(step) == pytest.approx(5e-5 * factor)
    product = schedules.warmup_linear(1.0, 868, warm=100, join="product")
    rates = [product(step) for step in range(868)]
    assert max(rates) == rates[99] == pytest.approx(0.886, abs=5e-4)


def test_plateau_and_fall() -> None:
    line = schedules.warmup_stable_decay(2.0, 100, warm=10, decay=20)
    assert [line(step) for step in (0, 9, 10, 79, 80, 90)] == pytest.approx([0.2, 2, 2, 2, 2, 1])
    root = schedules.warmup_stable_decay(2.0, 100, warm=0, decay=20, floor=0.1, shape="root")
    assert root(85) == pytest.approx(2.0 * (1 - 0.9 * 0.5))
    assert root(100) == pytest.approx(0.2)


def test_the_rest_by_hand() -> None:
    root = schedules.inverse_sqrt(1e-3, warm=100)
    assert [root(0), root(99), root(399)] == pytest.approx([1e-5, 1e-3, 5e-4])
    warm = schedules.constant(3e-4, warm=100)
    assert [warm(0), warm(99), warm(1099)] == pytest.approx([3e-6, 3e-4, 3e-4])
    assert schedules.constant(0.5)(0) == 0.5
    # A width-512 Transformer with 4,000 steps of warm-up (Vaswani et al. 2017, eq. 3).
    noam = schedules.inverse_sqrt(512**-0.5 * 4000**-0.5, warm=4000)
    for number in (1, 4000, 100_000):
        expected = 512**-0.5 * min(number**-0.5, number * 4000**-1.5)
        assert math.isclose(noam(number - 1), expected)

"""The card's exact checks and the traps of its data, each against another route."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from torch import nn

from remeasure.nn.models.vit import VIT_B16, ViT, ViTConfig
from remeasure.nn.train.schedules import one_cycle
from remeasure.studies.vit.maps import (
    directions,
    distances,
    gigaflops,
    mean_distance,
    permutation,
    rollout,
    similarity,
    tokens,
)
from remeasure.studies.vit.photos import HALVES, IMAGENET, Photo, normalised
from remeasure.studies.vit.probing import standardised
from remeasure.studies.vit.race import BUDGETS, PUBLISHED, accuracies, confused, gap, interval
from remeasure.studies.vit.subsets import augment, batches, normalise, subset


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_attention_distance_of_itself_and_of_everything() -> None:
    apart = distances(14, 16)
    one = torch.eye(197).expand(2, 3, 197, 197)
    assert mean_distance(one, apart).tolist() == [0.0] * 3
    even = torch.full((1, 2, 197, 197), 1 / 197)
    assert mean_distance(even, apart).tolist() == pytest.approx([116.492] * 2, abs=1e-3)
    # By brute force, for a corner, a centre, and the largest of all.
    place = [(r, c) for r in range(14) for c in range(14)]
    means = [sum(16 * math.dist(own, other) for other in place) / 196 for own in (place[0], (7, 7))]
    assert means == pytest.approx([161.030, 86.019], abs=1e-3)
    assert apart.mean(1)[[0, 7 * 14 + 7]].tolist() == pytest.approx(means)
    assert float(apart.max()) == pytest.approx(13 * math.sqrt(2) * 16)


def test_the_class_token_does_not_count_in_distances() -> None:
    weights = normal(2, 2, 5, 5).softmax(-1)
    apart = distances(2, 8)
    changed = weights.clone()
    changed[..., 0] *= 7  # the class column
    changed[..., 0, :] = 0.2  # and the class row
    torch.testing.assert_close(mean_distance(weights, apart), mean_distance(changed, apart))


def test_rollout_rows_are_shares_and_uniform_attention_is_closed() -> None:
    weights = [normal(2, 3, 10, 10, seed=n).softmax(-1) for n in range(4)]
    found = rollout(weights)
    torch.testing.assert_close(found.sum(-1), torch.ones(2, 10, dtype=torch.float64))
    by_hand = torch.eye(10, dtype=torch.float64)
    for each in weights:
        own = 0.5 * each[1].double().mean(0) + 0.5 * torch.eye(10)
        by_hand = (own / own.sum(-1, keepdim=True)) @ by_hand
    torch.testing.assert_close(found[1], by_hand)
    even = torch.full((1, 1, 197, 197), 1 / 197, dtype=torch.float64)
    entries = rollout([even] * 12)[0, 0, 1:]
    assert entries.tolist() == pytest.approx([(1 - 2**-12) / 197] * 196)


def test_similarity_is_symmetric_with_a_unit_diagonal() -> None:
    cosines = similarity(normal(1, 26, 7)).view(25, 25)
    torch.testing.assert_close(cosines, cosines.T)
    torch.testing.assert_close(cosines.diagonal(), torch.ones(25, dtype=torch.float64))


def test_directions_are_those_of_the_covariance() -> None:
    filters = normal(30, 3, 2, 2) * torch.arange(1, 5).view(2, 2)
    flat = filters.flatten(1).double()
    values, vectors = np.linalg.eigh(np.cov(flat.numpy().T))
    strongest = vectors[:, np.argmax(values)]
    found = directions(filters, 1)[0].flatten().numpy()
    for sign in (1, -1):
        own = sign * strongest
        own = (own - own.min()) / (own.max() - own.min())
        if np.allclose(own, found, atol=1e-8):
            return
    pytest.fail("the first direction is not the strongest eigenvector")


def test_costs_are_counted_by_hand() -> None:
    """Multiplications of every matrix product of one block, at one size."""
    n, d = 197, 768
    qkvo, mlp = 4 * n * d * d, 2 * n * d * 4 * d
    scores, mix = n * n * d, n * n * d
    linear, attention = gigaflops(n, VIT_B16)
    assert linear == pytest.approx(12 * 2 * (qkvo + mlp) / 1e9)
    assert attention == pytest.approx(12 * 2 * (scores + mix) / 1e9)
    for image in (224, 384, 512):
        for patch in (32, 16, 14, 8):
            length = tokens(image, patch)
            linear, attention = gigaflops(length, VIT_B16)
            assert attention / (linear + attention) == pytest.approx(length / (length + 4608))
    assert (tokens(384, 14), tokens(512, 14)) == (27**2 + 1, 36**2 + 1)


def test_the_permutation_is_torch_s() -> None:
    order = permutation(196)
    assert order[:12].tolist() == [78, 48, 98, 152, 46, 112, 116, 138, 166, 132, 44, 140]
    assert sorted(order.tolist()) == list(range(196))


def test_one_cycle_moves_rate_and_first_beta_as_torch_does() -> None:
    """Rebuilding the rate alone would leave beta at 0.9."""
    steps, peak = 300, 5e-5
    model = nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(model.parameters(), lr=peak)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, max_lr=peak, total_steps=steps, pct_start=0.1
    )
    ours = one_cycle(peak, steps, warm=0.1)
    rates, betas = [], []
    for step in range(steps):
        group = optimiser.param_groups[0]
        assert ours(step) == pytest.approx(group["lr"], rel=1e-9)
        assert ours.beta(step) == pytest.approx(group["betas"][0], rel=1e-9)
        rates.append(ours(step))
        betas.append(ours.beta(step))
        optimiser.step()
        if step < steps - 1:
            theirs.step()
    assert rates[0] == pytest.approx(peak / 25)
    assert rates[-1] == pytest.approx(peak / 250_000)
    assert int(np.argmax(rates)) == pytest.approx(0.1 * steps - 1)
    assert (betas[0], min(betas), betas[-1]) == pytest.approx((0.95, 0.85, 0.95))


def test_lengths_follow_the_real_number_of_tiles() -> None:
    nominal = {
        b: (PUBLISHED["tuned"].steps(10 * b), PUBLISHED["vit"].steps(10 * b)) for b in BUDGETS
    }
    assert nominal == {10: (300, 1500), 100: (300, 1500), 1620: (1518, 7593)}
    # EuroSAT is unbalanced: some classes have fewer than 1,620 training tiles.
    sizes = [round(16_200 * n / 27_000) for n in (3000,) * 5 + (2500,) * 4 + (2000,)]
    real = sum(min(1620, size) for size in sizes)
    assert real == 15_300 < 16_200 == sum(sizes)
    assert PUBLISHED["vit"].steps(real) < 7593


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=5, max_size=60), st.integers(1, 8), st.integers(1, 8))
def test_budgets_are_first_tiles_nested_and_capped(labels: list[int], one: int, two: int) -> None:
    known = np.array(labels)
    small, large = subset(known, min(one, two)), subset(known, max(one, two))
    assert set(small) <= set(large)
    for label in set(labels):
        first = [row for row, each in enumerate(labels) if each == label][: max(one, two)]
        assert [row for row in large if labels[row] == label] == first


def test_augmentation_moves_pixels_only_and_turns_the_whole_batch_alike() -> None:
    tiles = torch.arange(6 * 3 * 4 * 4).view(6, 3, 4, 4)
    seen = set()
    for seed in range(40):
        made = augment(tiles, np.random.default_rng(seed))
        assert torch.equal(made.flatten(2).sort(-1).values, tiles.flatten(2).sort(-1).values)
        turns = []
        for one, other in zip(tiles, made, strict=True):
            fits = {
                (k, flip)
                for k in range(4)
                for flip in (False, True)
                if torch.equal(torch.rot90(one.flip(-1) if flip else one, k, (-2, -1)), other)
            }
            turns.append(fits)
        # One quarter turn serves the batch; flips are drawn tile by tile.
        common = set.intersection(*({k for k, _ in fits} for fits in turns))
        assert len(common) == 1
        seen |= {(next(iter(common)), flip) for fits in turns for _, flip in fits}
    assert {k for k, _ in seen} == {0, 1, 2, 3}
    four = tiles
    for _ in range(4):
        four = torch.rot90(four, 1, (-2, -1))
    assert torch.equal(four, tiles)


def test_a_batch_is_a_function_of_its_number() -> None:
    tiles = torch.randint(0, 256, (20, 3, 8, 8), dtype=torch.uint8)
    labels = torch.arange(20) % 4
    draw = batches(tiles, labels, size=6, side=8, scale=IMAGENET, seed=[1, 2])
    one, again, other = draw(3), draw(3), draw(4)
    assert torch.equal(one.tiles, again.tiles)
    assert torch.equal(one.labels, again.labels)
    assert not torch.equal(one.tiles, other.tiles)


def test_each_model_has_its_own_normalisation() -> None:
    white = torch.full((1, 3, 4, 4), 255, dtype=torch.uint8)
    assert normalise(white, 4, HALVES).unique().tolist() == [1.0]
    wanted = [(1 - m) / d for m, d in zip(*IMAGENET, strict=True)]
    found = normalise(white, 4, IMAGENET)[0, :, 0, 0]
    torch.testing.assert_close(found, torch.tensor(wanted))
    pixels = np.full((4, 4, 3), 255, np.uint8)
    np.testing.assert_allclose(normalised(pixels, IMAGENET)[:, 0, 0], wanted, rtol=1e-6)


def test_photographs_are_averaged_when_they_shrink_and_tiles_are_not() -> None:
    """Stripes one pixel wide: PIL's filter averages them away, the tensor's picks."""
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    small = Photo("x", stripes).resized(16)
    assert small.std() < 5
    tensor = torch.from_numpy(stripes[..., :].transpose(2, 0, 1).copy())[None]
    quarter = normalise(torch.cat((tensor[..., 1:], tensor[..., :1]), -1), 16, HALVES)
    assert quarter.std() < 1e-6  # means of two neighbours, by luck of the grid
    fifth = normalise(tensor, 13, HALVES)
    assert fifth.std() > 0.1
    assert Image.fromarray(small).size == (16, 16)


def test_eps_is_the_file_s_or_the_fallback() -> None:
    known = {
        "image_size": 8, "patch_size": 4, "hidden_size": 4, "num_hidden_layers": 1,
        "num_attention_heads": 1, "intermediate_size": 4,
    }  # fmt: skip
    assert ViT(ViTConfig.from_json(known)).norm.eps == 1e-6
    assert ViT(ViTConfig.from_json(known | {"layer_norm_eps": 1e-12})).norm.eps == 1e-12


def test_features_are_standardised_by_the_subset() -> None:
    features = 3 + 2 * normal(50, 6)
    features[:, 5] = 1.0  # a constant feature stays finite
    found = standardised(features, features)
    assert found.mean(0).abs().max() < 1e-5
    torch.testing.assert_close(found[:, :5].std(0), torch.ones(5), atol=1e-3, rtol=0)
    assert torch.isfinite(found).all()


def test_confusion_rows_sum_to_one_and_give_the_accuracy() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), (10, 20, 5, 15))
    found = np.where(rng.random(50) < 0.7, truth, rng.integers(0, 4, 50))
    table = confused(truth, found, list("abcd"))
    sums = table.group_by("truth", maintain_order=True).agg(total=pl.col("share").sum())
    assert sums["total"].to_list() == pytest.approx([1.0] * 4)
    counts = np.bincount(truth)
    diagonal = table.filter(table["truth"] == table["guess"])["share"].to_numpy()
    assert float(diagonal @ counts) / 50 == pytest.approx(float((truth == found).mean()))


def test_intervals_hold_both_chances() -> None:
    low, high = interval([0.8], 5400)
    assert (high - low) / 2 == pytest.approx(1.96 * math.sqrt(0.8 * 0.2 / 5400), rel=1e-4)
    wide = interval([0.6, 0.65, 0.7], 5400)
    assert (wide[1] - wide[0]) / 2 == pytest.approx(
        math.hypot(4.30265 * 0.05 / math.sqrt(3), 1.96 * math.sqrt(0.2275 / 5400)), rel=1e-4
    )
    assert interval([1.0, 1.0], 100)[0] < 1
    # Coverage of trainings that differ, tested on few tiles: 95 of 100.
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(400):
        true = rng.normal(0.8, 0.03, 4)
        shares = rng.binomial(300, np.clip(true, 0, 1)) / 300
        ends = interval(shares, 300)
        inside += ends[0] <= 0.8 <= ends[1]
    assert inside / 400 > 0.93


def answers_of(**shares: np.ndarray) -> pl.DataFrame:
    """Right or wrong of each learner, shape ``(trainings, tiles)``, as `gap` reads them."""
    return pl.concat(
        pl.DataFrame(
            {
                "learner": name,
                "budget": 10,
                "seed": np.repeat(np.arange(right.shape[0]), right.shape[1]),
                "tile": np.tile(np.arange(right.shape[1]), right.shape[0]),
                "right": right.ravel(),
            }
        )
        for name, right in shares.items()
    )


def test_differences_are_taken_seed_by_seed_and_tile_by_tile() -> None:
    one, other = np.zeros((2, 100), bool), np.zeros((2, 100), bool)
    one[0, :80] = one[1, :90] = other[0, :60] = other[1, :70] = True
    value, low, high = gap(answers_of(cnn=one, vit=other), 10, "cnn", "vit")
    assert value == pytest.approx(0.2)
    # Both swing together, so only tiles leave doubt: 10 of them half, 10 whole, 10 half apart.
    of_tile = np.r_[np.zeros(60), np.full(10, 0.5), np.ones(10), np.full(10, 0.5), np.zeros(10)]
    assert (high - low) / 2 == pytest.approx(1.959964 * of_tile.std(ddof=1) / 10, rel=1e-6)
    # Exchanged, they change the sign; equals are one tile apart at most.
    assert gap(answers_of(cnn=one, vit=other), 10, "vit", "cnn") == pytest.approx(
        (-value, -high, -low)
    )
    alike = gap(answers_of(cnn=one, vit=one), 10, "cnn", "vit")
    assert alike == pytest.approx((0, -0.0196, 0.0196), abs=1e-5)


def test_intervals_of_differences_hold_the_planted_one() -> None:
    """Tiles of different difficulty that all trainings share, and trainings that differ."""
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(300):
        hard = rng.normal(0, 1, 200)  # all learners find the same tiles hard
        right = {}
        for name, skill in (("cnn", 0.8), ("vit", 0.3)):
            level = skill + rng.normal(0, 0.15, (3, 1)) + hard + rng.normal(0, 0.8, (3, 200))
            right[name] = level > 0
        _, low, high = gap(answers_of(**right), 10, "cnn", "vit")
        spread = math.sqrt(1 + 0.15**2 + 0.8**2)
        truth = (math.erf(0.8 / spread / math.sqrt(2)) - math.erf(0.3 / spread / math.sqrt(2))) / 2
        inside += low <= truth <= high
    assert inside / 300 > 0.93


def test_accuracies_stand_in_the_order_of_the_publication() -> None:
    rows = [
        {"learner": name, "budget": 10, "seed": seed, "tiles": 100, "steps": 20, "parameters": 5,
         "loss": 0.1, "correct": right, "tested": 100}
        for name, rights in (("shipped", (95, 99)), ("cnn", (80, 90)), ("vit", (60, 70)))
        for seed, right in enumerate(rights)
    ]  # fmt: skip
    table = accuracies(pl.DataFrame(rows))
    assert table["learner"].to_list() == ["vit", "cnn", "shipped"]
    assert table["least"].to_list() == [0.6, 0.8, 0.95]

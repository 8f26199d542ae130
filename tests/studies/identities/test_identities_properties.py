"""Every identity beyond the published sizes: random shapes, seeds and probabilities."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remeasure.studies.identities import (
    albert,
    bart,
    bert,
    counts,
    distilbert,
    gpt,
    roberta,
    t5,
    transformers,
    vit,
    xlnet,
)
from remeasure.studies.identities.attention import (
    Weights,
    encode,
    error_bound,
    rotation,
    self_attention,
)
from remeasure.studies.identities.chains import (
    Floats,
    divergence,
    entropy,
    power_stationary,
    stationary,
    total_variation,
)
from remeasure.studies.identities.estimation import expected_loss, simulated_losses
from remeasure.studies.identities.rounding import gamma
from remeasure.studies.identities.sides import EPS

seeds = st.integers(0, 2**31)
few = settings(max_examples=40, deadline=None)


@st.composite
def chains(draw: st.DrawFn, least: int = 2, most: int = 6) -> Floats:
    """Chains with every probability above a thousandth, so that they mix."""
    states = draw(st.integers(least, most))
    rng = np.random.default_rng(draw(seeds))
    rows = rng.dirichlet(draw(st.floats(0.3, 5.0)) * np.ones(states), size=states)
    return np.asarray(0.99 * rows + 0.01 / states)


# --- Transformers ---------------------------------------------------------------------------


@few
@given(st.integers(2, 300), st.integers(2, 60))
def test_layers_that_relate_two_ends(n: int, width: int) -> None:
    assert transformers.layers_needed(n, width) == transformers.layers_counted(n, width)


@few
@given(st.integers(2, 30), st.integers(1, 40), seeds)
def test_attention_commutes_with_permutations(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights, order = rng.standard_normal((n, d)), Weights.draw(d, rng), rng.permutation(n)
    one, other = transformers.permuted(x, weights, order)
    assert np.abs(one - other).max() <= 2 * error_bound(x, weights)


@few
@given(st.integers(1, 32), st.integers(0, 5000), st.integers(0, 500))
def test_positions_turn(half: int, place: int, offset: int) -> None:
    turned = rotation(offset, 2 * half) @ encode([place], 2 * half)[0]
    there = encode([place + offset], 2 * half)[0]
    assert np.abs(turned - there).max() <= (3 * (2 * place + offset) + 16) * EPS


@few
@given(seeds, st.floats(0.01, 200))
def test_two_forms_of_the_entropy_of_a_softmax(seed: int, scale: float) -> None:
    logits = scale * np.random.default_rng(seed).standard_normal((5, 9))
    one, other = transformers.row_entropies(logits), transformers.row_entropies_by_partition(logits)
    assert np.abs(one - other).max() <= 64 * EPS * max(1.0, float(np.abs(logits).max()))
    assert one.max() <= math.log(9) + 8 * EPS


@few
@given(st.integers(1, 400), st.integers(1, 12), st.integers(1, 64))
def test_attention_macs_do_not_depend_on_heads(n: int, heads: int, size: int) -> None:
    d = heads * size
    assert counts.macs(counts.attention_products(n, d, heads)) == counts.attention_macs(n, d)


@few
@given(st.integers(1, 2000))
def test_blocks_tensor_by_tensor(d: int) -> None:
    assert counts.size(counts.encoder_shapes(d)) == counts.encoder_block(d)
    assert counts.size(counts.decoder_shapes(d)) == counts.decoder_block(d)


def test_heads_do_not_change_torch_layers() -> None:
    import torch

    for d, heads in ((8, 1), (8, 2), (24, 3)):
        layer = torch.nn.TransformerEncoderLayer(d, heads, 4 * d, device="meta")
        assert sum(each.numel() for each in layer.parameters()) == counts.encoder_block(d)


@few
@given(st.integers(1, 4000), st.integers(1, 40))
def test_crossover_with_a_convolution(d: int, kernel: int) -> None:
    for whole in (False, True):
        n = transformers.crossover(d, kernel, whole=whole)
        attention = 2 * n * n * d + (4 * n * d * d if whole else 0)
        assert attention == pytest.approx(n * kernel * d * d, rel=1e-12)


# --- BERT -----------------------------------------------------------------------------------


@few
@given(chains())
def test_two_neighbours_help_and_pinsker_bounds_by_how_much(chain: Floats) -> None:
    law = stationary(chain)
    left, both, known = bert.by_counting(chain, law)
    assert both - left >= -1e-12
    assert both - left <= math.sqrt(max(known, 0) / 2) + 1e-12
    assert bert.left_accuracy(chain, law) == pytest.approx(left, abs=1e-12)
    assert bert.both_accuracy(chain, law) == pytest.approx(both, abs=1e-12)
    assert bert.information(chain, law) == pytest.approx(known, abs=1e-12)


@few
@given(chains())
def test_stationary_law_on_two_routes(chain: Floats) -> None:
    law = stationary(chain)
    assert law == pytest.approx(law @ chain, abs=1e-13)
    assert law == pytest.approx(power_stationary(chain), abs=1e-9)


@few
@given(st.integers(1, 4999))
def test_a_noisy_cycle_gains_nothing_below_five_sixths(part: int) -> None:
    noise = Fraction(part, 6000)
    uniform = [Fraction(1, bert.CYCLE)] * bert.CYCLE
    changed, tied, better = bert.changes(bert.cycle(noise), uniform)
    assert better == 0
    assert changed == tied / 2


def test_a_noisier_cycle_does_gain() -> None:
    uniform = [Fraction(1, bert.CYCLE)] * bert.CYCLE
    *_, better = bert.changes(bert.cycle(Fraction(9, 10)), uniform)
    assert better > 0


# --- GPT ------------------------------------------------------------------------------------


@few
@given(st.integers(2, 12), st.integers(1, 24), st.integers(1, 4), seeds)
def test_causal_stacks_keep_their_prefixes(n: int, d: int, depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = [Weights.draw(d, rng) for _ in range(depth)]
    x = rng.standard_normal((n, d))
    assert gpt.prefix_residuals(x, layers, causal=True).max() <= 1e-10
    assert gpt.prefix_residuals(x, layers, causal=False)[-1] == 0


@few
@given(st.integers(1, 120), st.integers(1, 300))
def test_caches_step_by_step(n: int, d: int) -> None:
    steps = range(1, n + 1)
    assert gpt.uncached(n, d) == sum(counts.attention_macs(t, d) for t in steps)
    assert gpt.cached(n, d) == sum(4 * d * d + 2 * t * d for t in steps)


@few
@given(chains(most=6), st.floats(0.001, 0.9), seeds)
def test_drift_ends_at_the_distance_of_the_stationary_laws(
    chain: Floats, share: float, seed: int
) -> None:
    other = np.random.default_rng(seed).dirichlet(np.ones(len(chain)), size=len(chain))
    learned = (1 - share) * chain + share * other
    found = gpt.drift(chain, learned, 3000)
    limit = float(total_variation(stationary(learned), stationary(chain)))
    assert found[-1] == pytest.approx(limit, abs=1e-10)
    assert found[0] <= total_variation(learned, chain).max() + 1e-15
    assert limit == pytest.approx(
        gpt.worst_event(stationary(learned), stationary(chain)), abs=1e-14
    )


@few
@given(seeds, st.floats(0.05, 0.99), st.floats(0.1, 5))
def test_fewest_tokens_with_and_without_sorting(seed: int, share: float, scale: float) -> None:
    law = np.random.default_rng(seed).dirichlet(scale * np.ones(200))
    count = gpt.fewest(law, share)
    assert count == gpt.fewest_by_threshold(law, share)
    top = np.sort(law)[::-1]
    assert top[:count].sum() >= share - 1e-12 > top[: count - 1].sum() - 2e-12


# --- T5 -------------------------------------------------------------------------------------


@few
@given(st.integers(1, 90), st.integers(1, 90), st.integers(1, 9))
def test_score_entries_by_masks(m: int, k: int, outputs: int) -> None:
    counted = t5.masks_counted(m, k)
    assert counted == (t5.encoder_decoder(m, k), t5.decoder_only(m, k))
    assert t5.reuse_counted(m, k, outputs) == t5.reused(m, k, outputs)
    assert Fraction(1) <= t5.ratio(m, k) < 2
    assert t5.reused(m, k, outputs + 1) <= t5.reused(m, k, outputs)


@few
@given(st.integers(0, 100_000), st.sampled_from([8, 16, 32, 64]))
def test_buckets_in_integers_are_monotone_and_bounded(distance: int, buckets: int) -> None:
    found = t5.bucket(distance, buckets)
    assert found == t5.bucket_in_integers(distance, buckets)
    assert 0 <= found <= t5.bucket(distance + 1, buckets) < buckets


# --- BART -----------------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(chains(most=3), st.integers(3, 5))
def test_masking_is_never_worse_than_deletion(chain: Floats, length: int) -> None:
    states = len(chain)
    masking, deletion = bart.accuracies(chain, bart.documents(states, length, bart.CORRUPTED))
    assert masking >= deletion - 1e-12
    assert masking == pytest.approx(bart.masking_by_maxima(chain, states, length), abs=1e-12)
    one_by_one = bart.deletion_one_by_one(chain, states, length)
    assert deletion == pytest.approx(one_by_one, abs=1e-12)


@few
@given(st.integers(0, 300), st.integers(0, 300))
def test_bits_against_exact_integers(n: int, k: int) -> None:
    assume(k <= n)
    exact = math.log2(math.comb(n, k))
    assert bart.log2_choose(n, k) == pytest.approx(exact, abs=1e-9)


# --- XLNet ----------------------------------------------------------------------------------


@few
@given(chains(most=3), st.permutations(range(4)))
def test_a_joint_law_factorises_in_any_order(chain: Floats, order: list[int]) -> None:
    joint = xlnet.joint_law(chain, 4)
    error = np.abs(xlnet.refactored(joint, tuple(order)) / joint - 1).max()
    assert error <= 8 * gamma(joint.size)


@few
@given(st.integers(1, 6), st.integers(2, 6), seeds)
def test_a_mixture_loses_the_mean_divergence(targets: int, states: int, seed: int) -> None:
    laws = np.random.default_rng(seed).dirichlet(np.ones(states), size=targets)
    loss = xlnet.excess(laws)
    assert loss == pytest.approx(float(divergence(laws, laws.mean(axis=0)).mean()), abs=1e-13)
    assert -1e-14 <= loss <= float(entropy(laws.mean(axis=0))) + 1e-14


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 10), st.integers(1, 24), seeds)
def test_the_query_stream_is_blind_bit_by_bit(tokens: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = xlnet.TwoStreams.draw(tokens, width, rng)
    moved = model.content[-1] + rng.standard_normal((20, width)) * 10.0 ** rng.integers(-6, 3)
    blind, seeing, _ = model.streams(moved)
    still, before, _ = model.streams(model.content[-1])
    assert (blind == still).all()
    assert (np.abs(seeing - before).max(axis=1) > 0).all()


@few
@given(st.integers(1, 60), st.integers(1, 12))
def test_mean_context_over_the_ranks(per: int, parts: int) -> None:
    n = per * parts
    ranks = range(n - per, n)
    assert xlnet.mean_context(n, parts) == Fraction(sum(ranks), per)


# --- RoBERTa and DistilBERT -----------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(chains(most=5), st.integers(5, 400), seeds)
def test_expected_loss_against_simulation(chain: Floats, size: int, seed: int) -> None:
    law = stationary(chain)
    losses = simulated_losses(chain, law, size, 4000, np.random.default_rng(seed))
    error = losses.std(ddof=1) / math.sqrt(losses.size)
    assert abs(expected_loss(chain, law, size) - losses.mean()) <= 6 * error + 1e-12


@few
@given(st.integers(1, 7))
def test_noise_of_a_batch(size: int) -> None:
    assert roberta.mean_variance(size) == Fraction(1, size)


@few
@given(seeds, st.floats(0.3, 30), st.integers(2, 12))
def test_soft_gradient_against_differences(seed: int, tau: float, classes: int) -> None:
    student, teacher = 2 * np.random.default_rng(seed).standard_normal((2, classes))
    exact = distilbert.gradient(student, teacher, tau)
    step = 1e-4 * tau
    found = distilbert.differences(student, teacher, tau, step)
    assert np.abs(found - exact).max() <= 1e-8
    assert abs(exact.sum()) <= 64 * EPS / tau


@few
@given(seeds, st.floats(0.3, 8), st.floats(0.5, 20))
def test_only_the_ratio_of_logits_and_temperature_counts(
    seed: int, tau: float, scale: float
) -> None:
    student, teacher = np.random.default_rng(seed).standard_normal((2, 6))
    one = distilbert.gradient(student, teacher, tau)
    other = scale * distilbert.gradient(scale * student, scale * teacher, scale * tau)
    assert one == pytest.approx(other, rel=1e-9, abs=1e-14)


@settings(max_examples=15, deadline=None)
@given(chains(most=3), st.integers(1, 5))
def test_chance_of_seeing_every_state_over_every_path(chain: Floats, size: int) -> None:
    law, states = stationary(chain), len(chain)
    total = avoided = 0.0
    for code in range(states**size):
        path = [code // states**i % states for i in range(size)]
        chance = law[path[0]] * np.prod([chain[a, b] for a, b in pairwise(path)])
        total += chance * (len(set(path)) == states)
        avoided += chance * (0 not in path)
    assert distilbert.all_seen(chain, law, size) == pytest.approx(total, abs=1e-12)
    assert distilbert.unseen(chain, law, (0,), size) == pytest.approx(avoided, abs=1e-12)


# --- ALBERT and the Vision Transformer ------------------------------------------------------


@few
@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 3000))
def test_factoring_saves_below_its_break_even(words: int, width: int, bottleneck: int) -> None:
    gain = albert.saved(words, width, bottleneck)
    assert gain == albert.saved_by_tables(words, width, bottleneck)
    assert (gain > 0) == (bottleneck < albert.breakeven(words, width))


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 24), st.integers(0, 1000))
def test_a_contraction_rests_at_one_point(width: int, seed: int) -> None:
    layers = albert.Layers.draw(0.3, width, seed)
    size = np.linalg.norm(layers.first[0], 2) * np.linalg.norm(layers.second[0], 2)
    assume(size < 0.9)
    point, _ = albert.rest(layers)
    assert np.abs(layers.apply(point, 0) - point).max() <= 1e-11
    assert point == pytest.approx(albert.solved(layers), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.sampled_from([2, 3, 4, 8]), st.integers(1, 20), seeds)
def test_embedding_patches_is_a_convolution(grid: int, patch: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = rng.standard_normal((3, grid * patch, grid * patch))
    table = rng.standard_normal((3 * patch**2, d))
    bound = 2 * gamma(len(table)) * vit.embed(np.abs(image), np.abs(table), patch).max()
    apart = np.abs(vit.embed(image, table, patch) - vit.convolve(image, table, patch)).max()
    assert apart <= bound


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 20), st.integers(2, 24), seeds)
def test_class_token_ignores_the_order_of_patches(count: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, layers = rng.standard_normal((count + 1, d)), [Weights.draw(d, rng) for _ in range(2)]
    moved = vit.shuffled(x, rng.permutation(count))
    assert np.abs(vit.read_out(x, layers) - vit.read_out(moved, layers)).max() <= 1e-11
    assert np.abs(self_attention(x, layers[0]).mean(axis=0)
                  - self_attention(moved, layers[0]).mean(axis=0)).max() <= 1e-12  # fmt: skip


@few
@given(st.integers(2, 70), st.integers(2, 5))
def test_receptive_fields_by_following_dependencies(side: int, kernel: int) -> None:
    plain = vit.counted_layers(side, strided=False, kernel=kernel)
    strided = vit.counted_layers(side, strided=True, kernel=kernel)
    assert (plain, strided) == (vit.plain_layers(side, kernel), vit.strided_layers(side, kernel))

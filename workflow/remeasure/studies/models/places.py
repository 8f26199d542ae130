"""Where tokens stand: buckets of distances, rotary frequencies and their stretches, windows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import torch
from torch import Tensor

from remeasure.nn.layers.cache import window_mask
from remeasure.nn.layers.positions import deberta_buckets, t5_buckets
from remeasure.nn.layers.rotary import frequencies
from remeasure.nn.layers.stretch import (
    Rope,
    linear,
    llama3,
    ntk,
    ntk_base,
    turns_made,
    yarn,
    yarn_by_turns,
    yarn_pair,
    yarn_ramp,
    yarn_scale,
)
from remeasure.nn.models.llama import TINYLLAMA
from remeasure.nn.models.modernbert import MODERNBERT_BASE
from remeasure.studies.models.published import Answer, Rules

#: What TinyLlama was trained on, and how much further the card stretches it.
TRAINED, STRETCH = 2048, 8.0
HEAD = TINYLLAMA.width // TINYLLAMA.heads
THETA = TINYLLAMA.rope.theta

#: A distance far beyond the training length that the card draws.
FAR = 16_000


def whole_numbers(condition: str) -> list[int]:
    """Whole numbers of a condition, in order; a minus belongs to its number.

    >>> whole_numbers("key minus query = -300"), whole_numbers("distances 8 to 11")
    ([-300], [8, 11])
    """
    return [int(found) for found in re.findall(r"-?\d+", condition)]


def numbers(condition: str) -> list[float]:
    """Numbers of a condition, in order, powers of ten too.

    >>> numbers("head 128, base 5e5, window 8192, of 64")
    [128.0, 500000.0, 8192.0, 64.0]
    """
    return [float(found) for found in re.findall(r"\d+(?:\.\d+)?(?:e\d+)?", condition)]


# --- buckets --------------------------------------------------------------------------------


def t5_bucket(distance: int, *, both_sides: bool) -> int:
    """Bucket of one distance, key minus query."""
    return int(t5_buckets(torch.tensor(distance), both_sides=both_sides))


def shared_bucket(condition: str, *, sign: int, both_sides: bool) -> int | Answer:
    """The bucket of a range of distances on one side; no value where it is not one bucket.

    Parameters
    ----------
    condition
        ``distance 3``, ``distances 8 to 11``, ``distances 91 to inf`` or ``any distance``.
    sign
        -1: keys to the left of the query.
    """
    ends = whole_numbers(condition) or [0]
    last = 10 * ends[0] + 1000 if "inf" in condition or "any" in condition else ends[-1]
    found = t5_buckets(sign * torch.arange(ends[0], last + 1), both_sides=both_sides)
    buckets = sorted(set(found.tolist()))
    if len(buckets) != 1:
        return Answer(None, f"these distances lie in the buckets {buckets}")
    own = int(buckets[0])
    # A range is the whole bucket: its neighbours lie elsewhere, except distance 0 on the right.
    edges = [ends[0] - 1, *([] if "inf" in condition else [last + 1])]
    if "any" not in condition and len(ends) + ("inf" in condition) > 1:
        near = t5_buckets(sign * torch.tensor(edges), both_sides=both_sides)
        if bool((near == own).any()):
            return Answer(None, "the bucket is wider than this range")
    return own


def _t5_side(condition_side: str) -> dict[str, Callable[[str], int | Answer]]:
    both = condition_side == "encoder"
    out: dict[str, Callable[[str], int | Answer]] = {}
    for side, sign in (
        ("key to the left (or same)", -1),
        ("key to the left", -1),
        ("key to the right", 1),
    ):
        out[f"{condition_side} bucket, {side}"] = lambda condition, sign=sign: shared_bucket(  # type: ignore[misc]
            condition, sign=sign, both_sides=both
        )
    return out


def _t5() -> dict[str, Rules]:
    buckets, furthest = 32, 128
    # Keys on one side of the encoder: which distances have a bucket of their own.
    left = t5_buckets(-torch.arange(0, furthest + 1))
    behind = t5_buckets(-torch.arange(0, furthest + 1), both_sides=False)
    alone, alone_behind = (_own_buckets(each) for each in (left, behind))
    half = buckets // 2
    return {
        "t5_tab_position_buckets": {
            "encoder bucket": lambda at: t5_bucket(whole_numbers(at)[0], both_sides=True),
            "decoder bucket": lambda at: t5_bucket(whole_numbers(at)[0], both_sides=False),
        },
        "t5_fig_bucket_map": {**_t5_side("encoder"), **_t5_side("decoder")},
        "t5_stat_bucket_formula": {
            "number of buckets": int(t5_buckets(torch.arange(-furthest, furthest + 1)).max()) + 1,
            "maximum distance": furthest,
            "exact distances per half, encoder": alone,
            "far buckets per half, encoder": half - alone,
            "exact distances, decoder": alone_behind,
            "far buckets, decoder": buckets - alone_behind,
            "growth of far bucket width, encoder": (furthest / alone) ** (1 / (half - alone)),
            "last encoder bucket starts at distance": int((left == left.max()).nonzero()[0]),
            "encoder bucket of distance 64 (left); prose says it shares a bucket with 100": (
                t5_bucket(-64, both_sides=True)
            ),
            "encoder bucket of distance 100 (left)": t5_bucket(-100, both_sides=True),
            "decoder bucket of distance 100": t5_bucket(-100, both_sides=False),
        },
    }


def _own_buckets(buckets: Tensor) -> int:
    """How many distances from 0 on have a bucket of their own."""
    counts = torch.bincount(buckets)
    return int((counts != 1).nonzero()[0])


def _deberta() -> dict[str, Rules]:
    return {
        "modernbert_fig_buckets": {
            "bucket": lambda at: int(deberta_buckets(torch.tensor(whole_numbers(at)[0])))
        }
    }


def _pairs() -> dict[str, Rules]:
    def share(length: int) -> float:
        everything = MODERNBERT_BASE.layers * length * length
        return MODERNBERT_BASE.pairs(length) / everything

    return {
        "modernbert_tab_attended_pairs": {
            "attended pairs, printed": lambda at: MODERNBERT_BASE.pairs(whole_numbers(at)[0]) / 1e6,
            "attended pairs, full": lambda at: MODERNBERT_BASE.pairs(whole_numbers(at)[0]),
            "share of all-global, printed": lambda at: 100 * share(whole_numbers(at)[0]),
            "share of all-global, full": lambda at: share(whole_numbers(at)[0]),
        }
    }


# --- rotary positions -----------------------------------------------------------------------


def precise(width: int = HEAD, theta: float = THETA) -> Tensor:
    """Frequencies in double precision: some rows print more digits than single precision has."""
    return frequencies(width, theta, torch.float64)


def turns(width: int = HEAD, theta: float = THETA, trained: int = TRAINED) -> Tensor:
    """Turns that each pair makes over the training length, double precision."""
    return turns_made(precise(width, theta), trained)


#: By the card's name, frequencies of a head of TinyLlama that reads eight times further.
STRETCHES: dict[str, Callable[[], Tensor]] = {
    "PI": lambda: linear(precise(), STRETCH),
    "NTK": lambda: ntk(HEAD, THETA, STRETCH),
    "YaRN": lambda: yarn(HEAD, THETA, STRETCH, TRAINED),
    "YaRN paper": lambda: yarn_by_turns(precise(), STRETCH, TRAINED),
    "Llama 3.1": lambda: llama3(precise(), STRETCH, TRAINED),
}


def slower(condition: str) -> float:
    """New over old frequency, of the rule and pair that a condition names.

    >>> slower("PI, pair 3, TinyLlama, s = 8")
    0.125
    """
    rule, pair, _ = condition.split(", ", 2)
    number = whole_numbers(pair)[0]
    return float(STRETCHES[rule]()[number].double() / precise()[number])


def _degrees(pair: str, distance: int, *, stretched: bool = False) -> float:
    number = whole_numbers(pair)[0]
    turn = precise()[number]
    if stretched:
        # The deployed rule's weight, in double precision on the old frequency.
        turn = turn * (yarn(HEAD, THETA, STRETCH, TRAINED) / frequencies(HEAD, THETA))[number]
    return math.degrees(float(turn) * distance)


def _turn(pair: str) -> float:
    return float(turns()[whole_numbers(pair)[0]])


def _shown(pair: str) -> float:
    return min(_degrees(pair, TRAINED), 360.0)


def _slow(condition: str) -> int:
    """Pairs that never finish a turn over the training length."""
    width, theta, trained, _ = numbers(condition)
    return int((turns(int(width), theta, int(trained)) < 1).sum())


def _ramp(place: int) -> Callable[[str], int]:
    def end(condition: str) -> int:
        width, theta, trained = numbers(condition)
        return yarn_ramp(int(width), theta, int(trained))[place]

    return end


def _pair(made: float) -> Callable[[str], float]:
    def pair(condition: str) -> float:
        width, theta, trained = numbers(condition)
        return yarn_pair(int(width), theta, int(trained), made)

    return pair


def _reach(condition: str) -> float:
    """Tokens after which the first slow pair, slowed by NTK, has turned as far as in training."""
    factor = numbers(condition)[0]
    first = int((turns() < 1).nonzero()[0])
    stretched = float(ntk(HEAD, THETA, factor)[first])
    return TRAINED * float(precise()[first]) / stretched


def _rotary() -> dict[str, Rules]:
    default = Rope(kind="yarn", theta=THETA, factor=STRETCH, trained=TRAINED)
    shown = "largest angle shown in training (capped at 360)"
    return {
        "longcontext_stat_turns": {
            "turns in training (printed)": _turn,
            "pairs that never finished a turn": int((turns() < 1).sum()),
            "pairs below one turn": _slow,
        },
        "longcontext_fig_hero_dials": {"turns in training (full precision)": _turn},
        "longcontext_fig_clocks": {"turns in training (panel title)": _turn},
        "longcontext_stat_clock_angles": {
            shown: _shown,
            "angle at distance 16,000": lambda pair: _degrees(pair, FAR),
        },
        "longcontext_stat_clock_angles_yarn": {
            shown: _shown,
            "angle at distance 16,000, unstretched": lambda pair: _degrees(pair, FAR),
            "angle at distance 16,000 after YaRN 8x": lambda pair: _degrees(
                pair, FAR, stretched=True
            ),
        },
        "longcontext_stat_pi_neighbour": {
            "angle between neighbours, fastest pair": lambda which: float(
                (precise() if which == "unstretched" else STRETCHES["PI"]())[0]
            )
        },
        "longcontext_stat_ntk_base": {"new RoPE base": ntk_base(HEAD, THETA, STRETCH)},
        "longcontext_fig_frequency_ratios": {"new frequency / old (computed)": slower},
        "longcontext_fig_passkey": {
            "length up to which the first slow pair (21) stays inside trained angles": _reach
        },
        "longcontext_stat_yarn_params": {
            "beta (fast turns)": default.fast,
            "alpha (slow turns)": default.slow,
            "real index making 32 turns": _pair(default.fast),
            "real index making 1 turn": _pair(default.slow),
            "first (last kept pair)": _ramp(0),
            "last (first fully stretched pair)": _ramp(1),
            "scale on q and on k": lambda at: yarn_scale(numbers(at)[0]),
            "multiplier of the logits (scale squared)": lambda at: yarn_scale(numbers(at)[0]) ** 2,
        },
    }


# --- windows --------------------------------------------------------------------------------


def spans(window: int, layers: int) -> list[int]:
    """How many tokens reach the last one, itself included, after each windowed layer.

    >>> spans(4, 3)
    [4, 7, 10]
    """
    length = window * layers + 1
    places = torch.arange(length).unsqueeze(0)
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    step = (window_mask(places, places, window)[0, 0] & causal).double()
    reached, out = torch.eye(length, dtype=torch.float64), []
    for _ in range(layers):
        reached = step @ reached
        out.append(int((reached[-1] > 0).sum()))
    return out


def _windows() -> dict[str, Rules]:
    return {
        "qwen3_fig_window": {
            "span after 1, 2, 3 local layers": lambda at: ", ".join(
                map(str, spans(whole_numbers(at)[0], 3))
            )
        }
    }


def rules() -> dict[str, Rules]:
    """Answers to rows of the cards `modernbert`, `t5`, `qwen3` and `longcontext`."""
    return {**_t5(), **_deberta(), **_pairs(), **_rotary(), **_windows()}

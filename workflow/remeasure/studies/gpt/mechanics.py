"""What holds for GPT-2 whatever its weights: attention, cache, sizes, initial spreads, rates."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from remeasure.ledger.measurement import Measurement
from remeasure.nn.generate.greedy import greedy
from remeasure.nn.layers.attention import attend
from remeasure.nn.models.gpt2 import GPT2, GPT2_SMALL, GPT2Config, initialise
from remeasure.nn.train.schedules import warmup_cosine
from remeasure.nn.weightless import Weightless
from remeasure.store.frames import write_json
from remeasure.studies.gpt import article
from remeasure.studies.gpt.published import answer, keys, measurement

#: Random inputs on which both forms of attention are compared.
DRAWS = 200

#: A model as deep as GPT-2 and narrow, for what no weight decides.
DEEP = GPT2Config(vocabulary=512, context=128, width=64, layers=12, heads=4)

ASKED = (
    *keys("stat_attention_check"),
    *keys("stat_gpt2_load", "parameters loaded"),
    *keys("stat_cache_equal"),
    *keys("fig_logit_lens", "states shown"),
    *keys("stat_chess_params", "initial standard deviation"),
    *keys("stat_chess_params", "initial standard deviation of output matrices"),
    *keys("tab_training_log", "final learning rate, fraction of the peak"),
)


def attention_gaps(draws: int = DRAWS, seed: int = article.SEED) -> Tensor:
    """Largest difference between written-out and fused causal attention, a number a draw.

    The shape is the published one, (1, 2, 5, 4), standard normal; shape ``(draws,)``.
    """
    generator = torch.Generator().manual_seed(seed)
    gaps = []
    for _ in range(draws):
        query, key, value = torch.randn(3, 1, 2, 5, 4, generator=generator)
        written = attend(query, key, value, causal=True, explicit=True)
        fused = attend(query, key, value, causal=True)
        gaps.append((written - fused).abs().max())
    return torch.stack(gaps)


@torch.inference_mode()
def uncached(model: GPT2, ids: list[int], tokens: int) -> list[int]:
    """The greedy continuation, the whole text read again for every token."""
    text = list(ids)
    for _ in range(tokens):
        text.append(int(model(torch.tensor([text]))[0, -1].argmax()))
    return text[len(ids) :]


def same_tokens(model: GPT2, ids: list[int], tokens: int) -> bool:
    """Whether the greedy continuation is the same with a cache and without."""
    with_cache = greedy(model, [ids], new_tokens=tokens, end=-1)[0]
    return with_cache == uncached(model, ids, tokens)


def learned(config: GPT2Config) -> int:
    """Parameters of a built model; none of its numbers is ever stored."""
    with Weightless():
        model = GPT2(config)
    return sum(each.numel() for each in model.parameters())


def spreads() -> tuple[float, float]:
    """Standard deviations of fresh weights of the published chess model: most, and output maps."""
    sizes = article.CHESS
    model = GPT2(GPT2Config(**sizes._asdict()))
    initialise(model, article.SEED)
    named = dict(model.named_parameters())
    outputs = [each for name, each in named.items() if _writes(name)]
    others = [each for name, each in named.items() if each.ndim == 2 and not _writes(name)]
    most, output = (
        torch.cat([each.detach().flatten() for each in group]).std() for group in (others, outputs)
    )
    return float(most), float(output)


def _writes(name: str) -> bool:
    """Whether a weight writes into the residual stream."""
    return name.endswith(("attention.out.weight", "mlp.down.weight"))


def measure_mechanics(*, summary: Path) -> list[Measurement]:
    """Step: attention, cache, sizes, initial spreads and rates.

    Parameters
    ----------
    summary
        Output, JSON: what was found.
    """
    model = GPT2(DEEP).eval()
    initialise(model, article.SEED)
    # GPT-2's own prompt has 19 tokens; a random model takes any.
    ids = torch.randint(
        DEEP.vocabulary, (19,), generator=torch.Generator().manual_seed(article.SEED)
    ).tolist()
    most, output = spreads()
    rate = warmup_cosine(article.RATE, article.STEPS, warm=article.WARM_UP, floor=article.FLOOR)
    with torch.inference_mode():
        states = len(model.states(torch.tensor([ids])))
    gaps = attention_gaps()
    found = {
        "attention_gap": float(gaps.median()),
        "low": float(gaps.quantile(0.025)),
        "high": float(gaps.quantile(0.975)),
        "parameters": learned(GPT2_SMALL),
        "same_tokens": same_tokens(model, ids, article.GREEDY_TOKENS),
        "states": states,
        "spread": most,
        "output_spread": output,
        "last_rate": rate(article.STEPS - 1) / article.RATE,
    }
    write_json(found, summary)
    return answer(_answers(found), ASKED, "")


def _answers(found: dict[str, float | int | bool]) -> Iterator[Measurement]:
    values = (
        found["attention_gap"],
        found["parameters"],
        str(found["same_tokens"]),
        found["states"],
        found["spread"],
        found["output_spread"],
        found["last_rate"],
    )
    notes = (
        f"median of {DRAWS} random draws on the CPU, and 95% of them; each is rounding",
        "a model of these sizes, built",
        "a random model as deep as GPT-2 and 64 wide",
        "of that model",
        "of fresh weights of the published size",
        "of fresh weights of the published size",
        "at the last of 3,400 steps",
    )
    for key, value, note in zip(ASKED, values, notes, strict=True):
        own = key[0] == "stat_attention_check"
        low, high = (found["low"], found["high"]) if own else (None, None)
        yield measurement(key, value, low=low, high=high, n=DRAWS if own else None, note=note)

"""Sizes of decoders: configurations, parameters by part, parameters a token meets."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace

from remeasure.nn.checkpoints.loading import published_names
from remeasure.nn.checkpoints.stacked import unstack_experts
from remeasure.nn.models.minicpm3 import MINICPM3_4B
from remeasure.nn.models.olmoe import NAMES as OLMOE_NAMES
from remeasure.nn.models.olmoe import OLMOE_1B_7B
from remeasure.nn.models.qwen3 import QWEN3_0_6B
from remeasure.nn.models.t5 import T5_BASE, T5_SMALL
from remeasure.studies.models.catalogue import counted, model, shapes
from remeasure.studies.models.published import Rules

#: The card's names of GPT-2 and its relatives, and ours.
_FAMILY = {
    "gpt2": "GPT-2",
    "gpt2-medium": "GPT-2 medium",
    "gpt2-large": "GPT-2 large",
    "gpt2-xl": "GPT-2 XL",
}

#: The matrices of a block that an adapter of rank r gets: r numbers a row and a column.
_ADAPTED = re.compile(r"\.(attention\.[qkvo]|mlp\.(gate|up|down))\.weight$")
RANK = 16

#: Bytes of a number in 16 bits.
HALF = 2


def qwen3_part(name: str) -> str:
    """The part of Qwen3 that a parameter belongs to, as the card names them.

    >>> qwen3_part("blocks.0.attention.q_norm.weight"), qwen3_part("norm.weight")
    ('QK-norm', 'other norms')
    """
    if name.startswith("embed."):
        return "embeddings (tied)"
    if "norm" in name:
        return "QK-norm" if ".attention." in name else "other norms"
    return "attention" if ".attention." in name else "feed-forward"


def _qwen3_parts() -> Counter[str]:
    parts: Counter[str] = Counter()
    for name, shape in shapes("Qwen3 0.6B").items():
        parts[qwen3_part(name)] += math.prod(shape)
    return parts


def adapter(rank: int) -> int:
    """Numbers of low-rank adapters on all matrices of Qwen3 0.6B's blocks (Hu et al. 2021)."""
    return sum(
        rank * sum(shape) for name, shape in shapes("Qwen3 0.6B").items() if _ADAPTED.search(name)
    )


def touched(batch: int) -> float:
    """Experts of a block that a batch needs if every token chooses evenly.

    >>> touched(1), touched(2)
    (8.0, 15.0)
    """
    share = OLMOE_1B_7B.chosen / OLMOE_1B_7B.experts
    return OLMOE_1B_7B.experts * (1 - (1 - share) ** batch)


def kept(experts: int) -> float:
    """Gigabytes of OLMoE with so many experts a block, in 16 bits."""
    return replace(OLMOE_1B_7B, experts=experts).parts()["experts"] * HALF / 1e9 + (
        (OLMOE_1B_7B.parameters() - OLMOE_1B_7B.parts()["experts"]) * HALF / 1e9
    )


def _expert_tensors() -> int:
    tensors = unstack_experts(published_names(model("OLMoE 1B-7B"), OLMOE_NAMES))
    return sum(".experts." in name for name in tensors)


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _number(condition: str) -> int:
    """The first whole number in a condition."""
    found = re.search(r"\d+", condition)
    if found is None:
        raise ValueError(f"{condition!r} names no number")
    return int(found[0])


def rules() -> dict[str, Rules]:
    """Answers to rows of the cards `gpt`, `t5`, `qwen3`, `moe` and `kvcache`."""
    return {**_gpt(), **_qwen3(), **_moe(), **_minicpm3(), **_t5()}


def _gpt() -> dict[str, Rules]:
    return {
        "gpt_tab_param_formula": {
            "by the formula": lambda name: counted(_FAMILY[name]),
            "GPT-1 parameters without a final norm (computed)": counted("GPT-1"),
        },
        "gpt_stat_weight_tying": {"parameters saved": math.prod(shapes("GPT-2")["embed.weight"])},
        "gpt_stat_chess_params": {"parameters, exact (computed)": counted("chess GPT")},
        "gpt_stat_karvonen_load": {
            "parameters in our class incl. zero biases (computed)": counted(
                "chess GPT of Karvonen, with biases"
            ),
            "parameters without biases (computed)": counted("chess GPT of Karvonen"),
        },
    }


def _qwen3() -> dict[str, Rules]:
    config, parts, total = QWEN3_0_6B, _qwen3_parts(), counted("Qwen3 0.6B")
    return {
        "qwen3_stat_qwen3_config": {
            "hidden_size": config.width,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.groups,
            "head_dim": config.head,
            "intermediate_size": config.hidden,
            "vocab_size": config.vocabulary,
            "rope_theta": config.rope.theta,
            "rms_norm_eps": config.eps,
            "tie_word_embeddings": str(config.tied),
        },
        "qwen3_fig_passport": {
            "query heads": config.heads,
            "KV heads": config.groups,
            "head size": config.head,
            "rotary base": config.rope.theta,
            "feed-forward width": config.hidden,
            "vocabulary rows": config.vocabulary,
        },
        "qwen3_tab_params": {
            "parameters": parts.__getitem__,
            "share": lambda part: _percent(parts[part] / total),
            "total parameters": total,
        },
        "qwen3_stat_stability": {
            "parameters of the small model, plain or soft-cap": counted("small decoder"),
            "parameters of the small model, QK-norm": counted("small decoder, normed"),
        },
        "qwen3_stat_lora_train": {
            "trained parameters": adapter(RANK),
            "trained over frozen": f"{adapter(RANK) / total:.2%}",
            "frozen parameters": total,
        },
        "qwen3_stat_merge": {"parameters after merging": total},
    }


def _moe() -> dict[str, Rules]:
    config, parts, total = OLMOE_1B_7B, OLMOE_1B_7B.parts(), counted("OLMoE 1B-7B")
    named = {"embeddings and output": "embeddings"}
    return {
        "moe_fig_hero": {"experts idle for one token": config.experts - config.chosen},
        "moe_stat_olmoe_config": {
            "hidden_size": config.width,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.groups,
            "num_experts": config.experts,
            "num_experts_per_tok": config.chosen,
            "intermediate_size": config.hidden,
            "vocab_size": config.vocabulary,
            "norm_topk_prob": str(config.renormalise),
            "tie_word_embeddings": str(config.tied),
            "rope_theta": config.rope.theta,
            "rms_norm_eps": config.eps,
            "expert tensors in the checkpoint": _expert_tensors(),
            "head size": config.width // config.heads,
        },
        "moe_tab_params": {
            "parameters": lambda part: parts[named.get(part, part)],
            "share": lambda part: _percent(parts[named.get(part, part)] / total),
            "total parameters": total,
        },
        "moe_stat_active": {
            "parameters used for one token": config.active(),
            "share of parameters used for one token": f"{config.active() / total:.0%}",
        },
        "moe_fig_prune": {"model size in 16-bit weights": lambda which: kept(_number(which))},
        "moe_fig_touched": {
            "experts touched per layer, uniform formula": lambda which: touched(_number(which)),
            "experts touched at batch 1": touched(1),
        },
        "moe_stat_downloads": {
            "weights in 16-bit": lambda which: (
                total * HALF / {"decimal": 1e9, "binary": 2**30}[which]
            )
        },
    }


def _minicpm3() -> dict[str, Rules]:
    config = MINICPM3_4B
    return {
        "kvcache_tab_minicpm3_config": {
            "hidden_size": config.width,
            "num_hidden_layers": config.layers,
            "num_attention_heads": config.heads,
            "kv_lora_rank": config.rank,
            "q_lora_rank": config.query_rank,
            "qk_nope_head_dim": config.nope,
            "qk_rope_head_dim": config.rotary,
            "intermediate_size": config.hidden,
            "vocab_size": config.vocabulary,
            "scale_emb": config.embedding_scale,
            "scale_depth": config.depth_scale,
            "dim_model_base": config.base_width,
            "v_head_dim (absent from the config)": config.value,
            "residual branch scale": config.depth_scale / math.sqrt(config.layers),
            "logit divisor": config.width / config.base_width,
            "parameters from the shapes (tied output)": counted("MiniCPM3 4B"),
        }
    }


def _t5() -> dict[str, Rules]:
    tables = [shape for name, shape in shapes("T5 small").items() if name.endswith(".table.weight")]
    return {
        "t5_fig_encdec": {"layers of t5-small per side": T5_SMALL.encoder},
        "t5_stat_position_numbers": {
            "learned position numbers of t5-small": sum(map(math.prod, tables)),
            "learned position numbers of GPT-2": math.prod(shapes("GPT-2")["place.weight"]),
        },
        "t5_stat_logit_scale": {
            "factor by which logits grow without the rescaling, t5-small": math.sqrt(
                T5_SMALL.width
            ),
            "factor by which scores shrink with an unwanted sqrt(d_k)": math.sqrt(T5_SMALL.head),
        },
        "t5_stat_t5_small_params": {
            "parameters, printed": counted("T5 small") / 1e6,
            "parameters, exact": counted("T5 small"),
        },
        "t5_stat_bart": {
            "parameters of bart-base, closed form (not in the article)": counted("BART base")
        },
        "t5_stat_t5_base_params": {
            "parameters, printed": counted("T5 base") / 1e6,
            "parameters, exact": counted("T5 base"),
            "layers per side": T5_BASE.encoder,
            "width": T5_BASE.width,
        },
    }

"""Sizes of encoders: configurations, parameters by part, and what a layer sees."""

from __future__ import annotations

import math

from remeasure.nn.models.bert import BERT_BASE, BertConfig
from remeasure.nn.models.modernbert import MODERNBERT_BASE
from remeasure.nn.models.roberta import ROBERTA_BASE
from remeasure.studies.models.catalogue import counted, shapes
from remeasure.studies.models.published import Rules

#: Rows of the two smaller tables and the norm over them, by our names.
_PLACES = ("positions", "segments", "norm")


def bert_part(name: str) -> str:
    """The part of BERT that a parameter belongs to, as the card names them.

    >>> bert_part("encoder.blocks.3.attention_norm.bias"), bert_part("words.bias")
    ('attention, 12 layers', 'pre-training heads')
    """
    owner, _, rest = name.partition(".")
    if owner == "pooler":
        return "pooler"
    if owner != "encoder":
        return "pre-training heads"
    part = rest.split(".")[0]
    if part == "words":
        return "word embeddings"
    if part in _PLACES:
        return "positions, segments, norm"
    attends = rest.split(".")[2].startswith("attention")
    return "attention, 12 layers" if attends else "feed-forward, 12 layers"


def _bert_parts() -> dict[str, int]:
    out: dict[str, int] = {}
    for name, shape in shapes("BERT base").items():
        part = bert_part(name)
        out[part] = out.get(part, 0) + math.prod(shape)
    return out


def _activation(config: BertConfig) -> str:
    return "gelu_new" if config.tanh else "gelu"


def rules() -> dict[str, Rules]:
    """Answers to rows of the cards `bert`, `modernbert` and `search`."""
    parts = _bert_parts()
    total = counted("BERT base")
    wide = [n for n in range(MODERNBERT_BASE.layers) if MODERNBERT_BASE.sees_all(n)]
    return {
        "bert_tab_config": {
            "num_hidden_layers": BERT_BASE.layers,
            "hidden_size": BERT_BASE.width,
            "num_attention_heads": BERT_BASE.heads,
            "intermediate_size": BERT_BASE.hidden,
            "hidden_act": _activation(BERT_BASE),
            "max_position_embeddings": BERT_BASE.positions,
            "type_vocab_size": BERT_BASE.segments,
            "vocab_size": BERT_BASE.vocabulary,
            "layer_norm_eps": BERT_BASE.eps,
        },
        "bert_stat_param_total": {
            "tensors in model.safetensors": len(shapes("BERT base")),
            "parameters in model.safetensors": total,
        },
        "bert_fig_param_parts": {
            "parameters": parts.__getitem__,
            "bar label": lambda part: parts[part] / 1e6,
            "share of word embeddings": parts["word embeddings"] / total,
            "word embeddings in layers' worth": parts["word embeddings"] / BERT_BASE.block(),
        },
        "bert_stat_loaded_params": {"parameters": BERT_BASE.parameters("masked")},
        "bert_fig_head_targets": {"heads": BERT_BASE.layers * BERT_BASE.heads},
        "bert_fig_inputs": {"position range": f"0-{BERT_BASE.positions - 1}"},
        "bert_fig_layer": {
            "feed-forward widths": f"{BERT_BASE.width}-{BERT_BASE.hidden}-{BERT_BASE.width}"
        },
        "modernbert_stat_race_steps": {
            "parameters (derived)": lambda which: counted(
                {
                    "tiny encoder": "tiny BERT",
                    "tiny masked LM, trainable": "tiny masked BERT",
                    "tiny ELECTRA, trainable": "tiny ELECTRA",
                }[which]
            )
        },
        "modernbert_stat_roberta_parity": {
            "positions in table / first used": f"{ROBERTA_BASE.positions} / {ROBERTA_BASE.first}",
            "encoder parameters (derived)": counted("RoBERTa base"),
        },
        "modernbert_stat_deberta_parity": {
            "encoder parameters (derived)": counted("DeBERTa-v3 base")
        },
        "modernbert_stat_modernbert_parity": {
            "encoder parameters (derived)": MODERNBERT_BASE.parameters()
        },
        "modernbert_fig_buckets": {
            "rows of the relative table": shapes("DeBERTa-v3 base")["distances.weight"][0]
        },
        "modernbert_fig_modernbert_layers": {
            "layers": MODERNBERT_BASE.layers,
            "global layers": len(wide),
            "local layers": MODERNBERT_BASE.layers - len(wide),
            "window, tokens": 2 * MODERNBERT_BASE.reach,
            "visible keys in a local layer": 2 * MODERNBERT_BASE.reach + 1,
            "RoPE base, global layers": MODERNBERT_BASE.far_theta,
            "RoPE base, local layers": MODERNBERT_BASE.near_theta,
            "global layer every n-th": MODERNBERT_BASE.every,
        },
        "search_stat_base_params": {
            "parameters, printed": counted("MiniLM-L6") / 1e6,
            "parameters, full": counted("MiniLM-L6"),
            "BERT-base encoder (bge, ColBERT), derived": BERT_BASE.parameters(),
            "cross-encoder, derived": counted("MiniLM-L6 reranker"),
        },
        "search_fig_maxsim_heatmap": {"vector size": shapes("ColBERT")["linear.weight"][0]},
    }

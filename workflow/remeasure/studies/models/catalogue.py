"""Every model of the model room at its published sizes: how it is built, and its formula.

A model that comes later is one more line here; tables, figures and the test of its formula
follow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

from torch import nn

from remeasure.nn.models import (
    bart,
    bert,
    colbert,
    cross_encoder,
    deberta,
    dinov2,
    electra,
    gpt2,
    hybrid,
    llama,
    mamba,
    mamba2,
    minicpm3,
    modernbert,
    olmoe,
    pythia,
    qwen3,
    roberta,
    small_cnn,
    t5,
    vit,
)
from remeasure.nn.models.chronos2 import Chronos2
from remeasure.nn.models.chronos2 import Config as Chronos2Config
from remeasure.nn.models.kronos import Kronos, KronosConfig
from remeasure.nn.models.kronos_tokenizer import KronosTokenizer, TokenizerConfig
from remeasure.nn.weightless import Weightless


@dataclass(frozen=True)
class Model:
    """One published model.

    Attributes
    ----------
    name
        As people call it.
    kind
        ``encoder``, ``decoder``, ``both`` (encoder and decoder), ``images`` or ``series``.
    build
        Makes it; its numbers are not set here.
    formula
        How many numbers it learns, by its configuration's formula.
    """

    name: str
    kind: str
    build: Callable[[], nn.Module]
    formula: Callable[[], int]


#: The encoders that one card trains from nothing, and their ELECTRA.
TINY_BERT = bert.BertConfig(vocabulary=30_522, width=256, layers=4, heads=4, hidden=1024)

#: The decoder of the stability runs, with and without norms of queries and keys.
SMALL_DECODER = llama.LlamaConfig(
    vocabulary=256, width=384, layers=6, heads=6, groups=6, hidden=1024, eps=1e-6, tied=False
)
SMALL_NORMED = qwen3.Qwen3Config(
    vocabulary=256, width=384, layers=6, heads=6, groups=6, hidden=1024, head=64, tied=False
)

#: The recurrent model that learns to copy, and its twin that treats all tokens alike.
COPYING = mamba2.Mamba2Config(
    vocabulary=18, width=64, layers=2, heads=4, head=32, states=32, chunk=64, tied=False
)

CATALOGUE: tuple[Model, ...] = (
    Model(
        "BERT base",
        "encoder",
        lambda: bert.Pretraining(bert.BERT_BASE),
        lambda: bert.BERT_BASE.parameters("pretraining"),
    ),
    Model(
        "BERT large",
        "encoder",
        lambda: bert.Pretraining(bert.BERT_LARGE),
        lambda: bert.BERT_LARGE.parameters("pretraining"),
    ),
    Model(
        "ALBERT base",
        "encoder",
        lambda: bert.Encoder(bert.ALBERT_BASE),
        bert.ALBERT_BASE.parameters,
    ),
    Model("MiniLM-L6", "encoder", lambda: bert.Encoder(bert.MINILM_L6), bert.MINILM_L6.parameters),
    Model(
        "MiniLM-L6 reranker",
        "encoder",
        lambda: cross_encoder.CrossEncoder(bert.MINILM_L6),
        lambda: cross_encoder.CrossEncoder.parameters_of(bert.MINILM_L6),
    ),
    Model(
        "ColBERT",
        "encoder",
        lambda: colbert.ColBert(bert.BERT_BASE),
        lambda: colbert.ColBert.parameters_of(bert.BERT_BASE),
    ),
    Model(
        "RoBERTa base",
        "encoder",
        lambda: bert.Encoder(roberta.ROBERTA_BASE),
        roberta.ROBERTA_BASE.parameters,
    ),
    Model(
        "DeBERTa-v3 base",
        "encoder",
        lambda: deberta.Encoder(deberta.DEBERTA_V3_BASE),
        deberta.DEBERTA_V3_BASE.parameters,
    ),
    Model(
        "ELECTRA base",
        "encoder",
        lambda: electra.Discriminator(electra.ELECTRA_BASE),
        lambda: electra.Discriminator.parameters_of(electra.ELECTRA_BASE),
    ),
    Model(
        "ModernBERT base",
        "encoder",
        lambda: modernbert.Masked(modernbert.MODERNBERT_BASE),
        lambda: modernbert.MODERNBERT_BASE.parameters(masked=True),
    ),
    Model(
        "ModernBERT large",
        "encoder",
        lambda: modernbert.Masked(modernbert.MODERNBERT_LARGE),
        lambda: modernbert.MODERNBERT_LARGE.parameters(masked=True),
    ),
    Model("GPT-1", "decoder", lambda: gpt2.GPT2(gpt2.GPT1), gpt2.GPT1.parameters),
    Model("GPT-2", "decoder", lambda: gpt2.GPT2(gpt2.GPT2_SMALL), gpt2.GPT2_SMALL.parameters),
    Model(
        "GPT-2 medium", "decoder", lambda: gpt2.GPT2(gpt2.GPT2_MEDIUM), gpt2.GPT2_MEDIUM.parameters
    ),
    Model("GPT-2 large", "decoder", lambda: gpt2.GPT2(gpt2.GPT2_LARGE), gpt2.GPT2_LARGE.parameters),
    Model("GPT-2 XL", "decoder", lambda: gpt2.GPT2(gpt2.GPT2_XL), gpt2.GPT2_XL.parameters),
    Model("chess GPT", "decoder", lambda: gpt2.GPT2(gpt2.CHESS), gpt2.CHESS.parameters),
    Model(
        "Pythia 160M",
        "decoder",
        lambda: pythia.Pythia(pythia.PYTHIA_160M),
        pythia.PYTHIA_160M.parameters,
    ),
    Model(
        "SmolLM2 135M",
        "decoder",
        lambda: llama.Llama(llama.SMOLLM2_135M),
        llama.SMOLLM2_135M.parameters,
    ),
    Model("TinyLlama", "decoder", lambda: llama.Llama(llama.TINYLLAMA), llama.TINYLLAMA.parameters),
    Model(
        "Llama 3.1 8B",
        "decoder",
        lambda: llama.Llama(llama.LLAMA_3_1_8B),
        llama.LLAMA_3_1_8B.parameters,
    ),
    Model(
        "Qwen3 0.6B", "decoder", lambda: qwen3.Qwen3(qwen3.QWEN3_0_6B), qwen3.QWEN3_0_6B.parameters
    ),
    Model("Qwen3 4B", "decoder", lambda: qwen3.Qwen3(qwen3.QWEN3_4B), qwen3.QWEN3_4B.parameters),
    Model("Qwen3 8B", "decoder", lambda: qwen3.Qwen3(qwen3.QWEN3_8B), qwen3.QWEN3_8B.parameters),
    Model(
        "OLMoE 1B-7B",
        "decoder",
        lambda: olmoe.Olmoe(olmoe.OLMOE_1B_7B),
        olmoe.OLMOE_1B_7B.parameters,
    ),
    Model(
        "MiniCPM3 4B",
        "decoder",
        lambda: minicpm3.MiniCPM3(minicpm3.MINICPM3_4B),
        minicpm3.MINICPM3_4B.parameters,
    ),
    Model(
        "Mamba 130M",
        "decoder",
        lambda: mamba.Mamba(mamba.MAMBA_130M),
        mamba.MAMBA_130M.parameters,
    ),
    Model(
        "Mamba-2 130M",
        "decoder",
        lambda: mamba2.Mamba2(mamba2.MAMBA2_130M),
        mamba2.MAMBA2_130M.parameters,
    ),
    Model(
        "Qwen3-Next 80B",
        "decoder",
        lambda: hybrid.Hybrid(hybrid.QWEN3_NEXT_80B),
        hybrid.QWEN3_NEXT_80B.parameters,
    ),
    Model("T5 small", "both", lambda: t5.T5(t5.T5_SMALL), t5.T5_SMALL.parameters),
    Model("T5 base", "both", lambda: t5.T5(t5.T5_BASE), t5.T5_BASE.parameters),
    Model("Flan-T5 base", "both", lambda: t5.T5(t5.FLAN_T5_BASE), t5.FLAN_T5_BASE.parameters),
    Model("BART base", "both", lambda: bart.Bart(bart.BART_BASE), bart.BART_BASE.parameters),
    Model("ViT-B/16", "images", lambda: vit.ViT(vit.VIT_B16), vit.VIT_B16.parameters),
    Model("DINO ViT-S/8", "images", lambda: vit.ViT(vit.DINO_S8), vit.DINO_S8.parameters),
    Model(
        "DINOv2 small",
        "images",
        lambda: dinov2.Dinov2(dinov2.DINOV2_SMALL),
        dinov2.DINOV2_SMALL.parameters,
    ),
    Model("small ViT", "images", lambda: vit.ViT(vit.SMALL_VIT), vit.SMALL_VIT.parameters),
    Model(
        "small CNN",
        "images",
        lambda: small_cnn.SmallCNN(small_cnn.SMALL_CNN),
        small_cnn.SMALL_CNN.parameters,
    ),
    Model("Chronos-2", "series", lambda: Chronos2(Chronos2Config()), Chronos2Config().parameters),
    Model("Kronos small", "series", lambda: Kronos(KronosConfig()), KronosConfig().parameters),
    Model(
        "Kronos tokenizer",
        "series",
        lambda: KronosTokenizer(TokenizerConfig()),
        TokenizerConfig().parameters,
    ),
)

#: Not published models, but sizes that cards print.
EXPERIMENTS: tuple[Model, ...] = (
    Model("tiny BERT", "encoder", lambda: bert.Encoder(TINY_BERT), TINY_BERT.parameters),
    Model(
        "tiny masked BERT",
        "encoder",
        lambda: bert.Masked(TINY_BERT),
        lambda: TINY_BERT.parameters("masked"),
    ),
    Model(
        "tiny ELECTRA",
        "encoder",
        lambda: electra.Electra(TINY_BERT, 1),
        lambda: electra.Electra.parameters_of(TINY_BERT, 1),
    ),
    Model("small decoder", "decoder", lambda: llama.Llama(SMALL_DECODER), SMALL_DECODER.parameters),
    Model(
        "small decoder, normed",
        "decoder",
        lambda: qwen3.Qwen3(SMALL_NORMED),
        SMALL_NORMED.parameters,
    ),
    Model(
        "chess GPT of Karvonen",
        "decoder",
        lambda: gpt2.GPT2(gpt2.KARVONEN_CHESS),
        gpt2.KARVONEN_CHESS.parameters,
    ),
    Model(
        "chess GPT of Karvonen, with biases",
        "decoder",
        lambda: gpt2.GPT2(replace(gpt2.KARVONEN_CHESS, bias=True)),
        replace(gpt2.KARVONEN_CHESS, bias=True).parameters,
    ),
    Model("copying Mamba-2", "decoder", lambda: mamba2.Mamba2(COPYING), COPYING.parameters),
    Model(
        "copying Mamba-2, fixed",
        "decoder",
        lambda: mamba2.Mamba2(replace(COPYING, selective=False)),
        replace(COPYING, selective=False).parameters,
    ),
)


@cache
def model(name: str) -> nn.Module:
    """A model of either list, without memory for its numbers; KeyError when there is none."""
    for each in (*CATALOGUE, *EXPERIMENTS):
        if each.name == name:
            with Weightless():
                return each.build()
    raise KeyError(name)


@cache
def shapes(name: str) -> Mapping[str, tuple[int, ...]]:
    """Shape of every tensor that a model learns, by its name in our model."""
    return {key: tuple(each.shape) for key, each in model(name).named_parameters()}


def counted(name: str) -> int:
    """How many numbers a model learns."""
    return sum(math.prod(shape) for shape in shapes(name).values())

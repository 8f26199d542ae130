"""Small random models of ours and of the reference library, side by side.

Sizes are tiny on purpose: a mapping that mixes up two tensors, an activation, an order of norms
or a scale shows at width 24 as clearly as at 4096, and every number of every tensor is moved
away from where it starts, so that no bias of zero and no norm of one hides a mistake.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Names, load
from remeasure.nn.models import (
    bart,
    bert,
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
    t5,
    vit,
)

Sizes = dict[str, Any]

VOCABULARY = 53
_COMMON: Sizes = {"vocab_size": VOCABULARY}
_ENCODER: Sizes = _COMMON | {
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
    "pad_token_id": 1,
}
_DECODER: Sizes = _COMMON | {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6,
    "bos_token_id": 0,
    "eos_token_id": 7,
    "pad_token_id": None,
}


def _rope(kind: str = "default", theta: float = 10_000.0, **more: Any) -> Sizes:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **more}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One model on both sides.

    Attributes
    ----------
    name
        As people call the model.
    theirs, config
        Classes of the reference library.
    sizes
        Its configuration.
    ours
        From the contents of its ``config.json``, our model and the names of its parameters.
    fed
        ``tokens``, ``pair`` (a source and a target) or ``images``.
    stored
        The published names are those of its files, not those in memory.
    """

    name: str
    theirs: str
    config: str
    sizes: Sizes
    ours: Callable[[dict[str, Any]], tuple[nn.Module, Names]]
    fed: str = "tokens"
    stored: bool = False


def _decoder(
    config: Any, model: Callable[[Any], nn.Module], names: Names
) -> Callable[[dict[str, Any]], tuple[nn.Module, Names]]:
    return lambda published: (model(config.from_json(published)), names)


def _t5(published: dict[str, Any]) -> tuple[nn.Module, Names]:
    config = t5.T5Config.from_json(published)
    return t5.T5(config), t5.names(config)


CASES: tuple[Case, ...] = (
    Case(
        name="BERT, masked words",
        theirs="BertForMaskedLM",
        config="BertConfig",
        sizes=_ENCODER | {"layer_norm_eps": 1e-3},
        ours=_decoder(bert.BertConfig, bert.Masked, bert.HEAD_NAMES),
    ),
    Case(
        name="RoBERTa, masked words",
        theirs="RobertaForMaskedLM",
        config="RobertaConfig",
        sizes=_ENCODER | {"type_vocab_size": 1, "layer_norm_eps": 1e-4},
        ours=lambda published: (
            bert.Masked(roberta.from_json(published)),
            roberta.MASKED_NAMES,
        ),
    ),
    Case(
        name="ALBERT, masked words",
        theirs="AlbertForMaskedLM",
        config="AlbertConfig",
        sizes=_ENCODER | {"embedding_size": 10},
        ours=_decoder(bert.BertConfig, bert.Masked, bert.ALBERT_HEAD_NAMES),
    ),
    Case(
        name="ELECTRA, discriminator",
        theirs="ElectraForPreTraining",
        config="ElectraConfig",
        sizes=_ENCODER | {"embedding_size": 10},
        ours=_decoder(bert.BertConfig, electra.Discriminator, electra.NAMES),
    ),
    Case(
        name="DeBERTa-v3, masked words",
        theirs="DebertaV2ForMaskedLM",
        config="DebertaV2Config",
        sizes=_ENCODER
        | {
            "type_vocab_size": 0,
            "layer_norm_eps": 1e-4,
            "position_biased_input": False,
            "relative_attention": True,
            "position_buckets": 4,
            "max_relative_positions": -1,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": "p2c|c2p",
            "legacy": False,
        },
        ours=_decoder(deberta.DebertaConfig, deberta.Masked, deberta.MASKED_NAMES),
    ),
    Case(
        name="ModernBERT, masked words",
        theirs="ModernBertForMaskedLM",
        config="ModernBertConfig",
        sizes=_ENCODER
        | {
            "num_hidden_layers": 5,
            "local_attention": 6,
            "bos_token_id": 2,
            "eos_token_id": 3,
            "cls_token_id": 2,
            "sep_token_id": 3,
            "global_rope_theta": 700.0,
            "local_rope_theta": 90.0,
        },
        ours=_decoder(modernbert.ModernBertConfig, modernbert.Masked, modernbert.MASKED_NAMES),
    ),
    Case(
        name="GPT-1",
        theirs="OpenAIGPTLMHeadModel",
        config="OpenAIGPTConfig",
        sizes=_COMMON | {"n_positions": 32, "n_embd": 24, "n_layer": 3, "n_head": 4},
        ours=_decoder(gpt2.GPT2Config, gpt2.GPT2, gpt2.GPT1_NAMES),
    ),
    Case(
        name="GPT-2",
        theirs="GPT2LMHeadModel",
        config="GPT2Config",
        sizes=_COMMON
        | {
            "n_positions": 32,
            "n_embd": 24,
            "n_layer": 3,
            "n_head": 4,
            "bos_token_id": 0,
            "eos_token_id": 7,
        },
        ours=_decoder(gpt2.GPT2Config, gpt2.GPT2, gpt2.NAMES),
    ),
    Case(
        name="Llama",
        theirs="LlamaForCausalLM",
        config="LlamaConfig",
        sizes=_DECODER | {"tie_word_embeddings": False} | _rope(),
        ours=_decoder(llama.LlamaConfig, llama.Llama, llama.NAMES),
    ),
    Case(
        name="Llama 3.1, stretched",
        theirs="LlamaForCausalLM",
        config="LlamaConfig",
        sizes=_DECODER
        | {"tie_word_embeddings": True}
        | _rope(
            "llama3",
            factor=8.0,
            original_max_position_embeddings=16,
            low_freq_factor=1.0,
            high_freq_factor=4.0,
        ),
        ours=_decoder(llama.LlamaConfig, llama.Llama, llama.NAMES),
    ),
    Case(
        name="Qwen3",
        theirs="Qwen3ForCausalLM",
        config="Qwen3Config",
        sizes=_DECODER | {"head_dim": 8, "tie_word_embeddings": True} | _rope(theta=500.0),
        ours=_decoder(qwen3.Qwen3Config, qwen3.Qwen3, qwen3.NAMES),
    ),
    Case(
        name="Pythia",
        theirs="GPTNeoXForCausalLM",
        config="GPTNeoXConfig",
        sizes=_COMMON
        | {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 48,
            "max_position_embeddings": 32,
            "bos_token_id": 0,
            "eos_token_id": 7,
        },
        ours=_decoder(pythia.PythiaConfig, pythia.Pythia, pythia.NAMES),
    ),
    Case(
        name="OLMoE",
        theirs="OlmoeForCausalLM",
        config="OlmoeConfig",
        sizes=_DECODER
        | {"num_key_value_heads": 4, "num_experts": 8, "num_experts_per_tok": 3}
        | _rope(),
        ours=_decoder(olmoe.OlmoeConfig, olmoe.Olmoe, olmoe.NAMES),
    ),
    Case(
        name="MiniCPM3",
        theirs="MiniCPM3ForCausalLM",
        config="MiniCPM3Config",
        sizes=_DECODER
        | {
            "num_key_value_heads": 4,
            "q_lora_rank": 12,
            "kv_lora_rank": 8,
            "qk_nope_head_dim": 6,
            "qk_rope_head_dim": 4,
            "v_head_dim": 5,
            "dim_model_base": 16,
        }
        | _rope(
            "longrope",
            factor=1.0,
            short_factor=[1.5, 3.0],
            long_factor=[2.0, 2.0],
            original_max_position_embeddings=64,
        ),
        ours=_decoder(minicpm3.MiniCPM3Config, minicpm3.MiniCPM3, minicpm3.NAMES),
    ),
    Case(
        name="Mamba",
        theirs="MambaForCausalLM",
        config="MambaConfig",
        sizes=_COMMON
        | {"hidden_size": 24, "num_hidden_layers": 2, "state_size": 5, "time_step_rank": 3},
        ours=_decoder(mamba.MambaConfig, mamba.Mamba, mamba.NAMES),
    ),
    Case(
        name="Mamba-2",
        theirs="Mamba2ForCausalLM",
        config="Mamba2Config",
        sizes=_COMMON
        | {
            "hidden_size": 24,
            "num_hidden_layers": 2,
            "state_size": 5,
            "num_heads": 6,
            "head_dim": 8,
            "n_groups": 1,
            "chunk_size": 4,
            "tie_word_embeddings": True,
        },
        ours=_decoder(mamba2.Mamba2Config, mamba2.Mamba2, mamba2.NAMES),
    ),
    Case(
        name="Qwen3-Next",
        theirs="Qwen3NextForCausalLM",
        config="Qwen3NextConfig",
        sizes=_DECODER
        | {
            "num_hidden_layers": 4,
            "head_dim": 8,
            "linear_conv_kernel_dim": 3,
            "linear_key_head_dim": 6,
            "linear_value_head_dim": 5,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "moe_intermediate_size": 12,
            "shared_expert_intermediate_size": 16,
            "num_experts_per_tok": 2,
            "num_experts": 4,
        }
        | _rope(partial_rotary_factor=0.5),
        ours=_decoder(hybrid.HybridConfig, hybrid.Hybrid, hybrid.NAMES),
    ),
    Case(
        name="T5",
        theirs="T5ForConditionalGeneration",
        config="T5Config",
        sizes=_COMMON
        | {
            "d_model": 24,
            "num_heads": 3,
            "d_kv": 6,
            "d_ff": 40,
            "num_layers": 2,
            "num_decoder_layers": 3,
            "relative_attention_max_distance": 20,
            "decoder_start_token_id": 0,
        },
        ours=_t5,
        fed="pair",
    ),
    Case(
        name="BART",
        theirs="BartForConditionalGeneration",
        config="BartConfig",
        sizes=_COMMON
        | {
            "max_position_embeddings": 40,
            "d_model": 32,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 48,
            "decoder_ffn_dim": 48,
            "encoder_layers": 2,
            "decoder_layers": 3,
        },
        ours=_decoder(bart.BartConfig, bart.Bart, bart.NAMES),
        fed="pair",
    ),
    Case(
        name="ViT",
        theirs="ViTForImageClassification",
        config="ViTConfig",
        sizes={
            "image_size": 32,
            "patch_size": 8,
            "hidden_size": 24,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 40,
            "num_labels": 7,
        },
        ours=_decoder(vit.ViTConfig, vit.ViT, vit.NAMES),
        fed="images",
        stored=True,
    ),
    Case(
        name="DINOv2",
        theirs="Dinov2Model",
        config="Dinov2Config",
        sizes={
            "image_size": 42,
            "patch_size": 14,
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "mlp_ratio": 4,
        },
        ours=_decoder(dinov2.Dinov2Config, dinov2.Dinov2, dinov2.NAMES),
        fed="images",
        stored=True,
    ),
)


@dataclass(frozen=True)
class Gap:
    """How far two models lie apart.

    Attributes
    ----------
    outputs
        Largest difference of outputs, as a share of the largest output.
    gradients
        The same of each parameter's gradient, the worst parameter's.
    parameters
        Numbers in our small model.
    """

    outputs: float
    gradients: float
    parameters: int


def compare(case: Case) -> Gap:
    """Build both, give ours the weights of theirs, and hold outputs and gradients together.

    Raises
    ------
    ImportError
        Without transformers.
    DataError
        When a tensor of theirs has no place in ours, or the other way round.
    """
    transformers: Any = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.manual_seed(0)
    config = getattr(transformers, case.config)(**case.sizes)
    theirs = _moved(getattr(transformers, case.theirs)(config))
    model, names = case.ours(config.to_dict())
    load(model.eval(), _tensors(theirs, case), names, where=case.name)
    fed = _batch(case)
    left, right = model(*fed), _answer(theirs, case, fed)
    torch.autograd.backward((_scalar(left), _scalar(right)))
    return Gap(
        outputs=float((left - right).detach().abs().max() / right.detach().abs().max()),
        gradients=_gradients(model, theirs, case, names),
        parameters=sum(each.numel() for each in model.parameters()),
    )


def _normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _moved(model: nn.Module) -> nn.Module:
    """Every number away from where it starts."""
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.add_(0.2 * _normal(number, *parameter.shape))
    return model.eval()


def _tensors(model: nn.Module, case: Case) -> dict[str, Tensor]:
    """Weights by their published names."""
    if not case.stored:
        return dict(model.state_dict())
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)  # type: ignore[operator]
        return load_file(Path(folder) / "model.safetensors")


def _batch(case: Case) -> tuple[Tensor, ...]:
    if case.fed == "images":
        side = case.sizes["image_size"]
        return (_normal(1, 2, 3, side, side),)
    ids = torch.randint(
        2, VOCABULARY, (2, 3, 19), generator=torch.Generator().manual_seed(1)
    ).unbind(0)
    return ids if case.fed == "pair" else ids[:1]


def _answer(model: nn.Module, case: Case, fed: tuple[Tensor, ...]) -> Tensor:
    out = model(fed[0], decoder_input_ids=fed[1]) if case.fed == "pair" else model(fed[0])
    answer: Tensor = out.logits if "logits" in out else out.last_hidden_state
    return answer


def _scalar(out: Tensor) -> Tensor:
    return out.square().mean()


def _gradients(model: nn.Module, theirs: nn.Module, case: Case, names: Names) -> float:
    """The worst parameter's gap.

    A gradient that is zero but for rounding (a bias of keys moves all scores alike) has no
    share of its own: no entry counts as smaller than a thousandth of the model's largest.
    """
    for parameter in theirs.parameters():
        # Gradients take the place of weights, and so get the published names.
        grad = parameter.grad
        parameter.data = torch.zeros_like(parameter) if grad is None else grad
    expected: dict[str, Tensor] = {}
    for key, tensor in _tensors(theirs, case).items():
        if hit := names.ours(key):
            expected[hit[0]] = tensor.T if hit[1] else tensor
    pairs = [
        (torch.zeros_like(own) if own.grad is None else own.grad, expected[name])
        for name, own in model.named_parameters()
    ]
    least = 1e-3 * max(float(right.abs().max()) for _, right in pairs)
    return max(
        float((left - right).abs().max()) / max(float(right.abs().max()), least)
        for left, right in pairs
    )

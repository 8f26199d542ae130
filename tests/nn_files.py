"""A tiny chat model as a checkpoint folder and as a GGUF file: the same random weights."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file

#: As chat templates are: marks around turns, and a switch that other templates do not know.
CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>"
    "{% if enable_thinking is defined and not enable_thinking %}<quiet>{% endif %}{% endif %}"
)
SPECIAL = ["<|end|>", "<|user|>", "<|assistant|>", "<quiet>"]
MERGES = [("u", "p"), ("d", "o"), ("do", "w"), ("dow", "n"), ("Ġ", "up"), ("Ġ", "down")]


def _vocabulary() -> dict[str, int]:
    from tokenizers.pre_tokenizers import ByteLevel

    tokens = [*SPECIAL, *sorted(ByteLevel.alphabet()), *("".join(pair) for pair in MERGES)]
    return {token: number for number, token in enumerate(dict.fromkeys(tokens))}


def chat_folder(folder: Path) -> Path:
    """Write ``config.json``, ``model.safetensors`` and a tokenizer with a chat template."""
    import transformers
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = _vocabulary()
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(each, special=True) for each in SPECIAL])
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")  # noqa: S106
    fast.chat_template = CHAT
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=True,
        eos_token_id=0,
        bos_token_id=None,
        initializer_range=0.4,
    )
    model = transformers.LlamaForCausalLM(config)
    folder.mkdir(parents=True)
    model.save_pretrained(folder, safe_serialization=True)
    fast.save_pretrained(folder)
    return folder


def chat_gguf(folder: Path, path: Path) -> Path:
    """The same model as a GGUF file, its query and key rows in that format's order."""
    import gguf

    config = json.loads((folder / "config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_freq_base(500.0)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    vocabulary = _vocabulary()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(list(vocabulary))
    writer.add_token_merges([" ".join(pair) for pair in MERGES])
    writer.add_token_types([3 if token in SPECIAL else 1 for token in vocabulary])
    writer.add_eos_token_id(0)
    writer.add_chat_template(CHAT.replace(" is defined and not enable_thinking", " is undefined"))
    parts = {
        "input_layernorm": "attn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for name, tensor in load_file(folder / "model.safetensors").items():
        stem = name.removeprefix("model.").removesuffix(".weight")
        if stem == "embed_tokens":
            stored = "token_embd"
        elif stem == "norm":
            stored = "output_norm"
        else:
            _, block, part = stem.split(".", 2)
            stored = f"blk.{block}.{parts[part]}"
        if stored.endswith(("attn_q", "attn_k")):
            heads = config["num_attention_heads" if stored.endswith("q") else "num_key_value_heads"]
            rows, columns = tensor.shape
            split = tensor.view(heads, 2, rows // heads // 2, columns)
            tensor = split.transpose(1, 2).reshape(rows, columns)
        writer.add_tensor(f"{stored}.weight", tensor.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path

"""Weights and tokenizer out of one GGUF file of the Llama family.

The format stores rounded weights (here they are dequantised to float32: the rounding stays)
and exchanges the channels of queries and keys, because its own runtime turns neighbouring
channels where the published model turns halves. Both are undone here, so that the model file
knows one layout only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from remeasure.errors import DataError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TENSORS = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_CONTROL = 3  # token type of marks such as <|im_end|>


@dataclass(frozen=True)
class GgufFile:
    """What a file holds.

    Attributes
    ----------
    config
        Sizes under the names of a published ``config.json``.
    tensors
        Float32, under the published names.
    quantisation
        Types of the stored tensors, as in ``Q4_1``, sorted.
    chat_template
        Jinja text that lays out a conversation; empty when there is none.
    end
        Id of the token that ends an answer.
    """

    config: dict[str, Any]
    tensors: dict[str, Tensor]
    quantisation: tuple[str, ...]
    chat_template: str
    end: int
    tokens: tuple[str, ...]
    merges: tuple[str, ...]
    control: tuple[int, ...]
    pre: str

    def tokenizer(self) -> Tokenizer:
        """The file's byte-level BPE as a `tokenizers.Tokenizer`.

        Raises
        ------
        DataError
            When the file splits text in a way that is not known here.
        """
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        if self.pre not in ("smollm",):
            raise DataError(
                f"its way of splitting text, {self.pre!r}, is not known",
                where="tokenizer.ggml.pre",
                remedy="known is smollm; use the model's own tokenizer.json instead",
            )
        merges = [(left, right) for left, right in (pair.split(" ") for pair in self.merges)]
        vocabulary = {token: number for number, token in enumerate(self.tokens)}
        made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
        made.decoder = decoders.ByteLevel()
        made.add_special_tokens(
            [AddedToken(self.tokens[number], special=True) for number in self.control]
        )
        return made


def halves(weight: Tensor, heads: int) -> Tensor:
    """Rows of a query or key map from neighbouring pairs to halves, head by head.

    Parameters
    ----------
    weight
        Shape ``(heads * width, channels)``.
    heads
        How many heads the rows belong to.
    """
    rows, channels = weight.shape
    paired = weight.view(heads, rows // heads // 2, 2, channels)
    return paired.transpose(1, 2).reshape(rows, channels)


def read_gguf(path: Path) -> GgufFile:
    """Read and dequantise a whole file.

    Raises
    ------
    DataError
        When the file is missing, truncated, of another family, or holds a tensor that the
        family does not have.
    """
    from gguf import GGUFReader, dequantize

    try:
        reader = GGUFReader(str(path))
        fields = {name: field.contents() for name, field in reader.fields.items()}
    except FileNotFoundError as error:
        raise DataError(
            "this file of weights does not exist", where=path, remedy="fetch the checkpoint"
        ) from error
    except (ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
        raise DataError(
            f"this is no whole GGUF file: {error}",
            where=path,
            remedy="delete the file and fetch it again",
        ) from error
    family = fields.get("general.architecture")
    if family != "llama":
        raise DataError(
            f"it holds a model of the family {family!r}",
            where=f"{path}: general.architecture",
            remedy="name a file of the family llama",
        )
    heads = int(fields["llama.attention.head_count"])
    groups = int(fields["llama.attention.head_count_kv"])
    tensors: dict[str, Tensor] = {}
    for stored in reader.tensors:
        name = _name(stored.name, path)
        # Two steps: the reader's arrays are maps of the file, which torch must not hold.
        values = np.array(dequantize(stored.data, stored.tensor_type), dtype=np.float32)
        tensor = torch.from_numpy(values)
        if name.endswith("q_proj.weight"):
            tensor = halves(tensor, heads)
        elif name.endswith("k_proj.weight"):
            tensor = halves(tensor, groups)
        tensors[name] = tensor
    tokens = fields["tokenizer.ggml.tokens"]
    return GgufFile(
        config={
            "vocab_size": len(tokens),
            "hidden_size": fields["llama.embedding_length"],
            "num_hidden_layers": fields["llama.block_count"],
            "num_attention_heads": heads,
            "num_key_value_heads": groups,
            "intermediate_size": fields["llama.feed_forward_length"],
            "rope_theta": float(fields["llama.rope.freq_base"]),
            "rms_norm_eps": float(fields["llama.attention.layer_norm_rms_epsilon"]),
            "tie_word_embeddings": "lm_head.weight" not in tensors,
        },
        tensors=tensors,
        quantisation=tuple(sorted({stored.tensor_type.name for stored in reader.tensors})),
        chat_template=fields.get("tokenizer.chat_template", ""),
        end=int(fields["tokenizer.ggml.eos_token_id"]),
        tokens=tuple(tokens),
        merges=tuple(fields["tokenizer.ggml.merges"]),
        control=tuple(
            number
            for number, kind in enumerate(fields["tokenizer.ggml.token_type"])
            if kind == _CONTROL
        ),
        pre=fields.get("tokenizer.ggml.pre", ""),
    )


def _name(stored: str, path: Path) -> str:
    """The published name of a tensor."""
    if stored in _TENSORS:
        return _TENSORS[stored]
    parts = stored.split(".")
    if len(parts) == 4 and parts[0] == "blk" and parts[2] in _BLOCK:
        return f"model.layers.{parts[1]}.{_BLOCK[parts[2]]}.{parts[3]}"
    raise DataError(
        f"the tensor {stored} belongs to no known part of the family",
        where=path,
        remedy="name a file of the family llama without extensions",
    )

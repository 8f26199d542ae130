"""What a decoder remembers of a text: numbers and bytes, counted in the caches themselves.

The caches are those of the model room, made without memory. Sizes of models that are not built
there (Gemma, DeepSeek, hybrids) are inputs of this page: `SIZES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch

from remeasure.nn.layers.cache import KeyValueCache, WindowCache
from remeasure.nn.models.gpt2 import GPT2_SMALL
from remeasure.nn.models.hybrid import QWEN3_NEXT_80B
from remeasure.nn.models.llama import LLAMA_3_1_8B, TINYLLAMA, LlamaConfig
from remeasure.nn.models.minicpm3 import MINICPM3_4B, MiniCPM3
from remeasure.nn.models.pythia import PYTHIA_160M, PythiaConfig
from remeasure.nn.models.qwen3 import QWEN3_0_6B, QWEN3_4B, QWEN3_8B, Qwen3Config
from remeasure.studies.models.catalogue import model
from remeasure.studies.models.places import whole_numbers
from remeasure.studies.models.published import Rules

#: Bytes of a number in 16 bits, and of one in single precision.
HALF, SINGLE = 2, 4

GIB = 2**30
KIB = 2**10
MIB = 2**20

#: Texts that the cards read.
CHAT, LONG, LONGEST = 8192, 32_768, 131_072


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """Sizes of a decoder's cache.

    Attributes
    ----------
    layers
        Blocks that keep keys and values.
    groups, head
        Key-value heads and channels of each.
    heads
        Query heads.
    window
        How far windowed blocks look back, the token itself included; None: all blocks see all.
    every
        Of blocks with windows, each ``every``-th sees everything; 0: none does.
    latent
        Channels of the latent and of the rotary key that are kept instead; None: keys and values.
    """

    layers: int
    groups: int = 0
    head: int = 0
    heads: int = 0
    window: int | None = None
    every: int = 0
    latent: tuple[int, int] | None = None

    def everywhere(self, layer: int) -> bool:
        """Whether a block sees all tokens."""
        if self.window is None:
            return True
        return bool(self.every) and (layer + 1) % self.every == 0

    def windows(self) -> list[int | None]:
        """Window of each block."""
        return [None if self.everywhere(layer) else self.window for layer in range(self.layers)]

    def numbers(self, tokens: int, *, windows: Sequence[int | None] | None = None) -> int:
        """Numbers kept of a text.

        Parameters
        ----------
        windows
            Of the blocks counted; None: those of the model.
        """
        like = torch.empty(0, device="meta")
        cache: KeyValueCache | WindowCache
        if self.latent is not None:
            rank, rotary = self.latent
            cache = KeyValueCache(self.layers, 1, 1, tokens, rank, like, value_width=rotary)
        else:
            kept = self.windows() if windows is None else windows
            cache = WindowCache(kept, 1, self.groups, tokens, self.head, like)
        cache.length = tokens
        return cache.numbers()

    def bytes(self, tokens: int) -> int:
        """Bytes kept of a text, in 16 bits, windows as configured."""
        return HALF * self.numbers(tokens)

    def full_bytes(self, tokens: int) -> int:
        """Likewise, but every block keeps everything."""
        return HALF * self.numbers(tokens, windows=[None] * self.layers)

    def spread_bytes(self, tokens: int) -> int:
        """Likewise, and every query head has a key-value head of its own."""
        return self.full_bytes(tokens) * self.heads // self.groups


def of_decoder(config: LlamaConfig | Qwen3Config | PythiaConfig) -> Remembered:
    """Cache of a model that is built in the model room."""
    groups = config.heads if isinstance(config, PythiaConfig) else config.groups
    head = config.head if isinstance(config, Qwen3Config) else config.width // config.heads
    return Remembered(layers=config.layers, groups=groups, head=head, heads=config.heads)


def _latent(layers: int, heads: int, rank: int = 512, rotary: int = 64) -> Remembered:
    return Remembered(layers=layers, heads=heads, latent=(rank, rotary))


#: By the cards' names. Sizes of models that the model room does not build are those that the
#: cards give of their public configurations.
SIZES: dict[str, Remembered] = {
    "Mistral 7B": Remembered(layers=32, groups=8, head=128, heads=32, window=4096),
    "Gemma 2 9B": Remembered(layers=42, groups=8, head=256, heads=16, window=4096, every=2),
    "Llama 3.1 8B": of_decoder(LLAMA_3_1_8B),
    "Llama 3.2 1B": Remembered(layers=16, groups=8, head=64, heads=32),
    "Qwen2.5 7B": Remembered(layers=28, groups=4, head=128, heads=28),
    "OLMo 2 7B": Remembered(layers=32, groups=32, head=128, heads=32),
    "Phi-4 14B": Remembered(layers=40, groups=10, head=128, heads=40),
    "Mistral Small 24B": Remembered(layers=40, groups=8, head=128, heads=32),
    "Gemma 3 1B": Remembered(layers=26, groups=1, head=256, heads=4, window=512, every=6),
    "Gemma 3 27B": Remembered(layers=62, groups=16, head=128, heads=32, window=1024, every=6),
    "Qwen3 0.6B": of_decoder(QWEN3_0_6B),
    "Qwen3 8B": of_decoder(QWEN3_8B),
    "SmolLM3 3B": Remembered(layers=36, groups=4, head=128, heads=16),
    "gpt-oss 20B": Remembered(layers=24, groups=8, head=64, heads=64, window=128, every=2),
    "DeepSeek 67B": Remembered(layers=95, groups=8, head=128, heads=64),
    "DeepSeek-V2-Lite": _latent(27, 16),
    "DeepSeek-V2": _latent(60, 128),
    "DeepSeek-V3": _latent(61, 128),
    "Kimi K2": _latent(61, 64),
    "MiniCPM3 4B": _latent(
        MINICPM3_4B.layers, MINICPM3_4B.heads, MINICPM3_4B.rank, MINICPM3_4B.rotary
    ),
    # Of the hybrids, the blocks with attention.
    "Qwen3-32B": Remembered(layers=64, groups=8, head=128, heads=64),
    "MiniMax-M2": Remembered(layers=62, groups=8, head=128),
    "MiniMax-Text-01": Remembered(layers=10, groups=8, head=128),
    "Qwen3-Next": Remembered(
        layers=QWEN3_NEXT_80B.kinds.count("attention"),
        groups=QWEN3_NEXT_80B.groups,
        head=QWEN3_NEXT_80B.head,
        heads=QWEN3_NEXT_80B.heads,
    ),
    "Jamba": Remembered(layers=4, groups=8, head=128),
    "Kimi Linear": _latent(7, 0),
    "Nemotron 3 Nano": Remembered(layers=6, groups=2, head=128),
    "TinyLlama": of_decoder(TINYLLAMA),
    "Qwen3-4B": of_decoder(QWEN3_4B),
    "Pythia-160m": of_decoder(PYTHIA_160M),
}
#: Names that another card writes otherwise.
SIZES["Qwen3-8B"] = SIZES["Qwen3 8B"]
SIZES["gpt-oss-20b"] = SIZES["gpt-oss 20B"]

#: The fourteen models of the card on modern decoders, whose caches it compares.
COMPARED = list(SIZES)[:14]


def per_token(name: str) -> int:
    """Bytes of a token, windows not counted, 16 bits."""
    return SIZES[name].full_bytes(1) if SIZES[name].latent is None else SIZES[name].bytes(1)


def minicpm3_numbers(*, expanded: bool, tokens: int = 1) -> int:
    """Numbers kept by MiniCPM3 itself: latents, or keys and values of every head."""
    network = model("MiniCPM3 4B")
    cache = cast("MiniCPM3", network).cache(1, tokens, expanded=expanded)
    cache.length = tokens
    return cache.numbers()


def _name(condition: str) -> str:
    return condition.partition(",")[0]


# --- the card on modern decoders ------------------------------------------------------------


def _share_everywhere(name: str) -> float:
    sizes = SIZES[name]
    seen = [window for window in sizes.windows() if window is None]
    return sizes.numbers(LONG, windows=seen) / sizes.numbers(LONG) if seen else 0.0


def _places(name: str) -> str:
    sizes = SIZES[name]
    places = [str(layer) for layer in range(sizes.layers) if sizes.everywhere(layer)]
    return " ".join(places) or "none"


def _kinds(name: str) -> int:
    return sum(map(SIZES[name].everywhere, range(SIZES[name].layers)))


def _qwen3() -> dict[str, Rules]:
    llama = SIZES["Llama 3.1 8B"]
    pattern = Remembered(layers=QWEN3_0_6B.layers, window=512, every=6)
    rolling = WindowCache([16], 1, QWEN3_0_6B.groups, 64, 1, torch.empty(0, device="meta"))
    rolling.length = 34
    slots = rolling.numbers() // (2 * QWEN3_0_6B.groups)
    return {
        "qwen3_tab_configs": {
            "query heads per KV head": lambda name: SIZES[name].heads // SIZES[name].groups
        },
        "qwen3_tab_shared_heads": {
            "query heads per group": lambda at: GPT2_SMALL.heads // whole_numbers(at)[0]
        },
        "qwen3_fig_kv_cache": {
            "KV cache as configured, bar label": lambda at: SIZES[_name(at)].bytes(LONG) / 1e9,
            "KV cache as configured, bytes": lambda at: SIZES[_name(at)].bytes(LONG),
            "KV cache with a key-value head per query head and no windows": lambda at: SIZES[
                _name(at)
            ].spread_bytes(LONG),
            "share of the cache held by global layers": _share_everywhere,
            "largest cache in the table": max(COMPARED, key=lambda name: SIZES[name].bytes(LONG)),
        },
        "qwen3_fig_layer_kinds": {
            "window": lambda name: SIZES[name].window or 0,
            "local layers": lambda name: SIZES[name].layers - _kinds(name),
            "global layers": _kinds,
            "indices of global layers (from 0)": _places,
        },
        "qwen3_stat_llama_cache": {
            "weights, 16-bit": LLAMA_3_1_8B.parameters() * HALF / 1e9,
            "KV cache": llama.bytes(LONGEST) / 1e9,
            "KV cache with a key-value head per query head": llama.spread_bytes(LONGEST) / 1e9,
            "KV cache, bytes": llama.bytes(LONGEST),
            "KV cache per token, bytes": llama.bytes(1),
        },
        "qwen3_tab_windows": {
            "global layers in the 5 local : 1 global pattern": sum(
                map(pattern.everywhere, range(pattern.layers))
            )
        },
        "qwen3_stat_rolling": {"slots in each cache": slots},
    }


# --- the card on caches ---------------------------------------------------------------------


def _kept(name: str) -> str:
    sizes = SIZES[name]
    if sizes.latent is None:
        return f"{sizes.groups} kv heads"
    return f"latent {sizes.latent[0]} + rope {sizes.latent[1]}"


def _design(condition: str) -> int:
    """Numbers of a token and layer, of heads of 128 unless a latent is named."""
    found = whole_numbers(condition)
    if condition.startswith("latent"):
        return Remembered(layers=1, latent=(found[0], found[1])).numbers(1)
    return Remembered(layers=1, groups=found[0], head=found[1]).numbers(1)


def _capacity(condition: str) -> float:
    expanded = condition.startswith("rebuilt")
    tokens = whole_numbers(condition)[0]
    return minicpm3_numbers(expanded=expanded, tokens=tokens) * HALF / 1e9


def _kvcache() -> dict[str, Rules]:
    config = MINICPM3_4B
    latent, rebuilt = (minicpm3_numbers(expanded=each) for each in (False, True))
    toy = Remembered(layers=1, latent=(64, 16)).numbers(1)
    # Of the toy layer: 8 heads whose keys have 32 + 16 channels and whose values have 32.
    like = torch.empty(0, device="meta")
    whole = KeyValueCache(1, 1, 8, 1, 32 + 16, like, value_width=32)
    whole.length = 1
    grouped = Remembered(layers=1, groups=8, head=128).numbers(1)
    # In the absorbed form a head scores latent and rotary key, and mixes latents.
    scored = {"absorbed": config.rank + config.rotary, "rebuilt": config.nope + config.rotary}
    mixed = {"absorbed": config.rank, "rebuilt": config.value}
    cost = {form: scored[form] + mixed[form] for form in scored}
    return {
        "kvcache_fig_hero_cache_designs": {"numbers kept per token per layer": _design},
        "kvcache_tab_cache_budget": {
            "layers": lambda name: SIZES[name].layers,
            "query heads": lambda name: SIZES[name].heads,
            "kept per layer": _kept,
            "KiB per token": lambda name: per_token(name) / KIB,
            "GB per 8k chat": lambda name: per_token(name) * CHAT / 1e9,
            "8k chats in 10 GB": lambda name: int(1e10 // (per_token(name) * CHAT)),
            "numbers per token per layer (derived)": lambda name: (
                per_token(name) // (HALF * SIZES[name].layers)
            ),
            "bytes per token (derived)": per_token,
        },
        "kvcache_stat_intro_ratio": {
            "cache per token, DeepSeek-V3 / Llama 3.1 8B": (
                per_token("DeepSeek-V3") / per_token("Llama 3.1 8B")
            ),
            "cache per token, MiniCPM3 / Llama 3.1 8B": (
                per_token("MiniCPM3 4B") / per_token("Llama 3.1 8B")
            ),
        },
        "kvcache_stat_deepseek_reduction": {
            "cut by latent attention alone (67.5 against 380 KiB)": (
                100 * (1 - per_token("DeepSeek-V2") / per_token("DeepSeek 67B"))
            )
        },
        "kvcache_stat_mla_toy_parity": {
            "numbers cached per token per layer": lambda which: (
                whole.numbers() if which.startswith("rebuilt") else toy
            ),
            "ratio": whole.numbers() / toy,
        },
        "kvcache_stat_generation": {
            "cache size": lambda at: (
                minicpm3_numbers(expanded=False, tokens=whole_numbers(at)[0]) * HALF / KIB
            )
        },
        "kvcache_fig_cache_capacity": {
            "bytes per token": lambda which: (
                HALF * (rebuilt if which.startswith("rebuilt") else latent)
            ),
            "ratio of the slopes": rebuilt / latent,
            "cache size (closed form)": _capacity,
        },
        "kvcache_stat_absorb_cost": {
            "numbers scored per cached token and head": scored.__getitem__,
            "numbers mixed per cached token and head": mixed.__getitem__,
            "arithmetic ratio absorbed / rebuilt": cost["absorbed"] / cost["rebuilt"],
        },
        "kvcache_fig_lowrank_loss": {
            "numbers cached per token per layer, unchanged": (
                SIZES["Qwen3 0.6B"].numbers(1) // QWEN3_0_6B.layers
            ),
            "hidden size": QWEN3_0_6B.width,
        },
        "kvcache_stat_levers": {
            "latent / grouped-query with 8 groups": lambda which: (
                latent / config.layers / (2 * 8 * config.value)
                if which.startswith("MiniCPM3")
                else SIZES["DeepSeek-V2"].numbers(1) / SIZES["DeepSeek-V2"].layers / grouped
            )
        },
        "kvcache_fig_passport_deepseek_v2": {
            "equivalent grouped-query groups": (
                SIZES["DeepSeek-V2"].numbers(1) / SIZES["DeepSeek-V2"].layers / (2 * 128)
            )
        },
    }


# --- other cards ----------------------------------------------------------------------------


def _long() -> dict[str, Rules]:
    def scores(condition: str) -> float:
        """Gigabytes of one head's matrix of scores, 16 bits."""
        return whole_numbers(condition)[0] ** 2 * HALF / 1e9

    tokens = 65_536
    pairs, logits = tokens**2, tokens * QWEN3_0_6B.vocabulary
    return {
        "longcontext_tab_score_memory": {
            "score matrix, one head": scores,
            "score matrices, 32 heads": lambda at: TINYLLAMA.heads * scores(at),
        },
        "longcontext_stat_cache_bytes": {
            "KV cache per token": lambda at: SIZES[at.split()[0]].bytes(1),
            "KV cache": SIZES["Qwen3-4B"].bytes(tokens) / 1e9,
        },
        "longcontext_stat_pairs_64k": {
            "token pairs per head": pairs,
            "token pairs per head as quoted": pairs,
            "logits of a prompt": logits,
            "logits of a prompt as quoted": logits,
        },
    }


def _hybrid() -> dict[str, Rules]:
    def gib(name: str) -> float:
        return SIZES[name].bytes(LONGEST) / GIB

    full, sparse = SIZES["Qwen3-32B"], SIZES["Qwen3-Next"]
    latent = SIZES["Kimi Linear"]
    # One layer of the timed comparison.
    timed = Remembered(layers=1, groups=16, head=128)
    return {
        "hybrid_attention_stat_headline": {
            "cache of Qwen3-Next, one 128K-token conversation": gib("Qwen3-Next"),
            "cache of Qwen3-32B, one 128K-token conversation": gib("Qwen3-32B"),
        },
        "hybrid_attention_fig_kv_memory": {
            "cache as shown, 131072 tokens, bf16": gib,
            "cache, bytes, 131072 tokens": lambda name: SIZES[name].bytes(LONGEST),
        },
        "hybrid_attention_stat_kv": {
            "total factor, Qwen3-32B over Qwen3-Next": gib("Qwen3-32B") / gib("Qwen3-Next"),
            "factor from key-value heads per layer": (
                full.numbers(1) / full.layers / (sparse.numbers(1) / sparse.layers)
            ),
            "factor from the number of attention layers": full.layers / sparse.layers,
            "cache of Kimi Linear against all-MLA": (
                100 * latent.numbers(1) / _latent(27, 0).numbers(1)
            ),
            "MiniMax-M2 over MiniMax-Text-01": gib("MiniMax-M2") / gib("MiniMax-Text-01"),
        },
        "hybrid_attention_fig_decode": {
            "keys and values read": lambda at: timed.bytes(whole_numbers(at)[0]) / MIB,
        },
        "hybrid_attention_fig_associativity": {
            "numbers in the score matrix": lambda at: whole_numbers(at)[0] ** 2,
        },
    }


def rules() -> dict[str, Rules]:
    """Answers to rows of the cards `qwen3`, `kvcache`, `longcontext` and `hybrid_attention`."""
    return {**_qwen3(), **_kvcache(), **_long(), **_hybrid()}

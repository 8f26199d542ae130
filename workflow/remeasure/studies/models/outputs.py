"""Every output of the page in reading order: the room as a whole, then card by card."""

from __future__ import annotations

from remeasure.studies.base import Group, Kind, Output, Study

#: Outputs of the page itself: id, kind, title, caption. No card prints its figures, so they are
#: drawings to the ledger.
_OWN: tuple[tuple[str, Kind, str, str], ...] = (
    (
        "tab_models",
        "table",
        "Models and their parameters",
        "Every model of the model room at its published size: parameters by the formula of its"
        " configuration, and counted tensor by tensor in the model built without memory.",
    ),
    (
        "fig_parts",
        "drawing",
        "Where the parameters sit",
        "Share of parameters in embeddings and output, attention, MLPs, experts, state-space"
        " mixers and the rest, with the total beside each bar.",
    ),
    (
        "fig_caches",
        "drawing",
        "What a text costs in memory",
        "Bytes that decoders keep of a long text in 16 bits, counted in the caches of the model"
        " room: keys and values, windows of them, or latents. Of hybrids (Jamba, Kimi Linear,"
        " MiniMax-Text-01, Nemotron, Qwen3-Next) the layers with attention alone.",
    ),
    (
        "tab_parity",
        "table",
        "Parity with the reference library",
        "Small random models of ours with the weights of the reference's: whether outputs and"
        " gradients are equal within the tolerance.",
    ),
)

#: Outputs of the cards: id, title, and what the rows say.
_ROWS: tuple[tuple[str, str, str], ...] = (
    ("bert_tab_config", "BERT base in sizes", "The published configuration as our model holds it."),
    ("bert_stat_param_total", "All that BERT is pre-trained with", "Tensors and parameters."),
    ("bert_fig_param_parts", "Parameters of BERT by part", "Parameters of six parts."),
    ("bert_stat_loaded_params", "BERT with its masked-word head", "Parameters, the table once."),
    ("bert_fig_head_targets", "Heads of BERT base", "Layers times heads."),
    ("bert_fig_inputs", "Positions of BERT", "First and last row of the position table."),
    ("bert_fig_layer", "Widths of a layer", "Channels before, inside and after the MLP."),
    ("modernbert_stat_race_steps", "The tiny encoders", "Parameters of three that are trained."),
    ("modernbert_fig_buckets", "Buckets of DeBERTa", "Buckets of distances, query minus key."),
    ("modernbert_stat_roberta_parity", "RoBERTa base", "Parameters and rows of positions."),
    ("modernbert_stat_deberta_parity", "DeBERTa-v3 base", "Parameters of the encoder."),
    ("modernbert_stat_modernbert_parity", "ModernBERT base", "Parameters of the encoder."),
    ("modernbert_fig_modernbert_layers", "Layers of ModernBERT", "Which layers see how much."),
    ("modernbert_tab_attended_pairs", "Pairs that ModernBERT scores", "Pairs by text length."),
    ("search_stat_base_params", "Encoders of search", "Parameters of retrievers and reranker."),
    ("search_fig_maxsim_heatmap", "Vectors of ColBERT", "Channels of a token's vector."),
    ("gpt_tab_param_formula", "Parameters of the GPT family", "Counted in the built models."),
    ("gpt_stat_weight_tying", "One matrix instead of two", "Parameters that tying saves."),
    ("gpt_stat_chess_params", "The chess model", "Parameters."),
    ("gpt_stat_karvonen_load", "Karvonen's chess model", "Parameters with and without biases."),
    ("t5_fig_encdec", "Stacks of T5 small", "Layers a side."),
    ("t5_tab_position_buckets", "Buckets of T5", "Buckets of distances, key minus query."),
    ("t5_stat_bucket_formula", "How T5's buckets grow", "Near, far and last buckets."),
    ("t5_fig_bucket_map", "Every bucket of T5", "Which distances share a bucket, on both sides."),
    ("t5_stat_position_numbers", "What positions cost", "Learned numbers of positions."),
    ("t5_stat_logit_scale", "Scales of T5", "Factors that T5 leaves out, and the one it has."),
    ("t5_stat_t5_small_params", "T5 small", "Parameters."),
    ("t5_stat_bart", "BART base", "Parameters."),
    ("t5_stat_t5_base_params", "T5 base", "Parameters and sizes."),
    ("qwen3_tab_configs", "Heads of fourteen decoders", "Query heads a key-value head."),
    ("qwen3_tab_shared_heads", "GPT-2 with shared heads", "Query heads a key-value head."),
    ("qwen3_fig_kv_cache", "Caches of fourteen decoders", "Bytes at 32,768 tokens, 16 bits."),
    ("qwen3_fig_layer_kinds", "Local and global layers", "Which layers see how far."),
    ("qwen3_stat_llama_cache", "Llama 3.1 8B", "Weights and cache at 131,072 tokens."),
    ("qwen3_stat_stability", "The small decoders", "Parameters with and without query norms."),
    ("qwen3_stat_qwen3_config", "Qwen3 0.6B in sizes", "The configuration as our model holds it."),
    ("qwen3_tab_params", "Parameters of Qwen3 by part", "Parameters of five parts."),
    ("qwen3_fig_window", "How far windows reach", "Tokens that reach the last one, by layers."),
    ("qwen3_stat_rolling", "A cache that rolls", "Slots of a windowed layer."),
    ("qwen3_tab_windows", "One global layer in six", "Global layers of a pattern."),
    ("qwen3_stat_lora_train", "Low-rank adapters", "Trained and frozen parameters."),
    ("qwen3_stat_merge", "Adapters merged", "Parameters afterwards."),
    ("qwen3_fig_passport", "Sizes on Qwen3's passport", "Heads, base, width, vocabulary."),
    ("moe_fig_hero", "Experts that rest", "Experts that a token does not meet."),
    ("moe_stat_olmoe_config", "OLMoE in sizes", "The configuration as our model holds it."),
    ("moe_tab_params", "Parameters of OLMoE by part", "Parameters of five parts."),
    ("moe_stat_active", "What one token meets", "Parameters of the chosen experts and the rest."),
    ("moe_fig_prune", "OLMoE with fewer experts", "Gigabytes in 16 bits."),
    ("moe_fig_touched", "Experts of a batch", "Experts needed if tokens choose evenly."),
    ("moe_stat_downloads", "OLMoE in memory", "Weights in 16 bits."),
    ("kvcache_fig_hero_cache_designs", "Four designs of a cache", "Numbers a token and layer."),
    ("kvcache_tab_cache_budget", "Cache budgets", "What a token and a chat cost, ten models."),
    ("kvcache_stat_intro_ratio", "Latents against Llama", "Ratios of bytes a token."),
    ("kvcache_stat_deepseek_reduction", "What latents save", "DeepSeek-V2 against DeepSeek 67B."),
    ("kvcache_stat_mla_toy_parity", "The toy layer", "Numbers a token, in both forms."),
    ("kvcache_tab_minicpm3_config", "MiniCPM3 in sizes", "The configuration, and parameters."),
    ("kvcache_stat_generation", "A short answer's cache", "KiB of 99 tokens."),
    ("kvcache_fig_cache_capacity", "Two caches of MiniCPM3", "Gigabytes by tokens."),
    ("kvcache_stat_absorb_cost", "The price of absorbing", "Numbers scored and mixed a token."),
    ("kvcache_fig_lowrank_loss", "Qwen3's cache", "Numbers a token and layer, unchanged."),
    ("kvcache_stat_levers", "Latents against groups", "Ratios of numbers a token and layer."),
    ("kvcache_fig_passport_deepseek_v2", "Latents as groups", "Groups of equal size."),
    ("longcontext_fig_hero_dials", "Dials of TinyLlama", "Turns of every pair, full precision."),
    ("longcontext_stat_pairs_64k", "A long prompt", "Pairs of tokens, and logits."),
    ("longcontext_stat_turns", "Turns in training", "Turns of every pair, and slow pairs."),
    ("longcontext_fig_clocks", "Three clocks", "Turns of a fast, a middle and a slow pair."),
    ("longcontext_stat_clock_angles", "Angles of the clocks", "In training, and far beyond it."),
    ("longcontext_stat_pi_neighbour", "Neighbours under interpolation", "Angle of two tokens."),
    ("longcontext_stat_ntk_base", "The NTK base", "Base that slows the slowest pair eight times."),
    ("longcontext_fig_frequency_ratios", "How each rule slows pairs", "New frequency over old."),
    ("longcontext_stat_yarn_params", "YaRN's ramp", "Where it begins and ends, and its scale."),
    ("longcontext_stat_clock_angles_yarn", "Clocks under YaRN", "Angles after stretching."),
    ("longcontext_tab_library_parity", "Rotary rules beside the library's", "Largest differences."),
    ("longcontext_fig_passkey", "How far NTK reaches", "Tokens inside angles seen in training."),
    ("longcontext_tab_score_memory", "Matrices of scores", "Gigabytes by text length."),
    ("longcontext_stat_cache_bytes", "Two caches", "Bytes a token, and of a long text."),
    ("mamba_fig_hero", "A state of fixed size", "Channels, and numbers of state a channel."),
    ("mamba_fig_block", "Widths in a Mamba block", "Widths on the way through."),
    ("mamba_stat_config", "mamba-130m in sizes", "The configuration as our model holds it."),
    ("mamba_tab_block_parameters", "Tensors of a Mamba block", "Shapes, counts and shares."),
    ("mamba_stat_block_walk", "A walk through a block", "Shapes of every stage, while it runs."),
    ("mamba_fig_horizons", "Values of memory", "Numbers of state in all layers."),
    ("mamba_stat_step_parity", "What Mamba keeps", "Bytes of a text of any length."),
    ("mamba_tab_memory", "State against cache", "Mamba 130M and Pythia 160M by text length."),
    ("mamba_stat_mamba2_parity", "Mamba-2 in sizes", "The configuration as our model holds it."),
    ("mamba_fig_hybrids", "Layers of Nemotron-H", "Mixing layers and MLPs."),
    ("mamba_tab_hybrids", "Attention in hybrids", "Layers that attend, of those that mix."),
    ("mamba_stat_selective_copying", "The copy models", "Parameters, selective and fixed."),
    ("hybrid_attention_stat_headline", "One long conversation", "GiB at 131,072 tokens."),
    ("hybrid_attention_fig_associativity", "One product or the other", "Numbers of both."),
    ("hybrid_attention_fig_patterns", "Recurrent layers", "Layers with a state, by model."),
    ("hybrid_attention_stat_patterns", "Full attention", "Layers that attend."),
    ("hybrid_attention_stat_mqar_setup", "Networks of recall", "Sizes of the six networks."),
    ("hybrid_attention_fig_kv_memory", "Caches of hybrids", "GiB at 131,072 tokens, bf16."),
    ("hybrid_attention_stat_kv", "Where the factor comes from", "Ratios, and a recurrent state."),
    ("hybrid_attention_fig_decode", "What a step reads", "MiB of keys and values, or of a state."),
)

#: Cards in reading order: id, title, what its rows are about.
_CARDS = (
    ("bert", "BERT", "Sizes and parameters of BERT base."),
    ("modernbert", "RoBERTa, DeBERTa, ELECTRA and ModernBERT", "Sizes, buckets, pairs."),
    ("search", "Encoders of search", "Retrievers and a reranker of the MiniLM family, ColBERT."),
    ("gpt", "GPT", "Parameters; the card's other rows are answered by a study of their own."),
    ("t5", "T5 and BART", "Parameters, and the buckets of relative positions."),
    ("qwen3", "Modern decoders", "Caches of fourteen models; Qwen3 0.6B part by part."),
    ("moe", "Mixture of experts", "OLMoE part by part, and what a token meets of it."),
    ("kvcache", "The KV cache", "What a token costs in ten models; latent attention."),
    ("longcontext", "Long contexts", "Rotary frequencies and how rules stretch them."),
    ("mamba", "Mamba", "A state of fixed size instead of a cache; hybrids."),
    ("hybrid_attention", "Hybrids", "Caches of models that attend in few layers."),
)


def card_of(output_id: str) -> str:
    """The card that an output's rows come from.

    >>> card_of("hybrid_attention_stat_kv")
    'hybrid_attention'
    """
    names = [card for card, *_ in _CARDS if output_id.startswith(f"{card}_")]
    return max(names, key=len)


STUDY = Study(
    id="models",
    title="The models themselves",
    question=(
        "How large are the architectures that a dozen studies are about, what do they keep of a"
        " text, where do they think a token stands, and are our own definitions of them the"
        " published ones?"
    ),
    method=(
        "Every architecture is written from scratch, one readable file each. A model's"
        " parameters are known twice: by the formula of its configuration, and counted in the"
        " model at its published size, built without memory.",
        "Caches are counted in the caches that the models use. Sizes of models that are not"
        " built here (Gemma, DeepSeek, hybrids) are those of their public configurations, as the"
        " study cards give them.",
        "Rows are copied from the cards of the studies: all that are mathematics of a model's"
        " definition. Rows that need a checkpoint or data, or are arithmetic of an experiment,"
        " stay with their studies. Vision models, Chronos-2 and Kronos stand in the table; their"
        " rows are answered by the studies of vision and of crypto.",
        "Parity is tried on small random models with all weights moved from where they start,"
        " against transformers: outputs within 1e-5 of the largest output, gradients within 1e-4"
        " of the largest of each tensor. Whether it holds is written, not the rounding itself.",
        "Speed is no result, since a clock would enter:"
        " tests/benchmarks/bench_models.py, a script, times our models beside the reference's.",
    ),
    publication=(
        "lessons of the series transformer-architectures, https://blog.korolevalab.com,"
        " as their study cards give them"
    ),
    outputs=(
        *(
            Output(id=name, kind=kind, title=title, caption=caption, minutes=0.2)
            for name, kind, title, caption in _OWN
        ),
        *(
            Output(
                id=name,
                kind="number",
                title=title,
                caption=caption,
                group=card_of(name),
                minutes=0.1,
            )
            for name, title, caption in _ROWS
        ),
    ),
    groups=tuple(Group(id=card, title=title, text=text) for card, title, text in _CARDS),
)

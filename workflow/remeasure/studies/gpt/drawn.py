"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/gpt/`` that it is given.
Input = tuple[str, str]

_READ: tuple[tuple[Input, Input], ...] = (
    (("large", "reading_tokens.parquet"), ("chess", "chess_tokens.parquet")),
    (("large", "reading_lens.parquet"), ("chess", "chess_lens.parquet")),
)

#: Figures by output, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_hero": (),
    "fig_objective": (),
    "fig_param_share": (("family_table", "family.parquet"),),
    "fig_prenorm": (),
    "fig_alphago_probs": _READ[0],
    "fig_kvcache": (),
    "fig_kv_timing": (("costs", "costs.parquet"),),
    "fig_logit_lens": _READ[1],
    "fig_decoder_lens": (("layers", "decoder_layers.parquet"),),
    "fig_chess_tokens": (("chips", "chips.parquet"),),
    "fig_training": (
        ("log", "training_log.parquet"),
        ("training_facts", "training.json"),
        ("shares", "shares.parquet"),
    ),
    "fig_shortest_win": (("replayed", "replayed.json"),),
    "fig_probe_accuracy": (("accuracy", "probes.parquet"),),
    "fig_probe_boards": (("shown", "probe_boards.json"),),
    "fig_passport": (),
    "fig_family": (),
}

#: Tables likewise; each step writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_gpt_family": (("family_table", "family.parquet"),),
    "tab_param_formula": (("family_table", "family.parquet"),),
    "tab_decoder": (
        ("prompts", "decoder_prompts.parquet"),
        ("following", "decoder_next.parquet"),
        ("tokens", "decoder_tokens.parquet"),
        ("caches", "decoder_caches.parquet"),
    ),
    "tab_time_control": (("summary", "games.json"),),
    "tab_gpt2_verdicts": (("shares", "shares.parquet"),),
    "tab_training_log": (("log", "training_log.parquet"),),
    "tab_verdicts_by_model": (("shares", "shares.parquet"),),
    "tab_legal_gaps": (("gaps", "gaps.parquet"), ("shown", "probe_boards.json")),
    "tab_chess_seeds": (("seeds", "seeds.parquet"), ("spread", "seed_spread.parquet")),
    "tab_games_vs_random": (("played", "played.parquet"),),
    "tab_probe_best": (("accuracy", "probes.parquet"),),
    "stat_cited": (),
}

#: Module of the step, where it is not ``tables``.
MODULES = {
    **dict.fromkeys(
        ("fig_hero", "fig_objective", "fig_prenorm", "fig_kvcache", "fig_passport", "fig_family"),
        "chart_drawings",
    ),
    **dict.fromkeys(
        ("fig_param_share", "fig_alphago_probs", "fig_kv_timing", "fig_logit_lens"), "chart_gpt2"
    ),
    **dict.fromkeys(("fig_training", "fig_probe_accuracy"), "chart_learning"),
    "tab_chess_seeds": "table_seeds",
    **dict.fromkeys(("fig_chess_tokens", "fig_shortest_win", "fig_probe_boards"), "chart_boards"),
    "fig_decoder_lens": "chart_decoder",
    "tab_decoder": "table_decoder",
}

#: Outputs of the decoder out of a package: drawn only where the configuration asks for it.
DECODER = ("fig_decoder_lens", "tab_decoder")


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables")


def shown(outputs: dict[str, tuple[Input, ...]], *, decoder: bool) -> dict[str, tuple[Input, ...]]:
    """Those of `FIGURES` or `TABLES` that a run draws, with a decoder out of a package or not."""
    return {name: files for name, files in outputs.items() if decoder or name not in DECODER}

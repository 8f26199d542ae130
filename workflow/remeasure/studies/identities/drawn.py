"""Which figures and tables the study has, and what draws them: the list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Articles by the first word of their output ids; also the names of their modules.
ARTICLES = (
    "transformers",
    "bert",
    "gpt",
    "t5",
    "bart",
    "xlnet",
    "roberta",
    "distilbert",
    "albert",
    "vit",
)

#: Outputs that are drawn, in reading order; each reads the points of its article.
FIGURES = (
    "transformers_tab_path_length",
    "transformers_tab_entropy",
    "transformers_stat_single_draw",
    "transformers_tab_quadratic_share",
    "bert_tab_chains",
    "bert_tab_cmi_bound",
    "gpt_tab_drift",
    "gpt_tab_temperature",
    "t5_tab_cost_limit",
    "t5_tab_buckets",
    "bart_tab_bits",
    "bart_tab_reconstruction",
    "xlnet_tab_pairs",
    "xlnet_tab_two_stream",
    "roberta_tab_static",
    "roberta_tab_scaling",
    "distilbert_tab_tau",
    "distilbert_tab_samples",
    "albert_tab_decoupled",
    "albert_tab_iterated",
    "vit_tab_cost",
    "vit_tab_corner",
)

#: The table of each article's identities, by output.
TABLES = {f"{article}_tab_checks": article for article in ARTICLES}


def article_of(output: str) -> str:
    """The article of an output, from the first word of its id."""
    return output.partition("_")[0]


def step_of(figure: str) -> str:
    """The step that draws a figure, as plans and rules name it."""
    return f"chart_{article_of(figure)}:draw[{figure}]"

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
)

#: The table of each article's identities, by output.
TABLES = {f"{article}_tab_checks": article for article in ARTICLES}


def article_of(output: str) -> str:
    """The article of an output, from the first word of its id."""
    return output.partition("_")[0]


def module_of(figure: str) -> str:
    """Module of the step that draws a figure."""
    return f"chart_{article_of(figure)}"

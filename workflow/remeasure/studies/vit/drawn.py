"""What each figure and table of the study is drawn from: the one list that the rules read.

Nothing is imported here, so that planning a run costs nothing.
"""

from __future__ import annotations

#: Parameter of the step, and the file below ``results/<run>/vit/`` that it is given.
Input = tuple[str, str]

_PHOTOS: tuple[Input, ...] = (("pictures", "photos.safetensors"), ("summary", "photos.json"))
_OPENED: tuple[Input, ...] = (("opened", "opened.safetensors"), ("summary", "opened.json"))
_SAMPLES: tuple[Input, ...] = (("samples", "samples.safetensors"), ("summary", "race.json"))

#: Figures by output, in reading order.
FIGURES: dict[str, tuple[Input, ...]] = {
    "fig_hero": (),
    "fig_photos": _PHOTOS,
    "fig_normalise": _PHOTOS,
    "fig_grid": _PHOTOS,
    "fig_patch50": _PHOTOS,
    "fig_embedding": (),
    "fig_sequence": _OPENED,
    "fig_top5": _OPENED,
    "fig_filters": _OPENED,
    "fig_position_similarity": _OPENED,
    "fig_attention_distance": _OPENED,
    "fig_rollout": _OPENED,
    "fig_dino_attention": (("opened", "dino.safetensors"), ("summary", "dino.json")),
    "fig_eurosat_samples": _SAMPLES,
    "fig_eurosat": (("accuracy", "accuracy.parquet"), ("summary", "race.json")),
    "fig_confusion": (("confusion", "confusion.parquet"), ("summary", "race.json")),
    "fig_mistakes": _SAMPLES,
    "fig_passport": (),
    "fig_family": (),
}

#: Tables likewise; each step writes the fragment ``<output>.html``.
TABLES: dict[str, tuple[Input, ...]] = {
    "tab_shuffle": (("summary", "opened.json"),),
    "tab_cost": (("cost", "cost.parquet"),),
    "tab_eurosat": (("accuracy", "accuracy.parquet"), ("summary", "race.json")),
    "tab_cited": (),
}

#: Module of the step, where it is not ``tables``.
MODULES = {
    **dict.fromkeys(("fig_hero", "fig_embedding", "fig_passport", "fig_family"), "chart_drawings"),
    **dict.fromkeys(("fig_photos", "fig_normalise", "fig_grid", "fig_patch50"), "chart_photos"),
    **dict.fromkeys(
        (
            "fig_sequence",
            "fig_top5",
            "fig_filters",
            "fig_position_similarity",
            "fig_attention_distance",
            "fig_rollout",
            "fig_dino_attention",
        ),
        "chart_opened",
    ),
    **dict.fromkeys(
        ("fig_eurosat_samples", "fig_eurosat", "fig_confusion", "fig_mistakes"), "chart_race"
    ),
}

#: Figures that a run draws only with a certain checkpoint.
NEEDS = {"fig_dino_attention": "dino"}


def module_of(output: str) -> str:
    """Module of the step that draws an output."""
    return MODULES.get(output, "tables")

"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

_WEIGHTS = ("google/vit-base-patch16-224", "the article's photographs")
_TILES = ("EuroSAT tiles",)

_OUTPUTS = (
    Output(
        id="fig_hero",
        kind="drawing",
        title="From pixels to a class",
        caption="A photograph is cut into patches, patches become vectors, vectors a sequence.",
        minutes=0.1,
    ),
    Output(
        id="fig_photos",
        kind="figure",
        title="The photographs",
        caption=(
            "What the model is shown. The default run has two photographs that ship in a package"
            " instead of the article's five."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_input_tensor",
        kind="number",
        title="A photograph as numbers",
        caption="Shape and range of one photograph as the model reads it.",
        needs=("the article's photographs",),
    ),
    Output(
        id="fig_normalise",
        kind="figure",
        title="Resized and normalised",
        caption=(
            "The first photograph as it is, resized straight to a square, and how often each value"
            " occurs once colours are scaled to −1..1."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_patches",
        kind="number",
        title="A photograph as patches",
        caption="Patches and the numbers in each.",
    ),
    Output(
        id="fig_grid",
        kind="figure",
        title="The grid of patches",
        caption="Left: the grid on the photograph. Right: its first two rows, patch by patch.",
        minutes=0.1,
    ),
    Output(
        id="stat_unfold",
        kind="number",
        title="Two ways to cut",
        caption="Cutting by reshaping against torch's unfold.",
    ),
    Output(
        id="fig_patch50",
        kind="figure",
        title="One patch as a row of numbers",
        caption="Patch 50 and its 768 numbers: all of one colour first, then the next.",
        minutes=0.1,
    ),
    Output(
        id="fig_embedding",
        kind="drawing",
        title="Words and patches",
        caption="A word picks a row of a table; a patch is multiplied by a matrix.",
        minutes=0.1,
    ),
    Output(
        id="stat_patch_embedding",
        kind="number",
        title="A matrix or a convolution",
        caption="Shapes of the patch embedding, and its two forms compared.",
        needs=_WEIGHTS,
    ),
    Output(
        id="stat_sequence",
        kind="number",
        title="Shapes of the sequence",
        caption="Class token, positions, and what the first block reads.",
    ),
    Output(
        id="fig_sequence",
        kind="figure",
        title="What the first block reads",
        caption="The first numbers of every vector of the sequence, of the first image.",
        minutes=0.1,
    ),
    Output(
        id="stat_hf_parity",
        kind="number",
        title="Equal to the library",
        caption="Our ViT against the reference library's, with the same weights.",
    ),
    Output(
        id="tab_shuffle",
        kind="table",
        title="Does the order of patches matter?",
        caption=(
            "The likeliest class with and without positions, with patches in order and shuffled."
        ),
        needs=_WEIGHTS,
        minutes=0.1,
    ),
    Output(
        id="fig_top5",
        kind="figure",
        title="The likeliest classes",
        caption="Images, and below each the classes that the model thinks likeliest.",
        needs=_WEIGHTS,
        minutes=0.1,
    ),
    Output(
        id="fig_filters",
        kind="figure",
        title="What patch filters look for",
        caption=(
            "Principal directions of the patch filters, strongest first, each scaled on its own;"
            " their signs are arbitrary."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_position_similarity",
        kind="figure",
        title="Which places are alike",
        caption=(
            "Each small map compares the position vector of one patch with those of all: the"
            " cosine of the angle between them."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_attention_distance",
        kind="figure",
        title="How far heads look",
        caption=(
            "Mean distance in the image between a patch and the patches that it attends to, one"
            " dot a head. The line: attention that is equal everywhere."
        ),
        needs=_WEIGHTS,
        minutes=0.1,
    ),
    Output(
        id="fig_rollout",
        kind="figure",
        title="What the answer rests on",
        caption=(
            "Attention from the class token followed through all blocks (rollout), each map"
            " divided by its maximum; above, the answer."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_resolution",
        kind="number",
        title="More pixels, same weights",
        caption="Answers at 224 and at 384 pixels, positions stretched.",
        needs=_WEIGHTS,
    ),
    Output(
        id="tab_cost",
        kind="table",
        title="What resolution costs",
        caption="Tokens, operations of the encoder, and attention's share of them.",
        minutes=0.1,
    ),
    Output(
        id="stat_dino_load",
        kind="number",
        title="DINO is a ViT",
        caption="What DINO's file lacks for our ViT, and the shape of its maps.",
    ),
    Output(
        id="fig_dino_attention",
        kind="figure",
        title="DINO outlines objects",
        caption=(
            "Attention of the last block from the class token, head by head, each map coloured"
            " from its least to its largest value. Drawn only where a run has DINO's weights."
        ),
        needs=("facebook/dino-vits8", "the article's photographs"),
        minutes=0.1,
    ),
    Output(
        id="stat_eurosat",
        kind="number",
        title="The tiles",
        caption="Sizes of the published splits, and names of the classes.",
        needs=_TILES,
    ),
    Output(
        id="fig_eurosat_samples",
        kind="figure",
        title="Two tiles of each class",
        caption="The first two training tiles of each class of this run's set.",
        minutes=0.1,
    ),
    Output(
        id="stat_params",
        kind="number",
        title="Sizes of the models",
        caption="Parameters, counted on the built models.",
    ),
    Output(
        id="stat_dinov2_dim",
        kind="number",
        title="A tile as DINOv2 sees it",
        caption="Length of the feature that the probe reads.",
    ),
    Output(
        id="tab_eurosat",
        kind="table",
        title="The race in numbers",
        caption=(
            "Test accuracy of each learner by labels a class: mean over trainings, its 95%"
            " interval, worst and best training."
        ),
        needs=(*_TILES, "google/vit-base-patch16-224-in21k", "facebook/dinov2-small", "GPU"),
        minutes=1.5,
    ),
    Output(
        id="fig_eurosat",
        kind="figure",
        title="The race",
        caption=(
            "Test accuracy by labelled tiles (ten times the labels a class), with 95% intervals."
            " Diamonds, on EuroSAT only: published."
        ),
        needs=_TILES,
        minutes=0.1,
    ),
    Output(
        id="fig_confusion",
        kind="figure",
        title="What is taken for what",
        caption=(
            "Rows are true classes, columns guesses of one training at the most labels; shares"
            " above 0.01 are written in."
        ),
        needs=(*_TILES, "google/vit-base-patch16-224-in21k"),
        minutes=0.1,
    ),
    Output(
        id="fig_mistakes",
        kind="figure",
        title="The first wrong tiles",
        caption="The first twelve wrong test tiles of that training: truth, then guess.",
        needs=(*_TILES, "google/vit-base-patch16-224-in21k"),
        minutes=0.1,
    ),
    Output(
        id="fig_passport",
        kind="drawing",
        title="ViT-B/16 in short",
        caption="Facts as the article quotes them.",
        source="Dosovitskiy et al. 2021, ICLR, as the article quotes it",
        minutes=0.1,
    ),
    Output(
        id="fig_family",
        kind="drawing",
        title="Where this lesson stands",
        caption="Fifteen lessons of a course; this is the eleventh.",
        source="the course's own drawing",
        minutes=0.1,
    ),
    Output(
        id="stat_cited",
        kind="number",
        title="Other facts of the text",
        caption="Quoted, source by source.",
        source="the article",
    ),
    Output(
        id="tab_cited",
        kind="table",
        title="Facts quoted in the article",
        caption="Every number that the article quotes from elsewhere, with its source.",
        minutes=0.1,
    ),
)

STUDY = Study(
    id="vit",
    title="The Vision Transformer, from pixels to fine-tuning",
    question=(
        "How does a picture become a sequence, what has a Vision Transformer learned about places"
        " and looking, what does resolution cost, and when does a pretrained one beat a"
        " convolutional net trained from scratch?"
    ),
    method=(
        "The models are written from scratch and equal the reference library's on random weights"
        " of every size that is tested, forward and backward.",
        "Numbers that follow from definitions are computed from those definitions. What is a"
        " property of published weights is measured where a run has them (vit.checkpoints); by"
        " default the same analyses open the small ViT that the run trained itself, which"
        " answers no published row.",
        "The race trains each learner afresh for every budget and several seeds, as the article"
        " does (AdamW along one cosine cycle that also moves the first beta, one quarter turn a"
        " batch, one flip a tile, the last weights scored). Its default is small: generated"
        " textures, small nets, few steps. The published scale needs a GPU.",
        "A mean over trainings has a 95% interval of both chances: trainings (Student's t) and"
        " tested tiles (binomial). Differences of learners are paired: training by training and"
        " tile by tile.",
        "A pretrained net that ships in a package (EfficientNet-Lite0, vit.backbone) may race with"
        " a linear map of its frozen features. It is none of the article's learners and answers"
        " none of its rows; it asks whether pretrained is above scratch at few labels.",
        "The budget of 1,620 labels a class is nominal: classes have different sizes, and the"
        " real number of tiles stands in the table.",
    ),
    publication=(
        "the article transformer-architectures-11-vit,"
        " https://blog.korolevalab.com/blog/2026/transformer-architectures-11-vit/"
    ),
    outputs=_OUTPUTS,
)

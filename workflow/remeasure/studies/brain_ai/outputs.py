"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

_MESHES = ("fsaverage5 meshes, in the package nilearn",)
_OWN = (
    "The regions' extent is our own choice on an average surface, not a measurement. The data are"
    " the balls that make them."
)

_OUTPUTS = (
    Output(
        id="stat_headline",
        kind="cited",
        title="Numbers that open the essay",
        source="Tuckute et al. 2024; Frank 2023; Meta 2024; IntPhys 2",
    ),
    Output(
        id="fig_drive",
        kind="figure",
        title="Sentences that drive and suppress",
        caption=(
            "A model chose sentences for the language network (Tuckute et al. 2024). Percentages"
            " stand on a standardised scale relative to ordinary sentences, not on the raw signal."
        ),
        minutes=0.1,
        source="Tuckute et al. 2024, doi 10.1038/s41562-023-01783-7",
    ),
    Output(id="stat_drive", kind="cited", title="How it was done", source="Tuckute et al. 2024"),
    Output(
        id="fig_encoding",
        kind="drawing",
        title="An encoding model",
        caption="How a network's activity is fitted to a brain's, as described; none is run here.",
        minutes=0.1,
        source="the essay",
    ),
    Output(
        id="stat_method",
        kind="number",
        title="Correlations and ceilings",
        caption="Raw correlations are small; scores are shares of a noise ceiling.",
        source="Caucheteux and King 2022; Schrimpf et al. 2021",
    ),
    Output(
        id="fig_language",
        kind="figure",
        title="The language network",
        caption=(
            "For each point of the cortex, the share of 804 people in whom it is among the most"
            " language-selective tenth (LanA, surface version). Drawn where the configuration"
            " fetches the atlas: brain_ai.atlas public, or mirror. Without it this is not run."
        ),
        needs=("the language atlas LanA (network)", *_MESHES),
        minutes=0.1,
        source="Lipkin et al. 2022, doi 10.1038/s41597-022-01645-3",
    ),
    Output(
        id="stat_language",
        kind="cited",
        title="Language in numbers",
        source="see the source of each row",
    ),
    Output(
        id="stat_decoding",
        kind="cited",
        title="Decoding speech and thought",
        source="Tang et al. 2023; Card et al. 2024",
    ),
    Output(
        id="fig_ventral",
        kind="drawing",
        title="Stages of the ventral stream",
        caption=f"A schematic: early, middle and late stages of seeing. {_OWN}",
        needs=_MESHES,
        minutes=0.1,
        source="the essay's schematic",
    ),
    Output(
        id="fig_vision",
        kind="figure",
        title="Five studies of vision",
        caption="What each found about networks and visual cortex; one number of each is quoted.",
        minutes=0.1,
        source=(
            "Yamins et al. 2014; Schrimpf et al. 2018; Linsley et al. 2023; Conwell et al. 2024;"
            " Gokce and Schrimpf 2025"
        ),
    ),
    Output(id="stat_vision", kind="cited", title="Vision in numbers", source="Conwell et al. 2024"),
    Output(
        id="stat_vision_diff",
        kind="cited",
        title="Where people and models differ",
        source="see the source of each row",
    ),
    Output(
        id="stat_reconstruction",
        kind="number",
        title="Pictures out of scans",
        caption="Quoted, and the chance level that follows.",
        source="Allen et al. 2022; Scotti et al. 2024",
    ),
    Output(
        id="fig_space",
        kind="figure",
        title="Place and grid",
        caption=(
            "Left: both hippocampi, marked by hand in a slice of the average brain MNI152. Middle"
            " and right: idealised firing maps, a Gaussian field and three plane waves 60 degrees"
            " apart. The data are the maps; the slice is the package's."
        ),
        needs=("the MNI152 template, in the package nilearn",),
        minutes=0.1,
        source="computed; the slice is of MNI152",
    ),
    Output(
        id="stat_space",
        kind="cited",
        title="Space in numbers",
        source="Banino et al. 2018; Schaeffer et al. 2022; Vafa et al. 2024",
    ),
    Output(
        id="fig_memory",
        kind="figure",
        title="Memory systems and a model's stores",
        caption="What a brain remembers with, and what a model has in its place.",
        minutes=0.1,
        source="Cowan 2001; Lee and Wilson 2002; the essay",
    ),
    Output(id="stat_memory", kind="cited", title="Replay", source="Lee and Wilson 2002"),
    Output(
        id="fig_dopamine",
        kind="figure",
        title="The error that teaches",
        caption=(
            "Prediction errors of a temporal-difference model in three trials: the first one, a"
            " rewarded one after learning, and one without the reward."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_dopamine",
        kind="cited",
        title="Dopamine in numbers",
        source="Dabney et al. 2020; OpenAI 2023",
    ),
    Output(
        id="fig_physics",
        kind="figure",
        title="Intuitive physics",
        caption="Accuracy on IntPhys 2: people, six models, and chance.",
        minutes=0.1,
        source="IntPhys 2 benchmark results, a paper that the essay does not list",
    ),
    Output(
        id="stat_robots",
        kind="number",
        title="Robots and video models",
        caption="Quoted, and one ratio that follows.",
        source="see the source of each row",
    ),
    Output(
        id="fig_modules",
        kind="figure",
        title="A map of counterparts",
        caption=f"How close AI comes to each region, in the essay's judgement. {_OWN}",
        needs=_MESHES,
        minutes=0.1,
        source="judgement of the essay",
    ),
    Output(
        id="tab_modules",
        kind="table",
        title="The state of the match",
        caption="The essay's judgement, system by system.",
        minutes=0.1,
        source="judgement of the essay",
    ),
    Output(
        id="fig_energy",
        kind="figure",
        title="Energy to train and to answer",
        caption=(
            "A brain at 20 W beside models. Energy of Llama 3.1 is that of its GPUs alone, at 700 W"
            " each; that of Grok 4 is an estimate."
        ),
        minutes=0.1,
        source="Patterson et al. 2021; Meta 2024; Epoch AI 2025; Elsworth et al. 2025; You 2025",
    ),
    Output(
        id="stat_energy",
        kind="number",
        title="A brain's time and life in a model's energy",
        caption="Computed from the numbers of the figure.",
    ),
    Output(
        id="stat_ops",
        kind="number",
        title="Operations per joule",
        caption=(
            "A brain's operations are an estimate over four orders of magnitude; an H100's are its"
            " dense peak in BF16, twice as many with sparsity."
        ),
        source="Carlsmith 2020",
    ),
    Output(
        id="fig_data",
        kind="figure",
        title="Words and tokens",
        caption=(
            "What people hear and read, and what models are trained on. The number of GPT-3 is that"
            " of its data set, of which about 300 billion tokens were used."
        ),
        minutes=0.1,
        source="Frank 2023; Hu et al. 2024; Meta 2024; the essay",
    ),
    Output(
        id="stat_data",
        kind="number",
        title="Tokens for each word of a child",
        caption="Tokens are taken as words.",
        source="Frank 2023",
    ),
    Output(
        id="tab_conversions",
        kind="table",
        title="Conversions",
        caption="Every conversion of energy, operations and data, beside what the essay prints.",
        minutes=0.1,
    ),
    Output(
        id="stat_speed",
        kind="cited",
        title="Bits and rates",
        source="Bartol et al. 2015; Morris et al. 2025; the essay",
    ),
    Output(
        id="stat_lists",
        kind="number",
        title="Lengths of lists",
        caption="The essay's lists are not on its card.",
    ),
    Output(
        id="tab_cited",
        kind="table",
        title="Facts quoted in the essay",
        caption="Every number and verdict that the essay quotes from elsewhere, with its source.",
        minutes=0.1,
    ),
)

STUDY = Study(
    id="brain_ai",
    title="How alike are the brain and AI models?",
    question=(
        "In which systems do networks predict or resemble the brain, how far does the match go, and"
        " which of the two is more efficient?"
    ),
    method=(
        "Every quoted fact stands in one table with its source, and figures read that table alone.",
        "Computed: a temporal-difference model with one state a step and a value of 0 before the"
        " cue; a place field and a grid of three plane waves; conversions of energy, operations and"
        " data from quoted numbers.",
        "Regions are painted on an average brain, the fsaverage5 mesh inside the package nilearn;"
        " the slice shows the template MNI152 of the same package.",
        "The language atlas is a public source: its figure is drawn where the configuration fetches"
        " it. No encoding model is run, here or in the article.",
    ),
    publication=(
        "the essay brain-and-ai-models, https://blog.korolevalab.com/blog/2026/brain-and-ai-models/"
    ),
    outputs=_OUTPUTS,
)

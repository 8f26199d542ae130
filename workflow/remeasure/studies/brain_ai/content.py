"""What the essay's diagrams name, in our own words, and where its regions lie on the cortex.

The numbers are not here: those come from the table of quoted facts.
"""

from __future__ import annotations

from remeasure.draw.flow import Flow, Stage
from remeasure.store.fsaverage import Ball, Region

#: An encoding model as the essay describes it; none is run.
ENCODING = Flow(
    (
        Stage("Sentences", "read by people\nin a scanner and\nby a network", 4, ""),
        Stage("Activity", "of one layer,\na vector for\neach sentence", 0, ""),
        Stage("Regression", "linear, to each\nvoxel, on some\nsentences", 0, ""),
        Stage("Score", "correlation on\nthe others, over\nnoise ceiling", 2, ""),
    ),
    height=1.5,
)

#: Memory systems and what a model has: name, quantity of the quoted fact about each side or words.
MEMORY = (
    ("working memory", "chunks in working memory", "context window", "context window"),
    ("knowledge, skills", "", "weights", ""),
    ("episodes", "", "retrieved documents", ""),
    ("consolidation", "", "counterpart", "counterpart of consolidation"),
)

#: What five studies of vision found, by the condition of the quoted fact.
VISION = {
    "Yamins et al. 2014": (
        2014,
        "of the explainable variance of monkey IT: better at the task, better at the brain",
    ),
    "Brain-Score 2018 (Schrimpf et al.)": (2018, "ImageNet accuracy, above which the link weakens"),
    "Linsley et al. 2023": (2023, "networks: better ones drift from the brain"),
    "Conwell et al. 2024": (2024, "models: most predict the brain equally well"),
    "Gokce and Schrimpf 2025": (2025, "models: with scale the match saturates"),
}

#: Stages of the ventral stream on the left hemisphere: own choice of centres (MNI, mm) and radii.
VENTRAL = (
    Region("pole and calcarine sulcus", "early", (Ball(-12, -100, 0, 14), Ball(-8, -84, 4, 13))),
    Region("lateral occipital surface", "middle", (Ball(-38, -86, 2, 15), Ball(-46, -74, -2, 13))),
    Region(
        "fusiform and inferior temporal gyri",
        "late",
        (
            Ball(-38, -56, -18, 14),
            Ball(-38, -38, -24, 13),
            Ball(-54, -56, -14, 12),
            Ball(-56, -38, -20, 12),
            Ball(-54, -22, -28, 12),
        ),
    ),
)

#: Regions of the map of counterparts, likewise; names are those of the quoted facts.
MODULES = (
    Region("visual cortex", "close", (Ball(-14, -98, 0, 20), Ball(-34, -86, 2, 16))),
    Region("auditory cortex", "close", (Ball(-52, -20, 8, 13),)),
    Region(
        "language network",
        "close",
        (
            Ball(-50, 24, 10, 14),
            Ball(-58, -42, 2, 13),
            Ball(-58, -8, -14, 12),
            Ball(-46, -60, 24, 10),
        ),
    ),
    Region("motor cortex", "partial", (Ball(-38, -18, 56, 15), Ball(-54, -6, 34, 11))),
    Region("dorsolateral prefrontal cortex", "partial", (Ball(-40, 36, 30, 15),)),
    Region("parahippocampal region", "partial", (Ball(-24, -32, -18, 13),)),
    Region("insula", "none yet", (Ball(-37, 4, 0, 12),)),
    Region("anterior cingulate", "none yet", (Ball(-6, 34, 20, 14),)),
    Region("ventromedial prefrontal cortex", "none yet", (Ball(-6, 46, -12, 14),)),
)

#: The coronal slice (MNI, mm) and ellipses that mark the hippocampi in it: centre, width, height
#: and tilt in degrees.
SLICE = -21.0
HIPPOCAMPI = ((-28.0, -16.0, 19.0, 11.0, 25.0), (28.0, -16.0, 19.0, 11.0, -25.0))

"""What the essay's diagrams name, in our own words, and where its regions lie on the cortex.

The numbers are not here: those come from the table of quoted facts.
"""

from __future__ import annotations

from remeasure.store.fsaverage import Ball, Region

#: Problems of function after Chalmers (1995), who names seven: how waking differs from sleep is
#: left out here. Which six the essay lists its card does not say.
EASY_PROBLEMS = (
    "tell stimuli apart\nand react to them",
    "bring information\ntogether",
    "report mental\nstates",
    "have access to\nown states",
    "focus\nattention",
    "control behaviour\non purpose",
)

#: Mary knows every physical fact about colour and then sees red: steps of the argument.
MARY = (
    "Mary knows every\nphysical fact about colour\nand has seen none",
    "She leaves the room\nand sees red for\nthe first time",
    "If she learns a new fact,\nnot every fact\nis physical",
)

#: Physicalist replies: who, and what Mary gains.
MARY_REPLIES = (
    ("Lewis", "an ability, not a fact:\nto imagine and recognise"),
    ("Conee", "acquaintance with\nwhat she knew about"),
    ("Loar", "an old fact under\na new concept"),
)

#: The zombie argument: its steps, and the answer of the survey that stops (or does not stop) there.
ZOMBIES = (
    ("A being like us in body,\nwithout experience,\nis conceivable", "inconceivable", "stop here"),
    (
        "What is conceivable\nis possible",
        "conceivable but not metaphysically possible",
        "stop here",
    ),
    ("So experience is more\nthan the physical", "metaphysically possible", "go all the way"),
)

#: Share of the neurons that are replaced by chips, stage by stage.
FADING = (0.0, 0.25, 0.5, 0.75, 1.0)
FADING_WORDS = ("none", "a quarter", "half", "three quarters", "all")

#: The decision tree: question, the answer that ends there, its positions, the answer that goes on.
POSITIONS = (
    (
        "Is there a hard problem\nbeyond the functions?",
        "no",
        ("illusionism", "eliminativism", "type-A physicalism"),
        "yes",
    ),
    (
        "Is experience\nphysical?",
        "yes",
        ("type-B physicalism", "biological naturalism", "mysterianism"),
        "no",
    ),
    (
        "Then what is it?",
        "",
        (
            "substance and property dualism",
            "epiphenomenalism",
            "Russellian monism, panpsychism",
            "idealism",
        ),
        "",
    ),
)

#: Regions of four theories on the left hemisphere: own choice of centres (MNI, mm) and radii, for
#: the essay names regions in words alone. Names are those of the quoted facts.
REGIONS = (
    Region(
        "prefrontal and parietal hubs",
        "global workspace theory",
        (
            Ball(-42, 34, 26, 20),
            Ball(-30, 54, 12, 17),
            Ball(-42, 8, 44, 14),
            Ball(-40, -56, 46, 20),
            Ball(-52, -46, 34, 13),
        ),
    ),
    Region(
        "posterior hot zone",
        "integrated information theory",
        (
            Ball(-26, -92, 4, 26),
            Ball(-46, -74, 4, 20),
            Ball(-58, -54, -2, 17),
            Ball(-44, -70, 32, 22),
            Ball(-34, -64, 50, 18),
        ),
    ),
    Region(
        "dorsolateral prefrontal cortex",
        "higher-order theory",
        (Ball(-44, 30, 28, 18), Ball(-38, 44, 22, 13)),
    ),
    Region(
        "visual cortex",
        "recurrent processing theory",
        (Ball(-22, -98, 2, 22), Ball(-40, -84, -2, 15)),
    ),
)

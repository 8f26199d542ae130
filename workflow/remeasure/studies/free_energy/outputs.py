"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

_OUTPUTS = (
    Output(
        id="stat_headline",
        kind="number",
        title="Numbers that open the essay",
        caption="How famous the principle is and what has been tested: quoted, source by source.",
        source="the essay",
    ),
    Output(
        id="fig_decompose",
        kind="drawing",
        title="One number, three readings",
        caption=(
            "Three ways to write the free energy of a belief q about a hidden size v, given what is"
            " seen, u. Each was computed by its own route at nine beliefs; only forms that agree"
            " are drawn."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_food_example",
        kind="number",
        title="A guess about food",
        caption=(
            "The worked example: food of size v reflects light of about v squared; sizes near 3 are"
            " expected, light of 2 is seen. The two pull the guess in different directions."
        ),
        minutes=0.1,
        source="Bogacz 2017, Journal of Mathematical Psychology 76",
    ),
    Output(
        id="fig_bound",
        kind="figure",
        title="A bound that no belief breaks",
        caption=(
            "Free energy of Gaussian beliefs by their centre, at one fixed width and at the best"
            " width for each centre, over the surprisal of what is seen. The best belief nearly"
            " touches the line; none lies below it."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_bound_violations",
        kind="number",
        title="Beliefs below the line",
        caption="How many beliefs, drawn or only tried, have less free energy than surprisal.",
        minutes=0.1,
    ),
    Output(
        id="fig_bogacz",
        kind="figure",
        title="Descending to the peak",
        caption=(
            "Left: the exact posterior of the size with its peak and its mean. Right: gradient"
            " descent (thick) and a small network with error units (thin) both come to rest at the"
            " peak, not at the mean."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_hierarchy",
        kind="drawing",
        title="Predictions down, errors up",
        caption="Predictive coding as a hierarchy over the senses.",
        minutes=0.1,
    ),
    Output(
        id="fig_efe",
        kind="figure",
        title="Risk and ambiguity",
        caption=(
            "Left: risk of two policies, one that brings the preferred outcome more often than the"
            " other. Right: ambiguity of two policies, one of which leads to a state whose outcomes"
            " tell little. Diamonds: published."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_blanket",
        kind="drawing",
        title="A Markov blanket",
        caption=(
            "Outside and inside touch only through what is sensed and done. In a Gaussian example"
            " their covariance given the blanket is computed."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_evidence",
        kind="drawing",
        title="What has been tested",
        caption=(
            "The essay's verdicts on eight claims, from a derivation to a principle that is not"
            " testable by design. Quoted; nothing here is measured."
        ),
        minutes=0.1,
        source="the essay's own verdict on the work that it reviews",
    ),
    Output(
        id="stat_isomura",
        kind="cited",
        title="Neurons that mix signals",
        source="Isomura et al. 2023, Nature Communications 14",
    ),
    Output(
        id="stat_pong",
        kind="number",
        title="Neurons that play",
        caption="A dish of neurons and a game: quoted, source by source.",
        source="the essay",
    ),
    Output(
        id="stat_other",
        kind="number",
        title="Other facts of the text",
        caption="Quoted, source by source.",
        source="the essay",
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
    id="free_energy",
    title="The free energy principle, computed",
    question=(
        "A living thing, says the free energy principle, acts and believes so that what it senses"
        " does not surprise it. What does that say in numbers, how does it relate to the bound that"
        " trains machine-learning models, and what of it has been tested?"
    ),
    method=(
        "One example carries the mathematics: a hidden size with a normal prior, light that grows"
        " with its square, one observation. All logarithms are natural, all results in nats.",
        "The surprisal is an integral, taken over the whole line where nothing else is said; free"
        " energies of Gaussian beliefs are closed forms, and so are the best width at a centre and"
        " the best centre at a width.",
        "Gradient descent and the network with error units use Euler's method with a step of 0.01,"
        " as public solutions of the tutorial's exercises do; the essay does not print its step.",
        "Risk and ambiguity use the constants of a published tutorial on active inference. The"
        " outcome that is not wanted has the log preference -16: without such a floor its risk"
        " would be infinite.",
        "No data enter. Drawings show what was checked: three forms that agree, levels, a blanket.",
    ),
    publication=(
        "the essay free-energy-principle,"
        " https://blog.korolevalab.com/blog/2026/free-energy-principle/"
    ),
    outputs=_OUTPUTS,
)

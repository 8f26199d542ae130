"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

_OUTPUTS = (
    Output(
        id="stat_headline",
        kind="cited",
        title="Numbers that open the essay",
        source="Bourget and Chalmers 2023; Bodien et al. 2024; Cogitate Consortium 2025",
    ),
    Output(
        id="fig_problems",
        kind="drawing",
        title="Easy problems and the hard one",
        caption="Problems of function, the explanatory gap, and what lies beyond it.",
        minutes=0.1,
        source="Chalmers 1995; Levine 1983",
    ),
    Output(
        id="fig_survey",
        kind="figure",
        title="What philosophers think",
        caption=(
            "Shares of philosophers who accept or lean toward each answer in the 2020 PhilPapers"
            " survey (Bourget and Chalmers 2023). Other answers are left out: shares do not add up"
            " to 100."
        ),
        minutes=0.1,
        source="Bourget and Chalmers 2023, doi 10.3998/phimp.2109",
    ),
    Output(
        id="stat_survey",
        kind="cited",
        title="Size of the survey",
        source="Bourget and Chalmers 2023",
    ),
    Output(
        id="fig_mary",
        kind="drawing",
        title="Mary's room",
        caption="The knowledge argument (Jackson 1982, 1986) and three physicalist replies.",
        minutes=0.1,
        source="Jackson 1982, 1986; Lewis; Conee; Loar",
    ),
    Output(
        id="fig_zombie",
        kind="drawing",
        title="The zombie argument",
        caption=(
            "Each step of the argument, and how many philosophers end there: the survey's three"
            " answers (Bourget and Chalmers 2023)."
        ),
        minutes=0.1,
        source="Bourget and Chalmers 2023, doi 10.3998/phimp.2109",
    ),
    Output(
        id="fig_fading",
        kind="drawing",
        title="Fading qualia",
        caption="Neurons give way to chips in five stages (after Chalmers 1995).",
        minutes=0.1,
        source="Chalmers 1995",
    ),
    Output(
        id="fig_positions",
        kind="drawing",
        title="A map of positions",
        caption="Three questions, and the positions to which their answers lead.",
        minutes=0.1,
        source="the essay",
    ),
    Output(
        id="fig_theories",
        kind="figure",
        title="Where theories place consciousness",
        caption=(
            "A schematic: regions that four theories name, on the left hemisphere of an average"
            " brain (fsaverage5). The essay names regions in words; their extent here is our own"
            " choice, not a measurement. The data are the balls that make the regions."
        ),
        needs=("fsaverage5 meshes, in the package nilearn",),
        minutes=0.1,
        source="the essay's schematic",
    ),
    Output(
        id="stat_theories",
        kind="number",
        title="How many theories there are",
        caption="Quoted counts; the list of theories that the essay discusses is not on its card.",
        source="Kuhn 2024; the essay",
    ),
    Output(
        id="fig_cogitate",
        kind="figure",
        title="Two theories tested against each other",
        caption=(
            "Three predictions of two theories and how they fared in the adversarial test (Cogitate"
            " Consortium 2025). The verdicts are the essay's reading, not a statistic."
        ),
        minutes=0.1,
        source="Cogitate Consortium 2025, doi 10.1038/s41586-025-08888-1",
    ),
    Output(
        id="stat_cogitate",
        kind="cited",
        title="Around the test",
        source="Melloni et al. 2023; IIT-Concerned et al. 2025; Cohen et al. 2020",
    ),
    Output(
        id="fig_patients",
        kind="figure",
        title="Aware without a sign",
        caption=(
            "One square a patient (Bodien et al. 2024). Left: of those who did not follow commands"
            " at the bedside, the coloured ones performed mental tasks in the scanner or the EEG."
            " Right: of those who did follow commands, the coloured ones showed it there too."
        ),
        minutes=0.1,
        source="Bodien et al. 2024, doi 10.1056/NEJMoa2400645",
    ),
    Output(
        id="stat_patients",
        kind="number",
        title="Patients in all",
        caption="Quoted, and the sum of the two groups.",
        source="Bodien et al. 2024; Owen et al. 2006",
    ),
    Output(
        id="stat_pci",
        kind="number",
        title="An index of complexity",
        caption=(
            "The perturbational complexity index: quoted counts, and the shares that follow. It"
            " measures a capacity; its success proves no theory."
        ),
        source="Casarotto et al. 2016, doi 10.1002/ana.24779",
    ),
    Output(
        id="tab_intervals",
        kind="table",
        title="How sure the counts are (an addition)",
        caption="Intervals for four quoted counts; the article gives none.",
        minutes=0.1,
    ),
    Output(id="stat_bet", kind="cited", title="A bet of 1998", source="Lenharo 2023"),
    Output(
        id="stat_ai",
        kind="cited",
        title="Chances of conscious machines",
        source="Chalmers 2023; Butlin et al. 2023",
    ),
    Output(
        id="stat_other",
        kind="number",
        title="Other numbers of the text",
        caption="Quoted; the essay's list of conclusions is not on its card.",
        source="the essay; Block 1980; Dennett 1988",
    ),
    Output(id="stat_years", kind="cited", title="Years", source="the essay's references"),
    Output(
        id="tab_cited",
        kind="table",
        title="Facts quoted in the essay",
        caption="Every number and verdict that the essay quotes from elsewhere, with its source.",
        minutes=0.1,
    ),
)

STUDY = Study(
    id="consciousness",
    title="Theories of consciousness",
    question=(
        "What is the hard problem, which positions are there, what have tests of the scientific"
        " theories shown, and what follows for patients and for machines?"
    ),
    method=(
        "The essay computes nothing: it quotes. Every quoted fact stands in one table with its"
        " source, and figures read that table alone.",
        "What follows from quoted numbers is computed: sums of shares, shares of counts, one"
        " square a patient, counts of what is drawn.",
        "Added, and marked as added: intervals of four quoted shares (Wilson 1927).",
        "Regions of theories are painted on an average brain, the fsaverage5 mesh inside the"
        " package nilearn; centres and radii are our own choice.",
    ),
    publication=(
        "the essay theories-of-consciousness,"
        " https://blog.korolevalab.com/blog/2026/theories-of-consciousness/"
    ),
    outputs=_OUTPUTS,
)

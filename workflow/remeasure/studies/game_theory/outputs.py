"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

_OUTPUTS = (
    Output(
        id="fig_dilemma",
        kind="figure",
        title="The game",
        caption=(
            "Points for one round of the prisoner's dilemma: yours first, theirs second. The"
            " framed cell is the only pair of moves from which neither player would move away."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_dilemma",
        kind="number",
        title="What makes it a dilemma",
        caption=(
            "Defecting is better whatever the other does, and yet both would gain by cooperating:"
            " the two inequalities that say so, checked."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_threshold_w",
        kind="number",
        title="How long the shadow of the future must be",
        caption=(
            "The chance w of another round from which cooperation is a best reply to tit for tat."
            " Two temptations set it: defecting for good, and taking turns."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_shadow",
        kind="figure",
        title="The shadow of the future",
        caption=(
            "Points a round against tit for tat when another round follows with probability w, for"
            " three ways to play. Cooperation is best from the larger of the two marks on."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_tournament",
        kind="figure",
        title="Winning matches, winning the tournament",
        caption=(
            "Twelve strategies in a round robin, by expected payoffs: matches won against mean"
            " points a round. The article prints neither its line-up nor its number of rounds;"
            " this line-up is a stand-in that was fitted to the printed scores (diamonds), so"
            " agreement with them says nothing."
        ),
        minutes=0.1,
    ),
    Output(
        id="tab_tournament_lengths",
        kind="table",
        title="The same line-up, other lengths",
        caption=(
            "How the stand-in's scores move with the length of a match: the order of the last two"
            " is decided by a thousandth of a point."
        ),
        minutes=0.1,
    ),
    Output(
        id="tab_tournament_pairs",
        kind="table",
        title="Every strategy against every other",
        caption=(
            "Expected points a round of the strategy in the row against the one in the column,"
            " copies included, in the stand-in line-up."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_echo",
        kind="figure",
        title="The echo of one mistake",
        caption=(
            "Two copies of a strategy cooperate until player one defects once by mistake (framed)."
            " Of generous tit for tat, which forgives at random, the first drawn echo that lasts as"
            " long as the mean."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_q_star",
        kind="number",
        title="How much one may forgive",
        caption="The largest probability to forgive a defection that no invader can exploit.",
        minutes=0.1,
    ),
    Output(
        id="fig_forgiveness",
        kind="figure",
        title="What forgiveness costs and what it repairs",
        caption=(
            "Points a round against the probability q to forgive a defection. Left: what two kinds"
            " of invader earn from forgiving residents. Right: what residents earn from each other"
            " when moves go wrong."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_cycles",
        kind="figure",
        title="Cycles of trust",
        caption=(
            "Shares of strategies in a population that imitates success, one run of each set, with"
            " the share of time under a majority of defectors over all runs. The article does not"
            " say how players imitate; the rule, its strength and mutation are settings here."
        ),
        minutes=0.3,
    ),
    Output(
        id="stat_cycles_payoff",
        kind="number",
        title="What the population earns",
        caption="Mean payoff a round of the whole population over the same runs.",
        minutes=0.3,
    ),
    Output(
        id="tab_cycles_settings",
        kind="table",
        title="Many settings, one printed number",
        caption=(
            "Exact long-run values with three strategies for several rules of imitation. Quite"
            " different rules come close to the printed pair, so it identifies none of them."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_reputation",
        kind="figure",
        title="Two ways to judge a stranger",
        caption=(
            "The new reputation of a good donor by what it did and to whom. The rules differ where"
            " somebody refuses a bad person."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_leading_eight",
        kind="number",
        title="The leading eight",
        caption=(
            "How many rules of reputation and behaviour there are, and how many share the features"
            " of those that keep cooperation stable. That eight do so is quoted."
        ),
        minutes=0.1,
        source="Ohtsuki and Iwasa 2004, Journal of Theoretical Biology 231",
    ),
    Output(
        id="fig_stag",
        kind="figure",
        title="The stag hunt",
        caption=(
            "Expected catch of a stag hunter and of a hare hunter against the share of others who"
            " hunt the stag. Arrows show where the share moves when success is imitated."
        ),
        minutes=0.1,
    ),
    Output(
        id="stat_cited",
        kind="table",
        title="Facts quoted in the essay",
        caption="Every number that the essay quotes from elsewhere, with its source.",
        minutes=0.1,
        source="the essay, which names no source for it",
    ),
)

STUDY = Study(
    id="game_theory",
    title="What game theory says about justice",
    question=(
        "When does it pay to be fair to others? Glaucon asked whether anybody would be just who"
        " could do wrong unseen. Game theory answers with a game, the prisoner's dilemma: when is"
        " it rational to cooperate, with which strategy, and does cooperation last among players"
        " who imitate what succeeds?"
    ),
    method=(
        "Payoffs are Axelrod's: 5 for defecting against a cooperator, 3 each for cooperating, 1"
        " each for defecting, 0 for the exploited. No data enter: everything is computed.",
        "A strategy is an automaton that cooperates with a probability in each of its states; two"
        " of them form one Markov chain. Mean payoffs come from that chain by linear algebra, for a"
        " fixed number of rounds, for a chance of another round, and in the long run. No match is"
        " sampled.",
        "The article does not print its tournament's line-up. Twelve usual strategies stand in for"
        " it; they were fitted to the printed scores afterwards. They check the engine, and no row"
        " that rests on them counts as reproduced.",
        "A population of 100 imitates: at each step one player may take over the strategy of"
        " another who earns more. With three strategies its long-run averages are solved exactly;"
        " with four they are means of 20 runs with intervals.",
        "Reputation rules are counted one by one; the stag hunt and forgiveness are closed forms,"
        " each held in tests against the chain or against plain simulation.",
    ),
    publication=(
        "the essay game-theory-ethics, https://blog.korolevalab.com/blog/2026/game-theory-ethics/"
    ),
    outputs=_OUTPUTS,
)

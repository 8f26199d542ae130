"""BERT: what a second neighbour is worth, and what it costs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.studies.identities import counts
from remeasure.studies.identities.chains import (
    Floats,
    entropy,
    power_stationary,
    random_chain,
    stationary,
)
from remeasure.studies.identities.claims import Book
from remeasure.studies.identities.results import Points, write_results
from remeasure.studies.identities.rounding import put_residual
from remeasure.studies.identities.settings import BertSettings
from remeasure.studies.identities.sides import EPS, Sides

ARTICLE = "bert"

CHAINS, BOUND = "bert_tab_chains", "bert_tab_cmi_bound"
CHANGED, CYCLIC = "bert_tab_disagreement", "bert_tab_cyclic"
PLUGIN = "bert_tab_plugin"

#: The nine printed chains: states and concentrations; the seed is 100 K + 10 c.
SIZES, CONCENTRATIONS = (3, 5, 10), (0.3, 1.0, 3.0)

#: The noisy cycle: states, and the levels that are sure or guessed. The article has three.
CYCLE = 6
NOISES = (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5), Fraction(3, 10), Fraction(1, 2))

PLUGIN_SEED, PLUGIN_STEPS = 7, 400_000


#: States of a simulated path.
States = npt.NDArray[np.int64]


class BertStep(Model):
    """What the step is told."""

    bert: BertSettings


def seed_of(states: int, concentration: float) -> int:
    """Seed of a printed chain."""
    return round(100 * states + 10 * concentration)


# --- closed forms ---------------------------------------------------------------------------


def left_accuracy(chain: Floats, law: Floats) -> float:
    """Best accuracy from the left neighbour: ``sum_a pi_a max_j T_aj``.

    Given ``a`` the best guess is the likeliest successor. Source: BERT, mathematical foundation.
    """
    return float(law @ chain.max(axis=1))


def both_accuracy(chain: Floats, law: Floats) -> float:
    """Best accuracy from both neighbours: ``sum_ac max_j pi_a T_aj T_jc``.

    The joint law of (a, j, c) is ``pi_a T_aj T_jc``; each pair (a, c) takes its likeliest j.
    """
    joint = law[:, None, None] * chain[:, :, None] * chain[None, :, :]
    return float(joint.max(axis=1).sum())


def information(chain: Floats, law: Floats) -> float:
    """``I(x_i; x_(i+1) | x_(i-1))`` in nats: ``H(j | a) - H(j | a, c)``."""
    joint = law[:, None, None] * chain[:, :, None] * chain[None, :, :]
    pair = joint.sum(axis=1, keepdims=True)
    shares = np.divide(joint, pair, out=np.zeros_like(joint), where=pair > 0)
    return float(law @ entropy(chain) - (pair[:, 0] * entropy(shares.swapaxes(1, 2))).sum())


# --- the other side -------------------------------------------------------------------------


def by_counting(chain: Floats, law: Floats) -> tuple[float, float, float]:
    """Both accuracies and the information, from every triple one by one.

    The information is ``sum p log(p(j,c|a) / (p(j|a) p(c|a)))``, a divergence instead of a
    difference of entropies.
    """
    states = range(chain.shape[0])
    left = both = gained = 0.0
    for a in states:
        left += max(law[a] * chain[a, j] for j in states)
        two = [sum(chain[a, j] * chain[j, c] for j in states) for c in states]
        for c in states:
            both += max(law[a] * chain[a, j] * chain[j, c] for j in states)
            gained += sum(
                law[a] * chain[a, j] * chain[j, c] * math.log(chain[j, c] / two[c])
                for j in states
                if chain[a, j] > 0 and chain[j, c] > 0
            )
    return float(left), float(both), float(gained)


def exact_chain(chain: Floats) -> list[list[Fraction]]:
    """The same chain in rational numbers: each float64 is one."""
    return [[Fraction(float(value)) for value in row] for row in chain]


def cycle(noise: Fraction) -> list[list[Fraction]]:
    """Six states on a ring: ahead with ``1 - e``, every other state with ``e/5``."""
    return [
        [1 - noise if j == (a + 1) % CYCLE else noise / (CYCLE - 1) for j in range(CYCLE)]
        for a in range(CYCLE)
    ]


def changes(
    chain: list[list[Fraction]], law: list[Fraction]
) -> tuple[Fraction, Fraction, Fraction]:
    """Exact shares of contexts (a, c): prediction changes, maximum tied, strictly better guess.

    The prediction from both neighbours is ``argmax_j T_aj T_jc``, the lowest index where several
    are equal. Only rational numbers tell a tie from a difference of rounding.
    """
    states = range(len(law))
    changed = tied = better = Fraction(0)
    for a in states:
        first = max(states, key=lambda j: (chain[a][j], -j))
        for c in states:
            each = [chain[a][j] * chain[j][c] for j in states]
            share, top = law[a] * sum(each), max(each)
            changed += share if each.index(top) != first else 0
            tied += share if each.count(top) > 1 else 0
            better += share if top > each[first] else 0
    return Fraction(changed), Fraction(tied), Fraction(better)


def changed_by_arrays(chain: Floats, law: Floats) -> float:
    """The first of these shares where nothing is tied, in floats."""
    joint = law[:, None, None] * chain[:, :, None] * chain[None, :, :]
    other = joint.argmax(axis=1) != chain.argmax(axis=1)[:, None]
    return float(joint.sum(axis=1)[other].sum())


# --- the article ----------------------------------------------------------------------------


def _premium(book: Book, sides: Sides, points: Points) -> None:
    stat = "bert_stat_premium"
    case = book.case(stat, "predictions per sequence")
    n, rate = case.whole("n"), Fraction(case.row.condition.partition("p=")[2].partition(";")[0])
    book.put(case, float(n * rate))
    book.one(stat, "autoregressive predictions per sequence", n)
    book.one(stat, "passes for equal prediction events 1/p", float(1 / rate))
    book.one(
        "bert_stat_nsp", "share of sentence labels among predictions", float(1 / (1 + n * rate))
    )
    rule = {"mask": Fraction(8, 10), "random": Fraction(1, 10), "kept": Fraction(1, 10)}
    shares = {name: rate * share for name, share in rule.items()}
    hundred = [rate * 10_000 * share for share in rule.values()]
    sides.exact(
        "80/10/10 of 15%",
        "shares of all tokens",
        [10_000 * share for share in shares.values()],
        "tokens of ten thousand, counted",
        [Fraction(int(count)) for count in hundred],
    )
    tab = "bert_tab_corruption"
    book.one(tab, "share of all tokens replaced by the mask token", float(shares["mask"]))
    book.one(tab, "share of all tokens selected but not masked", float(rate - shares["mask"]))
    book.one(tab, "share of all tokens left unchanged though selected", float(shares["kept"]))
    book.one(tab, "share of all tokens replaced by a random token", float(shares["random"]))
    _mask_rate(book, sides, points, n)


def _mask_rate(book: Book, sides: Sides, points: Points, n: int) -> None:
    tab = "bert_tab_mask_rate"
    masked = range(n + 1)
    pairs = [k * (n - k) for k in masked]
    sides.exact(
        "pairs of a masked and a seen token: p(1−p)n², most at p = 1/2",
        "the vertex p = 1/2",
        [Fraction(1, 2), Fraction(n**2, 4)],
        "largest of k(n−k) over every number k of masked tokens",
        [Fraction(max(masked, key=pairs.__getitem__), n), Fraction(max(pairs))],
    )
    small = 12
    sides.exact(
        "k masked of n tokens have k(n−k) pairs",
        "k(n−k)",
        [k * (small - k) for k in range(small + 1)],
        "pairs of different kinds among twelve tokens, counted",
        [sum((i < k) != (j < k) for i in range(small) for j in range(i)) for k in range(small + 1)],
    )
    book.one(tab, "mask rate maximising p(1-p)n^2", 0.5)
    for case in book.cases(tab, "p(1-p)n^2"):
        p = Fraction(case.row.condition.partition("p=")[2].partition(";")[0])
        book.put(case, float(p * (1 - p) * case.whole("n") ** 2))
    points.curve(tab, "pairs", ((k / n, pairs[k]) for k in masked))


def _chains(book: Book, sides: Sides, points: Points) -> None:
    gains: dict[tuple[int, float], float] = {}
    for states, c in product(SIZES, CONCENTRATIONS):
        chain = random_chain(states, c, seed_of(states, c))
        law = stationary(chain)
        name = f"K={states}, c={c:g}"
        left, both = left_accuracy(chain, law), both_accuracy(chain, law)
        known = information(chain, law)
        sides.close(
            f"stationary law, accuracies and information, {name}",
            "linear system and array sums",
            [*law, left, both, known],
            "squared matrices and a sum over every triple",
            [*power_stationary(chain), *by_counting(chain, law)],
            units=4096.0,
        )
        gain = gains[states, c] = both - left
        exact = exact_chain(chain)
        changed = changes(exact, [Fraction(float(value)) for value in law])[0]
        sides.close(
            f"share of contexts whose prediction changes, {name}",
            "rational numbers, context by context",
            float(changed),
            "largest entries of the joint law",
            changed_by_arrays(chain, law),
            units=256.0,
        )
        answers = {
            (CHAINS, "left-only Bayes accuracy"): left,
            (CHAINS, "two-sided Bayes accuracy"): both,
            (CHAINS, "accuracy gain"): gain,
            (CHAINS, "error reduction"): gain / (1 - left),
            (BOUND, "conditional mutual information"): known,
            (BOUND, "square root of half the information (bound)"): math.sqrt(known / 2),
            (CHANGED, "share of contexts whose prediction changes"): float(changed),
        }
        for (output, quantity), value in answers.items():
            words = f"K={states}; concentration {c:.1f}; rng"
            book.one(output, quantity, value, words, note="both routes agree")
        points.add(CHAINS, "left neighbour", left, label=name)
        points.add(CHAINS, "both neighbours", both, label=name)
        points.add(BOUND, "printed chains", gain, x=known)
    book.one(CHAINS, "smallest gain of nine chains", min(gains.values()))
    book.one(CHAINS, "largest gain of nine chains", max(gains.values()))


def _independent(book: Book, sides: Sides) -> None:
    """Rows that are all alike: neighbours say nothing, both accuracies are ``max p``."""
    case = book.case("bert_stat_iid", "gap between the two accuracies")
    value = book.case(
        "bert_stat_iid", "both Bayes accuracies of an i.i.d. chain (largest probability)"
    )
    row = np.random.default_rng(value.whole("seed")).dirichlet(np.ones(value.whole("K")))
    chain = np.tile(row, (row.size, 1))
    left, both = left_accuracy(chain, row), both_accuracy(chain, row)
    # A sum of K^2 products of three numbers below one.
    bound = (row.size**2 + 4) * EPS
    sides.close(
        "independent tokens: both accuracies are the largest probability",
        "max p",
        [row.max(), row.max()],
        "sums over the chain with equal rows",
        [left, both],
        units=bound / EPS,
    )
    book.put(value, float(row.max()))
    put_residual(book, case, abs(both - left), bound, "the order of summation is not printed")


def _cycles(book: Book, sides: Sides, points: Points) -> None:
    uniform = [Fraction(1, CYCLE)] * CYCLE
    for noise in NOISES:
        exact = cycle(noise)
        chain = np.array([[float(value) for value in row] for row in exact])
        law = np.full(CYCLE, 1 / CYCLE)
        states = range(CYCLE)
        left = sum(uniform[a] * max(exact[a]) for a in states)
        both = sum(
            uniform[a] * max(exact[a][j] * exact[j][c] for j in states)
            for a in states
            for c in states
        )
        sides.exact(
            f"noisy cycle, e={float(noise):g}: both accuracies are 1−e",
            "1−e",
            [1 - noise, 1 - noise],
            "exact sums over every context",
            [left, both],
        )
        known = information(chain, law)
        sides.close(
            f"noisy cycle, e={float(noise):g}: information",
            "difference of entropies",
            known,
            "divergence over every triple",
            by_counting(chain, law)[2],
            units=512.0,
        )
        changed, tied, _ = changes(exact, uniform)
        words = f"noise {float(noise):.2f}"
        book.one(CYCLIC, "conditional mutual information", known, words)
        book.one(CYCLIC, "accuracy gain", float(both - left), words, note="exactly zero")
        book.one(CYCLIC, "both Bayes accuracies", float(left), words)
        book.one(
            CHANGED,
            "share of contexts whose prediction changes",
            float(changed),
            words,
            note=(
                f"ties alone: {float(100 * tied):g}% of contexts have several best tokens, the"
                " lowest index is taken, and none is strictly better than the left prediction"
            ),
        )
        for case in book.cases(CHANGED, "probability of contexts with a tied maximum", words):
            book.put(case, float(tied))
        points.add(CYCLIC, "information", known, x=float(noise))
        points.add(CYCLIC, "gain", float(both - left), x=float(noise))
        points.add(BOUND, "noisy cycles", float(both - left), x=known)
    strict = [changes(cycle(Fraction(k, 60)), uniform)[2] for k in range(1, 50)]
    sides.exact(
        "noisy cycle below e = 5/6: no token is strictly better than the left prediction",
        "never",
        [Fraction(0)] * len(strict),
        "exact contexts at e = 1/60 to 49/60",
        strict,
    )
    book.one(
        CHANGED,
        "share of contexts where another token is strictly better than the left-only prediction",
        float(max(strict)),
    )


def _bounds(book: Book, sides: Sides, points: Points, chains: int, rng: Generator) -> None:
    """``0 <= gain <= sqrt(I/2)``: an accuracy moves by at most a total variation (Pinsker)."""
    gains, bounds = [], []
    for index in range(chains):
        states = int(rng.integers(2, 9))
        chain = rng.dirichlet(rng.uniform(0.1, 4.0) * np.ones(states), size=states)
        law = stationary(chain)
        known = max(information(chain, law), 0.0)
        gains.append(both_accuracy(chain, law) - left_accuracy(chain, law))
        bounds.append(math.sqrt(known / 2))
        if index < 400:
            points.add(BOUND, "random chains", gains[-1], x=known)
    printed = [
        *(
            random_chain(states, c, seed_of(states, c))
            for states, c in product(SIZES, CONCENTRATIONS)
        ),
        *(np.array([[float(v) for v in row] for row in cycle(e)]) for e in NOISES),
    ]
    violated = 0
    for chain in printed:
        law = stationary(chain)
        gain = both_accuracy(chain, law) - left_accuracy(chain, law)
        bound = math.sqrt(information(chain, law) / 2)
        gains.append(gain)
        bounds.append(bound)
        violated += gain > bound
    sides.at_most(
        "two neighbours never do worse", "0", 0.0, "gain of random chains", gains, units=8
    )
    sides.at_most(
        "the gain is at most √(I/2)",
        f"gain of {chains} random chains and the printed ones",
        gains,
        "√(I/2)",
        bounds,
        units=1e6,
    )
    # The article says that the gain stays below the information itself: not a theorem.
    chain = random_chain(2, 0.5, 205)
    law = stationary(chain)
    excess = both_accuracy(chain, law) - left_accuracy(chain, law) - information(chain, law)
    sides.control("gain ≤ I is no theorem", "two states, c=0.5, seed 205", excess, 1e-4)
    book.one(
        BOUND,
        "violations of the bound",
        violated,
        note="nine random chains, and the cycle at every noise level that may be the third",
    )


def simulate(chain: Floats, law: Floats, steps: int, seed: int) -> States:
    """A path of ``steps`` states by inverse cdf, one uniform number a state, shape (steps,)."""
    uniform = np.random.default_rng(seed).random(steps)
    edges = np.cumsum(chain, axis=1)
    edges /= edges[:, -1:]
    state = int(np.searchsorted(np.cumsum(law) / law.sum(), uniform[0], side="right"))
    # The successor of every state under every uniform, looked up along the path.
    after = [np.searchsorted(row, uniform, side="right").tolist() for row in edges]
    path = [state]
    for step in range(1, steps):
        state = after[state][step]
        path.append(state)
    return np.array(path)


def plugin(path: States, states: int) -> tuple[float, float]:
    """Accuracy of the most frequent successor and of the most frequent middle, on the path."""
    pairs = np.bincount(path[:-1] * states + path[1:], minlength=states**2)
    code = (path[:-2] * states + path[1:-1]) * states + path[2:]
    triples = np.bincount(code, minlength=states**3).reshape(states, states, states)
    left = pairs.reshape(states, states).max(axis=1).sum() / (path.size - 1)
    return float(left), float(triples.max(axis=1).sum() / (path.size - 2))


def _plugin(book: Book, sides: Sides, steps: int) -> None:
    coverage = WHOLE if steps == PLUGIN_STEPS else f"{steps:,} of {PLUGIN_STEPS:,} steps"
    worst, closed, counted, errors = (0.0, ""), [], [], []
    for states, c in product(SIZES, CONCENTRATIONS):
        chain = random_chain(states, c, seed_of(states, c))
        law = stationary(chain)
        exact = (left_accuracy(chain, law), both_accuracy(chain, law))
        found = plugin(simulate(chain, law, steps, PLUGIN_SEED), states)
        for name, value, truth in zip(("left-only", "two-sided"), found, exact, strict=True):
            # A correct guess is nearly a coin of its own; neighbours share what they look at.
            error = math.sqrt(truth * (1 - truth) / steps) * 2
            closed.append(truth)
            counted.append(value)
            errors.append(error)
            worst = max(worst, (abs(value - truth), f"{name}, K={states}, c={c:g}"))
            words = f"K={states}; concentration {c:.1f}"
            for case in book.cases(PLUGIN, f"plug-in {name} accuracy", words):
                book.put(
                    case,
                    value,
                    low=value - 1.96 * error,
                    high=value + 1.96 * error,
                    n=steps,
                    coverage=coverage,
                    note=(
                        "the path rebuilt from its seed and description; how its two ends are"
                        " counted moves the last digits"
                    ),
                )
    sides.simulated(
        "accuracies of the nine chains",
        "closed form",
        closed,
        f"most frequent guesses on {steps:,} simulated steps",
        counted,
        errors,
    )
    book.put(
        book.case(PLUGIN, "worst deviation of plug-in accuracy from closed form"),
        worst[0],
        n=steps,
        coverage=coverage,
        note=f"the printed path, repeated; {worst[1]}",
    )
    book.put(book.case(PLUGIN, "simulated steps"), steps, coverage=coverage)


def _counts(book: Book, sides: Sides) -> None:
    totals, blocks, embeddings = {}, {}, {}
    for name, model in counts.BERT.items():
        d = model.width
        blocks[name] = model.layers * counts.encoder_block(d)
        embeddings[name] = (counts.BERT_WORDS + counts.POSITIONS + counts.TYPES + 2) * d
        totals[name] = blocks[name] + embeddings[name] + d**2 + d
    sides.exact(
        "totals and embeddings of both sizes",
        "closed form",
        [*totals.values(), *embeddings.values()],
        "sum over every tensor",
        [
            *(counts.size(counts.bert_shapes(model)) for model in counts.BERT.values()),
            *(
                counts.size(counts.bert_embedding_shapes(model.width))
                for model in counts.BERT.values()
            ),
        ],
    )

    tab, stat = "bert_tab_params", "bert_stat_shares"
    base, large = counts.BERT
    book.fill(tab, "total parameters", lambda case: totals[case.first])
    book.fill(tab, "block parameters", lambda case: blocks[case.first])
    book.fill(
        tab,
        "embedding parameters (words positions types norm)",
        lambda case: embeddings[case.first],
    )
    book.one(tab, "total parameters large over base", totals[large] / totals[base])
    book.one(tab, "block parameters large over base", blocks[large] / blocks[base])
    book.fill(
        tab,
        "quadratic share at 512",
        lambda case: counts.quadratic_share(512, counts.BERT[case.first].width),
    )
    deviation = book.case(tab, "relative deviation from the published 340 million")
    book.put(deviation, totals[large] / (deviation.number("published") * 1e6) - 1)
    book.fill(stat, "embedding share", lambda case: embeddings[case.first] / totals[case.first])
    book.fill(stat, "block share", lambda case: blocks[case.first] / totals[case.first])
    ratio = embeddings[base] / totals[base] / (embeddings[large] / totals[large])
    book.one(stat, "embedding share base over large", ratio)
    book.one(stat, "headroom of embedding factorisation base over large", ratio)


def measure_bert(
    *, series: Path, checks: Path, settings: BertStep, rng: Generator
) -> list[Measurement]:
    """Every number of the article on BERT, each identity on both sides.

    Parameters
    ----------
    series, checks
        Outputs, Parquet: see ``results.POINTS`` and ``results.CHECKS``.

    Raises
    ------
    DataError
        When two sides of an identity disagree.
    """
    options = settings.bert
    book, sides, points = Book(ARTICLE), Sides(), Points()
    _premium(book, sides, points)
    _chains(book, sides, points)
    _independent(book, sides)
    _cycles(book, sides, points)
    _bounds(book, sides, points, options.random_chains, rng)
    _plugin(book, sides, options.steps)
    _counts(book, sides)
    write_results(points, sides, series, checks)
    return book.measurements()

"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

#: Names of what outputs need, spelled once.
MARKETS = "Polymarket events"
PRICES = "price histories"
TRADES = "trades"
BOOKS = "the order books of one night"
BITCOIN = "monthly bitcoin candles"
BILLS = "Treasury bill rates"

_FORECASTS = (MARKETS, PRICES, TRADES)


def _figure(name: str, title: str, caption: str, *needs: str, minutes: float = 0.1) -> Output:
    return Output(
        id=f"fig_{name}", kind="figure", title=title, caption=caption, needs=needs, minutes=minutes
    )


def _number(output: str, title: str, caption: str, *needs: str, minutes: float = 0.1) -> Output:
    return Output(
        id=output, kind="number", title=title, caption=caption, needs=needs, minutes=minutes
    )


def _table(name: str, title: str, caption: str, *needs: str) -> Output:
    return Output(
        id=f"tab_{name}", kind="table", title=title, caption=caption, needs=needs, minutes=0.1
    )


_OUTPUTS = (
    _number(
        "stat_headline",
        "The numbers that open the article",
        "Average gap and return of longshots a week before the close, accuracy of always saying"
        " No, and skill a day before the close.",
        *_FORECASTS,
    ),
    _figure(
        "anatomy",
        "What one share is",
        "One share of Yes and one of No make a dollar; what a buyer at the ask can win and lose,"
        " and the chance at which neither matters.",
        BOOKS,
    ),
    _number("stat_quotes", "Quotes of the night", "Prices and dollars of single markets.", BOOKS),
    _number(
        "stat_manski",
        "What a price says about beliefs",
        "Bounds of the mean belief behind a price, when traders differ in budget and belief.",
    ),
    _number(
        "stat_brier_arith", "Brier scores by hand", "The score of single forecasts: arithmetic."
    ),
    _number(
        "stat_logodds_arith",
        "Log-odds doubled and halved",
        "What the bold and the timid copy make of a price: arithmetic.",
    ),
    _number(
        "stat_single_event",
        "One election scores nobody",
        "The Brier score of 59 cents on the winner against that of a coin: arithmetic.",
    ),
    _figure(
        "forecasters",
        "Three forecasters: the market, a bold copy, a timid copy",
        "Share of markets that resolved to their first outcome, by price, with 95% intervals"
        " from resampled events. The copies double and halve the market's log-odds; the grey"
        " square says the base rate always.",
        *_FORECASTS,
    ),
    _figure(
        "election",
        "The price that Donald Trump wins, 2024",
        "Price of the first outcome every 12 hours over calendar 2024, with the year's events.",
        MARKETS,
        PRICES,
    ),
    _figure(
        "population",
        "Resolved markets by year and topic",
        "Cleanly resolved markets with two outcomes, by the year of their close.",
        MARKETS,
    ),
    _number(
        "stat_population",
        "The population in numbers",
        "Markets by year, shares of topics, share resolved to the first outcome.",
        MARKETS,
    ),
    _number("stat_5050", "Markets resolved 50-50", "Share of markets with much trading.", MARKETS),
    _number(
        "stat_sampling",
        "The sample",
        "Rates of the draws, markets and events of their union, thresholds.",
        MARKETS,
    ),
    _number(
        "stat_thin_example",
        "The middle of an empty book",
        "One market whose price was no forecast: hardly any trading, a bid of 1 and an ask of 95.",
        MARKETS,
        PRICES,
    ),
    _figure(
        "calibration",
        "Prices against what happened, a week before the close",
        "Left: share resolved to the first outcome in 14 bins of the price, with 95% intervals"
        " from resampled events. Right: how many markets have which price, by weight.",
        *_FORECASTS,
    ),
    _number(
        "stat_calibration",
        "Calibration in numbers",
        "Average gap, Brier score and its five parts, a week before the close.",
        *_FORECASTS,
    ),
    _number(
        "stat_tail_yes",
        "First outcomes between 2 and 5 cents",
        "Share that won beside the mean price, and two prices in the middle.",
        *_FORECASTS,
    ),
    Output(
        id="stat_platform_page",
        kind="cited",
        title="What the platform says of itself",
        source="polymarket.com/accuracy, read on 31 October 2026",
    ),
    _figure(
        "accuracy",
        "Right, and better than always saying No",
        "One fixed set of markets, really traded a month, a week and a day before the close."
        " Left: how often the favourite won, beside always saying No. Right: Brier skill, all"
        " prices and those from 2 to 98 cents.",
        *_FORECASTS,
    ),
    _figure(
        "convergence",
        "How the score falls towards the close",
        "One fixed set of long-lived markets. Top: Brier score by days before the close, with"
        " the base rate's as a line. Bottom: share priced below 1 or above 99 cents.",
        *_FORECASTS,
    ),
    _figure(
        "trap",
        "The volume trap",
        "Share won over price of contracts at 2 to 20 cents, topic draw, a week before the"
        " close. Left by dollars of the whole life: a trap, because surprise makes volume. Right"
        " by dollars of the week before the forecast. Events with less than $1,000 in all are"
        " not in the population, which flatters the thinnest bins on the right.",
        *_FORECASTS,
    ),
    _number(
        "stat_trap_favourites",
        "The trap seen from the favourites",
        "Share won over price of contracts at 80 to 98 cents, by the same dollars.",
        *_FORECASTS,
    ),
    _number(
        "stat_first_sample",
        "The biased first sample",
        "Return of contracts at 10 to 20 cents in the draw by size, unweighted.",
        *_FORECASTS,
    ),
    Output(
        id="flow_trap",
        kind="drawing",
        title="Why total volume is a trap",
        caption="A longshot starts to win, so it is traded, so it counts as a big market.",
        minutes=0.1,
    ),
    _figure(
        "returns",
        "What a contract earned, by price",
        "Mean return of buying at the middle a week before the close and holding, both sides of"
        " every market, with 95% intervals from resampled events. Diamonds: after half the"
        " spread of the band.",
        *_FORECASTS,
        BOOKS,
    ),
    _number(
        "stat_tails",
        "The two ends",
        "Win rates, costs and returns of the cheapest and the dearest contracts.",
        *_FORECASTS,
    ),
    _number(
        "stat_5050_cost",
        "What 50-50 resolutions cost a buyer of favourites",
        "Arithmetic on the share of such resolutions.",
    ),
    _figure(
        "spread",
        "Half the spread, by price",
        "Median of (ask - middle) / middle over both contracts of markets with both sides"
        " quoted, in 14 bands.",
        BOOKS,
    ),
    _number(
        "stat_spread_snapshot",
        "The night's books in numbers",
        "Open markets, those with both sides, median costs, and one thin book by hand.",
        BOOKS,
    ),
    _number(
        "stat_net",
        "Returns after half the spread",
        "The two bands that earn at the middle, after costs.",
        *_FORECASTS,
        BOOKS,
    ),
    _number("stat_fee", "Taker fees", "Formula, rates, and examples: arithmetic."),
    _figure(
        "topics",
        "Skill and gap by topic",
        "Brier skill against the topic's own base rate, and average gap, a week before the"
        " close, with 95% intervals from resampled events.",
        *_FORECASTS,
    ),
    _figure(
        "crypto",
        "Close calls on crypto prices measure the month",
        "Top: share of bullish outcomes that won, by month, beside their mean price; markets"
        " priced 30 to 70 cents a week before. Bottom: Bitcoin's return in the month.",
        *_FORECASTS,
        BITCOIN,
    ),
    _number(
        "stat_crypto_pooled",
        "Months when Bitcoin rose and fell",
        "Pooled shares, prices, and the correlation over months; recounts of the printed rows.",
        *_FORECASTS,
        BITCOIN,
    ),
    _number(
        "stat_waiting_example",
        "A dollar that waits half a year",
        "95 cents that pay a dollar after half a year: arithmetic.",
    ),
    _number("stat_tbill", "What bills paid", "Means of the 3-month Treasury bill rate.", BILLS),
    _figure(
        "long",
        "Favourites bought long before the end",
        "Price, win rate and return a year of contracts above 90 cents, one, three and six months"
        " before the close.",
        *_FORECASTS,
    ),
    _number(
        "stat_long_text",
        "Long-dated favourites in the text",
        "Returns of a month, compounded, and against Treasury bills.",
        *_FORECASTS,
        BILLS,
    ),
    _figure(
        "recalibration",
        "A recalibration that does not help",
        "The two-parameter curve fitted on earlier markets beside the diagonal, a week and a"
        " month before the close, with the band of resampled events.",
        *_FORECASTS,
    ),
    _number(
        "stat_recal",
        "The recalibration on later markets",
        "Change of the Brier score on markets closed later, with its interval.",
        *_FORECASTS,
    ),
    _figure(
        "nobel",
        "The night before the Nobel Peace Prize 2025",
        "Prices of the leading candidates, 8 to 10 October 2025 (UTC), every five minutes.",
        MARKETS,
        PRICES,
    ),
    _number(
        "stat_nobel",
        "The night in numbers",
        "Prices of the laureate before the announcement.",
        MARKETS,
        PRICES,
    ),
    Output(
        id="flow_uma",
        kind="drawing",
        title="How a market is resolved",
        caption="A proposal, two hours to dispute it, a second dispute, a vote of two days.",
        minutes=0.1,
    ),
    *(
        Output(id=f"stat_cited_{name}", kind="cited", title=title)
        for name, title in (
            ("literature", "What others have found"),
            ("traders", "Who wins"),
            ("insiders", "Trades of people who may have known"),
            ("oracle", "The oracle and its votes"),
            ("wash", "Trading with oneself"),
            ("rewards", "Rewards for holding"),
        )
    ),
    Output(
        id="tab_cited",
        kind="table",
        title="Facts that the article quotes",
        caption="Printed numbers of other works and of the platform; none of them is computed.",
        minutes=0.1,
    ),
    _table(
        "bins",
        "The bins of the reliability diagram",
        "Markets, weight, effective size, mean price, share resolved to the first outcome.",
        *_FORECASTS,
    ),
    _table(
        "bands",
        "The bands of returns",
        "Contracts, weight, effective size, cost, win rate, both means of the return.",
        *_FORECASTS,
    ),
    _table("topics", "Topics", "Skill and gap with intervals and sizes.", *_FORECASTS),
    _table("long", "Long-dated favourites", "The nine rows with intervals.", *_FORECASTS),
    _table("crypto", "Crypto by month", "Counts and weighted shares.", *_FORECASTS, BITCOIN),
    _table("population", "The population", "Markets by year and topic.", MARKETS),
    _table(
        "exclusions",
        "Listed markets that are not in the population",
        "Each market once, by the first reason that fits.",
        MARKETS,
    ),
    _table(
        "api_probe",
        "What the services were found to do",
        "Every assumption of the crawl about the live services, and the evidence for it; runs"
        " without network ask nothing.",
    ),
    _table(
        "definitions",
        "What the article leaves open",
        "Main results under the recommended definition and under the others.",
        *_FORECASTS,
    ),
    _table(
        "intervals",
        "Do the intervals cover?",
        "Many generated worlds of three kinds, without dependence within events, with some, and"
        " with one number that settles a whole event: how often 95% intervals from resampled"
        " events cover the truth, and how often those from resampled markets do.",
    ),
    _table(
        "real",
        "Real prices from other collections",
        "Published tables of resolved markets beside the article's figures: partial, because"
        " they are other markets, without the week's dollars. Horizons count back from the"
        " actual resolution, which for questions with a deadline selects on the outcome.",
    ),
    _number(
        "check_weights", "Inclusion probabilities by hand", "Fixtures of the toolbox: arithmetic."
    ),
    _number("check_murphy", "The decomposition by hand", "A fixture of six forecasts: arithmetic."),
    _number("check_spread", "Costs by hand", "Relative to the middle, and to money paid."),
    _number(
        "check_trap_identity",
        "Favourites mirror longshots",
        "The ratio of favourites that follows from that of longshots: arithmetic.",
    ),
    _number(
        "check_synthetic",
        "The synthetic market against the card's prototype",
        "Slopes, trap and panel of generated worlds at the card's scale.",
        minutes=1.0,
    ),
)

STUDY = Study(
    id="polymarket",
    title="How accurate are Polymarket's prices?",
    question=(
        "Are the prices of a prediction market good probabilities, where are they"
        " systematically off, and is any of it worth money after costs?"
    ),
    method=(
        "Every binary market that closed from 2024 to October 2026 in an event with at least"
        " $1,000 is listed; two independent draws by hash take a sample with known inclusion"
        " probabilities. Every pooled figure is weighted by them, and uncertainty comes from"
        " resampling whole events.",
        "The forecast is the last price of the first outcome at or before a fixed time before"
        " the close, if it is fresh. A market is really traded when at least $1,000 changed"
        " hands in the seven days that end at the forecast time: known then, and no consequence"
        " of the outcome.",
        "Calibration is read from 14 bins, the Brier score is taken apart into five terms that"
        " add up exactly, and skill is measured against the base rate of the very same markets.",
        "Returns are those of both sides of every market, bought at the middle and held to the"
        " end; spreads come from one night's books.",
        "The default run stands on a synthetic market in the services' own formats, with exact"
        " posterior probabilities, a planted longshot bias, and volume that follows surprise: the"
        " trap must appear by total volume and vanish by the week before.",
    ),
    publication="the blog post polymarket-accuracy, /blog/2026/polymarket-accuracy/",
    outputs=_OUTPUTS,
)

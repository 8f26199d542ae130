"""Every output of the study in reading order: what it is, and what it needs."""

from __future__ import annotations

from remeasure.studies.base import Output, Study

#: Names of what outputs need, spelled once.
CANDLES = "spot candles 5m"
HOURLY = "spot candles 1h"
DAILY = "spot candles 1d"
BOOKS = "USD-M order books"
FUNDING = "funding rates"
ARENA = "Alpha Arena account values"
LANGUAGE_MODELS = "language model checkpoints"
SERIES_MODELS = "time-series model checkpoints"
GPU = "GPU"


def _cited(output: str, title: str, source: str) -> Output:
    return Output(id=f"cite_{output}", kind="cited", title=title, source=source)


_OUTPUTS = (
    Output(
        id="tab_headline",
        kind="table",
        title="The numbers that open the article",
        caption=(
            "The hit rate that fees demand, the best of many know-nothing strategies, and"
            " the share of months that language models get right before and after their release."
        ),
        needs=(CANDLES, HOURLY, DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="fig_arena",
        kind="figure",
        title="Six language models trade for seventeen days",
        caption=(
            "Account values of six models over one season, logarithmic, beside bitcoin held, with"
            " the bands in which an account without skill would stay."
        ),
        needs=(ARENA, HOURLY),
        minutes=0.1,
    ),
    Output(
        id="stat_arena_luck",
        kind="number",
        title="The winner's lead against a lucky one",
        caption="How far the best account led, in units of the lead that luck alone gives.",
        needs=(ARENA,),
        minutes=0.1,
    ),
    Output(
        id="stat_arena_correlation",
        kind="number",
        title="Accounts that move together",
        caption="Correlations between the hourly returns of pairs of accounts.",
        needs=(ARENA,),
        minutes=0.1,
    ),
    Output(
        id="fig_tails",
        kind="figure",
        title="Bitcoin's hourly returns against the normal law",
        caption=(
            "How often hourly log returns of BTC fall into each bin of standard deviations, on a"
            " logarithmic scale, with what a normal law of the same spread would give. Hours"
            " beyond six standard deviations are counted."
        ),
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="stat_tails_other",
        kind="number",
        title="Extreme hours of ether and solana",
        caption="Hours beyond six standard deviations for ETH and SOL, counted as for BTC.",
        needs=(CANDLES,),
        minutes=0.1,
    ),
    Output(
        id="stat_six_sigma_wait",
        kind="number",
        title="How long a normal law would make us wait",
        caption="Mean waiting time for one hour beyond six standard deviations: 1/(2 Φ(−6)).",
        minutes=0.1,
    ),
    Output(
        id="fig_acf",
        kind="figure",
        title="What returns remember, and what their size remembers",
        caption=(
            "Autocorrelation of BTC's hourly returns and of their absolute values over lags of up"
            " to a week, with 95% intervals (shaded), the band in which an independent series"
            " would stay, and local maxima (triangles). Below: the mean absolute move by hour of"
            " the day, UTC."
        ),
        needs=(CANDLES,),
        minutes=0.3,
    ),
    Output(
        id="stat_hour_of_day",
        kind="number",
        title="The busiest and the quietest hour",
        caption="Mean absolute move of BTC in basis points, by the UTC hour in which it happens.",
        needs=(CANDLES,),
        minutes=0.1,
    ),
    Output(
        id="fig_walk_forward",
        kind="figure",
        title="How the forecasts are made: an expanding walk-forward",
        caption=(
            "The publication's training and test windows, one monthly refit each. Each model has"
            " seen only hours that ended at least a day before its test month."
        ),
        minutes=0.1,
    ),
    Output(
        id="tab_direction",
        kind="table",
        title="Calling the direction of the next hour",
        caption=(
            "Share of hours called right, share that rose, area under the ROC curve and their"
            " errors, for each coin over all test months."
        ),
        needs=(CANDLES,),
        minutes=4.0,
    ),
    Output(
        id="stat_leak_audit",
        kind="number",
        title="Looking for a leak",
        caption=(
            "Hours rebuilt from short candles against the exchange's own, and the edge that"
            " remains when the last minutes before each forecast are withheld."
        ),
        needs=(CANDLES, HOURLY),
        minutes=1.5,
    ),
    Output(
        id="fig_reversal",
        kind="figure",
        title="Hours that follow the hour before",
        caption=(
            "Share of hours that move in the direction of the previous hour, by year and coin,"
            " hung from one half: below it, prices turn back more often than they go on. Pale bars"
            " are part of a year."
        ),
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="fig_breakeven",
        kind="figure",
        title="The hit rate that fees demand",
        caption=(
            "Break-even hit rate 1/2 + c/(2m) against the length of the bar, for several"
            " round-trip costs c; m is the mean absolute move of BTC over such a bar."
        ),
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="fig_depth",
        kind="figure",
        title="What a large order costs",
        caption=(
            "Cost of a market buy against the middle price by size of the order, both"
            " logarithmic, for eight perpetual contracts from the most to the least traded."
        ),
        needs=(BOOKS,),
        minutes=0.1,
    ),
    Output(
        id="stat_depth_million",
        kind="number",
        title="A million dollars at once",
        caption="Cost of a market buy of one million dollars, where the visible book fills it.",
        needs=(BOOKS,),
        minutes=0.1,
    ),
    Output(
        id="fig_growth",
        kind="figure",
        title="One dollar on the forecasts",
        caption=(
            "Value of a dollar that follows the BTC forecasts every hour, logarithmic, at several"
            " fees a side, beside holding. At the right: final values with 95% intervals, and the"
            " published ones."
        ),
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="stat_right_wrong",
        kind="number",
        title="Right on small moves, wrong on large ones",
        caption="Mean absolute move of the predicted hour, where the call was right and wrong.",
        needs=(CANDLES,),
        minutes=0.1,
    ),
    Output(
        id="fig_fees",
        kind="figure",
        title="Return against turnover",
        caption=(
            "Return a year against one-way trades a day for bands of growing width, at several"
            " fees a side, for BTC and SOL. Only signals outside the band change the position."
        ),
        needs=(CANDLES,),
        minutes=0.3,
    ),
    Output(
        id="stat_band",
        kind="number",
        title="One band looked at closely",
        caption="Return a year and trades a day of BTC with a band of ±0.05, and SOL's best bands.",
        needs=(CANDLES,),
        minutes=0.1,
    ),
    Output(
        id="fig_volatility",
        kind="figure",
        title="Volatility can be forecast, returns cannot",
        caption=(
            "BTC's realised daily volatility with its one-day-ahead forecast, and the"
            " out-of-sample R² of the same regression for volatility and for returns."
        ),
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="fig_targeting",
        kind="figure",
        title="Sizing a position by forecast volatility",
        caption=(
            "Volatility over 30 days of holding SOL and of a position sized to a yearly"
            " volatility of 50%."
        ),
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="stat_targeting_btc",
        kind="number",
        title="What sizing does for bitcoin",
        caption="Sharpe ratio of holding BTC and of the position sized to 50% volatility.",
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="fig_overfitting",
        kind="figure",
        title="The best rules of yesterday",
        caption=(
            "Sharpe ratios of every textbook rule on every coin in two successive periods; the"
            " twenty best of the first are marked."
        ),
        needs=(HOURLY,),
        minutes=0.2,
    ),
    Output(
        id="stat_grid_families",
        kind="number",
        title="Families of rules",
        caption="Whether each family of mean-reverting rules earns anything in both periods.",
        needs=(HOURLY,),
        minutes=0.2,
    ),
    Output(
        id="fig_noise",
        kind="figure",
        title="How good luck looks",
        caption=(
            "Best Sharpe ratio among N strategies that know nothing, against N, with the formula"
            " for the expected maximum."
        ),
        needs=(HOURLY,),
        minutes=0.2,
    ),
    Output(
        id="stat_deflated",
        kind="number",
        title="The best rule, deflated",
        caption=(
            "Sharpe ratio of the best rule, what luck would give the best of as many trials, and"
            " the probability that the rule is better than that."
        ),
        needs=(HOURLY,),
        minutes=0.1,
    ),
    Output(
        id="stat_sharpe_se",
        kind="number",
        title="How long a record must be",
        caption=(
            "Standard error of a yearly Sharpe ratio after seventeen days, and the record that"
            " would tell a Sharpe ratio of one from zero."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_memory_answers",
        kind="figure",
        title="Prices that language models remember",
        caption=(
            "BTC's price and the answers of four models asked for it on the 1st and 15th of each"
            " month, logarithmic; refusals are marked."
        ),
        needs=(DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="stat_memory_price_detail",
        kind="number",
        title="Where the memory ends",
        caption="Median errors of the answers by year, and where numbers stop coming.",
        needs=(DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="fig_memory_direction",
        kind="figure",
        title="Months called right, before and after release",
        caption=(
            "Share of months whose direction each of seven models gives correctly, for months at"
            " least a year before its release and months after it."
        ),
        needs=(DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="stat_memory_pooled",
        kind="number",
        title="All models together",
        caption="The same shares for all seven models pooled, by months and by weeks.",
        needs=(DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="fig_memory_strategy",
        kind="figure",
        title="A backtest that remembers",
        caption=(
            "One dollar on the monthly answers of one model, beside holding, logarithmic, with"
            " the month of its release marked."
        ),
        needs=(DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="stat_memory_multiples",
        kind="number",
        title="Multiples before and after release",
        caption="Range of what a dollar becomes over seven models, before and after release.",
        needs=(DAILY, LANGUAGE_MODELS, GPU),
        minutes=0.1,
    ),
    Output(
        id="fig_foundation",
        kind="figure",
        title="Ready-made forecasters against models made for the task",
        caption=(
            "Hit rates on the hours of 2026 of the boosted trees, Chronos-2 and Kronos-small, and"
            " R² of log volatility of the HAR regression and Chronos-2, against the mean of the 512"
            " days before."
        ),
        needs=(CANDLES, SERIES_MODELS),
        minutes=0.3,
    ),
    Output(
        id="stat_foundation_up",
        kind="number",
        title="A forecaster that mostly says up",
        caption="Share of hours for which Chronos-2 forecasts a rise.",
        needs=(CANDLES, SERIES_MODELS),
        minutes=0.3,
    ),
    Output(
        id="fig_agent",
        kind="drawing",
        title="How a trading agent is built, and where it can be attacked",
        caption=(
            "Inputs as text, a language model, checks of risk in code, the exchange; the points"
            " at which an attacker can reach it."
        ),
        minutes=0.1,
    ),
    Output(
        id="fig_funding",
        kind="figure",
        title="Funding: a return that needs no forecast",
        caption="Funding of BTC and ETH perpetuals by month, scaled to a year.",
        needs=(FUNDING,),
        minutes=0.1,
    ),
    Output(
        id="stat_funding_detail",
        kind="number",
        title="Funding in detail",
        caption="Single years, the share of payments that were negative, and the default rate.",
        needs=(FUNDING,),
        minutes=0.1,
    ),
    Output(
        id="stat_crash",
        kind="number",
        title="Eighty minutes on 10 October 2025",
        caption="Deepest fall within eighty minutes of that day, for BTC, ETH and SOL.",
        needs=(CANDLES,),
        minutes=0.2,
    ),
    Output(
        id="fig_crash_chain",
        kind="drawing",
        title="From liquidation to auto-deleveraging",
        caption="The four steps by which losses reach traders who were on the right side.",
        minutes=0.1,
    ),
    Output(
        id="stat_sixty_percent",
        kind="number",
        title="Sixty percent a month",
        caption="What a thousand dollars would become at the return that a scheme promised.",
        minutes=0.1,
    ),
    Output(
        id="tab_variants",
        kind="table",
        title="What the article leaves open, each way",
        caption=(
            "Lengths and averages of the volatility regression, benchmarks of its R², caps on"
            " positions, conventions of the crash, and what luck starts from. The first reading"
            " of each is the one that the ledger uses."
        ),
        needs=(CANDLES, HOURLY),
        minutes=0.1,
    ),
    Output(
        id="tab_cited",
        kind="table",
        title="Facts quoted in the article",
        caption="Every number that the article quotes from elsewhere, with its source.",
        minutes=0.1,
        source="the article's 54 references",
    ),
    _cited("mexc", "Traders who use AI", "MEXC survey, September 2026 [3]"),
    _cited("sec_whatsapp", "Schemes sold in chat groups", "SEC release 2026-95 [4]"),
    _cited("hack", "The hack of a hot wallet", "CoinDesk, 30 October 2026 [5]"),
    _cited("harvey", "How many factors were tried", "Harvey, Liu and Zhu 2016 [8]"),
    _cited("ai_trader", "A live test of six models", "AI-Trader [10]"),
    _cited("stockbench", "A benchmark on stocks", "StockBench [11]"),
    _cited("livetradebench", "Benchmarks and returns", "LiveTradeBench [12]"),
    _cited("fleet", "A fleet of agents", "Barton et al. 2026 [13]"),
    _cited("memorization", "Memory of index levels", "Lopez-Lira et al. [14]"),
    _cited("profit_mirage", "Agents rerun after their cutoff", "Li et al. [15]"),
    _cited("finsaber", "Agents over twenty years", "Li et al., KDD 2026 [16]"),
    _cited("coinbase", "Code written with models", "Cointelegraph [19]"),
    _cited("anthropic", "Contracts attacked by models", "Anthropic [20]"),
    _cited("polymarket_arb", "Arbitrage on Polymarket", "Saguillo et al. [24]"),
    _cited("kronos", "What Kronos was trained on", "Shi et al. [25]"),
    _cited("truth_terminal", "A grant to an agent", "DL News [29]"),
    _cited("agent_tokens", "Tokens of agents", "CoinGecko [30]"),
    _cited("ai16z", "An agent's fund at its peak", "CoinDesk [31]"),
    _cited("freysa", "An agent talked out of its prize", "The Block [32]"),
    _cited("aixbt", "An agent robbed", "The Block [33]"),
    _cited("grok_wallet", "A wallet that sent its tokens away", "CryptoSlate [34]"),
    _cited("fake_memories", "Poisoned memories", "Patlan et al. [35]"),
    _cited("skills", "Malicious skills", "PolySwarm [36]"),
    _cited("routers", "Routers that inject code", "Liu et al. [38]"),
    _cited("news_attack", "Forged news", "Rizvani et al. [39]"),
    _cited("mti", "A bitcoin pool", "CFTC [43, 44]"),
    _cited("sec_bg", "A promise of accuracy", "SEC complaint [45]"),
    _cited("ic3", "Reported losses of 2025", "FBI [46]"),
    _cited("chainalysis", "Scams with AI tools", "Chainalysis [47]"),
    _cited("fca", "What young investors believe", "FCA [48]"),
    _cited("carry", "Carry in crypto futures", "BIS [49]"),
    _cited("liquidations", "Positions liquidated in the crash", "CoinGlass [50]"),
    _cited("hyperliquid_adl", "Positions closed by auto-deleveraging", "Chitra [51]"),
    _cited("jaquart", "Earlier forecasts by the minute", "Jaquart et al. [52]"),
    _cited("bysik", "Earlier returns before and after costs", "Bysik and Slepaczuk [53]"),
    Output(
        id="calendar",
        kind="number",
        title="Counts that the calendar fixes",
        caption=(
            "Hours, halts, bars, forecast rows, months, dates and rules, counted without any"
            " price; they pin down what the article's prose leaves open."
        ),
        minutes=0.1,
    ),
    Output(
        id="synthetic",
        kind="number",
        title="The generated market against the study card",
        caption=(
            "What the methods find on a generated market with a fixed seed, with and without"
            " the planted reversal."
        ),
        minutes=1.0,
    ),
)

STUDY = Study(
    id="crypto",
    title="Machine learning, language models and crypto trading",
    question=(
        "Can machine learning earn money in crypto? What can be forecast at all, what do fees"
        " leave of it, how far does picking the best backtest mislead, and do language models"
        " trade or only remember?"
    ),
    method=(
        "Spot candles of Binance from January 2021 to 29 October 2026, rebuilt to hours on a"
        " regular UTC grid; missing hours stay missing. Returns are log returns.",
        "Twenty features of past prices, volumes and the clock feed one gradient-boosted"
        " classifier a month, pooled over BTC, ETH and SOL. It is fitted on everything up to a"
        " day before the month that it predicts.",
        "Forecasts are scored by hit rate and area under the ROC curve with block-bootstrap"
        " intervals, and audited for leaks: rebuilt hours must equal the exchange's, and the edge"
        " must survive when the last minutes are withheld.",
        "A position of plus or minus one follows the forecast, with or without a band around one"
        " half; every one-way trade pays a fee on each side that it changes.",
        "Closed forms (waiting times, break-even rates, errors of Sharpe ratios, calendar counts)"
        " are computed, not copied.",
        "The default run stands on a generated market in the archive's own format with a planted"
        " reversal of known strength, so that every method can be tested against the truth.",
    ),
    publication=(
        "the blog post ai-crypto-trading, https://blog.korolevalab.com/blog/2026/ai-crypto-trading/"
    ),
    outputs=_OUTPUTS,
)

"""Settings of the Polymarket study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from remeasure.model import Model
from remeasure.studies.polymarket.addresses import Hosts

Origin = Literal["generated", "mirror", "public", "files"]
Topic = Literal["politics", "sports", "crypto", "economy", "culture", "science"]
Horizon = Literal["day", "week", "month", "quarter", "half"]
Probability = Annotated[float, Field(ge=0, le=1)]
Dollars = Annotated[float, Field(ge=0)]


class Window(Model):
    """Days on which the population closed, both included, UTC."""

    first: date
    last: date

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first > self.last:
            raise ValueError(f"first ({self.first}) must not be after last ({self.last})")
        return self


class DrawSettings(Model):
    """The two draws: hash seed, shares by topic, thresholds of size in dollars.

    Attributes
    ----------
    seed
        Of the hashes; not the run's, so that a sample can be extended.
    topic_share
        Probability of the draw by topic.
    certain, certain_sports
        Dollars from which a market is in the draw by size for certain.
    partial_from
        Dollars from which it is in with the common share.
    share
        The common share; None to solve it from ``target``.
    target
        Number of markets that both draws together shall have on average.
    """

    seed: int = Field(ge=0)
    topic_share: dict[Topic, Probability]
    certain: Dollars
    certain_sports: Dollars
    partial_from: Dollars
    share: Probability | None
    target: int | None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if len(self.topic_share) != 6 or min(self.topic_share.values()) <= 0:
            raise ValueError("topic_share must name all six topics, each above 0")
        if (self.share is None) == (self.target is None):
            raise ValueError("give either share or target, and null for the other")
        if not self.partial_from <= self.certain <= self.certain_sports:
            raise ValueError("partial_from <= certain <= certain_sports must hold")
        return self


class Definitions(Model):
    """What the publication leaves open, by the numbers of the card's table."""

    #: 1: fields that give the close where the market's own closedTime is missing.
    close_fallbacks: tuple[Literal["event", "uma"], ...]
    #: 2: the close that decides year and window.
    close_of: Literal["market", "event"]
    #: 3: settled prices within this of 0 and 1 are clean; within half_width of 0.5 are 50-50.
    clean_within: float = Field(ge=0, lt=0.1)
    half_width: float = Field(ge=0, le=0.2)
    #: 4: version of topics.yaml that must be the one in the package.
    topics_version: int
    #: 6: the market's volume that sizes are drawn by.
    size_volume: Literal["volumeNum", "volumeClob"]
    #: 7: what is resampled as one.
    cluster: Literal["parent", "event", "market"]
    #: 8: hours that a price may be old: on the hourly series, on the 12-hour series.
    stale_hourly: float = Field(gt=0)
    stale_life: float = Field(gt=0)
    #: 9: days before the close.
    horizon_days: dict[Horizon, Annotated[float, Field(gt=0)]]
    #: 10: what the week before is counted in, and its length.
    week_of: Literal["dollars", "shares"]
    week_days: float = Field(gt=0)
    #: 11: bins of the average gap count by mass or alike.
    gap_weights: Literal["mass", "equal"]
    #: 12: the crypto figure weighted (the publication counts).
    crypto_weighted: bool
    #: 13: prices inside which the second skill is counted.
    inner_low: Probability
    inner_high: Probability
    #: 14: weights of the trap figure.
    trap_weights: Literal["topic", "union"]
    #: 15: longshots of the trap; favourites mirror them.
    trap_low: Probability
    trap_high: Probability
    #: 16: the biased first sample: both sides or first outcomes only.
    first_sample_sides: Literal["both", "first"]
    #: 17: how half the spread is taken off a return.
    net_return: Literal["multiplicative", "additive"]
    #: 19: close calls only of really traded markets.
    crypto_traded: bool
    #: Close calls from which a month is shown (the publication: 10).
    crypto_least: int = Field(ge=2)
    #: 20: a bid of 0 or an ask of 1 counts as empty.
    two_sided_strict: bool
    #: 21: bootstrap.
    resamples: int = Field(ge=50)
    bootstrap_seed: int = Field(ge=0)
    #: 22: fit with the weights of the sample; markets closed before this (UTC) are fitted.
    fit_weighted: bool
    fit_before: datetime
    #: 23: candidates in the Nobel chart.
    nobel_candidates: int = Field(ge=1)
    #: 24: days that a market of the convergence set was open at least.
    convergence_days: float = Field(gt=0)
    #: Dollars of the week before from which a market is really traded; None for no filter.
    traded_usd: Dollars | None
    #: Dollars of an event from which its markets are in the population.
    event_usd: Dollars


class GeneratorSettings(Model):
    """The synthetic market: seed, events before the volume filter, weight of surprise.

    Attributes
    ----------
    kappa
        How much surprise adds to the volume after the forecast; 0 for no trap.
    distortion
        Slopes of the favourite-longshot bias: from 1,000 dollars on, from 100, below.
    """

    seed: int = Field(ge=0)
    events: int = Field(ge=100)
    kappa: float = Field(ge=0)
    distortion: tuple[float, float, float]


class WorldsSettings(Model):
    """Honesty of intervals: generated worlds, events of each, resamples of each.

    Attributes
    ----------
    shared
        In the worlds of ladders, correlation of what the markets of an event start from, of
        their luck and of their evidence.
    """

    worlds: int = Field(ge=2)
    events: int = Field(ge=100)
    resamples: int = Field(ge=50)
    seed: int = Field(ge=2)
    shared: float = Field(gt=0, lt=1)


class ThresholdSettings(Model):
    """Honesty of intervals where one number settles an event: worlds, events, resamples of each.

    Attributes
    ----------
    spacing
        Log-odds between neighbours of an event's list.
    """

    worlds: int = Field(ge=2)
    events: int = Field(ge=100)
    resamples: int = Field(ge=50)
    seed: int = Field(ge=6)
    spacing: float = Field(gt=0)


class SyntheticSettings(Model):
    """The generator against the card's prototype: worlds, and events of each."""

    worlds: int = Field(ge=2)
    events: int = Field(ge=100)


class RateSettings(Model):
    """Requests a second to each service."""

    gamma: float = Field(gt=0)
    clob: float = Field(gt=0)
    data: float = Field(gt=0)


class CrawlSettings(Model):
    """How the services are crawled.

    Attributes
    ----------
    hosts
        Base addresses.
    rates
        Requests a second; the client's own rate holds for other hosts.
    volume_cuts
        Dollars at which the listing is cut into shards; an event at a cut is in two of them.
    shards
        Parts of the sample, each with rules of its own for prices and trades.
    trades_rows
        Rows of a page of trades; the probe proves that the service sends so many.
    offset_cap
        Largest offset that is asked for; a window with more trades is cut in two.
    three_hourly
        Whether markets without hourly prices are asked for at the Data API, which keeps prices
        of every three hours.
    """

    hosts: Hosts
    rates: RateSettings
    volume_cuts: tuple[Annotated[float, Field(gt=0)], ...]
    shards: int = Field(ge=1, le=4096)
    trades_rows: int = Field(ge=1, le=10_000)
    offset_cap: int = Field(ge=0)
    three_hourly: bool

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if list(self.volume_cuts) != sorted(set(self.volume_cuts)):
            raise ValueError("volume_cuts must rise")
        return self


class FilesSettings(Model):
    """Origin ``files``: folders of the tables, each with its parquet files; None where absent."""

    pancake: str | None
    drozy: str | None
    midterms: str | None


class Settings(Model):
    """Everything that can be set in this study."""

    origin: Origin
    window: Window
    draw: DrawSettings
    definitions: Definitions
    generator: GeneratorSettings
    worlds: WorldsSettings
    thresholds: ThresholdSettings
    synthetic: SyntheticSettings
    crawl: CrawlSettings
    files: FilesSettings

"""Settings of the crypto study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from remeasure.fetch.settings import Checkpoint
from remeasure.model import Model
from remeasure.studies.crypto.memory_models import MemorySettings

Interval = Literal["5m", "15m", "1h", "1d"]
Bar = Literal["5m", "15m", "1h", "4h", "1d"]
Origin = Literal["generated", "mirror", "public", "files"]
Symbol = Annotated[str, Field(pattern=r"^[A-Z0-9]{2,12}USDT$")]
Device = Literal["auto", "cpu", "cuda"]
Month = Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]

#: Coins that the generator knows, and that the public archive has since before 2021.
KNOWN_COINS = (
    "BTCUSDT", "ETHUSDT", "SOLUSDT", "BNBUSDT", "XRPUSDT", "DOGEUSDT",
    "ADAUSDT", "TRXUSDT", "AVAXUSDT", "LINKUSDT", "DOTUSDT", "LTCUSDT",
)  # fmt: skip


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) != len(values):
        raise ValueError(f"values must not repeat (given: {list(values)})")
    return values


Band = Annotated[float, Field(ge=0, lt=0.5)]
BasisPoints = Annotated[float, Field(ge=0)]
Distinct = AfterValidator(_distinct)


class Dataset(Model):
    """Spot candles of one interval: which coins, which days (both ends included, UTC)."""

    coins: Annotated[tuple[Symbol, ...], Distinct] = Field(min_length=1)
    first: date
    last: date

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first > self.last:
            raise ValueError(f"first ({self.first}) must not be after last ({self.last})")
        if self.first < date(2017, 8, 17):
            raise ValueError(f"first ({self.first}) must be 2017-08-17 (first candle) or later")
        if self.last > date(2100, 1, 1):
            raise ValueError(f"last ({self.last}) must be before 2100")
        return self


class Hole(Model):
    """Candles that a data set is known to lack although the exchange traded.

    Attributes
    ----------
    symbol
        The coin; None for all coins.
    missing_from, back_at
        UTC; every candle that lies wholly between the two must be absent.
    """

    symbol: Symbol | None = None
    missing_from: datetime
    back_at: datetime

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.missing_from.tzinfo is not None or self.back_at.tzinfo is not None:
            raise ValueError("write missing_from and back_at in UTC, without a time zone")
        if self.missing_from >= self.back_at:
            raise ValueError("missing_from must be before back_at")
        return self


class GeneratorSettings(Model):
    """The synthetic market: its random seed and the strength of the planted reversal."""

    seed: int = Field(ge=0)
    beta: float = Field(ge=0, le=1)


class TailsSettings(Model):
    """Counting extreme hours: threshold and histogram bin width in standard deviations."""

    threshold: float = Field(gt=0)
    bin_width: float = Field(gt=0, le=5)


class AutocorrelationSettings(Model):
    """Autocorrelation of hourly returns: longest lag in hours, bootstrap block and resamples."""

    max_lag: int = Field(ge=168, le=1000)
    block_hours: int = Field(ge=24)
    resamples: int = Field(ge=100)


class BreakevenSettings(Model):
    """Break-even hit rate: bar lengths and round-trip costs in basis points."""

    bars: Annotated[tuple[Bar, ...], Distinct] = Field(min_length=1)
    costs_bp: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Distinct] = Field(min_length=1)
    resamples: int = Field(ge=100)


class BoostingSettings(Model):
    """LightGBM budget of one classifier."""

    rounds: int = Field(ge=1)
    learning_rate: float = Field(gt=0, le=1)
    num_leaves: int = Field(ge=2)
    max_depth: int = Field(ge=1)
    min_data_in_leaf: int = Field(ge=1)
    feature_fraction: float = Field(gt=0, le=1)
    bagging_fraction: float = Field(gt=0, le=1)
    lambda_l2: float = Field(ge=0)
    max_bin: int = Field(ge=15, le=65535)


class WalkForwardSettings(Model):
    """Expanding walk-forward by months: first and last month predicted, gap, months a refit."""

    first_test: Month
    last_test: Month
    gap_hours: int = Field(ge=0, le=8760)
    refit_months: int = Field(ge=1, le=12)
    boosting: BoostingSettings

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first_test > self.last_test:
            raise ValueError(
                f"first_test ({self.first_test}) must not be after last_test ({self.last_test})"
            )
        return self


class DirectionSettings(Model):
    """Scoring the direction forecasts: block of the bootstrap in hours, and resamples."""

    block_hours: int = Field(ge=1)
    resamples: int = Field(ge=100)


class LeakAuditSettings(Model):
    """Leak audit: from which bars hours are rebuilt and shifted, and its cheaper walk-forward."""

    interval: Literal["5m", "15m"]
    skip_bars: int = Field(ge=1, le=11)
    folds: int = Field(ge=2)
    target_hours: int = Field(ge=2)
    walk_forward: WalkForwardSettings


class TradingSettings(Model):
    """Strategies on the forecasts: half-widths of the band and fees a side in basis points."""

    bands: Annotated[tuple[Annotated[float, Field(ge=0, lt=0.5)], ...], Distinct] = Field(
        min_length=1
    )
    fees_bp: Annotated[tuple[BasisPoints, ...], Distinct] = Field(min_length=1)
    article_band: Band
    block_hours: int = Field(ge=1)
    resamples: int = Field(ge=100)

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if 0.0 not in self.bands or self.article_band not in self.bands:
            raise ValueError("bands must contain 0 (the plain strategy) and article_band")
        if 0.0 not in self.fees_bp:
            raise ValueError("fees_bp must contain 0 (gross returns)")
        return self


class VolatilitySettings(Model):
    """Volatility forecasts: block of the bootstrap in days, and resamples."""

    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)


class TargetingSettings(Model):
    """Targeting: volatility a year (a fraction), caps on the weight, bootstrap in days."""

    target: float = Field(gt=0)
    caps: tuple[Annotated[float, Field(gt=0)], ...]
    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)


class Period(Model):
    """Days, both included."""

    first: date
    last: date

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first > self.last:
            raise ValueError(f"first ({self.first}) must not be after last ({self.last})")
        return self


class GridSettings(Model):
    """The grid of rules: two periods, fee a side in basis points, and the bootstrap."""

    early: Period
    later: Period
    fee_bp: float = Field(ge=0)
    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.early.last >= self.later.first:
            raise ValueError(
                f"early must end ({self.early.last}) before later begins ({self.later.first})"
            )
        return self


class RandomSettings(Model):
    """Random strategies: their days, fee a side, number, chance to reverse in an hour."""

    period: Period
    fee_bp: float = Field(ge=0)
    paths: int = Field(ge=100)
    flip_probability: float = Field(gt=0, lt=1)


class SyntheticSettings(Model):
    """The simulated market that is measured by itself: seed, reversal, first and last day."""

    seed: int = Field(ge=0)
    beta: float = Field(gt=0, le=1)
    first: date
    last: date


class ChronosSettings(Model):
    """Chronos-2: its checkpoint (null: never asked), every so many hours, series in a pass."""

    checkpoint: Checkpoint | None
    every_hours: int = Field(ge=1, le=168)
    batch: int = Field(ge=1)


class KronosSampling(Model):
    """How tokens are drawn: temperature, limits, paths that a forecast is the mean of, seed."""

    temperature: float = Field(gt=0)
    top_k: int = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    samples: int = Field(ge=1, le=1000)
    seed: int = Field(ge=0)


class KronosSettings(Model):
    """Kronos: its two checkpoints (null: never asked), every so many hours, draws, windows."""

    model: Checkpoint | None
    tokenizer: Checkpoint | None
    every_hours: int = Field(ge=1, le=168)
    sampling: KronosSampling
    batch: int = Field(ge=1)


class FoundationSettings(Model):
    """Ready-made forecasters: days scored, bootstrap, where networks run, the two models."""

    period: Period
    block_hours: int = Field(ge=1)
    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)
    device: Device
    threads: int = Field(ge=1)
    chronos: ChronosSettings
    kronos: KronosSettings


class FundingSource(Model):
    """Funding of perpetuals: contracts and days, first day of the interface, seed, bootstrap."""

    data: Dataset | None
    rest_from: date | None
    seed: int = Field(ge=0)
    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)


class DepthSource(Model):
    """Order books: whether there are any, contracts by rank, spacing, sizes in dollars."""

    books: bool
    seed: int = Field(ge=0)
    spacing_minutes: float = Field(ge=0, le=60)
    contracts: dict[Annotated[int, Field(ge=1)], Symbol] = Field(min_length=1)
    snapshots: int = Field(ge=1)
    sizes_usd: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Distinct] = Field(min_length=1)


class ArenaSource(Model):
    """Stored account values: whether there are any, generator's seed and spread, bootstrap."""

    accounts: bool
    seed: int = Field(ge=0)
    sigma: float = Field(gt=0)
    block_hours: int = Field(ge=1)
    resamples: int = Field(ge=100)


class Settings(Model):
    """Everything that can be set in this study."""

    origin: Origin
    spot: dict[Interval, Dataset | None]
    base: Literal["5m", "15m", "1h"]
    coins: Annotated[tuple[Symbol, ...], Distinct] = Field(min_length=1)
    files: dict[Interval, dict[Symbol, str]]
    known_holes: dict[Interval, tuple[Hole, ...]]
    generator: GeneratorSettings
    tails: TailsSettings
    autocorrelation: AutocorrelationSettings
    breakeven: BreakevenSettings
    walk_forward: WalkForwardSettings
    direction: DirectionSettings
    leak_audit: LeakAuditSettings
    trading: TradingSettings
    volatility: VolatilitySettings
    targeting: TargetingSettings
    grid: GridSettings
    random: RandomSettings
    synthetic: SyntheticSettings
    checkpoints: Literal["none", "mirror", "public"]
    foundation: FoundationSettings
    funding: FundingSource
    depth: DepthSource
    arena: ArenaSource
    memory: MemorySettings

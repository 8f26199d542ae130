"""What the direction forecasts earn: growth, bands, turnover and fees.

The plain strategy is long after a forecast above one half and short after one
below; a band keeps the former position while the forecast lies near one half.
Profit is logarithmic, fills are at the close, and a row that follows a gap is
traded like any other (see ``evaluate.positions``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl

from remeasure.errors import DataError
from remeasure.evaluate.positions import (
    BARS_PER_DAY,
    BARS_PER_YEAR,
    BASIS_POINT,
    band_positions,
    fee_drag,
    growth,
    implied_sides_per_day,
    net_pnl,
    turnover,
)
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.bootstrap import draw_blocks, percentile_interval, resampled_means
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto.forecasts import FORECASTS, hits
from remeasure.studies.crypto.published import answer_all, printed, walked_coverage
from remeasure.studies.crypto.series import Closes, coin, read_closes
from remeasure.studies.crypto.settings import (
    Dataset,
    Interval,
    Symbol,
    TradingSettings,
    WalkForwardSettings,
)

Floats = npt.NDArray[np.float64]

OUTPUTS = ("fig_growth", "stat_right_wrong", "fig_fees", "stat_band")

PLAIN, HELD = "plain", "held"

#: The band that the text quotes, the bands of the published figure, and the coins it shows.
TEXT_BAND = 0.05
PUBLISHED_BANDS = 6
FIGURE_COINS = ("BTC", "SOL")
#: Fees a side that figure and text show.
PUBLISHED_FEES_BP = {0.0, 1.0, 2.0, 5.0}

#: One row a coin, strategy, fee and UTC day with a forecast, in this order.
CURVES = declare(
    "growth curves",
    {
        "coin": dy.String(),
        "strategy": one_of([PLAIN, HELD]),
        "fee_bp": dy.Float64(min=0, description="a side; 0 when held"),
        "day": dy.Date(),
        "value": dy.Float64(min=0, description="of one dollar, USD"),
    },
    unique=["coin", "strategy", "fee_bp", "day"],
)

#: One row a coin, band and fee, in the order of the settings.
FEES = declare(
    "fees and bands",
    {
        "coin": dy.String(),
        "band": dy.Float64(min=0, description="half-width around one half"),
        "fee_bp": dy.Float64(min=0, description="a side"),
        "hours": dy.Int64(min_exclusive=0),
        "sides_per_day": dy.Float64(min=0, description="one-way trades"),
        "sides_low": dy.Float64(description="95% block bootstrap interval"),
        "sides_high": dy.Float64(),
        "return_per_year": dy.Float64(description="summed log profit, a fraction"),
        "return_low": dy.Float64(description="95% block bootstrap interval"),
        "return_high": dy.Float64(),
        "final_value": dy.Float64(min=0, description="of one dollar, USD"),
        "final_low": dy.Float64(description="95% block bootstrap interval"),
        "final_high": dy.Float64(),
    },
    unique=["coin", "band", "fee_bp"],
)

#: One row a coin and outcome (``right``, ``wrong``): mean absolute move of the predicted hour.
MOVES = declare(
    "moves",
    {
        "coin": dy.String(),
        "outcome": one_of(["right", "wrong"]),
        "hours": dy.Int64(min=0),
        "move_bp": dy.Float64(min=0, description="basis points"),
        "low": dy.Float64(description="95% block bootstrap interval"),
        "high": dy.Float64(),
    },
    unique=["coin", "outcome"],
)


class TradingStep(Model):
    """What trading needs: strategies and bootstrap, and what the forecasts rest on."""

    trading: TradingSettings
    coins: tuple[Symbol, ...]
    base: Interval
    candles: Dataset
    walk_forward: WalkForwardSettings


@dataclass(frozen=True)
class Estimate:
    """A value and its 95% interval."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Estimate:
        """The same in another unit; the factor is positive."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Strategy:
    """One coin's forecasts traded with one band, at any fee.

    Profit is linear in the fee, so two means and their resamples hold all fees:
    of the gross profit and of the sides traded, each an hour.
    """

    hours: int
    gross: float
    sides: float
    resampled: Floats

    def _estimate(self, gross: float, sides: float) -> Estimate:
        low, high = percentile_interval(self.resampled @ np.array([gross, sides]))
        return Estimate(gross * self.gross + sides * self.sides, float(low), float(high))

    def sides_per_day(self) -> Estimate:
        """One-way trades a day."""
        return self._estimate(0.0, float(BARS_PER_DAY))

    def return_per_year(self, fee_bp: float) -> Estimate:
        """Summed log profit a year as a fraction."""
        return self._estimate(float(BARS_PER_YEAR), -BARS_PER_YEAR * fee_bp * BASIS_POINT)

    def final_value(self, fee_bp: float) -> Estimate:
        """What becomes of one dollar over all hours."""
        log = self._estimate(float(self.hours), -self.hours * fee_bp * BASIS_POINT)
        return Estimate(*(math.exp(each) for each in (log.value, log.low, log.high)))


Strategies = Mapping[tuple[str, float], Strategy]


def strategies(
    forecasts: pl.DataFrame, bands: Sequence[float], block_hours: int, starts: npt.NDArray[np.int64]
) -> list[Strategy]:
    """One coin's forecasts, in time order, traded with each band.

    All bands share the resamples ``starts`` (blocks of ``block_hours`` rows), so
    that they differ by the band alone.
    """
    returns = forecasts["ret_next"].to_numpy()
    probability = forecasts["p"].to_numpy()

    def one(band: float) -> Strategy:
        position = band_positions(probability, band)
        columns = np.column_stack([net_pnl(position, returns), turnover(position)])
        gross, sides = columns.mean(axis=0)
        return Strategy(
            hours=returns.size,
            gross=float(gross),
            sides=float(sides),
            resampled=resampled_means(columns, block_hours, starts),
        )

    return [one(band) for band in bands]


def mean_moves(
    forecasts: pl.DataFrame, name: str, block_hours: int, starts: npt.NDArray[np.int64]
) -> pl.DataFrame:
    """Mean absolute move when the forecast was right and when it was wrong: :data:`MOVES`."""
    move = np.abs(forecasts["ret_next"].to_numpy()) / BASIS_POINT
    right = hits(forecasts)
    inside = np.column_stack([right, ~right]).astype(np.float64)
    count = inside.sum(axis=0)
    if not count.all():
        raise DataError(
            f"all {move.size} forecasts of {name} are {'right' if count[0] else 'wrong'}",
            where="stat_right_wrong",
            remedy="predict more hours",
        )
    means = resampled_means(np.column_stack([move[:, None] * inside, inside]), block_hours, starts)
    # A resample of very few hours may hold no hour of a kind; it says nothing of that kind.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = means[:, :2] / means[:, 2:]
    low, high = np.nanquantile(ratios, [0.025, 0.975], axis=0)
    return pl.DataFrame(
        {
            "coin": [name, name],
            "outcome": ["right", "wrong"],
            "hours": count.astype(np.int64),
            "move_bp": (move[:, None] * inside).sum(axis=0) / count,
            "low": low,
            "high": high,
        }
    )


def held_value(closes: Closes, first: np.datetime64, until: npt.NDArray[np.datetime64]) -> Floats:
    """Value of one dollar bought just before hour ``first``, after each hour of ``until``.

    From prices, not from summed returns: holding also earns while no forecast is made.
    """
    before = np.searchsorted(closes.open_time, first) - 1
    return np.asarray(closes.close[np.searchsorted(closes.open_time, until)] / closes.close[before])


def growth_curves(
    forecasts: pl.DataFrame, closes: Closes, fees_bp: Sequence[float]
) -> Iterator[pl.DataFrame]:
    """Daily curves of one coin: the plain strategy at each fee, and holding: :data:`CURVES`."""
    hour = forecasts["target_hour"].to_numpy()
    day = hour.astype("datetime64[D]")
    last = np.flatnonzero(np.append(day[1:] != day[:-1], True))
    position = band_positions(forecasts["p"].to_numpy())
    returns = forecasts["ret_next"].to_numpy()

    def curve(strategy: str, fee_bp: float, value: Floats) -> pl.DataFrame:
        return pl.DataFrame({"day": day[last], "value": value}).select(
            pl.lit(closes.coin).alias("coin"),
            pl.lit(strategy).alias("strategy"),
            pl.lit(fee_bp, pl.Float64).alias("fee_bp"),
            pl.col("day").cast(pl.Date),
            "value",
        )

    for fee_bp in fees_bp:
        value = growth(net_pnl(position, returns, fee_bp * BASIS_POINT))
        yield curve(PLAIN, fee_bp, value[last])
    yield curve(HELD, 0.0, held_value(closes, hour[0], hour[last]))


def measure_trading(
    *,
    hours: Path,
    forecasts: Path,
    curves: Path,
    fees: Path,
    moves: Path,
    settings: TradingStep,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Step: trade the forecasts and answer the rows of :data:`OUTPUTS`.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``: prices of holding.
    forecasts
        Parquet, ``forecasts.FORECASTS``.
    curves, fees, moves
        Outputs, Parquet: :data:`CURVES`, :data:`FEES`, :data:`MOVES`.
    settings, rng
        Bands, fees and the block bootstrap.
    """
    trading = settings.trading
    table = read_frame(forecasts, FORECASTS)
    present = tuple(each for each in settings.coins if (table["symbol"] == each).any())
    traded: dict[tuple[str, float], Strategy] = {}
    all_curves: list[pl.DataFrame] = []
    all_moves: list[pl.DataFrame] = []
    held: dict[str, float] = {}
    for symbol, closes in zip(present, read_closes(hours, present), strict=True):
        own = table.filter(pl.col("symbol") == symbol)
        block = min(trading.block_hours, own.height)
        starts = draw_blocks(own.height, block, trading.resamples, rng)
        found = strategies(own, trading.bands, block, starts)
        traded |= {(coin(symbol), b): s for b, s in zip(trading.bands, found, strict=True)}
        all_moves.append(mean_moves(own, coin(symbol), block, starts))
        all_curves += growth_curves(own, closes, trading.fees_bp)
        held[coin(symbol)] = all_curves[-1]["value"].item(-1)
    write_frame(pl.concat(all_curves), curves, CURVES)
    write_frame(_fee_table(traded, trading.fees_bp), fees, FEES)
    moved = pl.concat(all_moves)
    write_frame(moved, moves, MOVES)
    covered = walked_coverage(
        settings.walk_forward, settings.candles, settings.base, settings.coins
    )
    answers = [
        *_growth_answers(traded, held, covered),
        *_move_answers(moved, covered),
        *_figure_answers(traded, trading, covered),
        *_band_answers(traded, trading, covered),
        *_arithmetic(trading),
    ]
    return answer_all(answers, OUTPUTS, "this run trades no such coin or band")


def _fee_table(traded: Strategies, fees_bp: Sequence[float]) -> pl.DataFrame:
    def row(name: str, band: float, strategy: Strategy, fee_bp: float) -> dict[str, object]:
        sides = strategy.sides_per_day()
        annual = strategy.return_per_year(fee_bp)
        final = strategy.final_value(fee_bp)
        return {
            "coin": name,
            "band": float(band),
            "fee_bp": float(fee_bp),
            "hours": strategy.hours,
            "sides_per_day": sides.value,
            "sides_low": sides.low,
            "sides_high": sides.high,
            "return_per_year": annual.value,
            "return_low": annual.low,
            "return_high": annual.high,
            "final_value": final.value,
            "final_low": final.low,
            "final_high": final.high,
        }

    return pl.DataFrame(
        [
            row(name, band, strategy, fee_bp)
            for (name, band), strategy in traded.items()
            for fee_bp in fees_bp
        ]
    )


def _answer(
    key: tuple[str, str, str],
    estimate: Estimate,
    n: int,
    covered: str,
    note: str = "",
) -> Measurement:
    return Measurement(
        output_id=key[0],
        quantity=key[1],
        condition=key[2],
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=n,
        coverage=covered,
        note=note,
    )


def _growth_answers(
    traded: Strategies, held: Mapping[str, float], covered: str
) -> Iterator[Measurement]:
    plain = traded.get(("BTC", 0.0))
    if plain is None:
        return
    n, days = plain.hours, plain.hours / BARS_PER_DAY
    final = "final value of $1"
    for fee_bp, condition in (
        (0.0, "BTC, no fees"),
        (2.0, "BTC, 2 bp per side"),
        (5.0, "BTC, 5 bp per side (printed as practically zero)"),
    ):
        yield _answer(("fig_growth", final, condition), plain.final_value(fee_bp), n, covered)
    yield Measurement(
        output_id="fig_growth",
        quantity=final,
        condition="BTC held",
        value=held["BTC"],
        n=n,
        coverage=covered,
        note="ratio of two closing prices: a fact of the record, without sampling error",
    )
    sides = plain.sides_per_day()
    gross, net = plain.final_value(0.0), plain.final_value(2.0)
    implied = Estimate(
        implied_sides_per_day(gross.value, net.value, fee=2 * BASIS_POINT, days=days),
        sides.low,
        sides.high,
    )
    from_values = "from this run's own final values"
    yield _answer(("fig_growth", "one-way trades per day", "BTC plain strategy"), sides, n, covered)
    yield _answer(
        ("fig_growth", "one-way trades per day implied by 9.9 and 0.036", ""),
        implied,
        n,
        covered,
        from_values,
    )
    yield _answer(
        ("fig_growth", "reversals per day implied", "half of the sides"),
        sides.times(0.5),
        n,
        covered,
    )
    at_five = plain.final_value(5.0)
    yield _answer(
        ("fig_growth", "final value of $1 implied at 5 bp", "9.9 exp(-5bp x 16 x 1755.9)"),
        Estimate(
            gross.value * math.exp(-5 * BASIS_POINT * sides.value * days),
            at_five.low,
            at_five.high,
        ),
        n,
        covered,
        from_values,
    )


def _move_answers(moved: pl.DataFrame, covered: str) -> Iterator[Measurement]:
    for row in moved.filter(pl.col("coin") == "BTC").iter_rows(named=True):
        yield _answer(
            ("stat_right_wrong", f"mean move when {row['outcome']}", "BTC"),
            Estimate(row["move_bp"], row["low"], row["high"]),
            row["hours"],
            covered,
        )


def _figure_answers(
    traded: Strategies, trading: TradingSettings, covered: str
) -> Iterator[Measurement]:
    """The printed points of the figure: its k-th band is the k-th of the settings."""
    for name in FIGURE_COINS:
        for number, band in enumerate(trading.bands[:PUBLISHED_BANDS], 1):
            strategy = traded.get((name, band))
            if strategy is None:
                continue
            condition = f"{name} band {number} of {PUBLISHED_BANDS}"
            note = f"half-width {band:g}; the publication does not print its bands"
            for quantity, estimate in (
                ("one-way trades per day", strategy.sides_per_day()),
                ("return per year, no fees", strategy.return_per_year(0.0).times(100)),
                ("return per year, 5 bp per side", strategy.return_per_year(5.0).times(100)),
            ):
                yield _answer(
                    ("fig_fees", quantity, condition), estimate, strategy.hours, covered, note
                )


def _band_answers(
    traded: Strategies, trading: TradingSettings, covered: str
) -> Iterator[Measurement]:
    band = trading.article_band
    if band != TEXT_BAND:
        other = f"band {band:g} instead of {TEXT_BAND:g}"
        quoted = other if covered == WHOLE else f"{covered}, {other}"
    else:
        quoted = covered
    strategy = traded.get(("BTC", band))
    if strategy is not None:
        for fee_bp in (0, 1, 2, 5):
            yield _answer(
                ("stat_band", "return per year", f"BTC band {TEXT_BAND:g}, {fee_bp} bp per side"),
                strategy.return_per_year(fee_bp).times(100),
                strategy.hours,
                quoted,
            )
        yield _answer(
            ("stat_band", "one-way trades per day", f"BTC band {TEXT_BAND:g}"),
            strategy.sides_per_day(),
            strategy.hours,
            quoted,
        )
    own = {b: s for (name, b), s in traded.items() if name == "SOL"}
    for fee_bp, quantity, condition in (
        (2, "SOL profitable at 2 bp with some band", "1 = yes"),
        (5, "SOL profitable at 5 bp with any band", "0 = no"),
    ):
        if own:
            annual = {band: s.return_per_year(fee_bp).value for band, s in own.items()}
            best = max(annual, key=annual.__getitem__)
            yield Measurement(
                output_id="stat_band",
                quantity=quantity,
                condition=condition,
                value=int(annual[best] > 0),
                n=next(iter(own.values())).hours,
                coverage=covered,
                note=f"best of {len(own)} bands: {best:g} with {100 * annual[best]:.1f}% a year",
            )


def _arithmetic(trading: TradingSettings) -> Iterator[Measurement]:
    """Arithmetic on printed numbers, and the number of fees."""
    rows_printed = printed("calendar", "forecast rows per coin", "")
    years = rows_printed / BARS_PER_YEAR
    value = math.log(printed("fig_growth", "final value of $1", "BTC, no fees")) / years
    rate = printed("tab_direction", "hit rate", "BTC") / 100
    right = printed("stat_right_wrong", "mean move when right", "BTC")
    wrong = printed("stat_right_wrong", "mean move when wrong", "BTC")
    sides = printed("fig_fees", "one-way trades per day", "BTC band 1 of 6")
    taker = printed("fig_fees", "taker fee per side", "USD-M futures, regular tier")
    note = "from printed numbers"
    for output_id, quantity, condition, number in (
        ("fig_growth", "log growth per year implied by 9.9", "42142/8760 years", value),
        (
            "stat_right_wrong",
            "gross edge implied",
            "0.539 x 31.5 - 0.461 x 35.6",
            rate * right - (1 - rate) * wrong,
        ),
        (
            "fig_fees",
            "fee drag identity",
            "sides/day x 365 x fee; 16.0 at 5 bp",
            100 * fee_drag(sides, taker * BASIS_POINT),
        ),
    ):
        yield Measurement(
            output_id=output_id, quantity=quantity, condition=condition, value=number, note=note
        )
    levels = len(set(trading.fees_bp))
    shown = ", ".join(f"{fee:g}" for fee in trading.fees_bp)
    yield Measurement(
        output_id="fig_fees",
        quantity="fee levels shown",
        condition="0, 1, 2, 5 bp per side (1 and 2 from the text)",
        value=levels,
        coverage=(
            WHOLE if set(trading.fees_bp) == PUBLISHED_FEES_BP else f"this run shows {shown} bp"
        ),
    )

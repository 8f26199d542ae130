"""What is left of a band's return after half the spread of that band has been paid."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.contracts import net_return
from remeasure.store.frames import read_frame, write_frame
from remeasure.studies.polymarket.estimates import Estimate, answer
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all, rows
from remeasure.studies.polymarket.scope import Scope, coverage

OUTPUTS = ("stat_net",)

NET = schema("net returns", {"band": pl.Int64, "name": pl.String, "of": pl.String})
"""One row a band and source of the spread: ``own`` (this run's snapshot) or ``printed`` (the
publication's medians, which nobody can measure again)."""


class NetStep(Model):
    """The scope of the run, and how the spread is taken off."""

    scope: Scope
    net_return: str


def measure_net(*, returns: Path, spread: Path, net: Path, settings: NetStep) -> list[Measurement]:
    """Net returns by band: with this run's spreads, and with the printed ones.

    Parameters
    ----------
    returns, spread
        Parquet, as ``band_returns.RETURNS`` and ``spread.SPREAD``.
    net
        Output, Parquet: see ``NET``.
    """
    gross = read_frame(returns).filter(pl.col("of") == "return", pl.col("value").is_not_null())
    own = {
        row["name"]: row["value"]
        for row in read_frame(spread).drop_nulls("value").iter_rows(named=True)
    }
    costs = {"own": own, "printed": printed_costs()}
    table = {
        (row["band"], row["name"], of): _net(row, cost[row["name"]], settings.net_return)
        for of, cost in costs.items()
        for row in gross.iter_rows(named=True)
        if row["name"] in cost
    }
    write_frame(
        frame(NET, ({"band": b, "name": n, "of": o, **e.row()} for (b, n, o), e in table.items())),
        net,
        NET,
    )
    named = {(name, of): each for (_, name, of), each in table.items()}
    measured = _exact()
    for name in ("95-98", "98-99.5"):
        measured.append(
            answer(
                ("stat_net", "return after half the spread", f"{name} cents"),
                named.get((name, "own")),
                coverage(settings.scope),
                factor=100,
                note="the spread is that of one night and has no sampling error"
                if (name, "own") in named
                else "this run has no snapshot of order books, or no contract in this band",
            )
        )
    return answer_all(measured, OUTPUTS, "no step measures it")


def printed_costs() -> dict[str, float]:
    """The publication's median half-spreads by name of the band, as shares."""
    return {
        row.condition.removesuffix(" cents"): float(row.number) / 100
        for row in rows().values()
        if row.output_id == "fig_spread" and row.number is not None
    }


def after(gross: float, cost: float, how: str) -> float:
    """A return less a cost: ``(1 + R) / (1 + c) - 1``, or ``R - c`` where ``how`` is additive."""
    return gross - cost if how == "additive" else float(net_return(gross, cost))


def _net(row: dict[str, float], cost: float, how: str) -> Estimate:
    """The spread of one night is taken as known: only the return has an interval."""
    ends = {
        name: None if row[name] is None else after(row[name], cost, how)
        for name in ("low", "high", "truth")
    }
    return Estimate(
        value=after(row["value"], cost, how),
        n=int(row["n"]),
        weight=row["weight"],
        effective=row["effective"],
        **ends,
    )


def _exact() -> list[Measurement]:
    cases = {"R=.0115, c=.021": (0.0115, 0.021), "R=.0035, c=.006": (0.0035, 0.006)}
    return [
        Measurement(
            output_id="stat_net",
            quantity="(1+R)/(1+c)-1",
            condition=condition,
            value=100 * float(net_return(gross, cost)),
            coverage=WHOLE,
        )
        for condition, (gross, cost) in cases.items()
    ]

"""What the study would fetch under the origin public; see `remeasure.fetch.remote`.

The pages of a walk are counted at its end only: one address with ``{every-page}`` stands for
all of them, its size for the whole walk.
"""

from __future__ import annotations

from remeasure.config import Config
from remeasure.fetch.raw import Wanted
from remeasure.fetch.remote import RemoteFile
from remeasure.studies.polymarket.addresses import bill_rate, bitcoin_months
from remeasure.studies.polymarket.settings import Settings
from remeasure.studies.polymarket.side_series import month_bounds


def remote(settings: Settings, config: Config) -> list[RemoteFile]:
    """The walks and files of a configuration; none unless public."""
    if settings.origin != "public":
        return []
    hosts = settings.crawl.hosts
    every = "{every-page}"
    return [
        RemoteFile("polymarket_events", Wanted(f"{hosts.gamma}/events/keyset?{every}")),
        RemoteFile("polymarket_prices", Wanted(f"{hosts.clob}/prices-history?{every}")),
        *(
            RemoteFile("polymarket_three_hourly", Wanted(f"{hosts.data}/v2/prices-history?{each}"))
            for each in ([every] if settings.crawl.three_hourly else [])
        ),
        RemoteFile("polymarket_trades", Wanted(f"{hosts.data}/trades?{every}")),
        RemoteFile(
            "binance_bitcoin_months",
            Wanted(bitcoin_months(hosts, *month_bounds(settings.window))),
        ),
        RemoteFile("fred_bill_rate", Wanted(bill_rate(hosts))),
    ]

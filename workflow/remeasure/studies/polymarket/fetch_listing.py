"""Walk chains of pages whose next address stands in the page before.

A chain ends where the service says so (no ``next_cursor``), never at a short page: limits
are clamped silently. A chain that returns to a page it has seen is a loop: an ignored
parameter gives the first page for ever, with HTTP 200.
"""

from __future__ import annotations

from pathlib import Path

from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.fetch.raw import Wanted
from remeasure.fetch.walk import Pages, chain, opened
from remeasure.studies.polymarket.addresses import Hosts, events_page
from remeasure.studies.polymarket.listing_pages import decoded, event_ids, next_cursor
from remeasure.studies.polymarket.origin import FetchSettings, layout_of
from remeasure.studies.polymarket.probe import refuse_broken


def page_wanted(url: str) -> Wanted:
    """A page of events as a request, validated before it is accepted."""

    def check(path: Path) -> None:
        decoded(path.read_bytes(), url)

    return Wanted(url, check=check)


def walk_events(
    pages: Pages,
    hosts: Hosts,
    *,
    closed: bool,
    volume_min: float | None = None,
    volume_max: float | None = None,
) -> list[RawFile]:
    """All pages of one shard of the listing.

    Raises
    ------
    SourceError
        When a page cannot be had, is no page of events, or comes again.
    """

    def address(cursor: str) -> str:
        return events_page(
            hosts, closed=closed, volume_min=volume_min, volume_max=volume_max, cursor=cursor
        )

    def after(body: bytes) -> str:
        cursor = next_cursor(decoded(body, "a page of events"))
        return address(cursor) if cursor else ""

    def seen(body: bytes) -> tuple[str, ...]:
        return tuple(event_ids(decoded(body, "a page of events")))

    return chain(pages, address(""), after, wanted=page_wanted, seen=seen)


class ListingStep(FetchSettings):
    """Settings of `fetch_listing`: one shard of the events.

    Attributes
    ----------
    source
        Name of the data set.
    closed
        Resolved events, or open ones.
    volume_min, volume_max
        Dollars of the event, both included; None for no bound.
    """

    source: str
    closed: bool
    volume_min: float | None = None
    volume_max: float | None = None


def fetch_listing(
    *, manifest: Path, settings: ListingStep, world: Path | None = None, probe: Path | None = None
) -> None:
    """Step: walk one shard of the listing, or go on with it, and list its pages.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    world
        Origin ``generated``: the manifest of the world.
    probe
        Origin ``public``: what the probe found; a broken assumption stops the crawl.

    Raises
    ------
    SourceError
        As `walk_events`.
    """
    layout = layout_of(settings, world)
    if probe is not None:
        refuse_broken(probe, ("listing", "cursor"))
    with opened(settings.source, layout, rate=settings.crawl.rates.gamma) as pages:
        files = walk_events(
            pages,
            settings.crawl.hosts,
            closed=settings.closed,
            volume_min=settings.volume_min,
            volume_max=settings.volume_max,
        )
    Manifest.of(settings.source, settings.origin, layout.root.as_posix(), files).write(manifest)

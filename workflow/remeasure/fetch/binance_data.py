"""Manifests of Binance data under any origin: what `binance` and `binance_rest` have planned."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime

from remeasure.errors import ConfigError, SourceError
from remeasure.fetch import layout, origins
from remeasure.fetch.binance import LISTING, ArchiveFile
from remeasure.fetch.binance_rest import Page, milliseconds
from remeasure.fetch.listing import explain_missing
from remeasure.fetch.manifest import Manifest

_MAX_FOLLOW_UPS = 20


def archive(
    source: str, origin: origins.Layout, files: Sequence[ArchiveFile], *, listing: str = LISTING
) -> Manifest:
    """The manifest of files of the archive, from `binance.plan_klines` or `plan_funding`.

    Parameters
    ----------
    source
        Name of the data set, as in ``crypto_spot_5m``.
    origin
        `Generated`, `Mirror` or `Public` of `remeasure.fetch.origins`.
    files
        The plan.
    listing
        Where the archive lists its folders; asked only to explain a 404.

    Raises
    ------
    SourceError
        When files are missing or not sound; the message names every one, and of
        those that the public archive does not have it says what there is.
    """
    return origins.resolve(
        source,
        origin,
        [file.wanted() for file in files],
        explain=explain_missing(origin.root, listing=listing),
    )


def rest(
    source: str,
    origin: origins.Layout,
    pages: Sequence[Page],
    *,
    today: date | None = None,
) -> Manifest:
    """The manifest of REST pages that together hold every candle of a window.

    Parameters
    ----------
    source
        Name of the data set, as in ``crypto_spot_5m``.
    origin
        `Generated`, `Mirror` or `Public`, the last with ``settings=REST_CLIENT``.
    pages
        From `binance_rest.plan_pages`.
    today
        For tests; default the present day in UTC.

    Raises
    ------
    ConfigError
        When the window is not over: the last candle would still change.
    SourceError
        When a page cannot be had or is refused (it is in quarantine then); when
        a planned page is empty: the symbol was not traded then; when the
        service keeps giving a few candles at a time.
    """
    over = milliseconds(today or datetime.now(UTC).date())
    if any(page.end > over for page in pages):
        raise ConfigError(
            "the window of the candles is not over yet, so its last candle would still change",
            where="window.last",
            remedy="end the window yesterday (UTC) or earlier",
        )
    manifest = origins.resolve(source, origin, [page.wanted for page in pages])
    empty, todo = _unfinished(manifest, pages)
    if empty:
        raise SourceError(
            f"{len(empty)} of {len(pages)} pages hold no candle at all:"
            + "".join(f"\n  - {page.url}" for page in empty),
            where=pages[0].base,
            remedy="begin the window when the symbol was first traded, end it when it last was",
        )
    for _ in range(_MAX_FOLLOW_UPS):
        if not todo:
            return manifest
        more = origins.resolve(source, origin, [page.wanted for page in todo])
        manifest = Manifest.of(
            manifest.source, manifest.origin, manifest.root, manifest.files + more.files
        )
        # A follow-up that is empty has shown that the gap is real.
        todo = _unfinished(more, todo)[1]
    raise SourceError(
        f"after {_MAX_FOLLOW_UPS} more requests the page is still not whole",
        where=todo[0].url,
        remedy="the service gives far fewer candles a page than it says; use the archive instead",
    )


def _unfinished(manifest: Manifest, pages: Sequence[Page]) -> tuple[list[Page], list[Page]]:
    """The pages without any candle, and the requests for what the others may have left out."""
    empty: list[Page] = []
    following: list[Page] = []
    for page in pages:
        body = manifest.read_verified(manifest.entry(layout.url_to_path(page.url)))
        rows = page.rows(body, where=page.url)
        if not rows:
            empty.append(page)
        elif (after := page.following(rows)) is not None:
            following.append(after)
    return empty, following

"""Manifests of Binance data under any origin: what `binance` and `binance_futures` have planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from remeasure.errors import ConfigError, SourceError
from remeasure.fetch import origins
from remeasure.fetch.binance import LISTING, ArchiveFile
from remeasure.fetch.binance_futures import FundingPage, polite
from remeasure.fetch.cache import FetchError
from remeasure.fetch.listing import explain_missing
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.raw import Wanted

_BLOCKED = 451


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


def futures(
    source: str, origin: origins.Layout, wanted: Sequence[Wanted], *, otherwise: str
) -> Manifest:
    """The manifest of answers of `binance_futures`, asked for no faster than it allows.

    Parameters
    ----------
    source, origin
        As in `archive`.
    wanted
        The requests.
    otherwise
        What to do where the interface is blocked, for the message.

    Raises
    ------
    SourceError
        When answers are missing, cannot be had or are refused (those are in quarantine then).
    """
    if isinstance(origin, origins.Public):
        origin = replace(origin, settings=polite(origin.settings))
    try:
        return origins.resolve(source, origin, wanted)
    except FetchError as error:
        if not any(failure.status == _BLOCKED for failure in error.failures):
            raise
        raise FetchError(
            error.what, failures=error.failures, where=error.where, remedy=otherwise
        ) from error


def funding_pages(
    source: str,
    origin: origins.Layout,
    pages: Sequence[FundingPage],
    *,
    otherwise: str,
    today: date | None = None,
) -> Manifest:
    """The manifest of pages of payments, from `binance_futures.plan_funding_pages`.

    Parameters
    ----------
    source, origin, otherwise
        As in `futures`.
    pages
        The plan.
    today
        For tests; default the present day in UTC.

    Raises
    ------
    ConfigError
        When a page is not over: payments would still be added to it.
    SourceError
        As `futures`.
    """
    if any(page.end > (today or datetime.now(UTC).date()) for page in pages):
        raise ConfigError(
            "the window of the payments is not over yet, so more of them would follow",
            where="the last day of the payments",
            remedy="end the window yesterday (UTC) or earlier",
        )
    return futures(source, origin, [page.wanted for page in pages], otherwise=otherwise)


def joined(left: Manifest, right: Manifest) -> Manifest:
    """One manifest of the files of two of the same source, origin and root."""
    if (left.source, left.origin, left.root) != (right.source, right.origin, right.root):
        raise SourceError(
            f"the manifests do not belong together: {left.origin} files of {left.source} below"
            f" {left.root}, {right.origin} files of {right.source} below {right.root}",
            where=left.source,
            remedy="resolve both with the same origin",
        )
    return Manifest.of(left.source, left.origin, left.root, left.files + right.files)

"""Pages of a service one after the other or many at once, whatever the origin of the bytes.

Under the origins ``generated`` and ``mirror`` a page is looked up in the raw layout; under
``public`` it is asked for once and then lies in the raw cache, so a walk that was stopped
goes on where it was: pages that are there are hashed, never asked for again.

Services that answer too many requests with HTTP 200 and an error in the body are asked
again after a pause (`Throttled`), as those are that answer 429.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.cache import Cache, FetchError
from remeasure.fetch.manifest import RawFile
from remeasure.fetch.origins import Generated, Layout, Mirror, from_layout
from remeasure.fetch.progress import Progress
from remeasure.fetch.quarantine import put_aside
from remeasure.fetch.raw import Wanted, inspect
from remeasure.fetch.settings import ClientSettings

#: Pages that are asked for in one batch: what a kill can at most interrupt.
BATCH = 200


class Throttled(SourceError):
    """The service answered HTTP 200, but its body says that there were too many requests."""


class Pages:
    """Pages of one source; use it as made by `opened`."""

    def __init__(self, source: str, origin: Layout, cache: Cache | None, progress: Progress):
        self.source, self.origin, self.progress = source, origin, progress
        self._cache = cache
        self.files: dict[str, RawFile] = {}
        self.asked = 0
        #: Whether every page is progress; else the step counts what it has finished.
        self.counts_pages = True

    @property
    def root(self) -> Path:
        """Folder under which the pages lie."""
        return self.origin.root

    def get(self, wanted: Wanted) -> bytes:
        """One page's bytes, as received."""
        if wanted.path not in self.files:
            self.many([wanted])
        return (self.root / wanted.path).read_bytes()

    def many(self, wanted: Sequence[Wanted]) -> None:
        """Make pages present, in batches; every one is in ``files`` afterwards.

        Raises
        ------
        FetchError
            Naming every page that could not be had. All others are in the cache.
        SourceError
            When a page is missing under an origin without network, or not sound.
        """
        for first in range(0, len(wanted), BATCH):
            self._batch(wanted[first : first + BATCH])

    def forget(self, wanted: Wanted) -> None:
        """Move a page out of the raw cache to quarantine; nothing where there is no network."""
        if self._cache is None:
            return
        file = self.root / wanted.path
        reason = "it is the same as an earlier page of its chain: stale, or a circle"
        put_aside(self._cache.quarantine, wanted.path, file, url=wanted.url, reason=reason)
        file.unlink(missing_ok=True)
        layout.sidecar(file).unlink(missing_ok=True)
        self.files.pop(wanted.path, None)

    def again(self, wanted: Wanted) -> bytes:
        """A page that was not what it should be, asked for once more after a pause."""
        if self._cache is not None:
            self.forget(wanted)
            self._cache.pause(1)
        return self.get(wanted)

    def _batch(self, wanted: Sequence[Wanted]) -> None:
        if self._cache is None:
            name = "generated" if isinstance(self.origin, Generated) else "mirror"
            entries: Sequence[RawFile] = from_layout(self.source, name, self.root, wanted).files
            asked = 0  # and not checked: whoever parses them reads every one
        else:
            asked = sum(inspect(self.root, each)[0] != "present" for each in wanted)
            entries = self._patiently(wanted)
        self.files.update((entry.path, entry) for entry in entries)
        self.asked += asked
        if self.counts_pages:
            self.progress.add(len(wanted), asked=asked)

    def _patiently(self, wanted: Sequence[Wanted]) -> Sequence[RawFile]:
        """Fetch; pages that were throttled in the body are asked for again after a pause."""
        assert self._cache is not None  # noqa: S101 - only called with a cache
        failures = 0
        while True:
            try:
                return self._cache.fetch(wanted, title="")
            except FetchError as error:
                # The cache keeps the bad body and tells the reason; the check's own error is
                # its cause.
                throttled = all(
                    isinstance(each.error.__cause__, Throttled) for each in error.failures
                )
                failures += 1
                if not throttled or failures > self._cache.settings.retries:
                    raise
                self._cache.pause(failures)


@contextmanager
def opened(
    source: str,
    origin: Layout,
    *,
    rate: float | None = None,
    settings: ClientSettings | None = None,
    total: int | None = None,
    unit: str = "pages",
) -> Iterator[Pages]:
    """Pages of a source; one client and its rate limit hold for the whole walk.

    Parameters
    ----------
    source
        Name of the data set, for messages.
    origin
        Where pages come from.
    rate
        Requests a second; default that of the client's settings.
    settings
        Of the client; default those of the origin.
    total, unit
        Number of what is counted, where it is known, and its name.
    """
    progress = Progress(source, total, unit=unit)
    if isinstance(origin, Generated | Mirror):
        yield Pages(source, origin, None, progress)
        return
    cache = origin.cache()
    if settings is not None:
        cache.settings = settings
    if rate is not None:
        cache.settings = cache.settings.model_copy(update={"rate_per_second": rate})
    with cache.kept():
        try:
            yield Pages(source, origin, cache, progress)
        finally:
            progress.finish()


#: From the body of a page: the addresses that follow from it.
Next = Callable[[bytes], str]


def chain(
    pages: Pages,
    first: str,
    after: Next,
    *,
    wanted: Callable[[str], Wanted],
    seen: Callable[[bytes], object] | None = None,
) -> list[RawFile]:
    """Walk pages whose next address stands in the page before, until one names none.

    Parameters
    ----------
    first
        Address of the first page.
    after
        The address that follows from a page's body; empty after the last page.
    wanted
        Address to request.
    seen
        What a page holds, as something that can be compared; two equal pages that are not
        empty are a loop, whatever their addresses.

    Raises
    ------
    SourceError
        When an address or a page comes again: the service ignores the cursor.
    """
    address, walked = first, dict[str, RawFile]()
    contents: dict[object, str] = {}
    while address:
        if address in walked:
            raise _loop(address, f"after {len(walked)} pages the address of an earlier one")
        body = pages.get(wanted(address))
        walked[address] = pages.files[wanted(address).path]
        if seen is not None and (content := seen(body)):
            if content in contents:
                body = pages.again(wanted(address))
                content = seen(body)
                walked[address] = pages.files[wanted(address).path]
            if content in contents:
                pages.forget(wanted(address))
                raise _loop(
                    address, f"after {len(walked)} pages the same as at {contents[content]}"
                )
            contents[content] = address
        address = after(body)
    return list(walked.values())


def _loop(address: str, found: str) -> SourceError:
    return SourceError(
        f"the pages go in a circle: {found}",
        where=address,
        remedy="the service ignores the name of the cursor, or a cache on the way is stale: run"
        " the probe; the repeated page lies in quarantine",
    )

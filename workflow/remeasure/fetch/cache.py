"""The raw cache: bytes as received, at ``<root>/<host>/<path>``, each proven on every run.

What counts as present is defined in `remeasure.fetch.raw`. Everything else is
fetched, and nothing that is present is asked for again: a second run sends no
request.

Services replace files now and then. With ``refresh`` the small checksum files
are fetched again, and a file whose promise has changed is fetched too; the old
one is not lost, but moved to ``<quarantine>/replaced`` beside the reason. The
same happens without ``refresh`` when a checksum file that is fetched for the
first time contradicts a file fetched earlier, and when a body contradicts a
checksum file of an earlier run: then that is asked for once more.

Bad bodies go to ``<quarantine>/<host>/<path>`` beside the reason. A bad file
stops the run, but only after all others were tried, and the error names all.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from remeasure.errors import ExpectedError, SourceError
from remeasure.fetch import layout
from remeasure.fetch import quarantine as aside
from remeasure.fetch.client import Client, HostError, StatusError
from remeasure.fetch.manifest import RawFile, digest
from remeasure.fetch.raw import Sidecar, Wanted, check_distinct, inspect, promised
from remeasure.fetch.settings import ClientSettings
from remeasure.fetch.transfer import BadBody, Received, discard, receive

#: Says why a URL was answered 404; may ask the service through the client.
Explain = Callable[[Client, str], str]


@dataclass(frozen=True)
class Failure:
    """One file that could not be had: its URL and the error."""

    url: str
    error: ExpectedError

    @property
    def status(self) -> int:
        """HTTP status of the answer, or 0 when the failure was another one."""
        return self.error.status if isinstance(self.error, StatusError) else 0


class FetchError(SourceError):
    """Some files could not be had; ``failures`` holds each, in the order they were wanted."""

    def __init__(
        self, what: str, *, failures: Sequence[Failure], where: object = "", remedy: str = ""
    ) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.failures = tuple(failures)


class NotTried(SourceError):
    """A file that was not asked for, because its host refused another one for all."""


def _unwritable(place: Path, error: OSError) -> SourceError:
    return SourceError(
        f"the raw cache cannot be written: {error.strerror or error}",
        where=error.filename or place,
        remedy="free space, or give this user the right to write there; then run again",
    )


@contextmanager
def _host_lock(folder: Path) -> Iterator[None]:
    """Only one process at a time asks one host; others wait and say so."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        import fcntl
    except ImportError:  # Windows: keeping two runs apart is the user's business there
        yield
        return
    with (folder / "%lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print(f"waiting for another fetch into {folder}", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _progress(title: str, total: int) -> Progress:
    """A progress bar on standard error, invisible where that is no terminal."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty() or total < 2,
        transient=True,
    )
    bar.add_task(title, total=total)
    return bar


class Cache:
    """The raw cache below one root.

    Parameters
    ----------
    root
        Folder of the raw layout, as in ``data/raw/public``.
    quarantine
        Folder for bad and replaced files; default ``quarantine`` beside the root.
    settings
        Of the HTTP client, which is made when the first request is due.
    offline
        Send nothing: `fetch` then names every URL that is missing.
    refresh
        Ask again for checksum files, and for files without any promised hash.
    """

    def __init__(
        self,
        root: Path,
        *,
        quarantine: Path | None = None,
        settings: ClientSettings | None = None,
        offline: bool = False,
        refresh: bool = False,
    ) -> None:
        self.root = root
        self.quarantine = quarantine or root.parent / "quarantine"
        self.settings = settings or ClientSettings()
        self.offline = offline
        self.refresh = refresh and not offline
        self._client: Client | None = None
        self._locked = ExitStack()
        self._hosts: set[str] = set()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep one client, its rate limit and the locks of hosts over many calls of `fetch`."""
        with Client(self.settings) as client, self._locked:
            self._client = client
            try:
                yield
            finally:
                self._client = None
                self._hosts.clear()

    def pause(self, failures: int) -> None:
        """Wait as the client does after that many failed attempts."""
        if self._client is not None:
            self._client.back_off(failures)

    def _lock(self, host: str, stack: ExitStack) -> None:
        """Hold the lock of a host for one job, or as long as the client is kept."""
        if self._client is None:
            stack.enter_context(_host_lock(self.root / host))
        elif host not in self._hosts:
            self._locked.enter_context(_host_lock(self.root / host))
            self._hosts.add(host)

    def fetch(
        self, wanted: Sequence[Wanted], *, title: str = "fetching", explain: Explain | None = None
    ) -> tuple[RawFile, ...]:
        """Verify what is present, fetch the rest, and return an entry for each file.

        Parameters
        ----------
        wanted
            The files, in any order; a file asked for twice is fetched once.
        title
            What the progress bar says.
        explain
            Called with the client and a URL that was answered 404; says why.

        Returns
        -------
        Entries in the order of ``wanted``, with paths below the root. The
        result does not depend on the order in which bodies arrive.

        Raises
        ------
        FetchError
            When files are missing (offline) or could not be had; it names
            every one. All others are in the cache then.
        """
        check_distinct([one for each in wanted for one in (each.checksum, each) if one])
        unique = {each.path: each for each in wanted}
        present = {path: self._present(each) for path, each in unique.items()}
        entries = {path: entry for path, entry in present.items() if entry}
        todo = [each for path, each in unique.items() if path not in entries]
        if todo and self.offline:
            raise self._offline_error(todo, len(unique))
        if todo:
            job = _Job(self, len(unique), explain)
            entries.update(job.run(todo, title))
        return tuple(entries[each.path] for each in wanted)

    def _present(self, wanted: Wanted) -> RawFile | None:
        """The entry of a file that needs no request, or None."""
        sums = wanted.checksum
        if self.refresh and not wanted.sha256:
            return None
        if sums and not self.offline and not (self.root / sums.path).is_file():
            return None
        try:
            state, entry = inspect(self.root, wanted)
        except SourceError:  # a damaged checksum file: to be fetched again with its file
            return None
        return entry if state == "present" else None

    def _offline_error(self, todo: Sequence[Wanted], total: int) -> FetchError:
        failures: list[Failure] = []
        for each in todo:
            sums, states = each.checksum, dict[str, str]()
            try:
                states[each.url] = inspect(self.root, each)[0]
                if sums and not (self.root / sums.path).is_file():
                    states = {sums.url: "missing", **states}
            except SourceError:
                states[each.checksum_url] = "damaged"
            failures += [
                Failure(url, SourceError(state, where=url)) for url, state in states.items()
            ]
        rows = "".join(f"\n  - {each.url} ({each.error.what})" for each in failures)
        return FetchError(
            f"offline, and {len(todo)} of {total} files are not in the cache; "
            f"these {len(failures)} URLs are missing:{rows}",
            failures=failures,
            where=self.root,
            remedy="run once with network, or copy these files from a mirror to the same places",
        )


class _Job:
    """One call of `Cache.fetch` that has to ask for something."""

    def __init__(self, cache: Cache, total: int, explain: Explain | None) -> None:
        self.cache, self.root, self.total, self.explain = cache, cache.root, total, explain
        self.kept = cache._client is not None
        self.client = cache._client or Client(cache.settings)
        self.hosts_lost: dict[str, HostError] = {}
        self.lock = threading.Lock()

    def run(self, todo: Sequence[Wanted], title: str) -> dict[str, RawFile]:
        """Entries by path; FetchError naming every file that could not be had."""
        entries: dict[str, RawFile] = {}
        errors: dict[str, ExpectedError] = {}
        with ExitStack() as stack:
            for host in sorted({layout.host_folder(each.url) for each in todo}):
                self.cache._lock(host, stack)  # sorted: no deadlock
            if not self.kept:
                stack.enter_context(self.client)
            bar = stack.enter_context(_progress(title, len(todo)))
            pool = stack.enter_context(ThreadPoolExecutor(self.cache.settings.workers))
            jobs = {pool.submit(self._complete, each): each.path for each in todo}
            try:
                for job in as_completed(jobs):
                    bar.advance(bar.task_ids[0])
                    try:
                        entries[jobs[job]] = job.result()
                    except ExpectedError as error:
                        errors[jobs[job]] = error
            except BaseException:
                self.client.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            if errors:
                raise self._error(
                    [Failure(each.url, errors[each.path]) for each in todo if each.path in errors]
                )
        return entries

    def _error(self, failures: Sequence[Failure]) -> FetchError:
        rows: list[str] = []
        for each in failures:
            if isinstance(each.error, NotTried):
                continue
            why = self.explain(self.client, each.url) if self.explain and each.status == 404 else ""
            rows.append(f"\n  - {each.url}: {each.error.what}{'; ' if why else ''}{why}")
        untried = Counter(
            layout.host_folder(each.url) for each in failures if isinstance(each.error, NotTried)
        )
        rows += [
            f"\n  - {count} further files of {host} were not asked for"
            for host, count in untried.items()
        ]
        remedies = dict.fromkeys(each.error.remedy for each in failures if each.error.remedy)
        return FetchError(
            f"{len(failures)} of {self.total} files could not be fetched:{''.join(rows)}",
            failures=failures,
            where=self.root,
            remedy="; ".join(remedies),
        )

    def _complete(self, wanted: Wanted) -> RawFile:
        """Bring one file and, before it, its checksum file; runs in a thread of the pool."""
        host = layout.host_folder(wanted.url)
        if host in self.hosts_lost:
            raise NotTried(self.hosts_lost[host].what, where=wanted.url)
        try:
            asked = self._complete_checksum(wanted)
            state, entry = inspect(self.root, wanted)
            if state == "present" and (promised(self.root, wanted) or not self.cache.refresh):
                return entry
            return self._download(wanted, sums_are_new=asked)
        except HostError as error:
            with self.lock:
                self.hosts_lost.setdefault(host, error)
            raise
        except OSError as error:  # of the disk: those of the network are dealt with by the client
            raise _unwritable(self.root / wanted.path, error) from error

    def _complete_checksum(self, wanted: Wanted) -> bool:
        """Make the checksum file of ``wanted`` present; whether the service was asked for it."""
        sums = wanted.checksum
        if sums is None:
            return False
        if not self.cache.refresh and (self.root / sums.path).is_file():
            try:
                promised(self.root, wanted)
                return False
            except SourceError:  # damaged here: ask for it
                pass
        self._download(sums, sums_are_new=True)
        return True

    def _download(self, wanted: Wanted, *, sums_are_new: bool) -> RawFile:
        """Receive, verify and accept one body; a bad one goes to quarantine."""
        part = layout.partial(self.root / wanted.path)
        try:
            received = receive(self.client, wanted.url, part, max_bytes=wanted.max_bytes)
        except BadBody as error:
            raise self._quarantine(wanted, error.body, error.what) from error
        promise = promised(self.root, wanted)
        if promise not in ("", received.sha256) and wanted.checksum and not sums_are_new:
            # The checksum file of an earlier run may be older than the file of the service.
            self._download(wanted.checksum, sums_are_new=True)
            promise = promised(self.root, wanted)
        if promise not in ("", received.sha256):
            raise self._quarantine(
                wanted, part, f"its SHA-256 is {received.sha256} instead of the promised {promise}"
            )
        if wanted.size not in (None, received.size):
            raise self._quarantine(
                wanted, part, f"it has {received.size:,} bytes instead of {wanted.size:,}"
            )
        try:
            if wanted.check:
                wanted.check(part)
        except ExpectedError as error:
            raise self._quarantine(wanted, part, error.what, error.remedy) from error
        self._accept(wanted, part, received)
        return RawFile(wanted.path, received.size, received.sha256)

    def _quarantine(self, wanted: Wanted, body: Path, reason: str, remedy: str = "") -> SourceError:
        kept = aside.put_aside(
            self.cache.quarantine, wanted.path, body, url=wanted.url, reason=reason
        )
        discard(body)
        return SourceError(
            f"{reason} (kept as {kept})",
            where=wanted.url,
            remedy=remedy
            or "fetch again; if it comes again, the service serves a damaged or replaced file",
        )

    def _accept(self, wanted: Wanted, part: Path, received: Received) -> None:
        """Put a verified body and its sidecar in place; what lay there is kept aside."""
        file = self.root / wanted.path
        if file.is_file() and (old := digest(file)[1]) != received.sha256:
            record = Sidecar.read(file)
            if record and record.sha256 == old:
                aside.keep_replaced(
                    self.cache.quarantine,
                    wanted.path,
                    file,
                    url=wanted.url,
                    sha256=old,
                    reason=f"the service has replaced it by a file of SHA-256 {received.sha256}",
                )
            else:
                aside.put_aside(
                    self.cache.quarantine,
                    wanted.path,
                    file,
                    url=wanted.url,
                    reason="it was not what its record or checksum file says: damaged or edited",
                )
        part.replace(file)
        discard(part)
        Sidecar.model_validate(received.record()).write(file)

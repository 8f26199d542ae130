"""One HTTP client for all sources: polite, patient within bounds, without credentials.

- Retries with exponential back-off and jitter are urllib3's; ``Retry-After`` is
  honoured, and while one request waits for it, all requests of this client do.
- The rate limit counts requests per host (requests-ratelimiter).
- Redirects are followed by hand: each target is checked before it is asked.
- Cookies and netrc are switched off. A body is taken as it is sent: no encoding
  is asked for, so that sizes and ranges count the bytes of the file.

`remeasure.fetch.transfer` brings bodies into files, `remeasure.fetch.cache`
decides where they stay.
"""

from __future__ import annotations

import random
import threading
import time
from http.cookiejar import DefaultCookiePolicy
from types import TracebackType
from typing import Any, NoReturn, Self
from urllib.parse import urljoin

import requests
import urllib3
from requests_ratelimiter import LimiterAdapter
from urllib3.util.retry import Retry

from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.settings import ClientSettings as ClientSettings

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED = frozenset({408, 418, 425, 429, 500, 502, 503, 504})
_TOO_FAST = frozenset({418, 429})
_EXCERPT = 300

#: What requests and urllib3 raise, before and while a body is read.
NETWORK_ERRORS = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)

_BEFORE_ANY_ANSWER = (
    urllib3.exceptions.NewConnectionError,  # refused, or no such name
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.SSLError,
    urllib3.exceptions.ProxyError,
)


class StatusError(SourceError):
    """The service answered with a status that brings no file; ``status`` is that status."""

    def __init__(self, what: str, *, status: int, where: object = "", remedy: str = "") -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.status = status


class HostError(StatusError):
    """The host refuses this client or cannot be reached: its other files need not be tried."""


class _Pause:
    """Until when every request of a client waits, because the service asked one of them to."""

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._until = 0.0
        self._lock = threading.Lock()

    def extend(self, seconds: float) -> None:
        with self._lock:
            self._until = max(self._until, time.monotonic() + seconds)

    def wait(self) -> None:
        while (left := self._until - time.monotonic()) > 0 and not self.stopped.wait(left):
            pass


class _Retry(Retry):
    """urllib3's Retry, with waits that all threads share and that `Client.stop` ends."""

    def __init__(self, *, pause: _Pause, longest: int, **options: Any) -> None:
        # One second above the limit: urllib3 cuts longer waits, and a cut one must be told apart.
        super().__init__(**{**options, "retry_after_max": longest + 1})
        self.pause, self.longest = pause, longest

    def new(self, **options: Any) -> Self:
        return super().new(**options, pause=self.pause, longest=self.longest)

    def increment(self, *args: Any, **options: Any) -> Self:
        response = options.get("response")
        if response is not None and (self.get_retry_after(response) or 0) > self.longest:
            # As if the retries were used up: the caller gets the answer and tells the user.
            raise urllib3.exceptions.MaxRetryError(options["_pool"], "", None)
        return super().increment(*args, **options)

    def sleep_for_retry(self, response: urllib3.BaseHTTPResponse) -> bool:
        seconds = self.get_retry_after(response)
        if seconds:
            self.pause.extend(seconds)
            self.pause.wait()
        return bool(seconds)

    def _sleep_backoff(self) -> None:
        self.pause.stopped.wait(self.get_backoff_time())


class _Adapter(LimiterAdapter):
    """Rate-limited transport that also waits while the service wants everybody to."""

    def __init__(self, pause: _Pause, **options: Any) -> None:
        super().__init__(**options)
        self.pause = pause

    def send(
        self, request: requests.PreparedRequest, *args: Any, **options: Any
    ) -> requests.Response:
        self.pause.wait()
        return super().send(request, *args, **options)


class _Session(requests.Session):
    """A session that never looks at redirects: even to prepare one it would read the body."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


def _no_credentials(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Takes the place of netrc, which requests would otherwise look up."""
    return request


def _causes(error: BaseException) -> list[BaseException]:
    """A requests or urllib3 exception and the ones wrapped in it, outermost first."""
    chain = [error]
    while True:
        inner = getattr(chain[-1], "reason", None) or next(iter(chain[-1].args), None)
        if not isinstance(inner, BaseException) or inner in chain:
            return chain
        chain.append(inner)


def describe(error: BaseException) -> str:
    """The innermost reason of a requests or urllib3 exception, in one line."""
    cause = _causes(error)[-1]
    return f"{type(cause).__name__}: {cause}"


def _excerpt(response: requests.Response) -> str:
    """The first printable characters of an answer that is no file."""
    try:
        start = next(response.iter_content(_EXCERPT), b"")
    except NETWORK_ERRORS:
        return ""
    text = " ".join(start.decode("utf-8", "replace").split())
    return "".join(character for character in text if character.isprintable())


class Client:
    """The HTTP client: one for each step, shared by its threads, closed at its end."""

    def __init__(self, settings: ClientSettings | None = None) -> None:
        self.settings = settings = settings or ClientSettings()
        self._pause = _Pause()
        retry = _Retry(
            pause=self._pause,
            longest=settings.retry_after_max,
            total=settings.retries,
            redirect=0,
            allowed_methods=frozenset({"GET"}),
            status_forcelist=_RETRIED,
            backoff_factor=settings.backoff,
            backoff_max=settings.backoff_max,
            backoff_jitter=settings.jitter,
            raise_on_status=False,
        )
        self._session = _Session()
        adapter = _Adapter(
            self._pause,
            per_second=settings.rate_per_second,
            max_retries=retry,
            pool_maxsize=settings.workers,
        )
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)
        self._session.auth = _no_credentials
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.headers.update(
            {"User-Agent": settings.user_agent, "Accept": "*/*", "Accept-Encoding": "identity"}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and stop the rate limiter's thread."""
        self._session.close()

    def stop(self) -> None:
        """End waits at once and downloads of other threads at their next bytes."""
        self._pause.stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._pause.stopped.is_set()

    def back_off(self, failures: int) -> None:
        """Wait before another attempt, after that many failed ones."""
        wait = min(self.settings.backoff * 2.0 ** (failures - 1), self.settings.backoff_max)
        jitter = random.uniform(0, self.settings.jitter)  # noqa: S311 (spreads load, no secret)
        self._pause.stopped.wait(wait + jitter)

    def open(self, url: str, headers: dict[str, str] | None = None) -> requests.Response:
        """Ask for a URL, follow redirects, and return the answer with its body unread.

        Returns
        -------
        An answer with the status 200, 206 or 416. The caller closes it.

        Raises
        ------
        HostError
            The host cannot be reached, blocks this location or finds the client too fast.
        StatusError
            Any other status, after the retries.
        SourceError
            The URL or a redirect leaves http and https (or falls back from https
            to http), or no answer came.
        """
        target = url
        layout.split(url)
        for _ in range(self.settings.max_redirects + 1):
            response = self._ask(url, target, headers or {})
            location = response.headers.get("Location")
            if response.status_code not in _REDIRECTS or not location:
                if response.status_code not in (200, 206, 416):
                    self._refuse(url, response)
                return response
            response.close()
            target = _redirected(url, target, location)
        raise SourceError(
            f"more than {self.settings.max_redirects} redirects",
            where=url,
            remedy="look at the URL in a browser: the file may have moved",
        )

    def _ask(self, url: str, target: str, headers: dict[str, str]) -> requests.Response:
        if self.stopped:
            raise SourceError("the run was stopped", where=url, remedy="run again")
        try:
            return self._session.get(
                target,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(self.settings.connect_timeout, self.settings.read_timeout),
            )
        except NETWORK_ERRORS as error:
            if any(isinstance(cause, _BEFORE_ANY_ANSWER) for cause in _causes(error)):
                raise HostError(
                    f"the host cannot be reached ({describe(error)})",
                    status=0,
                    where=url,
                    remedy="check the network, or use the origin mirror or generated instead",
                ) from error
            raise SourceError(
                f"no answer came ({describe(error)})",
                where=url,
                remedy="run again later; what came is kept",
            ) from error

    @staticmethod
    def _refuse(url: str, response: requests.Response) -> NoReturn:
        """Turn an answer that brings no file into an error."""
        status = response.status_code
        excerpt = _excerpt(response)
        response.close()
        said = f"; the service says: {excerpt}" if excerpt else ""
        if status == 451:
            raise HostError(
                f"the service blocks this location (HTTP 451){said}",
                status=status,
                where=url,
                remedy="use another base URL or another origin; public archives and the origin "
                "mirror are often open where interfaces are blocked",
            )
        if status in _TOO_FAST:
            after = response.headers.get("Retry-After")
            wait = f", which asks for a pause of {after} s" if after else ""
            raise HostError(
                f"this client is too fast for the service (HTTP {status}{wait}){said}",
                status=status,
                where=url,
                remedy="wait that long, lower rate_per_second and run again; what came is kept",
            )
        remedy = {
            400: "check the URL: the service does not understand it",
            403: "check the URL: many stores answer 403 for files that do not exist",
            404: "check the URL and the window: the file may not exist yet",
        }.get(status, "run again later; what came is kept")
        raise StatusError(f"HTTP {status}{said}", status=status, where=url, remedy=remedy)


def _redirected(url: str, source: str, location: str) -> str:
    """Target of a redirect from ``source``; SourceError when it is not to be followed."""
    try:
        target = urljoin(source, location).partition("#")[0]
        scheme = layout.split(target).scheme
        why = "" if scheme == "https" or source.startswith("http:") else "https falls back to http"
    except ValueError:
        why = "it is not a URL"
    except SourceError as error:
        why = error.what
    if why:
        raise SourceError(
            f"it redirects to {location!r}, which is not followed: {why}",
            where=url,
            remedy="find where the file lies now and correct its URL",
        )
    return target

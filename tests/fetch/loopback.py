"""A real HTTP server on loopback whose answers, good and bad, are scripted by path."""

from __future__ import annotations

import hashlib
import io
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from remeasure.fetch.settings import ClientSettings

#: As patient as a test can afford.
FAST = ClientSettings(
    connect_timeout=2.0,
    read_timeout=0.8,
    file_timeout=10.0,
    retries=2,
    backoff=0.01,
    backoff_max=0.02,
    jitter=0.01,
    retry_after_max=2,
    rate_per_second=2000.0,
    max_bytes=1 << 24,
)


def zipped(member: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(member), data, method)
    return buffer.getvalue()


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Exchange(BaseHTTPRequestHandler):
    """One connection; the script writes status, headers and body with the helpers below."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        path, count = self.path, self.server.site.count(self.path, dict(self.headers))
        script = self.server.site.scripts.get(path)
        try:
            if script is None:
                self.answer(404, b"no such key")
            else:
                script(self, count)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            self.server.site.leave()

    def answer(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole answer with its length."""
        self.head(status, {"Content-Length": str(len(body)), **(headers or {})})
        self.body(body)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def body(self, data: bytes) -> None:
        self.server.site.sent[self.path] += len(data)  # first: the client may be done sooner
        self.wfile.write(data)
        self.wfile.flush()

    def hang_up(self) -> None:
        """Close the connection after this answer, however long it claimed to be."""
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    site: Site

    def handle_error(self, request: object, client_address: object) -> None:
        pass


Script = Callable[[Exchange, int], None]


@dataclass
class Site:
    """What the server serves, and what it was asked.

    ``scripts`` by path; each is called with the exchange and how often the
    path was asked before. By path too: ``asked`` counts requests, ``headers``
    keeps theirs, ``times`` when they came (monotonic seconds), ``sent`` counts
    body bytes. ``peak`` is the most requests that were in flight at once.
    """

    base: str
    scripts: dict[str, Script] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    headers: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    times: dict[str, list[float]] = field(default_factory=dict)
    sent: Counter[str] = field(default_factory=Counter)
    peak: int = 0
    _inside: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, path: str, headers: dict[str, str]) -> int:
        with self._lock:
            self.asked[path] += 1
            self.headers.setdefault(path, []).append(headers)
            self.times.setdefault(path, []).append(time.monotonic())
            self._inside += 1
            self.peak = max(self.peak, self._inside)
            return self.asked[path] - 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1

    @property
    def requests(self) -> int:
        """All requests so far."""
        return sum(self.asked.values())

    def forget(self) -> None:
        """Count from zero again."""
        self.asked.clear()
        self.headers.clear()
        self.times.clear()
        self.sent.clear()
        self.peak = 0

    def url(self, path: str) -> str:
        return self.base + path

    def serve(self, path: str, body: bytes, *, etag: str = "", ranges: bool = False) -> str:
        """Serve these bytes, with Range and If-Range where ``ranges``; returns the URL."""

        def script(exchange: Exchange, count: int) -> None:
            send(exchange, body, etag=etag, ranges=ranges)

        self.scripts[path] = script
        return self.url(path)

    def checksum(self, path: str, body: bytes) -> str:
        """Serve the checksum file that promises these bytes for ``path``; returns its URL."""
        line = f"{sha256(body)}  {path.rpartition('/')[2]}\n"
        return self.serve(path + ".CHECKSUM", line.encode())


def send(
    exchange: Exchange,
    body: bytes,
    *,
    etag: str = "",
    ranges: bool = False,
    stop_after: int | None = None,
) -> None:
    """A static file as a good server sends it; ``stop_after`` hangs up after so many bytes."""
    asked = exchange.headers.get("Range", "")
    same = exchange.headers.get("If-Range", etag) == etag
    first = int(asked.removeprefix("bytes=").rstrip("-")) if asked and ranges and same else 0
    headers = {"Content-Length": str(len(body) - first)}
    if etag:
        headers["ETag"] = etag
    if first >= len(body) > 0:
        exchange.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
        return
    if first:
        headers["Content-Range"] = f"bytes {first}-{len(body) - 1}/{len(body)}"
    exchange.head(206 if first else 200, headers)
    rest = body[first:]
    exchange.body(rest if stop_after is None else rest[:stop_after])
    if stop_after is not None and stop_after < len(rest):
        exchange.hang_up()


def start() -> tuple[Server, Site]:
    """A running server and its site; the caller shuts it down."""
    server = Server(("127.0.0.1", 0), Exchange)
    server.site = Site(f"http://127.0.0.1:{server.server_address[1]}")
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    return server, server.site

"""The services on loopback, with every quirk that the study's card lists, switched on at will."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from remeasure.studies.polymarket.addresses import Hosts

Answer = tuple[int, Any]


@dataclass
class Service:
    """Data and quirks; ``asked`` counts requests by path and query.

    Attributes
    ----------
    events
        Of the listing, in its order.
    page
        Rows that a page has at most, whatever the limit asked for.
    cursor_name
        The parameter that the service listens to.
    trades
        Newest first.
    trades_page, offset_cap
        Largest page and offset of trades; beyond the offset HTTP 400, or, where
        ``repeats``, the last page again.
    ignores_window
        Whether ``start`` and ``end`` of trades mean nothing.
    histories
        Points by token; with ``interval=max`` only for a fidelity of 720.
    no_hourly
        Tokens whose fine series are gone.
    coarse
        Points by token of the three-hour series; null for any other token.
    once
        Answers that come first for a path and query, one each time.
    """

    events: list[dict[str, Any]] = field(default_factory=list)
    page: int = 500
    cursor_name: str = "after_cursor"
    trades: list[dict[str, Any]] = field(default_factory=list)
    trades_page: int = 10_000
    offset_cap: int = 10_000
    repeats: bool = False
    ignores_window: bool = False
    histories: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    no_hourly: set[str] = field(default_factory=set)
    coarse: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    once: dict[str, list[Answer]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    base: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def hosts(self) -> Hosts:
        """All services at this one address."""
        return Hosts(**dict.fromkeys(Hosts.model_fields, self.base))

    def answer(self, target: str) -> Answer:
        with self._lock:
            self.asked[target] += 1
            if self.once.get(target):
                return self.once[target].pop(0)
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        match parts.path:
            case "/events/keyset":
                return self._events(query)
            case "/trades":
                return self._trades(query)
            case "/prices-history":
                return self._prices(query)
            case "/v2/prices-history":
                return self._coarse(query)
        return 404, {"error": "no such path"}

    def _events(self, query: dict[str, str]) -> Answer:
        low, high = float(query.get("volume_min", 0)), float(query.get("volume_max", "inf"))
        # Without closed=true resolved events are invisible.
        closed = query.get("closed", "false") == "true"
        found = [
            each
            for each in self.events
            if each["closed"] == closed and low <= each["volume"] <= high
        ]
        first = int(query.get(self.cursor_name, "0"))
        size = min(int(query.get("limit", "20")), self.page)
        body: dict[str, Any] = {"events": found[first : first + size]}
        if first + size < len(found):
            body["next_cursor"] = str(first + size)
        return 200, body

    def _trades(self, query: dict[str, str]) -> Answer:
        offset, limit = int(query["offset"]), min(int(query["limit"]), self.trades_page)
        if offset > self.offset_cap:
            if not self.repeats:
                message = f"max historical trades offset of {self.offset_cap} exceeded"
                return 400, {"error": message}
            offset = self.offset_cap
        start, end = int(query.get("start", 0)), int(query.get("end", 1 << 40))
        found = [
            each
            for each in self.trades
            if query.get("market", each["conditionId"]) == each["conditionId"]
            and (self.ignores_window or start <= each["timestamp"] <= end)
            and query.get("side", each["side"]) == each["side"]
        ]
        return 200, found[offset : offset + limit]

    def _prices(self, query: dict[str, str]) -> Answer:
        points = self.histories.get(query["market"], [])
        if "startTs" in query:
            if query["market"] in self.no_hourly:
                return 200, {"history": []}
            start, end = int(query["startTs"]), int(query["endTs"])
            if end - start > 1_296_000:
                text = "invalid filters: 'startTs' and 'endTs' interval is too long"
                return 400, {"error": text}
            # A last point stamped with the moment of the request may lie beyond the window.
            return 200, {"history": [each for each in points if each["t"] >= start]}
        return 200, {"history": points if query.get("fidelity") == "720" else []}

    def _coarse(self, query: dict[str, str]) -> Answer:
        start, end = int(query["start"]), int(query["end"])
        if end - start > 1_296_000 or query.get("bucket_seconds") != "10800":
            return 400, {"error": "bad window"}
        points = self.coarse.get(query["token_id"])
        found = None
        if points is not None:
            found = [
                {"timestamp": each["t"], "price": each["p"], "resolution_seconds": 10_800}
                for each in points
                if start <= each["t"] < end
            ]
        return 200, {"data": found, "pagination": {"has_more": False, "next_cursor": None}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        status, body = self.server.service.answer(self.path)  # type: ignore[attr-defined]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    """The service while it runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.service = service  # type: ignore[attr-defined]
    service.base = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()


def event(number: int, *, volume: float = 5000.0, closed: bool = True) -> dict[str, Any]:
    """A plain event of one market."""
    return {
        "id": str(number),
        "slug": f"event-{number}",
        "title": f"Event {number}",
        "closed": closed,
        "closedTime": "2026-06-04T00:34:19Z",
        "volume": volume,
        "tags": [{"id": "2", "label": "Politics", "slug": "politics"}],
        "markets": [market(number, closed=closed)],
    }


def market(number: int, **changes: Any) -> dict[str, Any]:
    """A plain Yes/No market that the second outcome won."""
    return {
        "id": str(number),
        "conditionId": f"0x{number:064x}",
        "question": f"Will thing {number} happen?",
        "slug": f"thing-{number}",
        "outcomes": '["Yes", "No"]',
        "outcomePrices": '["0", "1"]',
        "clobTokenIds": f'["{10**76 + number}", "{2 * 10**76 + number}"]',
        "volume": "5000.5",
        "volumeNum": 5000.5,
        "closed": True,
        "closedTime": "2026-06-04 00:34:19+00",
        "startDate": "2026-05-04T00:34:19.5Z",
        "createdAt": "2026-05-05T00:00:00Z",
        **changes,
    }


def trade(
    at: int, *, size: float = 10.0, price: float = 0.5, side: str = "BUY", market: int = 1
) -> dict[str, Any]:
    """A fill."""
    return {
        "proxyWallet": "0x1",
        "side": side,
        "asset": "1",
        "conditionId": f"0x{market:064x}",
        "size": size,
        "price": price,
        "timestamp": at,
        "transactionHash": f"0x{at}",
    }

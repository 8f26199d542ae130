"""Forty files from a server that does everything a server can do wrong.

Every good file must arrive exact, every bad one be refused by name and kept in
quarantine, and a second run must ask for nothing that has arrived.
"""

from __future__ import annotations

import io
import json
import random
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from fetch.loopback import FAST, Exchange, Script, Site, send, sha256, zipped
from remeasure.fetch import layout
from remeasure.fetch.archive import ZipLimits, zip_check
from remeasure.fetch.cache import Cache, FetchError
from remeasure.fetch.raw import Sidecar, Wanted

LIMITS = ZipLimits(max_bytes=1 << 22, max_ratio=50.0, free_bytes=1 << 16)


def content(number: int) -> bytes:
    """Bytes that do not pack well, different for each file."""
    return random.Random(number).randbytes(3000 + 17 * number)


def flaky(body: bytes, status: int, times: int, headers: dict[str, str]) -> Script:
    """So many answers with a bad status, then the file."""

    def script(exchange: Exchange, count: int) -> None:
        if count < times:
            exchange.answer(status, b"not now", headers)
        else:
            send(exchange, body)

    return script


def stalling(body: bytes, times: int) -> Script:
    """So many answers that stop in the middle without hanging up, then the file."""

    def script(exchange: Exchange, count: int) -> None:
        if count >= times:
            send(exchange, body)
            return
        exchange.head(200, {"Content-Length": str(len(body))})
        exchange.body(body[:1000])
        time.sleep(3 * FAST.read_timeout)
        exchange.hang_up()

    return script


def truncated(body: bytes, times: int, etag: str = "", ranges: bool = False) -> Script:
    """So many answers that end too early, then the file."""

    def script(exchange: Exchange, count: int) -> None:
        stop = len(body) // 2 if count < times else None
        send(exchange, body, etag=etag, ranges=ranges, stop_after=stop)

    return script


def redirect(target: str) -> Script:
    def script(exchange: Exchange, count: int) -> None:
        exchange.answer(302, b"over there", {"Location": target})

    return script


def escaping(member: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("../" + member), data)
    return buffer.getvalue()


class Service:
    """The server of the test: forty files, of which some will never be good."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.wanted: list[Wanted] = []
        self.good: dict[str, bytes] = {}
        self.bad: dict[str, tuple[str, bytes | None]] = {}

    def add(
        self, name: str, body: bytes, script: Script | None = None, *, member: str = ""
    ) -> Wanted:
        """One file that is promised by a checksum file."""
        path = f"/data/{name}"
        if script is None:
            self.site.serve(path, body)
        else:
            self.site.scripts[path] = script
        check = zip_check(member, LIMITS) if member else None
        each = Wanted(self.site.url(path), checksum_url=self.site.checksum(path, body), check=check)
        self.wanted.append(each)
        return each

    def expect(self, each: Wanted, body: bytes) -> None:
        self.good[each.path] = body

    def refuse(self, each: Wanted, reason: str, kept: bytes | None) -> None:
        self.bad[each.path] = (reason, kept)


def build(site: Site) -> Service:
    service = Service(site)
    for number in range(26):
        member = f"file-{number:02}.csv"
        body = zipped(member, content(number))
        service.expect(service.add(f"file-{number:02}.zip", body, member=member), body)
    mended: dict[str, Callable[[bytes], Script]] = {
        "429": lambda body: flaky(body, 429, 1, {"Retry-After": "1"}),
        "418": lambda body: flaky(body, 418, 1, {}),
        "500": lambda body: flaky(body, 500, 2, {}),
        "503": lambda body: flaky(body, 503, 1, {}),
        "truncated-once": lambda body: truncated(body, 1),
        "truncated-range": lambda body: truncated(body, 1, '"v1"', ranges=True),
        "stalled-once": lambda body: stalling(body, 1),
    }
    for number, (name, script) in enumerate(mended.items(), start=100):
        member, body = f"{name}.csv", zipped(f"{name}.csv", content(number))
        service.expect(service.add(f"{name}.zip", body, script(body), member=member), body)
    moved = zipped("moved.csv", content(200))
    site.serve("/elsewhere/final", moved)
    each = service.add("moved.zip", moved, redirect("/elsewhere/final?signature=secret"))
    site.scripts["/elsewhere/final?signature=secret"] = site.scripts["/elsewhere/final"]
    service.expect(each, moved)

    body = zipped("x.csv", content(300))
    half = body[: len(body) // 2]
    service.refuse(service.add("short.zip", body, truncated(body, 99)), "not whole", half)
    service.refuse(service.add("stalled.zip", body, stalling(body, 99)), "not whole", body[:1000])
    wrong = service.add("wrong.zip", body)
    site.checksum("/data/wrong.zip", b"something else")
    service.refuse(wrong, "instead of the promised", body)
    slipped = escaping("slipped.csv", content(301))
    service.refuse(
        service.add("slipped.zip", slipped, member="slipped.csv"), "would escape", slipped
    )
    bomb = zipped("bomb.csv", bytes(2 << 20))
    service.refuse(service.add("bomb.zip", bomb, member="bomb.csv"), "zip bomb", bomb)
    leaving = service.add("leaving.zip", body, redirect("ftp://127.0.0.1/x.zip"))
    service.refuse(leaving, "'ftp', which is not http or https", None)
    assert len(service.wanted) == 40
    return service


def test_forty_files_from_a_hostile_server(site: Site, tmp_path: Path) -> None:
    service = build(site)
    cache = Cache(tmp_path / "public", settings=FAST)

    # A file fetched earlier that the service has replaced since.
    replaced = service.wanted[3]
    old = zipped("file-03.csv", b"the old rows")
    new = service.good[replaced.path]
    site.serve("/data/file-03.zip", old)
    site.checksum("/data/file-03.zip", old)
    assert cache.fetch([replaced])[0].sha256 == sha256(old)
    site.serve("/data/file-03.zip", new)
    site.checksum("/data/file-03.zip", new)
    (cache.root / layout.url_to_path(replaced.checksum_url)).unlink()

    with pytest.raises(FetchError) as caught:
        cache.fetch(service.wanted)

    # Every bad file is named with its reason, and no good one.
    named = {layout.url_to_path(failure.url): failure.error for failure in caught.value.failures}
    assert named.keys() == service.bad.keys()
    message = str(caught.value)
    assert "6 of 40 files could not be fetched" in message
    for path, (reason, kept) in service.bad.items():
        assert reason in named[path].what
        assert str(named[path].where) in message
        assert reason in message
        assert not (cache.root / path).exists()
        aside = tmp_path / "quarantine" / path
        if kept is None:  # nothing was received
            assert not aside.exists()
            continue
        assert aside.read_bytes() == kept
        note = aside.with_name(aside.name + ".reason.txt").read_text()
        assert reason in note
        assert str(named[path].where) in note

    # Every good file is exact, with its record, and nothing half-done lies about.
    for path, body in service.good.items():
        assert (cache.root / path).read_bytes() == body
        record = Sidecar.read(cache.root / path)
        assert record is not None
        assert (record.size, record.sha256, record.status) == (len(body), sha256(body), 200)
    assert not list(cache.root.rglob("*%part*"))

    # The redirect is recorded without its query.
    moved = next(path for path in service.good if path.endswith("moved.zip"))
    record = Sidecar.read(cache.root / moved)
    assert record is not None
    assert record.url == site.url("/data/moved.zip")
    assert record.final_url == site.url("/elsewhere/final")

    # The old version of the replaced file is kept, record and reason with it.
    aside = tmp_path / "quarantine" / "replaced" / sha256(old)[:16] / replaced.path
    assert aside.read_bytes() == old
    assert json.loads(layout.sidecar(aside).read_text())["sha256"] == sha256(old)
    assert sha256(new) in aside.with_name(aside.name + ".reason.txt").read_text()

    # Back-off: the second try after a 429 came no sooner than it asked for.
    first, second = site.times["/data/429.zip"]
    assert second - first >= 1.0
    assert site.asked["/data/500.zip"] == 3

    # A second run asks for nothing that has arrived ...
    site.forget()
    good = [each for each in service.wanted if each.path in service.good]
    entries = cache.fetch(good)
    assert site.requests == 0
    assert [entry.path for entry in entries] == [each.path for each in good]
    assert [entry.sha256 for entry in entries] == [sha256(service.good[e.path]) for e in good]
    # ... and, asked for all, only for the bad ones and the promise that one of them broke.
    site.scripts = {path: site.scripts[path] for path in site.scripts if "stalled" not in path}
    with pytest.raises(FetchError):
        cache.fetch(service.wanted)
    asked = {f"/data/{path.rpartition('/')[2]}" for path in service.bad}
    assert set(site.asked) == asked | {"/data/wrong.zip.CHECKSUM"}


def test_results_do_not_depend_on_the_order_of_arrival(site: Site, tmp_path: Path) -> None:
    """Random delays in the server; at most as many files in flight as workers."""
    wanted = []
    for number in range(24):
        body = content(number)

        def script(
            exchange: Exchange, count: int, body: bytes = body, number: int = number
        ) -> None:
            time.sleep(random.Random(number).uniform(0.0, 0.03))
            send(exchange, body)

        site.scripts[f"/{number}"] = script
        wanted.append(Wanted(site.url(f"/{number}")))
    first = Cache(tmp_path / "a" / "public", settings=FAST).fetch(wanted)
    assert 1 < site.peak <= FAST.workers
    one = FAST.model_copy(update={"workers": 1})
    site.forget()
    assert Cache(tmp_path / "b" / "public", settings=one).fetch(wanted) == first
    assert site.peak == 1
    assert [entry.sha256 for entry in first] == [sha256(content(number)) for number in range(24)]

"""Downloads that break off: continued where that is safe, restarted where it is not."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import remeasure
from fetch.loopback import FAST, Exchange, Site, send, sha256
from remeasure.errors import SourceError
from remeasure.fetch.cache import Cache, FetchError
from remeasure.fetch.client import Client
from remeasure.fetch.raw import Wanted
from remeasure.fetch.transfer import BadBody, receive

BODY = random.Random(1).randbytes(5 << 20)
CUT = 2 << 20
ONCE = FAST.model_copy(update={"retries": 0})


def test_an_interrupted_file_resumes_in_a_later_run(site: Site, tmp_path: Path) -> None:
    """The first run ends after 2 MiB; the second asks for the rest, and only for the rest."""

    def script(exchange: Exchange, count: int) -> None:
        send(exchange, BODY, etag='"v1"', ranges=True, stop_after=None if count else CUT)

    site.scripts["/big"] = script
    wanted = [Wanted(site.url("/big"), sha256=sha256(BODY), size=len(BODY))]
    with pytest.raises(FetchError, match=f"it continues after the {CUT:,} bytes"):
        Cache(tmp_path / "public", settings=ONCE).fetch(wanted)
    (entry,) = Cache(tmp_path / "public", settings=ONCE).fetch(wanted)
    first, second = site.headers["/big"]
    assert "Range" not in first
    assert second["Range"] == f"bytes={CUT}-"
    assert second["If-Range"] == '"v1"'
    assert site.sent["/big"] == len(BODY)  # not one byte twice
    assert (tmp_path / "public" / entry.path).read_bytes() == BODY
    assert entry.sha256 == sha256(BODY)


@pytest.mark.parametrize("cuts", [[1], [70_000, 70_001], [100, 200_000, 3_000_000]])
def test_progress_does_not_use_up_the_retries(site: Site, tmp_path: Path, cuts: list[int]) -> None:
    """A server that hangs up again and again is continued as long as it gets further."""

    def script(exchange: Exchange, count: int) -> None:
        asked = exchange.headers.get("Range", "bytes=0-")
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        stop = cuts[count] - start if count < len(cuts) else None
        send(exchange, BODY, etag='"v1"', ranges=True, stop_after=stop)

    site.scripts["/big"] = script
    one_retry = FAST.model_copy(update={"retries": 1})
    with Client(one_retry) as client:
        received = receive(client, site.url("/big"), tmp_path / "big%part")
    assert (received.size, received.sha256) == (len(BODY), sha256(BODY))
    assert received.transferred == site.sent["/big"] == len(BODY)
    assert [head.get("Range") for head in site.headers["/big"][1:]] == [
        f"bytes={cut}-" for cut in cuts
    ]


def test_a_killed_process_leaves_a_download_that_the_next_one_continues(
    site: Site, tmp_path: Path
) -> None:
    def script(exchange: Exchange, count: int) -> None:
        if count:
            send(exchange, BODY, etag='"v1"', ranges=True)
            return
        exchange.head(200, {"Content-Length": str(len(BODY)), "ETag": '"v1"'})
        exchange.body(BODY[:CUT])
        time.sleep(20)

    site.scripts["/big"] = script
    code = (
        "import sys; from pathlib import Path; from remeasure.fetch.cache import Cache;"
        "from remeasure.fetch.raw import Wanted;"
        "Cache(Path(sys.argv[1])).fetch([Wanted(sys.argv[2])])"
    )
    workflow = str(Path(remeasure.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "public"), site.url("/big")],
        env={"PYTHONPATH": workflow, "NO_PROXY": "127.0.0.1", "PATH": ""},
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        parts = list(tmp_path.rglob("big%part"))
        if parts and parts[0].stat().st_size == CUT:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list(tmp_path.rglob("big"))  # nothing half-done under the real name
    (entry,) = Cache(tmp_path / "public", settings=FAST).fetch([Wanted(site.url("/big"))])
    assert site.headers["/big"][1]["Range"] == f"bytes={CUT}-"
    assert site.sent["/big"] == len(BODY)
    assert entry.sha256 == sha256(BODY)


def test_a_file_replaced_between_two_runs_starts_again(site: Site, tmp_path: Path) -> None:
    """If-Range fails, so the server sends the new file whole; no mixture may remain."""
    new = random.Random(2).randbytes(len(BODY) - 1)

    def script(exchange: Exchange, count: int) -> None:
        if count == 0:
            send(exchange, BODY, etag='"v1"', ranges=True, stop_after=CUT)
        else:
            send(exchange, new, etag='"v2"', ranges=True)

    site.scripts["/big"] = script
    with Client(FAST) as client:
        received = receive(client, site.url("/big"), tmp_path / "big%part")
    assert received.sha256 == sha256(new)
    assert received.etag == '"v2"'
    assert received.transferred == CUT + len(new)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Range": f"bytes 0-{len(BODY) - 1}/{len(BODY)}", "ETag": '"v1"'},
        {"Content-Range": f"bytes {CUT}-{len(BODY)}/{len(BODY) + 1}", "ETag": '"v1"'},
        {"Content-Range": f"bytes {CUT}-{len(BODY) - 1}/{len(BODY)}", "ETag": '"v2"'},
        {"ETag": '"v1"'},
    ],
    ids=["from the start", "another length", "another file", "no range"],
)
def test_a_server_that_continues_something_else_is_not_believed(
    site: Site, tmp_path: Path, headers: dict[str, str]
) -> None:
    def script(exchange: Exchange, count: int) -> None:
        if count == 1:
            exchange.answer(206, BODY[CUT:], headers)
        else:
            send(exchange, BODY, etag='"v1"', ranges=True, stop_after=None if count else CUT)

    site.scripts["/big"] = script
    with Client(FAST) as client:
        received = receive(client, site.url("/big"), tmp_path / "big%part")
    assert received.sha256 == sha256(BODY)
    assert "Range" not in site.headers["/big"][2]


@pytest.mark.parametrize("retries", [1, 2, 3])
def test_a_server_without_ranges_that_cuts_every_answer_is_given_up(
    site: Site, tmp_path: Path, retries: int
) -> None:
    """It has an ETag but ignores Range: no endless loop, and the body counts as bad."""
    site.scripts["/big"] = lambda exchange, count: send(
        exchange, BODY[:9000], etag='"v1"', stop_after=4000
    )
    patient = FAST.model_copy(update={"retries": retries})
    with Client(patient) as client, pytest.raises(BadBody, match="not whole"):
        receive(client, site.url("/big"), tmp_path / "big%part")
    assert site.asked["/big"] == retries + 1
    assert (tmp_path / "big%part").read_bytes() == BODY[:4000]


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "found while reading"])
def test_a_body_above_the_limit_is_refused(site: Site, tmp_path: Path, declared: bool) -> None:
    def script(exchange: Exchange, count: int) -> None:
        if declared:
            exchange.head(200, {"Content-Length": str(1 << 40)})
            exchange.body(b"x" * 100)
        else:
            exchange.head(200, {"Connection": "close"})
            exchange.body(b"x" * 300_000)
        exchange.hang_up()

    site.scripts["/huge"] = script
    with Client(FAST) as client, pytest.raises(BadBody, match="limit"):
        receive(client, site.url("/huge"), tmp_path / "huge%part", max_bytes=100_000)
    assert (tmp_path / "huge%part").stat().st_size <= 100_000
    assert site.asked["/huge"] == 1  # asking again would not help


def test_an_encoding_nobody_asked_for_is_undone(site: Site, tmp_path: Path) -> None:
    import gzip

    plain = b"value\n" * 1000
    site.scripts["/z"] = lambda exchange, count: exchange.answer(
        200, gzip.compress(plain), {"Content-Encoding": "gzip", "ETag": '"v1"'}
    )
    with Client(FAST) as client:
        received = receive(client, site.url("/z"), tmp_path / "z%part")
    assert site.headers["/z"][0]["Accept-Encoding"] == "identity"
    assert (received.size, received.sha256) == (len(plain), sha256(plain))


def test_a_trickle_ends_at_the_deadline(site: Site, tmp_path: Path) -> None:
    """Each byte comes in time, but the file never ends."""

    def script(exchange: Exchange, count: int) -> None:
        exchange.head(200, {"Content-Length": "1000000"})
        for _ in range(100):
            exchange.body(b"x")
            time.sleep(0.02)

    site.scripts["/slow"] = script
    hurried = FAST.model_copy(update={"file_timeout": 0.3})
    start = time.monotonic()
    with Client(hurried) as client, pytest.raises(SourceError, match=r"more than 0\.3 s"):
        receive(client, site.url("/slow"), tmp_path / "slow%part")
    assert time.monotonic() - start < 1.5

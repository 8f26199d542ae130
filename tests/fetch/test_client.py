"""The HTTP client: polite, without credentials, and clear when it is refused."""

from __future__ import annotations

import time
from email.utils import formatdate
from pathlib import Path

import pytest

from fetch.loopback import FAST, Exchange, Site, send
from remeasure.errors import SourceError
from remeasure.fetch.cache import Cache, FetchError, NotTried
from remeasure.fetch.client import Client, HostError, StatusError, _redirected
from remeasure.fetch.raw import Wanted
from remeasure.fetch.settings import ClientSettings


def status(site: Site, path: str, code: int, headers: dict[str, str] | None = None) -> str:
    """A path that is always answered with this status (and a body where one may follow it)."""
    body = b"" if code == 204 else b'{"code": -1, "msg": "words\x1b of the\\nservice"}'
    site.scripts[path] = lambda exchange, count: exchange.answer(code, body, headers)
    return site.url(path)


def test_a_blocked_location_stops_the_host_at_once(site: Site, tmp_path: Path) -> None:
    urls = [status(site, f"/api/{number}", 451) for number in range(40)]
    with pytest.raises(FetchError, match="blocks this location") as caught:
        Cache(tmp_path / "public", settings=FAST).fetch([Wanted(url) for url in urls])
    assert "words of the" in str(caught.value)
    assert "another base URL" in caught.value.remedy
    assert len(caught.value.failures) == 40
    untried = [each for each in caught.value.failures if isinstance(each.error, NotTried)]
    assert f"{len(untried)} further files of 127.0.0.1" in str(caught.value)
    assert site.requests == 40 - len(untried) <= 2 * FAST.workers


def test_one_bad_host_does_not_stop_another(site: Site, tmp_path: Path) -> None:
    good = site.serve("/good", b"good")
    dead = "http://127.0.0.1:9/x"  # the discard port: refused
    with pytest.raises(FetchError, match="cannot be reached") as caught:
        Cache(tmp_path / "public", settings=FAST).fetch([Wanted(dead), Wanted(good)])
    assert [each.url for each in caught.value.failures] == [dead]
    assert (tmp_path / "public" / Wanted(good).path).read_bytes() == b"good"


@pytest.mark.parametrize("code", [429, 418])
def test_too_fast_for_too_long_says_how_long_to_wait(site: Site, code: int) -> None:
    """A ban of days is not slept through."""
    url = status(site, "/x", code, {"Retry-After": "259200"})
    start = time.monotonic()
    with Client(FAST) as client, pytest.raises(HostError, match="pause of 259200 s") as caught:
        client.open(url)
    assert caught.value.status == code
    assert time.monotonic() - start < 1.0
    assert site.requests == 1


def test_retry_after_as_a_date(site: Site) -> None:
    def script(exchange: Exchange, count: int) -> None:
        if count:
            send(exchange, b"now")
        else:
            exchange.answer(503, b"", {"Retry-After": formatdate(time.time() + 2, usegmt=True)})

    site.scripts["/x"] = script
    with Client(FAST) as client:
        assert client.open(site.url("/x")).status_code == 200
    first, second = site.times["/x"]
    assert 0.9 < second - first < 3.0


def test_a_pause_holds_for_all_threads(site: Site, tmp_path: Path) -> None:
    """While one request waits for Retry-After, no other is sent."""

    def script(exchange: Exchange, count: int) -> None:
        if count:
            send(exchange, b"x")
        else:
            exchange.answer(429, b"", {"Retry-After": "1"})

    def slow(exchange: Exchange, count: int) -> None:
        time.sleep(0.05)
        send(exchange, b"y")

    site.scripts["/first"] = script
    for number in range(20):
        site.scripts[f"/{number}"] = slow
    urls = [site.url("/first"), *(site.url(f"/{number}") for number in range(20))]
    Cache(tmp_path / "public", settings=FAST).fetch([Wanted(url) for url in urls])
    start, again = site.times["/first"]
    assert again - start >= 1.0
    others = [when for path, times in site.times.items() if path != "/first" for when in times]
    # Those in flight when the answer came, but none after it.
    assert not [when for when in others if start + 0.5 < when < start + 0.95]


def test_statuses_that_bring_no_file(site: Site) -> None:
    with Client(FAST) as client:
        for code in (204, 400, 403, 404, 410):
            with pytest.raises(StatusError, match=f"HTTP {code}") as caught:
                client.open(status(site, f"/{code}", code))
            assert caught.value.status == code
            assert caught.value.where == site.url(f"/{code}")
            assert site.asked[f"/{code}"] == 1
        for code in (408, 500, 502, 503, 504):
            with pytest.raises(StatusError, match=f"HTTP {code}"):
                client.open(status(site, f"/{code}", code))
            assert site.asked[f"/{code}"] == FAST.retries + 1


def test_no_credential_is_sent_and_no_cookie_kept(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password word\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    def script(exchange: Exchange, count: int) -> None:
        headers = {"Set-Cookie": "id=1; Path=/", "Location": "/there"}
        exchange.answer(302 if exchange.path == "/here" else 200, b"", headers)

    site.scripts["/here"] = site.scripts["/there"] = script
    with Client(FAST) as client:
        for _ in range(2):
            client.open(site.url("/here")).close()
    for head in [*site.headers["/here"], *site.headers["/there"]]:
        assert "Authorization" not in head
        assert "Cookie" not in head
        assert head["User-Agent"].startswith("remeasure/")


def test_redirects(site: Site) -> None:
    site.serve("/end", b"here")
    answers = (
        (301, "/end"),
        (302, site.url("/end")),
        (303, "end"),
        (307, site.url("/end").removeprefix("http:")),
        (308, "/end#part"),
    )
    for number, (code, location) in enumerate(answers):
        url = status(site, f"/{number}", code, {"Location": location})
        with Client(FAST) as client:
            assert client.open(url).url == site.url("/end")

    def endless(exchange: Exchange, count: int) -> None:
        exchange.head(302, {"Location": "/end", "Content-Length": str(1 << 40)})
        time.sleep(2 * FAST.read_timeout)
        exchange.hang_up()

    site.scripts["/endless"] = endless
    with Client(FAST) as client:  # the body of a redirect is never waited for
        assert client.open(site.url("/endless")).url == site.url("/end")
    assert site.asked["/endless"] == 1
    loop = status(site, "/loop", 302, {"Location": "/loop"})
    with Client(FAST) as client, pytest.raises(SourceError, match="more than 5 redirects"):
        client.open(loop)
    assert site.asked["/loop"] == 6


@pytest.mark.parametrize(
    "location",
    ["file:///etc/passwd", "ftp://h/a", "http://user:word@h/a", "javascript:alert(1)", "http://["],
)
def test_redirects_that_are_not_followed(site: Site, location: str) -> None:
    url = status(site, "/x", 302, {"Location": location})
    with (
        Client(FAST) as client,
        pytest.raises(SourceError, match="which is not followed") as caught,
    ):
        client.open(url)
    assert location in caught.value.what
    assert caught.value.where == url


def test_https_does_not_fall_back_to_http() -> None:
    with pytest.raises(SourceError, match="https falls back to http"):
        _redirected("https://h/a", "https://h/a", "http://h/a")
    assert _redirected("https://h/a", "https://h/a", "https://g/b?c=1") == "https://g/b?c=1"
    assert _redirected("http://h/a", "http://h/a", "https://h/a") == "https://h/a"


def test_the_rate_limit_holds_for_each_host(site: Site, tmp_path: Path) -> None:
    """At 20 a second, 30 requests: never more than 20 in any second."""
    urls = [site.serve(f"/{number}", b"x") for number in range(30)]
    polite = FAST.model_copy(update={"rate_per_second": 20.0})
    Cache(tmp_path / "public", settings=polite).fetch([Wanted(url) for url in urls])
    times = sorted(when for each in site.times.values() for when in each)
    for index in range(len(times) - 20):
        assert times[index + 20] - times[index] > 0.9


def test_settings_refuse_nonsense() -> None:
    for wrong in ({"retries": -1}, {"rate_per_second": 0}, {"workers": 17}, {"nonsense": 1}):
        with pytest.raises(ValueError, match="validation error"):
            ClientSettings.model_validate(wrong)

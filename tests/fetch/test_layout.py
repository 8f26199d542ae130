"""Places of URLs in the raw layout: inside it, as expected, and never shared."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.layout import host_folder, url_to_path

EXPECTED = {
    "https://data.binance.vision/data/spot/monthly/klines/BTCUSDT/1h/BTCUSDT-1h-2022-01.zip": (
        "data.binance.vision/data/spot/monthly/klines/BTCUSDT/1h/BTCUSDT-1h-2022-01.zip"
    ),
    "https://api.binance.com/api/v3/klines?symbol=BTCUSDT&limit=2": (
        "api.binance.com/api/v3/klines%Qsymbol=BTCUSDT&limit=2"
    ),
    "HTTPS://Data.Binance.Vision:443/a%7eb%2fc": "data.binance.vision/a~b%2Fc",
    "http://127.0.0.1:8080/a": "127.0.0.1+8080/a",
    "http://h": "h/%N",
    "http://h/": "h/%N",
    "http://h/a/": "h/a/%N",
    "http://h//a": "h/%N/a",
    "http://h/a.meta.json": "h/a%Mmeta.json",
    "http://h/50%": "h/50%25",
    "http://h/a+b?": "h/a+b",
    "http://h/a\\b": "h/a%5Cb",
    "http://h/é": "h/%C3%A9",
}


@pytest.mark.parametrize(("url", "place"), EXPECTED.items())
def test_places_by_hand(url: str, place: str) -> None:
    assert url_to_path(url) == place


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("file:///etc/passwd", "'file', which is not http or https"),
        ("ftp://h/a", "'ftp', which is not http or https"),
        ("data.binance.vision/a", "'', which is not http or https"),
        ("http://user:word@h/a", "credentials"),
        ("http://h/a#b", "fragment"),
        ("http://h/a#", "fragment"),
        ("http://h/../a", "dot segments"),
        ("http://h/a/%2e%2E/b", "dot segments"),
        ("http://h/./a", "dot segments"),
        ("http://../a", "no host"),
        ("http:///a", "no host"),
        ("http://a..b/c", "no host"),
        ("http://h\\..\\x/a", "no host"),
        ("http://[::1]/a", "no host"),
        ("http://h:0/a", "no host"),
        ("http://h:99999/a", "cannot be read"),
        ("http://h/a b", "white space"),
        ("http://h/a\n", "white space"),
        ("http://h/\x00", "white space"),
        ("http://h/\ud800", "cannot be read"),
        ("http://h/" + "a" * 5000, "longer than"),
    ],
)
def test_urls_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(SourceError, match="remedy: give a plain http") as caught:
        url_to_path(url)
    assert why in caught.value.what


# A small alphabet of everything that means something, so that near misses are common.
# fmt: off
PIECES = st.sampled_from([
    "a", "A", "%", "%2F", "%2f", "%41", "%Q", "%5", "/", "//", "?", "&", "=", "+", "~", "%7E", ".",
    "..", ".meta.json", "\\", "é", ":", "@", "%N", "%M", "%part", "%3F", "x" * 90,
])
# fmt: on
TAILS = st.lists(PIECES, max_size=7).map("".join)
URLS = st.builds(
    "{}://{}/{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h", "H", "h:80", "h:443", "g.h", "127.0.0.1:99"]),
    TAILS,
)


def place_of(url: str) -> str | None:
    try:
        return url_to_path(url)
    except SourceError:
        return None


@settings(max_examples=200, deadline=None)
@given(url=URLS)
def test_a_place_lies_inside_and_fits_a_file_system(url: str) -> None:
    place = place_of(url)
    if place is None:
        return
    assert place.isascii()
    pure = PurePosixPath(place)
    assert pure.as_posix() == place  # no '.', no empty part, no trailing slash
    assert not pure.is_absolute()
    assert ".." not in pure.parts
    assert "\\" not in place
    assert place.startswith(host_folder(url) + "/")
    for part in pure.parts:
        longest = max(len(layout.partial(Path(part)).name), len(layout.sidecar(Path(part)).name))
        assert len(part) <= longest <= 255 - len(".json")
    # No place is the sidecar, the partial file or the lock of another.
    assert not pure.name.endswith((".meta.json", "%part", "%part.json", "%lock"))
    assert url_to_path(url) == place


def meaning(url: str) -> tuple[str, ...]:
    """What a URL means, worked out without the code under test: bytes of each part.

    Two encodings of one character are the same only for the unreserved ones, so
    the reserved ones are told apart by a mark before decoding.
    """
    rest = url.partition("://")[2]
    host, _, tail = rest.partition("/")
    default = {"http": ":80", "https": ":443"}[url.partition(":")[0]]
    host = host.lower().removesuffix(default)
    path, _, query = tail.partition("?")

    def decode(text: str) -> str:
        out, index = "", 0
        while index < len(text):
            code = text[index + 1 : index + 3]
            if (
                text[index] == "%"
                and len(code) == 2
                and all(c in "0123456789abcdefABCDEF" for c in code)
            ):
                plain = unquote(f"%{code}", encoding="latin-1")
                out += (
                    plain
                    if (plain.isalnum() and plain.isascii()) or plain in "-._~"
                    else f"<{code.upper()}>"
                )
                index += 3
            else:
                # A character that may not stand in a URL means its own encoding.
                raw = text[index]
                odd = not raw.isascii() or raw in '%\\"<>^`{|}'
                out += "".join(f"<{b:02X}>" for b in raw.encode()) if odd else raw
                index += 1
        return out

    return (host, *(decode(part) for part in path.split("/")), "?", decode(query))


@settings(max_examples=200, deadline=None)
@given(tails=st.lists(TAILS, min_size=2, max_size=8), host=st.sampled_from(["h", "h:80", "H"]))
def test_two_urls_share_a_place_only_when_they_mean_the_same(tails: list[str], host: str) -> None:
    seen: dict[str, tuple[str, ...]] = {}
    for tail in tails:
        url = f"http://{host}/{tail}"
        place = place_of(url)
        if place is not None:
            assert seen.setdefault(place, meaning(url)) == meaning(url)


@settings(max_examples=200, deadline=None)
@given(tail=TAILS)
def test_one_meaning_has_one_place(tail: str) -> None:
    """Encoding an unreserved character, or writing hexadecimal digits small, changes nothing."""
    place = place_of(f"http://h/{tail}")
    again = tail.replace("%2F", "%2f").replace("~", "%7e").replace("x", "%78")
    if not re.search("%.?A", tail):  # there the A is a digit
        again = again.replace("A", "%41")
    if len(again) < 3000:
        assert place_of(f"http://H:80/{again}") == place


def test_long_names_and_queries_stay_apart() -> None:
    long = [f"http://h/{'n' * 300}{end}" for end in "ab"]
    long += [f"http://h/a?{'q' * 300}{end}" for end in "ab"]
    long += [
        "http://h/a?x=%2F",
        "http://h/a?x=/",
        "http://h/a?x=a",
        "http://h/a",
        "http://h/a%3Fx=a",
    ]
    places = {url_to_path(url) for url in long}
    assert len(places) == len(long)
    assert max(len(place) for place in places) <= layout.MAX_NAME + 70

"""The raw cache: what counts as present, offline runs, refreshing, quarantine, locks."""

from __future__ import annotations

import io
import json
import threading
import time
from pathlib import Path

import pytest

from fetch.loopback import FAST, Exchange, Site, send, sha256
from remeasure.errors import DataError, SourceError
from remeasure.fetch import layout
from remeasure.fetch.cache import Cache, FetchError
from remeasure.fetch.client import Client
from remeasure.fetch.raw import Sidecar, Wanted, check_distinct


def promised(site: Site, path: str, body: bytes) -> Wanted:
    return Wanted(site.serve(path, body), checksum_url=site.checksum(path, body))


def test_the_sidecar_says_what_arrived(site: Site, tmp_path: Path) -> None:
    url = site.serve("/a/b.csv", b"rows", etag='"v1"')
    (entry,) = Cache(tmp_path / "public", settings=FAST).fetch([Wanted(url)])
    file = tmp_path / "public" / entry.path
    record = json.loads(layout.sidecar(file).read_text())
    assert record.pop("retrieved").startswith("20")
    assert record == {
        "url": url,
        "final_url": url,
        "status": 200,
        "size": 4,
        "sha256": sha256(b"rows"),
        "etag": '"v1"',
    }


def test_offline_names_every_url_that_is_missing(site: Site, tmp_path: Path) -> None:
    """Seven files: two present, one edited, one without any proof, three absent."""
    root = tmp_path / "public"
    here = [promised(site, f"/here-{n}", bytes([n])) for n in range(2)]
    edited, bare = promised(site, "/edited", b"x"), Wanted(site.serve("/bare", b"y"))
    Cache(root, settings=FAST).fetch([*here, edited, bare])
    (root / edited.path).write_bytes(b"z")
    layout.sidecar(root / bare.path).unlink()
    absent = [promised(site, f"/absent-{n}", b"") for n in range(2)]
    known = Wanted(site.url("/known"), sha256="0" * 64, checksum_url=site.url("/known.CHECKSUM"))
    site.forget()
    with pytest.raises(
        FetchError, match="offline, and 5 of 7 files are not in the cache"
    ) as caught:
        Cache(root, offline=True, refresh=True).fetch(
            [*absent, here[0], edited, bare, known, here[1]]
        )
    missing = {each.url: each.error.what for each in caught.value.failures}
    assert missing == {
        **{url: "missing" for each in absent for url in (each.checksum_url, each.url)},
        edited.url: "damaged",
        bare.url: "unproven",
        known.url: "missing",  # its hash is known, so its checksum file is not needed
    }
    assert "these 7 URLs are missing" in str(caught.value)
    assert all(f"- {url} (" in str(caught.value) for url in missing)
    assert site.requests == 0
    assert Cache(root, offline=True).fetch(here)[1].sha256 == sha256(b"\x01")


def test_offline_needs_no_checksum_file_of_a_proven_file(site: Site, tmp_path: Path) -> None:
    each = promised(site, "/a", b"a")
    Cache(tmp_path / "public", settings=FAST).fetch([each])
    (tmp_path / "public" / layout.url_to_path(each.checksum_url)).unlink()
    assert Cache(tmp_path / "public", offline=True).fetch([each])


def test_a_mirror_copied_into_the_cache_counts_by_its_promise(site: Site, tmp_path: Path) -> None:
    """No sidecars, as in a folder from elsewhere: the checksum files prove the rest."""
    each, known = promised(site, "/a", b"a"), Wanted(site.url("/b"), sha256=sha256(b"b"))
    for path, body in (
        (each.path, b"a"),
        (each.path + ".CHECKSUM", f"{sha256(b'a')}  a\n".encode()),
        (known.path, b"b"),
    ):
        file = tmp_path / "public" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    Cache(tmp_path / "public", settings=FAST).fetch([each, known])
    assert site.requests == 0


@pytest.mark.parametrize("damage", ["edited", "cut", "no record", "bad record"])
def test_a_file_that_is_not_what_was_received_is_fetched_again(
    site: Site, tmp_path: Path, damage: str
) -> None:
    url = site.serve("/a", b"exact bytes")
    cache = Cache(tmp_path / "public", settings=FAST)
    (entry,) = cache.fetch([Wanted(url)])
    file = cache.root / entry.path
    if damage == "edited":
        file.write_bytes(b"exact bites")
    elif damage == "cut":
        file.write_bytes(b"exact")
    elif damage == "no record":
        layout.sidecar(file).unlink()
    else:
        layout.sidecar(file).write_text("{")
    assert cache.fetch([Wanted(url)]) == (entry,)
    assert file.read_bytes() == b"exact bytes"
    assert Sidecar.read(file) is not None
    assert site.asked["/a"] == 2
    aside = cache.quarantine / entry.path
    assert aside.exists() == (damage in ("edited", "cut"))


def test_refresh_finds_replaced_files_and_keeps_the_old_ones(site: Site, tmp_path: Path) -> None:
    root = tmp_path / "public"
    same, other = promised(site, "/same", b"same"), promised(site, "/other", b"old")
    plain = Wanted(site.serve("/plain", b"old too"))
    fixed = Wanted(site.serve("/fixed", b"fixed"), sha256=sha256(b"fixed"))
    wanted = [same, other, plain, fixed]
    Cache(root, settings=FAST).fetch(wanted)
    promised(site, "/other", b"new")
    site.serve("/plain", b"new too")
    site.forget()
    Cache(root, settings=FAST).fetch(wanted)
    assert site.requests == 0  # nobody asked, so nobody knows
    entries = Cache(root, settings=FAST, refresh=True).fetch(wanted)
    assert [entry.sha256 for entry in entries] == [
        sha256(body) for body in (b"same", b"new", b"new too", b"fixed")
    ]
    assert dict(site.asked) == {
        "/same.CHECKSUM": 1,
        "/other.CHECKSUM": 1,
        "/other": 1,
        "/plain": 1,
    }
    for each, old in ((other, b"old"), (plain, b"old too")):
        kept = tmp_path / "quarantine" / "replaced" / sha256(old)[:16] / each.path
        assert kept.read_bytes() == old
        assert "replaced" in kept.with_name(kept.name + ".reason.txt").read_text()


def test_a_stale_checksum_file_is_asked_for_once_more(site: Site, tmp_path: Path) -> None:
    """The promise came in an earlier run, the file only now, and was replaced in between."""
    each = promised(site, "/a", b"old")
    site.scripts.pop("/a")
    cache = Cache(tmp_path / "public", settings=FAST)
    with pytest.raises(FetchError, match="HTTP 404"):
        cache.fetch([each])
    promised(site, "/a", b"new")
    site.forget()
    assert cache.fetch([each])[0].sha256 == sha256(b"new")
    assert dict(site.asked) == {"/a": 1, "/a.CHECKSUM": 1}


def test_a_checksum_file_that_is_none_goes_to_quarantine(site: Site, tmp_path: Path) -> None:
    each = promised(site, "/a", b"a")
    page = b"<html>please sign in</html>"
    site.serve("/a.CHECKSUM", page)
    with pytest.raises(FetchError, match="not one line of"):
        Cache(tmp_path / "public", settings=FAST).fetch([each])
    assert (tmp_path / "quarantine" / (each.path + ".CHECKSUM")).read_bytes() == page
    assert site.asked["/a"] == 0  # nothing is fetched that could not be verified
    assert not (tmp_path / "public" / (each.path + ".CHECKSUM")).exists()


def test_a_damaged_checksum_file_in_the_cache_is_fetched_again(site: Site, tmp_path: Path) -> None:
    each = promised(site, "/a", b"a")
    cache = Cache(tmp_path / "public", settings=FAST)
    (entry,) = cache.fetch([each])
    (cache.root / (each.path + ".CHECKSUM")).write_bytes(b"?")
    with pytest.raises(FetchError, match=r"/a\.CHECKSUM \(damaged\)"):
        Cache(cache.root, offline=True).fetch([each])
    assert cache.fetch([each]) == (entry,)
    assert site.asked["/a"] == 1
    assert site.asked["/a.CHECKSUM"] == 2


def test_wrong_size_and_failed_check(site: Site, tmp_path: Path) -> None:
    def check(path: Path) -> None:
        assert path.read_bytes() == b"body"
        raise DataError("not a table", where=path, remedy="ask the service")

    small = Wanted(site.serve("/small", b"body"), size=5)
    odd = Wanted(site.serve("/odd", b"body"), check=check)
    with pytest.raises(FetchError) as caught:
        Cache(tmp_path / "public", settings=FAST).fetch([small, odd])
    first, second = caught.value.failures
    assert "it has 4 bytes instead of 5" in first.error.what
    assert "not a table" in second.error.what
    assert "ask the service" in caught.value.remedy
    assert all((tmp_path / "quarantine" / each.path).is_file() for each in (small, odd))


def test_a_404_is_explained(site: Site, tmp_path: Path) -> None:
    def explain(client: Client, url: str) -> str:
        return f"there is no {url[-4:]}"

    wanted = [Wanted(site.url("/gone")), Wanted(site.serve("/here", b""))]
    with pytest.raises(
        FetchError, match="HTTP 404; the service says: no such key; there is no gone"
    ):
        Cache(tmp_path / "public", settings=FAST).fetch(wanted, explain=explain)


def test_two_caches_on_one_folder_do_not_fetch_twice(
    site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The second waits for the lock of the host; then everything is there."""

    def script(exchange: Exchange, count: int) -> None:
        time.sleep(0.3)
        send(exchange, b"slow")

    site.scripts["/slow"] = script
    wanted = [Wanted(site.url("/slow"))]
    results: list[object] = []

    def run() -> None:
        results.append(Cache(tmp_path / "public", settings=FAST).fetch(wanted))

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1] == results[2]
    assert site.requests == 1
    assert "waiting for another fetch" in capfd.readouterr().err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_progress_bar_only_on_a_terminal(
    site: Site,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = [Wanted(site.serve(f"/{name}", b"")) for name in "abc"]
    Cache(tmp_path / "quiet", settings=FAST).fetch(wanted)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    Cache(tmp_path / "loud", settings=FAST).fetch(wanted, title="candles")
    assert "candles" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    assert capfd.readouterr().out == ""


def test_a_cache_that_cannot_be_written(site: Site, tmp_path: Path) -> None:
    """A file lies where a folder should be: a message, and the other file arrives."""
    wanted = [Wanted(site.serve("/d/a", b"a")), Wanted(site.serve("/b", b"b"))]
    folder = tmp_path / "public" / wanted[1].path
    (folder.parent / "d").parent.mkdir(parents=True)
    (folder.parent / "d").write_text("in the way")
    with pytest.raises(FetchError, match=r"1 of 2 files .*\n.*cannot be written: ") as caught:
        Cache(tmp_path / "public", settings=FAST).fetch(wanted)
    assert "free space" in caught.value.remedy
    assert folder.read_bytes() == b"b"
    (tmp_path / "blocked").write_text("in the way")
    with pytest.raises(SourceError, match="cannot be written"):
        Cache(tmp_path / "blocked", settings=FAST).fetch(wanted)


def test_urls_that_cannot_lie_side_by_side() -> None:
    check_distinct([Wanted("http://h/a"), Wanted("http://h/a"), Wanted("http://h/b/c")])
    with pytest.raises(SourceError, match="share one place"):
        check_distinct([Wanted("http://h/a~"), Wanted("http://h/a%7e")])
    with pytest.raises(SourceError, match="a file and a folder"):
        check_distinct([Wanted("http://h/a"), Wanted("http://h/a/b")])


def test_a_bug_is_not_taken_for_a_bad_file(site: Site, tmp_path: Path) -> None:
    def check(path: Path) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Cache(tmp_path / "public", settings=FAST).fetch(
            [Wanted(site.serve("/a", b""), check=check)]
        )

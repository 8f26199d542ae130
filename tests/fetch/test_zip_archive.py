"""Zips opened without trusting them: every trick is refused by name, nothing is unpacked."""

from __future__ import annotations

import io
import stat
import struct
import time
import warnings
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fetch.loopback import zipped
from remeasure.errors import SourceError
from remeasure.fetch.archive import LIMITS, ZipLimits, read_member, zip_check

ROWS = b"".join(b"%d,1.5,2.5\n" % n for n in range(2000))


def archive(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = 8) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as out:
        warnings.simplefilter("ignore")  # zipfile warns of the duplicates that are meant here
        for name, data in members:
            info = name if isinstance(name, zipfile.ZipInfo) else zipfile.ZipInfo(name)
            info.compress_type = method
            out.writestr(info, data)
    return buffer.getvalue()


def renamed(body: bytes, old: bytes, new: bytes) -> bytes:
    """Names patched in the bytes, as no zip library would write them."""
    assert len(old) == len(new)
    return body.replace(old, new)


def patched(body: bytes, local: int, central: int, value: bytes) -> bytes:
    """A field overwritten in the local header and in the central directory."""
    out = bytearray(body)
    start = body.index(b"PK\1\2")
    if local >= 0:
        out[local : local + len(value)] = value
    out[start + central : start + central + len(value)] = value
    return bytes(out)


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("a.csv")
    info.create_system = 3
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_a_sound_archive() -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert read_member(zipped("a.csv", ROWS, method), "a.csv") == ROWS
        assert read_member(zipped("a.csv", b"", method), "a.csv") == b""
    streamed = io.BytesIO()

    class NoSeek(io.RawIOBase):
        """Makes zipfile write a data descriptor behind the member, as streaming tools do."""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            return streamed.write(data)

    with zipfile.ZipFile(NoSeek(), "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("a.csv", ROWS)
    assert read_member(streamed.getvalue(), "a.csv") == ROWS


GOOD = zipped("a.csv", ROWS)
SIZE = struct.pack("<L", len(ROWS))
CASES: dict[str, tuple[bytes, str]] = {
    "not a zip": (b"<html>404</html>", "damaged"),
    "empty": (b"", "damaged"),
    "cut": (GOOD[:-30], "damaged"),
    "parent": (archive(("../a.csv", ROWS)), "would escape"),
    "deep parent": (archive(("x/../../a.csv", ROWS)), "would escape"),
    "backslash parent": (renamed(archive(("..xa.csv", ROWS)), b"..xa", b"..\\a"), "would escape"),
    "absolute": (archive(("/a.csv", ROWS)), "absolute"),
    "drive": (archive(("C:a.csv", ROWS)), "absolute"),
    "share": (renamed(archive(("xxa.csv", ROWS)), b"xxa", b"\\\\a"), "absolute"),
    "nul": (renamed(archive(("a.csvxb", ROWS)), b"a.csvx", b"a.csv\0"), "forbidden character"),
    "link": (archive((link(), b"/etc/passwd")), "symbolic link"),
    "encrypted": (patched(GOOD, 6, 8, b"\1\0"), "encrypted"),
    "duplicate": (archive(("a.csv", ROWS), ("a.csv", b"other")), "occurs twice"),
    "wrong name": (archive(("b.csv", ROWS)), r"must hold exactly 'a\.csv', but holds \['b\.csv'\]"),
    "other case": (archive(("A.csv", ROWS)), "must hold exactly"),
    "in a folder": (archive(("x/a.csv", ROWS)), "must hold exactly"),
    "one too many": (archive(("a.csv", ROWS), ("b.csv", b"")), "must hold exactly"),
    "none": (archive(), "must hold exactly"),
    "bzip2": (archive(("a.csv", ROWS), method=zipfile.ZIP_BZIP2), "not stored or deflated"),
    "bomb": (zipped("a.csv", bytes(3 << 20)), "zip bomb"),
    "declared above": (
        patched(GOOD, 22, 24, struct.pack("<L", 1 << 31)),
        "declares 2,147,483,648 bytes",
    ),
    "more than declared": (
        patched(GOOD, 22, 24, struct.pack("<L", 100)),
        "larger than the 100 bytes it declares",
    ),
    "less than declared": (
        patched(GOOD, 22, 24, struct.pack("<L", len(ROWS) + 1)),
        "but declares",
    ),
    "wrong crc": (patched(GOOD, 14, 16, b"\0\0\0\0"), "CRC-32"),
    "header name": (GOOD.replace(b"a.csv", b"b.csv", 1), "contradicts"),
    "header offset": (patched(GOOD, -1, 42, struct.pack("<L", 7)), "contradicts"),
    "far offset": (patched(GOOD, -1, 42, struct.pack("<L", 1 << 30)), "outside the file|damaged"),
    "packed beyond": (patched(GOOD, -1, 20, struct.pack("<L", 1 << 30)), "beyond the end"),
    "packed cut": (patched(GOOD, -1, 20, struct.pack("<L", 50)), "ends too early|zip bomb"),
}


@pytest.mark.parametrize("name", CASES)
def test_every_trick_is_refused(name: str, tmp_path: Path) -> None:
    body, why = CASES[name]
    with pytest.raises(SourceError, match=why) as caught:
        read_member(body, "a.csv", where="h/a.zip")
    assert caught.value.where == "h/a.zip"
    assert "refused" in caught.value.what
    file = tmp_path / "a.zip"
    file.write_bytes(body)
    with pytest.raises(SourceError, match=why):
        zip_check("a.csv")(file)


def test_limits_hold_on_both_sides() -> None:
    limits = ZipLimits(max_bytes=len(ROWS), free_bytes=0)
    assert read_member(GOOD, "a.csv", limits=limits) == ROWS
    with pytest.raises(SourceError, match="more than the limit"):
        read_member(GOOD, "a.csv", limits=ZipLimits(max_bytes=len(ROWS) - 1))
    zeros = zipped("a.csv", bytes(100_000))
    with pytest.raises(SourceError, match="zip bomb"):
        read_member(zeros, "a.csv", limits=limits.model_copy(update={"max_bytes": 1 << 20}))
    assert len(read_member(zeros, "a.csv", limits=LIMITS)) == 100_000  # small enough to be free


def test_a_lying_bomb_costs_no_more_than_it_declares() -> None:
    """It declares 100 bytes and holds 64 MiB: at most 101 are ever unpacked."""
    import tracemalloc

    body = patched(zipped("a.csv", bytes(64 << 20)), 22, 24, struct.pack("<L", 100))
    tracemalloc.start()
    with pytest.raises(SourceError, match="larger than the 100 bytes it declares"):
        read_member(body, "a.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


@settings(max_examples=150, deadline=None)
@given(
    edits=st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=4),
    cut=st.integers(0, 40),
)
def test_whatever_the_bytes_only_an_expected_error_or_the_truth(
    edits: list[tuple[int, int]], cut: int
) -> None:
    body = bytearray(GOOD[: len(GOOD) - cut] if cut > 30 else GOOD)
    # Half of the edits near the end, where the directory lies.
    for place, value in edits:
        body[-(1 + place % 70) if place % 2 else place % len(body)] = value
    try:
        data = read_member(bytes(body), "a.csv")
    except SourceError:
        return
    assert zlib.crc32(data) == zlib.crc32(ROWS)
    assert len(data) == len(ROWS)


def test_small_archives_cost_little_over_bare_zlib() -> None:
    """336 zips of a few kilobytes: the fixed cost of one stays below two milliseconds."""
    start = time.process_time()
    for _ in range(336):
        read_member(GOOD, "a.csv")
    ours = time.process_time() - start
    packed = zlib.compress(ROWS)
    start = time.process_time()
    for _ in range(336):
        zlib.decompress(packed)
    bare = time.process_time() - start
    assert ours - bare < 336 * 0.002

"""Zip archives opened in memory, trusting neither their names nor their sizes.

An archive of this project holds exactly one member whose name is known
beforehand. Nothing is ever written to disk, so a name cannot escape anywhere;
odd names are refused all the same, because no honest archive has them.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NoReturn

from pydantic import Field

from remeasure.errors import SourceError
from remeasure.model import Model

_ENCRYPTED = 0x1 | 0x40 | 0x2000  # traditional, strong, masked headers
_LOCAL = struct.Struct("<4s5H3L2H")  # local file header, APPNOTE.TXT section 4.3.7
_DRIVE = re.compile(r"[A-Za-z]:")


class ZipLimits(Model):
    """How large a member may be.

    Attributes
    ----------
    max_bytes
        Largest size of the member in bytes, declared and actual.
    max_ratio
        Largest ratio of unpacked to packed size, looked at above ``free_bytes``.
    free_bytes
        Members up to this size may have any ratio.
    """

    max_bytes: int = Field(default=256 << 20, ge=1)
    max_ratio: float = Field(default=100.0, ge=1)
    free_bytes: int = Field(default=1 << 20, ge=0)


LIMITS = ZipLimits()


def _refuse(what: str, where: object) -> NoReturn:
    raise SourceError(
        f"the zip archive is refused: {what}",
        where=where,
        remedy="delete the file and fetch it again; if it comes again, the source is not sound",
    )


def _check_name(name: str, where: object) -> None:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        _refuse(f"member {name!r} has an absolute name", where)
    if ".." in parts:
        _refuse(f"member {name!r} would escape the folder it is unpacked into", where)
    if "\0" in name or "\\" in name:
        _refuse(f"member {name!r} has a forbidden character in its name", where)


def _only_member(archive: zipfile.ZipFile, member: str, where: object) -> zipfile.ZipInfo:
    infos = archive.infolist()
    names = [info.orig_filename for info in infos]
    for info, name in zip(infos, names, strict=True):
        _check_name(name, where)
        if stat.S_ISLNK(info.external_attr >> 16):
            _refuse(f"member {name!r} is a symbolic link", where)
        if info.flag_bits & _ENCRYPTED:
            _refuse(f"member {name!r} is encrypted", where)
    if len(set(names)) < len(names):
        _refuse(f"a member name occurs twice among {names[:5]}", where)
    if names != [member]:
        _refuse(f"it must hold exactly {member!r}, but holds {names[:5]}", where)
    return infos[0]


def _packed(body: bytes, info: zipfile.ZipInfo, where: object) -> memoryview:
    """The packed bytes of a member: after its local header, which must agree with the directory."""
    start = info.header_offset
    if start < 0 or start + _LOCAL.size > len(body):
        _refuse("its directory points outside the file", where)
    fields = _LOCAL.unpack_from(body, start)
    signature, flags, method, name_size, extra_size = fields[0], *fields[2:4], *fields[9:11]
    name = body[start + _LOCAL.size : start + _LOCAL.size + name_size]
    encoding = "utf-8" if flags & 0x800 else "cp437"
    if (
        signature != b"PK\3\4"
        or name.decode(encoding, "replace") != info.orig_filename
        or method != info.compress_type
        or flags & _ENCRYPTED
    ):
        _refuse("the header of its member contradicts its directory", where)
    first = start + _LOCAL.size + name_size + extra_size
    if first + info.compress_size > len(body):
        _refuse("its member ends beyond the end of the file", where)
    return memoryview(body)[first : first + info.compress_size]


def _unpack(packed: memoryview, info: zipfile.ZipInfo, where: object) -> bytes:
    """Unpack at most one byte more than declared, however much the packed bytes would give."""
    if info.compress_type == zipfile.ZIP_STORED:
        return bytes(packed[: info.file_size + 1])
    if info.compress_type != zipfile.ZIP_DEFLATED:
        _refuse(f"compression method {info.compress_type} is not stored or deflated", where)
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        # The limit must stay above the declared size: zlib reads on to the end mark only then.
        data = inflate.decompress(packed, info.file_size + 1)
    except zlib.error as error:
        _refuse(f"its packed data is damaged ({error})", where)
    if len(data) <= info.file_size and not inflate.eof:
        _refuse("its packed data ends too early", where)
    return data


def read_member(
    body: bytes, member: str, *, limits: ZipLimits = LIMITS, where: object = ""
) -> bytes:
    """The bytes of the one member of a zip archive.

    Parameters
    ----------
    body
        The archive.
    member
        Name that its only member must have.
    limits
        Bounds on the unpacked size, held by the declared and by the actual one.
    where
        Path or URL of the archive, for the message.

    Raises
    ------
    SourceError
        When the archive is damaged; holds anything but that one member; a name
        is absolute, escapes or repeats; the member is a link, encrypted,
        larger than the limits or packed by another method than deflate; its
        size or CRC-32 is not as declared.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            info = _only_member(archive, member, where)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError) as error:
        _refuse(f"it is damaged ({error})", where)
    if info.file_size > limits.max_bytes:
        _refuse(
            f"its member declares {info.file_size:,} bytes, more than the limit of "
            f"{limits.max_bytes:,}",
            where,
        )
    if info.file_size > max(limits.free_bytes, limits.max_ratio * info.compress_size):
        _refuse(
            f"its member declares {info.file_size:,} bytes from {info.compress_size:,} packed "
            f"ones, more than {limits.max_ratio:g} to one: a zip bomb",
            where,
        )
    data = _unpack(_packed(body, info, where), info, where)
    if len(data) > info.file_size:
        _refuse(f"its member is larger than the {info.file_size:,} bytes it declares", where)
    if len(data) < info.file_size:
        _refuse(f"its member has {len(data):,} bytes, but declares {info.file_size:,}", where)
    if zlib.crc32(data) != info.CRC:
        _refuse("the CRC-32 of its member is wrong", where)
    return data


def zip_check(member: str, limits: ZipLimits = LIMITS) -> Callable[[Path], None]:
    """A check for `remeasure.fetch.cache.Wanted`: the file is a sound zip of that one member."""

    def check(path: Path) -> None:
        read_member(path.read_bytes(), member, limits=limits, where=path)

    return check

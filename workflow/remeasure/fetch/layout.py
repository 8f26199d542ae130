"""From a URL to its place in the raw layout ``<host>/<path>``, and nowhere else.

The place of a URL is its normal form (RFC 3986, section 6.2.2: host in lower
case, needless percent signs decoded, hexadecimal digits in upper case) written
as a path. Two URLs share a place only when their normal forms are equal or
differ in the scheme alone. Where a part cannot be a file name, a percent sign
followed by a letter that is no hexadecimal digit marks what was done; no normal
form contains such a pair, so a marked name collides with no other:

========  ==========================================================
mark      meaning
========  ==========================================================
``%Q``    a query follows, as in ``klines%Qsymbol=BTCUSDT&limit=1000``
``%H``    a query that is long or holds odd characters: its SHA-256
``%L``    a name too long for a file system: its start and its SHA-256
``%N``    an empty name, as between two slashes or after the last one
``%S``    the number of a recorded answer, where an address gives another one each
          time: ``depth%Qsymbol=BTCUSDT&limit=1000%S2`` (`recorded`)
``%M``    the dot of a trailing ``.meta.json``, which names sidecars
``%part`` a download in progress beside its target (`partial`)
``%lock`` the lock of a host's folder
========  ==========================================================

A port other than the scheme's own stands after a plus: ``127.0.0.1+8080``.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import SplitResult, quote, urlsplit

from remeasure.errors import SourceError

#: Longest file name made from one part of a URL; suffixes of sidecars come on top.
MAX_NAME = 200
_MAX_URL = 4000
_PORTS = {"http": 80, "https": 443}
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_-]|\.(?!\.))*[a-z0-9_]|[a-z0-9_]")
_PERCENT = re.compile(r"%([0-9A-Fa-f]{2})|%")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SAFE = "%!$&'()*+,;=:@-._~"
_QUERY_SAFE = _PATH_SAFE + "/?"
_PLAIN_QUERY = re.compile(r"[A-Za-z0-9&=,:@._~-]+")
_SIDECAR = ".meta.json"


def _refuse(url: str, why: str) -> SourceError:
    return SourceError(
        f"the URL {why}",
        where=url,
        remedy="give a plain http or https URL without credentials, fragment or dot segments",
    )


def _normal(text: str, safe: str) -> str:
    """Percent-encoding in its normal form; ``safe`` holds what may stand unencoded."""

    def one(match: re.Match[str]) -> str:
        digits = match.group(1)
        if digits is None:
            return "%25"
        return chr(int(digits, 16)) if int(digits, 16) in _UNRESERVED else f"%{digits.upper()}"

    return quote(_PERCENT.sub(one, text), safe=safe)


@lru_cache(maxsize=4096)
def split(url: str) -> SplitResult:
    """Split a URL after checking that it is one this project fetches.

    Raises
    ------
    SourceError
        When the scheme is not http or https, or the URL carries credentials, a
        fragment, white space, control characters, an odd host or no host.
    """
    if len(url) > _MAX_URL:
        raise _refuse(url[:100] + "...", f"is longer than {_MAX_URL} characters")
    if _CONTROL.search(url):
        raise _refuse(url, "holds white space or control characters")
    try:
        parts = urlsplit(url)
        port = parts.port
        url.encode()
    except ValueError as error:
        raise _refuse(url, f"cannot be read ({error})") from error
    if parts.scheme not in _PORTS:
        raise _refuse(url, f"has the scheme {parts.scheme!r}, which is not http or https")
    if "@" in parts.netloc:
        raise _refuse(url, "carries credentials")
    if "#" in url:
        raise _refuse(url, "carries a fragment")
    if not _HOST.fullmatch(parts.hostname or "") or port == 0:
        raise _refuse(url, "names no host that can be a folder")
    return parts


def host_folder(url: str) -> str:
    """The folder of the host: its name in lower case, and the port where it is unusual."""
    parts = split(url)
    port = parts.port
    return f"{parts.hostname}" + (f"+{port}" if port and port != _PORTS[parts.scheme] else "")


def _name(part: str, url: str) -> str:
    """One part of the path as a file name."""
    name = _normal(part, _PATH_SAFE)
    if name in (".", ".."):
        raise _refuse(url, "holds dot segments")
    if not name:
        return "%N"
    if name.endswith(_SIDECAR):
        name = name[: -len(_SIDECAR)] + "%M" + _SIDECAR[1:]
    if len(name) > MAX_NAME:
        name = f"{name[:60]}%L{hashlib.sha256(name.encode()).hexdigest()}"
    return name


def _query(query: str, room: int) -> str:
    """The query as the end of a file name of at most ``room`` characters."""
    if not query:
        return ""
    plain = _normal(query, _QUERY_SAFE)
    if _PLAIN_QUERY.fullmatch(plain) and not plain.endswith(_SIDECAR) and len(plain) + 2 <= room:
        return f"%Q{plain}"
    return f"%H{hashlib.sha256(plain.encode()).hexdigest()}"


@lru_cache(maxsize=4096)
def url_to_path(url: str) -> str:
    """Path of a URL below the root of a raw cache or mirror, with forward slashes.

    Never absolute, never with ``..``, ``.`` or an empty part; every part is at
    most `MAX_NAME` (and 66 for a hashed query) ASCII characters.

    Examples
    --------
    >>> url_to_path("https://data.binance.vision/data/spot/a.zip")
    'data.binance.vision/data/spot/a.zip'
    >>> url_to_path("https://api.binance.com/api/v3/klines?symbol=BTCUSDT&limit=2")
    'api.binance.com/api/v3/klines%Qsymbol=BTCUSDT&limit=2'

    Raises
    ------
    SourceError
        When the URL is not one this project fetches (see `split`) or holds
        ``.`` or ``..`` as a part, encoded or not.
    """
    parts = split(url)
    names = [_name(part, url) for part in (parts.path or "/").removeprefix("/").split("/")]
    names[-1] += _query(parts.query, MAX_NAME - len(names[-1]))
    return "/".join([host_folder(url), *names])


def recorded(path: str, number: int) -> str:
    """Place of one of several recorded answers of the address at ``path``."""
    return f"{path}%S{number}"


def sidecar(file: Path) -> Path:
    """Where the record of a raw file lies: ``<file>.meta.json``."""
    return file.with_name(file.name + _SIDECAR)


def partial(file: Path) -> Path:
    """Where a download of ``file`` grows: in the same folder, so that a rename is atomic."""
    return file.with_name(file.name + "%part")

"""Where bodies go that must not be used: kept for a look, out of every reader's way.

    <quarantine>/<host>/<path>                          a bad body, the latest one of its URL
    <quarantine>/replaced/<first 16 hex>/<host>/<path>  a sound file that the service has replaced

Beside each lies ``<file>.reason.txt``: the URL, the reason and the time.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from remeasure.fetch import layout


def _write_reason(file: Path, url: str, reason: str) -> None:
    when = datetime.now(UTC).isoformat(timespec="seconds")
    file.with_name(file.name + ".reason.txt").write_text(
        f"url: {url}\nreason: {reason}\nwhen: {when}\n", encoding="utf-8"
    )


def put_aside(quarantine: Path, path: str, body: Path, *, url: str, reason: str) -> Path:
    """Move a bad body to its place in quarantine and write the reason beside it.

    Parameters
    ----------
    quarantine
        Root of the quarantine.
    path
        ``<host>/<path>`` of the URL (see `remeasure.fetch.layout`).
    body
        The file to move. It may be missing: then only the reason is kept.
    url, reason
        Written to ``<file>.reason.txt``.

    Returns
    -------
    Where the body lies now.
    """
    target = quarantine / path
    target.parent.mkdir(parents=True, exist_ok=True)
    if body.is_file():
        shutil.move(body, target)
    _write_reason(target, url, reason)
    return target


def keep_replaced(
    quarantine: Path, path: str, body: Path, *, url: str, sha256: str, reason: str
) -> Path:
    """Move a sound file, with its sidecar, aside because the service has another one now.

    It never overwrites an older version: the folder is named after its hash.
    """
    target = quarantine / "replaced" / sha256[:16] / path
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(body, target)
    if layout.sidecar(body).is_file():
        shutil.move(layout.sidecar(body), layout.sidecar(target))
    _write_reason(target, url, reason)
    return target

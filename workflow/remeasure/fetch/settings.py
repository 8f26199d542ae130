"""Settings of the fetch room, apart from it so that a configuration loads no network code."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from remeasure import __version__
from remeasure.model import Model


class ClientSettings(Model):
    """How patient and how polite the client is.

    Attributes
    ----------
    user_agent
        Who asks; services should be able to tell.
    connect_timeout, read_timeout
        Seconds to wait for a connection, and for the next bytes.
    file_timeout
        Seconds that one file may take in all, so that a trickle ends too.
    retries
        Further attempts after a failed one. A resumed download that makes
        progress starts counting afresh.
    backoff, backoff_max, jitter
        Seconds before a retry: min(backoff 2^n, backoff_max) + U(0, jitter).
    retry_after_max
        Longest ``Retry-After`` in seconds that is waited for; a longer one ends the run.
    rate_per_second
        Requests a second to each host.
    workers
        Files in flight at once.
    max_bytes
        Largest body accepted, unless a request says otherwise.
    max_redirects
        Longest chain of redirects.
    """

    user_agent: str = f"remeasure/{__version__} (measures published numbers again; python-requests)"
    connect_timeout: float = Field(default=20.0, gt=0)
    read_timeout: float = Field(default=60.0, gt=0)
    file_timeout: float = Field(default=3600.0, gt=0)
    retries: int = Field(default=5, ge=0, le=20)
    backoff: float = Field(default=1.0, ge=0)
    backoff_max: float = Field(default=60.0, ge=0)
    jitter: float = Field(default=0.5, ge=0)
    retry_after_max: int = Field(default=600, ge=0)
    rate_per_second: float = Field(default=8.0, gt=0)
    workers: int = Field(default=4, ge=1, le=16)
    max_bytes: int = Field(default=1 << 30, ge=1)
    max_redirects: int = Field(default=5, ge=0)


#: What a model needs: settings, tokenizer, weights; never code, never pickled weights.
FILES = ("*.json", "*.safetensors", "tokenizer.model", "*.txt", "*.jinja")


class Checkpoint(Model):
    """Which files of the hub.

    Attributes
    ----------
    id
        Owner and name, as ``amazon/chronos-2``.
    revision
        A commit, or a branch or tag, which is then resolved to a commit.
    files
        Patterns of file names, as in a shell.
    """

    id: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[\w.-]+$")] = "main"
    files: tuple[str, ...] = FILES


class DataFiles(Model):
    """Which files of a data set of the hub.

    Attributes
    ----------
    id
        Owner and name, as ``timm/eurosat-rgb``.
    revision
        A commit, or a branch or tag, which is then resolved to a commit.
    files
        Their paths in the data set.
    """

    id: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Annotated[str, Field(pattern=r"^[\w.-]+$")] = "main"
    files: tuple[str, ...] = Field(min_length=1)

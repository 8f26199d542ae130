"""Rendering pages: one environment, one style sheet and one script, both inside every page.

A page is one file. It opens from disk, asks nothing of the network (its content
security policy forbids it) and holds no time, so equal inputs give equal bytes.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from remeasure.records import write_atomically

PACKAGE_FILES = (
    "templates/base.html",
    "templates/macros.html",
    "assets/site.css",
    "assets/site.js",
)
HERE = Path(__file__).parent


@cache
def environment() -> Environment:
    """The Jinja environment of all pages: autoescape on, an undefined name is an error."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["anchor"] = anchor
    made.filters["grouped"] = "{:,}".format
    return made


def anchor(path: str) -> str:
    """The name by which the provenance page can be asked for an artefact."""
    return "a-" + re.sub(r"[^A-Za-z0-9]+", "-", path)


def link(target: Path, page: Path) -> str:
    """Relative address of ``target`` from the folder of ``page``, with forward slashes."""
    return Path(os.path.relpath(target, page.parent)).as_posix()


def write_page(page: Path, template: str, **values: Any) -> None:
    """Render a template that extends ``base.html`` and write it."""
    text = (
        environment()
        .get_template(template)
        .render(
            # Both are files of this package, not data: the only text that is not escaped.
            css=Markup((HERE / "assets/site.css").read_text("utf-8")),  # noqa: S704
            js=Markup((HERE / "assets/site.js").read_text("utf-8")),  # noqa: S704
            **values,
        )
    )
    write_atomically(page, text)

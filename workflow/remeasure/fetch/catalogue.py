"""The catalogue of remote sources, ``config/sources.yaml``, as typed models."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from remeasure.errors import ConfigError, SourceError
from remeasure.fetch import layout
from remeasure.model import Model

#: Relative to the folder of the project, in which all commands run.
SOURCES = Path("config/sources.yaml")

_Text = Annotated[str, Field(min_length=1)]
_Bytes = Annotated[int, Field(gt=0)]


class RemoteSource(Model):
    """One remote source; the keys are explained at the top of ``config/sources.yaml``."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: _Text
    url: _Text
    revision: _Text
    sha256: Literal["sidecar", "none"] | Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    checksum: str = ""
    licence: _Text
    size: int = Field(gt=0)
    file_size: _Bytes | dict[_Text, _Bytes]
    used_by: tuple[_Text, ...] = Field(min_length=1)
    note: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.sha256 == "sidecar") != bool(self.checksum):
            raise ValueError("checksum must be given with sha256: sidecar, and only then")
        for template in (self.url, self.checksum):
            if template:
                _check_template(template)
        if set(fields(self.checksum)) - set(fields(self.url)):
            raise ValueError("checksum has parts in braces that url does not have")
        return self

    def address(self, **parts: str) -> str:
        """The URL with the parts in braces filled in.

        Raises
        ------
        ConfigError
            When a part is missing or not one of the template.
        """
        if set(parts) != set(fields(self.url)):
            raise ConfigError(
                f"the URL of {self.id} has the parts {sorted(set(fields(self.url)))}, "
                f"not {sorted(parts)}",
                where=self.url,
                remedy="give each part of the template, and no other",
            )
        return self.url.format(**parts)

    def typical(self, value: str = "") -> int:
        """Typical bytes of one file; ``value`` is that of the part on which they depend.

        Raises
        ------
        ConfigError
            When the sizes depend on a part and this value is not among them.
        """
        if isinstance(self.file_size, int):
            return self.file_size
        if value not in self.file_size:
            raise ConfigError(
                f"the catalogue knows no size of files of {self.id} for {value!r}",
                where=f"{SOURCES}, {self.id}.file_size",
                remedy=f"add it; known are {', '.join(self.file_size)}",
            )
        return self.file_size[value]


def fields(template: str) -> list[str]:
    """Names in braces, in order, with repetitions."""
    return [name for _, name, _, _ in Formatter().parse(template) if name is not None]


def _check_template(template: str) -> None:
    try:
        names = fields(template)
        if not all(name.isidentifier() for name in names):
            raise ValueError("names in braces must be plain words")
        layout.url_to_path(template.format(**dict.fromkeys(names, "x")))
    except (SourceError, ValueError, IndexError, KeyError) as error:
        reason = error.what if isinstance(error, SourceError) else str(error)
        raise ValueError(f"{template!r} is not a URL template: {reason}") from error


class Catalogue(Model):
    """All remote sources, in the order of the file."""

    sources: tuple[RemoteSource, ...]

    @model_validator(mode="after")
    def _unique(self) -> Self:
        counts = Counter(source.id for source in self.sources)
        repeated = [name for name, count in counts.items() if count > 1]
        if repeated:
            raise ValueError(f"id repeats: {', '.join(repeated)}")
        return self

    @classmethod
    def read(cls, path: Path = SOURCES) -> Self:
        """Read and validate the catalogue.

        Raises
        ------
        ConfigError
            When the file is missing, is not YAML or breaks the schema; names
            every place that is wrong.
        """
        remedy = "correct the file; its keys are explained at its top"
        try:
            return cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise ConfigError(
                f"the catalogue of sources cannot be read: {error.strerror}",
                where=path,
                remedy="run in the folder of the project",
            ) from error
        except yaml.YAMLError as error:
            raise ConfigError(
                f"the catalogue is not YAML: {error}", where=path, remedy=remedy
            ) from error
        except ValidationError as error:
            rows = "".join(
                f"\n  - {'.'.join(map(str, row['loc']))}: {row['msg']}"
                for row in error.errors(include_url=False)
            )
            raise ConfigError(
                f"the catalogue of sources is wrong in {error.error_count()} places:{rows}",
                where=path,
                remedy=remedy,
            ) from error

    def source(self, id: str) -> RemoteSource:
        """The source called ``id``; ConfigError when there is none."""
        for source in self.sources:
            if source.id == id:
                return source
        raise ConfigError(
            f"the catalogue has no source {id!r}",
            where="config/sources.yaml",
            remedy=f"use one of {', '.join(source.id for source in self.sources)}",
        )


def rows(path: Path = SOURCES) -> list[dict[str, str]]:
    """One row a source for ``remeasure sources --catalogue``: all columns as text.

    Raises
    ------
    ConfigError
        As `Catalogue.read`.
    """
    return [
        {
            "id": source.id,
            "title": source.title,
            "url": source.url,
            "revision": source.revision,
            "sha256": source.sha256,
            "licence": source.licence,
            "size": size_text(source.size),
            "used by": ", ".join(source.used_by),
        }
        for source in Catalogue.read(path).sources
    ]


def size_text(count: int) -> str:
    """A number of bytes for people: about, in decimal units."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:.3g} {units[0]}"

"""A published ``tokenizer.json``, through the library that writes these files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from remeasure.errors import DataError, SourceError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a file.

    Raises
    ------
    SourceError
        When the library is not installed.
    DataError
        When the file is missing or is none.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise SourceError(
            "the package tokenizers is not installed",
            where=path,
            remedy="python -m pip install 'remeasure[networks]'",
        ) from error
    if not path.is_file():
        raise DataError("this tokenizer does not exist", where=path, remedy="fetch the checkpoint")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing narrower
        raise DataError(
            f"this is no tokenizer: {error}",
            where=path,
            remedy="delete the file and fetch it again",
        ) from error

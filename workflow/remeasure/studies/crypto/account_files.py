"""Stored account values of Alpha Arena: the answer of its site, believed only after every check.

The answer is an object with one record an account and hourly marker. The first marker is an
hour after the start, so every account begins at its starting capital one marker earlier.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, NoReturn

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.store.tables import Column, Table, write_tables

#: Names of the accounts by the site's own; one of them is spelled in two ways.
ACCOUNTS: Final = {
    "qwen3-max": "Qwen3-Max",
    "deepseek-chat-v3.1": "DeepSeek V3.1",
    "claude-sonnet-4-5": "Claude Sonnet 4.5",
    "grok-4": "Grok 4",
    "gemini-2.5-pro": "Gemini 2.5 Pro",
    "gemini-2-5-pro": "Gemini 2.5 Pro",
    "gpt-5": "GPT-5",
}
#: The site's own reference account, which holds bitcoin: not one of the contestants.
HELD: Final = "buynhold_btc"

CAPITAL: Final = 10_000.0
START: Final = datetime(2025, 10, 17, 22)
HOURS: Final = 17 * 24

ACCOUNT_TABLE: Final = Table(
    name="accounts",
    meaning="value of one account at one hour of the season",
    columns=(
        Column(name="account", sql="VARCHAR", meaning="name of the model, as GPT-5"),
        Column(
            name="hour",
            sql="INTEGER",
            unit="h",
            meaning="since the start of the season",
            check="hour >= 0",
        ),
        Column(name="dollars", sql="DOUBLE", unit="USD", meaning="value", check="dollars > 0"),
    ),
    key=("account", "hour"),
)

_REMEDY: Final = "store the answer again; if it comes again, the site has changed its answers"


class Account(BaseModel):
    """One record, as far as it is used; the site adds positions and statistics of its own."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    model_id: str
    timestamp: Annotated[float, Field(gt=0)]
    dollar_equity: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    since_inception_hourly_marker: Annotated[int, Field(ge=0)]


class Answer(BaseModel):
    """The whole answer."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    accountTotals: Annotated[list[Account], Field(min_length=1)]


def _refuse(what: str, where: object) -> NoReturn:
    raise DataError(what, where=where, remedy=_REMEDY)


def read_accounts(body: bytes, where: object = "") -> pl.DataFrame:
    """Values by account and hour: the columns of `ACCOUNT_TABLE`, starting capital included.

    Hours after the season's end are left out, and the site's own reference account.

    Raises
    ------
    DataError
        When it is not JSON of the known fields, a value is not a positive number, an account
        is unknown, a marker comes twice, or its time is not that of its marker.
    """
    try:
        records = Answer.model_validate_json(body).accountTotals
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "its start"
        _refuse(
            f"the account values break their schema: {first['msg']} ({str(first['input'])[:60]!r})",
            f"{where}, field {place}",
        )
    seen: dict[tuple[str, int], float] = {}
    for number, record in enumerate(records):
        if record.model_id == HELD:
            continue
        field = f"{where}, field accountTotals.{number}"
        name = ACCOUNTS.get(record.model_id)
        if name is None:
            _refuse(f"unknown account {record.model_id[:40]!r}", f"{field}.model_id")
        hour = record.since_inception_hourly_marker + 1
        due = START + timedelta(hours=hour)
        stamp = datetime(1970, 1, 1) + timedelta(seconds=record.timestamp)
        # Accounts began up to 41 minutes after the start, each with a clock of its own.
        if abs(stamp - due) > timedelta(hours=1):
            _refuse(
                f"marker {hour - 1} was due about {due}, not on {stamp:%Y-%m-%d %H:%M}",
                f"{field}.timestamp",
            )
        if (name, hour) in seen:
            _refuse(
                f"marker {hour - 1} of {name} comes twice", f"{field}.since_inception_hourly_marker"
            )
        seen[name, hour] = record.dollar_equity
    for name in {name for name, _ in seen}:
        seen[name, 0] = CAPITAL
    rows = sorted((name, hour, value) for (name, hour), value in seen.items() if hour <= HOURS)
    return pl.DataFrame(rows, schema=ACCOUNT_TABLE.schema(), orient="row")


def parse_accounts(*, manifest: Path, accounts: Path) -> None:
    """Step: read the stored answer of a manifest and write the table of account values.

    Parameters
    ----------
    manifest
        Input: exactly one stored answer.
    accounts
        Output, DuckDB file with the table `ACCOUNT_TABLE`.

    Raises
    ------
    SourceError
        When the file is missing, damaged or not the one in the manifest.
    DataError
        When there is not exactly one file, or it is refused: see `read_accounts`.
    """
    listed = Manifest.read(manifest)
    if len(listed.files) != 1:
        _refuse(f"the manifest holds {len(listed.files)} files instead of one", manifest)
    (entry,) = listed.files
    frame = read_accounts(listed.read_verified(entry), entry.path)
    write_tables(accounts, [(ACCOUNT_TABLE, frame)])

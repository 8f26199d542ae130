"""Which perpetual contract has which rank of turnover, out of two answers of the exchange.

``GET /fapi/v1/exchangeInfo`` says what each contract is, ``GET /fapi/v1/ticker/24hr`` what it
has traded in 24 hours. Rank 1 is the largest ``quoteVolume`` among the perpetual contracts
that trade against USDT. Both answers hold dozens of fields that no rank depends on and that
come and go; the ones read here are checked, the others are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from remeasure.errors import DataError

_AGAIN = "record it again; if it comes again, the service has changed its answers"
#: As `remeasure.studies.crypto.settings.Symbol`: some contracts have names of other letters,
#: for which no address and no label of a figure can be made.
_PLAIN = re.compile(r"[A-Z0-9]{2,12}USDT")

_Amount = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,30}(?:\.[0-9]{1,20})?$")]
_Answer = TypeVar("_Answer")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Contract(_Part):
    """What ``exchangeInfo`` says of one contract, as far as ranks depend on it."""

    symbol: str
    contractType: str
    status: str
    quoteAsset: str


class ExchangeInfo(_Part):
    """The answer of ``exchangeInfo``."""

    symbols: list[Contract]


class Turnover(_Part):
    """What ``ticker/24hr`` says of one contract: dollars traded in 24 hours."""

    symbol: str
    quoteVolume: _Amount


_INFO = TypeAdapter(ExchangeInfo)
_TICKER = TypeAdapter(list[Turnover])


def _refuse(what: str, where: object) -> NoReturn:
    raise DataError(what, where=where, remedy=_AGAIN)


def _read(adapter: TypeAdapter[_Answer], body: bytes, where: object) -> _Answer:
    try:
        return adapter.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "its start"
        _refuse(
            f"field {place}: the answer breaks its schema: {first['msg']}"
            f" ({str(first['input'])[:60]!r})",
            where,
        )


def read_info(body: bytes, where: object = "") -> ExchangeInfo:
    """The contracts of ``exchangeInfo``; DataError, naming the field, when it is none."""
    info = _read(_INFO, body, where)
    if not info.symbols:
        _refuse("field symbols: the exchange lists no contract", where)
    return info


def read_ticker(body: bytes, where: object = "") -> list[Turnover]:
    """The turnovers of ``ticker/24hr``; DataError, naming the field, when it is none."""
    rows = _read(_TICKER, body, where)
    names = [row.symbol for row in rows]
    if not names:
        _refuse("the answer holds no turnover", where)
    if len(set(names)) < len(names):
        repeated = next(name for number, name in enumerate(names) if name in names[:number])
        _refuse(f"field {names.index(repeated)}.symbol: {repeated} occurs twice", where)
    return rows


def ranked(info: ExchangeInfo, turnover: Sequence[Turnover]) -> list[str]:
    """Trading USDT perpetuals by turnover, the largest first; equal ones by name.

    Contracts whose names are not made of capital letters and digits are left out.
    """
    traded = {
        each.symbol
        for each in info.symbols
        if (each.contractType, each.status, each.quoteAsset) == ("PERPETUAL", "TRADING", "USDT")
        and _PLAIN.fullmatch(each.symbol)
    }
    rows = sorted((-Decimal(row.quoteVolume), row.symbol) for row in turnover)
    return [symbol for _, symbol in rows if symbol in traded]


def pick(order: Sequence[str], ranks: Sequence[int], where: object = "") -> dict[int, str]:
    """The contract at each rank, from 1 on; DataError when there are not so many."""
    beyond = [rank for rank in ranks if rank > len(order)]
    if beyond:
        _refuse(f"{len(order)} contracts are traded, so none has rank {beyond[0]}", where)
    return {rank: order[rank - 1] for rank in sorted(ranks)}

"""What a free answer to a question about a price says: a number, zero, a refusal, or nothing.

Markup goes first, then every date (an answer may echo the day asked, or tell of a cutoff), then
units that look like numbers, as in ``1 BTC``. What the first number that is left says, counts:
with or without a dollar sign, with thousands separators, with ``k``, ``million`` and the like.
An answer without a number that says that it cannot know is a refusal. A price of zero is no
price. The raw text is never changed: it stays beside what was read from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

import polars as pl

from remeasure.studies.crypto.memory_questions import MONTH_NAMES

Class = Literal["number", "zero", "refusal", "none"]
CLASSES: Final[tuple[Class, ...]] = ("number", "zero", "refusal", "none")


@dataclass(frozen=True)
class Reading:
    """What an answer says: its class, and its value in dollars where that is ``number``."""

    kind: Class
    value: float | None = None


_MONTH = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTH_NAMES) + "|Sept)\\.?"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)[0-9][0-9]"

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"</?[a-z][^<>]{0,80}>|\\(?:boxed|text|mathrm|bf|,|;|!)|[*_`#{}\\~|]", re.I)
_DATES = re.compile(
    "|".join(
        (
            rf"\b(?:the\s+)?{_DAY}\s+(?:of\s+)?{_MONTH},?\s+(?:of\s+)?{_YEAR}\b",
            rf"\b{_MONTH}\s+{_DAY}(?:\s*,\s*|\s+){_YEAR}\b",
            rf"\b{_MONTH}(?:\s+of|,)?\s+{_YEAR}\b",
            rf"\b{_MONTH}\s+{_DAY}\b(?![.,][0-9])",
            rf"\b{_DAY}\s+(?:of\s+)?{_MONTH}(?![a-z])",
            rf"\b{_YEAR}[-/](?:0?[1-9]|1[0-2])(?:[-/][0-9]{{1,2}})?\b(?![.,][0-9])",
            rf"\b{_YEAR}\.[0-9]{{1,2}}\.[0-9]{{1,2}}\b",
            rf"\b[0-9]{{1,2}}[-/.][0-9]{{1,2}}[-/.]{_YEAR}\b",
            r"\b[0-9]{1,2}:[0-9][0-9](?::[0-9][0-9])?(?:\s*[ap]\.?m\.?)?",
            rf"\b(?:in|of|year|since|during|until|till|up to|through|early|mid|late|end of|as of)"
            rf"[\s-]+{_YEAR}\b(?![.,][0-9])",
        )
    ),
    re.IGNORECASE,
)
_UNITS = re.compile(r"\b1(?:\.0+)?\s*(?:BTC|bitcoins?)\b|[0-9]+(?:[.,][0-9]+)?\s*%", re.IGNORECASE)
_WHOLE = r"[0-9]{1,3}(?:[,'’\u00a0\u202f ][0-9]{3})+(?![0-9])|[0-9]+"
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<minus>[-\u2212](?=[$0-9]))?(?P<dollar>(?:US\s*)?\$|USD\s*)?\s*"
    rf"(?:(?P<european>[0-9]{{1,3}}(?:\.[0-9]{{3}})+,[0-9]{{1,2}})(?![0-9])"
    rf"|(?P<number>(?:{_WHOLE})?\.[0-9]+(?:e[+-]?[0-9]+)?|(?:{_WHOLE})(?:e[+-]?[0-9]+)?))"
    r"(?:\s?(?P<suffix>k|thousand|m|mm|mn|million|b|bn|billion)\b)?",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:cannot|can['’]?t|can not|could not|couldn['’]t|unable|not able|do(?:es)? not|don['’]t"
    r"|didn['’]t|won['’]t|not possible|impossible|unavailable|not available|unknown|no data"
    r"|no information|no access|cut-?off|knowledge|training data|real[- ]time|as an ai|sorry"
    r"|apologi[sz]e|future|not yet|hasn['’]t|has not|predict|n/a)\b",
    re.IGNORECASE,
)
_FACTORS = {"k": 1e3, "t": 1e3, "m": 1e6, "b": 1e9}
_CLAIM = re.compile(
    rf"\b(?:cut-?off|knowledge|training|trained|last update[d]?|updated)\b[^.\n]{{0,80}}?"
    rf"\b(?P<month>{_MONTH})(?:\s+of|,)?\s+(?P<year>{_YEAR})",
    re.IGNORECASE,
)


def parse(text: str) -> Reading:
    """Read one answer.

    >>> parse("**$6,424.35**").value, parse("about 43k").value, parse("1 million").value
    (6424.35, 43000.0, 1000000.0)
    >>> parse("0").kind, parse("I cannot provide that.").kind, parse("Up.").kind
    ('zero', 'refusal', 'none')
    """
    words = _UNITS.sub(" ", _DATES.sub(" ", _MARKUP.sub("", _THOUGHT.sub(" ", text))))
    refused = _REFUSAL.search(words) is not None
    for match in _NUMBER.finditer(words):
        if refused and _bare_year(match):
            continue
        value = _value(match)
        if value == 0:
            return Reading("zero")
        # A price below zero is none, and neither is one that no double can hold.
        if match["minus"] or value == float("inf"):
            break
        return Reading("number", value)
    return Reading("refusal" if refused else "none")


def claimed_cutoff(text: str) -> date | None:
    """First day of the month that an answer names as the end of its knowledge; None without.

    >>> claimed_cutoff("As of my last knowledge cutoff in June 2023, I do not know.")
    datetime.date(2023, 6, 1)
    """
    match = _CLAIM.search(_MARKUP.sub("", text))
    if match is None:
        return None
    short = match["month"][:3].lower()
    month = next(i for i, name in enumerate(MONTH_NAMES, 1) if name[:3].lower() == short)
    return date(int(match["year"]), month, 1)


def read(answers: pl.DataFrame) -> pl.DataFrame:
    """Answers with what they say: the frame with columns ``class`` and ``value`` added.

    Parameters
    ----------
    answers
        Any frame with a column ``text``.

    Returns
    -------
    the frame with ``class`` (one of `CLASSES`) and ``value`` (dollars, null but for numbers).
    """
    readings = [parse(text) for text in answers["text"]]
    return answers.with_columns(
        pl.Series("class", [each.kind for each in readings], pl.String),
        pl.Series("value", [each.value for each in readings], pl.Float64),
    )


def _bare_year(match: re.Match[str]) -> bool:
    """Whether a number could just as well be a year, as in "my cutoff is 2023"."""
    bare = not (match["dollar"] or match["suffix"])
    return bare and re.fullmatch(_YEAR, match["number"] or "") is not None


def _value(match: re.Match[str]) -> float:
    if match["european"]:
        number = float(match["european"].replace(".", "").replace(",", "."))
    else:
        number = float(re.sub(r"[^0-9.eE+-]", "", match["number"]))
    suffix = (match["suffix"] or "").lower()
    return number * (_FACTORS[suffix[0]] if suffix else 1.0)

"""What follows from the definitions of the models: sizes, caches, positions."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.models import caches, decoders, encoders, places, recurrent
from remeasure.studies.models.caches import SIZES
from remeasure.studies.models.catalogue import CATALOGUE, counted, shapes
from remeasure.studies.models.parts import PARTS, counts
from remeasure.studies.models.published import answer, merged

MODELS = declare(
    "models of the model room",
    {
        "model": dy.String(unique=True),
        "kind": dy.String(),
        "tensors": dy.Int64(min_exclusive=0),
        "formula": dy.Int64(min_exclusive=0),
        "counted": dy.Int64(min_exclusive=0),
    },
)

PART_COUNTS = declare(
    "parameters by part",
    {
        "model": dy.String(),
        "kind": dy.String(),
        "part": one_of(PARTS),
        "parameters": dy.Int64(min=0),
    },
)

#: What may be kept of a text.
KINDS = ("keys and values", "windows", "latent", "state")

CACHES = declare(
    "what decoders remember",
    {
        "model": dy.String(unique=True),
        "kind": one_of(KINDS),
        "token": dy.Int64(min_exclusive=0, nullable=True),
        "tokens": dy.Int64(min_exclusive=0),
        "text": dy.Int64(min_exclusive=0),
    },
)


class DefinitionsStep(Model):
    """Settings of `measure_definitions`: tokens of the text whose cache is drawn."""

    text: int


def models() -> pl.DataFrame:
    """Formula against count of every model."""
    return pl.DataFrame(
        [
            (each.name, each.kind, len(shapes(each.name)), each.formula(), counted(each.name))
            for each in CATALOGUE
        ],
        schema=list(MODELS.columns),
        orient="row",
    )


def part_counts() -> pl.DataFrame:
    """Parameters of every model by part, parts in order."""
    return pl.DataFrame(
        [
            (each.name, each.kind, part, count)
            for each in CATALOGUE
            for part, count in counts(shapes(each.name)).items()
        ],
        schema=list(PART_COUNTS.columns),
        orient="row",
    )


def cached(text: int) -> pl.DataFrame:
    """Bytes that decoders keep of one token, windows apart, and of a text, 16 bits.

    What a recurrent model keeps is as large after one token as after all.
    """
    rows: list[tuple[str, str, int | None, int, int]] = []
    seen: set[int] = set()
    for name, sizes in SIZES.items():
        if id(sizes) in seen:
            continue
        seen.add(id(sizes))
        kind = "latent" if sizes.latent else "windows" if sizes.window else "keys and values"
        rows.append((name, kind, caches.per_token(name), text, sizes.bytes(text)))
    state = caches.HALF * recurrent.remembered()
    rows.append(("Mamba 130M", "state", None, text, state))
    return pl.DataFrame(rows, schema=list(CACHES.columns), orient="row")


def measure_definitions(
    *, models_table: Path, parts_table: Path, caches_table: Path, settings: DefinitionsStep
) -> list[Measurement]:
    """Step: everything that the definitions of the models say by themselves.

    Parameters
    ----------
    models_table, parts_table, caches_table
        Outputs, Parquet: see `MODELS`, `PART_COUNTS` and `CACHES`.
    """
    write_frame(models(), models_table, MODELS)
    write_frame(part_counts(), parts_table, PART_COUNTS)
    write_frame(cached(settings.text), caches_table, CACHES)
    topics = (encoders, decoders, places, caches, recurrent)
    return answer(merged(*(topic.rules() for topic in topics)))

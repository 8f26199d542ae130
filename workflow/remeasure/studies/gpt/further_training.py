"""The training of the chess model done again with another seed of its weights and windows."""

from __future__ import annotations

from pathlib import Path

from remeasure.studies.gpt.training import TrainingStep, train_model


def train_further(
    *,
    games: Path,
    positions: Path,
    summary: Path,
    weights: Path,
    log: Path,
    training_facts: Path,
    seed: str,
    settings: TrainingStep,
) -> None:
    """Step: train as `train_model` does, but with ``seed``, and answer no row.

    Equal seeds give equal bytes in both steps, and a killed training goes on in both.

    Parameters
    ----------
    games, positions, summary
        Inputs, as for `train_model`.
    weights, log, training_facts
        Outputs, as of `train_model`.
    seed
        Wildcard: a whole number, 0 at least.
    settings
        Of the first training; its own seed counts for nothing here.

    Raises
    ------
    DataError
        When the training diverges, or a GPU is asked for and there is none.
    """
    training = settings.training.model_copy(update={"seed": int(seed)})
    train_model(
        games=games,
        positions=positions,
        summary=summary,
        weights=weights,
        log=log,
        training_facts=training_facts,
        settings=settings.model_copy(update={"training": training}),
    )

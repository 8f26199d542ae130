"""Tables of the study."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.numbers import grouped, rounded
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.gpt.judging import VERDICTS
from remeasure.studies.gpt.published import GPT2, KARVONEN, OURS, keys, printed, rows

#: How tables call models that the article has.
PRINTED = {"ours": OURS, GPT2: GPT2, KARVONEN: KARVONEN}


def tab_gpt_family(*, family_table: Path, table: Path, origin: str) -> None:
    """Sizes of five models.

    Parameters
    ----------
    family_table
        Parquet, as ``closed_forms.FAMILY``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(family_table)
    counted = frame["stored"].null_count() == 0
    columns = [
        Column(name="model", title="model"),
        *(Column(name=each, title=each) for each in ("layers", "width", "heads", "context")),
        Column(name="vocabulary", title="vocabulary"),
        Column(name="stored", title="numbers stored"),
    ]
    note = "" if counted else "Numbers stored are read from the hub: this run named no source."
    fragment = html_table(frame, caption="Models of the GPT family", columns=columns, note=note)
    table.write_text(fragment, "utf-8")


def tab_param_formula(*, family_table: Path, table: Path, origin: str) -> None:
    """Parameters by the formula, and what files store beyond them.

    Parameters
    ----------
    family_table
        Parquet, as ``closed_forms.FAMILY``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(family_table).with_columns(
        pl.Series(
            "printed",
            [
                int(printed("tab_param_formula", "by the formula", name))
                for name in read_frame(family_table)["model"]
            ],
        )
    )
    fragment = html_table(
        frame,
        caption="Learned numbers by the formula, and causal masks stored beside them",
        columns=[
            Column(name="model", title="model"),
            Column(name="formula", title="by the formula"),
            Column(name="printed", title="printed"),
            Column(name="gap", title="stored beyond it"),
            Column(name="masks", title="one mask a layer"),
        ],
        note="GPT-1 has no last norm: its gap is 2 d = 1,536 short of its masks.",
    )
    table.write_text(fragment, "utf-8")


def tab_time_control(*, summary: Path, table: Path, origin: str) -> None:
    """Games by time control.

    Parameters
    ----------
    summary
        JSON, as ``games.clean_games`` writes it.
    table
        Output: a fragment of HTML.
    """
    facts = read_json(summary)
    published = {
        key[2].partition(";")[0]: int(rows()[key].published)
        for key in keys("tab_time_control", "games")
    }
    lines = [
        (name, facts["time_controls"][name], count)
        for name, count in [*published.items()]
        if name in facts["time_controls"]
    ]
    lines.append(("all", sum(facts["time_controls"].values()), sum(published.values())))
    frame = pl.DataFrame(lines, schema=["control", "games", "published"], orient="row")
    fragment = html_table(
        frame,
        caption="Games by time control",
        columns=[
            Column(name="control", title="time control"),
            Column(name="games", title="games here"),
            Column(name="published", title="published file"),
        ],
        note=f"{grouped(str(facts['read']))} games read, {grouped(str(facts['kept']))} kept.",
    )
    table.write_text(fragment, "utf-8")


def tab_gpt2_verdicts(*, shares: Path, table: Path, origin: str) -> None:
    """Verdicts on GPT-2's moves.

    Parameters
    ----------
    shares
        Parquet, as ``move_tables.SHARES``.
    table
        Output: a fragment of HTML.
    """
    own = read_frame(shares).filter(pl.col("model") == GPT2)
    found = {row["what"]: row for row in own.iter_rows(named=True)}
    lines = [
        (
            key[2],
            found[key[2]]["share"] if key[2] in found else None,
            _ends(found.get(key[2])),
            printed(*key),
        )
        for key in keys("tab_gpt2_verdicts")
    ]
    schema = {
        "verdict": pl.String,
        "share": pl.Float64,
        "ends": pl.String,
        "published": pl.Float64,
    }
    fragment = html_table(
        pl.DataFrame(lines, schema=schema, orient="row"),
        caption="Verdicts on GPT-2's likeliest moves",
        columns=[
            Column(name="verdict", title="verdict"),
            Column(name="share", title="share", decimals=2),
            Column(name="ends", title="95% interval"),
            Column(name="published", title="published", decimals=2),
        ],
        note="" if found else "GPT-2's checkpoint was not at hand: nothing was measured.",
    )
    table.write_text(fragment, "utf-8")


def tab_training_log(*, log: Path, table: Path, origin: str) -> None:
    """Loss and legal moves at the steps that were tested.

    Parameters
    ----------
    log
        Parquet, as ``training.LOG``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(log).drop_nulls("legal")
    frame = frame.with_columns(
        pl.Series("ends", [_ends(row) for row in frame.iter_rows(named=True)]),
        pl.col("legal") * 100,
    )
    fragment = html_table(
        frame,
        caption="Training of the chess model",
        columns=[
            Column(name="step", title="step"),
            Column(name="loss", title="loss", unit="nats a character", decimals=3),
            Column(name="legal", title="legal moves", unit="%", decimals=1),
            Column(name="ends", title="95% interval", unit="share"),
        ],
        note=_published_training(),
    )
    table.write_text(fragment, "utf-8")


def _published_training() -> str:
    """The first and the last line of the published log."""
    pairs = [
        (loss, legal)
        for loss, legal in zip(
            keys("tab_training_log", "loss"), keys("tab_training_log", "legal moves"), strict=True
        )
    ]
    said = [
        f"{rows()[loss].published} and {rows()[legal].published}% at {loss[2]}"
        for loss, legal in (pairs[0], pairs[-1])
    ]
    return f"Published, at full size: {said[0]}, {said[1]}."


def tab_verdicts_by_model(*, shares: Path, table: Path, origin: str) -> None:
    """Shares of verdicts by model, published ones below.

    Parameters
    ----------
    shares
        Parquet, as ``move_tables.SHARES``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(shares)
    lines: list[list[str | None]] = []
    for (name,), own in frame.group_by("model", maintain_order=True):
        found = {row["what"]: row for row in own.iter_rows(named=True)}
        label = "ours (this run)" if name == "ours" else f"{name} (this run)"
        cells = [f"{found[each]['share']:.3f} ({_ends(found[each])})" for each in VERDICTS]
        lines.append([label, *cells])
    for name in (GPT2, OURS, KARVONEN):
        cells = [
            rows()["tab_verdicts_by_model", "share", f"{each}; {name}"].published
            for each in VERDICTS
        ]
        lines.append([f"{name} (published)", *cells])
    names = ["model", *VERDICTS]
    fragment = html_table(
        pl.DataFrame(lines, schema=dict.fromkeys(names, pl.String), orient="row"),
        caption="Verdicts on the likeliest moves, shares with 95% intervals",
        columns=[Column(name=name, title=name) for name in names],
        note=f"{frame['n'][0]} positions of unseen games; the published ones are other games.",
    )
    table.write_text(fragment, "utf-8")


def tab_legal_gaps(*, gaps: Path, shown: Path, table: Path, origin: str) -> None:
    """What training adds to initial weights and to counting, in legal moves and in the probe.

    Parameters
    ----------
    gaps
        Parquet, as ``move_tables.GAPS``.
    shown
        JSON, as ``probes.measure_probes`` writes it.
    table
        Output: a fragment of HTML.
    """
    gap = read_json(shown)["gap"]
    lines = [
        (f"legal moves: ours less {row['less']}", row["gap"], _ends(row))
        for row in read_frame(gaps).iter_rows(named=True)
    ]
    lines.append(("occupied squares, best layers: ours less untrained", gap["value"], _ends(gap)))
    schema = {"what": pl.String, "gap": pl.Float64, "ends": pl.String}
    fragment = html_table(
        pl.DataFrame(lines, schema=schema, orient="row"),
        caption="What training adds",
        columns=[
            Column(name="what", title="difference of shares"),
            Column(name="gap", title="difference", decimals=3),
            Column(name="ends", title="95% interval"),
        ],
        note="Positions, and games of the probes, are resampled for both models together.",
    )
    table.write_text(fragment, "utf-8")


def tab_games_vs_random(*, played: Path, table: Path, origin: str) -> None:
    """How games against the random mover end.

    Parameters
    ----------
    played
        Parquet, as ``arena.PLAYED``.
    table
        Output: a fragment of HTML.
    """
    frame = read_frame(played)
    results = ["1-0", "1/2-1/2", "forfeit", "unfinished", "0-1"]
    lines: list[list[str]] = []
    for (name,), own in frame.group_by("model", maintain_order=True):
        cells = [str(int((own["result"] == each).sum())) for each in results]
        tries = rounded(float(own["illegal"].cast(pl.Float64).sum()) / own.height, 3)
        lines.append([f"{name} (this run)", str(own.height), *cells, tries])
    for name in (OURS, KARVONEN):
        wanted = [f"games ending {each}" for each in results]
        cells = [rows()["tab_games_vs_random", each, name].published for each in wanted]
        tries = rows()["tab_games_vs_random", "illegal tries per game", name].published
        games = rows()["tab_games_vs_random", "games per model", "setting"].published
        lines.append([f"{name} (published)", games, *cells, tries])
    names = ["model", "games", *results, "illegal tries a game"]
    fragment = html_table(
        pl.DataFrame(lines, schema=dict.fromkeys(names, pl.String), orient="row"),
        caption="Games as White against a random mover",
        columns=[Column(name=name, title=name) for name in names],
    )
    table.write_text(fragment, "utf-8")


def tab_probe_best(*, accuracy: Path, table: Path, origin: str) -> None:
    """The best layer of each model, published ones below.

    Parameters
    ----------
    accuracy
        Parquet, as ``probes.ACCURACY``.
    table
        Output: a fragment of HTML.
    """
    measures = ("all squares", "occupied squares", "whole board right")
    best = read_frame(accuracy).filter("best")
    lines: list[list[str]] = []
    for (name,), own in best.group_by("model", maintain_order=True):
        found = {row["measure"]: row for row in own.iter_rows(named=True)}
        cells = [f"{found[each]['value']:.3f} ({_ends(found[each])})" for each in measures]
        lines.append([f"{name} (this run)", str(own["layer"][0]), *cells])
    for name in ("untrained", OURS, KARVONEN):
        cells = [
            rows()["tab_probe_best", each, name].published for each in ("best layer", *measures)
        ]
        lines.append([f"{name} (published)", *cells])
    names = ["model", "best layer", *measures]
    fragment = html_table(
        pl.DataFrame(lines, schema=dict.fromkeys(names, pl.String), orient="row"),
        caption="Probes at the best layer, shares with 95% intervals over games",
        columns=[Column(name=name, title=name) for name in names],
    )
    table.write_text(fragment, "utf-8")


def cited_frame() -> pl.DataFrame:
    """Quoted facts as text, one a row: fact, value, unit, source."""
    facts = [
        (
            row.quantity,
            row.published if row.unit == "date" else grouped(row.published),
            row.unit,
            row.source,
        )
        for row in rows().values()
        if row.kind == "cited"
    ]
    names = ("fact", "value", "unit", "source")
    return pl.DataFrame(facts, schema=dict.fromkeys(names, pl.String), orient="row")


def stat_cited(*, table: Path, origin: str) -> None:
    """The table of quoted facts.

    Parameters
    ----------
    table
        Output: a fragment of HTML.
    """
    frame = cited_frame()
    fragment = html_table(
        frame,
        caption="Facts that the article quotes from elsewhere, as it prints them",
        columns=[Column(name=name, title=name) for name in frame.columns],
        note=f"{frame.height} facts, none of them measured here.",
    )
    table.write_text(fragment, "utf-8")


def _ends(row: dict[str, float] | None) -> str:
    """An interval as a cell shows it."""
    return "" if row is None else f"{row['low']:.3f} to {row['high']:.3f}"

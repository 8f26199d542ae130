# Game theory and justice: the study's part of the graph. No data enter, so every
# measuring step stands at its beginning, and figures and tables hang on each alone.
#
# Every rule names one step; the names of its files are the step's parameters.

from remeasure.plan import Caption
from remeasure.studies.game_theory import drawn as GAME_THEORY_DRAWN

GAME_THEORY_RESULTS = f"{PLAN.results}/game_theory"
GAME_THEORY_MEASURED = f"{GAME_THEORY_RESULTS}/measurements"
GAME_THEORY_FIGURES = f"{PLAN.reports}/game_theory/figures"
GAME_THEORY_TABLES = f"{PLAN.reports}/game_theory/tables"

# Measuring steps: module and function, and what each writes beside its measurements.
GAME_THEORY_STEPS = {
    "dilemma:measure_dilemma": {"game": "dilemma.json", "curves": "shadow.parquet"},
    "tournament:measure_tournament": {
        "table": "tournament.parquet",
        "pairs": "tournament_pairs.parquet",
        "lengths": "tournament_lengths.parquet",
    },
    "echo:measure_echo": {"table": "echo.parquet"},
    "forgiveness:measure_forgiveness": {"table": "forgiveness.parquet"},
    "cycles:measure_cycles": {
        "paths": "cycles_paths.parquet",
        "averages": "cycles.parquet",
        "tried": "cycles_tried.parquet",
    },
    "reputation:measure_reputation": {"table": "reputation.parquet"},
    "stag_hunt:measure_stag": {"curves": "stag.parquet", "points": "stag.json"},
}

for step, written in GAME_THEORY_STEPS.items():

    rule:
        name:
            f"game_theory_{step.partition(':')[0]}"
        output:
            **{name: f"{GAME_THEORY_RESULTS}/{file}" for name, file in written.items()},
            measurements=f"{GAME_THEORY_MEASURED}/{step.partition(':')[0]}.parquet",
        log:
            f"{PLAN.logs}/game_theory_{step.partition(':')[0]}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.game_theory.{step}"),
        shell:
            PLAN.shell


# All figures and tables are drawn by one rule, for starting Python costs more than drawing one;
# what each is drawn from stands in drawn.py. A target of its own, without a command, stands for
# each: snakemake --cores 1 game_theory_fig_dilemma
rule game_theory_draw_all:
    input:
        results=[f"{GAME_THEORY_RESULTS}/{file}" for file in GAME_THEORY_DRAWN.RESULTS],
    output:
        light_svg=expand(
            f"{GAME_THEORY_FIGURES}/{{figure}}.light.svg", figure=GAME_THEORY_DRAWN.FIGURES
        ),
        light_png=[
            report(
                f"{GAME_THEORY_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="game_theory",
                labels={"output": figure},
            )
            for figure in GAME_THEORY_DRAWN.FIGURES
        ],
        dark_svg=expand(
            f"{GAME_THEORY_FIGURES}/{{figure}}.dark.svg", figure=GAME_THEORY_DRAWN.FIGURES
        ),
        dark_png=expand(
            f"{GAME_THEORY_FIGURES}/{{figure}}.dark.png", figure=GAME_THEORY_DRAWN.FIGURES
        ),
        csv=expand(f"{GAME_THEORY_FIGURES}/{{figure}}.csv", figure=GAME_THEORY_DRAWN.FIGURES),
        alt=expand(f"{GAME_THEORY_FIGURES}/{{figure}}.alt.txt", figure=GAME_THEORY_DRAWN.FIGURES),
        tables=[
            report(
                f"{GAME_THEORY_TABLES}/{table}.html",
                caption=CAPTION,
                category="game_theory",
                labels={"output": table},
            )
            for table in GAME_THEORY_DRAWN.TABLES
        ],
    log:
        f"{PLAN.logs}/game_theory_draw_all.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.game_theory.figures:draw_all"),
        caption=Caption(
            "\n\n".join(
                str(PLAN.caption("game_theory", output))
                for output in (*GAME_THEORY_DRAWN.FIGURES, *GAME_THEORY_DRAWN.TABLES)
            )
        ),
    shell:
        PLAN.shell


for figure in GAME_THEORY_DRAWN.FIGURES:

    rule:
        name:
            f"game_theory_{figure}"
        input:
            expand(
                f"{GAME_THEORY_FIGURES}/{figure}.{{part}}",
                part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
            ),


for table in GAME_THEORY_DRAWN.TABLES:

    rule:
        name:
            f"game_theory_{table}"
        input:
            f"{GAME_THEORY_TABLES}/{table}.html",


MEASUREMENTS["game_theory"] = [
    f"{GAME_THEORY_MEASURED}/{step.partition(':')[0]}.parquet" for step in GAME_THEORY_STEPS
]
ARTEFACTS["game_theory"] = [
    f"{GAME_THEORY_RESULTS}/{file}"
    for written in GAME_THEORY_STEPS.values()
    for file in written.values()
]
FIGURES["game_theory"] = expand(
    f"{GAME_THEORY_FIGURES}/{{figure}}.{{part}}",
    figure=GAME_THEORY_DRAWN.FIGURES,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["game_theory"] = [f"{GAME_THEORY_TABLES}/{table}.html" for table in GAME_THEORY_DRAWN.TABLES]

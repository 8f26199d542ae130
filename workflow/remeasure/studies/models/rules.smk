# The models themselves: the page's part of the graph. No data enter, so the measuring steps
# stand at its beginning, and figures and tables hang on each alone.
#
# Every rule names one step; the names of its files are the step's parameters.

from remeasure.studies.models import drawn as MODELS_DRAWN

MODELS_RESULTS = f"{PLAN.results}/models"
MODELS_MEASURED = f"{MODELS_RESULTS}/measurements"
MODELS_FIGURES = f"{PLAN.reports}/models/figures"
MODELS_TABLES = f"{PLAN.reports}/models/tables"

# Measuring steps: module and function, and what each writes beside its measurements.
MODELS_STEPS = {
    "definitions:measure_definitions": {
        "models_table": "models.parquet",
        "parts_table": "parts.parquet",
        "caches_table": "caches.parquet",
    },
    "parity:measure_parity": {"parity_table": "parity.parquet"},
}

for step, written in MODELS_STEPS.items():

    rule:
        name:
            f"models_{step.partition(':')[0]}"
        output:
            **{name: f"{MODELS_RESULTS}/{file}" for name, file in written.items()},
            measurements=f"{MODELS_MEASURED}/{step.partition(':')[0]}.parquet",
        log:
            f"{PLAN.logs}/models_{step.partition(':')[0]}.log",
        priority: 15
        threads: 1
        resources:
            mem_mb=2000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.models.{step}"),
        shell:
            PLAN.shell


# One rule a figure and one a table: what each draws from stands in drawn.py.
for figure, drawn_from in MODELS_DRAWN.FIGURES.items():

    rule:
        name:
            f"models_{figure}"
        input:
            **{name: f"{MODELS_RESULTS}/{file}" for name, file in drawn_from},
        output:
            light_svg=f"{MODELS_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{MODELS_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="models",
                labels={"output": figure},
            ),
            dark_svg=f"{MODELS_FIGURES}/{figure}.dark.svg",
            dark_png=f"{MODELS_FIGURES}/{figure}.dark.png",
            csv=f"{MODELS_FIGURES}/{figure}.csv",
            alt=f"{MODELS_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/models_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.models.{MODELS_DRAWN.module_of(figure)}:{figure}"),
            caption=PLAN.caption("models", figure),
        shell:
            PLAN.shell


for table, drawn_from in MODELS_DRAWN.TABLES.items():

    rule:
        name:
            f"models_{table}"
        input:
            **{name: f"{MODELS_RESULTS}/{file}" for name, file in drawn_from},
        output:
            table=report(
                f"{MODELS_TABLES}/{table}.html",
                caption=CAPTION,
                category="models",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/models_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.models.{MODELS_DRAWN.module_of(table)}:{table}"),
            caption=PLAN.caption("models", table),
        shell:
            PLAN.shell


MEASUREMENTS["models"] = [
    f"{MODELS_MEASURED}/{step.partition(':')[0]}.parquet" for step in MODELS_STEPS
]
ARTEFACTS["models"] = [
    f"{MODELS_RESULTS}/{file}" for written in MODELS_STEPS.values() for file in written.values()
]
FIGURES["models"] = expand(
    f"{MODELS_FIGURES}/{{figure}}.{{part}}",
    figure=MODELS_DRAWN.FIGURES,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["models"] = [f"{MODELS_TABLES}/{table}.html" for table in MODELS_DRAWN.TABLES]

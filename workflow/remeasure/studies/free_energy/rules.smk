# The free energy principle: the study's part of the graph. No data enter, so every
# measuring step stands at its beginning, and figures and tables hang on each alone.
#
# Every rule names one step; the names of its files are the step's parameters.

from remeasure.studies.free_energy import drawn as FREE_ENERGY_DRAWN

FREE_ENERGY_RESULTS = f"{PLAN.results}/free_energy"
FREE_ENERGY_MEASURED = f"{FREE_ENERGY_RESULTS}/measurements"
FREE_ENERGY_FIGURES = f"{PLAN.reports}/free_energy/figures"
FREE_ENERGY_TABLES = f"{PLAN.reports}/free_energy/tables"

# Measuring steps: module and function, and what each writes beside its measurements.
FREE_ENERGY_STEPS = {
    "bound:measure_bound": {"table": "bound.parquet", "summary": "bound.json"},
    "descent:measure_descent": {
        "paths": "descent.parquet",
        "density": "posterior.parquet",
        "summary": "descent.json",
    },
    "policies:measure_policies": {"table": "policies.parquet"},
    "forms:measure_forms": {"forms_file": "forms.json"},
}

for step, written in FREE_ENERGY_STEPS.items():

    rule:
        name:
            f"free_energy_{step.partition(':')[0]}"
        output:
            **{name: f"{FREE_ENERGY_RESULTS}/{file}" for name, file in written.items()},
            measurements=f"{FREE_ENERGY_MEASURED}/{step.partition(':')[0]}.parquet",
        log:
            f"{PLAN.logs}/free_energy_{step.partition(':')[0]}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.free_energy.{step}"),
        shell:
            PLAN.shell


# One rule a figure and one a table: what each draws from stands in drawn.py.
for figure, drawn_from in FREE_ENERGY_DRAWN.FIGURES.items():

    rule:
        name:
            f"free_energy_{figure}"
        input:
            **{name: f"{FREE_ENERGY_RESULTS}/{file}" for name, file in drawn_from},
        output:
            light_svg=f"{FREE_ENERGY_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{FREE_ENERGY_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="free_energy",
                labels={"output": figure},
            ),
            dark_svg=f"{FREE_ENERGY_FIGURES}/{figure}.dark.svg",
            dark_png=f"{FREE_ENERGY_FIGURES}/{figure}.dark.png",
            csv=f"{FREE_ENERGY_FIGURES}/{figure}.csv",
            alt=f"{FREE_ENERGY_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/free_energy_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.free_energy.{FREE_ENERGY_DRAWN.module_of(figure)}:{figure}"),
            caption=PLAN.caption("free_energy", figure),
        shell:
            PLAN.shell


for table, drawn_from in FREE_ENERGY_DRAWN.TABLES.items():

    rule:
        name:
            f"free_energy_{table}"
        input:
            **{name: f"{FREE_ENERGY_RESULTS}/{file}" for name, file in drawn_from},
        output:
            table=report(
                f"{FREE_ENERGY_TABLES}/{table}.html",
                caption=CAPTION,
                category="free_energy",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/free_energy_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.free_energy.{FREE_ENERGY_DRAWN.module_of(table)}:{table}"),
            caption=PLAN.caption("free_energy", table),
        shell:
            PLAN.shell


MEASUREMENTS["free_energy"] = [
    f"{FREE_ENERGY_MEASURED}/{step.partition(':')[0]}.parquet" for step in FREE_ENERGY_STEPS
]
ARTEFACTS["free_energy"] = [
    f"{FREE_ENERGY_RESULTS}/{file}"
    for written in FREE_ENERGY_STEPS.values()
    for file in written.values()
]
FIGURES["free_energy"] = expand(
    f"{FREE_ENERGY_FIGURES}/{{figure}}.{{part}}",
    figure=FREE_ENERGY_DRAWN.FIGURES,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["free_energy"] = [f"{FREE_ENERGY_TABLES}/{table}.html" for table in FREE_ENERGY_DRAWN.TABLES]

# The free energy principle: the study's part of the graph. No data enter, so every
# measuring step stands at its beginning, and figures and tables hang on each alone.
#
# Every rule names one step; the names of its files are the step's parameters.

from remeasure.plan import Caption
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


# All figures and tables are drawn by one rule, for starting Python costs more than drawing one;
# what each is drawn from stands in drawn.py. A target of its own, without a command, stands for
# each: snakemake --cores 1 free_energy_fig_decompose
rule free_energy_draw_all:
    input:
        results=[f"{FREE_ENERGY_RESULTS}/{file}" for file in FREE_ENERGY_DRAWN.RESULTS],
    output:
        light_svg=expand(
            f"{FREE_ENERGY_FIGURES}/{{figure}}.light.svg", figure=FREE_ENERGY_DRAWN.FIGURES
        ),
        light_png=[
            report(
                f"{FREE_ENERGY_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="free_energy",
                labels={"output": figure},
            )
            for figure in FREE_ENERGY_DRAWN.FIGURES
        ],
        dark_svg=expand(
            f"{FREE_ENERGY_FIGURES}/{{figure}}.dark.svg", figure=FREE_ENERGY_DRAWN.FIGURES
        ),
        dark_png=expand(
            f"{FREE_ENERGY_FIGURES}/{{figure}}.dark.png", figure=FREE_ENERGY_DRAWN.FIGURES
        ),
        csv=expand(f"{FREE_ENERGY_FIGURES}/{{figure}}.csv", figure=FREE_ENERGY_DRAWN.FIGURES),
        alt=expand(f"{FREE_ENERGY_FIGURES}/{{figure}}.alt.txt", figure=FREE_ENERGY_DRAWN.FIGURES),
        tables=[
            report(
                f"{FREE_ENERGY_TABLES}/{table}.html",
                caption=CAPTION,
                category="free_energy",
                labels={"output": table},
            )
            for table in FREE_ENERGY_DRAWN.TABLES
        ],
    log:
        f"{PLAN.logs}/free_energy_draw_all.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.free_energy.figures:draw_all"),
        caption=Caption(
            "\n\n".join(
                str(PLAN.caption("free_energy", output))
                for output in (*FREE_ENERGY_DRAWN.FIGURES, *FREE_ENERGY_DRAWN.TABLES)
            )
        ),
    shell:
        PLAN.shell


for figure in FREE_ENERGY_DRAWN.FIGURES:

    rule:
        name:
            f"free_energy_{figure}"
        input:
            expand(
                f"{FREE_ENERGY_FIGURES}/{figure}.{{part}}",
                part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
            ),


for table in FREE_ENERGY_DRAWN.TABLES:

    rule:
        name:
            f"free_energy_{table}"
        input:
            f"{FREE_ENERGY_TABLES}/{table}.html",


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

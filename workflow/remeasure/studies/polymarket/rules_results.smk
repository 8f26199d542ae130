# From tables to results, figures and the ledger: what each step reads and writes stands in
# drawn.py.


def polymarket_place(file):
    """Where a file named in drawn.py lies: tables of features, else results."""
    folder = POLYMARKET_FEATURES if file in POLYMARKET_DRAWN.FEATURES else POLYMARKET_RESULTS
    return f"{folder}/{file}"


def polymarket_inputs(names):
    """Inputs of a step by parameter, without those that this origin does not have."""
    files = POLYMARKET.origin == "files"
    absent = POLYMARKET_DRAWN.NEVER_FILES if files else POLYMARKET_DRAWN.ONLY_FILES
    return {
        name: polymarket_place(file)
        for name, file in names
        if file not in absent and (name != "truth" or POLYMARKET_TRUTH)
    }


POLYMARKET_STEPS = {
    **POLYMARKET_DRAWN.RESULTS,
    **(POLYMARKET_DRAWN.FILES_RESULTS if POLYMARKET.origin == "files" else {}),
}

# Steps that take long although they wait for nothing.
POLYMARKET_LONG = {"intervals": 60, "synthetic": 15}


for experiment, (step, reads, writes) in POLYMARKET_DRAWN.EXPERIMENTS.items():

    rule:
        name:
            f"polymarket_{experiment}"
        input:
            **polymarket_inputs(reads),
        output:
            **{name: polymarket_place(file) for name, file in writes},
            measurements=f"{POLYMARKET_MEASURED}/{experiment}.parquet",
        log:
            f"{PLAN.logs}/polymarket_{experiment}.log",
        priority: POLYMARKET_LONG.get(experiment, 0)
        threads: 1
        resources:
            mem_mb=2000,
            runtime=15,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.polymarket.{step}"),
        shell:
            PLAN.shell


for result, (step, reads, writes) in POLYMARKET_STEPS.items():

    rule:
        name:
            f"polymarket_{result}"
        input:
            **polymarket_inputs(reads),
        output:
            **{name: polymarket_place(file) for name, file in writes},
        log:
            f"{PLAN.logs}/polymarket_{result}.log",
        threads: 1
        resources:
            mem_mb=2000,
            runtime=15,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.polymarket.{step}"),
        shell:
            PLAN.shell


# One rule a figure and one a table.
for figure, drawn_from in POLYMARKET_DRAWN.FIGURES.items():

    rule:
        name:
            f"polymarket_{figure}"
        input:
            **polymarket_inputs(drawn_from),
        output:
            light_svg=f"{POLYMARKET_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{POLYMARKET_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="polymarket",
                labels={"output": figure},
            ),
            dark_svg=f"{POLYMARKET_FIGURES}/{figure}.dark.svg",
            dark_png=f"{POLYMARKET_FIGURES}/{figure}.dark.png",
            csv=f"{POLYMARKET_FIGURES}/{figure}.csv",
            alt=f"{POLYMARKET_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/polymarket_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.polymarket.{POLYMARKET_DRAWN.module_of(figure)}:{figure}"),
            caption=PLAN.caption("polymarket", figure),
        shell:
            PLAN.shell


for table, drawn_from in POLYMARKET_DRAWN.TABLES.items():

    rule:
        name:
            f"polymarket_{table}"
        input:
            **polymarket_inputs(drawn_from),
        output:
            table=report(
                f"{PLAN.reports}/polymarket/tables/{table}.html",
                caption=CAPTION,
                category="polymarket",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/polymarket_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.polymarket.{POLYMARKET_DRAWN.module_of(table)}:{table}"),
            caption=PLAN.caption("polymarket", table),
        shell:
            PLAN.shell


MEASUREMENTS["polymarket"] = [
    f"{POLYMARKET_MEASURED}/{experiment}.parquet" for experiment in POLYMARKET_DRAWN.EXPERIMENTS
]
ARTEFACTS["polymarket"] = [
    *POLYMARKET_WORLD.values(),
    *POLYMARKET_TRUTH.values(),
    *POLYMARKET_TABLES,
]
FIGURES["polymarket"] = expand(
    f"{POLYMARKET_FIGURES}/{{figure}}.{{part}}",
    figure=POLYMARKET_DRAWN.FIGURES,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["polymarket"] = [
    f"{PLAN.reports}/polymarket/tables/{table}.html" for table in POLYMARKET_DRAWN.TABLES
]

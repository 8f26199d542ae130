# Theories of consciousness: the study's part of the graph.
#
#   facts, shares, squares ─┬─ figures, tables
#   surface of a package ───┴─ figure with brains
#
# Figures share few rules, for starting Python costs more than drawing one. A target of its own,
# without a command, stands for each: snakemake --cores 1 consciousness_fig_survey

from remeasure.plan import Caption
from remeasure.studies.consciousness import drawn as CONSCIOUSNESS_DRAWN

CONSCIOUSNESS_RESULTS = f"{PLAN.results}/consciousness"
CONSCIOUSNESS_FIGURES = f"{PLAN.reports}/consciousness/figures"
CONSCIOUSNESS_TABLES = [
    f"{PLAN.reports}/consciousness/tables/{table}.html" for table in CONSCIOUSNESS_DRAWN.TABLES
]
CONSCIOUSNESS_PARTS = ("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt")


rule consciousness_essay:
    output:
        table=f"{CONSCIOUSNESS_RESULTS}/facts.parquet",
        grids=f"{CONSCIOUSNESS_RESULTS}/squares.parquet",
        counted=f"{CONSCIOUSNESS_RESULTS}/shares.parquet",
        measurements=f"{CONSCIOUSNESS_RESULTS}/measurements/essay.parquet",
    log:
        f"{PLAN.logs}/consciousness_essay.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.consciousness.essay:measure_essay"),
    shell:
        PLAN.shell


rule consciousness_surfaces:
    output:
        points=f"{CONSCIOUSNESS_RESULTS}/surface.parquet",
        triangles=f"{CONSCIOUSNESS_RESULTS}/triangles.parquet",
        regions=f"{CONSCIOUSNESS_RESULTS}/regions.parquet",
        manifest=f"{PLAN.features}/consciousness_surface.manifest.json",
    log:
        f"{PLAN.logs}/consciousness_surfaces.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.consciousness.surfaces:read_surfaces"),
    shell:
        PLAN.shell


for sheet, (drawn_from, figures) in CONSCIOUSNESS_DRAWN.SHEETS.items():

    rule:
        name:
            f"consciousness_{sheet.partition(':')[2]}"
        input:
            **{name: f"{CONSCIOUSNESS_RESULTS}/{file}" for name, file in drawn_from},
        output:
            light_svg=expand(f"{CONSCIOUSNESS_FIGURES}/{{figure}}.light.svg", figure=figures),
            light_png=[
                report(
                    f"{CONSCIOUSNESS_FIGURES}/{figure}.light.png",
                    caption=CAPTION,
                    category="consciousness",
                    labels={"output": figure},
                )
                for figure in figures
            ],
            dark_svg=expand(f"{CONSCIOUSNESS_FIGURES}/{{figure}}.dark.svg", figure=figures),
            dark_png=expand(f"{CONSCIOUSNESS_FIGURES}/{{figure}}.dark.png", figure=figures),
            csv=expand(f"{CONSCIOUSNESS_FIGURES}/{{figure}}.csv", figure=figures),
            alt=expand(f"{CONSCIOUSNESS_FIGURES}/{{figure}}.alt.txt", figure=figures),
        log:
            f"{PLAN.logs}/consciousness_{sheet.partition(':')[2]}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.consciousness.{sheet}"),
            caption=Caption(
                "\n\n".join(str(PLAN.caption("consciousness", figure)) for figure in figures)
            ),
        shell:
            PLAN.shell


rule consciousness_tables:
    input:
        table=f"{CONSCIOUSNESS_RESULTS}/facts.parquet",
        counted=f"{CONSCIOUSNESS_RESULTS}/shares.parquet",
    output:
        tables=[
            report(
                path,
                caption=CAPTION,
                category="consciousness",
                labels={"output": table},
            )
            for table, path in zip(CONSCIOUSNESS_DRAWN.TABLES, CONSCIOUSNESS_TABLES)
        ],
    log:
        f"{PLAN.logs}/consciousness_tables.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.consciousness.tables:write_tables"),
        caption=Caption(
            "\n\n".join(
                str(PLAN.caption("consciousness", table)) for table in CONSCIOUSNESS_DRAWN.TABLES
            )
        ),
    shell:
        PLAN.shell


for figure in CONSCIOUSNESS_DRAWN.FIGURES:

    rule:
        name:
            f"consciousness_{figure}"
        input:
            expand(
                f"{CONSCIOUSNESS_FIGURES}/{figure}.{{part}}",
                part=CONSCIOUSNESS_PARTS,
            ),


for table, path in zip(CONSCIOUSNESS_DRAWN.TABLES, CONSCIOUSNESS_TABLES):

    rule:
        name:
            f"consciousness_{table}"
        input:
            path,


MEASUREMENTS["consciousness"] = [f"{CONSCIOUSNESS_RESULTS}/measurements/essay.parquet"]
ARTEFACTS["consciousness"] = [
    f"{CONSCIOUSNESS_RESULTS}/{name}.parquet"
    for name in ("facts", "squares", "shares", "surface", "triangles", "regions")
]
FIGURES["consciousness"] = expand(
    f"{CONSCIOUSNESS_FIGURES}/{{figure}}.{{part}}",
    figure=CONSCIOUSNESS_DRAWN.FIGURES,
    part=CONSCIOUSNESS_PARTS,
)
TABLES["consciousness"] = CONSCIOUSNESS_TABLES

# The brain and models: the study's part of the graph.
#
#   facts, model, maps, conversions ─┬─ figures, tables
#   surfaces of a package ───────────┼─ figures with brains
#   language atlas (where asked for) ┴─ its figure
#
# Figures share few rules, for starting Python costs more than drawing one. A target of its own,
# without a command, stands for each: snakemake --cores 1 brain_ai_fig_energy

from remeasure.plan import Caption
from remeasure.studies.brain_ai import drawn as BRAIN_AI_DRAWN

BRAIN_AI_ATLAS = PLAN.config.section("brain_ai").atlas
BRAIN_AI_SHEETS = BRAIN_AI_DRAWN.sheets(BRAIN_AI_ATLAS)
BRAIN_AI_DRAWINGS = [figure for _, figures in BRAIN_AI_SHEETS.values() for figure in figures]
BRAIN_AI_RESULTS = f"{PLAN.results}/brain_ai"
BRAIN_AI_FIGURES = f"{PLAN.reports}/brain_ai/figures"
BRAIN_AI_TABLES = [
    f"{PLAN.reports}/brain_ai/tables/{table}.html" for table in BRAIN_AI_DRAWN.TABLES
]
BRAIN_AI_PARTS = ("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt")


rule brain_ai_essay:
    output:
        table=f"{BRAIN_AI_RESULTS}/facts.parquet",
        errors_table=f"{BRAIN_AI_RESULTS}/errors.parquet",
        maps_table=f"{BRAIN_AI_RESULTS}/maps.parquet",
        derived=f"{BRAIN_AI_RESULTS}/conversions.parquet",
        measurements=f"{BRAIN_AI_RESULTS}/measurements/essay.parquet",
    log:
        f"{PLAN.logs}/brain_ai_essay.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.brain_ai.essay:measure_essay"),
    shell:
        PLAN.shell


rule brain_ai_surfaces:
    output:
        points=f"{BRAIN_AI_RESULTS}/surfaces.parquet",
        triangles=f"{BRAIN_AI_RESULTS}/triangles.parquet",
        regions=f"{BRAIN_AI_RESULTS}/regions.parquet",
        plane=f"{BRAIN_AI_RESULTS}/slice.parquet",
        manifest=f"{PLAN.features}/brain_ai_surfaces.manifest.json",
    log:
        f"{PLAN.logs}/brain_ai_surfaces.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.brain_ai.surfaces:read_surfaces"),
    shell:
        PLAN.shell


if BRAIN_AI_ATLAS != "none":

    rule brain_ai_fetch_atlas:
        output:
            manifest=f"{PLAN.features}/brain_ai_atlas.manifest.json",
        log:
            f"{PLAN.logs}/brain_ai_fetch_atlas.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=60,
            host_evlabwebapps_mit_edu=1,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.brain_ai.atlas:fetch_atlas"),
        shell:
            PLAN.shell

    rule brain_ai_atlas:
        input:
            manifest=rules.brain_ai_fetch_atlas.output.manifest,
        output:
            atlas=f"{BRAIN_AI_RESULTS}/atlas.parquet",
            whole=f"{BRAIN_AI_RESULTS}/atlas_whole.parquet",
        log:
            f"{PLAN.logs}/brain_ai_atlas.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.brain_ai.atlas:read_atlas"),
        shell:
            PLAN.shell


for sheet, (drawn_from, figures) in BRAIN_AI_SHEETS.items():

    rule:
        name:
            f"brain_ai_{sheet.partition(':')[2]}"
        input:
            **{name: f"{BRAIN_AI_RESULTS}/{file}" for name, file in drawn_from},
        output:
            light_svg=expand(f"{BRAIN_AI_FIGURES}/{{figure}}.light.svg", figure=figures),
            light_png=[
                report(
                    f"{BRAIN_AI_FIGURES}/{figure}.light.png",
                    caption=CAPTION,
                    category="brain_ai",
                    labels={"output": figure},
                )
                for figure in figures
            ],
            dark_svg=expand(f"{BRAIN_AI_FIGURES}/{{figure}}.dark.svg", figure=figures),
            dark_png=expand(f"{BRAIN_AI_FIGURES}/{{figure}}.dark.png", figure=figures),
            csv=expand(f"{BRAIN_AI_FIGURES}/{{figure}}.csv", figure=figures),
            alt=expand(f"{BRAIN_AI_FIGURES}/{{figure}}.alt.txt", figure=figures),
        log:
            f"{PLAN.logs}/brain_ai_{sheet.partition(':')[2]}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.brain_ai.{sheet}"),
            caption=Caption(
                "\n\n".join(str(PLAN.caption("brain_ai", figure)) for figure in figures)
            ),
        shell:
            PLAN.shell


rule brain_ai_tables:
    input:
        table=f"{BRAIN_AI_RESULTS}/facts.parquet",
        derived=f"{BRAIN_AI_RESULTS}/conversions.parquet",
    output:
        tables=[
            report(
                path,
                caption=CAPTION,
                category="brain_ai",
                labels={"output": table},
            )
            for table, path in zip(BRAIN_AI_DRAWN.TABLES, BRAIN_AI_TABLES)
        ],
    log:
        f"{PLAN.logs}/brain_ai_tables.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.brain_ai.tables:write_tables"),
        caption=Caption(
            "\n\n".join(str(PLAN.caption("brain_ai", table)) for table in BRAIN_AI_DRAWN.TABLES)
        ),
    shell:
        PLAN.shell


for figure in BRAIN_AI_DRAWINGS:

    rule:
        name:
            f"brain_ai_{figure}"
        input:
            expand(
                f"{BRAIN_AI_FIGURES}/{figure}.{{part}}",
                part=BRAIN_AI_PARTS,
            ),


for table, path in zip(BRAIN_AI_DRAWN.TABLES, BRAIN_AI_TABLES):

    rule:
        name:
            f"brain_ai_{table}"
        input:
            path,


MEASUREMENTS["brain_ai"] = [f"{BRAIN_AI_RESULTS}/measurements/essay.parquet"]
ARTEFACTS["brain_ai"] = [
    f"{BRAIN_AI_RESULTS}/{name}.parquet"
    for name in (
        *("facts", "errors", "maps", "conversions", "surfaces", "triangles", "regions", "slice"),
        *(("atlas", "atlas_whole") if BRAIN_AI_ATLAS != "none" else ()),
    )
]
FIGURES["brain_ai"] = expand(
    f"{BRAIN_AI_FIGURES}/{{figure}}.{{part}}",
    figure=BRAIN_AI_DRAWINGS,
    part=BRAIN_AI_PARTS,
)
TABLES["brain_ai"] = BRAIN_AI_TABLES

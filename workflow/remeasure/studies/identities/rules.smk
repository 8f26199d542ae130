# Closed forms and small exact experiments on ten Transformer families: no data, no inputs.
#
#   an article's step ─┬─ points ─── figures
#                      ├─ checks ─── table of its identities
#                      └─ measurements ─── ledger

from remeasure.studies.identities import drawn as IDENTITIES_DRAWN

IDENTITIES_RESULTS = f"{PLAN.results}/identities"
IDENTITIES_FIGURES = f"{PLAN.reports}/identities/figures"


# One rule an article.
for article in IDENTITIES_DRAWN.ARTICLES:

    rule:
        name:
            f"identities_{article}"
        output:
            series=f"{IDENTITIES_RESULTS}/{article}.parquet",
            checks=f"{IDENTITIES_RESULTS}/{article}_checks.parquet",
            measurements=f"{IDENTITIES_RESULTS}/measurements/{article}.parquet",
        log:
            f"{PLAN.logs}/identities_{article}.log",
        threads: 1
        resources:
            mem_mb=1500,
            runtime=10,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.identities.{article}:measure_{article}"),
        shell:
            PLAN.shell


# One rule a figure and one a table.
for figure in IDENTITIES_DRAWN.FIGURES:

    rule:
        name:
            f"identities_{figure}"
        input:
            series=f"{IDENTITIES_RESULTS}/{IDENTITIES_DRAWN.article_of(figure)}.parquet",
        output:
            light_svg=f"{IDENTITIES_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{IDENTITIES_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="identities",
                labels={"output": figure},
            ),
            dark_svg=f"{IDENTITIES_FIGURES}/{figure}.dark.svg",
            dark_png=f"{IDENTITIES_FIGURES}/{figure}.dark.png",
            csv=f"{IDENTITIES_FIGURES}/{figure}.csv",
            alt=f"{IDENTITIES_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/identities_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.identities.{IDENTITIES_DRAWN.step_of(figure)}"),
            caption=PLAN.caption("identities", figure),
        shell:
            PLAN.shell


for table, article in IDENTITIES_DRAWN.TABLES.items():

    rule:
        name:
            f"identities_{table}"
        input:
            rows=f"{IDENTITIES_RESULTS}/{article}_checks.parquet",
        output:
            table=report(
                f"{PLAN.reports}/identities/tables/{table}.html",
                caption=CAPTION,
                category="identities",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/identities_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.identities.tables:show_checks[{article}]"),
            caption=PLAN.caption("identities", table),
        shell:
            PLAN.shell


MEASUREMENTS["identities"] = [
    f"{IDENTITIES_RESULTS}/measurements/{article}.parquet" for article in IDENTITIES_DRAWN.ARTICLES
]
ARTEFACTS["identities"] = expand(
    f"{IDENTITIES_RESULTS}/{{article}}{{part}}.parquet",
    article=IDENTITIES_DRAWN.ARTICLES,
    part=("", "_checks"),
)
FIGURES["identities"] = expand(
    f"{IDENTITIES_FIGURES}/{{figure}}.{{part}}",
    figure=IDENTITIES_DRAWN.FIGURES,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["identities"] = [
    f"{PLAN.reports}/identities/tables/{table}.html" for table in IDENTITIES_DRAWN.TABLES
]

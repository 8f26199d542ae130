# The ledger and the site: joined from whatever the studies gave to
# MEASUREMENTS, FIGURES and TABLES (files by study).


rule ledger:
    input:
        measurements=[path for study in PLAN.studies for path in MEASUREMENTS[study]],
        references=[f"{FOLDERS[study]}/reference.csv" for study in PLAN.studies],
        errata=[f"{FOLDERS[study]}/errata.csv" for study in PLAN.studies],
    output:
        ledger=f"{PLAN.results}/ledger.parquet",
        table=f"{PLAN.reports}/ledger.csv",
        headline=f"{PLAN.results}/headline.json",
    log:
        f"{PLAN.logs}/ledger.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("ledger.join:build_ledger"),
    shell:
        PLAN.shell


rule site_study:
    input:
        ledger=rules.ledger.output.ledger,
        figures=lambda wildcards: FIGURES[wildcards.study],
        tables=lambda wildcards: TABLES[wildcards.study],
        card=lambda wildcards: f"{FOLDERS[wildcards.study]}/card.md",
    output:
        page=f"{PLAN.reports}/{{study}}.html",
    log:
        f"{PLAN.logs}/site_{{study}}.log",
    wildcard_constraints:
        study="|".join(PLAN.studies),
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=lambda wildcards: PLAN.call(f"report.site:build_study_page[{wildcards.study}]"),
    shell:
        PLAN.shell


rule site_ledger:
    input:
        ledger=rules.ledger.output.ledger,
        csv=rules.ledger.output.table,
    output:
        page=f"{PLAN.reports}/ledger.html",
    log:
        f"{PLAN.logs}/site_ledger.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("report.site:build_ledger_page"),
    shell:
        PLAN.shell


rule site_provenance:
    input:
        artefacts=[
            rules.ledger.output.ledger,
            *[path for study in PLAN.studies for path in MEASUREMENTS[study]],
            *[path for study in PLAN.studies for path in ARTEFACTS[study]],
            *[path for study in PLAN.studies for path in FIGURES[study]],
            *[path for study in PLAN.studies for path in TABLES[study]],
        ],
    output:
        page=f"{PLAN.reports}/provenance.html",
    log:
        f"{PLAN.logs}/site_provenance.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("report.site:build_provenance_page"),
    shell:
        PLAN.shell


rule site_index:
    input:
        ledger=rules.ledger.output.ledger,
        headline=rules.ledger.output.headline,
        csv=rules.ledger.output.table,
    output:
        page=f"{PLAN.reports}/index.html",
    log:
        f"{PLAN.logs}/site_index.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("report.site:build_index"),
    shell:
        PLAN.shell

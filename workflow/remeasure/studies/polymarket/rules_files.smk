# Tables that the user has, in place of a crawl.


rule polymarket_files:
    input:
        tables=[path.as_posix() for path in polymarket_table_paths(POLYMARKET.files)],
    output:
        manifest=f"{PLAN.features}/polymarket_files.manifest.json",
    log:
        f"{PLAN.logs}/polymarket_files.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.real_files:list_files"),
    shell:
        PLAN.shell


rule polymarket_parse_files:
    input:
        manifest=rules.polymarket_files.output.manifest,
    output:
        real=f"{POLYMARKET_FEATURES}/real.duckdb",
        forecasts=f"{POLYMARKET_FEATURES}/forecasts.duckdb",
    log:
        f"{PLAN.logs}/polymarket_parse_files.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.real_files:parse_files"),
    shell:
        PLAN.shell


POLYMARKET_TABLES = [
    rules.polymarket_files.output.manifest,
    rules.polymarket_parse_files.output.real,
    rules.polymarket_parse_files.output.forecasts,
]

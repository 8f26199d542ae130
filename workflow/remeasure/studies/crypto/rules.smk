# Machine learning, language models and crypto trading: the study's part of the graph.
#
#   manifests ─ candles ─ hours ─┬─ tails, autocorrelation, reversal, break-even ─┐
#                                └─ forecasts by year ─ direction, trading ───────┼─ figures, ledger
#   candles, hours ──────────────── leak audit ───────────────────────────────────┘
#
# Every rule names one step; the names of its files are the step's parameters.

from remeasure.studies.crypto import drawn as CRYPTO_DRAWN

CRYPTO = PLAN.config.section("crypto")
CRYPTO_FEATURES = f"{PLAN.features}/crypto"
CRYPTO_RESULTS = f"{PLAN.results}/crypto"
CRYPTO_SPOT = [name for name, dataset in CRYPTO.spot.items() if dataset is not None]
CRYPTO_MANIFEST = f"{PLAN.features}/crypto_spot_{{interval}}.manifest.json"
CRYPTO_CANDLES = f"{CRYPTO_FEATURES}/candles_{{interval}}.duckdb"
CRYPTO_MEASURED = f"{CRYPTO_RESULTS}/measurements"
CRYPTO_FIGURES = f"{PLAN.reports}/crypto/figures"
CRYPTO_HOURLY = expand(CRYPTO_CANDLES, interval=[name for name in CRYPTO_SPOT if name == "1h"])
CRYPTO_YEARS = [
    str(year)
    for year in range(
        int(CRYPTO.walk_forward.first_test[:4]),
        int(CRYPTO.walk_forward.last_test[:4]) + 1,
    )
]


# Generated candles come with the truth that was planted in them.
CRYPTO_TRUTH = {"truth": f"{CRYPTO_FEATURES}/truth.json"} if CRYPTO.origin == "generated" else {}


if CRYPTO.origin == "generated":

    rule crypto_generate:
        output:
            manifests=expand(CRYPTO_MANIFEST, interval=CRYPTO_SPOT),
            truth=f"{CRYPTO_FEATURES}/truth.json",
            truth_hours=f"{CRYPTO_FEATURES}/truth.parquet",
        log:
            f"{PLAN.logs}/crypto_generate.log",
        priority: 200
        threads: 1
        resources:
            mem_mb=3000,
            runtime=10,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.generate:generate_archive"),
        shell:
            PLAN.shell

else:

    rule crypto_fetch:
        # The user's own tables are inputs: an edited one is read again.
        input:
            tables=lambda wildcards: (
                list(CRYPTO.files.get(wildcards.interval, {}).values())
                if CRYPTO.origin == "files"
                else []
            ),
        output:
            manifest=CRYPTO_MANIFEST,
        log:
            f"{PLAN.logs}/crypto_fetch_{{interval}}.log",
        wildcard_constraints:
            interval="|".join(CRYPTO_SPOT),
        threads: 1
        resources:
            mem_mb=1000,
            runtime=600,
            host_data_binance_vision=1,
        params:
            files=PLAN.files,
            call=lambda wildcards: PLAN.call(
                f"studies.crypto.fetching:fetch_candles[{wildcards.interval}]"
            ),
        shell:
            PLAN.shell


rule crypto_candles:
    input:
        manifest=CRYPTO_MANIFEST,
    output:
        candles=CRYPTO_CANDLES,
    log:
        f"{PLAN.logs}/crypto_candles_{{interval}}.log",
    wildcard_constraints:
        interval="|".join(CRYPTO_SPOT),
    priority: 175
    threads: 1
    resources:
        mem_mb=4000,
        runtime=15,
    params:
        files=PLAN.files,
        call=lambda wildcards: PLAN.call(
            f"studies.crypto.sources:parse_candles[{wildcards.interval}]"
        ),
    shell:
        PLAN.shell


rule crypto_hours:
    input:
        candles=CRYPTO_CANDLES.format(interval=CRYPTO.base),
    output:
        hours=f"{CRYPTO_FEATURES}/hours.duckdb",
    log:
        f"{PLAN.logs}/crypto_hours.log",
    priority: 160
    threads: 1
    resources:
        mem_mb=3000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.features:build_hours"),
    shell:
        PLAN.shell


rule crypto_calendar:
    output:
        identities=f"{CRYPTO_RESULTS}/calendar.json",
        measurements=f"{CRYPTO_MEASURED}/calendar.parquet",
    log:
        f"{PLAN.logs}/crypto_calendar.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.calendar_identities:measure_calendar"),
    shell:
        PLAN.shell


rule crypto_closed_forms:
    output:
        measurements=f"{CRYPTO_MEASURED}/closed_forms.parquet",
    log:
        f"{PLAN.logs}/crypto_closed_forms.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.closed_forms:measure_closed_forms"),
    shell:
        PLAN.shell


rule crypto_tails:
    input:
        hours=rules.crypto_hours.output.hours,
    output:
        tails=f"{CRYPTO_RESULTS}/tails.parquet",
        histogram=f"{CRYPTO_RESULTS}/tails_histogram.parquet",
        measurements=f"{CRYPTO_MEASURED}/tails.parquet",
    log:
        f"{PLAN.logs}/crypto_tails.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.tails:measure_tails"),
    shell:
        PLAN.shell


rule crypto_autocorrelation:
    input:
        hours=rules.crypto_hours.output.hours,
    output:
        acf=f"{CRYPTO_RESULTS}/acf.parquet",
        hour_of_day=f"{CRYPTO_RESULTS}/hour_of_day.parquet",
        measurements=f"{CRYPTO_MEASURED}/autocorrelation.parquet",
    log:
        f"{PLAN.logs}/crypto_autocorrelation.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.autocorrelation:measure_autocorrelation"),
    shell:
        PLAN.shell


rule crypto_reversal:
    input:
        hours=rules.crypto_hours.output.hours,
    output:
        reversal=f"{CRYPTO_RESULTS}/reversal.parquet",
        measurements=f"{CRYPTO_MEASURED}/reversal.parquet",
    log:
        f"{PLAN.logs}/crypto_reversal.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.reversal:measure_reversal"),
    shell:
        PLAN.shell


rule crypto_breakeven:
    input:
        hours=rules.crypto_hours.output.hours,
        candles=expand(CRYPTO_CANDLES, interval=CRYPTO_SPOT),
    output:
        moves=f"{CRYPTO_RESULTS}/moves.parquet",
        breakeven=f"{CRYPTO_RESULTS}/breakeven.parquet",
        measurements=f"{CRYPTO_MEASURED}/breakeven.parquet",
    log:
        f"{PLAN.logs}/crypto_breakeven.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.breakeven:measure_breakeven"),
    shell:
        PLAN.shell


rule crypto_forecast:
    input:
        hours=rules.crypto_hours.output.hours,
    output:
        forecasts=f"{CRYPTO_RESULTS}/forecasts/{{year}}.parquet",
        importance=f"{CRYPTO_RESULTS}/importance/{{year}}.parquet",
        booster=f"{CRYPTO_RESULTS}/boosters/{{year}}.txt",
    log:
        f"{PLAN.logs}/crypto_forecast_{{year}}.log",
    wildcard_constraints:
        year="[0-9]{4}",
    priority: 150
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.forecasts:forecast_year"),
    shell:
        PLAN.shell


rule crypto_forecasts:
    input:
        shards=expand(rules.crypto_forecast.output.forecasts, year=CRYPTO_YEARS),
    output:
        forecasts=f"{CRYPTO_RESULTS}/forecasts.parquet",
    log:
        f"{PLAN.logs}/crypto_forecasts.log",
    priority: 75
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.forecasts:join_forecasts"),
    shell:
        PLAN.shell


rule crypto_direction:
    input:
        **CRYPTO_TRUTH,
        forecasts=rules.crypto_forecasts.output.forecasts,
    output:
        scores=f"{CRYPTO_RESULTS}/direction.parquet",
        measurements=f"{CRYPTO_MEASURED}/direction.parquet",
    log:
        f"{PLAN.logs}/crypto_direction.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.direction:measure_direction"),
    shell:
        PLAN.shell


rule crypto_leak_audit:
    input:
        candles=CRYPTO_CANDLES.format(interval=CRYPTO.leak_audit.interval),
        hourly=CRYPTO_HOURLY,
    output:
        audit=f"{CRYPTO_RESULTS}/leak_audit.json",
        measurements=f"{CRYPTO_MEASURED}/leak_audit.parquet",
    log:
        f"{PLAN.logs}/crypto_leak_audit.log",
    priority: 50
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.leak_audit:measure_leak_audit"),
    shell:
        PLAN.shell


rule crypto_trading:
    input:
        hours=rules.crypto_hours.output.hours,
        forecasts=rules.crypto_forecasts.output.forecasts,
    output:
        curves=f"{CRYPTO_RESULTS}/growth.parquet",
        fees=f"{CRYPTO_RESULTS}/fees.parquet",
        moves=f"{CRYPTO_RESULTS}/right_wrong.parquet",
        measurements=f"{CRYPTO_MEASURED}/trading.parquet",
    log:
        f"{PLAN.logs}/crypto_trading.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.trading:measure_trading"),
    shell:
        PLAN.shell


rule crypto_volatility:
    input:
        candles=CRYPTO_CANDLES.format(interval=CRYPTO.base),
    output:
        days=f"{CRYPTO_RESULTS}/volatility_days.parquet",
        scores=f"{CRYPTO_RESULTS}/volatility.parquet",
        measurements=f"{CRYPTO_MEASURED}/volatility.parquet",
    log:
        f"{PLAN.logs}/crypto_volatility.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.volatility:measure_volatility"),
    shell:
        PLAN.shell


rule crypto_targeting:
    input:
        days=rules.crypto_volatility.output.days,
    output:
        curves=f"{CRYPTO_RESULTS}/targeting_days.parquet",
        targeting=f"{CRYPTO_RESULTS}/targeting.parquet",
        measurements=f"{CRYPTO_MEASURED}/targeting.parquet",
    log:
        f"{PLAN.logs}/crypto_targeting.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.targeting:measure_targeting"),
    shell:
        PLAN.shell


rule crypto_crash:
    input:
        candles=expand(CRYPTO_CANDLES, interval=CRYPTO_SPOT),
    output:
        crash=f"{CRYPTO_RESULTS}/crash.parquet",
        measurements=f"{CRYPTO_MEASURED}/crash.parquet",
    log:
        f"{PLAN.logs}/crypto_crash.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.crash:measure_crash"),
    shell:
        PLAN.shell


rule crypto_rules_grid:
    input:
        candles=CRYPTO_HOURLY,
    output:
        grid=f"{CRYPTO_RESULTS}/grid.parquet",
        summary=f"{CRYPTO_RESULTS}/grid.json",
        measurements=f"{CRYPTO_MEASURED}/rules_grid.parquet",
    log:
        f"{PLAN.logs}/crypto_rules_grid.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.rules_grid:measure_grid"),
    shell:
        PLAN.shell


rule crypto_deflated:
    input:
        grid=rules.crypto_rules_grid.output.grid,
        summary=rules.crypto_rules_grid.output.summary,
    output:
        measurements=f"{CRYPTO_MEASURED}/deflated.parquet",
    log:
        f"{PLAN.logs}/crypto_deflated.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.deflated:measure_deflated"),
    shell:
        PLAN.shell


rule crypto_random_strategies:
    input:
        candles=CRYPTO_HOURLY,
    output:
        noise=f"{CRYPTO_RESULTS}/noise.parquet",
        curve=f"{CRYPTO_RESULTS}/noise_curve.parquet",
        summary=f"{CRYPTO_RESULTS}/noise.json",
        measurements=f"{CRYPTO_MEASURED}/random_strategies.parquet",
    log:
        f"{PLAN.logs}/crypto_random_strategies.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.random_strategies:measure_random"),
    shell:
        PLAN.shell


rule crypto_synthetic:
    output:
        manifest=f"{PLAN.features}/crypto_synthetic.manifest.json",
        summary=f"{CRYPTO_RESULTS}/synthetic.json",
        measurements=f"{CRYPTO_MEASURED}/synthetic.parquet",
    log:
        f"{PLAN.logs}/crypto_synthetic.log",
    priority: 60
    threads: 1
    resources:
        mem_mb=4000,
        runtime=15,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.synthetic:measure_synthetic"),
    shell:
        PLAN.shell


include: "rules_costs.smk"
include: "rules_memory.smk"
include: "rules_networks.smk"


# One rule a figure and one a table: what each draws from stands in drawn.py.
for figure, drawn_from in CRYPTO_DRAWN.FIGURES.items():

    rule:
        name:
            f"crypto_{figure}"
        input:
            **{name: f"{CRYPTO_RESULTS}/{file}" for name, file in drawn_from},
        output:
            light_svg=f"{CRYPTO_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{CRYPTO_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="crypto",
                labels={"output": figure},
            ),
            dark_svg=f"{CRYPTO_FIGURES}/{figure}.dark.svg",
            dark_png=f"{CRYPTO_FIGURES}/{figure}.dark.png",
            csv=f"{CRYPTO_FIGURES}/{figure}.csv",
            alt=f"{CRYPTO_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/crypto_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.crypto.{CRYPTO_DRAWN.module_of(figure)}:{figure}"),
            caption=PLAN.caption("crypto", figure),
        shell:
            PLAN.shell


for table, drawn_from in CRYPTO_DRAWN.TABLES.items():

    rule:
        name:
            f"crypto_{table}"
        input:
            **{name: f"{CRYPTO_RESULTS}/{file}" for name, file in drawn_from},
        output:
            table=report(
                f"{PLAN.reports}/crypto/tables/{table}.html",
                caption=CAPTION,
                category="crypto",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/crypto_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.crypto.{CRYPTO_DRAWN.module_of(table)}:{table}"),
            caption=PLAN.caption("crypto", table),
        shell:
            PLAN.shell


MEASUREMENTS["crypto"] = [
    f"{CRYPTO_MEASURED}/{name}.parquet"
    for name in (
        "arena",
        "autocorrelation",
        "breakeven",
        "calendar",
        "closed_forms",
        "crash",
        "deflated",
        "depth",
        "direction",
        "funding",
        "leak_audit",
        "memory_direction",
        "memory_identities",
        "memory_prices",
        "memory_strategy",
        "random_strategies",
        "synthetic",
        "foundation",
        "reversal",
        "rules_grid",
        "tails",
        "targeting",
        "trading",
        "volatility",
    )
]
ARTEFACTS["crypto"] = [
    *expand(CRYPTO_MANIFEST, interval=CRYPTO_SPOT),
    *expand(CRYPTO_CANDLES, interval=CRYPTO_SPOT),
    rules.crypto_hours.output.hours,
    rules.crypto_forecasts.output.forecasts,
    *expand(rules.crypto_forecast.output, year=CRYPTO_YEARS),
]
FIGURES["crypto"] = expand(
    f"{CRYPTO_FIGURES}/{{figure}}.{{part}}",
    figure=CRYPTO_DRAWN.FIGURES,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["crypto"] = [f"{PLAN.reports}/crypto/tables/{table}.html" for table in CRYPTO_DRAWN.TABLES]

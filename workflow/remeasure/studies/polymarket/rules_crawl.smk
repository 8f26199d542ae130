# From pages to the table of forecasts.


rule polymarket_listing:
    input:
        **POLYMARKET_WORLD,
        **POLYMARKET_PROBED,
    output:
        manifest=f"{PLAN.features}/polymarket_listing_{{part}}.manifest.json",
    log:
        f"{PLAN.logs}/polymarket_listing_{{part}}.log",
    wildcard_constraints:
        part="[0-9]+",
    priority: 80
    threads: 1
    resources:
        mem_mb=1000,
        runtime=2880,
        host_gamma=1,
    params:
        files=PLAN.files,
        call=lambda wildcards: PLAN.call(
            f"studies.polymarket.fetch_listing:fetch_listing[{wildcards.part}]"
        ),
    shell:
        PLAN.shell


rule polymarket_books:
    input:
        **POLYMARKET_WORLD,
        **POLYMARKET_PROBED,
    output:
        manifest=f"{PLAN.features}/polymarket_snapshot.manifest.json",
    log:
        f"{PLAN.logs}/polymarket_books.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=240,
        host_gamma=1,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.fetch_listing:fetch_listing[snapshot]"),
    shell:
        PLAN.shell


rule polymarket_population:
    input:
        listings=expand(rules.polymarket_listing.output.manifest, part=POLYMARKET_LISTED),
    output:
        population=f"{POLYMARKET_FEATURES}/population.duckdb",
    log:
        f"{PLAN.logs}/polymarket_population.log",
    priority: 75
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.population:parse_population"),
    shell:
        PLAN.shell


rule polymarket_sample:
    input:
        population=rules.polymarket_population.output.population,
    output:
        sample=f"{POLYMARKET_FEATURES}/sample.duckdb",
    log:
        f"{PLAN.logs}/polymarket_sample.log",
    priority: 70
    threads: 1
    resources:
        mem_mb=3000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.sample:draw_sample"),
    shell:
        PLAN.shell


rule polymarket_prices:
    input:
        **POLYMARKET_WORLD,
        **POLYMARKET_PROBED,
        population=rules.polymarket_population.output.population,
        sample=rules.polymarket_sample.output.sample,
    output:
        manifest=f"{PLAN.features}/polymarket_prices_{{shard}}.manifest.json",
    log:
        f"{PLAN.logs}/polymarket_prices_{{shard}}.log",
    wildcard_constraints:
        shard="[0-9]+",
    priority: 65
    threads: 1
    resources:
        mem_mb=1000,
        runtime=2880,
        host_clob=1,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.fetch_prices:fetch_prices"),
    shell:
        PLAN.shell


# Markets whose hourly series came empty: the Data API keeps prices of every three hours.
POLYMARKET_THREE_HOURLY = {}


if POLYMARKET.crawl.three_hourly:

    rule polymarket_three_hourly:
        input:
            **POLYMARKET_PROBED,
            population=rules.polymarket_population.output.population,
            sample=rules.polymarket_sample.output.sample,
            prices=rules.polymarket_prices.output.manifest,
        output:
            manifest=f"{PLAN.features}/polymarket_three_hourly_{{shard}}.manifest.json",
        log:
            f"{PLAN.logs}/polymarket_three_hourly_{{shard}}.log",
        wildcard_constraints:
            shard="[0-9]+",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=2880,
            host_data=1,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.polymarket.fetch_three_hourly:fetch_three_hourly"),
        shell:
            PLAN.shell

    POLYMARKET_THREE_HOURLY = {"three_hourly": rules.polymarket_three_hourly.output.manifest}


rule polymarket_asof:
    input:
        **POLYMARKET_THREE_HOURLY,
        population=rules.polymarket_population.output.population,
        sample=rules.polymarket_sample.output.sample,
        manifest=rules.polymarket_prices.output.manifest,
    output:
        prices=f"{POLYMARKET_FEATURES}/prices_{{shard}}.parquet",
        grid=f"{POLYMARKET_FEATURES}/grid_{{shard}}.parquet",
    log:
        f"{PLAN.logs}/polymarket_asof_{{shard}}.log",
    wildcard_constraints:
        shard="[0-9]+",
    priority: 60
    threads: 1
    resources:
        mem_mb=3000,
        runtime=15,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.asof:price_at_horizons"),
    shell:
        PLAN.shell


rule polymarket_trades:
    input:
        **POLYMARKET_WORLD,
        **POLYMARKET_PROBED,
        population=rules.polymarket_population.output.population,
        sample=rules.polymarket_sample.output.sample,
        prices=rules.polymarket_asof.output.prices,
    output:
        manifest=f"{PLAN.features}/polymarket_trades_{{shard}}.manifest.json",
        pages=f"{POLYMARKET_FEATURES}/trades_{{shard}}.parquet",
    log:
        f"{PLAN.logs}/polymarket_trades_{{shard}}.log",
    wildcard_constraints:
        shard="[0-9]+",
    priority: 50
    threads: 1
    resources:
        mem_mb=1000,
        runtime=2880,
        host_data=1,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.fetch_trades:fetch_trades"),
    shell:
        PLAN.shell


rule polymarket_forecasts:
    input:
        population=rules.polymarket_population.output.population,
        sample=rules.polymarket_sample.output.sample,
        prices=expand(rules.polymarket_asof.output.prices, shard=POLYMARKET_SHARDS),
        grids=expand(rules.polymarket_asof.output.grid, shard=POLYMARKET_SHARDS),
        pages=expand(rules.polymarket_trades.output.pages, shard=POLYMARKET_SHARDS),
        manifests=expand(rules.polymarket_trades.output.manifest, shard=POLYMARKET_SHARDS),
    output:
        forecasts=f"{POLYMARKET_FEATURES}/forecasts.duckdb",
    log:
        f"{PLAN.logs}/polymarket_forecasts.log",
    priority: 40
    threads: 1
    resources:
        mem_mb=4000,
        runtime=15,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.features:build_forecasts"),
    shell:
        PLAN.shell


rule polymarket_snapshot:
    input:
        manifest=rules.polymarket_books.output.manifest,
    output:
        snapshot=f"{POLYMARKET_FEATURES}/snapshot.duckdb",
    log:
        f"{PLAN.logs}/polymarket_snapshot.log",
    threads: 1
    resources:
        mem_mb=3000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.snapshot:parse_snapshot"),
    shell:
        PLAN.shell


rule polymarket_fetch_series:
    input:
        **POLYMARKET_WORLD,
        **POLYMARKET_PROBED,
        population=rules.polymarket_population.output.population,
    output:
        manifest=f"{PLAN.features}/polymarket_series.manifest.json",
    log:
        f"{PLAN.logs}/polymarket_fetch_series.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=15,
        host_clob=1,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.side_series:fetch_series"),
    shell:
        PLAN.shell


rule polymarket_series:
    input:
        population=rules.polymarket_population.output.population,
        manifest=rules.polymarket_fetch_series.output.manifest,
    output:
        series=f"{POLYMARKET_FEATURES}/series.duckdb",
    log:
        f"{PLAN.logs}/polymarket_series.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.side_series:parse_series"),
    shell:
        PLAN.shell


POLYMARKET_TABLES = [
    *rules.polymarket_population.input.listings,
    *rules.polymarket_forecasts.input.manifests,
    rules.polymarket_population.output.population,
    rules.polymarket_sample.output.sample,
    rules.polymarket_forecasts.output.forecasts,
    rules.polymarket_snapshot.output.snapshot,
    rules.polymarket_series.output.series,
]

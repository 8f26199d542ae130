# What trading costs and pays: funding, order books, and the accounts of a season.
# Included by rules.smk; each source may be absent, and its rows are then "not run".

CRYPTO_GENERATED = CRYPTO.origin == "generated"

if CRYPTO.funding.data is not None:

    if CRYPTO_GENERATED:

        rule crypto_generate_funding:
            output:
                manifest=f"{PLAN.features}/crypto_funding.manifest.json",
                truth=f"{CRYPTO_FEATURES}/funding_truth.json",
            log:
                f"{PLAN.logs}/crypto_generate_funding.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=5,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.generate_funding:generate_funding"),
            shell:
                PLAN.shell

    else:

        rule crypto_fetch_funding:
            output:
                manifest=f"{PLAN.features}/crypto_funding.manifest.json",
            log:
                f"{PLAN.logs}/crypto_fetch_funding.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=60,
                host_data_binance_vision=1,
                host_fapi_binance_com=1,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.fetch_funding:fetch_funding"),
            shell:
                PLAN.shell

    rule crypto_parse_funding:
        input:
            manifest=f"{PLAN.features}/crypto_funding.manifest.json",
        output:
            funding=f"{CRYPTO_FEATURES}/funding.duckdb",
        log:
            f"{PLAN.logs}/crypto_parse_funding.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.funding_files:parse_funding"),
        shell:
            PLAN.shell


rule crypto_funding:
    input:
        **(
            {"truth": f"{CRYPTO_FEATURES}/funding_truth.json"}
            if CRYPTO.funding.data and CRYPTO_GENERATED
            else {}
        ),
        funding=[f"{CRYPTO_FEATURES}/funding.duckdb"] if CRYPTO.funding.data else [],
    output:
        periods=f"{CRYPTO_RESULTS}/funding.parquet",
        measurements=f"{CRYPTO_MEASURED}/funding.parquet",
    log:
        f"{PLAN.logs}/crypto_funding.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.funding:measure_funding"),
    shell:
        PLAN.shell


if CRYPTO.depth.books:

    if CRYPTO_GENERATED:

        rule crypto_generate_books:
            output:
                manifest=f"{PLAN.features}/crypto_books.manifest.json",
                truth=f"{CRYPTO_FEATURES}/books_truth.json",
            log:
                f"{PLAN.logs}/crypto_generate_books.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=5,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.generate_books:generate_books"),
            shell:
                PLAN.shell

    elif CRYPTO.origin == "public":

        # Live: what this records cannot be fetched again, and is kept.
        rule crypto_record_books:
            output:
                manifest=f"{PLAN.features}/crypto_books.manifest.json",
            log:
                f"{PLAN.logs}/crypto_record_books.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=120,
                host_fapi_binance_com=1,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.record_books:record_books"),
            shell:
                PLAN.shell

    else:

        rule crypto_list_books:
            output:
                manifest=f"{PLAN.features}/crypto_books.manifest.json",
            log:
                f"{PLAN.logs}/crypto_list_books.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=5,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.recorded:list_recorded[books]"),
            shell:
                PLAN.shell

    rule crypto_parse_books:
        input:
            manifest=f"{PLAN.features}/crypto_books.manifest.json",
        output:
            books=f"{CRYPTO_FEATURES}/books.duckdb",
        log:
            f"{PLAN.logs}/crypto_parse_books.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.book_files:parse_books"),
        shell:
            PLAN.shell


rule crypto_depth:
    input:
        **(
            {"truth": f"{CRYPTO_FEATURES}/books_truth.json"}
            if CRYPTO.depth.books and CRYPTO_GENERATED
            else {}
        ),
        books=[f"{CRYPTO_FEATURES}/books.duckdb"] if CRYPTO.depth.books else [],
    output:
        costs=f"{CRYPTO_RESULTS}/depth.parquet",
        measurements=f"{CRYPTO_MEASURED}/depth.parquet",
    log:
        f"{PLAN.logs}/crypto_depth.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.depth:measure_depth"),
    shell:
        PLAN.shell


if CRYPTO.arena.accounts:

    if CRYPTO_GENERATED:

        rule crypto_generate_accounts:
            output:
                manifest=f"{PLAN.features}/crypto_accounts.manifest.json",
                truth=f"{CRYPTO_FEATURES}/accounts_truth.json",
            log:
                f"{PLAN.logs}/crypto_generate_accounts.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=5,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.generate_accounts:generate_accounts"),
            shell:
                PLAN.shell

    else:

        rule crypto_list_accounts:
            output:
                manifest=f"{PLAN.features}/crypto_accounts.manifest.json",
            log:
                f"{PLAN.logs}/crypto_list_accounts.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=5,
            params:
                files=PLAN.files,
                call=PLAN.call("studies.crypto.recorded:list_recorded[accounts]"),
            shell:
                PLAN.shell

    rule crypto_parse_accounts:
        input:
            manifest=f"{PLAN.features}/crypto_accounts.manifest.json",
        output:
            accounts=f"{CRYPTO_FEATURES}/accounts.duckdb",
        log:
            f"{PLAN.logs}/crypto_parse_accounts.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.account_files:parse_accounts"),
        shell:
            PLAN.shell


rule crypto_arena:
    input:
        **(
            {"truth": f"{CRYPTO_FEATURES}/accounts_truth.json"}
            if CRYPTO.arena.accounts and CRYPTO_GENERATED
            else {}
        ),
        accounts=[f"{CRYPTO_FEATURES}/accounts.duckdb"] if CRYPTO.arena.accounts else [],
        hours=rules.crypto_hours.output.hours,
    output:
        paths=f"{CRYPTO_RESULTS}/arena_paths.parquet",
        bands=f"{CRYPTO_RESULTS}/arena_bands.parquet",
        measurements=f"{CRYPTO_MEASURED}/arena.parquet",
    log:
        f"{PLAN.logs}/crypto_arena.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.arena:measure_arena"),
    shell:
        PLAN.shell

# Networks of others: their checkpoints, what they forecast, and how they compare.
#
# A checkpoint is fetched only where the configuration says where from (crypto.checkpoints).

from remeasure.studies.crypto.checkpoint_list import checkpoints_of as crypto_checkpoints_of

CRYPTO_CHECKPOINTS = crypto_checkpoints_of(CRYPTO)
CRYPTO_CHRONOS = "chronos2" in CRYPTO_CHECKPOINTS
CRYPTO_KRONOS = "kronos" in CRYPTO_CHECKPOINTS


if CRYPTO_CHECKPOINTS:

    rule crypto_checkpoint:
        output:
            manifest=f"{PLAN.features}/crypto_{{checkpoint}}.manifest.json",
        log:
            f"{PLAN.logs}/crypto_checkpoint_{{checkpoint}}.log",
        wildcard_constraints:
            checkpoint="|".join(CRYPTO_CHECKPOINTS),
        threads: 1
        resources:
            mem_mb=2000,
            runtime=600,
            host_huggingface_co=1,
        params:
            files=PLAN.files,
            call=lambda wildcards: PLAN.call(
                f"studies.crypto.checkpoints:fetch_hub[{wildcards.checkpoint}]"
            ),
        shell:
            PLAN.shell


if CRYPTO_CHRONOS:

    rule crypto_forecast_chronos:
        input:
            hours=f"{CRYPTO_FEATURES}/hours.duckdb",
            days=f"{CRYPTO_RESULTS}/volatility_days.parquet",
            checkpoint=f"{PLAN.features}/crypto_chronos2.manifest.json",
        output:
            hour_forecasts=f"{CRYPTO_RESULTS}/chronos_hours.parquet",
            day_forecasts=f"{CRYPTO_RESULTS}/chronos_days.parquet",
        log:
            f"{PLAN.logs}/crypto_forecast_chronos.log",
        threads: CRYPTO.foundation.threads
        resources:
            mem_mb=4000,
            runtime=240,
            gpu=int(CRYPTO.foundation.device == "cuda"),
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.foundation_chronos:forecast_chronos"),
        shell:
            PLAN.shell


if CRYPTO_KRONOS:

    rule crypto_forecast_kronos:
        input:
            hours=f"{CRYPTO_FEATURES}/hours.duckdb",
            model=f"{PLAN.features}/crypto_kronos.manifest.json",
            tokenizer=f"{PLAN.features}/crypto_kronos_tokenizer.manifest.json",
        output:
            forecasts=f"{CRYPTO_RESULTS}/kronos_hours.parquet",
        log:
            f"{PLAN.logs}/crypto_forecast_kronos.log",
        threads: CRYPTO.foundation.threads
        resources:
            mem_mb=4000,
            runtime=240,
            gpu=int(CRYPTO.foundation.device == "cuda"),
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.foundation_kronos:forecast_kronos"),
        shell:
            PLAN.shell


rule crypto_foundation:
    input:
        forecasts=f"{CRYPTO_RESULTS}/forecasts.parquet",
        days=f"{CRYPTO_RESULTS}/volatility_days.parquet",
        chronos_hours=[f"{CRYPTO_RESULTS}/chronos_hours.parquet"] if CRYPTO_CHRONOS else [],
        chronos_days=[f"{CRYPTO_RESULTS}/chronos_days.parquet"] if CRYPTO_CHRONOS else [],
        kronos_hours=[f"{CRYPTO_RESULTS}/kronos_hours.parquet"] if CRYPTO_KRONOS else [],
    output:
        rates=f"{CRYPTO_RESULTS}/foundation_rates.parquet",
        scores=f"{CRYPTO_RESULTS}/foundation_r2.parquet",
        measurements=f"{CRYPTO_MEASURED}/foundation.parquet",
    log:
        f"{PLAN.logs}/crypto_foundation.log",
    priority: 15
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.foundation:measure_foundation"),
    shell:
        PLAN.shell

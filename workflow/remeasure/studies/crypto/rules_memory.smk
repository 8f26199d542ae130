# What language models remember: questions about past prices, and what the answers are worth.
# Included by rules.smk. Answers come one file a model, from the stand-in or from networks.

CRYPTO_MEMORY = CRYPTO.memory
CRYPTO_DAILY = [
    CRYPTO_CANDLES.format(interval=name)
    for name in CRYPTO_SPOT
    if name == "1d" and "BTCUSDT" in CRYPTO.spot[name].coins
]
CRYPTO_SIMULATED = CRYPTO_MEMORY.answerer == "simulated" and bool(CRYPTO_DAILY)
CRYPTO_NETWORKS = CRYPTO_MEMORY.answerer == "networks" and bool(CRYPTO_DAILY)
CRYPTO_SHIPPED = [model.slug for model in CRYPTO_MEMORY.others if CRYPTO_DAILY]
CRYPTO_ANSWER = f"{CRYPTO_FEATURES}/memory/{{model}}.parquet"
CRYPTO_ANSWERS = (
    expand(CRYPTO_ANSWER, model=[model.slug for model in CRYPTO_MEMORY.models])
    if CRYPTO_SIMULATED or CRYPTO_NETWORKS
    else []
)
# Models that are not the publication's stand beside it.
CRYPTO_OTHER_ANSWERS = expand(CRYPTO_ANSWER, model=CRYPTO_SHIPPED)
CRYPTO_PLANTED_MEMORY = (
    {"truth": f"{CRYPTO_FEATURES}/memory_truth.json"} if CRYPTO_SIMULATED else {}
)


if CRYPTO_SIMULATED:

    rule crypto_memory_simulated:
        input:
            candles=CRYPTO_DAILY,
        output:
            manifest=f"{PLAN.features}/crypto_memory.manifest.json",
            answers=CRYPTO_ANSWERS,
            truth=f"{CRYPTO_FEATURES}/memory_truth.json",
        log:
            f"{PLAN.logs}/crypto_memory_simulated.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.crypto.memory_simulated:simulate_answers"),
        shell:
            PLAN.shell


if CRYPTO_NETWORKS:

    rule crypto_memory_published:
        input:
            manifest=f"{PLAN.features}/crypto_memory_{{model}}.manifest.json",
        output:
            answers=CRYPTO_ANSWER,
        log:
            f"{PLAN.logs}/crypto_memory_{{model}}.log",
        wildcard_constraints:
            model="|".join(model.slug for model in CRYPTO_MEMORY.models),
        threads: 1
        resources:
            mem_mb=40000,
            runtime=240,
            gpu=int(CRYPTO_MEMORY.device == "cuda"),
        params:
            files=PLAN.files,
            call=lambda wildcards: PLAN.call(
                f"studies.crypto.memory_networks:ask_published[{wildcards.model}]"
            ),
        shell:
            PLAN.shell


if CRYPTO_SHIPPED:

    rule crypto_memory_package:
        output:
            manifest=f"{PLAN.features}/crypto_memory_{{model}}.manifest.json",
        log:
            f"{PLAN.logs}/crypto_memory_package_{{model}}.log",
        wildcard_constraints:
            model="|".join(CRYPTO_SHIPPED),
        threads: 1
        resources:
            mem_mb=500,
            runtime=5,
        params:
            files=PLAN.files,
            call=lambda wildcards: PLAN.call(
                f"studies.crypto.checkpoints:list_package[{wildcards.model}]"
            ),
        shell:
            PLAN.shell

    rule crypto_memory_shipped:
        input:
            manifest=f"{PLAN.features}/crypto_memory_{{model}}.manifest.json",
        output:
            answers=CRYPTO_ANSWER,
        log:
            f"{PLAN.logs}/crypto_memory_{{model}}.log",
        wildcard_constraints:
            model="|".join(CRYPTO_SHIPPED),
        threads: 1
        resources:
            mem_mb=3000,
            runtime=60,
        params:
            files=PLAN.files,
            call=lambda wildcards: PLAN.call(
                f"studies.crypto.memory_networks:ask_shipped[{wildcards.model}]"
            ),
        shell:
            PLAN.shell


rule crypto_memory_identities:
    output:
        measurements=f"{CRYPTO_MEASURED}/memory_identities.parquet",
    log:
        f"{PLAN.logs}/crypto_memory_identities.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.memory_identities:measure_memory_identities"),
    shell:
        PLAN.shell


rule crypto_memory_direction:
    input:
        candles=CRYPTO_DAILY,
        answers=CRYPTO_ANSWERS,
        others=CRYPTO_OTHER_ANSWERS,
    output:
        calls=f"{CRYPTO_RESULTS}/memory_calls.parquet",
        shares=f"{CRYPTO_RESULTS}/memory_shares.parquet",
        masses=f"{CRYPTO_RESULTS}/memory_masses.parquet",
        measurements=f"{CRYPTO_MEASURED}/memory_direction.parquet",
    log:
        f"{PLAN.logs}/crypto_memory_direction.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.memory_direction:measure_memory_direction"),
    shell:
        PLAN.shell


rule crypto_memory_strategy:
    input:
        calls=rules.crypto_memory_direction.output.calls,
    output:
        curves=f"{CRYPTO_RESULTS}/memory_curves.parquet",
        multiples=f"{CRYPTO_RESULTS}/memory_multiples.parquet",
        measurements=f"{CRYPTO_MEASURED}/memory_strategy.parquet",
    log:
        f"{PLAN.logs}/crypto_memory_strategy.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.memory_strategy:measure_memory_strategy"),
    shell:
        PLAN.shell


rule crypto_memory_prices:
    input:
        **CRYPTO_PLANTED_MEMORY,
        candles=CRYPTO_DAILY,
        answers=CRYPTO_ANSWERS,
        others=CRYPTO_OTHER_ANSWERS,
    output:
        prices=f"{CRYPTO_RESULTS}/memory_prices.parquet",
        years=f"{CRYPTO_RESULTS}/memory_price_years.parquet",
        measurements=f"{CRYPTO_MEASURED}/memory_prices.parquet",
    log:
        f"{PLAN.logs}/crypto_memory_prices.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.crypto.memory_prices:measure_memory_prices"),
    shell:
        PLAN.shell

# GPT-2 and the board inside a chess GPT: the study's part of the graph.
#
#   raw games -> games -> positions -> training -> moves, arena, probes -> figures
#                                   \-> training with each further seed -> seeds -> a table
#
# Published checkpoints enter only where the configuration says where from.

from remeasure.studies.gpt import drawn as GPT_DRAWN

GPT = PLAN.config.section("gpt")
GPT_RESULTS = f"{PLAN.results}/gpt"
GPT_MEASURED = f"{GPT_RESULTS}/measurements"
GPT_FIGURES = f"{PLAN.reports}/gpt/figures"
GPT_TABLES = f"{PLAN.reports}/gpt/tables"
GPT_GPU = int(GPT.device == "cuda")

GPT_HUB = GPT.checkpoints != "none"
GPT_GPT2 = [f"{PLAN.features}/gpt_gpt2.manifest.json"] if GPT_HUB else []
GPT_KARVONEN = [f"{PLAN.features}/gpt_karvonen.manifest.json"] if GPT_HUB else []
GPT_MODELS = [f"{PLAN.features}/gpt_family.manifest.json"] if GPT_HUB else []
GPT_PACKAGE = not GPT_HUB and GPT.vocabulary == "package"
GPT_PAIRS = [f"{PLAN.features}/gpt_vocabulary.manifest.json"] if GPT_PACKAGE else GPT_GPT2
GPT_FURTHER = GPT.training.further_seeds
GPT_SEED_WEIGHTS = f"{GPT_RESULTS}/chess_model_{{seed}}.safetensors"
GPT_SEED_LOG = f"{GPT_RESULTS}/training_log_{{seed}}.parquet"
GPT_DECODER = GPT.decoder == "package"
GPT_SHOWN = {
    kind: GPT_DRAWN.shown(outputs, decoder=GPT_DECODER)
    for kind, outputs in (("figures", GPT_DRAWN.FIGURES), ("tables", GPT_DRAWN.TABLES))
}
GPT_TRUTH = [f"{PLAN.features}/gpt/truth.json"] if GPT.origin == "generated" else []


if GPT.origin == "generated":

    rule gpt_generate:
        output:
            manifest=f"{PLAN.features}/gpt_games.manifest.json",
            truth=f"{PLAN.features}/gpt/truth.json",
        log:
            f"{PLAN.logs}/gpt_generate.log",
        priority: 60
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.gpt.generate:generate_games"),
        shell:
            PLAN.shell

else:

    rule gpt_source:
        output:
            manifest=f"{PLAN.features}/gpt_games.manifest.json",
        log:
            f"{PLAN.logs}/gpt_source.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=240,
            host_huggingface_co=int(GPT.origin == "public"),
        params:
            files=PLAN.files,
            call=PLAN.call(
                "studies.gpt.fetching:list_files"
                if GPT.origin == "files"
                else "studies.gpt.fetching:fetch_lichess"
            ),
        shell:
            PLAN.shell


if GPT_HUB:
    for checkpoint in ("gpt2", "karvonen", "family"):

        rule:
            name:
                f"gpt_fetch_{checkpoint}"
            output:
                manifest=f"{PLAN.features}/gpt_{checkpoint}.manifest.json",
            log:
                f"{PLAN.logs}/gpt_fetch_{checkpoint}.log",
            threads: 1
            resources:
                mem_mb=1000,
                runtime=240,
                host_huggingface_co=1,
            params:
                files=PLAN.files,
                call=PLAN.call(f"studies.gpt.fetching:fetch_{checkpoint}"),
            shell:
                PLAN.shell


if GPT_PACKAGE:

    rule gpt_vocabulary:
        output:
            manifest=f"{PLAN.features}/gpt_vocabulary.manifest.json",
        log:
            f"{PLAN.logs}/gpt_vocabulary.log",
        threads: 1
        resources:
            mem_mb=500,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.gpt.fetching:list_vocabulary"),
        shell:
            PLAN.shell


rule gpt_closed_forms:
    input:
        checkpoints=GPT_MODELS,
    output:
        family_table=f"{GPT_RESULTS}/family.parquet",
        summary=f"{GPT_RESULTS}/closed_forms.json",
        measurements=f"{GPT_MEASURED}/closed_forms.parquet",
    log:
        f"{PLAN.logs}/gpt_closed_forms.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.closed_forms:measure_closed_forms"),
    shell:
        PLAN.shell


rule gpt_rules_of_chess:
    output:
        replayed=f"{GPT_RESULTS}/replayed.json",
        measurements=f"{GPT_MEASURED}/rules_of_chess.parquet",
    log:
        f"{PLAN.logs}/gpt_rules_of_chess.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.rules_of_chess:measure_rules"),
    shell:
        PLAN.shell


rule gpt_mechanics:
    output:
        summary=f"{GPT_RESULTS}/mechanics.json",
        measurements=f"{GPT_MEASURED}/mechanics.parquet",
    log:
        f"{PLAN.logs}/gpt_mechanics.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.mechanics:measure_mechanics"),
    shell:
        PLAN.shell


rule gpt_tokens:
    input:
        vocabulary=GPT_PAIRS,
    output:
        chips=f"{GPT_RESULTS}/chips.parquet",
        measurements=f"{GPT_MEASURED}/tokens.parquet",
    log:
        f"{PLAN.logs}/gpt_tokens.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.tokens:measure_tokens"),
    shell:
        PLAN.shell


rule gpt_timing:
    output:
        costs=f"{GPT_RESULTS}/costs.parquet",
        measurements=f"{GPT_MEASURED}/timing.parquet",
    log:
        f"{PLAN.logs}/gpt_timing.log",
    threads: GPT.threads
    resources:
        mem_mb=2500,
        runtime=120,
        gpu=GPT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.timing:measure_timing"),
    shell:
        PLAN.shell


rule gpt_reading:
    input:
        gpt2=GPT_GPT2,
        karvonen=GPT_KARVONEN,
    output:
        tokens=f"{GPT_RESULTS}/reading_tokens.parquet",
        lens=f"{GPT_RESULTS}/reading_lens.parquet",
        measurements=f"{GPT_MEASURED}/reading.parquet",
    log:
        f"{PLAN.logs}/gpt_reading.log",
    threads: GPT.threads
    resources:
        mem_mb=4000 if GPT_HUB else 500,
        runtime=30,
        gpu=GPT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.reading:measure_reading"),
    shell:
        PLAN.shell


# Another model than the article's: it answers no row, so that it has no measurements.
if GPT_DECODER:

    rule gpt_list_decoder:
        output:
            manifest=f"{PLAN.features}/gpt_decoder.manifest.json",
        log:
            f"{PLAN.logs}/gpt_list_decoder.log",
        threads: 1
        resources:
            mem_mb=500,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.gpt.fetching:list_decoder"),
        shell:
            PLAN.shell

    rule gpt_decoder:
        input:
            checkpoint=f"{PLAN.features}/gpt_decoder.manifest.json",
        output:
            tokens=f"{GPT_RESULTS}/decoder_tokens.parquet",
            prompts=f"{GPT_RESULTS}/decoder_prompts.parquet",
            following=f"{GPT_RESULTS}/decoder_next.parquet",
            layers=f"{GPT_RESULTS}/decoder_layers.parquet",
            caches=f"{GPT_RESULTS}/decoder_caches.parquet",
        log:
            f"{PLAN.logs}/gpt_decoder.log",
        threads: GPT.threads
        resources:
            mem_mb=3000,
            runtime=10,
            gpu=GPT_GPU,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.gpt.decoder:read_decoder"),
        shell:
            PLAN.shell


rule gpt_games:
    input:
        manifest=f"{PLAN.features}/gpt_games.manifest.json",
        truth=GPT_TRUTH,
    output:
        games=f"{GPT_RESULTS}/games.parquet",
        summary=f"{GPT_RESULTS}/games.json",
        measurements=f"{GPT_MEASURED}/games.parquet",
    log:
        f"{PLAN.logs}/gpt_games.log",
    priority: 55
    threads: 1
    resources:
        mem_mb=1000 if GPT.origin == "generated" else 6000,
        runtime=30,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.games:clean_games"),
    shell:
        PLAN.shell


rule gpt_positions:
    input:
        games=rules.gpt_games.output.games,
        summary=rules.gpt_games.output.summary,
    output:
        positions=f"{GPT_RESULTS}/positions.parquet",
        measurements=f"{GPT_MEASURED}/positions.parquet",
    log:
        f"{PLAN.logs}/gpt_positions.log",
    priority: 50
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.positions:draw_positions"),
    shell:
        PLAN.shell


# The state of an unfinished training lies below data/checkpoints/<run>/gpt: a killed job that
# is started again goes on from there.
rule gpt_training:
    input:
        games=rules.gpt_games.output.games,
        positions=rules.gpt_positions.output.positions,
        summary=rules.gpt_games.output.summary,
    output:
        weights=f"{GPT_RESULTS}/chess_model.safetensors",
        log=f"{GPT_RESULTS}/training_log.parquet",
        training_facts=f"{GPT_RESULTS}/training.json",
        measurements=f"{GPT_MEASURED}/training.parquet",
    log:
        f"{PLAN.logs}/gpt_training.log",
    priority: 45
    threads: GPT.threads
    resources:
        mem_mb=4000,
        runtime=720,
        gpu=GPT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.training:train_model"),
    shell:
        PLAN.shell


if GPT_FURTHER:

    rule gpt_train_further:
        input:
            games=rules.gpt_games.output.games,
            positions=rules.gpt_positions.output.positions,
            summary=rules.gpt_games.output.summary,
        output:
            weights=GPT_SEED_WEIGHTS,
            log=GPT_SEED_LOG,
            training_facts=f"{GPT_RESULTS}/training_{{seed}}.json",
        log:
            f"{PLAN.logs}/gpt_train_further_{{seed}}.log",
        wildcard_constraints:
            seed="|".join(str(seed) for seed in GPT_FURTHER),
        priority: 40
        threads: GPT.threads
        resources:
            mem_mb=4000,
            runtime=720,
            gpu=GPT_GPU,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.gpt.further_training:train_further"),
        shell:
            PLAN.shell


rule gpt_moves:
    input:
        games=rules.gpt_games.output.games,
        positions=rules.gpt_positions.output.positions,
        summary=rules.gpt_games.output.summary,
        weights=rules.gpt_training.output.weights,
        training_facts=rules.gpt_training.output.training_facts,
        gpt2=GPT_GPT2,
        karvonen=GPT_KARVONEN,
    output:
        moves=f"{GPT_RESULTS}/moves.parquet",
        shares=f"{GPT_RESULTS}/shares.parquet",
        gaps=f"{GPT_RESULTS}/gaps.parquet",
        measurements=f"{GPT_MEASURED}/moves.parquet",
    log:
        f"{PLAN.logs}/gpt_moves.log",
    threads: GPT.threads
    resources:
        mem_mb=4000,
        runtime=120,
        gpu=GPT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.moves:measure_moves"),
    shell:
        PLAN.shell


if GPT_FURTHER:

    rule gpt_judge_further:
        input:
            positions=rules.gpt_positions.output.positions,
            moves=rules.gpt_moves.output.moves,
            weights=expand(GPT_SEED_WEIGHTS, seed=GPT_FURTHER),
            logs=expand(GPT_SEED_LOG, seed=GPT_FURTHER),
        output:
            further=f"{GPT_RESULTS}/further_seeds.parquet",
        log:
            f"{PLAN.logs}/gpt_judge_further.log",
        threads: GPT.threads
        resources:
            mem_mb=2000,
            runtime=120,
            gpu=GPT_GPU,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.gpt.further_judging:judge_further"),
        shell:
            PLAN.shell


rule gpt_seeds:
    input:
        shares=rules.gpt_moves.output.shares,
        gaps=rules.gpt_moves.output.gaps,
        log=rules.gpt_training.output.log,
        further=[f"{GPT_RESULTS}/further_seeds.parquet"] if GPT_FURTHER else [],
    output:
        seeds=f"{GPT_RESULTS}/seeds.parquet",
        spread=f"{GPT_RESULTS}/seed_spread.parquet",
    log:
        f"{PLAN.logs}/gpt_seeds.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.seeds:pool_seeds"),
    shell:
        PLAN.shell


rule gpt_arena:
    input:
        weights=rules.gpt_training.output.weights,
        training_facts=rules.gpt_training.output.training_facts,
        karvonen=GPT_KARVONEN,
    output:
        played=f"{GPT_RESULTS}/played.parquet",
        measurements=f"{GPT_MEASURED}/arena.parquet",
    log:
        f"{PLAN.logs}/gpt_arena.log",
    threads: GPT.threads
    resources:
        mem_mb=2000,
        runtime=240,
        gpu=GPT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.arena:measure_games"),
    shell:
        PLAN.shell


rule gpt_probes:
    input:
        games=rules.gpt_games.output.games,
        summary=rules.gpt_games.output.summary,
        weights=rules.gpt_training.output.weights,
        training_facts=rules.gpt_training.output.training_facts,
        karvonen=GPT_KARVONEN,
    output:
        accuracy=f"{GPT_RESULTS}/probes.parquet",
        shown=f"{GPT_RESULTS}/probe_boards.json",
        measurements=f"{GPT_MEASURED}/probes.parquet",
    log:
        f"{PLAN.logs}/gpt_probes.log",
    threads: GPT.threads
    resources:
        mem_mb=8000,
        runtime=240,
        gpu=GPT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.probes:measure_probes"),
    shell:
        PLAN.shell


rule gpt_chess_reading:
    input:
        weights=rules.gpt_training.output.weights,
    output:
        tokens=f"{GPT_RESULTS}/chess_tokens.parquet",
        lens=f"{GPT_RESULTS}/chess_lens.parquet",
    log:
        f"{PLAN.logs}/gpt_chess_reading.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.gpt.chess_reading:read_chess"),
    shell:
        PLAN.shell


# One rule a figure and one a table: what each draws from stands in drawn.py.
for figure, drawn_from in GPT_SHOWN["figures"].items():

    rule:
        name:
            f"gpt_{figure}"
        input:
            **{name: f"{GPT_RESULTS}/{file}" for name, file in drawn_from},
        output:
            light_svg=f"{GPT_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{GPT_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="gpt",
                labels={"output": figure},
            ),
            dark_svg=f"{GPT_FIGURES}/{figure}.dark.svg",
            dark_png=f"{GPT_FIGURES}/{figure}.dark.png",
            csv=f"{GPT_FIGURES}/{figure}.csv",
            alt=f"{GPT_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/gpt_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.gpt.{GPT_DRAWN.module_of(figure)}:{figure}"),
            caption=PLAN.caption("gpt", figure),
        shell:
            PLAN.shell


for table, drawn_from in GPT_SHOWN["tables"].items():

    rule:
        name:
            f"gpt_{table}"
        input:
            **{name: f"{GPT_RESULTS}/{file}" for name, file in drawn_from},
        output:
            table=report(
                f"{GPT_TABLES}/{table}.html",
                caption=CAPTION,
                category="gpt",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/gpt_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.gpt.{GPT_DRAWN.module_of(table)}:{table}"),
            caption=PLAN.caption("gpt", table),
        shell:
            PLAN.shell


MEASUREMENTS["gpt"] = [
    f"{GPT_MEASURED}/{name}.parquet"
    for name in (
        "closed_forms",
        "rules_of_chess",
        "mechanics",
        "tokens",
        "timing",
        "reading",
        "games",
        "positions",
        "training",
        "moves",
        "arena",
        "probes",
    )
]
ARTEFACTS["gpt"] = [
    f"{PLAN.features}/gpt_games.manifest.json",
    rules.gpt_games.output.games,
    rules.gpt_positions.output.positions,
    rules.gpt_training.output.weights,
    rules.gpt_moves.output.moves,
    rules.gpt_seeds.output.seeds,
    *expand(GPT_SEED_WEIGHTS, seed=GPT_FURTHER),
    *GPT_GPT2,
    *GPT_KARVONEN,
    *GPT_MODELS,
]
FIGURES["gpt"] = expand(
    f"{GPT_FIGURES}/{{figure}}.{{part}}",
    figure=GPT_SHOWN["figures"],
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["gpt"] = [f"{GPT_TABLES}/{table}.html" for table in GPT_SHOWN["tables"]]

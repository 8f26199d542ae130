# Vision Transformers: the study's part of the graph.
#
#   tiles ──── trainings of each learner ── the race ───────────────┐
#     └─────────── opened: the published model, or the small ViT ───┼─ figures, tables, ledger
#   photographs ───────┴─── parts (definitions, sizes, costs) ──────┘
#
# What needs a checkpoint is there only where the configuration says where from (vit.checkpoints).
# Every rule names one step; the names of its files are the step's parameters.

from remeasure.studies.vit import drawn as VIT_DRAWN
from remeasure.studies.vit.checkpoint_list import checkpoints_of as vit_checkpoints_of
from remeasure.studies.vit.checkpoint_list import learners_of as vit_learners_of

VIT = PLAN.config.section("vit")
VIT_FEATURES = f"{PLAN.features}/vit"
VIT_RESULTS = f"{PLAN.results}/vit"
VIT_MEASURED = f"{VIT_RESULTS}/measurements"
VIT_FIGURES = f"{PLAN.reports}/vit/figures"
VIT_TABLES = f"{PLAN.reports}/vit/tables"
VIT_MANIFEST = f"{PLAN.features}/vit_{{name}}.manifest.json"
VIT_CHECKPOINTS = vit_checkpoints_of(VIT)
VIT_LEARNERS = vit_learners_of(VIT)
VIT_FROZEN = [name for name in VIT_LEARNERS if name in ("probe", "shipped")]
VIT_SMALL = [name for name in VIT_LEARNERS if name in ("vit", "cnn")]
VIT_GPU = int(VIT.race.device == "cuda")
VIT_DRAWS = [
    figure
    for figure in VIT_DRAWN.FIGURES
    if VIT_DRAWN.NEEDS.get(figure) in (None, *VIT_CHECKPOINTS)
]


if VIT.tiles.origin == "generated":

    rule vit_generate:
        output:
            manifest=VIT_MANIFEST.format(name="tiles"),
        log:
            f"{PLAN.logs}/vit_generate.log",
        threads: 1
        resources:
            mem_mb=1500,
            runtime=10,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.generate:generate_tiles"),
        shell:
            PLAN.shell

else:

    rule vit_fetch_tiles:
        output:
            manifest=VIT_MANIFEST.format(name="tiles"),
        log:
            f"{PLAN.logs}/vit_fetch_tiles.log",
        threads: 1
        resources:
            mem_mb=1500,
            runtime=60,
            host_huggingface_co=1,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.fetching:fetch_tiles"),
        shell:
            PLAN.shell


rule vit_fetch_photos:
    output:
        manifest=VIT_MANIFEST.format(name="photos"),
    log:
        f"{PLAN.logs}/vit_fetch_photos.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.vit.fetching:fetch_photos"),
    shell:
        PLAN.shell


if VIT_CHECKPOINTS:

    rule vit_fetch_weights:
        output:
            manifest=f"{PLAN.features}/vit_{{checkpoint}}.manifest.json",
        log:
            f"{PLAN.logs}/vit_fetch_{{checkpoint}}.log",
        wildcard_constraints:
            checkpoint="|".join(VIT_CHECKPOINTS),
        threads: 1
        resources:
            mem_mb=2000,
            runtime=600,
            host_huggingface_co=1,
        params:
            files=PLAN.files,
            call=lambda wildcards: PLAN.call(
                f"studies.vit.fetching:fetch_weights[{wildcards.checkpoint}]"
            ),
        shell:
            PLAN.shell


rule vit_tiles:
    input:
        manifest=VIT_MANIFEST.format(name="tiles"),
    output:
        tiles=f"{VIT_FEATURES}/tiles.safetensors",
        summary=f"{VIT_FEATURES}/tiles.json",
    log:
        f"{PLAN.logs}/vit_tiles.log",
    threads: 1
    resources:
        mem_mb=3000,
        runtime=20,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.vit.tiles:read_tiles"),
    shell:
        PLAN.shell


rule vit_photos:
    input:
        photos=VIT_MANIFEST.format(name="photos"),
    output:
        pictures=f"{VIT_RESULTS}/photos.safetensors",
        summary=f"{VIT_RESULTS}/photos.json",
    log:
        f"{PLAN.logs}/vit_photos.log",
    threads: 1
    resources:
        mem_mb=1500,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.vit.photos:show_photos"),
    shell:
        PLAN.shell


# A GPU where the setting asks for one; auto takes one that is there, and the CPU where none is.
rule vit_train:
    input:
        tiles=f"{VIT_FEATURES}/tiles.safetensors",
    output:
        runs=f"{VIT_RESULTS}/runs_{{learner}}.parquet",
        guesses=f"{VIT_RESULTS}/guesses_{{learner}}.parquet",
        weights=f"{VIT_RESULTS}/weights_{{learner}}.safetensors",
    log:
        f"{PLAN.logs}/vit_train_{{learner}}.log",
    wildcard_constraints:
        learner="|".join(VIT_SMALL),
    threads: VIT.race.threads
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=VIT_GPU,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.vit.training:train_small"),
    shell:
        PLAN.shell


if "body" in VIT_CHECKPOINTS:

    rule vit_fine_tune:
        input:
            tiles=f"{VIT_FEATURES}/tiles.safetensors",
            checkpoint=VIT_MANIFEST.format(name="body"),
        output:
            runs=f"{VIT_RESULTS}/runs_tuned.parquet",
            guesses=f"{VIT_RESULTS}/guesses_tuned.parquet",
            weights=f"{VIT_RESULTS}/weights_tuned.safetensors",
        log:
            f"{PLAN.logs}/vit_fine_tune.log",
        threads: VIT.race.threads
        resources:
            mem_mb=12000,
            runtime=2880,
            gpu=VIT_GPU,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.training:fine_tune"),
        shell:
            PLAN.shell


if "dinov2" in VIT_CHECKPOINTS:

    rule vit_features:
        input:
            tiles=f"{VIT_FEATURES}/tiles.safetensors",
            checkpoint=VIT_MANIFEST.format(name="dinov2"),
        output:
            features=f"{VIT_FEATURES}/features_probe.safetensors",
        log:
            f"{PLAN.logs}/vit_features.log",
        threads: VIT.race.threads
        resources:
            mem_mb=6000,
            runtime=600,
            gpu=VIT_GPU,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.probing:take_features"),
        shell:
            PLAN.shell


if VIT.backbone.use:

    rule vit_fetch_backbone:
        output:
            manifest=VIT_MANIFEST.format(name="backbone"),
        log:
            f"{PLAN.logs}/vit_fetch_backbone.log",
        threads: 1
        resources:
            mem_mb=500,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.fetching:fetch_backbone"),
        shell:
            PLAN.shell

    rule vit_backbone_features:
        input:
            tiles=f"{VIT_FEATURES}/tiles.safetensors",
            checkpoint=VIT_MANIFEST.format(name="backbone"),
        output:
            features=f"{VIT_FEATURES}/features_shipped.safetensors",
        log:
            f"{PLAN.logs}/vit_backbone_features.log",
        threads: VIT.race.threads
        resources:
            mem_mb=3000,
            runtime=120,
            gpu=VIT_GPU,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.backbone:take_backbone_features"),
        shell:
            PLAN.shell


if VIT_FROZEN:

    rule vit_probe:
        input:
            features=f"{VIT_FEATURES}/features_{{learner}}.safetensors",
        output:
            runs=f"{VIT_RESULTS}/runs_{{learner}}.parquet",
            guesses=f"{VIT_RESULTS}/guesses_{{learner}}.parquet",
        log:
            f"{PLAN.logs}/vit_probe_{{learner}}.log",
        wildcard_constraints:
            learner="|".join(VIT_FROZEN),
        threads: 1
        resources:
            mem_mb=3000,
            runtime=60,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.probing:train_probe"),
        shell:
            PLAN.shell


if "vit" in VIT_CHECKPOINTS:

    rule vit_open:
        input:
            photos=VIT_MANIFEST.format(name="photos"),
            checkpoint=VIT_MANIFEST.format(name="vit"),
        output:
            opened=f"{VIT_RESULTS}/opened.safetensors",
            summary=f"{VIT_RESULTS}/opened.json",
        log:
            f"{PLAN.logs}/vit_open.log",
        threads: 1
        resources:
            mem_mb=4000,
            runtime=20,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.opened:open_published"),
        shell:
            PLAN.shell

else:

    rule vit_open:
        input:
            tiles=f"{VIT_FEATURES}/tiles.safetensors",
            tiles_summary=f"{VIT_FEATURES}/tiles.json",
            weights=f"{VIT_RESULTS}/weights_vit.safetensors",
        output:
            opened=f"{VIT_RESULTS}/opened.safetensors",
            summary=f"{VIT_RESULTS}/opened.json",
        log:
            f"{PLAN.logs}/vit_open.log",
        threads: 1
        resources:
            mem_mb=2000,
            runtime=10,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.opened:open_trained"),
        shell:
            PLAN.shell


if "dino" in VIT_CHECKPOINTS:

    rule vit_open_dino:
        input:
            photos=VIT_MANIFEST.format(name="photos"),
            checkpoint=VIT_MANIFEST.format(name="dino"),
        output:
            opened=f"{VIT_RESULTS}/dino.safetensors",
            summary=f"{VIT_RESULTS}/dino.json",
        log:
            f"{PLAN.logs}/vit_open_dino.log",
        threads: 1
        resources:
            mem_mb=4000,
            runtime=20,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.vit.opened:open_dino"),
        shell:
            PLAN.shell


rule vit_parts:
    input:
        photos_summary=f"{VIT_RESULTS}/photos.json",
        opened_summary=f"{VIT_RESULTS}/opened.json",
    output:
        cost=f"{VIT_RESULTS}/cost.parquet",
        sizes=f"{VIT_RESULTS}/sizes.json",
        measurements=f"{VIT_MEASURED}/parts.parquet",
    log:
        f"{PLAN.logs}/vit_parts.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.vit.parts:measure_parts"),
    shell:
        PLAN.shell


rule vit_race:
    input:
        tiles=f"{VIT_FEATURES}/tiles.safetensors",
        tiles_summary=f"{VIT_FEATURES}/tiles.json",
        runs=expand(f"{VIT_RESULTS}/runs_{{learner}}.parquet", learner=VIT_LEARNERS),
        guesses=expand(f"{VIT_RESULTS}/guesses_{{learner}}.parquet", learner=VIT_LEARNERS),
    output:
        accuracy=f"{VIT_RESULTS}/accuracy.parquet",
        confusion=f"{VIT_RESULTS}/confusion.parquet",
        samples=f"{VIT_RESULTS}/samples.safetensors",
        summary=f"{VIT_RESULTS}/race.json",
        measurements=f"{VIT_MEASURED}/race.parquet",
    log:
        f"{PLAN.logs}/vit_race.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=5,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.vit.race:measure_race"),
    shell:
        PLAN.shell


# One rule a figure and one a table: what each draws from stands in drawn.py.
for figure in VIT_DRAWS:

    rule:
        name:
            f"vit_{figure}"
        input:
            **{name: f"{VIT_RESULTS}/{file}" for name, file in VIT_DRAWN.FIGURES[figure]},
        output:
            light_svg=f"{VIT_FIGURES}/{figure}.light.svg",
            light_png=report(
                f"{VIT_FIGURES}/{figure}.light.png",
                caption=CAPTION,
                category="vit",
                labels={"output": figure},
            ),
            dark_svg=f"{VIT_FIGURES}/{figure}.dark.svg",
            dark_png=f"{VIT_FIGURES}/{figure}.dark.png",
            csv=f"{VIT_FIGURES}/{figure}.csv",
            alt=f"{VIT_FIGURES}/{figure}.alt.txt",
        log:
            f"{PLAN.logs}/vit_{figure}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.vit.{VIT_DRAWN.module_of(figure)}:{figure}"),
            caption=PLAN.caption("vit", figure),
        shell:
            PLAN.shell


for table, drawn_from in VIT_DRAWN.TABLES.items():

    rule:
        name:
            f"vit_{table}"
        input:
            **{name: f"{VIT_RESULTS}/{file}" for name, file in drawn_from},
        output:
            table=report(
                f"{VIT_TABLES}/{table}.html",
                caption=CAPTION,
                category="vit",
                labels={"output": table},
            ),
        log:
            f"{PLAN.logs}/vit_{table}.log",
        threads: 1
        resources:
            mem_mb=1000,
            runtime=5,
        params:
            files=PLAN.files,
            call=PLAN.call(f"studies.vit.{VIT_DRAWN.module_of(table)}:{table}"),
            caption=PLAN.caption("vit", table),
        shell:
            PLAN.shell


MEASUREMENTS["vit"] = expand(f"{VIT_MEASURED}/{{step}}.parquet", step=("parts", "race"))
ARTEFACTS["vit"] = [
    *expand(f"{VIT_RESULTS}/{{file}}.parquet", file=("cost", "accuracy", "confusion")),
    *expand(f"{VIT_RESULTS}/{{file}}.json", file=("photos", "opened", "sizes", "race")),
    *expand(f"{VIT_RESULTS}/runs_{{learner}}.parquet", learner=VIT_LEARNERS),
]
FIGURES["vit"] = expand(
    f"{VIT_FIGURES}/{{figure}}.{{part}}",
    figure=VIT_DRAWS,
    part=("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt"),
)
TABLES["vit"] = [f"{VIT_TABLES}/{table}.html" for table in VIT_DRAWN.TABLES]

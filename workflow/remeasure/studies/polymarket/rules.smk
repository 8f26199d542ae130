# How accurate are Polymarket's prices?: the study's part of the graph.
#
#   listing shards ─ population ─ sample ─┬─ prices by shard ─ asof ─ trades by shard ─┐
#                                         └────────────────────── forecasts ───────────┴─ results
#
# The number of pages of a shard is unknown beforehand: one rule walks it, and what it has
# fetched stays in the raw cache, so that a stopped crawl goes on where it was.

from remeasure.studies.polymarket import drawn as POLYMARKET_DRAWN
from remeasure.studies.polymarket.plan import listing_shards as polymarket_listing_shards
from remeasure.studies.polymarket.collections import table_paths as polymarket_table_paths

POLYMARKET = PLAN.config.section("polymarket")
POLYMARKET_FEATURES = f"{PLAN.features}/polymarket"
POLYMARKET_RESULTS = f"{PLAN.results}/polymarket"
POLYMARKET_MEASURED = f"{POLYMARKET_RESULTS}/measurements"
POLYMARKET_FIGURES = f"{PLAN.reports}/polymarket/figures"
POLYMARKET_LISTED = list(polymarket_listing_shards(POLYMARKET))
POLYMARKET_SHARDS = [str(shard) for shard in range(POLYMARKET.crawl.shards)]

# Generated pages come with a manifest of the world, and with the truth that was planted.
POLYMARKET_WORLD, POLYMARKET_TRUTH = {}, {}


if POLYMARKET.origin == "generated":
    POLYMARKET_WORLD = {"world": f"{PLAN.features}/polymarket_world.manifest.json"}
    POLYMARKET_TRUTH = {"truth": f"{POLYMARKET_FEATURES}/truth.parquet"}

    rule polymarket_generate:
        output:
            manifest=POLYMARKET_WORLD["world"],
            truth=POLYMARKET_TRUTH["truth"],
        log:
            f"{PLAN.logs}/polymarket_generate.log",
        priority: 100
        threads: 1
        resources:
            mem_mb=3000,
            runtime=10,
        params:
            files=PLAN.files,
            call=PLAN.call("studies.polymarket.generate:generate_world"),
        shell:
            PLAN.shell


# What the crawl takes the services for, put to them before it starts; without network nothing
# is asked, and the table says so.
rule polymarket_probe:
    output:
        probe=f"{POLYMARKET_FEATURES}/probe.parquet",
    log:
        f"{PLAN.logs}/polymarket_probe.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=15,
        host_data=1,
    params:
        files=PLAN.files,
        call=PLAN.call("studies.polymarket.probe:probe_services"),
    shell:
        PLAN.shell


POLYMARKET_PROBED = (
    {"probe": rules.polymarket_probe.output.probe} if POLYMARKET.origin == "public" else {}
)


if POLYMARKET.origin != "files":

    include: "rules_crawl.smk"

else:

    include: "rules_files.smk"


include: "rules_results.smk"

# The front door: configuration, the studies' rules, the targets.
#
#   snakemake --cores 2                                    everything, generated data
#   snakemake --cores 2 --configfile config/mirror.yaml    real candles from a mirror
#   snakemake --cores 1 crypto_fig_tails                   one figure and what it needs
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


# Where nothing of the reader's machine may count, steps run in the image that the
# lock file was made for: snakemake --software-deployment-method apptainer.
container: "docker://python:3.11-slim-bookworm"


report: "workflow/report/workflow.rst"


# A copied tree runs its own code, with the interpreter that runs Snakemake.
ROOT = Path(workflow.basedir)
sys.path.insert(0, (ROOT / "workflow").as_posix())

from remeasure.environment import set_for_jobs
from remeasure.errors import ExpectedError
from remeasure.plan import Plan
from remeasure.report.site import write_door

set_for_jobs(ROOT / "workflow")

if not config:
    raise WorkflowError("no configuration: start Snakemake in the folder that holds the Snakefile")
try:
    PLAN = Plan.from_raw(config)
except ExpectedError as error:
    raise WorkflowError(str(error))


# A dry run names every file that would come over the network, with its size.
if workflow.output_settings.dryrun:
    from remeasure.fetch.remote import dry_run

    try:
        print(dry_run(PLAN.config), end="", file=sys.stderr)
    except ExpectedError as error:
        raise WorkflowError(str(error))


onstart:
    PLAN.remember(
        [
            os.path.relpath(file)
            for file in (ROOT / "config" / "config.yaml", *workflow.overwrite_configfiles)
        ],
        workflow.config_settings.config,
        list(workflow.dag.jobs),
    )


onsuccess:
    write_door(Path("reports"))


# What the studies give to the ledger, the site and the targets below: each study's rules
# fill in their files, by study.
MEASUREMENTS, ARTEFACTS, FIGURES, TABLES = {}, {}, {}, {}
# Caption of figures and tables in `snakemake --report`; a path is relative to the rule file.
CAPTION = (ROOT / "workflow/report/output.rst").as_posix()
FOLDERS = {study: f"workflow/remeasure/studies/{study}" for study in PLAN.studies}


# What a bare `snakemake --cores` makes.
rule all:
    default_target: True
    input:
        f"{PLAN.reports}/index.html",
        f"{PLAN.reports}/ledger.html",
        f"{PLAN.reports}/provenance.html",
        expand(f"{PLAN.reports}/{{study}}.html", study=PLAN.studies),


# A rule's priority is about the seconds that it and the longest chain behind it take on one
# core: what is long begins first, so that no run ends with one long job and idle cores.
for study in PLAN.studies:

    include: f"{FOLDERS[study]}/rules.smk"


include: "workflow/rules.smk"


# Names of files count, too: a rule whose inputs are swapped runs again.
for planned in workflow.rules:
    if "call" in planned.params.keys():
        planned.set_params(wiring=PLAN.wiring(planned))

"""What a run will do: the call of every step, and the paths of the run.

The Snakefile builds one plan from its configuration and takes every rule's
parameter and paths from it; the audit builds the same plan from today's
configuration and code and compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from remeasure.config import Config, read_files, study_module, validate
from remeasure.errors import ConfigError
from remeasure.fingerprint import fingerprint
from remeasure.ledger.settings import LedgerSettings
from remeasure.records import write_atomically
from remeasure.report.models import PageSettings, StudyPageSettings
from remeasure.step import WRITER, Call
from remeasure.studies.base import Study


class Caption:
    """A caption for ``snakemake --report``; an object, so that Snakemake reruns nothing for it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class Plan:
    """Calls and paths of one run.

    Parameters
    ----------
    config
        A validated configuration.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.run = config.core.run
        self.studies = tuple(sorted(config.core.studies))
        self.features = f"data/features/{self.run}"
        self.results = f"results/{self.run}"
        self.reports = f"reports/{self.run}"
        self.logs = f"logs/{self.run}"
        self._settings: dict[str, BaseModel | Mapping[str, Any]] = {**self._core_steps()}
        for study in self.studies:
            module = study_module(study, "plan")
            for name, settings in module.steps(config.section(study), config).items():
                self._settings[f"studies.{study}.{name}"] = settings

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Plan:
        """Validate a merged configuration and plan it."""
        return cls(validate(raw))

    @classmethod
    def from_files(cls, files: Sequence[Path], overrides: Mapping[str, Any] | None = None) -> Plan:
        """Plan configuration files merged in order."""
        return cls.from_raw(read_files(files, overrides))

    def _core_steps(self) -> dict[str, BaseModel]:
        core = self.config.core
        page = PageSettings(run=self.run, seed=core.seed, studies=self.studies)
        return {
            "ledger.join:build_ledger": LedgerSettings(studies=self.studies),
            "report.site:build_index": page,
            "report.site:build_ledger_page": page,
            "report.site:build_provenance_page": page,
            **{
                f"report.site:build_study_page[{study}]": StudyPageSettings(
                    run=self.run, study=study
                )
                for study in self.studies
            },
        }

    def study(self, study: str) -> Study:
        """A study's own declaration of its outputs."""
        declared: Study = study_module(study, "outputs").STUDY
        return declared

    def caption(self, study: str, output: str) -> Caption:
        """What stands below a figure or table, from the study's own declaration."""
        declared = self.study(study).output(output)
        return Caption(f"**{declared.title}.** {declared.caption}")

    def reads(self, step: str) -> tuple[str, ...]:
        """Modules that a step loads by name, outside its imports: study declarations."""
        if step.startswith("ledger."):
            return tuple(f"remeasure.studies.{study}.outputs" for study in self.studies)
        if step.startswith("report.site:build_study_page["):
            return (f"remeasure.studies.{step[:-1].rpartition('[')[2]}.outputs",)
        if step.startswith("report."):
            return tuple(f"remeasure.studies.{study}.outputs" for study in self.studies)
        return ()

    def call(self, step: str) -> str:
        """The one parameter of a rule: canonical JSON of the step's call.

        ``step`` is ``module:function`` below the package; a suffix ``[name]``
        tells calls of one function apart.

        Raises
        ------
        ConfigError
            When no settings are planned for such a step.
        """
        if step not in self._settings:
            raise ConfigError(
                f"no settings are planned for step {step!r}",
                where="steps() of the study's settings.py",
                remedy=f"add it there; planned are {', '.join(sorted(self._settings))}",
            )
        name = step.partition("[")[0]
        module = "remeasure." + name.partition(":")[0]
        settings = self._settings[step]
        return Call(
            step=name,
            run=self.run,
            seed=self.config.core.seed,
            code=fingerprint(module, also=self.reads(step)),
            settings=to_jsonable_python(settings),
        ).canonical()

    #: The shell command of every rule; its parameters are ``call`` and ``files``.
    shell = "python -m remeasure.step --call {params.call:q} --log {log:q} {params.files:q}"

    @staticmethod
    def files(wildcards: Any, input: Any, output: Any) -> list[str]:
        """A rule's files and wildcards by name, as words of the dispatcher's command line.

        A function of input and output, so Snakemake takes it for derived and reruns nothing
        for it; every word is quoted where the shell command is filled in.
        """
        words: list[str] = []
        for flag, named in (("-i", input), ("-o", output), ("-w", wildcards)):
            for name, value in named.items():
                words += [flag, name, *([value] if isinstance(value, str) else value)]
        return words

    def calls(self) -> dict[str, set[str]]:
        """Today's calls of every planned step, by function: the audit's yardstick."""
        found: dict[str, set[str]] = {}
        for step in self._settings:
            found.setdefault(step.partition("[")[0], set()).add(self.call(step))
        return found

    @staticmethod
    def wiring(rule: Any) -> str:
        """How a rule's files are named: a parameter, so that a renamed or swapped file counts.

        Snakemake compares sets of paths without names, and takes ``files`` for derived. Where
        the dispatcher writes measurements, the code that writes them is part of it.
        """

        def patterns(value: Any) -> list[str]:
            values = [value] if isinstance(value, str) or callable(value) else list(value)
            return ["by wildcards" if callable(each) else str(each) for each in values]

        named = {
            side: {name: patterns(value) for name, value in files.items()}
            for side, files in (("inputs", rule.input), ("outputs", rule.output))
        }
        writer = fingerprint(WRITER) if "measurements" in named["outputs"] else ""
        return json.dumps({**named, "writer": writer}, sort_keys=True)

    def remember(self, files: Sequence[str], overrides: Mapping[str, Any], jobs: Any) -> None:
        """Write down which configuration made this run and what it planned, for the audit.

        ``jobs`` are all jobs of Snakemake's graph. A run of single targets adds to what
        earlier runs planned; a run of everything replaces it.
        """
        note = Path("provenance", self.run, "run.json")
        planned: dict[str, Any] = {}
        whole = any(job.rule.name == "all" for job in jobs)
        if not whole:
            with suppress(OSError, ValueError, KeyError, TypeError):
                before = json.loads(note.read_text("utf-8"))
                planned.update(before["planned"])
                whole = bool(before["whole"])
        for job in jobs:
            if "call" not in job.params.keys():  # noqa: SIM118
                continue
            sides = {
                side: {
                    name: [value] if isinstance(value, str) else list(value)
                    for name, value in files.items()
                }
                for side, files in (("inputs", job.input), ("outputs", job.output))
            }
            step = json.loads(job.params.call)["step"]
            for path in job.output:
                planned[str(path)] = {"step": step, **sides}
        write_atomically(
            note,
            json.dumps(
                {
                    "run": self.run,
                    "configfiles": list(files),
                    "overrides": dict(overrides),
                    "planned": planned,
                    "whole": whole,
                },
                indent=1,
                sort_keys=True,
            )
            + "\n",
        )

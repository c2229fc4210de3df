"""Runs policies on a trace in virtual time, and writes the results. Called by `shunter lab run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from shunter.app.policies import find_policies
from shunter.lab.experiment import Experiment as Experiment
from shunter.lab.experiment import Options as Options
from shunter.lab.experiment import run_experiment
from shunter.lab.output import jobs_csv, results_json, swf_lines
from shunter.lab.report.page import report_html
from shunter.lab.run import RunFailed as RunFailed
from shunter.lab.run import RunResult
from shunter.model.errors import Invalid, Problem
from shunter.planning.policies import REMOTE_PREFIX
from shunter.planning.view import Policy


def run_lab(trace: Path, options: Options, on_result: Callable[[RunResult], None]) -> Experiment:
    """Raises Invalid, or RunFailed if a policy has no result."""
    catalogues = {name: find_policies(name) for name in options.policies}

    def build(name: str) -> Policy:
        if name.startswith(REMOTE_PREFIX):
            fix = "name its class: MODULE:CLASS"
            raise Invalid([Problem("--policy", "runs in another process, which has no virtual time", name, fix)])
        policy = catalogues[name].build(name)
        if not getattr(policy, "fast", True):
            raise Invalid([Problem("--policy", "decides outside of rounds, which has no virtual time", name)])
        return policy

    filters = next(iter(catalogues.values())).filters if catalogues else ()
    return run_experiment(trace, options, build, filters, on_result)


def write_results(experiment: Experiment, folder: Path, day: int | None = None) -> list[Path]:
    """Write all files of an experiment into the folder, which is created. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Iterable[bytes]] = {
        "results.json": [results_json(experiment)],
        "report.html": [report_html(experiment, day)],
        "jobs.csv": jobs_csv(experiment),
    }
    for name in experiment.results:
        files[f"{name.replace(':', '-').replace('/', '-')}.swf"] = swf_lines(experiment, name)
    for name, parts in files.items():
        with (folder / name).open("wb") as file:
            file.writelines(parts)
    return [folder / name for name in files]

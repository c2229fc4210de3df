"""Reads a trace, runs policies on it in virtual time, and writes the results. Called by `shunter lab run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from shunter.adapters.files.flight_files import MAGIC, read_frames
from shunter.app.policies import find_policies
from shunter.lab.experiment import Experiment as Experiment
from shunter.lab.experiment import Options as Options
from shunter.lab.experiment import check_options, run_experiment
from shunter.lab.flight_trace import read_flight
from shunter.lab.nodes import NodeModel, build_nodes
from shunter.lab.output import jobs_csv, results_json, swf_lines
from shunter.lab.readers.detect import read_trace
from shunter.lab.readers.lines import TraceError, hash_file
from shunter.lab.report.page import report_html
from shunter.lab.run import RunFailed as RunFailed
from shunter.lab.run import RunResult
from shunter.lab.trace import Trace
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.flight_records import decode_record
from shunter.planning.policies import REMOTE_PREFIX
from shunter.planning.view import Policy


def run_lab(path: Path, options: Options, on_result: Callable[[RunResult], None]) -> Experiment:
    """Raises Invalid, or RunFailed if a policy has no result."""
    check_options(options)
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
    trace, nodes = load_trace(path, options.nodes)
    return run_experiment(trace, nodes, options, build, filters, on_result)


def load_trace(path: Path, nodes: str | None) -> tuple[Trace, NodeModel]:
    """A trace and its node model; a flight recording brings its nodes along. Raises Invalid."""
    if not _is_flight(path):
        trace = read_trace(path)
        return trace, build_nodes(nodes, trace, path)
    try:
        trace, recorded = read_flight(decode_record(frame) for frame in read_frames(path))
    except msgspec.DecodeError as error:
        raise TraceError(path, f"is not a recording of this version: {error}") from error
    trace = replace(trace, source=path.name, sha256=hash_file(path))
    return trace, recorded if nodes is None else build_nodes(nodes, trace)


def _is_flight(path: Path) -> bool:
    """False for a file that cannot be read, too: the reader of traces says why."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


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

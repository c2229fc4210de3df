"""The results of an experiment as files: results.json, jobs.csv and one SWF file per policy. Called by `app.lab`.

The same experiment gives the same bytes: no times of day, no paths, no durations of the runs themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import msgspec

from shunter import __version__
from shunter.lab.compare import DRAWS, block_length_s
from shunter.lab.experiment import SHAKE_S, Experiment
from shunter.lab.metrics import bounded_slowdowns, measured_jobs, waits
from shunter.lab.readers.swf import write_swf
from shunter.lab.workload import GPU_MILLI
from shunter.model.resources import CPU

FORMAT_VERSION = 1
JOB_COLUMNS = ("policy", "job", "user", "queue", "submit_s", "start_s", "end_s", "wait_s", "slowdown")


def results_json(experiment: Experiment) -> bytes:
    return msgspec.json.format(msgspec.json.encode(results(experiment)), indent=2) + b"\n"


def results(experiment: Experiment) -> dict[str, Any]:
    options, trace, nodes = experiment.options, experiment.trace, experiment.nodes
    return {
        "format": FORMAT_VERSION,
        "shunter": __version__,
        "trace": {
            "file": trace.source,
            "sha256": trace.sha256,
            "jobs_read": experiment.jobs_read,
            "filters": [asdict(each) for each in experiment.filters],
            "jobs": len(trace),
        },
        "nodes": {
            "spec": nodes.spec,
            "count": len(nodes.hellos),
            "cpus": nodes.total(CPU) / 1000,
            "gpus": nodes.total(GPU_MILLI) / 1000,
        },
        "options": {
            "estimates": options.estimates,
            "start_estimates": options.start_estimates,
            "warm_up_s": options.warm_up_s,
            "cool_down_s": options.cool_down_s,
            "seed": options.seed,
        },
        "leaderboard": [asdict(each) for each in experiment.leaderboard],
        "differences": {
            "of": "mean bounded slowdown",
            "block_s": block_length_s(trace.submit_s[measured_jobs(trace, experiment.window)]),
            "draws": DRAWS,
            "rows": [asdict(each) | {"is_tie": each.is_tie} for each in experiment.differences],
        },
        "shakes": {
            "moved_s": SHAKE_S,
            "slowdown_mean": experiment.moved_slowdowns,
        },
        "start_estimates": {
            name: asdict(quality) if quality is not None else None for name, quality in experiment.start_quality.items()
        },
        "policies": {name: asdict(figures) for name, figures in experiment.figures.items()},
    }


def jobs_csv(experiment: Experiment) -> Iterator[bytes]:
    """One line per policy and job, in parts."""
    trace = experiment.trace
    yield (",".join(JOB_COLUMNS) + "\n").encode()
    for name, result in experiment.results.items():
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = (trace.submit_s, result.start_s, result.end_s, waits(trace, result), bounded_slowdowns(trace, result))
        times = [[f"{value:.6f}".rstrip("0").rstrip(".") for value in column.tolist()] for column in columns]
        for row, values in enumerate(zip(*times, strict=True)):
            writer.writerow([name, int(trace.number[row]), trace.user[row], trace.queue[row], *values])
        yield text.getvalue().encode()


def swf_lines(experiment: Experiment, policy: str) -> Iterator[bytes]:
    """The trace with the waits of this policy."""
    waited_s = waits(experiment.trace, experiment.results[policy])
    for line in write_swf(experiment.trace, waited_s):
        yield f"{line}\n".encode()

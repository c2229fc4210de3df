"""The policy lab: idle time, reading a trace, and whole runs in virtual time.

Run: python -m benchmarks.lab. If the folder SHUNTER_TRACES has KTH-SP2, that trace is used; else one of its size is
drawn."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.measure import Bar, Report, interleave, read_options
from shunter.lab.filters import DEFAULT_FILTERS, apply_filters
from shunter.lab.nodes import build_nodes
from shunter.lab.readers.detect import read_trace
from shunter.lab.readers.swf import FIELDS
from shunter.lab.run import run_policy
from shunter.planning.policies import Catalogue

KTH = "KTH-SP2-1996-2.swf.gz"
JOBS, JOBS_SMALL = 28_489, 300
CPUS = 100
YEAR_S = 365 * 86_400
NODES, NODES_SMALL = 1_000, 50
SEED = 20
IDLE = Bar(at_most=5.0)
READ = Bar(at_most=1.0)
RUN = {"easy": Bar(at_most=25.0), "e-pvm": Bar(at_most=60.0)}


def main() -> None:
    options = read_options(__doc__)
    report = Report("lab", options)
    nodes = NODES_SMALL if options.small else NODES
    with tempfile.TemporaryDirectory() as folder:
        path = find_or_draw(Path(folder), options.small)
        measure: dict[str, Callable[[], float]] = {"idle": partial(idle_year, Path(folder), nodes)}
        measure["read"] = partial(elapsed_s, lambda: read_trace(path))
        measure |= {policy: partial(run_once, path, policy) for policy in RUN}
        found = interleave(measure, options.rounds)
    report.figure(f"a virtual year of {nodes:,} nodes without jobs", "s", found["idle"], IDLE)
    report.figure(f"read {path.name}", "s", found["read"], READ)
    for policy, bar in RUN.items():
        report.figure(f"{path.name}, {policy}", "s", found[policy], bar)


def idle_year(folder: Path, nodes: int) -> float:
    """Two jobs of a second, with a year in between."""
    path = folder / "idle.swf"
    path.write_text("\n".join(line(number, number * YEAR_S, 1, 1, 1) for number in range(2)))
    trace = read_trace(path)
    model = build_nodes(f"{nodes}x8", trace)
    return elapsed_s(lambda: run_policy(trace, Catalogue().build("e-pvm"), model.hellos, is_divided=True))


def run_once(path: Path, policy: str) -> float:
    trace = read_trace(path)
    model = build_nodes(f"pool:{CPUS}", trace)
    trace, _ = apply_filters(trace, DEFAULT_FILTERS.split(","), model)
    return elapsed_s(lambda: run_policy(trace, Catalogue().build(policy), model.hellos))


def elapsed_s(work: Callable[[], object]) -> float:
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def find_or_draw(folder: Path, is_small: bool) -> Path:
    public = Path(os.environ.get("SHUNTER_TRACES", "")) / KTH
    if os.environ.get("SHUNTER_TRACES") and public.is_file() and not is_small:
        return public
    rng, at_s, lines = random.Random(SEED), 0.0, []
    for number in range(JOBS_SMALL if is_small else JOBS):
        at_s += rng.expovariate(1 / 1000)
        run_s = max(int(rng.lognormvariate(6.0, 2.2)), 1)
        cpus = min(2 ** rng.randint(0, 6), CPUS)
        lines.append(line(number + 1, int(at_s), run_s, cpus, run_s * rng.choice((1, 2, 5, 20))))
    path = folder / "drawn.swf"
    path.write_text("\n".join(lines))
    return path


def line(number: int, submit_s: int, run_s: int, cpus: int, estimate_s: int) -> str:
    """A job in the Standard Workload Format."""
    fields = [-1] * FIELDS
    fields[0], fields[1], fields[3], fields[4], fields[7], fields[8] = number, submit_s, run_s, cpus, cpus, estimate_s
    return " ".join(map(str, fields))


if __name__ == "__main__":
    main()

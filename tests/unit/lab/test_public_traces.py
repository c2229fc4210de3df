"""Public traces are read as their sources describe them. They are not part of the project: SHUNTER_TRACES names the
folder that has them. `make lab-reproduce` compares whole runs with published results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.lab.filters import DEFAULT_FILTERS, apply_filters
from shunter.lab.nodes import build_nodes
from shunter.lab.readers.detect import read_trace
from shunter.lab.readers.lines import hash_file
from shunter.lab.run import run_policy
from shunter.lab.trace import Trace
from shunter.lab.workload import GPU_MILLI
from shunter.planning.policies import Catalogue
from tests.machine_limits import NO_TRACES
from tests.unit.lab.sample_traces import simulate_slowly

KTH = "KTH-SP2-1996-2.swf.gz"
OPENB = "alibaba-openb-2023.tar.gz"
PHILLY = "philly-jobs.csv.gz"
HASHES = {
    KTH: "8fb2e294a5500ec0a7b16591e25ad7248895854d810ca8d922489e675507082d",
    OPENB: "7277af54314caddc20e551ae14185651cba5c2502a397897d86d9c671bdb3f68",
    PHILLY: "3e7c68fda81aa3456ae29ff7b5b8cd08a81ca915c45e1626baa43530636e5684",
}


def public_trace(name: str) -> Path:
    path = Path(os.environ.get("SHUNTER_TRACES", "")) / name
    if not os.environ.get("SHUNTER_TRACES") or not path.is_file():
        pytest.skip(f"{NO_TRACES}: {name}")
    assert hash_file(path) == HASHES[name], "this is another file"
    return path


def filtered(path: Path, *more: str) -> Trace:
    trace = read_trace(path)
    return apply_filters(trace, [*DEFAULT_FILTERS.split(","), *more], build_nodes(None, trace, path))[0]


def test_kth_has_the_jobs_that_others_count() -> None:
    trace = filtered(public_trace(KTH))
    assert (len(trace), len(set(trace.user))) == (28_481, 214)


def test_easy_starts_the_first_jobs_of_kth_as_a_plain_simulator_does() -> None:
    trace = filtered(public_trace(KTH), "first:400")
    nodes = build_nodes(None, trace)
    result = run_policy(trace, Catalogue().build("easy"), nodes.hellos)
    assert result.start_s.tolist() == simulate_slowly(trace, 100, "easy")


def test_openb_has_its_pods_and_its_nodes() -> None:
    path = public_trace(OPENB)
    trace = read_trace(path)
    nodes = build_nodes(None, trace, path)
    assert (len(trace), len(nodes.hellos), nodes.total(GPU_MILLI)) == (8_152, 1_213, 6_212_000)


def test_philly_has_its_jobs() -> None:
    trace = read_trace(public_trace(PHILLY))
    assert (len(trace), len(set(trace.queue)), int(trace.tasks.max())) == (82_247, 15, 128)

"""Node models, and filters that tell what they dropped."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.lab.filters import apply_filters
from shunter.lab.nodes import build_nodes
from shunter.lab.workload import GPU_MILLI
from shunter.model.errors import Invalid
from shunter.model.resources import CPU, MEMORY
from tests.unit.lab.sample_traces import trace_of

TRACE = trace_of([(0, 10, 20, 4), (1, 0, 20, 1), (2, 10, -1, 1), (3, 30, 20, 1), (4, 5, 5, 11)])
NODE_LIST = """\
sn,cpu_milli,memory_mib,gpu,model
big,64000,262144,2,P100
small,8000,1024,0,
"""


def test_the_size_of_the_trace_is_the_default() -> None:
    nodes = build_nodes(None, TRACE)
    assert (nodes.spec, len(nodes.hellos), nodes.total(CPU), nodes.is_divided) == ("pool:10", 1, 10_000, False)


@pytest.mark.parametrize(
    ("spec", "count", "cpus", "gpus", "is_divided"),
    [("pool:64", 1, 64, 0, False), ("16x8", 16, 128, 0, True), ("3x0,gpu=4,memory=64Gi", 3, 0, 12, True)],
)
def test_equal_nodes(spec: str, count: int, cpus: int, gpus: int, is_divided: bool) -> None:
    nodes = build_nodes(spec, TRACE)
    assert (len(nodes.hellos), nodes.is_divided) == (count, is_divided)
    assert (nodes.total(CPU), nodes.total(GPU_MILLI)) == (cpus * 1000, gpus * 1000)


def test_a_list_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(NODE_LIST)
    big, small = build_nodes(str(path), TRACE).hellos
    assert (big.name, big.labels) == ("big", {"gpu.model": "P100"})
    assert big.capacity == {CPU: 64_000, MEMORY: 256 * 2**30, GPU_MILLI: 2000}
    assert small.capacity == {CPU: 8000, MEMORY: 2**30}


def test_a_list_with_other_units(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("name,cpu,memory,gpu,gpu_milli\na,4,16Gi,2,1500\n")
    [node] = build_nodes(str(path), TRACE).hellos
    assert node.capacity == {CPU: 4000, MEMORY: 16 * 2**30, GPU_MILLI: 1500}


@pytest.mark.parametrize(
    "spec", ["", "pool", "pool:0", "4", "0x8", "x8", "200000x1", "2x2,tpu=1", "2x2,gpu=x", "a.txt"]
)
def test_a_wrong_model_is_refused_with_the_right_form(spec: str) -> None:
    with pytest.raises(Invalid, match="pool:CPUS"):
        build_nodes(spec, TRACE)


@pytest.mark.parametrize(("text", "fault"), [("cpu\nx\n", "line 2"), ("gpu\n1\n", "'cpu'"), ("cpu\n", "no nodes")])
def test_a_wrong_list_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text(text)
    with pytest.raises(Invalid, match=fault):
        build_nodes(str(path), TRACE)


def test_each_filter_counts_what_it_dropped_or_changed() -> None:
    trace, counts = apply_filters(TRACE, ["run", "estimate", "size", "cut", "first:1"], build_nodes(None, TRACE))
    assert [(each.name, each.dropped, each.changed, each.left) for each in counts] == [
        ("run", 1, 0, 4),
        ("estimate", 1, 0, 3),
        ("size", 1, 0, 2),
        ("cut", 0, 1, 2),
        ("first:1", 1, 0, 1),
    ]
    assert (trace.number.tolist(), trace.run_s.tolist()) == ([1], [10])


def test_a_job_must_fit_task_by_task() -> None:
    """Eleven tasks of one cpu fit on four nodes with three cpus, but not on three nodes; nor one task with all cpus."""
    for spec, left in (("4x3", 5), ("3x3", 4), ("pool:11", 5), ("pool:10", 4)):
        assert len(apply_filters(TRACE, ["size"], build_nodes(spec, TRACE))[0]) == left


def test_a_trace_without_any_estimates_keeps_its_jobs() -> None:
    trace = trace_of([(0, 10, 0, 1), (1, 10, 0, 1)])
    assert len(apply_filters(trace, ["estimate"], build_nodes(None, trace))[0]) == 2


@pytest.mark.parametrize("name", ["weird", "first", "run:3", "first:x"])
def test_an_unknown_filter_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(Invalid, match="known filters: run, estimate, size, cut, first:N"):
        apply_filters(TRACE, [name], build_nodes(None, TRACE))


def test_filters_that_leave_nothing_are_refused() -> None:
    with pytest.raises(Invalid, match="leave no jobs"):
        apply_filters(TRACE, ["first:0"], build_nodes(None, TRACE))

"""Node models: the cluster on which a trace runs. Made from `--nodes`, or from what the trace says about its machine.

pool:100           one node with 100 cpus; each job is one task
16x8               16 nodes with 8 cpus each; each job is a gang of its tasks
16x8,gpu=4         ... and 4 GPUs each; memory=64Gi likewise
nodes.csv          a list of nodes, one per line"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shunter.lab.readers.columns import csv_rows, number_of
from shunter.lab.readers.detect import NODE_LIST
from shunter.lab.readers.lines import TraceError, read_lines
from shunter.lab.trace import IntColumn, Trace
from shunter.lab.workload import GPU_MILLI
from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, SIMULATED_BOOT, Hello
from shunter.model.resources import CPU, MEMORY, parse_amount

NODES_MAX = 100_000
CPUS_MAX = 10_000_000
MEMORY_UNLIMITED = 2**50  # of nodes whose memory is not given
_SPEC = re.compile(r"(?:pool:(\d{1,8})|(\d{1,6})x(\d{1,8}))((?:,[a-z]+=[0-9A-Za-z.]+)*)")


@dataclass(frozen=True, slots=True)
class NodeModel:
    """`is_divided`: jobs with several tasks are gangs; else a job is one task with all that it needs."""

    spec: str
    hellos: tuple[Hello, ...]
    is_divided: bool

    def total(self, resource: str) -> int:
        return sum(hello.capacity.get(resource, 0) for hello in self.hellos)

    def can_hold(self, trace: Trace) -> NDArray[np.bool_]:
        """Which jobs fit on the empty nodes: each task on some node, and all of them together."""
        tasks = np.maximum(trace.tasks, 1) if self.is_divided else np.ones(len(trace), np.int64)
        needs = {CPU: trace.cpu_milli, MEMORY: trace.memory_bytes, GPU_MILLI: trace.gpu_milli}
        shapes: dict[tuple[tuple[str, int], ...], int] = {}
        for hello in self.hellos:
            shape = tuple(sorted(hello.capacity.items()))
            shapes[shape] = shapes.get(shape, 0) + 1
        found = np.zeros(len(trace), np.int64)
        for shape, count in shapes.items():
            found += count * _room(needs, tasks, dict(shape))
        enough: NDArray[np.bool_] = found >= tasks
        return enough


def _room(needs: Mapping[str, IntColumn], tasks: IntColumn, capacity: Mapping[str, int]) -> IntColumn:
    """How many tasks of each job fit on an empty node of that capacity."""
    room = tasks.copy()
    for resource, amounts in needs.items():
        per_task = -(-np.maximum(amounts, 0) // tasks)
        room = np.where(per_task > 0, np.minimum(room, capacity.get(resource, 0) // np.maximum(per_task, 1)), room)
    return room


def build_nodes(spec: str | None, trace: Trace, trace_path: Path | None = None) -> NodeModel:
    """Raises Invalid. Without a spec, the trace must tell its size, or have a list of nodes in its archive."""
    if spec is None:
        size = trace.facts.get("MaxProcs") or trace.facts.get("MaxNodes") or ""
        if size.isdigit() and int(size) > 0:
            spec = f"pool:{int(size)}"
        elif trace_path is not None and ".tar" in trace_path.name:
            return _read_list(trace_path)
        else:
            raise _invalid("the trace does not say how large its cluster is", None)
    found = _SPEC.fullmatch(spec)
    if found is not None:
        return _uniform(spec, found)
    if spec.endswith((".csv", ".csv.gz", ".tar.gz", ".tgz", ".tar")):
        return _read_list(Path(spec))
    raise _invalid("is not a node model", spec)


def _uniform(spec: str, found: re.Match[str]) -> NodeModel:
    count, cpus = (1, int(found[1])) if found[1] is not None else (int(found[2]), int(found[3]))
    capacity = {CPU: cpus * 1000, MEMORY: MEMORY_UNLIMITED}
    for each in filter(None, found[4].split(",")):
        name, _, value = each.partition("=")
        try:
            if name == "gpu":
                capacity[GPU_MILLI] = int(value) * 1000
            elif name == "memory":
                capacity[MEMORY] = parse_amount(MEMORY, value)
            else:
                raise ValueError
        except ValueError:
            raise _invalid(f"{each} is not gpu=N or memory=SIZE", spec) from None
    if not 0 < count <= NODES_MAX or count * cpus > CPUS_MAX or not (cpus or capacity.get(GPU_MILLI)):
        raise _invalid(f"must have 1 to {NODES_MAX:,} nodes and at most {CPUS_MAX:,} cpus", spec)
    return NodeModel(
        spec, tuple(make_node(f"node-{n:05d}", capacity, {}) for n in range(1, count + 1)), found[1] is None
    )


def _read_list(path: Path) -> NodeModel:
    """Columns: name or sn; cpu or cpu_milli; memory or memory_mib; gpu; gpu_milli; model. All but cpu may be left
    out."""
    hellos: list[Hello] = []
    for line, row in csv_rows(path, read_lines(path, lambda name: NODE_LIST in name)):
        try:
            hellos.append(_listed_node(row, len(hellos) + 1))
        except (ValueError, KeyError) as error:
            fault = f"lacks the column {error}" if isinstance(error, KeyError) else str(error)
            raise TraceError(path, fault, line) from error
        if len(hellos) > NODES_MAX:
            raise TraceError(path, f"lists more than {NODES_MAX:,} nodes", line)
    if not hellos:
        raise TraceError(path, "lists no nodes")
    return NodeModel(path.name, tuple(hellos), True)


def _listed_node(row: Mapping[str, str], number: int) -> Hello:
    cpu_milli = number_of(row["cpu_milli"]) if "cpu_milli" in row else number_of(row["cpu"]) * 1000
    capacity = {CPU: int(cpu_milli), MEMORY: MEMORY_UNLIMITED}
    if row.get("memory_mib"):
        capacity[MEMORY] = int(number_of(row["memory_mib"]) * 2**20)
    elif row.get("memory"):
        capacity[MEMORY] = parse_amount(MEMORY, row["memory"])
    gpu_milli = int(number_of(row.get("gpu_milli", ""), unknown=number_of(row.get("gpu", ""), unknown=0.0) * 1000))
    if min(capacity.values()) < 0 or gpu_milli < 0:
        raise ValueError("amounts must not be negative")
    if gpu_milli:
        capacity[GPU_MILLI] = gpu_milli
    name = row.get("name") or row.get("sn") or f"node-{number:05d}"
    return make_node(name, capacity, {"gpu.model": row["model"]} if row.get("model") else {})


def make_node(name: str, capacity: dict[str, int], labels: dict[str, str]) -> Hello:
    return Hello(PROTOCOL_VERSION, name, SIMULATED_BOOT, capacity, labels)


def _invalid(fault: str, value: str | None) -> Invalid:
    return Invalid(
        [Problem("--nodes", fault, value, "write pool:CPUS, NODESxCPUS[,gpu=N][,memory=SIZE], or a .csv file")]
    )

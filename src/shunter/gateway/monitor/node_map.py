"""All nodes as columns for a map, and the tasks of one node. Used by `gateway.monitor`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from shunter.engine.engine import Engine
from shunter.model.errors import NotFound
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.resources import CPU, DISK, MEMORY
from shunter.model.rest.monitor.views import NodeMap, NodeTask, NodeTaskPage
from shunter.model.timestamps import iso

DATACENTER = "datacenter"
THOUSAND = 1000
ON_NODE = (TaskState.ASSIGNED, TaskState.RUNNING, TaskState.STOPPING)


async def node_map(engine: Engine, group_by: str) -> NodeMap:
    await engine.wait_committed()
    nodes = engine.state.nodes
    records = sorted(nodes.records.values(), key=lambda node: node.name)
    rows = np.array([node.id for node in records], np.int64)
    view, states = nodes.view, list(NodeState)
    values = [node.datacenter if group_by == DATACENTER else node.labels.get(group_by, "") for node in records]
    names = sorted(set(values))
    positions = {name: position for position, name in enumerate(names)}

    def share(resource: str) -> list[int]:
        column = view.resources.index(resource)
        capacity = view.capacity[rows, column]
        used: list[int] = (view.reserved[rows, column] * THOUSAND // np.maximum(capacity, 1)).tolist()
        return used

    return NodeMap(
        names=[node.name for node in records],
        states=[states.index(node.state) for node in records],
        state_names=[state.wire_name for state in states],
        groups=[positions[value] for value in values],
        group_names=names,
        eligible=view.eligible[rows].tolist(),
        tasks=view.tasks[rows].tolist(),
        cpu=share(CPU),
        memory=share(MEMORY),
        disk=share(DISK),
        busy=np.rint(view.busy[rows] * THOUSAND).astype(np.int64).tolist(),
        reasons={node.name: reason for node in records if (reason := view.ineligible_because.get(node.id)) is not None},
        state_version=engine.state.version,
    )


async def node_tasks(
    engine: Engine, name: str, limit: int, after: str | None, sees: Callable[[str | None], bool]
) -> NodeTaskPage:
    """In the order of the task table; the cursor is a row of it."""
    await engine.wait_committed()
    state = engine.state
    node = state.nodes.by_name.get(name)
    if node is None:
        raise NotFound(f"node '{name}' does not exist")
    table = state.table
    on_node = table.node[: table.used] == node.id
    rows: NDArray[np.int64] = np.flatnonzero(on_node & np.isin(table.state[: table.used], ON_NODE))
    start = int(np.searchsorted(rows, int(after), side="right")) if after else 0
    items: list[NodeTask] = []
    last = 0
    for row in rows[start:].tolist():
        task_set = state.task_sets[table.group[row]]
        if task_set is None or not sees(task_set.job.namespace):
            continue
        if len(items) == limit:
            return NodeTaskPage(items=items, next=str(last), total=len(rows))
        index, job = row - task_set.base, task_set.job
        started_ms = int(table.started_ms[row]) if table.state[row] != TaskState.ASSIGNED else 0
        items.append(
            NodeTask(
                name=task_set.task_name(index),
                namespace=job.namespace,
                job=f"{job.name}@{job.run}",
                group=task_set.spec.name,
                index=task_set.visible_index_of(index),
                attempt=int(table.attempt[row]),
                state=TaskState(int(table.state[row])).wire_name,
                started_at=iso(started_ms / 1000),
            )
        )
        last = row
    return NodeTaskPage(items=items, next=None, total=len(rows))

"""What `engine.state.fingerprints.fingerprint` compares of jobs, groups, classes and the task table."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from shunter.engine.state.fingerprints.compared_fields import Facts, Sight, by_resource
from shunter.engine.state.group_columns import SlotFacts
from shunter.engine.state.records import BOUND_MS, Blueprint, ClassRecord, Group, Holder, Job, Lanes, Run
from shunter.engine.state.task_table import PACKED, TaskTable

Key = tuple[int, int]  # job, number of the group

BLUEPRINT = Facts(
    Blueprint,
    plain=("users",),
    left_out={
        "serial": "names specs in the orders of one life",
        "groups": "decoded from the body",
        "body": "its key",
    },
)

HOLDER = Facts(
    Holder,
    plain=("classes",),
    told={"amounts": lambda sight, holder: by_resource(sight.state, holder.amounts.tolist())},
)

# ---- the task table ----


def _column(name: str) -> Callable[[Sight, TaskTable], dict[Key, bytes]]:
    def tell(sight: Sight, table: TaskTable) -> dict[Key, bytes]:
        column = getattr(table, name)
        return {
            (each.job.id, each.number): column[each.base : each.base + each.count].tobytes() for each in sight.groups
        }

    return tell


def _strays(sight: Sight, table: TaskTable) -> list[Key]:
    """Groups whose rows lead to another one."""
    return [
        (each.job.id, each.number)
        for each in sight.groups
        if not table.holds(table.group, each.base, each.base + each.count - 1, each.slot)
    ]


def _unaccounted(sight: Sight, table: TaskTable) -> int:
    """Rows that are neither a group's nor free."""
    free = len(table._free_rows) + sum(count for _, count in table._free)
    return table.used - free - sum(group.count for group in sight.groups)


TABLE = Facts(
    TaskTable,
    told={
        **{name: _column(name) for name in PACKED},
        "group": _strays,
        "used": lambda _, table: int(np.count_nonzero(table.attempt[: table.used])),  # also in rows that should be free
        "_free": _unaccounted,
        "_free_rows": _unaccounted,
    },
    left_out={
        "rows": "how far it has grown in this life",
        "_columns": "the columns, each of which is an attribute too",
        "_packed": "the columns, each of which is an attribute too",
    },
)

SLOTS = Facts(
    SlotFacts,
    told={
        "class_id": lambda sight, slots: {
            (each.job.id, each.number): int(slots.class_id[each.slot]) for each in sight.groups
        },
        "priority": lambda sight, slots: {
            (each.job.id, each.number): int(slots.priority[each.slot]) for each in sight.groups
        },
    },
    left_out={"estimate_ms": "a cache: looked up when a view asks"},
)

# ---- groups and jobs ----


def _waiting(sight: Sight, group: Group) -> list[Run]:
    """What waits to be placed, now or after its back-off: which of the two is a matter of time. In the order of
    indexes: on which run of the stack a task lies depends on when it came back, which a snapshot does not know."""
    if not group.ready and not group.delayed:
        return []
    attempts = sight.state.table.attempt
    runs: list[Run] = []
    for first, last, attempt in sorted(
        [*group.ready, *((index, index, attempts.item(group.base + index)) for index in group.delayed or ())],
        key=itemgetter(0),
    ):
        if runs and (runs[-1][1] + 1, runs[-1][2]) == (first, attempt):
            runs[-1] = (runs[-1][0], last, attempt)
        else:
            runs.append((first, last, attempt))
    return runs


def _or_none(name: str) -> Callable[[Sight, Group], Any]:
    """What is empty may be there or not."""

    def tell(_: Sight, group: Group) -> Any:
        value = getattr(group, name)
        return type(value)(value) if value else None

    return tell


GROUP = Facts(
    Group,
    plain=("number", "count", "counts", "part", "node", "shown"),
    told={
        "job": lambda _, group: group.job.id,
        "slot": lambda sight, group: sight.state.groups[group.slot] is group,
        "ready": _waiting,
        "delayed": lambda _, group: sorted(index for index, at in (group.delayed or {}).items() if at >= BOUND_MS),
        "task_class": lambda _, group: group.task_class.id,
        "blueprint": lambda _, group: group.blueprint.body,
        **{name: _or_none(name) for name in ("history", "reasons", "coming_back", "avoiding", "ports", "health")},
    },
    left_out={
        "base": "where its rows lie depends on who left when; the rows are compared with the table",
        "in_queue": "forgotten when somebody looks; the audit looks whether it can be found",
    },
)

JOB = Facts(
    Job,
    plain=(
        "id", "namespace", "name", "run", "type", "priority", "labels", "user", "submitted_ms", "options", "state",
        "started_ms", "reason", "version", "next_group", "is_held",
    ),
    told={
        "blueprint": lambda _, job: job.blueprint.body,
        "groups": lambda sight, job: [GROUP.of(sight, group) for group in job.groups],
    },
    left_out={"ref_seen": "a cache: made when somebody asks"},
)  # fmt: skip

# ---- classes ----

LANES = Facts(
    Lanes,
    plain=("node", "width", "outstanding"),
    told={"task_class": lambda _, lanes: lanes.task_class.id},
    left_out={
        "progress_ms": "what workers said in this life",
        "recalled": "what was asked of workers in this life",
        "may_refill": "what the policy chose in this life",
    },
)


def _is_holder(sight: Sight, record: ClassRecord) -> bool:
    return sight.state.holders.get((record.key.namespace, record.key.user)) is record.holder


CLASS = Facts(
    ClassRecord,
    plain=("key", "licences", "members", "width"),
    told={
        "task_class": lambda _, record: record.task_class.id,
        "vector": lambda sight, record: by_resource(sight.state, record.vector.tolist()),
        "amounts": lambda sight, record: {
            sight.state.nodes.view.resources[column]: amount for column, amount in record.amounts
        },
        "touched": lambda sight, record: record.touched is sight.state.touched_classes,
        "holder": _is_holder,
        "queued": lambda sight, record: record.queued + sight.delayed[record.id],
        "lanes": lambda sight, record: {node: LANES.of(sight, lanes) for node, lanes in record.lanes.items()},
    },
    left_out={
        "groups": "those with something ready, which is a matter of time; the audit looks whether each can be found",
        "depth": "learnt in this life from how long tasks took",
    },
)

ALL_OF_RECORDS: tuple[Facts[Any], ...] = (BLUEPRINT, HOLDER, TABLE, SLOTS, GROUP, JOB, LANES, CLASS)

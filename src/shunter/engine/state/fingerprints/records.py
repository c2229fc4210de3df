"""The part of `engine.state.fingerprints.fingerprint` that covers jobs, task sets, classes and the task table."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from shunter.engine.state.fingerprints.compared_fields import ComparedFields, FingerprintContext, by_resource
from shunter.engine.state.job_index import JobIndex
from shunter.engine.state.records import NEVER_MS, ClassRecord, Job, Lanes, ReadyRange, SpecVersion, TaskSet, UserUsage
from shunter.engine.state.task_set_columns import TaskSetColumns
from shunter.engine.state.task_table import PACKED_COLUMNS, TaskTable

Key = tuple[int, int]  # job, number of the task set

SPEC_VERSION = ComparedFields(
    SpecVersion,
    plain=("ref_count",),
    left_out={
        "serial": "names specs in the orders of one life",
        "groups": "decoded from the body",
        "body": "its key",
        "last_class": "saves a look-up",
    },
)

USER_USAGE = ComparedFields(
    UserUsage,
    plain=("classes",),
    described={"amounts": lambda context, usage: by_resource(context.state, usage.amounts.tolist())},
)

# ---- the task table ----


def _column(name: str) -> Callable[[FingerprintContext, TaskTable], dict[Key, bytes]]:
    def tell(context: FingerprintContext, table: TaskTable) -> dict[Key, bytes]:
        column = getattr(table, name)
        return {
            (each.job.id, each.number): column[each.base : each.base + each.count].tobytes()
            for each in context.task_sets
        }

    return tell


def _misassigned_task_sets(context: FingerprintContext, table: TaskTable) -> list[Key]:
    """Task sets whose rows point to another one."""
    return [
        (each.job.id, each.number)
        for each in context.task_sets
        if not table.all_equal(table.group, each.base, each.base + each.count - 1, each.slot)
    ]


def _count_attempts(table: TaskTable) -> int:
    """Rows with an attempt, also such that should be free. Those that are still to be cleared may have one."""
    attempts = table.attempt[: table.used]
    uncleared = sum(np.count_nonzero(attempts[first : first + count]) for first, count in table._uncleared)
    return int(np.count_nonzero(attempts) - uncleared)


def _unaccounted(context: FingerprintContext, table: TaskTable) -> int:
    """Rows that neither belong to a task set nor are free."""
    free = len(table._free_rows) + sum(count for _, count in table._free)
    return table.used - free - sum(task_set.count for task_set in context.task_sets)


TABLE = ComparedFields(
    TaskTable,
    described={
        **{name: _column(name) for name in PACKED_COLUMNS},
        "group": _misassigned_task_sets,
        "used": lambda _, table: _count_attempts(table),
        "_free": _unaccounted,
        "_free_rows": _unaccounted,
    },
    left_out={
        "rows": "how far it has grown in this process",
        "_uncleared": "the old values of free rows, which nobody reads",
        "_columns": "the columns, each of which is an attribute too",
        "_packed": "the columns, each of which is an attribute too",
    },
)

TASK_SET_COLUMNS = ComparedFields(
    TaskSetColumns,
    described={
        "class_id": lambda context, slots: {
            (each.job.id, each.number): int(slots.class_id[each.slot]) for each in context.task_sets
        },
        "priority": lambda context, slots: {
            (each.job.id, each.number): int(slots.priority[each.slot]) for each in context.task_sets
        },
    },
    left_out={"estimate_ms": "a cache: looked up when a view asks"},
)

JOB_INDEX = ComparedFields(
    JobIndex,
    described={"_ids": lambda _, index: index.rows(), "_counts": lambda _, index: index.totals()},
    left_out={
        "_namespaces": "in the rows",
        "_states": "in the rows",
        "_codes": "names namespaces in one process",
        "_gone": "rows that are only there until the next clean-up",
    },
)

# ---- groups and jobs ----


def _waiting(context: FingerprintContext, task_set: TaskSet) -> list[ReadyRange]:
    """Pending tasks, ready or in back-off: which of the two depends on the time. In the order of indexes, because the
    range that holds a task depends on when it was queued again, which a snapshot does not know."""
    if not task_set.ready and not task_set.delayed:
        return []
    attempts = context.state.table.attempt
    runs: list[ReadyRange] = []
    for first, last, attempt in sorted(
        [*task_set.ready, *((index, index, attempts.item(task_set.base + index)) for index in task_set.delayed or ())],
        key=itemgetter(0),
    ):
        if runs and (runs[-1][1] + 1, runs[-1][2]) == (first, attempt):
            runs[-1] = (runs[-1][0], last, attempt)
        else:
            runs.append((first, last, attempt))
    return runs


def _or_none(name: str) -> Callable[[FingerprintContext, TaskSet], Any]:
    """An empty value may be present or absent."""

    def tell(_: FingerprintContext, task_set: TaskSet) -> Any:
        value = getattr(task_set, name)
        return type(value)(value) if value else None

    return tell


TASK_SET = ComparedFields(
    TaskSet,
    plain=("number", "count", "counts", "group_index", "node", "visible_index"),
    described={
        "job": lambda _, task_set: task_set.job.id,
        "slot": lambda context, task_set: context.state.task_sets[task_set.slot] is task_set,
        "ready": _waiting,
        "delayed": lambda _, task_set: sorted(
            index for index, at in (task_set.delayed or {}).items() if at >= NEVER_MS
        ),
        "task_class": lambda _, task_set: task_set.task_class.id,
        "spec_version": lambda _, task_set: task_set.spec_version.body,
        **{
            name: _or_none(name)
            for name in (
                "history",
                "reasons",
                "requeue_when_stopped",
                "avoided_nodes",
                "ports",
                "health",
                "lost_with_keeper",
            )
        },
    },
    left_out={
        "base": "where its rows lie depends on who left when; the rows are compared with the table",
        "in_queue": "cleaned up on demand; the audit checks that it can be found",
    },
)

JOB = ComparedFields(
    Job,
    plain=(
        "id", "namespace", "name", "run", "type", "priority", "labels", "user", "submitted_ms", "options", "state",
        "started_ms", "reason", "version", "next_task_set", "is_held", "trace",
    ),
    described={
        "spec_version": lambda _, job: job.spec_version.body,
        "task_sets": lambda context, job: [TASK_SET.of(context, task_set) for task_set in job.task_sets],
    },
    left_out={"cached_ref": "a cache: computed on demand"},
)  # fmt: skip

# ---- classes ----

LANES = ComparedFields(
    Lanes,
    plain=("node", "width", "outstanding"),
    described={"task_class": lambda _, lanes: lanes.task_class.id},
    left_out={
        "last_progress_ms": "what workers reported to this manager process",
        "recalled": "what this manager process asked of workers",
        "may_refill": "what the policy chose in this manager process",
    },
)


def _is_registered_usage(context: FingerprintContext, record: ClassRecord) -> bool:
    return context.state.usage_by_user.get((record.key.namespace, record.key.user)) is record.user_usage


CLASS = ComparedFields(
    ClassRecord,
    plain=("key", "licences", "task_set_count", "width", "tenant", "quota_needs"),
    described={
        "task_class": lambda _, record: record.task_class.id,
        "vector": lambda context, record: by_resource(context.state, record.vector.tolist()),
        "amounts": lambda context, record: {
            context.state.nodes.view.resources[column]: amount for column, amount in record.amounts
        },
        "dirty_classes": lambda context, record: record.dirty_classes is context.state.dirty_classes,
        "user_usage": _is_registered_usage,
        "queued": lambda context, record: record.queued + context.delayed[record.id],
        "lanes": lambda context, record: {node: LANES.of(context, lanes) for node, lanes in record.lanes.items()},
    },
    left_out={
        "task_sets": "those with something ready, which is a matter of time; the audit looks whether each can be found",
        "depth": "learnt in this manager process from how long tasks took",
    },
)

ALL_OF_RECORDS: tuple[ComparedFields[Any], ...] = (
    SPEC_VERSION,
    USER_USAGE,
    TABLE,
    TASK_SET_COLUMNS,
    JOB_INDEX,
    TASK_SET,
    JOB,
    LANES,
    CLASS,
)

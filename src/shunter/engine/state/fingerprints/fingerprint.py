"""All of the committed state, and every index that is worked out from it, in a form that can be compared, whatever way
it came about: live, replayed or loaded. Used by the simulator's checkers and by tests.

`ALL` names each attribute of the state, of its records and of its registries, or says why it is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine.state.fingerprints.compared_fields import ComparedFields, ViewedState, without_zeroes
from shunter.engine.state.fingerprints.nodes import ALL_OF_NODES, NODES
from shunter.engine.state.fingerprints.records import (
    ALL_OF_RECORDS,
    CLASS,
    JOB,
    SPEC_VERSION,
    TABLE,
    TASK_SET_COLUMNS,
    USER_USAGE,
)
from shunter.engine.state.fingerprints.registries import ALL_OF_REGISTRIES, REGISTRIES
from shunter.engine.state.state import State

_SHOWN = "what policies were shown in this life"


def fingerprint(state: State) -> dict[str, Any]:
    return STATE.of(ViewedState(state), state)


def _jobs(viewed: ViewedState, state: State) -> dict[str, Any]:
    return {"order": list(state.jobs), "each": {job.id: JOB.of(viewed, job) for job in state.jobs.values()}}


def _classes(viewed: ViewedState, state: State) -> dict[str, Any]:
    return {
        "order": list(state.classes),
        "each": {id: CLASS.of(viewed, record) for id, record in state.classes.items()},
    }


def _repelling(_: ViewedState, state: State) -> list[tuple[int, int, bool]]:
    return sorted(
        (task_set.job.id, task_set.number, task_set.slot == slot)
        for slot, task_set in state.anti_affinity_task_sets.items()
    )


def _unpinned(_: ViewedState, state: State) -> list[int]:
    """Classes of one node that nobody would try. How long one stays that has nothing ready any more is no matter."""
    return [id for id, record in state.classes.items() if record.key.node and record.queued and id not in state.pinned]


def _registry(name: str) -> Callable[[ViewedState, State], dict[str, Any]]:
    return lambda viewed, state: REGISTRIES[name].of(viewed, getattr(state, name))


STATE = ComparedFields(
    State,
    plain=(
        "version",
        "idempotency_keys",
        "next_job",
        "next_class",
        "task_counts",
        "job_counts",
        "payload_bytes",
        "class_ids",
    ),
    described={
        "table": lambda viewed, state: TABLE.of(viewed, state.table),
        "nodes": lambda viewed, state: NODES.of(viewed, state.nodes),
        "jobs": _jobs,
        "jobs_by_name": lambda _, state: {
            space: {name: job.id for name, job in names.items()} for space, names in state.jobs_by_name.items()
        },
        "older_runs": lambda _, state: {key: [job.id for job in runs] for key, runs in state.older_runs.items()},
        "task_sets": lambda viewed, _: sorted((task_set.job.id, task_set.number) for task_set in viewed.task_sets),
        "classes": _classes,
        "idempotency_key_order": lambda _, state: list(state.idempotency_key_order),
        "usage_by_user": lambda viewed, state: {
            owner: USER_USAGE.of(viewed, each) for owner, each in state.usage_by_user.items()
        },
        "licences_used": lambda _, state: without_zeroes(state.licences_used),
        "anti_affinity_task_sets": _repelling,
        "gang_jobs": lambda _, state: list(state.gang_jobs),
        "queue_lanes": lambda _, state: without_zeroes(state.queue_lanes),
        "pinned": _unpinned,
        "_spec_versions": lambda viewed, state: {
            body: SPEC_VERSION.of(viewed, each) for body, each in state._spec_versions.items()
        },
        "task_set_columns": lambda viewed, state: TASK_SET_COLUMNS.of(viewed, state.task_set_columns),
        **{name: _registry(name) for name in REGISTRIES},
    },
    left_out={
        "last_runs": "history's: the store forgets names a while before the round that says so",
        "pending_queue": _SHOWN,
        "dirty_classes": _SHOWN,
        "held_rows": _SHOWN,
        "gathering_classes": _SHOWN,
        "avoiding_classes": _SHOWN,
        "registries": "the registries, each of which is an attribute too",
        "_next_spec_version": "serials name specs in the orders of one life",
        "free_slots": "who has which slot depends on who left when, which a snapshot does not know",
        "_appliers": "functions",
    },
)
ALL: tuple[ComparedFields[Any], ...] = (STATE, *ALL_OF_RECORDS, *ALL_OF_NODES, *ALL_OF_REGISTRIES)

"""Renders the committed state and every derived index in a form that can be compared, whether the state is live,
replayed or loaded. Used by the simulator's checkers and by tests.

`ALL` names each attribute of the state, of its records and of its registries, or says why it is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine.state.fingerprints.compared_fields import ComparedFields, FingerprintContext, without_zeroes
from shunter.engine.state.fingerprints.nodes import ALL_OF_NODES, NODES
from shunter.engine.state.fingerprints.records import (
    ALL_OF_RECORDS,
    CLASS,
    JOB,
    JOB_INDEX,
    SPEC_VERSION,
    TABLE,
    TASK_SET_COLUMNS,
    USER_USAGE,
)
from shunter.engine.state.fingerprints.registries import ALL_OF_REGISTRIES, REGISTRIES
from shunter.engine.state.state import State

_SENT_TO_POLICIES = "what this manager process has shown to policies"


def fingerprint(state: State) -> dict[str, Any]:
    return STATE.of(FingerprintContext(state), state)


def _jobs(context: FingerprintContext, state: State) -> dict[str, Any]:
    return {"order": list(state.jobs), "each": {job.id: JOB.of(context, job) for job in state.jobs.values()}}


def _classes(context: FingerprintContext, state: State) -> dict[str, Any]:
    return {
        "order": list(state.classes),
        "each": {id: CLASS.of(context, record) for id, record in state.classes.items()},
    }


def _anti_affinity_task_sets(_: FingerprintContext, state: State) -> list[tuple[int, int, bool]]:
    return sorted(
        (task_set.job.id, task_set.number, task_set.slot == slot)
        for slot, task_set in state.anti_affinity_task_sets.items()
    )


def _untried_pinned_classes(_: FingerprintContext, state: State) -> list[int]:
    """Classes bound to one node that would never be tried. How long a class without ready tasks stays does not
    matter."""
    return [id for id, record in state.classes.items() if record.key.node and record.queued and id not in state.pinned]


def _registry(name: str) -> Callable[[FingerprintContext, State], dict[str, Any]]:
    return lambda context, state: REGISTRIES[name].of(context, getattr(state, name))


STATE = ComparedFields(
    State,
    plain=(
        "version",
        "idempotency_keys",
        "next_job",
        "next_class",
        "task_counts",
        "_placed_use",
        "job_counts",
        "payload_bytes",
        "class_ids",
    ),
    described={
        "table": lambda context, state: TABLE.of(context, state.table),
        "nodes": lambda context, state: NODES.of(context, state.nodes),
        "jobs": _jobs,
        "jobs_by_name": lambda _, state: {
            space: {name: job.id for name, job in names.items()} for space, names in state.jobs_by_name.items()
        },
        "job_index": lambda context, state: JOB_INDEX.of(context, state.job_index),
        "older_runs": lambda _, state: {key: [job.id for job in runs] for key, runs in state.older_runs.items()},
        "task_sets": lambda context, _: sorted((task_set.job.id, task_set.number) for task_set in context.task_sets),
        "classes": _classes,
        "idempotency_key_order": lambda _, state: list(state.idempotency_key_order),
        "usage_by_user": lambda context, state: {
            owner: USER_USAGE.of(context, each) for owner, each in state.usage_by_user.items()
        },
        "licences_used": lambda _, state: without_zeroes(state.licences_used),
        "pending_tasks": lambda _, state: without_zeroes(state.pending_tasks),
        "anti_affinity_task_sets": _anti_affinity_task_sets,
        "gang_jobs": lambda _, state: list(state.gang_jobs),
        "queue_lanes": lambda _, state: without_zeroes(state.queue_lanes),
        "pinned": _untried_pinned_classes,
        "_spec_versions": lambda context, state: {
            body: SPEC_VERSION.of(context, each) for body, each in state._spec_versions.items()
        },
        "task_set_columns": lambda context, state: TASK_SET_COLUMNS.of(context, state.task_set_columns),
        **{name: _registry(name) for name in REGISTRIES},
    },
    left_out={
        "ended_runs": "belongs to history: only the leader looks it up, and forgets it after the round",
        "snapshot_writer": "writes a snapshot at present",
        "pending_queue": _SENT_TO_POLICIES,
        "dirty_classes": _SENT_TO_POLICIES,
        "held_rows": _SENT_TO_POLICIES,
        "incomplete_gang_classes": _SENT_TO_POLICIES,
        "avoiding_classes": _SENT_TO_POLICIES,
        "registries": "the registries, each of which is an attribute too",
        "_next_spec_version": "serials name specs in the orders of one life",
        "free_slots": "who has which slot depends on who left when, which a snapshot does not know",
        "_appliers": "functions",
    },
)
ALL: tuple[ComparedFields[Any], ...] = (STATE, *ALL_OF_RECORDS, *ALL_OF_NODES, *ALL_OF_REGISTRIES)

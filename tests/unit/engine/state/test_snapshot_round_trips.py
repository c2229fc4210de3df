"""Every record of the engine survives a snapshot with every field, except derived ones.

Fields are found by reflection: a new field of a record must be dumped and loaded, or be named here."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest

from shunter.engine import changes as c
from shunter.engine.changes.formats import FORMAT
from shunter.engine.state.records import ClassKey, Job, Lanes, NodeRecord, TaskSet
from shunter.engine.state.registries.dead_letters import DeadLetter
from shunter.engine.state.registries.identity import ApiKey, User, user_key
from shunter.engine.state.registries.join_tokens import JoinTokenRecord
from shunter.engine.state.registries.queues import Queue
from shunter.engine.state.registries.secrets import Secret
from shunter.engine.state.registries.services import ServiceState
from shunter.engine.state.registries.templates import Template
from shunter.engine.state.registries.tenants import Tenant
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.engine.state.task_table import PACKED_COLUMNS, TaskTable
from shunter.model.job.spec import BATCH, JobOptions, JobSpec, Schedule
from shunter.model.lifecycles import TaskState
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import SlotPlace, Testbed
from shunter.model.usage import Usage
from tests.unit.wire.filled_structs import Filler, default_of, differences, hints_of

NODE, JOB, TASKS = 1, 3, 2
OBJECT_TABLES = ("testbeds", "batch_jobs", "schedulings")

# What other records say, or what is not part of the committed state.
DERIVED: dict[type, set[str]] = {
    Job: {"spec_version", "task_sets", "cached_ref"},
    TaskSet: {"job", "base", "slot", "counts", "ready", "task_class", "spec_version", "in_queue"},
    NodeRecord: {
        "lanes",
        "is_synced",
        "synced_boot",
        "down_since_ms",
        "failures",
        "restarts",
        "last_heartbeat_ms",
        "stats",
    },
    Lanes: {"task_class", "last_progress_ms", "recalled", "may_refill"},
    Template: {"next_ms"},
}
FIXED: dict[type, dict[str, Any]] = {  # as the state around it must have it
    Job: {"id": JOB, "type": BATCH, "options": JobOptions(queue="slow"), "next_task_set": 9},
    TaskSet: {"number": 1, "count": TASKS, "group_index": 1, "node": NODE},
    NodeRecord: {"id": NODE},
}


def stored_fields(kind: type) -> list[str]:
    return [name for name in hints_of(kind) if name not in DERIVED.get(kind, ())]


def fill_record(record: Any) -> None:
    """Every field that is to be kept gets a value other than by default."""
    kind: Any = type(record)
    for name in stored_fields(kind):
        default = default_of(kind, name)
        value = FIXED.get(kind, {}).get(name, Filler().fill(hints_of(kind)[name]))
        assert value != default, f"{kind.__name__}.{name} is as by default"
        setattr(record, name, value)


def differing_fields(before: Any, after: Any) -> list[str]:
    names = stored_fields(type(before))
    return [text for name in names for text in differences(getattr(before, name), getattr(after, name), name)]


def full_state() -> State:
    """One node; a job of two groups, of which the second is on it; all of their fields are set."""
    state, groups = State(), Filler().fill(JobSpec).groups
    alone = [msgspec.structs.replace(each, count=TASKS, after=(), array=(), entries=()) for each in groups]
    needs = dict.fromkeys(alone[1].needs, 100)
    state.apply(c.NodeJoined(NODE, "n", "b", needs, {"a": "b"}, "dc", {"c": "d"}, "address", 5, "id", "m", "mb"))
    body = msgspec.Raw(state.encode_groups(tuple(alone)))
    state.apply(c.JobSubmitted(JOB, "space", "name", 1, BATCH, 50, {}, "anna", 6, body))
    state.apply(c.LanesSet(state.jobs[JOB].task_sets[1].task_class.id, NODE, TASKS))
    state.apply(c.TasksPlaced(JOB, 1, 0, TASKS - 1, 1, NODE, ""))
    state.apply(c.IdempotencyKeyUsed("key", [JOB], 7))
    state.version, state.next_job, state.next_class = 11, 12, 13
    return state


@pytest.fixture(scope="module")
def states() -> tuple[State, State]:
    """As it was, and as it came out of its snapshot."""
    before = full_state()
    job = before.jobs[JOB]
    for record in (job, job.task_sets[1], before.nodes.records[NODE]):
        fill_record(record)
    return before, load(make_snapshot(before))


def test_jobs_groups_and_nodes_keep_every_field(states: tuple[State, State]) -> None:
    before, after = states
    assert differing_fields(before.jobs[JOB], after.jobs[JOB]) == []
    assert differing_fields(before.jobs[JOB].task_sets[1], after.jobs[JOB].task_sets[1]) == []
    assert differing_fields(before.nodes.records[NODE], after.nodes.records[NODE]) == []


def test_what_is_worked_out_anew_is_what_it_was(states: tuple[State, State]) -> None:
    before, after = (state.jobs[JOB] for state in states)
    assert [each.spec_version.body for each in after.task_sets] == [each.spec_version.body for each in before.task_sets]
    for name in ("base", "counts"):
        assert [getattr(each, name) for each in after.task_sets] == [getattr(each, name) for each in before.task_sets]


def test_lanes_classes_and_counters_are_kept(states: tuple[State, State]) -> None:
    before, after = states
    for class_id, record in before.classes.items():
        assert after.classes[class_id].key == record.key
        for node, lanes in record.lanes.items():
            assert differing_fields(lanes, after.classes[class_id].lanes[node]) == []
    assert sum(len(each.lanes) for each in after.classes.values()) == 1
    for name in ("version", "next_job", "next_class", "idempotency_keys", "idempotency_key_order"):
        assert getattr(after, name) == getattr(before, name) != getattr(State(), name)


def test_every_field_of_a_class_is_kept() -> None:
    key = Filler().fill(ClassKey)
    assert list(differences(key, msgspec.msgpack.decode(msgspec.msgpack.encode(key), type=ClassKey))) == []


def test_every_column_of_tasks_is_kept() -> None:
    state = full_state()
    table, names = state.table, [name for name in hints_of(TaskTable) if name != "group"]  # which is worked out
    assert names == list(PACKED_COLUMNS)
    [_, group] = state.jobs[JOB].task_sets
    rows = slice(group.base, group.base + TASKS)
    for number, name in enumerate(names):
        if name not in ("state", "node"):
            getattr(table, name)[rows] = [100 + number, 120 + number]
    after = load(make_snapshot(state)).table
    assert set(after.state[rows].tolist()) == {int(TaskState.ASSIGNED)}
    for name in names:
        assert np.array_equal(getattr(after, name)[rows], getattr(table, name)[rows]), name


def test_every_field_of_the_registries_survives() -> None:
    """Each registry that there is, with a record of its own in it: what it has beside that follows from the record."""
    filler, state = Filler({(SlotPlace, "node"): "n"}), full_state()
    spec = msgspec.structs.replace(filler.fill(JobSpec), options=JobOptions(schedule=Schedule("0 * * * *")))
    template = dataclasses.replace(filler.fill(Template), spec=spec, body=msgspec.msgpack.encode(spec))
    objects = [filler.fill(kind) for kind in (Testbed, BatchJob, Scheduling)]
    user, key, secret, tenant = filler.fill(User), filler.fill(ApiKey), filler.fill(Secret), filler.fill(Tenant)
    token = filler.fill(JoinTokenRecord)
    fill: dict[str, dict[str, Any]] = {
        "format": {"active": FORMAT, "raised_by": "0.1.0"},
        "cluster": {"values": {"policy": "spread"}},
        "queues": {"queues": {"slow": filler.fill(Queue)}},
        "durations": {"_means": {("space", "name", "group"): (2.5, 3)}},
        "edges": {"_targets": {JOB: {1: 2}}, "_settled": {JOB: {0: ("name@1", "failed")}}},
        "flags": {"_flags": {JOB: ["deadline"]}},
        "templates": {"by_id": {template.id: template}},
        "dead": {"letters": {5: dataclasses.replace(filler.fill(DeadLetter), number=5)}, "_last_number": 6},
        "lasting": {"jobs": {JOB: filler.fill(ServiceState)}},
        "moves": {"pinned": {(JOB, 1, 0): NODE}},
        "secrets": {"secrets": {(secret.namespace, secret.name): secret}, "size_bytes": len(secret.sealed.ciphertext)},
        "identity": {"users": {user_key(user.tenant, user.name): user}, "keys": {key.id: key}},
        "tenants": {"tenants": {tenant.name: tenant}},
        "join_tokens": {"tokens": {token.id: token}},
        "job_usage": {"_jobs": {JOB: {"main": filler.fill(Usage)}}},
        "audit": {"number": 9, "head": bytes(range(32)), "dropped_through": 3, "checkpoint_ms": 4},
        "objects": {
            "revision": 7,
            "next_uid": 800,
            **{name: {each.meta.object_name: each} for name, each in zip(OBJECT_TABLES, objects, strict=True)},
        },
    }
    assert fill.keys() == state.registries.keys()
    for name, parts in fill.items():
        for part, value in parts.items():
            if name == "objects" and part in OBJECT_TABLES:
                getattr(state.objects, part).update(value)
            else:
                setattr(state.registries[name], part, value)
    after = load(make_snapshot(state))
    for name, parts in fill.items():
        for part, value in parts.items():
            found = getattr(after.registries[name], part)
            if name == "templates":
                assert differing_fields(template, found[template.id]) == []
            else:
                assert list(differences(value, dict(found) if isinstance(value, dict) else found, name)) == []

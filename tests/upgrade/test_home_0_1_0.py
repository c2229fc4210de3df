"""A home that version 0.1.0 wrote opens unchanged: a snapshot, the rounds after it, and history.

Its manager was killed while it had work of every kind. If a test fails, homes of users would be read differently than
they were written: fix the code that reads them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.adapters.sqlite.store import SqliteStore
from shunter.engine.jobs.finish import Summary
from shunter.engine.recovery import create_timers, load_state
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.records import Job, TaskSet
from shunter.engine.state.registries.dead_letters import DeadLetter
from shunter.engine.state.registries.queues import Queue
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.engine.state.task_table import unpack_columns
from shunter.engine.timers import TimerKind
from shunter.model.job.spec import PORT_PREFIX, After, JobSpec
from shunter.model.lifecycles import NodeState, TaskState
from shunter.model.objects.batch_jobs import BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.past_schedulings import PastRun, PastScheduling
from shunter.model.objects.schedulings import JobProgress, SchedulingState
from shunter.model.objects.testbeds import SlotState, TestbedState
from shunter.ports.store import FinishedQuery, PastQuery
from tests.upgrade.home_files import FOLDER, by_field, logged_changes, longest_of_each_kind, restore

from .home_0_1_0 import FINISHED, LAST, SNAPSHOT, SUBMITTED_MS, UNFINISHED, VERSION


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    restore(VERSION, tmp_path / "store.db")
    store = SqliteStore(tmp_path / "store.db")
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def state(store: SqliteStore) -> State:
    return await load_state(store)


# ---- the log and the snapshot ----


async def test_every_round_decodes_and_says_what_it_said(store: SqliteStore) -> None:
    rounds = await logged_changes(store)
    assert list(rounds) == list(range(1, LAST + 1))
    found = longest_of_each_kind(rounds)
    expected = json.loads((FOLDER / f"changes-{VERSION}.json").read_text("utf-8"))
    assert list(found) == list(expected)
    for kind, fields in expected.items():
        said = by_field(found[kind])
        assert {name: said.get(name) for name in fields} == fields, kind


async def test_the_snapshot_is_the_state_that_the_rounds_before_it_give(store: SqliteStore) -> None:
    snapshot = await store.snapshot()
    assert snapshot is not None
    assert snapshot.version == SNAPSHOT
    rounds = await logged_changes(store)
    assert fingerprint(load(snapshot)) == fingerprint(_replayed(rounds, SNAPSHOT))


async def test_recovery_and_a_snapshot_of_its_own_give_the_state_of_all_rounds(
    store: SqliteStore, state: State
) -> None:
    expected = fingerprint(_replayed(await logged_changes(store), LAST))
    assert fingerprint(state) == expected
    assert fingerprint(load(make_snapshot(state))) == expected


def _replayed(rounds: dict[int, list[Any]], last: int) -> State:
    """From nothing, without the snapshot."""
    state = State()
    for version in range(1, last + 1):
        for change in rounds[version]:
            state.apply(change)
        state.version = version
    return state


# ---- jobs ----


def test_unfinished_jobs_are_as_they_were(state: State) -> None:
    assert {job.name: _describe(state, job) for job in state.jobs.values()} == UNFINISHED
    assert {(job.namespace, job.run, job.user) for job in state.jobs.values()} == {("default", 1, "admin")}
    assert {state.jobs[number].submitted_ms for number in range(8, 14)} == {SUBMITTED_MS}
    assert state.next_job == 27


def _describe(state: State, job: Job) -> tuple[Any, ...]:
    pieces = [
        (group.spec.name, group.spec.task.command, group.node, group.visible_index, _tasks(state, group))
        for group in job.task_sets
    ]
    return job.type, job.priority, job.labels, job.state.wire_name, job.version, job.is_held, pieces


def _tasks(state: State, group: TaskSet) -> list[tuple[Any, ...]]:
    table, rows = state.table, range(group.base, group.base + group.count)
    columns = (table.attempt, table.restarts, table.lost, table.node, table.exit_code)
    return [(TaskState(int(table.state[row])).wire_name, *(int(column[row]) for column in columns)) for row in rows]


def test_what_is_known_of_single_tasks_is_as_it_was(state: State) -> None:
    flaky, moving, lost = (_job(state, name).task_sets[-1] for name in ("flaky", "mv", "sys"))
    assert flaky.delayed == {0: 1795379784279}
    assert flaky.history == [(0, 1, 1, 5, 1794829542062, 1794829542065, 17179869186, "exit code 5")]
    assert (flaky.reasons, flaky.avoided_nodes) == ({0: "exit code 5"}, {0: 1})
    assert (moving.reasons, moving.requeue_when_stopped) == ({0: "moved to node n1 by admin"}, {0})
    assert state.moves.pinned == {(moving.job.id, 0, 0): 1}
    died = "its keeper (process 6319) died"
    assert lost.history == [(0, 1, 2, -1, 1794829542067, 1794829543508, 8589934592, died)]
    running = _job(state, "long").task_sets[0]
    rows = slice(running.base, running.base + 2)
    assert state.table.started_ms[rows].tolist() == [1794829542062, 1794829542062]
    assert state.table.log[rows].tolist() == [8589934594, 21474836480]


def test_the_service_is_half_way_to_its_third_version(state: State) -> None:
    job = _job(state, "web")
    web = state.services.jobs[job.id]
    assert (web.status.wire_name, web.reason, web.rollout_began_ms) == ("updating", "version 3 by admin", 1794829555790)
    assert (web.first_task_set, web.node, web.restart_floors, web.down) == (6, 0, {}, {"main/2": None})
    assert [group.number for group in job.task_sets] == [2, 4, 5, 6]
    assert job.next_task_set == 7
    assert web.stable_version is not None
    assert web.previous_version is not None
    assert (web.stable_version.number, web.previous_version.number) == (2, 1)
    assert b"exec sleep 92222" in web.stable_version.groups
    assert b"exec sleep 91111" in web.previous_version.groups
    assert [(past.index, past.task_set_number, past.exit_code, past.reason) for past in web.replaced_tasks] == [
        (0, 0, 143, "replaced by version 2"),
        (1, 0, 143, "replaced by version 2"),
        (2, 1, 143, "replaced by version 2"),
        (1, 3, 143, "replaced: restarted"),
    ]
    newest = job.task_sets[-1]
    assert (newest.ports, newest.health) == ({0: {"web": 24305}}, {0: (True, 1794829555801)})
    spec = newest.spec
    assert (spec.count, spec.task.env, spec.task.dir) == (3, {"GREETING": "three"}, "/tmp")
    assert (spec.update.healthy_for_s, spec.update.deadline_s) == (300 * 86400.0, 366 * 86400.0)
    assert state.services.jobs[_job(state, "sys").id].status.wire_name == "steady"


def test_what_jobs_wait_for_is_as_it_was(state: State) -> None:
    then, long, late, slow = (_job(state, name) for name in ("then", "long", "lbl", "slow"))
    assert then.options.after == (After("ok"), After("long", when="finished"))
    assert dict(state.edges.targets(then.id)) == {1: long.id}
    assert dict(state.edges.settled(then.id)) == {0: ("ok@1", "succeeded")}
    assert late.task_sets[0].task_class.key.constraints == ("has(node.labels.gpu)",)
    assert late.deadline_ms == SUBMITTED_MS + 1000
    assert state.flags.has(late.id, "deadline")
    assert slow.options.queue == "closed"
    assert long.task_sets[0].spec.needs == {"cpu": 100, "licence/m": 1}


def _job(state: State, name: str) -> Job:
    return state.jobs_by_name["default"][name]


# ---- what belongs to no job ----


def test_settings_queues_dead_letters_and_keys_are_as_they_were(state: State) -> None:
    assert state.cluster.values == {"flight": "off", "hold_after": "600", "licence/m": "5", "preemption": "20"}
    assert state.queues.queues == {"closed": Queue(True, False, 1, 0), "night": Queue(False, True, 2, 9)}
    assert state.dead_letters.letters == {
        1: DeadLetter(1, 6, "default/dead@1", "main", 0, 4, "exit code 4", 1794829538682)
    }
    assert state.idempotency_keys["key-1"] == [21]
    assert len(state.idempotency_keys) == len(state.idempotency_key_order) == 11
    assert state.durations.dump() == [["default", "ok", "main", 0.2355, 2]]


def test_templates_are_as_they_were(state: State) -> None:
    nightly, yearly, thumb = (state.templates.get("default", name) for name in ("nightly", "yearly", "thumb"))
    assert nightly is not None
    assert yearly is not None
    assert thumb is not None
    assert list(state.templates.by_id) == [nightly.id, yearly.id, thumb.id] == [14, 15, 16]
    assert (nightly.is_paused, nightly.last_job, nightly.fired_ms) == (True, 25, SUBMITTED_MS)
    assert (nightly.user, nightly.updated_ms, nightly.next_ms) == ("admin", SUBMITTED_MS, None)
    assert _schedule(nightly.spec) == ("30 2 * * *", "Europe/Berlin", "queue")
    assert nightly.spec.options.queue == "night"
    assert _schedule(yearly.spec) == ("0 0 1 1 *", "UTC", "skip")
    assert (yearly.is_paused, yearly.next_ms) == (False, 1798761600000)
    parameters = thumb.spec.options.parameters
    assert parameters is not None
    assert (parameters.required, parameters.optional) == (("width",), {"format": "webp"})
    assert (parameters.payload, thumb.last_job) == ("required", 20)


def _schedule(spec: JobSpec) -> tuple[str, str, str]:
    schedule = spec.options.schedule
    assert schedule is not None
    return schedule.cron, schedule.timezone, schedule.overlap


def test_nodes_are_as_they_were(state: State) -> None:
    n1, n2 = state.nodes.records[1], state.nodes.records[2]
    assert (n1.name, n2.name) == ("n1", "n2")
    assert n1.reported_labels == {"disk": "ssd"}
    assert n1.override_labels == {"bench": "0", "rack": "b7", "spot": "a"}
    assert (n1.override_attributes, n1.attributes["shunter"]) == ({"cores": "big"}, VERSION)
    assert n2.labels == {"spot": "a"}
    assert (n1.state, n2.state, n1.datacenter) == (NodeState.READY, NodeState.READY, "dc1")
    assert (n1.cordoned_by, n2.cordoned_by, n2.cordon_reason) == ("", "cordon", "by admin")
    assert (n2.is_drain_requested, n2.drain_deadline_ms) == (False, 0)
    assert _amounts(state, "capacity", 1) == {"cpu": 4000, "memory": 4 * 2**30, "disk": 2**30}
    assert _amounts(state, "capacity", 2) == {"cpu": 1000, "memory": 2**30, "disk": 2**30}
    assert (_amounts(state, "reserved", 1), _amounts(state, "reserved", 2)) == ({"cpu": 800}, {"cpu": 200})
    assert (state.nodes.tasks[1], state.nodes.tasks[2]) == (7, 2)


def _amounts(state: State, column: str, node: int) -> dict[str, int]:
    """Without zeroes, and without ports, of which every node has one each."""
    amounts = zip(state.nodes.view.resources, getattr(state.nodes.view, column)[node].tolist(), strict=True)
    return {name: amount for name, amount in amounts if amount and not name.startswith(PORT_PREFIX)}


def test_testbeds_batch_jobs_and_schedulings_are_as_they_were(state: State) -> None:
    objects = state.objects
    bench, hi, stay, now = (ObjectName("default", name) for name in ("bench", "hi", "stay", "now"))
    assert [list(each) for each in (objects.testbeds, objects.batch_jobs, objects.schedulings)] == [
        [bench], [hi, stay], [now],
    ]  # fmt: skip
    assert (objects.revision, objects.next_uid) == (49, 6)

    testbed = objects.testbeds[bench]
    assert (testbed.meta.uid, testbed.meta.created_ms, testbed.meta.user) == (1, 1794829546848, "admin")
    assert (testbed.meta.generation, testbed.meta.revision) == (1, 48)
    assert (testbed.spec.slots_per_node, testbed.spec.node_label) == (2, "bench")
    assert (testbed.spec.resources_per_slot, testbed.spec.sharing) == ({"cpu": 100}, "disjoint")
    assert testbed.status.state is TestbedState.RUNNING
    first, second = testbed.status.slots
    assert (first.state, first.place.node, first.place.position) == (SlotState.OCCUPIED, "n1", 0)
    assert first.holder is not None
    assert (first.holder.job, first.holder.executor, first.holder.scheduling) == (stay, 0, now)
    assert (second.state, second.place.position, second.holder) == (SlotState.FREE, 1, None)

    ran = objects.batch_jobs[hi]
    assert (ran.status.state, ran.claim, ran.status.runs) == (BatchJobState.READY, None, 1)
    assert ran.spec.external == {"profiler": [{"hi": "1"}]}
    [event] = ran.status.events
    assert (event.scheduling.name, event.slot_ids, event.job, event.successful) == ("past", (0, 1), 19, True)
    runs = objects.batch_jobs[stay]
    assert (runs.status.state, runs.status.application) == (BatchJobState.RUNNING, _job(state, "bj.stay").id)
    assert runs.spec.command == {"command": ["sleep", "99999"]}
    assert runs.claim is not None
    assert runs.claim.scheduling == now

    scheduling = objects.schedulings[now]
    assert (scheduling.spec.testbed, scheduling.spec.queue, scheduling.spec.mode) == (bench, (stay,), "")
    assert scheduling.status.state is SchedulingState.AWAITING_COMPLETION
    [record] = scheduling.status.jobs
    assert (record.progress, record.slot_ids, record.application) == (JobProgress.SCHEDULED, (0,), 22)


async def test_the_clock_goes_on_with_what_is_to_come(store: SqliteStore) -> None:
    state = await load_state(store)
    timers = create_timers(state)
    to_come = {(at_ms, TimerKind(kind), job) for at_ms, kind, job, *_ in timers.heap}
    flaky = _job(state, "flaky").id
    assert {(1798761600000, TimerKind.TEMPLATE, 15), (1795379784279, TimerKind.BACK_OFF, flaky)} <= to_come


# ---- history ----


async def test_finished_jobs_are_all_there_with_their_tasks(store: SqliteStore) -> None:
    found = []
    for job in await store.finished_jobs(FinishedQuery()):
        summary = msgspec.msgpack.decode(job.summary, type=Summary)
        assert (summary.view.name, summary.view.run, summary.view.state) == (job.name, job.run, job.state)
        tasks = [await _finished_states(store, job.id, piece.number, piece.count) for piece in summary.pieces]
        name = f"{job.name}@{job.run}"
        found.append((job.id, name, job.state, summary.view.reason, summary.exit_code, job.labels, tasks))
    assert found == FINISHED
    assert await store.count_finished(FinishedQuery(labels=(("team", "film"),))) == 1
    assert await store.count_finished(FinishedQuery(states=("failed",))) == 4
    newest = {
        "arr": (2, 26), "bad": (1, 2), "bj.hi": (1, 19), "dead": (1, 6), "gone": (1, 3), "keyed": (1, 21),
        "nightly": (1, 25), "ok": (2, 24), "sums": (1, 5), "thumb": (1, 20),
    }  # fmt: skip
    ended = await store.ended_runs([("default", name, None) for name in newest])
    assert {name: (run.run, run.id) for (_, name, _), run in ended.items()} == newest


async def _finished_states(store: SqliteStore, job: int, group: int, count: int) -> list[str]:
    [chunk] = await store.finished_tasks(job, group, 0, count - 1)
    return [TaskState(int(state)).wire_name for state in unpack_columns(chunk.count, chunk.body)["state"]]


async def test_the_deleted_scheduling_is_remembered(store: SqliteStore) -> None:
    [record] = await store.past_schedulings(PastQuery())
    run = PastRun(ObjectName("default", "hi"), (0, 1), ("n1", "n1"), 1794829546856, 1794829546858, True)
    assert msgspec.msgpack.decode(record.body, type=PastScheduling) == PastScheduling(
        4, "default", "past", ObjectName("default", "bench"), "strict", "admin", "CompletedState", (),
        1794829546848, 1794829547445, (run,),
    )  # fmt: skip

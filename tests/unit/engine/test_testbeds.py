"""Testbeds, BatchJobs and Schedulings in the engine: slots as reservations, executors in them, and what outlives a
crash."""

from __future__ import annotations

import json
from random import Random

import pytest
from msgspec import Raw
from msgspec.msgpack import decode, encode
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.changes import decode_round
from shunter.engine.objects import RECORDS_AT_ONCE, differing, move
from shunter.engine.state import State
from shunter.model.batch_jobs import BatchJobSpec, BatchJobState, BatchJobStatus, ScheduledEvent
from shunter.model.errors import Conflict, Invalid
from shunter.model.jobs import JobOptions
from shunter.model.object_meta import Meta, ObjectName
from shunter.model.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.schedulings import JobProgress, JobRecord, SchedulingSpec, SchedulingState
from shunter.model.testbeds import SlotState, TestbedSpec, TestbedState

from .stage import Stage, play, spec

LABEL = "example.org/slots"
BED = ObjectName("default", "bed")
ENTRIES = 200


def bed(slots_per_node: int = 2, cpu: int = 500, name: ObjectName = BED) -> Draft:
    return Draft(TESTBED, name, TestbedSpec(slots_per_node, LABEL, {"cpu": cpu, "memory": 2**20}))


def command(name: str) -> Draft:
    return Draft(BATCH_JOB, ObjectName("default", name), BatchJobSpec(command={"command": ["/bin/true"]}))


def queue(name: str, *jobs: str, testbed: ObjectName = BED) -> Draft:
    return Draft(
        SCHEDULING,
        ObjectName("default", name),
        SchedulingSpec(testbed, queue=tuple(ObjectName("default", job) for job in jobs)),
    )


async def label(stage: Stage, *nodes: str) -> None:
    for number, node in enumerate(nodes):
        await stage.engine.label_node(node, {LABEL: str(number)})


async def make(stage: Stage, *drafts: Draft) -> None:
    await stage.engine.apply_objects(list(drafts), "tester")
    await stage.settle()


async def ready(stage: Stage, nodes: int = 2, slots_per_node: int = 2) -> list[int]:
    ids = [await stage.join(f"n{number}", cpu=2) for number in range(nodes)]
    await label(stage, *(f"n{number}" for number in range(nodes)))
    await make(stage, bed(slots_per_node))
    return ids


def slots(stage: Stage, name: ObjectName = BED) -> list[tuple[str, int, str]]:
    found = stage.engine.state.objects.testbeds[name].status.slots
    return [(slot.place.node, slot.place.position, slot.state.word) for slot in found]


def state_of(stage: Stage, name: str) -> BatchJobState:
    return stage.engine.state.objects.batch_jobs[ObjectName("default", name)].status.state


def scheduling(stage: Stage, name: str) -> SchedulingState:
    return stage.engine.state.objects.schedulings[ObjectName("default", name)].status.state


def test_a_testbed_reserves_slots_breadth_first_and_other_work_cannot_use_them() -> None:
    """S0-07, S0-08."""

    async def scene(stage: Stage) -> None:
        await ready(stage)
        assert slots(stage) == [("n0", 0, "FREE"), ("n1", 0, "FREE"), ("n0", 1, "FREE"), ("n1", 1, "FREE")]
        await stage.submit(spec("wide", 10))
        assert sorted(node for node, _ in stage.orders()) == [1, 2]  # one of two cpu is left on each node
        nodes = stage.engine.state.nodes.view
        assert nodes.reserved[1:3, 0].tolist() == [2000, 2000]

    play(scene)


def test_a_scheduling_runs_its_jobs_in_slots_and_holds_them_until_it_is_deleted() -> None:
    """S0-04, S0-16, S0-18."""

    async def scene(stage: Stage) -> None:
        await ready(stage)
        await make(stage, command("a"), command("b"))
        await make(stage, queue("q", "a", "b", "b", "a"))
        orders = stage.orders()
        placed = sorted((order.job_name, node, order.entries) for node, order in orders)
        assert placed == [("bj.a", 1, ["0"]), ("bj.a", 2, ["3"]), ("bj.b", 1, ["2"]), ("bj.b", 2, ["1"])]
        assert {word for _, _, word in slots(stage)} == {"RESERVED"}
        assert state_of(stage, "a") is BatchJobState.SCHEDULED
        for node, order in orders:
            await stage.started(node, order)
        assert {word for _, _, word in slots(stage)} == {"OCCUPIED"}
        assert state_of(stage, "a") is BatchJobState.RUNNING
        for node, order in orders:
            await stage.end(node, order)
        assert {word for _, _, word in slots(stage)} == {"FREE"}
        assert state_of(stage, "a") is state_of(stage, "b") is BatchJobState.COMPLETED
        assert scheduling(stage, "q") is SchedulingState.COMPLETED
        assert stage.engine.state.objects.testbeds[BED].status.claims == (ObjectName("default", "q"),)
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await stage.settle()
        assert state_of(stage, "a") is state_of(stage, "b") is BatchJobState.READY
        assert stage.engine.state.objects.testbeds[BED].status.claims == ()
        assert not stage.engine.state.objects.schedulings

    play(scene)


def test_all_of_it_outlives_a_crash_of_the_manager() -> None:
    """S0-01."""

    async def scene(stage: Stage) -> None:
        await ready(stage)
        await make(stage, command("a"), command("b"), queue("q", "a", "a", "b", "b"))
        orders = stage.orders()
        await stage.started(*orders[0])
        before = dict(stage.engine.state.objects.batch_jobs)
        stage.crash()
        await stage.revive()
        book = stage.engine.state.objects
        assert book.batch_jobs == before
        nodes = stage.engine.state.nodes.view
        assert nodes.reserved[1:3, 0].tolist() == [1000, 1000]
        again = stage.orders()  # the workers came back with nothing in hand
        assert sorted((node, order.job_name, order.shown) for node, order in again) == sorted(
            (node, order.job_name, order.shown) for node, order in orders
        )
        for node, order in again:
            await stage.end(node, order)
        assert scheduling(stage, "q") is SchedulingState.COMPLETED

    play(scene)


def test_jobs_wait_for_slots_in_order_and_start_as_they_come_free() -> None:
    """S1-10: ten executors on eight slots."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=4)
        await make(stage, *(command(name) for name in ("j1", "j2", "j3", "j4")))
        await make(stage, queue("q", "j1", "j1", "j2", "j2", "j3", "j3", "j3", "j4", "j4", "j4"))
        orders = stage.orders()
        assert sorted({order.job_name for _, order in orders}) == ["bj.j1", "bj.j2", "bj.j3"]
        for node, order in orders:
            await stage.started(node, order)
        assert slots(stage)[7] == ("n3", 1, "FREE")
        second = [(node, order) for node, order in orders if order.job_name == "bj.j2"]
        await stage.end(*second[0])
        assert stage.orders() == []
        await stage.end(*second[1])
        assert sorted(order.entries[0] for _, order in stage.orders()) == ["2", "3", "7"]

    play(scene)


def test_of_a_long_queue_only_what_moves_is_written() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage)
        await make(stage, *(command(f"j{number}") for number in range(ENTRIES)))
        await make(stage, queue("q", *(f"j{number}" for number in range(ENTRIES))))
        before = stage.engine.state.version
        while orders := stage.orders():
            for node, order in orders:
                await stage.started(node, order)
                await stage.end(node, order)
        assert scheduling(stage, "q") is SchedulingState.COMPLETED
        for logged in await stage.store.rounds_after(before, 100_000):
            for change in decode_round(logged.body):
                if isinstance(change, c.ObjectMoved) and change.type == SCHEDULING:
                    assert len(change.status) + len(change.records) < ENTRIES

    play(scene)


def test_the_runs_of_a_batch_job_are_written_when_they_change_and_not_with_each_state() -> None:
    async def run(stage: Stage) -> None:
        await make(stage, queue("q", "a"))
        for node, order in stage.orders():
            await stage.started(node, order)
            await stage.end(node, order)
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await stage.settle()

    async def scene(stage: Stage) -> None:
        await ready(stage)
        await make(stage, command("a"))
        await run(stage)
        before = stage.engine.state.version
        await run(stage)
        assert len(stage.engine.state.objects.batch_jobs[ObjectName("default", "a")].status.events) == 2
        moves = [
            (change.state, len(decode(change.status, type=BatchJobStatus).events))
            for logged in await stage.store.rounds_after(before, 1000)
            for change in decode_round(logged.body)
            if isinstance(change, c.ObjectMoved) and change.type == BATCH_JOB
        ]
        assert [written for state, written in moves if state in ("RunningState", "CompletedState")] == [2, 2]
        others = ["InQueueState", "SubmittedState", "ScheduledState", "PendingDeletion", "ReadyState"]
        assert [state for state, written in moves if not written] == others

    play(scene)


def test_a_status_that_was_logged_with_all_its_runs_replays_as_it_was() -> None:
    """As logs have it that were written before runs could be left out."""
    state, name = State(), ObjectName("default", "a")
    state.apply(c.ObjectSet(BATCH_JOB, Meta(1, "default", "a", 1, "ada"), Raw(encode(BatchJobSpec())), 1))
    for count in (1, 2, 1):
        runs = tuple(ScheduledEvent(number, name, BED, (0,), number) for number in range(count))
        status = BatchJobStatus(BatchJobState.RUNNING, runs)
        state.apply(c.ObjectMoved(BATCH_JOB, 1, Raw(encode(status)), 2, "RunningState", "default/a"))
        assert state.objects.batch_jobs[name].status == status


@pytest.mark.parametrize("count", [0, 1, RECORDS_AT_ONCE - 1, RECORDS_AT_ONCE, RECORDS_AT_ONCE + 1, 300])
def test_of_a_schedulings_records_exactly_those_that_differ_are_written(count: int) -> None:
    chance = Random(count)
    before = tuple(JobRecord(JobProgress.IN_QUEUE) for _ in range(count))
    for changes in range(5):
        other = set(chance.sample(range(count), min(changes, count)))
        after = tuple(JobRecord(JobProgress.SUBMITTED, (n,)) if n in other else before[n] for n in range(count))
        assert differing(before, after) == [(index, after[index]) for index in sorted(other)]
    assert differing(before, tuple(JobRecord(JobProgress.IN_QUEUE) for _ in range(count))) == []


def test_a_deleted_scheduling_stops_its_jobs_and_gives_the_slots_back_when_they_are_gone() -> None:
    """S1-06, S1-17: the second Scheduling says for whom it waits, holds nothing, and starts then."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), command("b"), queue("q", "a", "a"), queue("later", "b"))
        book = stage.engine.state.objects
        waiting = book.schedulings[ObjectName("default", "later")].status
        assert waiting.state is SchedulingState.ACQUIRE
        assert "default/q" in waiting.waits_for
        assert book.batch_jobs[ObjectName("default", "b")].claim is None
        orders = stage.orders()
        for node, order in orders:
            await stage.started(node, order)
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await stage.settle()
        assert state_of(stage, "a") is BatchJobState.PENDING_DELETION
        assert [word for *_, word in slots(stage)] == ["OCCUPIED", "OCCUPIED"]
        assert stage.orders() == []
        await stage.end(*orders[0], exit_code=143, how="stopped")
        assert state_of(stage, "a") is BatchJobState.PENDING_DELETION
        assert [order.job_name for _, order in stage.orders()] == ["bj.b"]  # there is one free slot
        await stage.end(*orders[1], exit_code=143, how="stopped")
        assert state_of(stage, "a") is BatchJobState.READY

    play(scene)


def test_a_failed_executor_ends_the_others_and_fails_job_and_scheduling_until_reset() -> None:
    """S1-27."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a", "a"))
        orders = stage.orders()
        for node, order in orders:
            await stage.started(node, order)
        await stage.end(*orders[0], exit_code=3)
        assert [range.last for range in stage.stops()] == [0]
        await stage.end(*orders[1], exit_code=143, how="stopped")
        assert state_of(stage, "a") is BatchJobState.FAILED_SUBMISSION
        job = stage.engine.state.objects.batch_jobs[ObjectName("default", "a")]
        assert job.status.problems == ["1 of 2 tasks failed; the first, task 0: exit code 3"]
        assert scheduling(stage, "q") is SchedulingState.FAILED
        with pytest.raises(Conflict, match="delete that first"):
            await stage.engine.reset_batch_job(ObjectName("default", "a"))
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await stage.settle()
        assert state_of(stage, "a") is BatchJobState.READY
        [event] = stage.engine.state.objects.batch_jobs[ObjectName("default", "a")].status.events
        assert (event.successful, event.slot_ids) == (False, (0, 1))

    play(scene)


def test_an_executor_of_a_command_that_somebody_stops_ends_the_others_too() -> None:
    """S1-27: they may wait for it for ever, and the job cannot complete any more."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a", "a"))
        orders = stage.orders()
        for node, order in orders:
            await stage.started(node, order)
        await stage.engine.stop_tasks(orders[0][1].job, ("executor", 0), now=False, reason="stopped by anna")
        await stage.end(*orders[0], exit_code=143, how="stopped")
        assert [range.group for range in stage.stops()] == [order.group for _, order in orders]
        await stage.end(*orders[1], exit_code=143, how="stopped")
        assert state_of(stage, "a") is BatchJobState.FAILED_SUBMISSION
        job = stage.engine.state.objects.batch_jobs[ObjectName("default", "a")]
        assert job.status.problems == ["one of its executors was stopped"]

    play(scene)


def test_a_failed_job_is_reset_and_a_second_reset_has_nothing_to_do() -> None:
    """S1-27."""

    async def scene(stage: Stage) -> None:
        name, book = ObjectName("default", "a"), stage.engine.state.objects
        await make(stage, command("a"))
        failed = BatchJobStatus(BatchJobState.FAILED, problems=["no such slot"], runs=3, observed_generation=1)
        await stage.engine.ask(lambda round: move(round, BATCH_JOB, book.batch_jobs[name], failed))
        await stage.engine.reset_batch_job(name)
        status = book.batch_jobs[name].status
        assert (status.state, status.problems, status.runs) == (BatchJobState.READY, [], 3)
        version = stage.engine.state.version
        await stage.engine.reset_batch_job(name)
        assert stage.engine.state.version == version
        await ready(stage, nodes=1)
        await make(stage, queue("q", "a"))
        with pytest.raises(Conflict, match="claimed by scheduling default/q"):
            await stage.engine.reset_batch_job(name)  # it is in use

    play(scene)


def test_a_testbed_that_does_not_fit_says_where_and_comes_when_there_is_room() -> None:
    """S0-10."""

    async def scene(stage: Stage) -> None:
        await stage.join("n0", cpu=2)
        await stage.join("n1", cpu=2)
        await label(stage, "n0", "n1")
        await stage.submit(spec("hog", 1, needs={"cpu": 2000}))
        [(node, order)] = stage.orders()
        await make(stage, bed())
        status = stage.engine.state.objects.testbeds[BED].status
        assert status.state is TestbedState.ERROR
        assert list(status.node_problems) == [f"n{node - 1}"]
        await stage.end(node, order)
        assert stage.engine.state.objects.testbeds[BED].status.state is TestbedState.SUCCESS
        assert len(slots(stage)) == 4

    play(scene)


def test_a_testbed_changes_under_running_executors_only_when_they_end() -> None:
    """S1-34."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a"))
        [(node, order)] = stage.orders()
        await stage.started(node, order)
        await make(stage, bed(slots_per_node=1, cpu=300))
        found = stage.engine.state.objects.testbeds[BED].status.slots
        assert [(slot.state, slot.size["cpu"], slot.is_leaving) for slot in found] == [(SlotState.OCCUPIED, 500, True)]
        await stage.end(node, order)
        found = stage.engine.state.objects.testbeds[BED].status.slots
        assert [(slot.state, slot.size["cpu"], slot.is_leaving) for slot in found] == [(SlotState.FREE, 300, False)]
        assert int(stage.engine.state.nodes.view.reserved[1, 0]) == 300
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await stage.engine.delete_object(TESTBED, BED)
        await stage.settle()
        assert not stage.engine.state.objects.testbeds
        assert int(stage.engine.state.nodes.view.reserved[1, 0]) == 0

    play(scene)


def test_a_lost_executor_runs_again_in_its_slot() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=2, slots_per_node=1)
        await make(stage, command("a"), queue("q", "a", "a"))
        orders = stage.orders()
        for node, order in orders:
            await stage.started(node, order)
        await stage.lose(*orders[1])
        [(node, again)] = stage.orders()
        assert (node, again.entries, again.attempt) == (orders[1][0], orders[1][1].entries, 2)
        assert [word for *_, word in slots(stage)] == ["OCCUPIED", "RESERVED"]

    play(scene)


def test_what_was_changed_meanwhile_is_not_overwritten() -> None:
    """S0-03."""

    async def scene(stage: Stage) -> None:
        await make(stage, command("a"))
        revision = stage.engine.state.objects.batch_jobs[ObjectName("default", "a")].meta.revision
        await stage.engine.write_external(ObjectName("default", "a"), {"profiler": [{"b": "24 (16)"}]})
        stale = replace(command("a"), revision=revision, labels={"x": "y"})
        with pytest.raises(Conflict, match="changed in the meantime"):
            await stage.engine.apply_objects([stale], "tester")
        await stage.engine.write_external(ObjectName("default", "a"), {"other": [{"b": "1"}]})
        kept = stage.engine.state.objects.batch_jobs[ObjectName("default", "a")].spec.external
        assert kept == {"profiler": [{"b": "24 (16)"}], "other": [{"b": "1"}]}

    play(scene)


def test_what_can_never_run_is_refused_at_once() -> None:
    """S1-13."""

    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"))
        with pytest.raises(Invalid, match="slots"):
            await stage.engine.apply_objects([queue("q", "a", "a", "a")], "tester")
        assert not stage.engine.state.objects.schedulings

    play(scene)


def test_everything_that_happens_to_objects_is_an_event() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1)
        await make(stage, command("a"), queue("q", "a"))
        [(node, order)] = stage.orders()
        await stage.end(node, order)
        for kind, name in ((SCHEDULING, "q"), (BATCH_JOB, "a"), (TESTBED, "bed")):
            await stage.engine.delete_object(kind, ObjectName("default", name))
        await stage.settle()
        seen = {event.type for event in await stage.events()}
        assert seen >= {
            "testbed.set", "testbed.moved", "testbed.deleted", "batchjob.set", "batchjob.claimed",
            "batchjob.released", "batchjob.moved", "batchjob.deleted", "scheduling.set", "scheduling.moved",
            "scheduling.deleted",
        }  # fmt: skip
        states = [event.state for event in await stage.events() if event.type == "batchjob.moved"]
        assert states == [
            "ReadyState", "InQueueState", "SubmittedState", "ScheduledState", "CompletedState", "PendingDeletion",
            "ReadyState",
        ]  # fmt: skip

    play(scene)


def test_only_schedulings_start_the_jobs_of_batch_jobs() -> None:
    async def scene(stage: Stage) -> None:
        with pytest.raises(Conflict, match=r"begins with bj\."):
            await stage.engine.submit([spec("bj.a")], "tester")
        application = spec("bj.a", options=JobOptions(application="command"))
        with pytest.raises(Conflict, match="name a in a scheduling"):
            await stage.engine.start_run(application, "tester")

    play(scene)


def test_nobody_moves_an_executor_out_of_its_slot() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=2, slots_per_node=1)
        await make(stage, command("a"), queue("q", "a"))
        [(node, order)] = stage.orders()
        await stage.started(node, order)
        with pytest.raises(Conflict, match="whose scheduling says where"):
            await stage.engine.move(order.job, ("executor", 0), "n1", "ada")

    play(scene)


def test_two_testbeds_on_disjoint_nodes_run_schedulings_at_once_and_know_nothing_of_each_other() -> None:
    """S0-22."""

    async def scene(stage: Stage) -> None:
        beds = {name: ObjectName("default", name) for name in ("left", "right")}
        for name, testbed in beds.items():
            await stage.join(name)
            await stage.engine.label_node(name, {f"example.org/{name}": "0"})
            size = {"cpu": 500, "memory": 2**20}
            await make(stage, Draft(TESTBED, testbed, TestbedSpec(2, f"example.org/{name}", size)))
        await make(stage, command("a"), command("b"))
        await make(stage, queue("l", "a", "a", testbed=beds["left"]), queue("r", "b", "b", testbed=beds["right"]))
        orders = stage.orders()
        assert sorted((node, order.job_name) for node, order in orders) == [
            (1, "bj.a"),
            (1, "bj.a"),
            (2, "bj.b"),
            (2, "bj.b"),
        ]
        for node, order in orders:
            await stage.started(node, order)
        book = stage.engine.state.objects
        before = book.testbeds[beds["right"]], book.batch_jobs[ObjectName("default", "b")]
        for node, order in orders:
            if node == 1:  # what goes wrong in one is nothing to the other
                failed = order is orders[0][1]
                await stage.end(node, order, exit_code=3 if failed else 143, how="" if failed else "stopped")
        assert scheduling(stage, "l") is SchedulingState.FAILED
        await stage.engine.delete_object(SCHEDULING, ObjectName("default", "l"))
        await stage.engine.delete_object(TESTBED, beds["left"])
        await stage.settle()
        book = stage.engine.state.objects
        assert (book.testbeds[beds["right"]], book.batch_jobs[ObjectName("default", "b")]) == before
        for node, order in orders:
            if node == 2:
                await stage.end(node, order)
        assert scheduling(stage, "r") is SchedulingState.COMPLETED

    play(scene)


def test_each_run_of_spark_has_a_secret_of_its_own_and_a_command_has_none() -> None:
    async def scene(stage: Stage) -> None:
        await ready(stage, nodes=1, slots_per_node=1)
        spark = BatchJobSpec(spark={"type": "Python", "mainApplicationFile": "local:///a.py"})
        size = {"cpu": 500, "memory": 900 * 2**20}
        await stage.join("big", memory=4 * 2**30, cpu=4)
        await stage.engine.label_node("big", {"example.org/big": "0"})
        big = ObjectName("default", "big")
        await make(stage, Draft(TESTBED, big, TestbedSpec(1, "example.org/big", size)))
        await make(stage, Draft(BATCH_JOB, ObjectName("default", "s"), spark), command("c"), queue("other", "c"))
        secrets = []
        for number in range(2):
            await make(stage, queue(f"q{number}", "s", testbed=big))
            job = stage.engine.state.find_job("default", "bj.s")
            assert job is not None
            told = [json.loads(spec.task.payload or b"")["secret"] for spec in job.blueprint.groups]
            assert told[0] == told[1]
            secrets.append(told[0])
            await stage.engine.delete_object(SCHEDULING, ObjectName("default", f"q{number}"))
            await stage.settle()
        assert len(set(secrets)) == 2 and all(len(secret) > 50 for secret in secrets)
        command_job = stage.engine.state.find_job("default", "bj.c")
        assert command_job is not None and not command_job.blueprint.groups[0].task.payload

    play(scene)

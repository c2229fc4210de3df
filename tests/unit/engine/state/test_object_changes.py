"""The engine's changes of Testbeds, BatchJobs and Schedulings: enough to survive a crash, and no more than changed."""

from __future__ import annotations

from random import Random

import pytest
from msgspec import Raw
from msgspec.msgpack import decode, encode
from msgspec.structs import replace

from shunter.engine import changes as c
from shunter.engine.changes import decode_round
from shunter.engine.objects.apply import RECORDS_CHUNK_SIZE, changed_records
from shunter.engine.state.state import State
from shunter.model.errors import Conflict
from shunter.model.objects.batch_jobs import BatchJobSpec, BatchJobState, BatchJobStatus, ScheduledEvent
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.objects.schedulings import JobProgress, JobRecord, SchedulingState
from tests.unit.engine.harness import Harness, run_scenario
from tests.unit.engine.object_harness import TESTBED_NAME, apply_drafts, command, queue, scheduling, setup_testbed

ENTRIES = 200


def test_all_of_it_outlives_a_crash_of_the_manager() -> None:
    """S0-01."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness)
        await apply_drafts(harness, command("a"), command("b"), queue("q", "a", "a", "b", "b"))
        orders = harness.orders()
        before = dict(harness.engine.state.objects.batch_jobs)
        harness.crash()
        await harness.restart_manager()
        book = harness.engine.state.objects
        assert book.batch_jobs == before
        nodes = harness.engine.state.nodes.view
        assert nodes.reserved[1:3, 0].tolist() == [1000, 1000]
        again = harness.orders()  # the workers came back with nothing in hand
        assert sorted((node, order.job_name, order.shown) for node, order in again) == sorted(
            (node, order.job_name, order.shown) for node, order in orders
        )
        for node, order in again:
            await harness.end(node, order)
        assert scheduling(harness, "q") is SchedulingState.COMPLETED

    run_scenario(scenario)


def test_of_a_long_queue_only_what_moves_is_written() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness)
        await apply_drafts(harness, *(command(f"j{number}") for number in range(ENTRIES)))
        await apply_drafts(harness, queue("q", *(f"j{number}" for number in range(ENTRIES))))
        before = harness.engine.state.version
        while orders := harness.orders():
            for node, order in orders:
                await harness.started(node, order)
                await harness.end(node, order)
        assert scheduling(harness, "q") is SchedulingState.COMPLETED
        for logged in await harness.store.rounds_after(before, 100_000):
            for change in decode_round(logged.body):
                if isinstance(change, c.ObjectStatusSet) and change.type == SCHEDULING:
                    assert len(change.status) + len(change.records) < ENTRIES

    run_scenario(scenario)


def test_the_runs_of_a_batch_job_are_written_when_they_change_and_not_with_each_state() -> None:
    async def run(harness: Harness) -> None:
        await apply_drafts(harness, queue("q", "a"))
        for node, order in harness.orders():
            await harness.started(node, order)
            await harness.end(node, order)
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.settle()

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness)
        await apply_drafts(harness, command("a"))
        await run(harness)
        before = harness.engine.state.version
        await run(harness)
        assert len(harness.engine.state.objects.batch_jobs[ObjectName("default", "a")].status.events) == 2
        moves = [
            (change.state, len(decode(change.status, type=BatchJobStatus).events))
            for logged in await harness.store.rounds_after(before, 1000)
            for change in decode_round(logged.body)
            if isinstance(change, c.ObjectStatusSet) and change.type == BATCH_JOB
        ]
        assert [written for state, written in moves if state in ("RunningState", "CompletedState")] == [2, 2]
        others = ["InQueueState", "SubmittedState", "ScheduledState", "PendingDeletion", "ReadyState"]
        assert [state for state, written in moves if not written] == others

    run_scenario(scenario)


def test_a_status_that_was_logged_with_all_its_runs_replays_as_it_was() -> None:
    """As logs have it that were written before runs could be left out."""
    state, name = State(), ObjectName("default", "a")
    state.apply(c.ObjectSet(BATCH_JOB, Meta(1, "default", "a", 1, "ada"), Raw(encode(BatchJobSpec())), 1))
    for count in (1, 2, 1):
        runs = tuple(ScheduledEvent(number, name, TESTBED_NAME, (0,), number) for number in range(count))
        status = BatchJobStatus(BatchJobState.RUNNING, runs)
        state.apply(c.ObjectStatusSet(BATCH_JOB, 1, Raw(encode(status)), 2, "RunningState", "default/a"))
        assert state.objects.batch_jobs[name].status == status


@pytest.mark.parametrize("count", [0, 1, RECORDS_CHUNK_SIZE - 1, RECORDS_CHUNK_SIZE, RECORDS_CHUNK_SIZE + 1, 300])
def test_of_a_schedulings_records_exactly_those_that_differ_are_written(count: int) -> None:
    rng = Random(count)
    before = tuple(JobRecord(JobProgress.IN_QUEUE) for _ in range(count))
    for changes in range(5):
        other = set(rng.sample(range(count), min(changes, count)))
        after = tuple(JobRecord(JobProgress.SUBMITTED, (n,)) if n in other else before[n] for n in range(count))
        assert changed_records(before, after) == [(index, after[index]) for index in sorted(other)]
        touched = other | set(rng.sample(range(count), min(3, count)))  # some of them were set to what they were
        assert changed_records(before, after, touched) == changed_records(before, after)
    assert changed_records(before, tuple(JobRecord(JobProgress.IN_QUEUE) for _ in range(count))) == []


def test_what_was_changed_meanwhile_is_not_overwritten() -> None:
    """S0-03."""

    async def scenario(harness: Harness) -> None:
        await apply_drafts(harness, command("a"))
        revision = harness.engine.state.objects.batch_jobs[ObjectName("default", "a")].meta.revision
        await harness.engine.write_external(ObjectName("default", "a"), {"profiler": [{"b": "24 (16)"}]})
        stale = replace(command("a"), revision=revision, labels={"x": "y"})
        with pytest.raises(Conflict, match="has changed"):
            await harness.engine.apply_objects([stale], "tester")
        await harness.engine.write_external(ObjectName("default", "a"), {"other": [{"b": "1"}]})
        external = harness.engine.state.objects.batch_jobs[ObjectName("default", "a")].spec.external
        assert external == {"profiler": [{"b": "24 (16)"}], "other": [{"b": "1"}]}

    run_scenario(scenario)


def test_everything_that_happens_to_objects_is_an_event() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(node, order)] = harness.orders()
        await harness.end(node, order)
        for kind, name in ((SCHEDULING, "q"), (BATCH_JOB, "a"), (TESTBED, "bed")):
            await harness.engine.delete_object(kind, ObjectName("default", name))
        await harness.settle()
        seen = {event.type for event in await harness.events()}
        assert seen >= {
            "testbed.set", "testbed.moved", "testbed.deleted", "batchjob.set", "batchjob.claimed",
            "batchjob.released", "batchjob.moved", "batchjob.deleted", "scheduling.set", "scheduling.moved",
            "scheduling.deleted",
        }  # fmt: skip
        states = [event.state for event in await harness.events() if event.type == "batchjob.moved"]
        assert states == [
            "ReadyState", "InQueueState", "SubmittedState", "ScheduledState", "CompletedState", "PendingDeletion",
            "ReadyState",
        ]  # fmt: skip

    run_scenario(scenario)

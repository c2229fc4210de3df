"""Schedulings in the engine: their jobs run in slots, fail, are stopped and reset; nothing else starts or moves
them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.adapters.crypto.key_ring import KeyFile, KeyRing
from shunter.engine.objects.apply import set_status
from shunter.model.errors import Conflict, Invalid
from shunter.model.job.spec import JobOptions
from shunter.model.objects.batch_jobs import BatchJobSpec, BatchJobState, BatchJobStatus
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED, Draft
from shunter.model.objects.schedulings import SchedulingState
from shunter.model.objects.testbeds import TestbedSpec
from shunter.model.secrets import associated_data
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.object_harness import (
    TESTBED_NAME,
    apply_drafts,
    command,
    queue,
    scheduling,
    setup_testbed,
    slots,
    state_of,
)


def test_a_scheduling_runs_its_jobs_in_slots_and_holds_them_until_it_is_deleted() -> None:
    """S0-04, S0-16, S0-18."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness)
        await apply_drafts(harness, command("a"), command("b"))
        await apply_drafts(harness, queue("q", "a", "b", "b", "a"))
        orders = harness.orders()
        placed = sorted((order.job_name, node, order.entries) for node, order in orders)
        assert placed == [("bj.a", 1, ["0"]), ("bj.a", 2, ["3"]), ("bj.b", 1, ["2"]), ("bj.b", 2, ["1"])]
        assert {word for _, _, word in slots(harness)} == {"RESERVED"}
        assert state_of(harness, "a") is BatchJobState.SCHEDULED
        for node, order in orders:
            await harness.started(node, order)
        assert {word for _, _, word in slots(harness)} == {"OCCUPIED"}
        assert state_of(harness, "a") is BatchJobState.RUNNING
        for node, order in orders:
            await harness.end(node, order)
        assert {word for _, _, word in slots(harness)} == {"FREE"}
        assert state_of(harness, "a") is state_of(harness, "b") is BatchJobState.COMPLETED
        assert scheduling(harness, "q") is SchedulingState.COMPLETED
        assert harness.engine.state.objects.testbeds[TESTBED_NAME].status.claims == (ObjectName("default", "q"),)
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.settle()
        assert state_of(harness, "a") is state_of(harness, "b") is BatchJobState.READY
        assert harness.engine.state.objects.testbeds[TESTBED_NAME].status.claims == ()
        assert not harness.engine.state.objects.schedulings

    run_scenario(scenario)


def test_jobs_wait_for_slots_in_order_and_start_as_they_come_free() -> None:
    """S1-10: ten executors on eight slots."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=4)
        await apply_drafts(harness, *(command(name) for name in ("j1", "j2", "j3", "j4")))
        await apply_drafts(harness, queue("q", "j1", "j1", "j2", "j2", "j3", "j3", "j3", "j4", "j4", "j4"))
        orders = harness.orders()
        assert sorted({order.job_name for _, order in orders}) == ["bj.j1", "bj.j2", "bj.j3"]
        for node, order in orders:
            await harness.started(node, order)
        assert slots(harness)[7] == ("n3", 1, "FREE")
        second = [(node, order) for node, order in orders if order.job_name == "bj.j2"]
        await harness.end(*second[0])
        assert harness.orders() == []
        await harness.end(*second[1])
        assert sorted(order.entries[0] for _, order in harness.orders()) == ["2", "3", "7"]

    run_scenario(scenario)


def test_a_deleted_scheduling_stops_its_jobs_and_gives_the_slots_back_when_they_are_gone() -> None:
    """S1-06, S1-17: the second Scheduling says for whom it waits, holds nothing, and starts then."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), command("b"), queue("q", "a", "a"), queue("later", "b"))
        registry = harness.engine.state.objects
        waiting = registry.schedulings[ObjectName("default", "later")].status
        assert waiting.state is SchedulingState.ACQUIRE
        assert "default/q" in waiting.waits_for
        assert registry.batch_jobs[ObjectName("default", "b")].claim is None
        orders = harness.orders()
        for node, order in orders:
            await harness.started(node, order)
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.settle()
        assert state_of(harness, "a") is BatchJobState.PENDING_DELETION
        assert [word for *_, word in slots(harness)] == ["OCCUPIED", "OCCUPIED"]
        assert harness.orders() == []
        with pytest.raises(Conflict, match="its last run is still stopping; try again when it is in ReadyState"):
            await harness.engine.delete_object(BATCH_JOB, ObjectName("default", "a"))
        await harness.end(*orders[0], exit_code=143, how="stopped")
        assert state_of(harness, "a") is BatchJobState.PENDING_DELETION
        assert [order.job_name for _, order in harness.orders()] == ["bj.b"]  # there is one free slot
        await harness.end(*orders[1], exit_code=143, how="stopped")
        assert state_of(harness, "a") is BatchJobState.READY

    run_scenario(scenario)


def test_a_failed_executor_ends_the_others_and_fails_job_and_scheduling_until_reset() -> None:
    """S1-27."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a", "a"))
        orders = harness.orders()
        for node, order in orders:
            await harness.started(node, order)
        await harness.end(*orders[0], exit_code=3)
        assert [range.last for range in harness.stops()] == [0]
        await harness.end(*orders[1], exit_code=143, how="stopped")
        assert state_of(harness, "a") is BatchJobState.FAILED_SUBMISSION
        job = harness.engine.state.objects.batch_jobs[ObjectName("default", "a")]
        assert job.status.problems == ["1 of 2 tasks failed; first failure: task 0: exit code 3"]
        assert scheduling(harness, "q") is SchedulingState.FAILED
        with pytest.raises(Conflict, match="delete the Scheduling first"):
            await harness.engine.reset_batch_job(ObjectName("default", "a"))
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.settle()
        assert state_of(harness, "a") is BatchJobState.READY
        [event] = harness.engine.state.objects.batch_jobs[ObjectName("default", "a")].status.events
        assert (event.successful, event.slot_ids) == (False, (0, 1))

    run_scenario(scenario)


def test_an_executor_of_a_command_that_somebody_stops_ends_the_others_too() -> None:
    """S1-27: they may wait for it for ever, and the job cannot complete any more."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"), queue("q", "a", "a"))
        orders = harness.orders()
        for node, order in orders:
            await harness.started(node, order)
        await harness.engine.stop_tasks(orders[0][1].job, ("executor", 0), now=False, reason="stopped by anna")
        await harness.end(*orders[0], exit_code=143, how="stopped")
        assert [range.group for range in harness.stops()] == [order.group for _, order in orders]
        await harness.end(*orders[1], exit_code=143, how="stopped")
        assert state_of(harness, "a") is BatchJobState.FAILED_SUBMISSION
        job = harness.engine.state.objects.batch_jobs[ObjectName("default", "a")]
        assert job.status.problems == ["one of its executors was stopped"]

    run_scenario(scenario)


def test_a_failed_job_is_reset_and_a_second_reset_has_nothing_to_do() -> None:
    """S1-27."""

    async def scenario(harness: Harness) -> None:
        name, registry = ObjectName("default", "a"), harness.engine.state.objects
        await apply_drafts(harness, command("a"))
        failed = BatchJobStatus(BatchJobState.FAILED, problems=["no such slot"], runs=3, observed_generation=1)
        await harness.engine.ask(lambda round: set_status(round, BATCH_JOB, registry.batch_jobs[name], failed))
        await harness.engine.reset_batch_job(name)
        status = registry.batch_jobs[name].status
        assert (status.state, status.problems, status.runs) == (BatchJobState.READY, [], 3)
        version = harness.engine.state.version
        await harness.engine.reset_batch_job(name)
        assert harness.engine.state.version == version
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, queue("q", "a"))
        with pytest.raises(Conflict, match="for Scheduling 'default/q'"):
            await harness.engine.reset_batch_job(name)  # it is in use

    run_scenario(scenario)


def test_what_can_never_run_is_refused_at_once() -> None:
    """S1-13."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1)
        await apply_drafts(harness, command("a"))
        with pytest.raises(Invalid, match="slots"):
            await harness.engine.apply_objects([queue("q", "a", "a", "a")], "tester")
        assert not harness.engine.state.objects.schedulings

    run_scenario(scenario)


def test_only_schedulings_start_the_jobs_of_batch_jobs() -> None:
    async def scenario(harness: Harness) -> None:
        with pytest.raises(Conflict, match=r"starts with bj\."):
            await harness.engine.submit([spec("bj.a")], "tester")
        application = spec("bj.a", options=JobOptions(application="command"))
        with pytest.raises(Conflict, match="name 'a' in a Scheduling"):
            await harness.engine.start_run(application, "tester")

    run_scenario(scenario)


def test_nobody_moves_an_executor_out_of_its_slot() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=2, slots_per_node=1)
        await apply_drafts(harness, command("a"), queue("q", "a"))
        [(node, order)] = harness.orders()
        await harness.started(node, order)
        with pytest.raises(Conflict, match="whose Scheduling determines where"):
            await harness.engine.move(order.job, ("executor", 0), "n1", "ada")

    run_scenario(scenario)


def test_each_run_of_spark_has_a_secret_of_its_own_and_a_command_has_none() -> None:
    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=1, slots_per_node=1)
        spark = BatchJobSpec(spark={"type": "Python", "mainApplicationFile": "local:///a.py"})
        size = {"cpu": 500, "memory": 900 * 2**20}
        await harness.join("big", memory=4 * 2**30, cpu=4)
        await harness.engine.label_node("big", {"example.org/big": "0"})
        big = ObjectName("default", "big")
        await apply_drafts(harness, Draft(TESTBED, big, TestbedSpec(1, "example.org/big", size)))
        await apply_drafts(
            harness, Draft(BATCH_JOB, ObjectName("default", "s"), spark), command("c"), queue("other", "c")
        )
        secrets = []
        for number in range(2):
            await apply_drafts(harness, queue(f"q{number}", "s", testbed=big))
            job = harness.engine.state.find_job("default", "bj.s")
            assert job is not None
            told = [json.loads(spec.task.payload or b"")["secret"] for spec in job.spec_version.groups]
            assert told[0] == told[1]
            secrets.append(told[0])
            await harness.engine.delete_object(SCHEDULING, ObjectName("default", f"q{number}"))
            await harness.settle()
        assert len(set(secrets)) == 2 and all(len(secret) > 50 for secret in secrets)
        command_job = harness.engine.state.find_job("default", "bj.c")
        assert command_job is not None and not command_job.spec_version.groups[0].task.payload

    run_scenario(scenario)


def test_the_secret_of_spark_is_stored_encrypted_until_the_application_has_ended(tmp_path: Path) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.secrets.keys = KeyRing(KeyFile(tmp_path / "keys", may_create=True))
        await setup_testbed(harness, nodes=1, slots_per_node=1)
        spark = BatchJobSpec(spark={"type": "Python", "mainApplicationFile": "local:///a.py"})
        await harness.join("big", memory=4 * 2**30, cpu=4)
        await harness.engine.label_node("big", {"example.org/big": "0"})
        big = ObjectName("default", "big")
        size = {"cpu": 500, "memory": 900 * 2**20}
        await apply_drafts(harness, Draft(TESTBED, big, TestbedSpec(1, "example.org/big", size)))
        await apply_drafts(harness, Draft(BATCH_JOB, ObjectName("default", "s"), spark), queue("q", "s", testbed=big))
        job, secrets = harness.engine.state.find_job("default", "bj.s"), harness.engine.state.secrets
        assert job is not None
        for group in job.spec_version.groups:
            assert json.loads(group.task.payload or b"")["secret"] == ""
            assert [(each.name, each.value) for each in group.task.secrets] == [(f".application-{job.id}", None)]
        [stored] = secrets.secrets.values()
        value = harness.engine.secrets.keys.open(stored.sealed, associated_data("default", stored.name))
        assert len(value) > 50
        assert list(secrets.of_namespace("default")) == []
        await harness.engine.delete_object(SCHEDULING, ObjectName("default", "q"))
        await harness.settle()
        assert secrets.secrets == {}

    run_scenario(scenario)

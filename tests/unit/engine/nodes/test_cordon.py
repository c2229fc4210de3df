"""A node on which everything fails is quarantined, with the reason and the way back; never the last nodes."""

from __future__ import annotations

import pytest

from shunter.model.errors import Conflict
from shunter.model.job.spec import Restart
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.object_harness import apply_drafts, command, queue, setup_testbed, slots


async def fail_jobs_on_first_node(harness: Harness, fake_workers: FakeWorkers, names: str) -> None:
    """Jobs of these names, all failing on node 1."""
    for name in names:
        [job] = await harness.submit(spec(name, constraints=("node.labels.bad == 'yes'",)))
        await fake_workers.process()
        await fake_workers.end(fake_workers.find(0, job.job_id), 1)


async def join_nodes(harness: Harness, count: int = 3) -> FakeWorkers:
    for number in range(1, count + 1):
        await harness.join(f"n{number}")
    await harness.engine.label_node("n1", {"bad": "yes"})
    return FakeWorkers(harness)


def test_where_tasks_of_three_jobs_fail_at_once_the_node_is_switched_off() -> None:
    """R-16: eligibility, and why."""

    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness)
        await fail_jobs_on_first_node(harness, fake_workers, "ab")
        assert harness.engine.state.nodes.view.eligible[1]
        await fail_jobs_on_first_node(harness, fake_workers, "c")
        node = harness.engine.state.nodes.records[1]
        assert node.cordoned_by == "quarantine"
        assert "3 jobs failed on the node within 60 s" in node.cordon_reason
        assert node.cordon_reason.endswith("shunter node release n1")
        assert not harness.engine.state.nodes.view.eligible[1]
        await harness.submit(spec("next", constraints=("node.labels.bad == 'yes'",)))
        assert harness.orders() == []
        await harness.engine.release_node("n1", "quarantine")
        await harness.settle()
        assert len(harness.orders()) == 1
        types = [event.type for event in await harness.events()]
        assert types.index("node.quarantined") < types.index("node.released")

    run_scenario(scenario)


def test_one_job_that_fails_often_is_its_own_fault() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness)
        restart = Restart("on-failure", max=9, delay_s=0.1, factor=1.0)
        [job] = await harness.submit(spec("loop", restart=restart, constraints=("node.labels.bad == 'yes'",)))
        for _ in range(8):
            await fake_workers.process(1)
            await fake_workers.end(fake_workers.find(0, job.job_id), 1)
        assert len(harness.engine.state.nodes.records[1].failures or ()) == 8
        assert harness.engine.state.nodes.records[1].cordoned_by == ""

    run_scenario(scenario)


def test_runs_of_one_name_are_one_job() -> None:
    """One that is retried, dispatched or fired by a clock, and fails each time, says nothing of the node."""

    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness)
        await fail_jobs_on_first_node(harness, fake_workers, "aaaa")
        assert len(harness.engine.state.nodes.records[1].failures or ()) == 4
        assert harness.engine.state.nodes.records[1].cordoned_by == ""
        await fail_jobs_on_first_node(harness, fake_workers, "bc")
        assert harness.engine.state.nodes.records[1].cordoned_by == "quarantine"

    run_scenario(scenario)


def test_a_success_clears_the_node() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness)
        await fail_jobs_on_first_node(harness, fake_workers, "ab")
        [good] = await harness.submit(spec("good", constraints=("node.labels.bad == 'yes'",)))
        await fake_workers.process()
        await fake_workers.end(fake_workers.find(0, good.job_id), 0)
        await fail_jobs_on_first_node(harness, fake_workers, "cd")
        assert harness.engine.state.nodes.records[1].cordoned_by == ""

    run_scenario(scenario)


def test_failures_longer_ago_than_a_minute_are_forgotten() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness)
        await fail_jobs_on_first_node(harness, fake_workers, "ab")
        await harness.settle(61)
        await fail_jobs_on_first_node(harness, fake_workers, "c")
        assert harness.engine.state.nodes.records[1].cordoned_by == ""

    run_scenario(scenario)


def test_the_last_node_is_never_switched_off() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness, 1)
        await fail_jobs_on_first_node(harness, fake_workers, "abcdef")
        assert harness.engine.state.nodes.records[1].cordoned_by == ""

    run_scenario(scenario)


def test_no_more_than_half_of_the_nodes_are_switched_off() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness, 3)
        await fail_jobs_on_first_node(harness, fake_workers, "abc")
        await harness.engine.label_node("n1", {"bad": None})
        await harness.engine.label_node("n2", {"bad": "yes"})
        await fail_jobs_on_first_node(harness, fake_workers, "def")
        assert harness.engine.state.nodes.records[1].cordoned_by == "quarantine"
        assert harness.engine.state.nodes.records[2].cordoned_by == ""

    run_scenario(scenario)


def test_cordon_and_quarantine_have_ways_back_of_their_own() -> None:
    async def scenario(harness: Harness) -> None:
        fake_workers = await join_nodes(harness)
        await harness.engine.cordon_node("n2", "new disk")
        assert harness.engine.state.nodes.view.ineligible_because[2] == "cordon: new disk"
        with pytest.raises(Conflict, match="use: shunter node uncordon n2"):
            await harness.engine.release_node("n2", "quarantine")
        await harness.engine.release_node("n2", "cordon")
        await harness.engine.release_node("n2", "cordon")  # it accepts tasks already
        await harness.engine.drain_node("n2", None, "tester")
        with pytest.raises(Conflict, match="use: shunter node undrain n2"):
            await harness.engine.release_node("n2", "quarantine")
        await harness.engine.undrain_node("n2")
        await fail_jobs_on_first_node(harness, fake_workers, "abc")
        with pytest.raises(Conflict, match="release it first"):
            await harness.engine.cordon_node("n1", "")
        assert "node.cordoned" in [event.type for event in await harness.events()]

    run_scenario(scenario)


def test_failing_batch_jobs_do_not_cost_a_testbed_its_slots() -> None:
    """An executor runs where its Scheduling put it, and a slot is a promise: its failures are no fault of the node."""

    async def scenario(harness: Harness) -> None:
        await setup_testbed(harness, nodes=3, slots_per_node=4)
        await apply_drafts(harness, *map(command, "abcdefghi"), queue("q", *"abcdefghi"))
        for node, order in harness.orders():
            await harness.started(node, order)
            await harness.end(node, order, 1)
        assert [record.cordoned_by for record in harness.engine.state.nodes.records.values()] == ["", "", ""]
        assert {word for _, _, word in slots(harness)} == {"FREE"}

    run_scenario(scenario)


def test_where_workers_restart_again_and_again_without_their_orders_the_node_is_switched_off() -> None:
    """A worker that dies of each order must not hold up a task while other nodes are free."""

    async def scenario(harness: Harness) -> None:
        await join_nodes(harness, 2)
        await harness.submit(spec("stuck", constraints=("node.labels.bad == 'yes'",)))
        for life in range(2, 6):
            assert len(harness.orders()) == 1
            assert harness.engine.state.nodes.records[1].cordoned_by == ""
            await harness.join("n1", boot=f"life-{life}")
        assert harness.engine.state.nodes.records[1].cordoned_by == ""
        assert len(harness.orders()) == 1
        await harness.join("n1", boot="life-6")
        node = harness.engine.state.nodes.records[1]
        assert node.cordoned_by == "quarantine"
        assert node.cordon_reason == (
            "its worker restarted 5 times within 60 s without the tasks that it was given, and none succeeded;"
            " when it is repaired: shunter node release n1"
        )
        assert harness.orders() == []

    run_scenario(scenario)


def test_workers_that_restart_and_finish_tasks_are_not_to_blame() -> None:
    async def scenario(harness: Harness) -> None:
        await join_nodes(harness, 2)
        for life in range(2, 12):
            await harness.submit(spec(f"job-{life}", constraints=("node.labels.bad == 'yes'",)))
            await harness.join("n1", boot=f"life-{life}")
            await harness.end_all()
        assert harness.engine.state.nodes.records[1].cordoned_by == ""

    run_scenario(scenario)

"""Start estimates and their basis."""

from __future__ import annotations

from typing import Any

from shunter.model.rest.plan_views import StartView
from shunter.ports.admin import QueueChange
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

START = "2023-11-14T22:13:20"  # of virtual time


async def start_estimate(harness: GatewayHarness, name: str) -> StartView:
    found = (await harness.gateway.explain.why(reference(name))).start
    assert found is not None
    return found


async def submit_and_start(harness: GatewayHarness, name: str, **fields: Any) -> None:
    await harness.run(name, **fields)
    for node, order in harness.orders():
        await harness.start_task(node, order, segment=order.job)


def test_a_job_starts_when_the_one_in_its_place_is_expected_to_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        await submit_and_start(harness, "render", estimate="10m")
        await harness.run("next")
        assert await start_estimate(harness, "next") == StartView(
            at="2023-11-14T22:23:20.000Z", basis="when render@1 ends on n1, according to its estimate of 10m00s"
        )
        await harness.settle(900)
        assert (await start_estimate(harness, "next")).basis.endswith(
            "according to its estimate of 10m00s; it is overdue"
        )

    run_scenario(scenario)


def test_the_first_end_that_makes_enough_room_counts() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=3)
        for name, minutes in (("a", 5), ("b", 10), ("c", 15)):
            await submit_and_start(harness, name, estimate=f"{minutes}m")
        await harness.run("small")
        await harness.run("large", resources={"cpu": 2}, priority=55)
        assert "when a@1 ends" in (await start_estimate(harness, "small")).basis
        assert "when b@1 ends" in (await start_estimate(harness, "large")).basis

    run_scenario(scenario)


def test_what_the_cluster_or_a_queue_limits_starts_when_enough_of_that_comes_free() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        await harness.gateway.cluster.update({"licences": {"solver": 2}})
        await harness.gateway.queues.patch("night", QueueChange(running_max=1))
        await submit_and_start(harness, "plain", estimate="1m")
        for name, minutes in (("a", 5), ("b", 10)):
            await submit_and_start(harness, name, estimate=f"{minutes}m", resources={"cpu": 1, "licence/solver": 1})
        await submit_and_start(harness, "late", estimate="15m", queue="night")
        await harness.run("one", resources={"cpu": 1, "licence/solver": 1})
        await harness.run("two", resources={"cpu": 1, "licence/solver": 2}, priority=55)
        await harness.run("three", resources={"cpu": 1, "licence/solver": 3})
        await harness.run("night", queue="night")
        await submit_and_start(harness, "few", count=2, parallel_max=1, estimate="20m")
        assert "when a@1 ends" in (await start_estimate(harness, "one")).basis
        assert "when b@1 ends" in (await start_estimate(harness, "two")).basis
        needs = "it needs 3 of licence/solver, but the cluster has 2"
        assert await start_estimate(harness, "three") == StartView(at=None, basis=needs)
        assert "when late@1 ends" in (await start_estimate(harness, "night")).basis
        assert "when few@1 ends" in (await start_estimate(harness, "few")).basis

    run_scenario(scenario)


def test_how_long_tasks_took_is_learnt() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("render", count=3)
        [(_, order)] = harness.orders()
        await harness.start_task(node, order, segment=1)
        await harness.settle(30)
        await harness.end_task(node, order, segment=1)
        for again, next_order in harness.orders():
            await harness.start_task(again, next_order, segment=2)
        basis = (await start_estimate(harness, "render")).basis
        assert basis.startswith("when render@1 ends on n1, because its 1 finished tasks took")

    run_scenario(scenario)


def test_a_time_limit_bounds_what_nothing_else_tells() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        await submit_and_start(harness, "render", timeout="1h")
        await harness.run("next")
        assert "because its timeout.run is 1h00m" in (await start_estimate(harness, "next")).basis

    run_scenario(scenario)


def test_where_nobody_knows_there_is_no_estimate_and_it_says_why() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        await submit_and_start(harness, "render")
        await harness.run("next")
        assert await start_estimate(harness, "next") == StartView(at=None, basis="no running task has a known duration")
        await harness.run("huge", resources={"cpu": 50})
        assert "no node could run it" in (await start_estimate(harness, "huge")).basis

    run_scenario(scenario)


def test_a_back_off_ends_at_its_time() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("job", restart={"policy": "on-failure", "max": 1, "delay": "30s", "jitter": 0})
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        start = await start_estimate(harness, "job")
        assert (start.basis, (start.at or "")[:17]) == ("its back-off ends", "2023-11-14T22:13:")

    run_scenario(scenario)


def test_a_gang_of_several_groups_starts_when_all_of_it_may() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await submit_and_start(harness, "early", estimate="1m")
        await submit_and_start(harness, "late", estimate="9m")
        sizes: list[Any] = [{"name": "a"}, {"name": "b", "resources": {"cpu": 2}}]
        await harness.run("both", groups=sizes, gang=True, priority=60)
        assert "when late@1 ends" in (await start_estimate(harness, "both")).basis
        sizes[1] = {"name": "b", "datacenters": ["far"]}
        await harness.run("never", groups=sizes, gang=True)
        assert (await start_estimate(harness, "never")).basis == "no node could run it, even if nothing else ran"

    run_scenario(scenario)


def test_room_that_others_take_again_is_not_said_to_come_free() -> None:
    """Though what runs says how long."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        await submit_and_start(harness, "array", count=9, estimate="1m")
        await harness.run("next", priority=40)
        basis = (await start_estimate(harness, "next")).basis
        assert basis == "running jobs have more queued tasks ahead of this one"

    run_scenario(scenario)

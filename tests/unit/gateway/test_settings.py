"""Settings of the cluster that are changed while it runs."""

from __future__ import annotations

from tests.unit.engine.harness import spec
from tests.unit.gateway.harness import GatewayHarness, run_scenario


def test_settings_of_the_cluster_are_kept_and_act_at_once() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=8)
        [job] = await harness.submit(spec("array", 6, needs={"cpu": 1000, "licence/tool": 1}))
        assert harness.counts(job.job_id) == {"queued": 6}
        info = await harness.gateway.cluster.update({"licences": {"tool": 2}, "heartbeat": 3.0, "preemption": "off"})
        await harness.settle()
        assert harness.counts(job.job_id) == {"assigned": 2, "queued": 4}
        assert (info.preemption, info.licences["tool"].total, harness.heartbeats) == ("off", 2, [3.0])
        assert (await harness.gateway.cluster.info()).licences["tool"].used == 2
        await harness.gateway.cluster.update({"licences": {"tool": None}, "preemption": ""})
        info = await harness.gateway.cluster.info()
        assert (info.preemption, info.licences) == ("auto", {})

    run_scenario(scenario)


def test_nobody_is_preempted_where_preemption_is_off() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=1)
        await harness.gateway.cluster.update({"preemption": "off"})
        [low] = await harness.submit(spec("low", priority=1))
        [high] = await harness.submit(spec("high", priority=99))
        assert (harness.counts(low.job_id), harness.counts(high.job_id)) == ({"assigned": 1}, {"queued": 1})
        await harness.gateway.cluster.update({"preemption": "20"})
        await harness.settle()
        assert harness.counts(low.job_id) == {"stopping": 1}

    run_scenario(scenario)


def test_how_long_a_task_waits_before_room_is_kept_for_it_is_set_and_acts_at_once() -> None:
    """A large task waits for a node of which one half or the other is always in use by small ones."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=2)
        await harness.gateway.cluster.update({"reserve_after": "off"})
        small = []
        for number in range(4):
            needs = {"cpu": 1000, "memory": 1 + number}
            [job] = await harness.submit(spec(f"small{number}", needs=needs, estimate_s=60.0))
            small.append(job.job_id)
        [large] = await harness.submit(spec("large", needs={"cpu": 2000}, priority=55))
        orders = harness.orders()
        for _, order in orders:
            await harness.started(node, order)
        await harness.settle(3_600.0)
        await harness.end(node, orders[0][1])
        assert harness.counts(small[2]) == {"assigned": 1}, "nobody waits for the large one"
        info = await harness.gateway.cluster.update({"reserve_after": "90"})
        assert (info.reserve_after, info.hold_after) == ("1m30s", "auto")
        [(_, last)] = harness.orders()
        await harness.started(node, last)
        await harness.settle(10.0)
        await harness.end(node, orders[1][1])
        assert harness.counts(small[3]) == {"queued": 1}, "by now it has a reservation"
        await harness.end(node, last)
        assert harness.counts(large.job_id) == {"assigned": 1}

    run_scenario(scenario)

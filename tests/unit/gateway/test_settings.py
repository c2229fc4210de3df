"""Settings of the cluster that are changed while it runs."""

from __future__ import annotations

from tests.unit.engine.harness import spec
from tests.unit.gateway.harness import ANNA, GatewayStage, play


def test_settings_of_the_cluster_are_kept_and_act_at_once() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join(cpu=8)
        [job] = await stage.submit(spec("array", 6, needs={"cpu": 1000, "licence/tool": 1}))
        assert stage.counts(job.job_id) == {"queued": 6}
        info = await stage.gateway.update_cluster(
            ANNA, {"licences": {"tool": 2}, "heartbeat": 3.0, "preemption": "off"}
        )
        await stage.settle()
        assert stage.counts(job.job_id) == {"assigned": 2, "queued": 4}
        assert (info.preemption, info.licences["tool"].total, stage.heartbeats) == ("off", 2, [3.0])
        assert (await stage.gateway.cluster(ANNA)).licences["tool"].used == 2
        await stage.gateway.update_cluster(ANNA, {"licences": {"tool": None}, "preemption": ""})
        info = await stage.gateway.cluster(ANNA)
        assert (info.preemption, info.licences) == ("auto", {})

    play(scene)


def test_nobody_is_preempted_where_preemption_is_off() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join(cpu=1)
        await stage.gateway.update_cluster(ANNA, {"preemption": "off"})
        [low] = await stage.submit(spec("low", priority=1))
        [high] = await stage.submit(spec("high", priority=99))
        assert (stage.counts(low.job_id), stage.counts(high.job_id)) == ({"assigned": 1}, {"queued": 1})
        await stage.gateway.update_cluster(ANNA, {"preemption": "20"})
        await stage.settle()
        assert stage.counts(low.job_id) == {"stopping": 1}

    play(scene)


def test_how_long_a_task_waits_before_room_is_kept_for_it_is_set_and_acts_at_once() -> None:
    """A large task waits for a node of which one half or the other is always in use by small ones."""

    async def scene(stage: GatewayStage) -> None:
        node = await stage.join(cpu=2)
        await stage.gateway.update_cluster(ANNA, {"reserve_after": "off"})
        small = []
        for number in range(4):
            needs = {"cpu": 1000, "memory": 1 + number}
            [job] = await stage.submit(spec(f"small{number}", needs=needs, estimate_s=60.0))
            small.append(job.job_id)
        [large] = await stage.submit(spec("large", needs={"cpu": 2000}, priority=55))
        orders = stage.orders()
        for _, order in orders:
            await stage.started(node, order)
        await stage.settle(3_600.0)
        await stage.end(node, orders[0][1])
        assert stage.counts(small[2]) == {"assigned": 1}, "nobody waits for the large one"
        info = await stage.gateway.update_cluster(ANNA, {"reserve_after": "90"})
        assert (info.reserve_after, info.hold_after) == ("1m30s", "auto")
        [(_, last)] = stage.orders()
        await stage.started(node, last)
        await stage.settle(10.0)
        await stage.end(node, orders[1][1])
        assert stage.counts(small[3]) == {"queued": 1}, "by now it has a reservation"
        await stage.end(node, last)
        assert stage.counts(large.job_id) == {"assigned": 1}

    play(scene)

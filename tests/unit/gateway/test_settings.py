"""Settings of the cluster that are changed while it runs."""

from __future__ import annotations

from tests.unit.engine.stage import spec
from tests.unit.gateway.stage import ANNA, GatewayStage, play


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

"""`why` tells for whose sake a job waits: room that is being made, and room that is kept."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.model.protocol.scheduler_messages import WANTS_DEFAULT, DecisionRow
from shunter.planning.view import ClusterView, Decision
from tests.unit.engine.external_policies import Remote
from tests.unit.gateway.harness import ANNA, GatewayStage, play, reference


async def say(stage: GatewayStage, name: str) -> str:
    return (await stage.gateway.why(ANNA, reference(name))).sentence


def test_why_says_that_room_is_being_made_and_for_whom() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.run("low", 2, priority=10)
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        await stage.run("high", priority=90)
        assert await say(stage, "high") == ("1 of 1 tasks wait: tasks on n1 are ending, and their room is kept for it.")

    play(scene)


def test_a_short_job_goes_ahead_of_a_blocked_gang_though_a_long_one_that_asks_for_the_same_must_not() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.run("early", estimate="10m")
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        await stage.run("gang", 2, gang=True)
        await stage.run("unknown")
        await stage.run("long", estimate="1h")
        await stage.run("short", estimate="1m")
        [(_, order)] = stage.orders()
        assert stage.engine.state.jobs[order.job].name == "short"

    play(scene)


def test_why_says_for_which_gang_room_is_held_and_until_when() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        await stage.run("early", priority=50, resources={"cpu": 2}, estimate="10m")
        [(node, order)] = stage.orders()
        await stage.started(node, order)
        await stage.run("gang", 2, gang=True, resources={"cpu": 2})
        await stage.run("long", resources={"cpu": 1})
        assert "room is held for gang gang@1 until about" in await say(stage, "long")

    play(scene)


def test_a_reason_is_told_once_and_with_the_group_where_there_are_several() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join("n1", cpu=2)
        await stage.join("n2", cpu=2)
        await stage.run("early", resources={"cpu": 1}, estimate="10m")
        [(node, order)] = stage.orders()
        await stage.started(node, order)
        groups = [{"name": "ps", "count": 2, "resources": {"cpu": 1}}, {"name": "wk", "resources": {"cpu": 2}}]
        await stage.run("gang", gang=True, groups=groups)
        await stage.run("long", resources={"cpu": 1})
        for name in ("gang", "long"):
            told = [reason.text for reason in (await stage.gateway.why(ANNA, reference(name))).reasons]
            assert len(set(told)) == len(told), told
        gang = [reason.text for reason in (await stage.gateway.why(ANNA, reference("gang"))).reasons]
        assert "group wk: cpu: needs 2, 1 free at most" in gang

    play(scene)


def test_what_was_sent_to_nodes_and_has_not_started_is_starting() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=2)
        await stage.run("job", 2)
        assert (
            await say(stage, "job") == "job is starting: 2 of 2 tasks were sent to nodes, none has started there yet."
        )
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        assert await say(stage, "job") == "job is running: 2 of 2 tasks are on nodes, none waits."

    play(scene)


def test_a_container_that_starts_says_where_to_see_how_far_its_image_is() -> None:
    async def scene(stage: GatewayStage) -> None:
        await stage.join("n1", cpu=2)
        await stage.engine.attribute_node("n1", {"runtime.docker": "1"})
        await stage.run("boxed", image="busybox", command=["ls"])
        assert (await say(stage, "boxed")).endswith(
            "none has started there yet; `shunter logs boxed` tells how far the image is."
        )

    play(scene)


def test_why_says_what_a_gang_waits_for_that_starts_again_as_a_whole() -> None:
    async def scene(stage: GatewayStage) -> None:
        node = await stage.join("n1", cpu=3)
        await stage.run("gang", 3, gang=True, restart={"policy": "on-failure", "delay": "10s", "jitter": 0})
        [(_, order)] = stage.orders()
        await stage.started(node, order)
        one, two, three = (replace(order, first=index, last=index) for index in range(3))
        await stage.lose(node, one)
        assert await say(stage, "gang") == (
            "1 of 3 tasks wait: the gang starts again as a whole, and 2 more are ending."
        )
        await stage.end(node, two, 143)
        await stage.end(node, three, 143)
        orders = [order for _, order in stage.orders()]
        for order in orders:
            await stage.started(node, order)
        for order in orders:
            await stage.end(node, order, 1)
        assert await say(stage, "gang") == (
            "3 of 3 tasks wait: the gang starts again as a whole, after a back-off of 10s."
        )

    play(scene)


def test_a_plan_counts_the_whole_gang_among_those_that_would_end() -> None:
    async def scene(stage: GatewayStage) -> None:
        for name in ("n1", "n2"):
            await stage.join(name, cpu=1)
        await stage.run("gang", 2, gang=True, priority=10)
        boss = {
            "apiVersion": "shunter.dev/v1",
            "kind": "Job",
            "metadata": {"name": "boss"},
            "spec": {"command": ["/bin/true"], "priority": 90},
        }
        found = await stage.gateway.plan(ANNA, [boss], namespace="default")
        assert sorted((each.name, each.node, each.count) for each in found.preemptions) == [
            ("gang", "n1", 1), ("gang", "n2", 1),
        ]  # fmt: skip

    play(scene)


class Choosy:
    """Places nothing, and says why."""

    name, fast = "choosy", True

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return Decision(view.version, reasons={each.task_class.id: "not on a Monday" for each in view.queued})


def test_why_says_what_a_policy_of_another_make_said() -> None:
    async def scene(stage: GatewayStage) -> None:
        stage.engine.policy = Choosy()
        await stage.join("n1", cpu=2)
        await stage.run("job")
        assert await say(stage, "job") == "1 of 1 tasks wait: choosy says: not on a Monday."

    play(scene)


def test_why_says_what_an_external_scheduler_said_while_it_leads() -> None:
    async def scene(stage: GatewayStage) -> None:
        stage.engine.policy, desk = Remote("mine"), stage.engine.schedulers
        session = desk.open("mine", WANTS_DEFAULT)
        await stage.join("n1", cpu=1)
        await stage.run("job", 2)
        situation = await desk.next(session)
        assert situation is not None
        [waiting] = situation.delta.queued
        await desk.decide(session.token, DecisionRow(1, reasons={waiting.class_id: "x" * 1_000}))
        assert await say(stage, "job") == f"2 of 2 tasks wait: mine says: {'x' * 200}."
        desk.close(session, "it went")
        await stage.settle()
        assert "mine says" not in await say(stage, "job")

    play(scene)

"""`why` names the item for which a job waits: room that is being freed, and room that is reserved."""

from __future__ import annotations

from msgspec.structs import replace

from shunter.model.protocol.scheduler_messages import WANTS_DEFAULT, DecisionRow
from shunter.planning.view import ClusterView, Decision
from tests.unit.engine.external_policies import RemotePolicy
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


async def why_sentence(harness: GatewayHarness, name: str) -> str:
    return (await harness.gateway.explain.why(reference(name))).sentence


def test_why_says_that_room_is_being_made_and_for_whom() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=2)
        await harness.run("low", 2, priority=10)
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        await harness.run("high", priority=90)
        assert await why_sentence(harness, "high") == (
            "Pending: tasks on n1 are stopping, and their room is reserved for it."
        )

    run_scenario(scenario)


def test_a_short_job_goes_ahead_of_a_blocked_gang_though_a_long_one_that_asks_for_the_same_must_not() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=2)
        await harness.run("early", estimate="10m")
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        await harness.run("gang", 2, gang=True)
        await harness.run("unknown")
        await harness.run("long", estimate="1h")
        await harness.run("short", estimate="1m")
        [(_, order)] = harness.orders()
        assert order.job_name == "short"

    run_scenario(scenario)


def test_why_says_for_which_gang_room_is_held_and_until_when() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.run("early", priority=50, resources={"cpu": 2}, estimate="10m")
        [(node, order)] = harness.orders()
        await harness.started(node, order)
        await harness.run("gang", 2, gang=True, resources={"cpu": 2})
        await harness.run("long", resources={"cpu": 1})
        assert "room is reserved for gang gang@1 until about" in await why_sentence(harness, "long")

    run_scenario(scenario)


def test_a_reason_is_told_once_and_with_the_group_where_there_are_several() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.join("n2", cpu=2)
        await harness.run("early", resources={"cpu": 1}, estimate="10m")
        [(node, order)] = harness.orders()
        await harness.started(node, order)
        groups = [{"name": "ps", "count": 2, "resources": {"cpu": 1}}, {"name": "wk", "resources": {"cpu": 2}}]
        await harness.run("gang", gang=True, groups=groups)
        await harness.run("long", resources={"cpu": 1})
        for name in ("gang", "long"):
            told = [reason.text for reason in (await harness.gateway.explain.why(reference(name))).reasons]
            assert len(set(told)) == len(told), told
        gang = [reason.text for reason in (await harness.gateway.explain.why(reference("gang"))).reasons]
        assert "group wk: cpu: needs 2, at most 1 free" in gang

    run_scenario(scenario)


def test_what_was_sent_to_nodes_and_has_not_started_is_starting() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=2)
        await harness.run("job", 2)
        assert (
            await why_sentence(harness, "job")
            == "job is starting: 2 of 2 tasks were sent to nodes, none has started yet."
        )
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        assert await why_sentence(harness, "job") == "job is running: 2 of 2 tasks are running."

    run_scenario(scenario)


def test_a_container_that_starts_says_where_to_see_how_far_its_image_is() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.engine.attribute_node("n1", {"runtime.docker": "1"})
        await harness.run("boxed", image="busybox", command=["ls"])
        assert (await why_sentence(harness, "boxed")).endswith(
            "none has started yet; `shunter logs boxed` shows the progress of the image pull."
        )

    run_scenario(scenario)


def test_why_says_what_a_gang_waits_for_that_starts_again_as_a_whole() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=3)
        await harness.run("gang", 3, gang=True, restart={"policy": "on-failure", "delay": "10s", "jitter": 0})
        [(_, order)] = harness.orders()
        await harness.started(node, order)
        one, two, three = (replace(order, first=index, last=index) for index in range(3))
        await harness.report_lost(node, one)
        assert await why_sentence(harness, "gang") == (
            "1 of 3 tasks is pending: the gang restarts as a whole, and 2 tasks are still stopping."
        )
        await harness.end(node, two, 143)
        await harness.end(node, three, 143)
        orders = [order for _, order in harness.orders()]
        for order in orders:
            await harness.started(node, order)
        for order in orders:
            await harness.end(node, order, 1)
        assert await why_sentence(harness, "gang") == (
            "All 3 tasks are pending: the gang restarts as a whole, after a back-off of 10s."
        )

    run_scenario(scenario)


def test_a_plan_counts_the_whole_gang_among_those_that_would_end() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=1)
        await harness.run("gang", 2, gang=True, priority=10)
        boss = {
            "apiVersion": "shunter.dev/v1",
            "kind": "Job",
            "metadata": {"name": "boss"},
            "spec": {"command": ["/bin/true"], "priority": 90},
        }
        found = await harness.gateway.explain.plan([boss], namespace="default")
        assert sorted((each.name, each.node, each.count) for each in found.preemptions) == [
            ("gang", "n1", 1), ("gang", "n2", 1),
        ]  # fmt: skip

    run_scenario(scenario)


class DecliningPolicy:
    """Places nothing, and says why."""

    name, fast = "choosy", True

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return Decision(view.version, reasons={each.task_class.id: "not on a Monday" for each in view.queued})


def test_why_says_what_a_policy_of_another_make_said() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        harness.engine.policy = DecliningPolicy()
        await harness.join("n1", cpu=2)
        await harness.run("job")
        assert await why_sentence(harness, "job") == "Pending: choosy says: not on a Monday."

    run_scenario(scenario)


def test_why_says_what_an_external_scheduler_said_while_it_leads() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        harness.engine.policy, service = RemotePolicy("mine"), harness.engine.schedulers
        session = service.open("mine", WANTS_DEFAULT)
        await harness.join("n1", cpu=1)
        await harness.run("job", 2)
        situation = await service.next(session)
        assert situation is not None
        [waiting] = situation.delta.queued
        await service.decide(session.token, DecisionRow(1, reasons={waiting.class_id: "x" * 1_000}))
        assert await why_sentence(harness, "job") == f"Both tasks are pending: mine says: {'x' * 200}."
        service.close(session, "it went")
        await harness.settle()
        assert "mine says" not in await why_sentence(harness, "job")

    run_scenario(scenario)

"""Quotas of tenants and schedulers outside of rounds: they see what is left, are told what they exceed, and are not
overruled for what nobody could place."""

from __future__ import annotations

from collections import Counter
from typing import Any

from shunter.engine.placement.cluster_view import build_view
from shunter.engine.policy.refusals import FRUITLESS_MAX
from shunter.model.protocol.scheduler_messages import PlacementRow, QuotaRow, Situation
from shunter.planning.planner import build_policy
from shunter.planning.remote.view_reader import ViewReader
from shunter.planning.remote.view_scope import limit_view, wants_of
from shunter.planning.remote.view_writer import ViewWriter
from shunter.ports.identity import TenantChange
from shunter.wire.situations import read_situation, situation_message
from tests.unit.engine.external_policies import decide, next_situation, open_leading_session, reasons
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

USES = "tenant red uses 2 of its quota of 2 running, and the next task needs 1"


async def build(harness: GatewayHarness) -> Any:
    await harness.gateway.tenants.create("red", TenantChange(namespaces=("pink",), quotas={"running": 2}))
    await harness.join(cpu=16)
    session = await open_leading_session(harness)
    await harness.run("job", 5, namespace="red", resources={"cpu": 1})
    return session


def test_a_scheduler_sees_the_quotas_of_tenants_and_is_told_which_one_it_exceeds() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        session = await build(harness)
        situation = await next_situation(harness, session)
        used = {"running": 0, "cpu": 0, "memory": 0, "gpu": 0}
        assert situation.delta.quotas == [QuotaRow("red", ["red", "pink"], {"running": 2}, used)]
        [class_id] = harness.engine.state.classes
        answer = await decide(harness, session, PlacementRow(class_id, [1], [4]))
        assert answer.placed == 2
        assert reasons(answer) == [("placements[0]", "tenant red has no more running left", 2)]
        situation = await next_situation(harness, session)
        used |= {"running": 2, "cpu": 2000}
        assert situation.delta.quotas == [QuotaRow("red", ["red", "pink"], {"running": 2}, used)]
        answer = await decide(harness, session, PlacementRow(class_id, [1], [3]))
        assert reasons(answer) == [("placements[0]", USES, 3)]
        found = await harness.gateway.explain.why(reference("job", namespace="red"))
        assert USES in " ".join([found.sentence, *(reason.text for reason in found.reasons)])

    run_scenario(scenario)


def test_a_scheduler_that_does_not_know_of_quotas_is_not_overruled_while_nobody_could_place_more() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        session = await build(harness)
        [class_id] = harness.engine.state.classes
        for _ in range(FRUITLESS_MAX + 5):
            answer = await decide(harness, session, PlacementRow(class_id, [1], [5]))
        assert not answer.is_overruled
        await harness.run("other", resources={"cpu": 1})  # of the cluster: the fallback could place it
        answer = await decide(harness, session, PlacementRow(class_id, [1], [5]))
        assert answer.is_overruled

    run_scenario(scenario)


def test_a_policy_shares_between_tenants_outside_of_rounds_as_it_does_in_them() -> None:
    """The namespaces of a tenant count together, for whoever decides."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.gateway.tenants.create("red", TenantChange(namespaces=("pink", "rose")))
        await harness.gateway.tenants.create("blue", TenantChange())
        await open_leading_session(harness)  # it does not decide, so tasks wait
        await harness.join(cpu=12)
        for namespace in ("red", "pink", "rose", "blue"):
            await harness.run("job", 12, namespace=namespace, resources={"cpu": 1})
        view = build_view(harness.engine.state)
        wants = wants_of(policy := build_policy("bin-pack"))
        delta = ViewWriter(wants).write(limit_view(view, wants))
        told = read_situation(situation_message(Situation(0.0, 100, delta), None)).delta
        now, placed = harness.engine.now_ms() / 1000, []
        for seen in (view, ViewReader(wants).read(told)):
            decision = policy.decide(seen, now, 100)
            owners = {each.task_class.id: each.task_class.namespace for each in seen.queued}
            counts: Counter[str] = Counter()
            for each in decision.placements:
                counts[owners[each.class_id]] += int(sum(each.counts))
            placed.append(counts)
        assert placed[0] == placed[1]
        assert (placed[1]["blue"], placed[1].total()) == (6, 12)

    run_scenario(scenario)

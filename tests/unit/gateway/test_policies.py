"""The active policy, listed and changed while the cluster runs, and after a restart."""

from __future__ import annotations

import numpy as np
import pytest

from shunter.engine.policy.refusals import FRUITLESS_MAX
from shunter.engine.policy.sessions import Session
from shunter.engine.recovery import load_state
from shunter.engine.state.registries.cluster import POLICY_SETTING
from shunter.gateway.policies import Policies, choose_policy
from shunter.model.errors import Invalid
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.model.protocol.scheduler_messages import DecisionRow, PlacementRow
from shunter.model.rest.cluster_views import PolicyView
from shunter.planning.policies import Catalogue, PluginEntry
from shunter.planning.view import ClusterView, Decision, Placement, SchedulingDraft
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


class Failing:
    def decide(self, _view: ClusterView, _now: float, _budget: int) -> Decision:
        raise ZeroDivisionError("by zero")


class Lazy:
    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        return Decision(based_on=view.version)


def with_plugins(harness: GatewayHarness) -> Policies:
    plugins = [PluginEntry("failing", "example 1.0", Failing), PluginEntry("broken", "example 1.0", error="no module")]
    return Policies(harness.engine, Catalogue(policies=plugins))


def test_policies_are_listed_with_their_source_and_who_decides() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        page = await with_plugins(harness).page()
        listed = {each.name: each for each in page.items}
        assert [name for name, each in listed.items() if each.active] == ["bin-pack"]
        assert (listed["e-pvm"].source, listed["failing"].source) == ("built in", "example 1.0")
        assert listed["broken"].error == "no module"

    run_scenario(scenario)


def test_another_policy_decides_from_the_next_round_on_and_after_a_restart() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=4)
        await harness.run("packed", count=2)
        assert {node for node, _ in harness.orders()} == {1}
        page = await harness.gateway.policies.use("spread")
        assert [each.name for each in page.items if each.active] == ["spread"]
        await harness.run("spread", count=2)
        assert 2 in {node for node, _ in harness.orders()}
        state = await load_state(harness.store)
        assert choose_policy(Catalogue(), state.cluster.get(POLICY_SETTING), "e-pvm") == "spread"

    run_scenario(scenario)


def test_what_waits_is_looked_at_at_once_by_another_policy() -> None:
    """Nothing else needs to happen: who cannot place a task is replaced by who can."""

    async def scenario(harness: GatewayHarness) -> None:
        plugins = [PluginEntry("lazy", "example 1.0", Lazy)]
        policies = Policies(harness.engine, Catalogue(policies=plugins))
        await harness.join("n1")
        await policies.use("lazy")
        await harness.run("job")
        assert harness.orders() == []
        await policies.use("e-pvm")
        await harness.settle()
        assert len(harness.orders()) == 1

    run_scenario(scenario)


def test_a_policy_that_fails_is_shown_with_its_error_and_the_work_goes_on() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        policies = with_plugins(harness)
        await harness.join("n1")
        await policies.use("failing")
        await harness.run("job")
        assert len(harness.orders()) == 1
        [active] = [each for each in (await policies.page()).items if each.active]
        assert (active.name, active.error) == ("failing", "ZeroDivisionError: by zero")
        assert active.failures > 0

    run_scenario(scenario)


def test_what_cannot_be_used_is_refused_and_nothing_changes() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        policies = with_plugins(harness)
        for name in ("broken", "bin-pakc"):
            with pytest.raises(Invalid, match="policy"):
                await policies.use(name)
        assert harness.engine.policy.name == "bin-pack"

    run_scenario(scenario)


def test_a_plugin_that_is_gone_keeps_no_cluster_from_starting() -> None:
    assert choose_policy(Catalogue(), "uninstalled", None) == "e-pvm"
    assert choose_policy(Catalogue(), "uninstalled", "spread") == "spread"
    assert choose_policy(Catalogue(), "", None) == "e-pvm"
    with pytest.raises(Invalid):
        choose_policy(Catalogue(), "", "uninstalled")


async def decide_badly(harness: GatewayHarness, session: Session, times: int) -> None:
    [class_id] = [each for each, record in harness.engine.state.classes.items() if record.queued]
    for _ in range(times):
        row = DecisionRow(1, placements=[PlacementRow(class_id, [99], [1])])
        await harness.engine.schedulers.decide(session.token, row)


def test_a_scheduler_is_shown_as_connected_silent_or_overruled_with_its_refusals() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        async def remote_view() -> PolicyView:
            [found] = [each for each in (await harness.gateway.policies.page()).items if each.kind == "remote"]
            return found

        await harness.join("n1")
        await harness.gateway.policies.use("remote:mine")
        silent = await remote_view()
        assert (silent.state, silent.error) == ("silent", "silent: fallback e-pvm is active")
        session = harness.engine.schedulers.open("mine", ("tasks",))
        await harness.run("job")
        await decide_badly(harness, session, 3)
        connected = await remote_view()
        assert (connected.state, connected.refusals, connected.error) == ("connected", 3, None)
        assert connected.last_refusal is not None and "must name each node row once" in connected.last_refusal
        why = await harness.gateway.explain.why(reference("job"))
        assert "the last 3 decisions of mine were refused; last refusal: placements[0]: must" in why.sentence
        await decide_badly(harness, session, FRUITLESS_MAX - 3)
        overruled = await remote_view()
        assert (overruled.state, overruled.refusals) == ("overruled", FRUITLESS_MAX)
        assert overruled.error == "overruled: fallback e-pvm is active"
        await harness.run("large", resources={"cpu": 64})
        why = await harness.gateway.explain.why(reference("large"))
        assert "mine is overruled, because its decisions were refused" in why.reasons[-1].text
        harness.engine.schedulers.close(session, "its stream ended")
        assert ((await remote_view()).state, (await remote_view()).refusals) == ("silent", FRUITLESS_MAX)
        [other] = [each for each in (await harness.gateway.policies.use("remote:other")).items if each.active]
        assert (other.name, other.refusals, other.last_refusal) == ("remote:other", 0, None)

    run_scenario(scenario)


class Wrong:
    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        draft = SchedulingDraft(ObjectName("default", "odd"), SchedulingSpec(ObjectName("default", "bed")))
        return Decision(view.version, schedulings=[draft])


def test_what_was_refused_of_a_policy_in_the_manager_is_shown() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        policies = Policies(harness.engine, Catalogue(policies=[PluginEntry("wrong", "example 1.0", Wrong)]))
        await policies.use("wrong")
        await harness.run("job")
        [active] = [each for each in (await policies.page()).items if each.active]
        assert active.refusals == 1 and active.state is None
        assert active.last_refusal is not None and active.last_refusal.startswith("schedulings[0]: ")

    run_scenario(scenario)


class FirstNode:
    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        places = [Placement(each.task_class.id, np.array([1]), np.array([1])) for each in view.queued]
        return Decision(view.version, placements=places)


class SlowFirstNode(FirstNode):
    fast = False


def test_why_names_a_policy_in_the_manager_whose_placements_are_all_dropped() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        catalogue = Catalogue(policies=[PluginEntry("first", "example 1.0", FirstNode)])
        await Policies(harness.engine, catalogue).use("first")
        for name in ("n1", "n2"):
            await harness.join(name)
        await harness.engine.cordon_node("n1", "tester")
        await harness.run("job")
        why = await harness.gateway.explain.why(reference("job"))
        assert (
            "the last decision of first was refused; last refusal: placements[0] on node n1: not feas" in why.sentence
        )

    run_scenario(scenario)


def test_a_policy_in_the_manager_that_decides_outside_of_rounds_is_shown_as_overruled() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        catalogue = Catalogue(policies=[PluginEntry("slow", "example 1.0", SlowFirstNode)])
        policies = Policies(harness.engine, catalogue)
        await policies.use("slow")
        await harness.join("n1")
        session = harness.engine.schedulers.open("local:slow", ("tasks",), is_local=True)
        await harness.run("job")
        await decide_badly(harness, session, FRUITLESS_MAX)
        [active] = [each for each in (await policies.page()).items if each.active]
        assert (active.state, active.error) == ("overruled", "overruled: fallback e-pvm is active")

    run_scenario(scenario)

"""A suggestion of `why` is made true by one request, and refused when it is stale."""

from __future__ import annotations

import pytest

from shunter.gateway.tokens import ADMIN
from shunter.model.errors import Conflict, Forbidden
from shunter.model.identity.roles import Role
from shunter.model.rest.plan_views import SuggestionView
from shunter.ports.jobs import Suggestion
from shunter.ports.principals import Principal
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


async def suggestion(harness: GatewayHarness, job: str, field: str) -> Suggestion:
    why = await harness.gateway.explain.why(reference(job))
    found: SuggestionView = next(each for each in why.suggestions if each.field == field)
    return Suggestion(found.field, found.before, found.after)


def test_a_waiting_batch_job_is_replaced_by_a_run_that_starts() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=2)
        waiting = await harness.run("render", resources={"cpu": 8}, labels={"team": "film"})
        chosen = await suggestion(harness, "render", "spec.resources.cpu")
        view = await harness.gateway.explain.apply_suggestion(reference("render"), chosen)
        await harness.settle()
        assert (view.name, view.run, view.labels, view.user) == ("render", 2, {"team": "film"}, "anna")
        assert len(harness.orders()) == 1
        old = await harness.gateway.jobs.get(reference("render", 1))
        assert (old.id, old.state, old.reason) == (waiting.id, "cancelled", "replaced by run 2")
        again = harness.gateway.explain.apply_suggestion(reference("render"), chosen)
        with pytest.raises(Conflict, match="ask `shunter why render` again"):
            await again

    run_scenario(scenario)


def test_a_job_that_has_started_or_that_others_wait_for_is_not_replaced() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=2)
        await harness.run("first", resources={"cpu": 8})
        await harness.run("second", after=[{"job": "first"}])
        chosen = await suggestion(harness, "first", "spec.resources.cpu")
        with pytest.raises(Conflict, match="other jobs wait for 'first'"):
            await harness.gateway.explain.apply_suggestion(reference("first"), chosen)
        await harness.run("part", count=3, resources={"cpu": 1}, parallel_max=1)
        why = await harness.gateway.explain.why(reference("part"))
        if any(each.field == "spec.parallel_max" for each in why.suggestions):
            chosen = await suggestion(harness, "part", "spec.parallel_max")
            with pytest.raises(Conflict, match="has started"):
                await harness.gateway.explain.apply_suggestion(reference("part"), chosen)

    run_scenario(scenario)


def test_a_change_of_the_cluster_needs_the_role_of_its_own_command() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=2, name="n1")
        await harness.gateway.nodes.cordon("n1", "disk")
        await harness.run("render")
        chosen = await suggestion(harness, "render", "node.n1.cordon")
        submitter = Principal("ben", frozenset((Role.SUBMITTER,)))
        explain = harness.local_gateway.for_caller(submitter, "applySuggestion").explain
        with pytest.raises(Forbidden, match="operator or admin"):
            await explain.apply_suggestion(reference("render"), chosen)
        operator = Principal("eve", ADMIN)
        explain = harness.local_gateway.for_caller(operator, "applySuggestion").explain
        view = await explain.apply_suggestion(reference("render"), chosen)
        await harness.settle()
        assert view.run == 1
        assert len(harness.orders()) == 1

    run_scenario(scenario)


def test_a_held_job_is_released_and_a_service_updated() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join(cpu=2)
        await harness.run("held", hold=True)
        chosen = await suggestion(harness, "held", "spec.hold")
        view = await harness.gateway.explain.apply_suggestion(reference("held"), chosen)
        assert view.terms is None or not view.terms.held
        await harness.run("web", type="service", resources={"cpu": 8})
        chosen = await suggestion(harness, "web", "spec.resources.cpu")
        view = await harness.gateway.explain.apply_suggestion(reference("web"), chosen)
        assert (view.run, view.version) == (1, 2)

    run_scenario(scenario)


def test_a_job_that_has_ended_is_not_changed() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=2)
        await harness.run_to_end(node, "done")
        with pytest.raises(Conflict, match="has ended"):
            await harness.gateway.explain.apply_suggestion(reference("done"), Suggestion("spec.priority", 1, 2))

    run_scenario(scenario)

"""What jobs used, what they should request next time, and sums over finished jobs."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.gateway.monitor import usage as usage_module
from shunter.gateway.monitor.usage import suggest
from shunter.gateway.tokens import ADMIN
from shunter.model.errors import NotFound
from shunter.model.protocol.worker_messages import Ended, Order
from shunter.model.usage import AttemptsUsage, Usage
from shunter.ports.identity import TenantChange
from shunter.ports.principals import Principal
from shunter.worker.keeper.usage import memory_class
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

MIB = 2**20


async def end_measured(harness: GatewayHarness, node: int, order: Order, cpu_ms: int, peak_mib: int = 100) -> None:
    """One task ran for 2 s."""
    now_ms = harness.engine.now_ms()
    usage = AttemptsUsage(cpu_ms, cpu_ms // 2, 512, 1024, peak_mib * MIB, [memory_class(peak_mib * 1024)])
    place = order.job, order.group, order.attempt, order.first
    await harness.report(node, ended=[Ended(*place, [], [now_ms - 2_000], [now_ms], 1, 0, usage=usage)])


async def run_measured(harness: GatewayHarness, node: int, name: str, cpu_ms: int, **fields: Any) -> None:
    await harness.run(name, **fields)
    [(_, order)] = harness.orders()
    await end_measured(harness, node, order, cpu_ms)


def test_a_job_shows_what_it_requested_and_used_while_it_runs_and_afterwards() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        await harness.run("render", 2, resources={"cpu": "1", "memory": "256Mi"})
        [(_, order)] = harness.orders()
        [group] = (await harness.gateway.monitor.job_usage(reference("render"))).groups
        assert (group.tasks, group.attempts, group.suggested, group.memory_max_bytes) == (2, 0, {}, None)
        await end_measured(harness, node, order, 500)
        found = await harness.gateway.monitor.job_usage(reference("render"))
        assert (found.state, found.groups[0].attempts) == ("running", 1)
        for _, last in harness.orders():
            await end_measured(harness, node, last, 700)
        found = await harness.gateway.monitor.job_usage(reference("render"))
        [group] = found.groups
        assert (found.state, found.user, group.attempts) == ("succeeded", "anna", 2)
        assert group.requested == {"cpu": "1", "memory": "256Mi"}
        assert group.suggested == {"cpu": "400m", "memory": "120Mi"}
        assert (group.run_s, group.run_max_s, group.cpu_s, group.cores_mean, group.cores_max) == (
            4.0, 2.0, 1.2, 0.3, 0.35,
        )  # fmt: skip
        assert (group.memory_max_bytes, group.read_bytes, group.written_bytes) == (100 * MIB, 1024, 2048)
        with pytest.raises(NotFound):
            await harness.gateway.monitor.job_usage(reference("nothing"))

    run_scenario(scenario)


def test_finished_jobs_are_added_up_by_what_is_asked_for() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node, start_s = await harness.join(cpu=1), harness.engine.now_ms() / 1000
        await harness.gateway.tenants.create("red", TenantChange())
        await run_measured(harness, node, "a", 500)
        await harness.settle(100.0)
        middle_s = harness.engine.now_ms() / 1000
        await run_measured(harness, node, "b", 1_000, namespace="red", queue="default")
        await harness.run_to_end(node, "c")  # of a worker that measures nothing
        sums = harness.gateway.monitor.usage
        [all_of_anna] = (await sums("user", start_s, None)).items
        assert (all_of_anna.key, all_of_anna.jobs, all_of_anna.measured_jobs) == ("anna", 3, 2)
        assert (all_of_anna.cpu_s, all_of_anna.run_s, all_of_anna.cpu_requested_s) == (1.5, 4.0, 4.0)
        assert [(each.key, each.cpu_s) for each in (await sums("namespace", None, None)).items] == [
            ("red", 1.0), ("default", 0.5),
        ]  # fmt: skip
        assert [(each.key, each.jobs) for each in (await sums("tenant", None, None)).items] == [("red", 1), ("", 2)]
        assert [(each.key, each.jobs) for each in (await sums("queue", middle_s, None)).items] == [("default", 2)]
        assert [each.jobs for each in (await sums("user", None, "red")).items] == [1]

    run_scenario(scenario)


def test_a_caller_sees_only_the_usage_of_what_it_sees() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        await run_measured(harness, node, "a", 500)
        await run_measured(harness, node, "b", 500, namespace="film")
        bound = harness.local_gateway.for_caller(Principal("eve", ADMIN, namespace="film"), "getUsage").monitor
        assert [(each.key, each.jobs) for each in (await bound.usage("namespace", None, None)).items] == [("film", 1)]
        assert (await bound.usage("user", None, "default")).items == []
        with pytest.raises(NotFound):
            await bound.job_usage(reference("a"))

    run_scenario(scenario)


def test_sums_over_very_many_jobs_say_that_they_are_partial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_module, "JOBS_MAX", 2)

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join(cpu=1)
        for name in ("a", "b"):
            await run_measured(harness, node, name, 500)
        assert not (await harness.gateway.monitor.usage("user", None, None)).partial
        await run_measured(harness, node, "c", 500)
        found = await harness.gateway.monitor.usage("user", None, None)
        assert (found.partial, [each.jobs for each in found.items]) == (True, [2])

    run_scenario(scenario)


def used(peak_mib: int, cores_max_milli: int = 0) -> Usage:
    return Usage(
        1, 1_000, 1_000, 250, cores_max_milli, 0, 0, peak_mib * MIB, {memory_class(peak_mib * 1024): 1}
    )  # fmt: skip


def test_a_suggestion_is_never_less_than_an_attempt_needed() -> None:
    few_large = Usage(
        100, 100_000, 1_000, 100, 0, 0, 0, 1000 * MIB, {memory_class(10 * 1024): 99, memory_class(1000 * 1024): 1}
    )
    assert suggest(few_large, 0) == {"cpu": "100m", "memory": "1Gi"}
    assert suggest(used(100), 0) == {"cpu": "300m", "memory": "120Mi"}
    assert suggest(used(100, 1_240), 0)["cpu"] == "1300m"


def test_who_came_close_to_the_limit_gets_more() -> None:
    assert suggest(used(1000), 1000 * MIB)["memory"] == "1280Mi"
    assert suggest(used(500), 1000 * MIB)["memory"] == "640Mi"

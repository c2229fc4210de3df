"""What `why` says of a stuck update, and what would help it."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.job.spec import Affinity, HealthCheck, TaskSpec, Update
from shunter.model.rest.plan_views import WhyView
from tests.unit.engine.fake_workers import FakeWorkers, healthy_count
from tests.unit.engine.service_specs import service
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

PORT: Any = {"port/8080": 1}
SLOW_UPDATE = Update(healthy_for_s=2.0, deadline_s=300.0)


async def why_view(harness: GatewayHarness) -> WhyView:
    return await harness.gateway.explain.why(reference("web"))


@pytest.mark.parametrize("fields", [{}, {"distinct": "rack"}, {"needs": {"cpu": 1000, **PORT}}], ids=str)
def test_an_update_without_room_may_let_old_tasks_end_first(fields: dict[str, Any]) -> None:
    """U-03: the suggestion, applied, starts it. The room may be cpu, or what only one task can have."""

    async def scenario(harness: GatewayHarness) -> None:
        for name in ("n1", "n2", "n3"):
            await harness.join(name, cpu=1 if not fields else 4, **PORT)
            await harness.engine.label_node(name, {"rack": name})
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(3, update=SLOW_UPDATE, **fields))
        await fake_workers.process(3)
        await harness.submit(service(3, "v2", update=SLOW_UPDATE, **fields))
        await fake_workers.process(10)
        assert fake_workers.commands() == ["v1"] * 3
        found = await why_view(harness)
        assert "It is updating to version 2, 1 of 3 updated, 3 healthy; web/0 has not started yet" in found.sentence
        update = (await harness.gateway.jobs.get(reference("web"))).update
        assert update is not None and (update.updated, update.healthy) == (1, 3)  # what `shunter job` shows
        assert "if it is not healthy within 4m50s, the job rolls back to version 1" in found.sentence
        [suggestion] = [each for each in found.suggestions if each.field == "spec.update.unavailable_max"]
        assert (suggestion.before, suggestion.after, suggestion.starts) == (0, 1, 1)
        assert suggestion.text == "update.unavailable_max 0 → 1: an old instance stops before its replacement starts"
        changed = Update(unavailable_max=suggestion.after, healthy_for_s=2.0, deadline_s=300.0)
        await harness.submit(service(3, "v2", update=changed, **fields))
        for _ in range(40):
            await fake_workers.process(0.25)
            assert healthy_count(harness, job.job_id) >= 2
        assert fake_workers.commands() == ["v2"] * 3

    run_scenario(scenario)


def test_where_ending_the_old_one_does_not_help_it_is_not_suggested() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3, update=SLOW_UPDATE))
        await fake_workers.process(3)
        nowhere = (Affinity("node", "node.labels.disk == 'ssd'", require=True),)
        await harness.submit(service(3, "v2", update=SLOW_UPDATE, affinity=nowhere))
        await fake_workers.process(10)
        assert "spec.update.unavailable_max" not in {each.field for each in (await why_view(harness)).suggestions}

    run_scenario(scenario)


def test_a_successor_that_is_not_healthy_is_named_with_what_comes_of_it() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness, is_unhealthy=lambda spec, _: spec.command[-1] == "v2")
        health = (HealthCheck("tcp", port="80"),)
        for word in ("v1", "v2"):
            await harness.submit(service(3, update=SLOW_UPDATE, task=TaskSpec(("serve", word), health=health)))
            await fake_workers.process(10)
        sentence = (await why_view(harness)).sentence
        assert "web/0 is running but not healthy yet; its health checks fail" in sentence
        assert "if it is not healthy within 4m50s, the job rolls back to version 1" in sentence

    run_scenario(scenario)


def test_an_update_that_stands_still_says_why_and_the_way_out() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        for word in ("v1", "v2"):
            await harness.submit(service(3, word, update=Update(healthy_for_s=2.0, deadline_s=30.0, rollback=False)))
            await fake_workers.process(3)
        await fake_workers.advance(40)
        sentence = (await why_view(harness)).sentence
        assert "Its update to version 2 has stalled: task web/0 did not become healthy within 30 s" in sentence
        assert "run `shunter rollback web`, or submit another spec" in sentence

    run_scenario(scenario)


def test_a_stalled_update_without_an_earlier_stable_version_advises_no_rollback() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness, is_unhealthy=lambda _spec, _index: True)
        health, update = (HealthCheck("tcp", port="80"),), Update(healthy_for_s=2.0, deadline_s=30.0)
        for word in ("v1", "v2"):
            await harness.submit(service(2, update=update, task=TaskSpec(("serve", word), health=health)))
            await fake_workers.process(3)
        await fake_workers.advance(40)
        sentence = (await why_view(harness)).sentence
        assert "Its update to version 2 has stalled: task web/0 did not become healthy within 30 s" in sentence
        assert sentence.endswith("; submit another spec.")

    run_scenario(scenario)


def test_a_stalled_restart_is_not_called_an_update_and_may_roll_back_to_the_version_before() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        sick: list[str] = []
        fake_workers = FakeWorkers(harness, is_unhealthy=lambda spec, _index: spec.command[-1] in sick)
        health, update = (HealthCheck("tcp", port="80"),), Update(healthy_for_s=2.0, deadline_s=30.0)
        for word in ("v1", "v2"):
            await harness.submit(service(2, update=update, task=TaskSpec(("serve", word), health=health)))
            await fake_workers.advance(20)
        sick.append("v2")
        await harness.gateway.services.restart(reference("web"), None)
        await fake_workers.advance(40)
        sentence = (await why_view(harness)).sentence
        assert "Its restart has stalled: task web/0 did not become healthy within 30 s" in sentence
        assert sentence.endswith(
            "run `shunter rollback web`, or run `shunter restart web` again, or submit another spec."
        )
        await harness.gateway.services.roll_back(reference("web"))
        await fake_workers.advance(20)
        assert fake_workers.commands() == ["v1"] * 2

    run_scenario(scenario)


def test_a_service_of_which_nothing_is_under_way_says_nothing_of_updates() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=3)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3))
        await fake_workers.process(5)
        assert (await why_view(harness)).sentence == "web is running: 3 of 3 tasks are running."

    run_scenario(scenario)


def test_a_successor_that_was_healthy_for_too_short_a_time_is_called_healthy() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        health = (HealthCheck("tcp", port="80"),)
        for word in ("v1", "v2"):
            await harness.submit(service(3, update=SLOW_UPDATE, task=TaskSpec(("serve", word), health=health)))
            await fake_workers.process(1 if word == "v2" else 10)
        sentence = (await why_view(harness)).sentence
        assert "1 of 3 updated, 3 healthy; web/0 is healthy, and must stay so for 2.0s." in sentence

    run_scenario(scenario)


def test_an_update_of_a_held_job_waits_for_its_release_and_has_no_time_that_runs_out() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=8)
        fake_workers = FakeWorkers(harness)
        [job] = await harness.submit(service(2, update=SLOW_UPDATE))
        await fake_workers.process(3)
        await harness.engine.hold(job.job_id, True)
        await harness.submit(service(2, "v2", update=SLOW_UPDATE))
        await fake_workers.process(3)
        assert (await why_view(harness)).sentence == (
            "Held. Start it with `shunter release web`. It is updating to version 2, 1 of 2 updated, 2 healthy;"
            " web/0 has not started yet."
        )

    run_scenario(scenario)

"""What people see of a service whose tasks end again and again, or gave up, and of one that is being updated."""

from __future__ import annotations

from collections import Counter

from shunter.model.job.spec import Restart, Update
from shunter.model.rest.job_views import JobView
from shunter.ports.jobs import LogQuery, TaskQuery
from shunter.ports.principals import TaskReference
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.service_specs import service
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario

STEADY_RESTART = Restart("always", max=None, delay_s=1.0, factor=1.0, jitter=0.0)


async def view_of(harness: GatewayHarness) -> JobView:
    return await harness.gateway.jobs.get(reference("web"))


async def status(harness: GatewayHarness) -> tuple[str, str | None, int]:
    view = await view_of(harness)
    assert view.update is not None
    return view.update.status, view.update.reason, view.update.healthy


async def crash(fake_workers: FakeWorkers, visible_index: int, times: int) -> None:
    for _ in range(times):
        await fake_workers.end(fake_workers.find(visible_index), 1)
        await fake_workers.process(1.1)


def test_a_service_that_crashes_while_it_starts_is_crashing_and_not_starting() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(1, restart=STEADY_RESTART))
        await fake_workers.process()
        assert (await status(harness))[0] == "starting"
        await crash(fake_workers, 0, 3)
        assert await status(harness) == ("crashing", "restart 3, last exit code 1", 0)
        await fake_workers.end(fake_workers.find(0), 1)  # and in its back-off
        assert await status(harness) == ("crashing", "restart 4, last exit code 1", 0)
        said = (await harness.gateway.explain.why(reference("web"))).sentence
        assert "web is crashing: restart 4, last exit code 1." in said
        await fake_workers.advance(4)  # it stays up
        assert await status(harness) == ("steady", None, 1)

    run_scenario(scenario)


def test_one_crashing_task_of_a_steady_service_is_named() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3, restart=STEADY_RESTART))
        await fake_workers.process(3)
        await crash(fake_workers, 1, 2)
        assert await status(harness) == ("crashing", "1 of 3 tasks; web/1: restart 2, last exit code 1", 2)

    run_scenario(scenario)


def test_a_task_that_lost_its_node_does_not_crash() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(1, restart=STEADY_RESTART))
        await fake_workers.process(3)
        await harness.engine.drain_node("n1", None, "ada")
        await fake_workers.process(1)
        assert (await status(harness))[0] == "steady"

    run_scenario(scenario)


def test_a_service_with_tasks_that_gave_up_is_degraded_and_not_steady() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(2, restart=Restart("never")))
        await fake_workers.process(3)
        await fake_workers.end(fake_workers.find(0), 1)
        await fake_workers.process(3)
        assert await status(harness) == ("degraded", "1 of 2 tasks gave up; web/0: exit code 1", 1)
        await fake_workers.end(fake_workers.find(1), 1)
        await fake_workers.process(1)
        assert (await view_of(harness)).state == "failed"
        assert (await status(harness))[0] == "ended"

    run_scenario(scenario)


def test_a_service_whose_tasks_partly_gave_up_and_partly_crash_says_both() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3, restart=Restart("on-failure", max=1, delay_s=1.0, factor=1.0, jitter=0.0)))
        await fake_workers.process(3)
        await crash(fake_workers, 0, 2)
        await fake_workers.end(fake_workers.find(1), 1)
        assert await status(harness) == ("crashing", "1 of 3 tasks; web/1: restart 1, last exit code 1; 1 gave up", 1)

    run_scenario(scenario)


def test_why_of_a_degraded_service_names_the_tasks_that_gave_up_and_how_to_start_them() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3, restart=Restart("never")))
        await fake_workers.process(3)
        await fake_workers.end(fake_workers.find(1), 1)
        await fake_workers.process(3)
        found = await harness.gateway.explain.why(reference("web"))
        assert found.sentence == (
            "web is degraded: 2 of 3 tasks are running, 1 of 3 tasks gave up; web/1: exit code 1."
            " Start it again with `shunter restart web/1`."
        )
        assert found.counts == (await view_of(harness)).counts == {"running": 2, "failed": 1}
        await fake_workers.end(fake_workers.find(2), 1)
        await fake_workers.process(3)
        said = (await harness.gateway.explain.why(reference("web"))).sentence
        assert said.startswith("web is degraded: 1 of 3 tasks is running, 2 of 3 tasks gave up; web/1: exit code 1.")
        assert said.endswith(" Start them again with `shunter restart web/INDEX`.")

    run_scenario(scenario)


def test_a_task_that_gives_up_again_after_its_restart_leaves_the_service_degraded() -> None:
    """No version of it ever was stable, so `why` must not advise a rollback."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3, restart=Restart("never")))
        await fake_workers.process()
        await fake_workers.end(fake_workers.find(0), 1)
        await fake_workers.end(fake_workers.find(2), 1)
        await fake_workers.process(3)
        await harness.gateway.services.restart(reference("web"), TaskReference(2))
        await fake_workers.process(1)
        await fake_workers.end(fake_workers.find(2), 1)
        await fake_workers.process(3)
        reason = "2 of 3 tasks gave up; web/0: exit code 1"
        assert await status(harness) == ("degraded", reason, 1)
        assert (await harness.gateway.explain.why(reference("web"))).sentence == (
            f"web is degraded: 1 of 3 tasks is running, {reason}. Start them again with `shunter restart web/INDEX`."
        )

    run_scenario(scenario)


def test_a_service_is_steady_when_the_last_restart_of_a_failed_task_helped() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(2, restart=Restart("never")))
        await fake_workers.process(3)
        await fake_workers.end(fake_workers.find(1), 1)
        for is_bad in (True, False):
            await harness.gateway.services.restart(reference("web"), TaskReference(1))
            await fake_workers.process(1)
            if is_bad:
                await fake_workers.end(fake_workers.find(1), 1)
            await fake_workers.process(3)
        assert await status(harness) == ("steady", None, 2)
        sentence = (await harness.gateway.explain.why(reference("web"))).sentence
        assert sentence == "web is running: 2 of 2 tasks are running."

    run_scenario(scenario)


def test_the_end_of_a_service_counts_each_instance_once() -> None:
    """Its tasks that were replaced are not instances: they are listed on request, under names of their own."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(3, restart=Restart("never")))
        await fake_workers.process()
        await fake_workers.end(fake_workers.find(0), 1)
        await fake_workers.process(3)
        await harness.gateway.services.restart(reference("web"), TaskReference(0))
        await fake_workers.process(3)
        for index in range(3):
            await fake_workers.end(fake_workers.find(index), 1)
        await fake_workers.process(1)
        view = await view_of(harness)
        assert (view.state, view.reason) == ("failed", "3 of 3 tasks failed; first failure: task 0: exit code 1")
        page = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=10))
        assert ([task.name for task in page.items], page.total) == (["web/0", "web/1", "web/2"], 3)
        page = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=10, all=True))
        assert ([task.name for task in page.items], page.total) == (["web/0~0", "web/0", "web/1", "web/2"], 4)
        first = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=2))
        second = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=2, after=first.next))
        assert [task.name for task in second.items] == ["web/2"]

    run_scenario(scenario)


def test_a_service_that_is_stopped_after_a_failed_task_was_restarted_is_cancelled() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(2, restart=Restart("never")))
        await fake_workers.process(3)
        await fake_workers.end(fake_workers.find(1), 1)
        await harness.gateway.services.restart(reference("web"), TaskReference(1))
        await fake_workers.process(3)
        await harness.gateway.jobs.stop(reference("web"), None, now=False)
        await fake_workers.process(1)
        view = await view_of(harness)
        assert (view.state, view.counts) == ("cancelled", {"cancelled": 2})

    run_scenario(scenario)


def test_why_of_a_failed_task_says_its_exit_code_once() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        await harness.submit(service(2, restart=Restart("never")))
        await fake_workers.process(3)
        await fake_workers.end(fake_workers.find(0), 1)
        found = await harness.gateway.explain.why(reference("web"), TaskReference(0))
        assert found.sentence == "web/0 failed on n1 with exit code 1 in attempt 1."
        await fake_workers.end(fake_workers.find(1), 1)
        ended = (await harness.gateway.explain.why(reference("web"))).sentence
        assert ended == "web has failed: 2 of 2 tasks failed; first failure: task 0: exit code 1."

    run_scenario(scenario)


def test_during_an_update_every_row_has_its_own_name_and_why_counts_what_the_job_counts() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=16)
        fake_workers = FakeWorkers(harness)
        slow = Update(healthy_for_s=60.0, deadline_s=300.0)
        await harness.submit(service(2, update=slow))
        await fake_workers.process(61)
        await harness.submit(service(2, "v2", update=slow))
        await fake_workers.process(1)
        view = await view_of(harness)
        page = await harness.gateway.tasks.page(reference("web"), TaskQuery(limit=10))
        assert [task.name for task in page.items] == ["web/0~0", "web/0", "web/1"]
        assert [task.state for task in page.items] == ["running"] * 3
        assert (page.total, view.counts, view.update and view.update.leaving) == (2, {"running": 2}, 1)
        assert (await harness.gateway.explain.why(reference("web"))).counts == view.counts
        visible = Counter(task.state for task in page.items if "~" not in task.name)
        assert visible == view.counts
        old = await harness.gateway.tasks.get(reference("web"), TaskReference(0, piece=0))
        assert (old.name, old.state) == ("web/0~0", "running")
        chunk = await harness.gateway.streams.read_log(reference("web"), TaskReference(0, piece=0), LogQuery())
        assert not chunk.data

    run_scenario(scenario)

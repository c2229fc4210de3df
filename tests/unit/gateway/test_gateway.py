"""The gateway: tokens, callers, submits, stops, nodes, reasons, the cluster at a glance."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from shunter.gateway.tokens import ADMIN, Tokens, ensure_token
from shunter.model.errors import Invalid, NotFound
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Returned, TaskStats
from shunter.ports.admin import EventPosition, EventQuery
from shunter.ports.jobs import JobQuery
from shunter.ports.principals import JobReference, Principal, TaskReference
from tests.unit.engine.object_harness import apply_drafts, command, queue, setup_testbed
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


def test_a_token_stands_for_its_user_and_no_other_does() -> None:
    tokens = Tokens({"secret": "anna", "other": "ben"})
    assert tokens.authenticate("secret") == Principal("anna", ADMIN)
    assert tokens.authenticate("other") == Principal("ben", ADMIN)
    for wrong in ("", "secre", "secret ", "SECRET", "sécret"):
        assert tokens.authenticate(wrong) is None


def test_a_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "token"
    token = ensure_token(path)
    assert len(token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ensure_token(path) == token
    assert ensure_token(tmp_path / "another") != token


def test_a_token_that_a_full_disk_left_empty_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could use the cluster."""
    path = tmp_path / "token"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(os, "write", full)
        ensure_token(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("\n")
    token = ensure_token(path)
    assert len(token) >= 40
    assert path.read_text().strip() == token
    assert path.stat().st_mode & 0o777 == 0o600


def test_all_manifests_of_a_submit_are_taken_or_none() -> None:
    """D-49, D-08: the problems of all of them are told, each with its place."""

    async def scenario(harness: GatewayHarness) -> None:
        good = {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["a"]}}
        bad = {**good, "spec": {"command": [], "count": 0}}
        with pytest.raises(Invalid) as refused:
            await harness.gateway.jobs.submit([good, bad, good, bad], namespace="default", key=None)
        fields = {problem.field for problem in refused.value.problems}
        assert fields == {f"items[{place}].spec.{name}" for place in (1, 3) for name in ("command", "count")}
        assert (await harness.gateway.cluster.info()).jobs == {}

    run_scenario(scenario)


def test_a_repeated_key_gives_the_same_jobs_also_when_they_have_ended() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        document = {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["/bin/true"]}}
        [first] = await harness.gateway.jobs.submit([document], namespace="default", key="k")
        await harness.settle()
        [again] = await harness.gateway.jobs.submit([document], namespace="default", key="k")
        [(_, order)] = harness.orders()
        await harness.end(node, order)
        [ended] = await harness.gateway.jobs.submit([document], namespace="default", key="k")
        assert first.created
        assert (again.created, ended.created) == (False, False)
        assert {(each.id, each.name, each.run) for each in (first, again, ended)} == {(first.id, first.name, 1)}
        assert [(each.state, each.count) for each in (first, again, ended)] == [
            ("pending", 1),
            ("pending", 1),
            ("succeeded", 1),
        ]
        page = await harness.gateway.jobs.page(JobQuery(None))
        assert [each.exit_code for each in page.items] == [0]

    run_scenario(scenario)


def test_stopping_names_who_asked_for_it() -> None:
    """D-27: the reason is kept with the job."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.run("job", count=2)
        await harness.gateway.jobs.stop(reference("job"), None, now=False)
        await harness.settle()
        job = await harness.gateway.jobs.get(reference("job"))
        assert (job.state, job.reason) == ("cancelled", "stopped by anna")
        await harness.gateway.jobs.stop(reference("job"), TaskReference(1), now=True)  # it has ended: nothing happens
        with pytest.raises(NotFound):
            await harness.gateway.jobs.stop(reference("job"), TaskReference(2), now=True)
        with pytest.raises(NotFound):
            await harness.gateway.jobs.stop(reference("nobody"), None, now=True)

    run_scenario(scenario)


def test_nodes_are_listed_by_name_in_pages_and_labelled() -> None:
    """C-19, R-11."""

    async def scenario(harness: GatewayHarness) -> None:
        for name in ("c", "a", "b"):
            await harness.join(name, cpu=2)
        page = await harness.gateway.nodes.page(2, None)
        assert ([node.name for node in page.items], page.next, page.total) == (["a", "b"], "b", 3)
        assert [node.name for node in (await harness.gateway.nodes.page(2, page.next)).items] == ["c"]
        labelled = await harness.gateway.nodes.set_labels("a", {"disk": "ssd", "rack": "1"})
        assert labelled.labels == {"disk": "ssd", "rack": "1"}
        labelled = await harness.gateway.nodes.set_labels("a", {"rack": None})
        assert labelled.labels == {"disk": "ssd"}
        with pytest.raises(Invalid):
            await harness.gateway.nodes.set_labels("a", {"not a key": "x"})
        with pytest.raises(NotFound):
            await harness.gateway.nodes.set_labels("nobody", {"disk": "ssd"})

    run_scenario(scenario)


def test_statistics_name_tasks_as_people_know_them() -> None:
    """C-15: by job and index, and none that the cluster does not believe in."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1")
        submitted = await harness.run("job")
        harness.log_workers.running = [
            TaskStats(submitted.id, 0, 0, 1, 1.5, 2**20, 3),
            TaskStats(99, 0, 0, 1, 0.0, 0, 1),
        ]
        stats = await harness.gateway.nodes.stats("n1")
        assert [(task.name, task.cpu_s, task.memory_bytes, task.processes) for task in stats.tasks] == [
            ("job/0", 1.5, 2**20, 3)
        ]
        assert stats.machine["cpu_busy"] == 0.5

    run_scenario(scenario)


def test_why_follows_a_job_through_its_life() -> None:
    """C-18: in every state there is a sentence."""

    async def scenario(harness: GatewayHarness) -> None:
        async def sentence() -> str:
            return (await harness.gateway.explain.why(reference("job"))).sentence

        await harness.run("job", restart={"policy": "on-failure", "max": 1, "delay": "1s", "jitter": 0})
        assert "no node" in await sentence()
        node = await harness.join(cpu=1)
        assert "is starting" in await sentence()
        await harness.run("other")
        behind = await harness.gateway.explain.why(reference("other"))
        assert behind.reasons[0].text == "cpu: needs 1, at most 0 free"
        [(_, order)] = harness.orders()
        await harness.end(node, order, exit_code=1)
        assert "back-off" in await sentence()
        await harness.gateway.jobs.stop(reference("job"), None, now=False)
        await harness.settle()
        assert await sentence() == "job was cancelled: stopped by anna."

    run_scenario(scenario)


def test_the_cluster_at_a_glance_adds_up() -> None:
    """C-19, D-15."""

    async def scenario(harness: GatewayHarness) -> None:
        for name in ("n1", "n2"):
            await harness.join(name, cpu=2)
        await harness.run("job", count=6)
        found = await harness.gateway.cluster.info()
        assert (found.nodes, found.jobs, found.tasks) == ({"ready": 2}, {"pending": 1}, {"queued": 2, "assigned": 4})
        assert (found.capacity["cpu"], found.reserved["cpu"]) == ("4", "4")
        assert (found.name, found.version, found.policy, found.simulated) == ("stage", "1.2.3", "bin-pack", False)
        await harness.gateway.cluster.stop(leave_running=True)
        assert harness.downs == [True]

    run_scenario(scenario)


def test_the_capacity_of_a_cluster_is_that_of_nodes_that_are_there() -> None:
    """Nodes that are down stay in the list for ever: those of machines that are gone, and simulated ones."""

    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        gone = await harness.join("n2", cpu=4)
        await harness.run("job", count=6, at_most_once=True)
        await harness.engine.node_event(gone, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
        await harness.settle()
        found = await harness.gateway.cluster.info()
        assert (found.nodes, found.capacity["cpu"], found.reserved["cpu"]) == ({"ready": 1, "down": 1}, "2", "2")

    run_scenario(scenario)


def test_a_resource_that_no_node_has_is_not_listed_after_a_request_for_it() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=2)
        await harness.run("job", resources={"gpu": 1})
        cluster = await harness.gateway.cluster.info()
        [node] = (await harness.gateway.nodes.page(10, None)).items
        for view in (cluster, node):
            assert set(view.capacity) == set(view.reserved) == {"cpu", "memory", "disk"}

    run_scenario(scenario)


def test_pages_of_events_have_every_event_once() -> None:
    """D-11, R-19: in pages of any size, also where a page ends within a round."""

    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join()
        for name in ("one", "two", "three"):
            await harness.run_to_end(node, name, count=3)
        every = [event.id for event in (await harness.gateway.events.page(EventQuery(limit=1000))).items]
        assert len(every) == len(set(every)) > 10
        for limit in (1, 2, 3, 5, 100):
            found: list[str] = []
            after: EventPosition | None = None
            while True:
                page = await harness.gateway.events.page(EventQuery(limit=limit, after=after))
                found += [event.id for event in page.items]
                if page.next is None:
                    break
                version, _, number = page.next.partition("-")
                after = EventPosition(int(version), int(number))
            assert found == every

    run_scenario(scenario)


def test_why_tells_of_an_executor_what_its_own_node_has_against_it_and_no_other() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await setup_testbed(harness, nodes=3, slots_per_node=1)
        await apply_drafts(harness, command("a"), queue("q", "a", "a"))
        (first, kept), (node, order) = sorted(harness.orders(), key=lambda each: each[0])
        await harness.started(first, kept)
        await harness.engine.cordon_node("n0", "another one")
        await harness.engine.cordon_node("n1", "new disk")
        returned = Returned(order.job, order.group, order.attempt, order.first, order.last)
        await harness.report(node, returned=[returned])
        found = await harness.gateway.explain.why(reference("bj.a"))
        assert found.sentence == "1 of 2 tasks is pending: must run on n1: cordon: new disk (1 node)."

    run_scenario(scenario)


def test_callers_act_in_their_own_names() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        for user in ("anna", "ben", "anna"):
            gateway = harness.local_gateway.for_caller(Principal(user, ADMIN), "getMe")
            assert gateway is harness.local_gateway.for_caller(Principal(user, ADMIN), "getMe")
            document = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {}, "spec": {"command": ["true"]}}
            [job] = await gateway.jobs.submit([document], namespace="default", key=None)
            assert (await gateway.jobs.get(JobReference("default", id=job.id))).user == user

    run_scenario(scenario)

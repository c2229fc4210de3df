"""Every change becomes its event, and no other."""

from __future__ import annotations

from pathlib import Path

from shunter.engine.changes import decode_round
from shunter.engine.read.events import CATALOGUE, render
from shunter.engine.state.registries.cluster import TOKEN_RESET_SETTING
from shunter.model.job.spec import Restart
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import Returned, Started
from shunter.model.rest.cluster_views import EventView
from tests.unit.engine.harness import Harness, run_scenario, spec

SEEN: set[str] = set()
COVERED_ELSEWHERE = {  # what the story below does not tell, and the test that does
    "tasks.preempted": "placement/test_apply_decision.py",
    "tasks.requeued": "placement/test_apply_decision.py",
    "tasks.unblocked": "services/test_reconcile.py",
    "job.held": "jobs/test_job_timers.py",
    "job.released": "jobs/test_job_timers.py",
    "job.unblocked": "jobs/test_dependencies.py",
    "job.late": "jobs/test_job_timers.py",
    "job.overrun": "jobs/test_job_timers.py",
    "template.set": "jobs/test_templates.py",
    "template.paused": "jobs/test_templates.py",
    "template.resumed": "jobs/test_templates.py",
    "template.deleted": "jobs/test_templates.py",
    "template.fired": "jobs/test_templates.py",
    "template.skipped": "jobs/test_templates.py",
    "testbed.set": "state/test_object_changes.py",
    "testbed.moved": "state/test_object_changes.py",
    "testbed.deleted": "state/test_object_changes.py",
    "batchjob.set": "state/test_object_changes.py",
    "batchjob.claimed": "state/test_object_changes.py",
    "batchjob.released": "state/test_object_changes.py",
    "batchjob.moved": "state/test_object_changes.py",
    "batchjob.deleted": "state/test_object_changes.py",
    "scheduling.set": "state/test_object_changes.py",
    "scheduling.moved": "state/test_object_changes.py",
    "scheduling.deleted": "state/test_object_changes.py",
    "cluster.format_raised": "test_upgrade.py",
    "queue.set": "jobs/test_queue_admin.py",
    "queue.deleted": "jobs/test_queue_admin.py",
    "user.set": "identity/test_identity.py",
    "key.set": "identity/test_identity.py",
    "key.revoked": "identity/test_identity.py",
    **dict.fromkeys(("join_token.created", "join_token.used", "join_token.revoked"), "identity/test_join_tokens.py"),
    "tenant.set": "../gateway/test_tenants.py",
    "tenant.deleted": "../gateway/test_tenants.py",
    "dead.dropped": "jobs/test_dead_letters.py",
    "tasks.added": "services/test_reconcile.py",
    "tasks.down": "services/test_reconcile.py",
    "tasks.restarting": "services/test_update.py",
    "tasks.healthy": "services/test_rollback.py",
    "tasks.unhealthy": "services/test_rollback.py",
    "tasks.moving": "placement/test_move.py",
    "job.updated": "services/test_update.py",
    "job.scaled": "services/test_reconcile.py",
    "job.restarted": "services/test_update.py",
    "job.rolled_back": "services/test_rollback.py",
    "job.settled": "services/test_update.py",
    "job.stalled": "services/test_rollback.py",
    "node.draining": "nodes/test_drain.py",
    "node.drained": "nodes/test_drain.py",
    "node.cordoned": "nodes/test_cordon.py",
    "node.quarantined": "nodes/test_cordon.py",
    "node.released": "nodes/test_cordon.py",
    "node.attributed": "services/test_per_node.py",
}


async def new_event_types(harness: Harness, after: int) -> tuple[list[str], int]:
    """The types of events since a version, and the version now."""
    events: list[EventView] = []
    rounds = await harness.store.rounds_after(after, 1000)
    for logged in rounds:
        events += render(
            logged.version, logged.at, decode_round(logged.body), harness.engine.state.nodes.view.names.__getitem__
        )
    SEEN.update(event.type for event in events)
    return [event.type for event in events], rounds[-1].version if rounds else after


def test_each_kind_of_input_gives_its_own_events_in_order() -> None:
    async def scenario(harness: Harness) -> None:
        node = await harness.join("n1", cpu=1)
        types, version = await new_event_types(harness, 0)
        assert types == ["cluster.format_raised", "node.joined"]

        await harness.submit(spec("a", 2, restart=Restart("on-failure", max=1, delay_s=1.0)))
        types, version = await new_event_types(harness, version)
        assert types == ["job.submitted", "tasks.placed"]

        [(_, order)] = harness.orders()
        await harness.report(node, started=[Started(order.job, 0, 1, 0, 5, 1, 0)])
        assert (await new_event_types(harness, version))[0] == ["tasks.started"]
        _, version = await new_event_types(harness, version)

        await harness.end(node, order, exit_code=4)
        types, version = await new_event_types(harness, version)
        assert types == ["tasks.retried", "tasks.placed"]

        [(_, second)] = harness.orders()
        await harness.report(node, returned=[Returned(second.job, 0, second.attempt, second.first, second.last)])
        types, version = await new_event_types(harness, version)
        assert types == ["tasks.returned", "tasks.placed"]

        [(_, second)] = harness.orders()
        await harness.report_lost(node, second)
        types, version = await new_event_types(harness, version)
        assert types == ["tasks.lost", "tasks.placed"]

        await harness.engine.node_event(node, NodeEvent.SILENT, "missed 2 heartbeats")
        await harness.engine.node_event(node, NodeEvent.HEARD, "")
        await harness.engine.label_node("n1", {"disk": "ssd"})
        await harness.settle()
        types, version = await new_event_types(harness, version)
        assert types == ["node.suspect", "node.ready", "node.labelled"]

        [(_, third)] = harness.orders()
        await harness.end(node, third)
        await harness.settle(1.2)
        [(_, last)] = harness.orders()
        await harness.end(node, last, exit_code=4)
        types, version = await new_event_types(harness, version)
        assert types == ["tasks.succeeded", "tasks.placed", "tasks.failed", "job.failed"]

        [job] = await harness.submit(spec("b", 2))
        await harness.engine.stop_tasks(job.job_id, None, False)
        [(_, stopping)] = harness.orders()
        await harness.end(node, stopping, exit_code=143, how="stopped")
        types, version = await new_event_types(harness, version)
        assert types == [
            "job.submitted", "tasks.placed", "job.stopping", "tasks.cancelled", "tasks.stopping", "tasks.cancelled",
            "job.cancelled",
        ]  # fmt: skip

        await harness.submit(spec("c"))
        [(_, good)] = harness.orders()
        await harness.end(node, good)
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 3 s")
        await harness.settle()
        types, version = await new_event_types(harness, version)
        assert types == ["job.submitted", "tasks.placed", "tasks.succeeded", "job.succeeded", "node.down"]

        await harness.engine.set_settings({"policy": "spread"})
        await harness.engine.set_settings({"policy": "spread"})
        types, version = await new_event_types(harness, version)
        assert types == ["cluster.changed"]
        await harness.engine.set_settings({TOKEN_RESET_SETTING: "2026-01-02T03:04:05.000Z"})
        types, version = await new_event_types(harness, version)
        assert types == ["cluster.token_reset"]
        assert set(CATALOGUE) == SEEN | set(COVERED_ELSEWHERE)

    run_scenario(scenario)


def test_every_other_event_has_a_test_of_its_own() -> None:
    for event, name in COVERED_ELSEWHERE.items():
        assert f'"{event}"' in (Path(__file__).parents[1] / name).read_text()


def test_an_event_names_its_tasks_as_a_range_and_its_job_in_words() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1", cpu=100)
        await harness.submit(spec("wide", 100, namespace="film"))
        [logged] = (await harness.store.rounds_after(1, 10))[-1:]
        events = render(
            logged.version, logged.at, decode_round(logged.body), harness.engine.state.nodes.view.names.__getitem__
        )
        placed = next(event for event in events if event.type == "tasks.placed")
        assert (placed.name, placed.namespace, placed.job, placed.run) == ("wide/0-99", "film", "wide", 1)
        assert (placed.tasks, placed.node, placed.attempt, placed.state) == ("0-99", "n1", 1, "assigned")

    run_scenario(scenario)

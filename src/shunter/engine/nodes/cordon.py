"""Cordons and uncordons nodes. Users do it by hand; the engine quarantines a node where tasks of several jobs fail and
none succeeds. Running tasks continue. Called by the engine's rounds and by `engine.nodes.reports`."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.nodes.drain import find_node
from shunter.engine.round import Round
from shunter.engine.state.records import Job, NodeRecord
from shunter.model.errors import Conflict, Problem
from shunter.model.lifecycles import NodeState

CORDON, QUARANTINE = "cordon", "quarantine"
FAILURES_MAX = 1_000  # remembered per node


def on_cordon(round: Round, name: str, reason: str) -> None:
    node = find_node(round, name)
    if node.cordoned_by == QUARANTINE:
        raise _conflict(node, "is already in quarantine", f"release it first: shunter node release {name}")
    if (node.cordoned_by, node.cordon_reason) != (CORDON, reason):
        round.record(c.NodeCordonSet(node.id, CORDON, reason, round.now_ms, node.name))


def on_release_node(round: Round, name: str, by: str) -> None:
    """Let a node accept work again if it was switched off in this way."""
    node = find_node(round, name)
    if node.cordoned_by != by:
        commands = {CORDON: "uncordon", QUARANTINE: "release", "": "undrain"}
        if node.cordoned_by or node.is_drain_requested:
            raise _conflict(node, f"is not in {by}", f"use: shunter node {commands[node.cordoned_by]} {name}")
        return  # it accepts tasks already
    node.failures = None
    round.record(c.NodeCordonSet(node.id, "", "", round.now_ms, node.name))


def record_failure(round: Round, node_id: int, job: Job) -> None:
    """Record a failed attempt on a node. If enough jobs fail there within a minute and none succeeds, the node is at
    fault. All runs of one name count as one job, because a job that is retried or runs on a schedule may fail by
    itself. Applications of BatchJobs do not count: a Scheduling chose their nodes, and their slots are promised."""
    node, settings = round.state.nodes.records.get(node_id), round.settings
    if node is None or not settings.quarantine_jobs or node.cordoned_by:
        return
    oldest_ms = round.now_ms - int(settings.quarantine_window_s * 1000)
    recent = [failure for failure in node.failures or () if failure[0] > oldest_ms][-FAILURES_MAX:]
    node.failures = [*recent, (round.now_ms, job.namespace, job.name)]
    jobs = {failure[1:] for failure in node.failures}
    if len(jobs) < settings.quarantine_jobs or not _may_quarantine(round, node):
        return
    reason = (
        f"tasks of {len(jobs)} jobs failed on the node within {settings.quarantine_window_s:g} s and none succeeded;"
        f" when it is repaired: shunter node release {node.name}"
    )
    round.record(c.NodeCordonSet(node.id, QUARANTINE, reason, round.now_ms, node.name))


def record_restart(round: Round, node: NodeRecord) -> None:
    """The worker of a node came back as a new process, without orders that the node was given. If that happens again
    and again and no task succeeds there, the tasks may be what ends it, and other nodes should try them."""
    limit, window_s = round.settings.quarantine_restarts, round.settings.quarantine_window_s
    if not limit or node.cordoned_by:
        return
    oldest_ms = round.now_ms - int(window_s * 1000)
    node.restarts = [*(at_ms for at_ms in node.restarts or () if at_ms > oldest_ms), round.now_ms][-limit:]
    if len(node.restarts) < limit or not _may_quarantine(round, node):
        return
    reason = (
        f"its worker restarted {limit} times within {window_s:g} s without the tasks that it was given, and none"
        f" succeeded; when it is repaired: shunter node release {node.name}"
    )
    round.record(c.NodeCordonSet(node.id, QUARANTINE, reason, round.now_ms, node.name))


def record_success(round: Round, node_id: int) -> None:
    node = round.state.nodes.records.get(node_id)
    if node is not None and (node.failures or node.restarts):
        node.failures = node.restarts = None


def _may_quarantine(round: Round, node: NodeRecord) -> bool:
    """Never quarantine the last node that accepts work, nor more than a share of the nodes that are up."""
    nodes = round.state.nodes
    if int(nodes.view.eligible.sum()) - bool(nodes.view.eligible[node.id]) < 1:
        return False
    ready = [each for each in nodes.records.values() if each.state is NodeState.READY]
    quarantined = sum(each.cordoned_by == QUARANTINE for each in ready)
    return quarantined + 1 <= len(ready) * round.settings.quarantine_share_max


def _conflict(node: NodeRecord, fault: str, fix: str) -> Conflict:
    return Conflict(f"node '{node.name}' {fault}; {fix}", (Problem("node", fault, node.name, fix),))

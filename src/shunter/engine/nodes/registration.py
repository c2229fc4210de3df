"""Registers, labels and removes nodes, and marks silent ones. Called by the engine's rounds."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.nodes.disconnect import on_node_down
from shunter.engine.nodes.drain import find_node, restore_node
from shunter.engine.nodes.inventory import live_ranges
from shunter.engine.round import Round
from shunter.engine.state.records import NodeRecord
from shunter.model import secrets
from shunter.model.errors import Invalid, Problem
from shunter.model.job.isolation import ATTRIBUTE
from shunter.model.job.spec import PORT_PREFIX
from shunter.model.lifecycles import NODE, NodeEvent
from shunter.model.protocol.refusals import RefusalCode, refuse
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, Hello, Refused, Welcome

NODES_MAX = 100_000


def on_hello(round: Round, hello: Hello) -> Welcome | Refused:
    """Register a node: a new one gets a row, a known one updates its facts. It accepts work after its inventory."""
    refusal = _check_hello(round, hello)
    if refusal is not None:
        return refusal
    existing = round.state.nodes.by_name.get(hello.name)
    if existing is not None and (refusal := _check_home(round, existing, hello)) is not None:
        return refusal
    node = existing.id if existing else round.state.nodes.next_id
    if existing is None or _has_changed(round, existing, hello):
        round.record(
            c.NodeJoined(
                node,
                hello.name,
                hello.boot,
                hello.capacity,
                hello.labels,
                hello.datacenter,
                hello.attributes,
                hello.address,
                round.now_ms,
                hello.worker_id,
                hello.machine,
                hello.machine_boot,
            )
        )
        _disable_refill(round, node)
    return Welcome(round.epoch, node, round.settings.heartbeat_s)


def on_node_event(round: Round, node: int, event: NodeEvent, reason: str) -> None:
    """Apply the watcher's verdict on a node. The tasks of a node that is down run on other nodes, at once or later."""
    record = round.state.nodes.records.get(node)
    if record is None or not NODE.allows(record.state, event):
        return
    if event is NodeEvent.HEARD:
        restore_node(round, record, reason)
        return
    round.record(c.NodeTransitioned(node, event, reason, round.now_ms, record.name))
    if event in (NodeEvent.TIMED_OUT, NodeEvent.LEFT):
        on_node_down(round, record)


def on_label(round: Round, name: str, labels: dict[str, str | None]) -> None:
    record = find_node(round, name)
    changed = {key: value or "" for key, value in labels.items()}
    round.record(c.NodeLabelled(record.id, changed, round.now_ms, record.name))
    _disable_refill(round, record.id)


def on_attribute(round: Round, name: str, attributes: dict[str, str | None]) -> None:
    record = find_node(round, name)
    if ATTRIBUTE in attributes:
        fix = "leave it out; restart the worker with another --task-user to change it"
        raise Invalid([Problem(ATTRIBUTE, "is what the worker enforces, and cannot be set", fix=fix)])
    if secrets.ATTRIBUTE in attributes:
        fix = "leave it out; a worker of 0.3.0 or newer has it"
        raise Invalid([Problem(secrets.ATTRIBUTE, "is what the worker can do, and cannot be set", fix=fix)])
    changed = {key: value or "" for key, value in attributes.items()}
    round.record(c.NodeAttributed(record.id, changed, round.now_ms, record.name))
    _disable_refill(round, record.id)


def _disable_refill(round: Round, node: int) -> None:
    """Facts that constraints use have changed: refill lanes only after the policy has chosen the node again."""
    for lanes in round.state.nodes.records[node].lanes.values():
        lanes.may_refill = False


def _check_hello(round: Round, hello: Hello) -> Refused | None:
    if hello.protocol != PROTOCOL_VERSION:
        return Refused(
            "protocol_version", f"the manager uses protocol {PROTOCOL_VERSION}, but the worker uses {hello.protocol}"
        )
    if not hello.name or len(hello.name) > 253:
        return Refused("invalid", "the worker's name must have 1 to 253 characters")
    if any(amount < 0 for amount in hello.capacity.values()):
        return Refused("invalid", "capacity must not be negative")
    if hello.name not in round.state.nodes.by_name and round.state.nodes.next_id > NODES_MAX:
        return Refused("invalid", f"the cluster has {NODES_MAX} nodes, which is the maximum")
    return None


def _check_home(round: Round, record: NodeRecord, hello: Hello) -> Refused | None:
    """Its inventory proves nothing about tasks that a worker of another home may still keep running, unless the machine
    has started again since. Tasks with `at_most_once` need that proof, so they keep the name for the old home."""
    was_restarted = record.machine == hello.machine != "" and record.machine_boot != hello.machine_boot
    if not record.worker_id or not hello.worker_id or record.worker_id == hello.worker_id or was_restarted:
        return None
    waiting = {task_set.ref for task_set, _, _ in live_ranges(round, record.id) if task_set.spec.at_most_once}
    if not waiting:
        return None
    return refuse(
        RefusalCode.OTHER_HOME,
        f"tasks of {min(waiting)} with at_most_once may still run under an earlier worker '{hello.name}' with another "
        "home: start the worker with that home, or with another --name; or if nothing of it runs any more, wait until "
        f"the node is down and run `shunter node forget {hello.name}`",
    )


def _has_changed(round: Round, record: NodeRecord, hello: Hello) -> bool:
    view = round.state.nodes.view
    amounts = zip(view.resources, view.capacity[record.id].tolist(), strict=True)
    capacity = {resource: amount for resource, amount in amounts if not resource.startswith(PORT_PREFIX)}
    return (
        (record.boot, record.datacenter, record.address) != (hello.boot, hello.datacenter, hello.address)
        or (record.worker_id, record.machine, record.machine_boot)
        != (hello.worker_id, hello.machine, hello.machine_boot)
        or (record.reported_labels, record.reported_attributes) != (hello.labels, hello.attributes)
        or {key: value for key, value in capacity.items() if value} != {k: v for k, v in hello.capacity.items() if v}
    )

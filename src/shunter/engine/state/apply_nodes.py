"""Applies changes of nodes to the state. Called by `engine.state.state`, live and in recovery."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from shunter.engine import changes as c
from shunter.model.lifecycles import NODE, NodeEvent

if TYPE_CHECKING:
    from shunter.engine.state.state import State


def node_joined(state: State, change: c.NodeJoined) -> None:
    state.nodes.join(change)


def node_transitioned(state: State, change: c.NodeTransitioned) -> None:
    node = state.nodes.records[change.node]
    node.state = NODE.move(node.state, NodeEvent(change.event))
    node.reason = change.reason
    node.last_transition_ms = change.at_ms
    state.nodes.refresh_eligible(node)


def node_labelled(state: State, change: c.NodeLabelled) -> None:
    state.nodes.override_node_labels(state.nodes.records[change.node], change.labels)


def node_attributed(state: State, change: c.NodeAttributed) -> None:
    state.nodes.override_node_attributes(state.nodes.records[change.node], change.attributes)


def node_cordon_set(state: State, change: c.NodeCordonSet) -> None:
    state.nodes.set_cordon(state.nodes.records[change.node], change.by, change.reason)


def drain_set(state: State, change: c.DrainSet) -> None:
    node = state.nodes.records[change.node]
    node.is_drain_requested, node.drain_deadline_ms = change.is_requested, change.deadline_ms


APPLIERS: dict[type, Callable[[Any, Any], None]] = {
    c.NodeJoined: node_joined,
    c.NodeTransitioned: node_transitioned,
    c.NodeLabelled: node_labelled,
    c.NodeAttributed: node_attributed,
    c.NodeCordonSet: node_cordon_set,
    c.DrainSet: drain_set,
}

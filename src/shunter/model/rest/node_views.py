"""Nodes as REST answers show them, with what their workers measure."""

from __future__ import annotations

from typing import Any

import msgspec


class NodeView(msgspec.Struct, kw_only=True):
    name: str
    id: int
    state: str
    eligible: bool
    reason: str | None
    datacenter: str
    labels: dict[str, str]
    attributes: dict[str, str]
    capacity: dict[str, str]
    reserved: dict[str, str]
    tasks: int  # assigned and running
    role: str = "worker"
    isolation: str = "none"  # how its tasks are kept from the cluster's secrets: user, namespace, root or none
    heard_at: str | None = None
    stats: dict[str, Any] | None = None
    stats_stale: bool = False


class NodePage(msgspec.Struct):
    items: list[NodeView]
    next: str | None
    total: int


class TaskStatsView(msgspec.Struct, kw_only=True):
    name: str  # JOB/INDEX
    namespace: str
    index: int
    attempt: int
    cpu_s: float
    memory_bytes: int
    processes: int


class NodeStatsView(msgspec.Struct, kw_only=True):
    """Current statistics of a node and its running tasks, read from the worker."""

    name: str
    at: str
    machine: dict[str, Any]
    tasks: list[TaskStatsView]

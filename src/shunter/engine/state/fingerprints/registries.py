"""The part of `engine.state.fingerprints.fingerprint` that covers the registries of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine.state.fingerprints.compared_fields import ComparedFields, FingerprintContext
from shunter.engine.state.registries.audit import AuditRegistry
from shunter.engine.state.registries.cluster import ClusterSettingsRegistry
from shunter.engine.state.registries.dead_letters import DeadLetterRegistry
from shunter.engine.state.registries.dependencies import EdgeRegistry
from shunter.engine.state.registries.durations import DurationRegistry
from shunter.engine.state.registries.flags import FlagRegistry
from shunter.engine.state.registries.format import FormatRegistry
from shunter.engine.state.registries.identity import IdentityRegistry
from shunter.engine.state.registries.job_usage import JobUsageRegistry
from shunter.engine.state.registries.join_tokens import JoinTokenRegistry
from shunter.engine.state.registries.moves import MoveRegistry
from shunter.engine.state.registries.objects import ObjectRegistry
from shunter.engine.state.registries.queues import QueueRegistry
from shunter.engine.state.registries.secrets import SecretRegistry
from shunter.engine.state.registries.services import ServiceRegistry
from shunter.engine.state.registries.templates import Template, TemplateRegistry
from shunter.engine.state.registries.tenants import TenantRegistry

_CACHE = "a cache: computed on demand"


def _items(name: str) -> Callable[[FingerprintContext, Any], list[tuple[Any, Any]]]:
    """The items of a mapping, in its order."""
    return lambda _, registry: list(getattr(registry, name).items())


def _inner(name: str) -> Callable[[FingerprintContext, Any], dict[Any, dict[Any, Any]]]:
    """A mapping of mappings; their order does not matter."""
    return lambda _, registry: {key: dict(inner) for key, inner in getattr(registry, name).items()}


TEMPLATE = ComparedFields(
    Template,
    plain=(
        "id", "namespace", "name", "body", "user", "updated_ms", "is_paused", "fired_ms", "last_job", "skipped_ms",
        "skipped_because", "next_ms",
    ),
    left_out={"spec": "decoded from the body"},
)  # fmt: skip

CLUSTER = ComparedFields(ClusterSettingsRegistry, plain=("values",))
FORMAT = ComparedFields(
    FormatRegistry, plain=("active", "raised_by"), left_out={"program": "what this program can read, not the store"}
)
QUEUES = ComparedFields(QueueRegistry, plain=("queues",))
DURATIONS = ComparedFields(DurationRegistry, described={"_means": _items("_means")})
EDGES = ComparedFields(
    EdgeRegistry,
    described={
        # a snapshot has them job by job, whenever they were set: nothing depends on that order
        "_targets": lambda _, registry: {job: list(edges.items()) for job, edges in registry._targets.items()},
        "_dependents": lambda _, registry: {job: registry.dependents(job) for job in registry._dependents},
        "_settled": _inner("_settled"),
    },
)
FLAGS = ComparedFields(
    FlagRegistry, described={"_flags": lambda _, registry: {job: list(flags) for job, flags in registry._flags.items()}}
)
TEMPLATES = ComparedFields(
    TemplateRegistry,
    described={
        "by_id": lambda context, registry: [TEMPLATE.of(context, each) for each in registry.by_id.values()],
        "_by_name": lambda _, registry: {name: template.id for name, template in registry._by_name.items()},
    },
)
DEAD_LETTERS = ComparedFields(DeadLetterRegistry, plain=("_last_number",), described={"letters": _items("letters")})
SERVICES = ComparedFields(
    ServiceRegistry,
    described={
        "jobs": lambda _, registry: registry.dump(),
        "per_node": lambda _, registry: list(registry.per_node),
        "task_sets_by_node": lambda _, registry: {
            job: {key: [task_set.number for task_set in task_sets] for key, task_sets in task_sets_by_node.items()}
            for job, task_sets_by_node in registry.task_sets_by_node.items()
        },
    },
    left_out={
        "next_check_ms": "timers of one life: all are set anew in the next",
        "colocation_masks": _CACHE,
        "colocation_tick": _CACHE,
        "ledger": _CACHE,
    },
)
MOVES = ComparedFields(MoveRegistry, described={"pinned": _items("pinned")}, left_out={"_ledger": _CACHE})
OBJECTS = ComparedFields(
    ObjectRegistry,
    plain=("revision", "next_uid", "_names", "applications", "submitted"),
    described={
        **{name: _items(name) for name in ("testbeds", "batch_jobs", "schedulings")},
        "claimed_jobs": lambda _, registry: {by: list(jobs) for by, jobs in registry.claimed_jobs.items()},
        **{
            name: _inner(name)
            for name in ("jobs_by_testbed", "requests_by_testbed", "schedulings_by_job", "schedulings_by_testbed")
        },
    },
    left_out={
        "_nodes": "the columns of nodes, which the state has too",
        "_tables": "the objects by kind, each of which is an attribute too",
        "recent_events": "what watchers of this manager process can resume from",
        "dirty_objects": "what is to be looked at: after recovery all is",
        "scheduling_memories": _CACHE,
        "testbed_layouts": _CACHE,
        "unplaced_testbeds": _CACHE,
    },
)
IDENTITY = ComparedFields(IdentityRegistry, plain=("users", "keys", "ended_sessions"))
SECRETS = ComparedFields(
    SecretRegistry,
    plain=("secrets", "size_bytes"),
    left_out={
        "revision": "counts the changes that this process has seen",
        "known_keys": "what this manager can decrypt, not the store",
        "unreadable": "what this process could not decrypt, not the store",
        "missing_keys": "what this manager cannot decrypt, not the store",
        "_key_uses": "counted from secrets",
        "pending_revision": "what pending classes were updated for",
    },
)
AUDIT = ComparedFields(AuditRegistry, plain=("number", "head", "dropped_through", "checkpoint_ms"))
TENANTS = ComparedFields(TenantRegistry, plain=("tenants", "namespace_owners", "queue_owners", "limited"))
JOIN_TOKENS = ComparedFields(JoinTokenRegistry, plain=("tokens",))
JOB_USAGE = ComparedFields(JobUsageRegistry, described={"_jobs": lambda _, registry: registry.dump()})

REGISTRIES: dict[str, ComparedFields[Any]] = {
    "format": FORMAT,
    "cluster": CLUSTER,
    "queues": QUEUES,
    "durations": DURATIONS,
    "edges": EDGES,
    "flags": FLAGS,
    "templates": TEMPLATES,
    "dead_letters": DEAD_LETTERS,
    "services": SERVICES,
    "moves": MOVES,
    "objects": OBJECTS,
    "identity": IDENTITY,
    "secrets": SECRETS,
    "tenants": TENANTS,
    "audit": AUDIT,
    "join_tokens": JOIN_TOKENS,
    "job_usage": JOB_USAGE,
}
ALL_OF_REGISTRIES: tuple[ComparedFields[Any], ...] = (TEMPLATE, *REGISTRIES.values())

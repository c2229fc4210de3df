"""Loads plugins: what other packages offer through entry points. Used by the app (policies, filters, scores,
authenticators) and by workers (health checks, runtimes). Authors of plugins use
`from shunter.plugins import Filter, Ledger, Rows`.

A plugin that cannot be loaded is reported with its error, and the others still work. The names for plugins are loaded
at first use, so that importing this module stays cheap."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shunter.model.errors import Unauthorized as Unauthorized
    from shunter.model.identity.oidc import ExternalUser as ExternalUser
    from shunter.model.identity.roles import Role as Role
    from shunter.model.job.spec import HealthCheck as HealthCheck
    from shunter.model.job.spec import TaskSpec as TaskSpec
    from shunter.model.objects.object_meta import ObjectName as ObjectName
    from shunter.model.objects.schedulings import SchedulingSpec as SchedulingSpec
    from shunter.model.objects.schedulings import SlotJob as SlotJob
    from shunter.model.protocol.worker_messages import Order as Order
    from shunter.planning.filter.filters import Filter as Filter
    from shunter.planning.filter.filters import Refusal as Refusal
    from shunter.planning.filter.node_ledger import Ledger as Ledger
    from shunter.planning.filter.node_ledger import Rows as Rows
    from shunter.planning.policy_toolkit import Room as Room
    from shunter.planning.score.scores import More as More
    from shunter.planning.score.scores import Score as Score
    from shunter.planning.score.scores import Shape as Shape
    from shunter.planning.score.scores import spread as spread
    from shunter.planning.view import BoolArray as BoolArray
    from shunter.planning.view import ClusterView as ClusterView
    from shunter.planning.view import Decision as Decision
    from shunter.planning.view import FloatArray as FloatArray
    from shunter.planning.view import IntArray as IntArray
    from shunter.planning.view import NodeKind as NodeKind
    from shunter.planning.view import Nodes as Nodes
    from shunter.planning.view import Placement as Placement
    from shunter.planning.view import Policy as Policy
    from shunter.planning.view import Preemption as Preemption
    from shunter.planning.view import Queued as Queued
    from shunter.planning.view import Rules as Rules
    from shunter.planning.view import SchedulingDraft as SchedulingDraft
    from shunter.planning.view import TaskClass as TaskClass
    from shunter.ports.security.authenticator import Authenticator as Authenticator
    from shunter.worker.health.port import Check as Check
    from shunter.worker.health.port import Target as Target
    from shunter.worker.health.port import Unhealthy as Unhealthy
    from shunter.worker.health.port import Unwell as Unwell
    from shunter.worker.runtimes.port import EXIT_NOT_FOUND as EXIT_NOT_FOUND
    from shunter.worker.runtimes.port import EXIT_NOT_STARTED as EXIT_NOT_STARTED
    from shunter.worker.runtimes.port import Attempt as Attempt
    from shunter.worker.runtimes.port import Launch as Launch
    from shunter.worker.runtimes.port import NotStarted as NotStarted
    from shunter.worker.runtimes.port import Outcome as Outcome
    from shunter.worker.runtimes.port import Running as Running
    from shunter.worker.runtimes.port import Runtime as Runtime
    from shunter.worker.runtimes.port import RuntimeFactory as RuntimeFactory
    from shunter.worker.runtimes.port import RuntimeGone as RuntimeGone
    from shunter.worker.runtimes.port import Usage as Usage
    from shunter.worker.runtimes.task_log import ERR as ERR
    from shunter.worker.runtimes.task_log import OUT as OUT
    from shunter.worker.runtimes.task_log import TaskLog as TaskLog
    from shunter.worker.settings import WorkerSettings as WorkerSettings

POLICIES = "shunter.policies"  # a class without arguments whose objects have `decide`
FILTERS = "shunter.filters"  # a `Filter`
SCORES = "shunter.scores"  # a `Score`
HEALTH_CHECKS = "shunter.health_checks"  # a `Check`
RUNTIMES = "shunter.runtimes"  # a `RuntimeFactory`
AUTHENTICATORS = "shunter.authenticators"  # a class without arguments whose objects are an `Authenticator`

_NAMES_BY_MODULE = {
    "shunter.model.errors": ("Unauthorized",),
    "shunter.model.identity.oidc": ("ExternalUser",),
    "shunter.model.identity.roles": ("Role",),
    "shunter.model.job.spec": ("HealthCheck", "TaskSpec"),
    "shunter.model.objects.object_meta": ("ObjectName",),
    "shunter.model.objects.schedulings": ("SchedulingSpec", "SlotJob"),
    "shunter.model.protocol.worker_messages": ("Order",),
    "shunter.planning.filter.filters": ("Filter", "Refusal"),
    "shunter.planning.filter.node_ledger": ("Ledger", "Rows"),
    "shunter.planning.policy_toolkit": ("Room",),
    "shunter.planning.score.scores": ("More", "Score", "Shape", "spread"),
    "shunter.planning.view": (
        "BoolArray",
        "ClusterView",
        "Decision",
        "FloatArray",
        "IntArray",
        "NodeKind",
        "Nodes",
        "Placement",
        "Policy",
        "Preemption",
        "Queued",
        "Rules",
        "SchedulingDraft",
        "TaskClass",
    ),
    "shunter.ports.security.authenticator": ("Authenticator",),
    "shunter.worker.health.port": ("Check", "Target", "Unhealthy", "Unwell"),
    "shunter.worker.runtimes.port": (
        "Attempt",
        "EXIT_NOT_FOUND",
        "EXIT_NOT_STARTED",
        "Launch",
        "NotStarted",
        "Outcome",
        "Running",
        "Runtime",
        "RuntimeFactory",
        "RuntimeGone",
        "Usage",
    ),
    "shunter.worker.runtimes.task_log": ("ERR", "OUT", "TaskLog"),
    "shunter.worker.settings": ("WorkerSettings",),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}
_OWN = ("AUTHENTICATORS", "FILTERS", "HEALTH_CHECKS", "POLICIES", "Plugin", "RUNTIMES", "SCORES", "find_plugins")
__all__ = sorted([*_OWN, *_MODULE_BY_NAME])


def __getattr__(name: str) -> Any:
    if name in _MODULE_BY_NAME:
        return getattr(import_module(_MODULE_BY_NAME[name]), name)
    raise AttributeError(f"shunter.plugins has no {name}; it has {', '.join(__all__)}")


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point: what it names, or why that could not be loaded."""

    group: str
    name: str
    source: str  # the package that brings it, with its version
    target: Any = None
    error: str = ""


def find_plugins(group: str) -> list[Plugin]:
    """All plugins of one group, by name; where two packages offer the same name the first package has it."""
    found: list[Plugin] = []
    source_by_name: dict[str, str] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, _source(entry))):
        plugin = _load(entry)
        if entry.name in source_by_name:
            plugin = Plugin(
                group, entry.name, plugin.source, error=f"{source_by_name[entry.name]} already uses this name"
            )
        source_by_name.setdefault(entry.name, plugin.source)
        found.append(plugin)
    return found


def _load(entry: EntryPoint) -> Plugin:
    try:
        return Plugin(entry.group, entry.name, _source(entry), entry.load())
    except (Exception, SystemExit) as error:  # third-party code may raise anything
        return Plugin(entry.group, entry.name, _source(entry), error=f"{entry.value}: {type(error).__name__}: {error}")


def _source(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown package"

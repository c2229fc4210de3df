"""Plugins: what other packages offer through entry points. Read by the app (policies, filters, scores) and by workers
(health checks, runtimes).

A plugin that cannot be loaded is told with its error, and keeps nobody else from working.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

POLICIES = "shunter.policies"  # a class without arguments whose objects have `name` and `decide`
FILTERS = "shunter.filters"  # a `planning.filter.filters.Filter`
SCORES = "shunter.scores"  # a `planning.score.scores.Score`
HEALTH_CHECKS = "shunter.health_checks"
RUNTIMES = "shunter.runtimes"


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
            plugin = Plugin(group, entry.name, plugin.source, error=f"{source_by_name[entry.name]} has taken this name")
        source_by_name.setdefault(entry.name, plugin.source)
        found.append(plugin)
    return found


def _load(entry: EntryPoint) -> Plugin:
    try:
        return Plugin(entry.group, entry.name, _source(entry), entry.load())
    except (Exception, SystemExit) as error:  # whatever a stranger's module does when it is imported
        return Plugin(entry.group, entry.name, _source(entry), error=f"{entry.value}: {type(error).__name__}: {error}")


def _source(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "unknown package"

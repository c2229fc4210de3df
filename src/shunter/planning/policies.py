"""The catalogue of policies: the built-in ones and those of plugins, each with its origin.

Built once by the app, which finds the plugins. The gateway uses it to list and create policies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any, Protocol, runtime_checkable

from shunter.model.errors import Invalid, Problem
from shunter.model.protocol.scheduler_messages import TASKS
from shunter.planning.batch.batch_policy import BATCH_POLICIES
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.planner import Planner, Stages
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.view import ClusterView, Decision, Policy

BUILT_IN = "built in"
REMOTE_PREFIX = "remote:"  # prefix of the name of a policy that is an external scheduler
REMOTE_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin's contribution: a policy's class, a Filter or a Score; or the error that prevented loading it, and what
    to do about it, if that is known."""

    name: str
    source: str
    target: Any = None
    error: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A policy that can be used, or one that cannot, with the reason. Filters are listed too: they are always on."""

    name: str
    kind: str  # policy | score | filter
    source: str
    make: Callable[[], Policy] | None = None
    error: str = ""
    fix: str = ""


class RemotePolicy:
    """An external scheduler of this name decides, outside of rounds; while it is silent, the fallback does."""

    fast = False

    def __init__(self, scheduler: str) -> None:
        self.scheduler, self.name = scheduler, f"{REMOTE_PREFIX}{scheduler}"

    def decide(self, _view: ClusterView, _now: float, _budget: int) -> Decision:
        raise AssertionError(f"{self.name} decides in another process")


def check_scheduler_name(name: str, field: str) -> None:
    """Raises Invalid."""
    if not REMOTE_NAME.fullmatch(name):
        fix = "use 1 to 63 lower-case letters, digits and . _ -, starting and ending with a letter or digit"
        raise Invalid([Problem(field, "is not a valid scheduler name", name, fix)])


@runtime_checkable
class Forkable(Protocol):
    def fork(self) -> Policy:
        """A copy that would decide the same from here on, and shares nothing with this one."""
        ...


@runtime_checkable
class Renewable(Protocol):
    """A policy that can restart from a few facts, so that a recording of it can start anywhere."""

    memory: dict[str, Any]  # everything a renewed policy remembers; set on a new one, it makes that decide the same

    @property
    def is_settled(self) -> bool:
        """Whether it remembers nothing that matters: a renewed one would lose it."""
        ...

    def renew(self) -> Policy:
        """A new policy in its place, which remembers only its `memory`."""
        ...


def fork_policy(policy: Policy) -> Policy:
    """Copy a policy for a dry run. A policy without `fork` is copied completely."""
    return policy.fork() if isinstance(policy, Forkable) else deepcopy(policy)


class Catalogue:
    """All policies by name. Plugins cannot replace built-in names; a broken plugin is listed with its error."""

    def __init__(
        self,
        policies: Iterable[PluginEntry] = (),
        filters: Iterable[PluginEntry] = (),
        scores: Iterable[PluginEntry] = (),
    ) -> None:
        filter_entries = [(each, _filter_entry(each)) for each in filters]
        self.filters = (*FILTERS, *(each.target for each, entry in filter_entries if not entry.error))
        self._entries: dict[str, CatalogueEntry] = {
            name: CatalogueEntry(name, "score", BUILT_IN, partial(_make_planner, score, self.filters))
            for name, score in SCORES.items()
        }
        for name, make in BATCH_POLICIES.items():
            self._entries[name] = CatalogueEntry(name, "policy", BUILT_IN, partial(make, filters=self.filters))
        self._unusable: list[CatalogueEntry] = []
        for each in scores:
            self._add(_score_entry(each, self.filters))
        for each in policies:
            self._add(_policy_entry(each))
        self._filter_entries = [entry for _, entry in filter_entries]

    def entries(self) -> list[CatalogueEntry]:
        """Policies first, then filters, then what could not be loaded."""
        return [*self._entries.values(), *self._filter_entries, *self._unusable]

    def build(self, name: str) -> Policy:
        """Create a policy by its name. Raises Invalid with the nearest known name, or with what is wrong with it."""
        if name.startswith(REMOTE_PREFIX):
            check_scheduler_name(name.removeprefix(REMOTE_PREFIX), "policy")
            return RemotePolicy(name.removeprefix(REMOTE_PREFIX))
        entry = self._entries.get(name)
        if entry is None:
            raise Invalid([self._unknown(name)])
        assert entry.make is not None
        try:
            return entry.make()
        except (Exception, SystemExit) as error:  # third-party code may raise anything
            fault = f"cannot be created: {type(error).__name__}: {error}"
            raise Invalid([Problem("policy", fault, name, f"fix {entry.source}, or choose another policy")]) from error

    def _add(self, entry: CatalogueEntry) -> None:
        if not entry.error and entry.name in self._entries:
            taken_by = self._entries[entry.name].source
            entry = CatalogueEntry(entry.name, entry.kind, entry.source, error=f"the name is taken: {taken_by}")
        if entry.error:
            self._unusable.append(entry)
        else:
            self._entries[entry.name] = entry

    def _unknown(self, name: str) -> Problem:
        unusable = [entry for entry in self._unusable if entry.name == name]
        if unusable:
            entry = unusable[0]
            if entry.fix:
                return Problem("policy", entry.error, fix=entry.fix)
            return Problem("policy", f"could not be loaded: {entry.error}", name, f"fix {entry.source}")
        near = get_close_matches(name, self._entries, n=1)
        known = f"known policies: {', '.join(self._entries)}"
        return Problem("policy", "unknown policy", name, f"did you mean {near[0]}? {known}" if near else known)


def _make_planner(score: Score, filters: tuple[Filter, ...]) -> Policy:
    return Planner(Stages(score=score, filters=filters))


def _policy_entry(plugin: PluginEntry) -> CatalogueEntry:
    error = plugin.error
    if not error and not callable(plugin.target):
        error = f"{plugin.target!r} is not a class: name one whose objects have `name` and `decide`"
    elif not error and not callable(getattr(plugin.target, "decide", None)) and isinstance(plugin.target, type):
        error = f"{plugin.target.__name__} has no method `decide(self, view, now, budget)`"
    make = partial(_make_plugin_policy, plugin)
    return CatalogueEntry(plugin.name, "policy", plugin.source, make, error, plugin.fix)


def _make_plugin_policy(plugin: PluginEntry) -> Policy:
    """The name of a plugin's policy is that of its entry point, whatever the object says. A policy that does not want
    to see tasks decides outside of rounds; in rounds, the fallback places tasks meanwhile."""
    policy: Policy = plugin.target()
    policy.name = plugin.name
    policy.fast = bool(getattr(policy, "fast", True)) and TASKS in wants_of(policy)
    return policy


def _score_entry(plugin: PluginEntry, filters: tuple[Filter, ...]) -> CatalogueEntry:
    error = plugin.error
    if not error and not isinstance(plugin.target, Score):
        error = f"{plugin.target!r} is not a shunter.plugins.Score"
    return CatalogueEntry(plugin.name, "score", plugin.source, partial(_make_planner, plugin.target, filters), error)


def _filter_entry(plugin: PluginEntry) -> CatalogueEntry:
    error = plugin.error
    if not error and not isinstance(plugin.target, Filter):
        error = f"{plugin.target!r} is not a shunter.plugins.Filter"
    return CatalogueEntry(plugin.name, "filter", plugin.source, error=error)

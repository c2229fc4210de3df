"""Which policies there are, and where each comes from: the built-in ones, and those that plugins bring.

Made once by the app, which finds the plugins; asked by the gateway to list and to build them.
"""

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
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.planner import Planner, Stages
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.score.scores import SCORES, Score
from shunter.planning.view import ClusterView, Decision, Policy

BUILT_IN = "built in"
REMOTE = "remote:"  # begins the name of a policy that is an external scheduler
REMOTE_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Brought:
    """Something that a plugin brings: a policy's class, a Filter or a Score; or the error that kept it away."""

    name: str
    source: str
    target: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A policy that can be used, or one that cannot, and why. Filters stand beside them: they are always on."""

    name: str
    kind: str  # policy | score | filter
    source: str
    make: Callable[[], Policy] | None = None
    error: str = ""


class Remote:
    """An external scheduler of this name decides, outside of rounds; while it is silent, the fall-back does."""

    fast = False

    def __init__(self, scheduler: str) -> None:
        self.scheduler, self.name = scheduler, f"{REMOTE}{scheduler}"

    def decide(self, _view: ClusterView, _now: float, _budget: int) -> Decision:
        raise AssertionError(f"{self.name} decides elsewhere")


def check_scheduler_name(name: str, field: str) -> None:
    """Raises Invalid."""
    if not REMOTE_NAME.fullmatch(name):
        fix = "use 1 to 63 lower-case letters, digits and . _ -, beginning and ending with a letter or a digit"
        raise Invalid([Problem(field, "is no name of a scheduler", name, fix)])


@runtime_checkable
class Forking(Protocol):
    def fork(self) -> Policy:
        """One that would decide alike from here on, and shares nothing with this one."""
        ...


@runtime_checkable
class Renewing(Protocol):
    """A policy that can begin anew from a few facts, so that a recording of it can begin anywhere."""

    memory: dict[str, Any]  # all that a renewed one remembers; setting it on a new one makes that decide alike

    @property
    def is_settled(self) -> bool:
        """Whether it remembers nothing that others may rely on: a renewed one would lose it."""
        ...

    def renew(self) -> Policy:
        """Another one in its place, which remembers only its `memory`."""
        ...


def fork_policy(policy: Policy) -> Policy:
    """For trying out what a policy would do. A policy that has no `fork` is copied whole."""
    return policy.fork() if isinstance(policy, Forking) else deepcopy(policy)


class Catalogue:
    """All policies by name. A name of ours cannot be taken; a broken plugin is listed with its error."""

    def __init__(
        self, policies: Iterable[Brought] = (), filters: Iterable[Brought] = (), scores: Iterable[Brought] = ()
    ) -> None:
        filter_offers = [(each, _checked_filter(each)) for each in filters]
        self.filters = (*FILTERS, *(each.target for each, offer in filter_offers if not offer.error))
        self._offers: dict[str, Offer] = {
            name: Offer(name, "score", BUILT_IN, partial(_plan_by, score, self.filters))
            for name, score in SCORES.items()
        }
        self._refused: list[Offer] = []
        for each in scores:
            self._add(_checked_score(each, self.filters))
        for each in policies:
            self._add(_checked_policy(each))
        self._filter_offers = [offer for _, offer in filter_offers]

    def offers(self) -> list[Offer]:
        """Policies first, then filters, then what could not be loaded."""
        return [*self._offers.values(), *self._filter_offers, *self._refused]

    def build(self, name: str) -> Policy:
        """A fresh policy by its name. Raises Invalid with the nearest known one, or with what is wrong with it."""
        if name.startswith(REMOTE):
            check_scheduler_name(name.removeprefix(REMOTE), "policy")
            return Remote(name.removeprefix(REMOTE))
        offer = self._offers.get(name)
        if offer is None:
            raise Invalid([self._unknown(name)])
        assert offer.make is not None
        try:
            return offer.make()
        except (Exception, SystemExit) as error:  # a stranger's class
            fault = f"cannot be made: {type(error).__name__}: {error}"
            raise Invalid([Problem("policy", fault, name, f"mend {offer.source}, or choose another")]) from error

    def _add(self, offer: Offer) -> None:
        if not offer.error and offer.name in self._offers:
            holder = self._offers[offer.name].source
            offer = Offer(offer.name, offer.kind, offer.source, error=f"the name is taken: {holder}")
        if offer.error:
            self._refused.append(offer)
        else:
            self._offers[offer.name] = offer

    def _unknown(self, name: str) -> Problem:
        refused = [offer for offer in self._refused if offer.name == name]
        if refused:
            return Problem("policy", f"could not be loaded: {refused[0].error}", name, f"mend {refused[0].source}")
        near = get_close_matches(name, self._offers, n=1)
        known = f"the known ones are {', '.join(self._offers)}"
        return Problem("policy", "unknown policy", name, f"did you mean {near[0]}? {known}" if near else known)


def _plan_by(score: Score, filters: tuple[Filter, ...]) -> Policy:
    return Planner(Stages(score=score, filters=filters))


def _checked_policy(brought: Brought) -> Offer:
    error = brought.error
    if not error and not callable(brought.target):
        error = f"{brought.target!r} is not a class: name one whose objects have `name` and `decide`"
    elif not error and not callable(getattr(brought.target, "decide", None)) and isinstance(brought.target, type):
        error = f"{brought.target.__name__} has no method `decide(self, view, now, budget)`"
    return Offer(brought.name, "policy", brought.source, partial(_named, brought), error)


def _named(brought: Brought) -> Policy:
    """The name of a plugin's policy is that of its entry point, whatever the object says. One that does not look at
    tasks decides outside of rounds: in them, the fall-back places tasks meanwhile."""
    policy: Policy = brought.target()
    policy.name = brought.name
    policy.fast = bool(getattr(policy, "fast", True)) and TASKS in wants_of(policy)
    return policy


def _checked_score(brought: Brought, filters: tuple[Filter, ...]) -> Offer:
    error = brought.error
    if not error and not isinstance(brought.target, Score):
        error = f"{brought.target!r} is not a shunter.planning.score.scores.Score"
    return Offer(brought.name, "score", brought.source, partial(_plan_by, brought.target, filters), error)


def _checked_filter(brought: Brought) -> Offer:
    error = brought.error
    if not error and not isinstance(brought.target, Filter):
        error = f"{brought.target!r} is not a shunter.planning.filter.filters.Filter"
    return Offer(brought.name, "filter", brought.source, error=error)

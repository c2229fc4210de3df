"""The planner's explanations as REST answers show them: why a job waits, what would start it, and what a plan would
do."""

from __future__ import annotations

from typing import Any

import msgspec


class ReasonView(msgspec.Struct, kw_only=True):
    text: str
    nodes: int
    examples: list[str] = []


class SuggestionView(msgspec.Struct, kw_only=True):
    """One change that would start the job now, verified by the planner. `field` is in the manifest, or names the object
    outside of it that has to change (`node.NAME.cordon`, `queue.NAME.running_max`)."""

    field: str
    before: Any
    after: Any  # null: without it
    text: str
    nodes: int = 0  # on which a task would fit then
    starts: int = 0  # tasks that would start at once
    preempts: int = 0  # tasks of others that would have to end first


class StartView(msgspec.Struct, kw_only=True):
    """When the next task is expected to start; null if unknown. `basis` explains the estimate."""

    at: str | None
    basis: str


class WhyView(msgspec.Struct, kw_only=True):
    name: str
    state: str
    sentence: str
    counts: dict[str, int]
    reasons: list[ReasonView] = []
    suggestions: list[SuggestionView] = []  # the smallest change first
    start: StartView | None = None


class PlannedPlacementView(msgspec.Struct, kw_only=True):
    node: str
    count: int
    group: str = "main"


class PlannedJobView(msgspec.Struct, kw_only=True):
    """What would happen to one job of a plan."""

    name: str
    namespace: str
    verdict: str  # starts | waits | updates | unchanged | kept
    sentence: str
    count: int
    starts: int
    waits: int
    placements: list[PlannedPlacementView] = []
    reasons: list[ReasonView] = []
    stops: int = 0  # running tasks of the job that an update stops at once
    replaces: int = 0  # tasks that the whole update replaces, in all its steps


class PlannedPreemptionView(msgspec.Struct, kw_only=True):
    name: str  # the job whose tasks would end
    namespace: str
    node: str
    count: int


class PlannedObjectView(msgspec.Struct, kw_only=True):
    """What would happen to one Testbed, BatchJob or Scheduling of a plan."""

    kind: str
    name: str
    namespace: str
    action: str  # created | configured | unchanged
    verdict: str  # ready | starts | waits | fails
    state: str  # of the object after that
    sentence: str
    reasons: list[ReasonView] = []


class PlanView(msgspec.Struct, kw_only=True):
    """What a submit of these jobs, or an apply of these objects, would do now. Nothing has changed."""

    starts: bool  # everything would start
    sentence: str
    state_version: int
    policy: str
    jobs: list[PlannedJobView]
    preemptions: list[PlannedPreemptionView] = []
    objects: list[PlannedObjectView] = []

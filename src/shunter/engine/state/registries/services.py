"""What the engine must remember of services and of jobs that run everywhere, beside their pieces: how far an update is,
which version was good, and which instances are down. `engine.state.apply_services` writes it,
`engine.services.reconcile` reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from shunter.engine.state.records import Group, Job
    from shunter.planning.filter.node_ledger import Ledger
    from shunter.planning.view import BoolArray

STARTING, STEADY, STALLED = "starting", "steady", "stalled"
UPDATING, ROLLING_BACK, RESTARTING = "updating", "rolling back", "restarting"
UNDER_WAY = frozenset({UPDATING, ROLLING_BACK, RESTARTING})
PAST_MAX = 100  # replaced tasks that a job remembers


class Version(msgspec.Struct, array_like=True, frozen=True):
    """A whole spec of a job, to go back to."""

    number: int
    groups: bytes
    options: bytes
    priority: int
    labels: dict[str, str]


class PastTask(msgspec.Struct, array_like=True, frozen=True):
    """A task that was replaced and has left its job."""

    group: str
    index: int
    piece: int
    state: int
    attempt: int
    node: int
    exit_code: int
    started_ms: int
    ended_ms: int
    log: int
    reason: str


class Lasting(msgspec.Struct, array_like=True):
    """`floors` says which pieces are to be replaced although their spec is the present one: those numbered below the
    floor of their group ("web"), or of their instance ("web/3")."""

    status: str = STARTING
    reason: str = ""
    began_ms: int = 0
    first_piece: int = 0  # the first that was added since the update began, or those that it overtook
    node: int = 0  # only instances on this node follow the present version; 0 means all
    good: Version | None = None  # the last one by which all of it ran well
    before: Version | None = None  # the good one before that
    floors: dict[str, int] = {}
    down: dict[str, None] = {}
    added_ms: dict[int, int] = {}  # of each piece that was added, or when its job was released since
    past: list[PastTask] = []

    def is_floored(self, group: str, index: int, piece: int) -> bool:
        if not self.floors:
            return False
        return piece < max(self.floors.get(group, 0), self.floor(group, index))

    def floor(self, group: str, index: int) -> int:
        """Of an instance that was restarted by itself; else 0."""
        return self.floors.get(f"{group}/{index}", 0) if self.floors else 0

    def asked_ms(self, piece: int) -> int:
        """When a piece was asked for: as it was added, or when an update that came later left it as it is."""
        return max(self.added_ms.get(piece, 0), self.began_ms)

    def is_down(self, group: str, index: int) -> bool:
        return bool(self.down) and f"{group}/{index}" in self.down


@dataclass(slots=True)
class LastingBook:
    jobs: dict[int, Lasting] = field(default_factory=dict)
    # Not part of the committed state, but worked out from it:
    everywhere: dict[int, Job] = field(default_factory=dict)  # jobs with one task on each matching node
    homes: dict[int, dict[tuple[str, int], list[Group]]] = field(default_factory=dict)  # job -> (group, node) -> pieces
    alarms: dict[int, int] = field(default_factory=dict)  # job -> when it is looked at next
    beside: dict[tuple[int, str], BoolArray] = field(
        default_factory=dict
    )  # (job, group) -> of `engine.placement.colocation`
    beside_tick: int = -1  # of the nodes, when that was looked at
    ledger: Ledger | None = None  # of `engine.services.per_node`, for asking which nodes match

    def adopt(self, group: Group) -> None:
        """A piece on a node of its own, of a job that runs everywhere."""
        homes = self.homes.setdefault(group.job.id, {})
        homes.setdefault((group.spec.name, group.node), []).append(group)

    def drop(self, group: Group) -> None:
        homes, key = self.homes[group.job.id], (group.spec.name, group.node)
        homes[key].remove(group)
        if not homes[key]:
            del homes[key]
        if not homes:
            del self.homes[group.job.id]

    def end(self, job_id: int) -> None:
        for index in (self.jobs, self.everywhere, self.homes, self.alarms):
            index.pop(job_id, None)

    def appliers(self) -> Mapping[type, Callable[[Any], None]]:
        return {}  # its changes need the jobs: see `engine.state.apply_services`

    def dump(self) -> list[list[Any]]:
        return [
            [job_id, msgspec.to_builtins(self.jobs[job_id], builtin_types=(bytes,))] for job_id in sorted(self.jobs)
        ]

    def load(self, dump: list[list[Any]]) -> None:
        self.jobs = {job_id: msgspec.convert(each, Lasting) for job_id, each in dump}

"""The managers of a cluster as REST answers show them."""

from __future__ import annotations

import msgspec

LEADER = "leader"
FOLLOWER = "follower"

API = "api"  # serves clients
SCHEDULER = "scheduler"  # may lead: decides and commits
WATCHER = "watcher"  # takes workers
ROLES = (API, SCHEDULER, WATCHER)


class ManagerView(msgspec.Struct, kw_only=True):
    name: str
    role: str  # leader | follower
    url: str
    version: str  # of the software
    state_version: int | None = None  # of the committed state that it has; null: it did not answer
    lag_s: float | None = None  # how old its state may be; 0 for the leader; null: it did not answer
    roles: list[str] = msgspec.field(default_factory=lambda: list(ROLES))  # what it does: api, scheduler, watcher
    workers: int | None = None  # whose streams end at it; null: it did not answer


class ManagerPage(msgspec.Struct):
    items: list[ManagerView]
    next: str | None
    total: int


class SteppingDown(msgspec.Struct):
    status: str

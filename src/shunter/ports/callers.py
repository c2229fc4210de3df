"""Who asks the gateway, and what of: callers, and references to jobs and tasks. Used by `ports.gateway`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the user that a token stands for."""

    user: str


@dataclass(frozen=True, slots=True)
class JobReference:
    """Which run of which job: by id, or by name; `run` None means the newest."""

    namespace: str
    name: str = ""
    run: int | None = None
    id: int | None = None  # when set, name and run say nothing


@dataclass(frozen=True, slots=True)
class TaskReference:
    """Which task of a job: the index that people see, and its group where the job has several. With a `piece`, one that
    stood for that instance of a service earlier."""

    index: int
    group: str | None = None
    piece: int | None = None

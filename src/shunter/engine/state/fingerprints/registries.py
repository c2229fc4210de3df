"""What `engine.state.fingerprints.fingerprint` compares of the books of the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.engine.state.fingerprints.compared_fields import Facts, Sight
from shunter.engine.state.registries.cluster import ClusterBook
from shunter.engine.state.registries.dead_letters import DeadBook
from shunter.engine.state.registries.dependencies import EdgeBook
from shunter.engine.state.registries.durations import DurationBook
from shunter.engine.state.registries.flags import FlagBook
from shunter.engine.state.registries.moves import MoveBook
from shunter.engine.state.registries.objects import ObjectBook
from shunter.engine.state.registries.queues import QueueBook
from shunter.engine.state.registries.services import LastingBook
from shunter.engine.state.registries.templates import Template, TemplateBook

_CACHE = "a cache: worked out when somebody asks"


def _items(name: str) -> Callable[[Sight, Any], list[tuple[Any, Any]]]:
    """Of a mapping, in its order."""
    return lambda _, book: list(getattr(book, name).items())


def _inner(name: str) -> Callable[[Sight, Any], dict[Any, dict[Any, Any]]]:
    """Of a mapping of mappings; their order decides nothing."""
    return lambda _, book: {key: dict(inner) for key, inner in getattr(book, name).items()}


TEMPLATE = Facts(
    Template,
    plain=(
        "id", "namespace", "name", "body", "user", "set_ms", "is_paused", "fired_ms", "last_job", "skipped_ms",
        "skipped_because", "next_ms",
    ),
    left_out={"spec": "decoded from the body"},
)  # fmt: skip

CLUSTER = Facts(ClusterBook, plain=("values",))
QUEUES = Facts(QueueBook, plain=("queues",))
DURATIONS = Facts(DurationBook, told={"_means": _items("_means")})
EDGES = Facts(
    EdgeBook,
    told={
        "_targets": lambda _, book: [(job, list(edges.items())) for job, edges in book._targets.items()],
        "_dependents": lambda _, book: {job: book.dependents(job) for job in book._dependents},
        "_settled": _inner("_settled"),
    },
)
FLAGS = Facts(FlagBook, told={"_flags": lambda _, book: {job: list(flags) for job, flags in book._flags.items()}})
TEMPLATES = Facts(
    TemplateBook,
    told={
        "by_id": lambda sight, book: [TEMPLATE.of(sight, each) for each in book.by_id.values()],
        "_by_name": lambda _, book: {name: template.id for name, template in book._by_name.items()},
    },
)
DEAD = Facts(DeadBook, plain=("_last",), told={"letters": _items("letters")})
LASTING = Facts(
    LastingBook,
    told={
        "jobs": lambda _, book: book.dump(),
        "everywhere": lambda _, book: list(book.everywhere),
        "homes": lambda _, book: {
            job: {key: [piece.number for piece in pieces] for key, pieces in homes.items()}
            for job, homes in book.homes.items()
        },
    },
    left_out={
        "alarms": "timers of one life: all are set anew in the next",
        "beside": _CACHE,
        "beside_tick": _CACHE,
        "ledger": _CACHE,
    },
)
MOVES = Facts(MoveBook, told={"bound": _items("bound")}, left_out={"_ledger": _CACHE})
OBJECTS = Facts(
    ObjectBook,
    plain=("revision", "next_uid", "_names", "applications", "submitted"),
    told={
        **{name: _items(name) for name in ("testbeds", "batch_jobs", "schedulings")},
        "claimed": lambda _, book: {by: list(jobs) for by, jobs in book.claimed.items()},
        **{name: _inner(name) for name in ("users", "asking", "naming", "aiming")},
    },
    left_out={
        "_nodes": "the columns of nodes, which the state has too",
        "_tables": "the objects by kind, each of which is an attribute too",
        "recent": "what watchers can resume from in this life",
        "stirred": "what is to be looked at: after recovery all is",
        "memories": _CACHE,
        "tried": _CACHE,
    },
)

BOOKS: dict[str, Facts[Any]] = {
    "cluster": CLUSTER,
    "queues": QUEUES,
    "durations": DURATIONS,
    "edges": EDGES,
    "flags": FLAGS,
    "templates": TEMPLATES,
    "dead": DEAD,
    "lasting": LASTING,
    "moves": MOVES,
    "objects": OBJECTS,
}
ALL_OF_BOOKS: tuple[Facts[Any], ...] = (TEMPLATE, *BOOKS.values())

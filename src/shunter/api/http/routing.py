"""Routes, and the router that finds the route of a path. Used by the ASGI application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from shunter.api.http.exchange import Exchange
from shunter.api.http.parameters import Parameter, Query
from shunter.ports.gateway import CallerGateway

BASE = "/api/v1"
NO_QUERY = Query(())


# A handler gets the gateway of the request's caller. It returns the body of the route's first answer, or None if it has
# answered by itself or there is no body.
Handler = Callable[[CallerGateway, Exchange], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """One kind of answer of a route. `shape` is a view, or None for no body or raw bytes."""

    status: int
    shape: Any = None
    content_type: str = "application/json"
    description: str = "done"


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body that a route reads: a view, or a named component of the OpenAPI document, in any of `content_types`."""

    shape: Any = None
    component: str = ""
    content_types: tuple[str, ...] = ("application/json",)
    required: bool = True


class AnsweredBy(Enum):
    """Which manager answers a request."""

    METHOD = auto()  # GET: any manager; everything else: the leader
    LEADER = auto()  # the leader, because it knows what is not committed: samples, logs, sessions, decisions
    RECEIVER = auto()  # whichever manager gets it, because the request is about that one


@dataclass(frozen=True, slots=True)
class Route:
    """One row of the table in `api.routes.table`: what a client must know, and the handler."""

    method: str
    path: str  # "/api/v1/jobs/{job}"
    name: str
    summary: str
    handle: Handler
    responses: tuple[ResponseSpec, ...]
    errors: tuple[int, ...] = ()
    query: Query = NO_QUERY
    headers: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    public: bool = False  # open to all, without a token
    answered_by: AnsweredBy = AnsweredBy.METHOD
    is_tagged: bool = False  # its answer shows committed state alone, not the time and no samples, so it has an ETag

    @property
    def needs_leader(self) -> bool:
        """Whether a follower must forward it. A follower answers what can be read from the committed state."""
        if self.answered_by is AnsweredBy.METHOD:
            return self.method != "GET"
        return self.answered_by is AnsweredBy.LEADER


@dataclass(frozen=True, slots=True)
class RouteMatch:
    methods: dict[str, Route]
    path_params: dict[str, str]

    @property
    def allowed(self) -> str:
        implied = ["HEAD"] if "GET" in self.methods else []
        return ", ".join([*self.methods, *implied, "OPTIONS"])


class Router:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._fixed: dict[str, dict[str, Route]] = {}
        self._patterns: dict[int, list[tuple[list[str], dict[str, Route]]]] = {}  # by the number of segments
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        for path, methods in by_path.items():
            if "{" in path:
                segments = path.split("/")
                self._patterns.setdefault(len(segments), []).append((segments, methods))
            else:
                self._fixed[path] = methods

    def find(self, path: str) -> RouteMatch | None:
        methods = self._fixed.get(path)
        if methods is not None:
            return RouteMatch(methods, {})
        segments = path.split("/")
        for pattern, methods in self._patterns.get(len(segments), ()):
            path_params = _match(pattern, segments)
            if path_params is not None:
                return RouteMatch(methods, path_params)
        return None


def _match(pattern: list[str], segments: list[str]) -> dict[str, str] | None:
    path_params = {}
    for wanted, segment in zip(pattern, segments, strict=True):
        if wanted.startswith("{"):
            path_params[wanted[1:-1]] = segment
        elif wanted != segment:
            return None
    return path_params

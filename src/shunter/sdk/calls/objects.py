"""What a client can be asked about Testbeds, BatchJobs and Schedulings, as conversations; and how a watch goes on when
its connection breaks, or when it was away for too long. Both clients take their meaning from here, as from
`sdk.calls.jobs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from shunter.model.objects.objects import API_VERSIONS, BATCH_JOB, PLURALS
from shunter.model.rest.object_views import (
    AppliedPage,
    AppliedView,
    ObjectList,
    ObjectView,
    PastPage,
    PastSchedulingView,
    WatchLine,
)
from shunter.sdk.calls.requests import JSON, path_with
from shunter.sdk.core import Core
from shunter.sdk.errors import ConnectionLost, Gone, Unavailable
from shunter.sdk.manifests import Manifest, Source, read_manifests
from shunter.sdk.responses import decode
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Emit, Read, Request

BASE = f"/apis/{API_VERSIONS[0]}"
ALL_NAMESPACES = "*"
ALL_KINDS = "objects"
PAGE_MAX = 1_000
IDLE_MAX_S = 60.0  # without even a heartbeat, a watch is taken up anew
RESUME_DELAY_S = 0.1
MERGE_PATCH = ("Content-Type", "application/merge-patch+json")


def apply(core: Core, documents: Source | Iterable[Manifest], namespace: str | None) -> Conversation[list[AppliedView]]:
    manifests = read_manifests(documents) if isinstance(documents, Mapping | str | Path) else list(documents)
    path = path_with("/apply", [("namespace", namespace or core.namespace)])
    headers = (JSON, ("Idempotency-Key", core.new_key()))
    body = msgspec.json.encode({"items": expand_lists(manifests)})
    page = yield from core.fetch(Request("POST", path, headers, body), AppliedPage)
    return page.items


def expand_lists(documents: Iterable[Manifest]) -> list[Manifest]:
    """A list that was printed is all of its items: `get -o yaml` prints one."""
    found: list[Manifest] = []
    for document in documents:
        items = document.get("items")
        found += items if isinstance(items, list) and "spec" not in document else [document]
    return found


def get(core: Core, kind: str, name: str, namespace: str | None) -> Conversation[ObjectView]:
    return core.fetch(Request("GET", _path(core, kind, name, namespace)), ObjectView)


def list_objects(core: Core, kind: str | None, namespace: str | None) -> Conversation[list[ObjectView]]:
    page = yield from core.fetch(_WatchTarget(core, kind, None, namespace).list_request(), ObjectList)
    return page.items


def delete(core: Core, kind: str, name: str, namespace: str | None, version: int | None) -> Conversation[ObjectView]:
    path = path_with(_path(core, kind, name, namespace), [("resourceVersion", version)])
    return core.fetch(Request("DELETE", path), ObjectView)


def patch(core: Core, kind: str, name: str, changes: Manifest, namespace: str | None) -> Conversation[ObjectView]:
    request = Request("PATCH", _path(core, kind, name, namespace), (MERGE_PATCH,), msgspec.json.encode(changes))
    return core.fetch(request, ObjectView)


def write_external(
    core: Core, name: str, data: Mapping[str, Iterable[Mapping[str, str]]], namespace: str | None
) -> Conversation[ObjectView]:
    path = _path(core, BATCH_JOB, name, namespace) + "/external"
    body = msgspec.json.encode({key: list(rows) for key, rows in data.items()})
    return core.fetch(Request("PATCH", path, (JSON,), body), ObjectView)


def reset(core: Core, name: str, namespace: str | None) -> Conversation[ObjectView]:
    path = _path(core, BATCH_JOB, name, namespace) + "/reset"
    return core.fetch(Request("POST", path, (JSON,)), ObjectView)


def past_schedulings(core: Core, name: str | None, namespace: str | None, limit: int | None) -> Conversation[int]:
    """Emits PastSchedulingViews, newest first."""
    return core.pages(partial(_past_page, namespace or core.namespace, name), PastPage, PAGE_MAX, limit)


def past_scheduling(core: Core, uid: str) -> Conversation[PastSchedulingView]:
    return core.fetch(Request("GET", f"/schedulings/past/{quote(str(uid), safe='')}"), PastSchedulingView)


def _past_page(namespace: str, name: str | None, size: int, cursor: str | None) -> Request:
    query = [("namespace", namespace), ("name", name), ("limit", size), ("after", cursor)]
    return Request("GET", path_with("/schedulings/past", query))


def _path(core: Core, kind: str, name: str, namespace: str | None) -> str:
    effective_namespace = quote(namespace or core.namespace, safe="")
    return f"{BASE}/namespaces/{effective_namespace}/{_plural(kind)}/{quote(name, safe='')}"


def _plural(kind: str) -> str:
    from shunter.model.objects.object_manifests import parse_kind  # the tables of all fields, which few commands need

    found = parse_kind(kind)
    return next(plural for plural, each in PLURALS.items() if each == found)


# ---- watching ----


def watch(
    core: Core, kind: str | None, name: str | None, namespace: str | None, after: int | None, present: bool
) -> Conversation[None]:
    """Emits WatchLines without end: every change behind version `after`, or from now on; with `present`, first what is
    there, as ADDED. Where the cluster does not remember the changes since the last line, what is there is compared with
    what was seen instead."""
    target, observed = _WatchTarget(core, kind, name, namespace), _ObservedState()
    if after is None:
        changes_seen = observed.compare((yield from core.fetch(target.list_request(), ObjectList)))
        for line in changes_seen if present else ():
            yield Emit(line)
    else:
        observed.version = after
    yield from _follow(core, target, observed)


def list_and_watch(core: Core, namespace: str | None) -> Conversation[None]:
    """Emits what is there of all kinds as one ObjectList, then WatchLines without end."""
    target, observed = _WatchTarget(core, None, None, namespace), _ObservedState()
    page = yield from core.fetch(target.list_request(), ObjectList)
    observed.compare(page)
    yield Emit(page)
    yield from _follow(core, target, observed)


def _follow(core: Core, target: _WatchTarget, observed: _ObservedState) -> Conversation[None]:
    patience = core.patience()
    while True:
        try:
            yield from core.exchange(target.watch_request(observed.version), stream=True, patience=patience)
        except Gone:
            for line in observed.compare((yield from core.fetch(target.list_request(), ObjectList))):
                yield Emit(line)
            continue
        partial = b""
        try:
            while data := (yield Read(IDLE_MAX_S)):
                patience.reset()
                *whole, partial = (partial + data).split(b"\n")
                for line in [decode(text, WatchLine) for text in whole if text]:
                    observed.record(line)
                    yield Emit(line)
        except (ConnectionLost, TimeoutError):
            pass  # the same as a stream that ends: go on with the next one
        yield from core.back_off(_stream_ended(), patience, Deadline(core.clock))


@dataclass(frozen=True, slots=True)
class _WatchTarget:
    """What is looked at: a kind or all, a namespace or all, one name or all."""

    core: Core
    kind: str | None
    name: str | None
    namespace: str | None

    def list_request(self) -> Request:
        return Request("GET", path_with(self._path(), [("name", self.name)]))

    def watch_request(self, version: int) -> Request:
        query = [("name", self.name), ("watch", True), ("resourceVersion", version)]
        return Request("GET", path_with(self._path(), query))

    def _path(self) -> str:
        plural = ALL_KINDS if self.kind is None else _plural(self.kind)
        effective_namespace = self.namespace or self.core.namespace
        return (
            f"{BASE}/{plural}"
            if effective_namespace == ALL_NAMESPACES
            else f"{BASE}/namespaces/{quote(effective_namespace, safe='')}/{plural}"
        )


Key = tuple[str, str, str]


@dataclass(slots=True)
class _ObservedState:
    """What a watch has told so far, to go on from there."""

    version: int = 0
    _objects: dict[Key, ObjectView] = field(default_factory=dict)

    def record(self, line: WatchLine) -> None:
        self.version = line.object.resource_version
        if line.type == "DELETED":
            self._objects.pop(_key(line.object), None)
        else:
            self._objects[_key(line.object)] = line.object

    def compare(self, page: ObjectList) -> list[WatchLine]:
        """What must have happened for all to be as it is now."""
        current = {_key(each): each for each in page.items}
        lines = [WatchLine("DELETED", deleted) for key, deleted in self._objects.items() if key not in current]
        for key, each in current.items():
            known = self._objects.get(key)
            if known is None or known.metadata.get("uid") != each.metadata.get("uid"):
                lines.append(WatchLine("ADDED", each))
            elif known.resource_version != each.resource_version:
                lines.append(WatchLine("MODIFIED", each))
        self._objects = current
        self.version = int(page.metadata.resource_version)
        for line in lines[:-1]:
            line.more = True
        return lines


def _key(each: ObjectView) -> Key:
    return each.kind, each.namespace, each.name


def _stream_ended() -> Unavailable:
    error = Unavailable("the stream of changes ended")
    error.retry_after_s = RESUME_DELAY_S
    return error


def document_of(each: ObjectView) -> dict[str, Any]:
    """The object as REST has it, to print or to edit it."""
    document: dict[str, Any] = msgspec.to_builtins(each)
    return document

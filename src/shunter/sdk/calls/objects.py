"""Testbeds, BatchJobs and Schedulings: their paths, and the watch that resumes after a broken connection or a long
absence. Called by both clients and the CLI."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shunter.model.objects.objects import API_VERSIONS, PLURALS
from shunter.model.rest.object_views import ObjectList, ObjectView, WatchLine
from shunter.sdk.calls.requests import path_with, quoted
from shunter.sdk.core import Core
from shunter.sdk.errors import ConnectionLost, Gone, StreamEnded
from shunter.sdk.manifests import Manifest
from shunter.sdk.responses import decode
from shunter.sdk.retry import Deadline
from shunter.sdk.transport.steps import Conversation, Emit, Read, Request

BASE = f"/apis/{API_VERSIONS[0]}"
ALL_NAMESPACES = "*"
ALL_KINDS = "objects"
IDLE_MAX_S = 60.0  # a watch without even a heartbeat for so long is opened again
RESUME_DELAY_S = 0.1

_PLURAL_BY_KIND = {kind: plural for plural, kind in PLURALS.items()}


def expand_lists(documents: Iterable[Manifest]) -> list[Manifest]:
    """Replaces each list, such as `get -o yaml` prints, by its items."""
    found: list[Manifest] = []
    for document in documents:
        items = document.get("items")
        found += items if isinstance(items, list) and "spec" not in document else [document]
    return found


def document_of(each: ObjectView) -> dict[str, Any]:
    """The object as in REST, to print or to edit it."""
    document: dict[str, Any] = msgspec.to_builtins(each)
    return document


def object_path(kind: str, name: str, namespace: str) -> str:
    return f"{BASE}/namespaces/{quoted(namespace)}/{_plural(kind)}/{quoted(name)}"


def objects_path(kind: str | None, namespace: str) -> str:
    """All objects of one kind or of every kind, in one namespace or in all."""
    plural = ALL_KINDS if kind is None else _plural(kind)
    return f"{BASE}/{plural}" if namespace == ALL_NAMESPACES else f"{BASE}/namespaces/{quoted(namespace)}/{plural}"


def _plural(kind: str) -> str:
    if kind not in _PLURAL_BY_KIND:
        from shunter.model.objects.object_manifests import parse_kind  # loads the tables of all fields

        kind = parse_kind(kind)
    return _PLURAL_BY_KIND[kind]


# ---- watching ----


def watch(
    core: Core, kind: str | None, name: str | None, namespace: str | None, after: int | None, present: bool
) -> Conversation[None]:
    """Emits WatchLines without end: every change after version `after`, or from now on. With `present`, it emits first
    what exists, as ADDED. If the cluster has forgotten some changes, it compares what exists with what it emitted."""
    path, observed = path_with(objects_path(kind, namespace or core.namespace), [("name", name)]), _ObservedState()
    if after is None:
        changes_seen = observed.compare((yield from core.fetch(Request("GET", path), ObjectList)))
        for line in changes_seen if present else ():
            yield Emit(line)
    else:
        observed.version = after
    yield from _follow(core, path, observed)


def list_and_watch(core: Core, namespace: str) -> Conversation[None]:
    """Emits all objects of all kinds as one ObjectList, then WatchLines without end."""
    path, observed = objects_path(None, namespace), _ObservedState()
    page = yield from core.fetch(Request("GET", path), ObjectList)
    observed.compare(page)
    yield Emit(page)
    yield from _follow(core, path, observed)


def _follow(core: Core, path: str, observed: _ObservedState) -> Conversation[None]:
    patience = core.patience()
    while True:
        request = Request("GET", path_with(path, [("watch", True), ("resourceVersion", observed.version)]))
        try:
            yield from core.exchange(request, stream=True, patience=patience)
        except Gone:
            for line in observed.compare((yield from core.fetch(Request("GET", path), ObjectList))):
                yield Emit(line)
            continue
        partial = b""
        try:
            while data := (yield Read(IDLE_MAX_S)):
                patience.reset()
                *whole, partial = (partial + data).split(b"\n")
                for line in [decode(text, WatchLine) for text in whole if text]:
                    observed.record(line)
                    core.note_version(str(observed.version))
                    yield Emit(line)
        except (ConnectionLost, TimeoutError):
            pass  # the same as a stream that ends: open the next one
        yield from core.back_off(_stream_ended(), patience, Deadline(core.clock))


Key = tuple[str, str, str]


@dataclass(slots=True)
class _ObservedState:
    """What a watch has emitted so far."""

    version: int = 0
    _objects: dict[Key, ObjectView] = field(default_factory=dict)

    def record(self, line: WatchLine) -> None:
        self.version = line.object.resource_version
        if line.type == "DELETED":
            self._objects.pop(_key(line.object), None)
        else:
            self._objects[_key(line.object)] = line.object

    def compare(self, page: ObjectList) -> list[WatchLine]:
        """Returns the changes that lead from what was observed to this page."""
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


def _stream_ended() -> StreamEnded:
    error = StreamEnded("the stream of changes ended")
    error.retry_after_s = RESUME_DELAY_S
    return error

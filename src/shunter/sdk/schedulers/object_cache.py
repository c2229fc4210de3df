"""Tracks what a policy has seen over REST and produces deltas: each change once, never a part of a commit. Owned by
`rest_link`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.documents import read_object
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Object
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.model.protocol.scheduler_messages import Situation, ViewDelta
from shunter.model.rest.object_views import ObjectList, ObjectView, WatchLine

BUDGET = 0  # tasks are not placed over REST
_FIELDS: dict[type, str] = {Testbed: "testbeds", BatchJob: "batch_jobs", Scheduling: "schedulings"}

_Key = tuple[type, ObjectName]


class ObjectCache:
    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._number = self._version = 0
        self._seen: dict[_Key, int] = {}  # revisions
        self._sent: dict[_Key, int] = {}  # uids
        self._changed: dict[_Key, Object | None] = {}  # seen and not told; None: it is gone

    def initial(self, page: ObjectList) -> Situation:
        """What is there, at the beginning, in the order in which it was made."""
        self._version = int(page.metadata.resource_version)
        for each in sorted(map(_read, page.items), key=lambda each: each.meta.uid):
            self._seen[_key(each)] = each.meta.revision
            self._changed[_key(each)] = each
        return self._flush(is_whole=True)

    def apply_change(self, line: WatchLine) -> Situation | None:
        """None while more is to come, or if all of it was known."""
        each, is_deleted = _read(line.object), line.type == "DELETED"
        key, revision = _key(each), each.meta.revision
        self._version = max(self._version, revision)
        if is_deleted and key in self._seen:
            del self._seen[key]
            self._changed[key] = None
        elif not is_deleted and revision > self._seen.get(key, 0):
            self._seen[key] = revision
            self._changed[key] = each
        return None if line.more or not self._changed else self._flush()

    def repeat(self) -> Situation:
        """Nothing is new but the time."""
        return self._situation()

    def _flush(self, **more: Any) -> Situation:
        fields: dict[str, list[Any]] = {}
        for key, each in self._changed.items():
            uid = None if each is None else each.meta.uid
            if self._sent.get(key, uid) != uid:  # gone, or another one of the same name
                fields.setdefault(f"{_FIELDS[key[0]]}_gone", []).append(key[1])
                del self._sent[key]
            if each is not None:
                fields.setdefault(_FIELDS[key[0]], []).append(each)
                self._sent[key] = each.meta.uid
        self._changed.clear()
        return self._situation(**fields, **more)

    def _situation(self, **fields: Any) -> Situation:
        self._number += 1
        return Situation(self._now(), BUDGET, ViewDelta(self._number, self._version, **fields))


def _read(view: ObjectView) -> Object:
    document = {"apiVersion": view.api_version, "kind": view.kind, "metadata": view.metadata, "spec": view.spec}
    return read_object({**document, "status": view.status})


def _key(each: Object) -> _Key:
    return type(each), each.meta.object_name

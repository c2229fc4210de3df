"""A scheduler's connection to the manager over REST: Testbeds, BatchJobs and Schedulings only, for schedulers that
decide what runs in which slots. It needs neither gRPC nor an extra port.

It holds a session (`/external/sessions`), whose token all its requests carry: two schedulers of one name cannot both
decide, and the manager records what was decided. This link does what the manager does for schedulers over gRPC: it
shows whole commits, and asks the policy again when it requested that."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from shunter.model.errors import Conflict, Invalid, NotFound, Problem, Rejected, ShunterError
from shunter.model.objects.documents import scheduling_spec
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import API_VERSIONS, SCHEDULING
from shunter.model.protocol.scheduler_messages import (
    OBJECTS,
    DecisionAnswer,
    DecisionRow,
    ItemRefusal,
    SchedulingRow,
    Situation,
)
from shunter.model.rest.external_views import SchedulerSessionView
from shunter.model.rest.object_views import ObjectList, WatchLine
from shunter.sdk.calls.objects import ALL_NAMESPACES, list_and_watch
from shunter.sdk.calls.requests import JSON, quoted
from shunter.sdk.client import Client
from shunter.sdk.core import Core
from shunter.sdk.endpoint import Finder
from shunter.sdk.errors import NotReachable
from shunter.sdk.retry import Deadline
from shunter.sdk.schedulers.links import Lease
from shunter.sdk.schedulers.object_cache import ObjectCache
from shunter.sdk.transport.blocking import Aborted, Transport
from shunter.sdk.transport.steps import Request

EXTERNAL = "/external"
NO_SESSIONS = Lease("", 3_600.0)  # of a manager before 0.3, which knows none
CLOSE_MAX_S = 2.0
ONLY_OBJECTS = "supports only objects, for a scheduler in lead mode"
NO_TASKS = "REST supports only creating and deleting Schedulings; use gRPC to place tasks"

_Item = ObjectList | WatchLine | ShunterError | None  # None: look at the clock


class RestLink:
    def __init__(self, find: Finder) -> None:
        find()  # a cluster that is not there is told at once
        self._core = Core(managers=find.managers)
        self._transport = Transport(find)
        self._client = Client(self._transport, self._core)
        self._watch_transport = Transport(find)
        self._items: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._cache = ObjectCache(time.time)
        self._wake_at: float | None = None
        self._path = ""  # of the session

    def watch(self, name: str, mode: str, wants: Sequence[str]) -> Iterator[tuple[Situation, Lease | None]]:
        if mode != "lead" or tuple(wants) != (OBJECTS,):
            fix = f"set in the policy wants = ('{OBJECTS}',), or use the gRPC transport"
            raise Invalid([Problem("transport", ONLY_OBJECTS, f"rest, {mode}, wants {', '.join(wants)}", fix)])
        lease: Lease | None = self._open(name)
        threading.Thread(target=self._read, daemon=True).start()
        while True:
            situation = self._next()
            if situation is not None:
                yield situation, lease
                lease = None

    def _open(self, name: str) -> Lease:
        body = json.dumps({"name": name}).encode()
        request = Request("POST", "/sessions", (JSON,), body, base=EXTERNAL)  # a second one ends the first
        try:
            opened = self._transport.perform(self._core.fetch(request, SchedulerSessionView))
        except NotFound:
            return NO_SESSIONS
        self._path = f"/sessions/{quoted(name)}"
        self._core.scheduler_token = opened.token
        return Lease(opened.token, opened.lease_seconds)

    def decide(self, token: str, row: DecisionRow) -> DecisionAnswer:
        """Withdrawals first: they may make room for what is to come. Raises Conflict when the session is over."""
        answer = self._decide(row)
        if answer.refusals:
            self.renew(token)
        return answer

    def _decide(self, row: DecisionRow) -> DecisionAnswer:
        refusals = [ItemRefusal(f"placements[{number}]", NO_TASKS) for number in range(len(row.placements))]
        refusals += [ItemRefusal(f"preemptions[{number}]", NO_TASKS) for number in range(len(row.preemptions))]
        if row.atomic:
            refusals += self._decide_atomically(row, is_possible=not refusals)
        else:
            for number, name in enumerate(row.withdrawals):
                refusals += _attempt(f"withdrawals[{number}]", partial(self._withdraw, name))
            for number, draft in enumerate(row.schedulings):
                refusals += _attempt(f"schedulings[{number}]", partial(self._apply, [draft]))
        again_ms = 0 if row.is_partial else row.again_in_ms
        if again_ms is not None:
            self._wake_at = time.monotonic() + again_ms / 1000
            self._items.put(None)
        return DecisionAnswer(row.based_on, refusals=refusals)

    def renew(self, _token: str) -> None:
        if self._path:
            self._transport.perform(self._core.send(Request("PUT", self._path, base=EXTERNAL)))

    def stop_watching(self) -> None:
        self._items.put(Conflict("the scheduler stops"))
        self._watch_transport.abort()

    def close(self) -> None:
        self.stop_watching()
        if self._path:
            deadline = Deadline.after(self._core.clock, CLOSE_MAX_S)
            with suppress(ShunterError, TimeoutError):
                end = Request("DELETE", self._path, repeatable=False, base=EXTERNAL)
                self._transport.perform(self._core.exchange(end, deadline=deadline))
        self._client.close()

    # ---- watching ----

    def _read(self) -> None:
        """In a thread of its own, so that `_next` can look at the clock as well."""
        try:
            for item in self._watch_transport.stream(list_and_watch(self._core, ALL_NAMESPACES)):
                self._items.put(item)
        except ShunterError as error:
            self._items.put(error)
        except Aborted:
            pass
        except Exception as error:  # otherwise the scheduler would wait forever
            self._items.put(NotReachable(f"the watch ended: {error!r}"))

    def _next(self) -> Situation | None:
        """The situation after the next whole commit, or the same again if it is time for that; None if neither."""
        wake_at = self._wake_at
        try:
            item = self._items.get(timeout=None if wake_at is None else max(wake_at - time.monotonic(), 0.0))
        except queue.Empty:
            self._wake_at = None
            return self._cache.repeat()
        if isinstance(item, ShunterError):
            raise item
        if item is None:
            return None
        situation = self._cache.initial(item) if isinstance(item, ObjectList) else self._cache.apply_change(item)
        if situation is not None:
            self._wake_at = None
        return situation

    # ---- deciding ----

    def _decide_atomically(self, row: DecisionRow, is_possible: bool) -> list[ItemRefusal]:
        """Schedulings are applied in one request, so all or none of them; withdrawals follow, if all are there."""
        refusals: list[ItemRefusal] = []
        for number, name in enumerate(row.withdrawals):
            refusals += _attempt(f"withdrawals[{number}]", partial(self._look_up, name))
        if not refusals and is_possible:
            refusals += _attempt("schedulings", partial(self._apply, row.schedulings)) if row.schedulings else []
        if not refusals and is_possible:
            for number, name in enumerate(row.withdrawals):
                refusals += _attempt(f"withdrawals[{number}]", partial(self._withdraw, name))
        return refusals

    def _apply(self, drafts: Iterable[SchedulingRow]) -> None:
        self._client.apply([_manifest(each) for each in drafts])

    def _withdraw(self, name: ObjectName) -> None:
        self._client.delete(SCHEDULING, name.name, name.namespace)

    def _look_up(self, name: ObjectName) -> None:
        self._client.get(SCHEDULING, name.name, name.namespace)


def _manifest(draft: SchedulingRow) -> dict[str, Any]:
    metadata = {"name": draft.name.name, "namespace": draft.name.namespace}
    spec = scheduling_spec(draft.spec)
    return {"apiVersion": API_VERSIONS[0], "kind": SCHEDULING, "metadata": metadata, "spec": spec}


def _attempt(item: str, action: Callable[[], None]) -> list[ItemRefusal]:
    try:
        action()
    except (Rejected, NotFound) as error:
        return [ItemRefusal(item, error.detail)]
    return []

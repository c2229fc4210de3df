"""Watches Testbeds, BatchJobs and Schedulings, renders each change once, and sends it to all subscribers of its topics.
One hub serves all connections of a manager; it watches only while connections exist."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import aclosing

import msgspec

from shunter.api.stomp.session import Subscription
from shunter.api.stomp.topics import Topic
from shunter.log import Log
from shunter.model.errors import ShunterError
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Object, ObjectEvent, kind_of
from shunter.model.rest.external_views import external_view
from shunter.ports.objects import ObjectPage, ObjectQuery, ObjectService

ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"
RETRY_S = 1.0
ALL_OBJECTS = ObjectQuery()

Enqueue = Callable[[str], object]
log = Log(__name__)
_encode = msgspec.json.Encoder().encode


class Hub:
    def __init__(self, objects: ObjectService) -> None:
        self._objects = objects
        self._subscribers: dict[Topic, dict[tuple[int, str], tuple[Subscription, Enqueue]]] = defaultdict(dict)
        # the revisions that subscribers know
        self._known_revisions: dict[tuple[str, ObjectName], int] | None = None
        self._number = 0  # of messages
        self._connections = 0
        self._watch_task: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    async def attach(self) -> None:
        """A connection begins. Returns when every later change will be published. `detach` must follow."""
        self._connections += 1
        if self._watch_task is None:
            self._watch_task = asyncio.get_running_loop().create_task(self._watch())
        try:
            await self._ready.wait()
        except BaseException:
            self.detach()
            raise

    def detach(self) -> None:
        self._connections -= 1
        if not self._connections and self._watch_task is not None:
            self._watch_task.cancel()
            self._watch_task, self._known_revisions = None, None
            self._ready = asyncio.Event()

    def subscribe(self, connection_id: int, subscription: Subscription, put: Enqueue) -> None:
        self._subscribers[subscription.topic][connection_id, subscription.id] = subscription, put

    def unsubscribe(self, connection_id: int, subscription: Subscription) -> None:
        subscribers = self._subscribers[subscription.topic]
        subscribers.pop((connection_id, subscription.id), None)
        if not subscribers:
            del self._subscribers[subscription.topic]

    @property
    def subscription_count(self) -> int:
        return sum(map(len, self._subscribers.values()))

    # ---- changes ----

    async def _watch(self) -> None:
        """Runs until cancelled. After a gap (changes came faster than they were read) it publishes the differences."""
        ready = self._ready
        while True:
            try:
                page = await self._objects.objects(ALL_OBJECTS)
                self._catch_up(page)
                events = await self._objects.watch(ALL_OBJECTS, page.revision)
                ready.set()
                async with aclosing(events):
                    async for event in events:
                        self._on_event(event)
            except ShunterError as error:
                log.warning("hub.watch_ended", error=error.detail)
            except Exception:
                log.exception("hub.failed")
            await asyncio.sleep(RETRY_S)

    def _catch_up(self, page: ObjectPage) -> None:
        previous, self._known_revisions = self._known_revisions, {}
        current = {(kind_of(each), each.meta.object_name): each for each in page.items}
        self._known_revisions = {key: each.meta.revision for key, each in current.items()}
        if previous is None:
            return
        for key, each in current.items():
            if key not in previous:
                self._publish(ADDED, key[0], each)
            elif previous[key] != each.meta.revision:
                self._publish(MODIFIED, key[0], each)
        for kind, name in previous.keys() - current.keys():
            self._publish_deleted(kind, name)

    def _on_event(self, event: ObjectEvent) -> None:
        assert self._known_revisions is not None
        key = event.kind, event.object.meta.object_name
        if event.action == DELETED:
            self._known_revisions.pop(key, None)
        else:
            self._known_revisions[key] = event.object.meta.revision
        self._publish(event.action, event.kind, event.object)

    def _publish(self, action: str, kind: str, each: Object) -> None:
        meta = each.meta
        self._send(Topic(meta.namespace, kind), lambda: {"action": action, "resource": meta.name})
        self._send(Topic(meta.namespace, kind, meta.name), lambda: {"action": action, "resource": external_view(each)})

    def _publish_deleted(self, kind: str, name: ObjectName) -> None:
        """For an object that was deleted during a gap: its last view is not known."""
        for topic in (Topic(name.namespace, kind), Topic(name.namespace, kind, name.name)):
            resource = name.name if topic.name is None else {"name": name.name}
            self._send(topic, lambda resource=resource: {"action": DELETED, "resource": resource})  # type: ignore[misc]

    def _send(self, topic: Topic, render: Callable[[], object]) -> None:
        subscribers = self._subscribers.get(topic)
        if not subscribers:
            return
        self._number += 1
        body = _encode(render())
        head = f"message-id:{self._number}\ncontent-type:application/json\ncontent-length:{len(body)}\n"
        tail = f"{head}\n{body.decode()}\0"
        acknowledged_tail = f"ack:{self._number}\n{tail}"
        for subscription, put in subscribers.values():
            if not subscription.reader.sees(topic.namespace):  # as if nothing ever changed there
                continue
            put(subscription.head + (acknowledged_tail if subscription.is_acknowledged else tail))

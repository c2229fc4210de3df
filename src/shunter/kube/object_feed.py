"""The changes of all Testbeds, BatchJobs and Schedulings, as watchers get them: a bounded memory of what the watches of
the API server have told. Used by `kube.object_service`.

The order within a kind is that of Kubernetes. Changes of different kinds come by different watches, so their order may
differ by what happens at the same moment."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator

from shunter.kube.client.api import KubeApi
from shunter.kube.client.mirror import RETRY_S
from shunter.kube.custom_objects import CustomObject, read_custom_object
from shunter.kube.resources import OBJECTS
from shunter.log import Log
from shunter.model.errors import Gone, ShunterError
from shunter.model.objects.objects import ObjectEvent

EVENTS_MAX = 1_000  # that are remembered
_ACTIONS = ("ADDED", "MODIFIED", "DELETED")

log = Log(__name__)


class ObjectFeed:
    def __init__(self, api: KubeApi, events_max: int) -> None:
        self.floor = self.last = 0  # changes after the floor are remembered, up to the last
        self._api, self._events_max = api, events_max
        self._events: deque[ObjectEvent] = deque()
        self._changed = asyncio.Condition()
        self.is_ready = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled. A watch that has missed something makes everything before forgotten."""
        while True:
            try:
                versions = {kind: (await self._api.list(resource))[1] for kind, resource in OBJECTS.items()}
                self._events.clear()
                self.floor = self.last = max(map(int, versions.values()))
                self.is_ready.set()
                async with asyncio.TaskGroup() as group:
                    for kind, version in versions.items():
                        group.create_task(self._watch(kind, version))
            except* ShunterError as group_error:
                log.warning("feed.failed", error=group_error.exceptions[0])
                await asyncio.sleep(RETRY_S)

    def follow(self, after: int) -> AsyncGenerator[ObjectEvent, None]:
        """Raises Gone at once if changes after that revision are forgotten."""
        if after < self.floor:
            raise Gone(f"changes after resourceVersion {after} are forgotten; list again, and watch from there")
        return self._follow(after)

    async def _follow(self, after: int) -> AsyncGenerator[ObjectEvent, None]:
        while True:
            if after < self.floor:
                raise Gone("the client read changes too slowly; list again, and watch from there")
            for event in [each for each in self._events if each.revision > after]:
                after = max(after, event.revision)
                yield event
            async with self._changed:
                while self.last <= after and after >= self.floor:
                    await self._changed.wait()

    async def _watch(self, kind: str, version: str) -> None:
        while True:
            async for event in self._api.watch(OBJECTS[kind], version):
                version = event.document["metadata"]["resourceVersion"]
                if event.type in _ACTIONS:
                    await self._add(kind, event.type, read_custom_object(event.document))

    async def _add(self, kind: str, action: str, found: CustomObject) -> None:
        if found.object is None:
            return
        async with self._changed:
            self._events.append(ObjectEvent(found.version, action, kind, found.object))
            self.last = max(self.last, found.version)
            if len(self._events) > self._events_max:
                self.floor = self._events.popleft().revision
            self._changed.notify_all()

"""The sub-gateway `objects` where Testbeds, BatchJobs and Schedulings live outside of this cluster's state, as on
Kubernetes. Implements `ports.objects.ObjectService`: it checks what the caller may see, and asks the other service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from shunter.gateway.objects.objects import check_bound
from shunter.gateway.scope import Scope
from shunter.model.errors import NotFound
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, Object, ObjectEvent
from shunter.model.objects.past_schedulings import PastScheduling, PastSchedulingPage
from shunter.ports.objects import Applied, ObjectPage, ObjectQuery, ObjectService, PastQuery


class RemoteObjects:
    def __init__(self, service: ObjectService, scope: Scope) -> None:
        self._service, self._scope = service, scope

    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        self._scope.require_objects(read_objects(documents, default_namespace=namespace))
        return await self._service.apply(documents, namespace=namespace)

    async def object(self, kind: str, name: ObjectName) -> Object:
        if not self._scope.sees(name.namespace):
            raise NotFound(f"{kind} '{name}' does not exist")
        return await self._service.object(kind, name)

    async def objects(self, query: ObjectQuery) -> ObjectPage:
        page = await self._service.objects(query)
        items = tuple(each for each in page.items if self._scope.sees(each.meta.namespace))
        return ObjectPage(items, page.revision)

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        check_bound(self._scope, await self.object(kind, name))
        return await self._service.delete(kind, name, revision)

    async def watch(self, query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        return self._seen(await self._service.watch(query, after))

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> BatchJob:
        await self.object(BATCH_JOB, name)
        return await self._service.write_external(name, data)

    async def reset(self, name: ObjectName) -> BatchJob:
        await self.object(BATCH_JOB, name)
        return await self._service.reset(name)

    async def past_schedulings(self, query: PastQuery) -> PastSchedulingPage:
        return await self._service.past_schedulings(replace(query, visible=self._scope.visible))

    async def past_scheduling(self, uid: int) -> PastScheduling:
        found = await self._service.past_scheduling(uid)
        if not self._scope.sees(found.namespace):
            raise NotFound(f"Scheduling with uid {uid} is not in history")
        return found

    async def _seen(self, events: AsyncGenerator[ObjectEvent, None]) -> AsyncGenerator[ObjectEvent, None]:
        async with aclosing(events):
            async for event in events:
                if self._scope.sees(event.object.meta.namespace):
                    yield event

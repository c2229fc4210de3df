"""A copy of all objects of one resource, kept up to date by a watch. What we write ourselves is put in at once, so that
a reconcile never decides on a state that it has itself changed already."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from shunter.kube.client.api import KubeApi, Resource
from shunter.log import Log
from shunter.model.errors import Gone, ShunterError
from shunter.model.objects.object_meta import Document, ObjectName

RETRY_S = 1.0
GONE_MAX = 1_000  # answers to our own writes come within seconds

log = Log(__name__)


class Mirrored(Protocol):
    @property
    def name(self) -> ObjectName: ...

    @property
    def version(self) -> int: ...


Item = TypeVar("Item", bound=Mirrored)
OnChange = Callable[[Item | None, Item | None], None]  # before, after; None: there is none


class Mirror(Generic[Item]):
    def __init__(
        self, api: KubeApi, resource: Resource, read: Callable[[Document], Item], on_change: OnChange[Item]
    ) -> None:
        self.items: dict[ObjectName, Item] = {}
        self._api, self._resource, self._read, self._on_change = api, resource, read, on_change
        self._gone: dict[ObjectName, int] = {}  # the versions at which objects went, to ignore what is older
        self.is_synced = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                version = await self._list()
                self.is_synced.set()
                while True:
                    version = await self._watch(version)
            except Gone:
                log.info("mirror.expired", resource=self._resource.plural)
            except ShunterError as error:
                log.warning("mirror.failed", resource=self._resource.plural, error=error)
                await asyncio.sleep(RETRY_S)
            except Exception:  # a document that we cannot read must not end the operator
                log.exception("mirror.broken", resource=self._resource.plural)
                await asyncio.sleep(RETRY_S)

    def put(self, document: Document) -> Item:
        """The answer to a write of our own."""
        item = self._read(document)
        self._put(item)
        return self.items.get(item.name, item)

    async def _list(self) -> str:
        documents, version = await self._api.list(self._resource)
        found = [self._read(document) for document in documents]
        for name in self.items.keys() - {item.name for item in found}:
            if self.items[name].version <= int(version):
                self._drop(name, int(version))
        for item in found:
            self._put(item)
        return version

    async def _watch(self, version: str) -> str:
        """Returns the version up to which all changes are known."""
        async for event in self._api.watch(self._resource, version):
            version = event.document["metadata"]["resourceVersion"]
            if event.type == "DELETED":
                item = self._read(event.document)
                self._drop(item.name, item.version)
            elif event.type != "BOOKMARK":
                self._put(self._read(event.document))
        return version

    def _put(self, item: Item) -> None:
        before = self.items.get(item.name)
        if max(before.version if before is not None else 0, self._gone.get(item.name, 0)) >= item.version:
            return
        self._gone.pop(item.name, None)
        self.items[item.name] = item
        self._on_change(before, item)

    def _drop(self, name: ObjectName, version: int) -> None:
        before = self.items.get(name)
        if before is None or before.version > version:
            return
        del self.items[name]
        self._gone[name] = version
        if len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]
        self._on_change(before, None)

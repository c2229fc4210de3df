"""An API server in memory, with the rules that the operator relies on: versions, conflicts, watches, owners; and a
kubelet that starts what is bound."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

from shunter.kube.client.api import KubeApi, Resource, WatchEvent
from shunter.kube.resources import NODES, PODS
from shunter.model.errors import Conflict, Gone, NotFound, Unavailable
from shunter.model.objects.object_meta import Document, ObjectName

Key = tuple[str, str, str]  # plural, namespace, name


class FakeKubeApi(KubeApi):
    """Every change is an event that watches get. `fail` is called before each write and may raise."""

    def __init__(self) -> None:
        self.requests = self.writes = 0
        self.objects: dict[Key, Document] = {}
        self.events: list[tuple[int, str, str, Document]] = []
        self.forgotten = 0  # watches from before this version are gone
        self.fail: Callable[[str, str], None] = lambda _method, _path: None
        self.is_down = False  # it restarts: no request is answered, and watches have ended
        self.on_put: Callable[[], None] = lambda: None
        self.random: Random | None = None  # how long each request takes, in steps of the loop
        self.log: list[str] = []
        self._version, self._uids = 0, itertools.count(1)
        self._changed = asyncio.Condition()

    async def close(self) -> None:
        return None

    # ---- reading ----

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Document:
        await self._take_time()
        self._require_up()
        self.requests += 1
        return copy.deepcopy(self._find(resource, name, namespace))

    async def list(self, resource: Resource) -> tuple[list[Document], str]:
        self._require_up()
        self.requests += 1
        found = [each for (plural, _, _), each in self.objects.items() if plural == resource.plural]
        return copy.deepcopy(found), str(self._version)

    async def watch(self, resource: Resource, version: str) -> AsyncIterator[WatchEvent]:
        self.requests += 1
        last = int(version)
        while True:
            self._require_up()
            if last < self.forgotten:
                raise Gone("too old resource version")
            for number, type, plural, document in list(self.events):
                if number > last and plural == resource.plural:
                    await self._take_time()
                    yield WatchEvent(type, copy.deepcopy(document))
                last = max(last, number)
            async with self._changed:
                while self._version <= last and not self.is_down:
                    await self._changed.wait()

    # ---- writing ----

    async def create(
        self, resource: Resource, document: Document, subresource: str = "", *, is_dry_run: bool = False
    ) -> Document:
        assert not is_dry_run
        await self._take_time()
        self._begin("POST", resource, document, subresource)
        if subresource == "binding":
            return await self._bind(document)
        key = _key(resource, document)
        if key in self.objects:
            raise Conflict(f"{key} already exists")
        made = copy.deepcopy(document)
        made["metadata"] |= {
            "uid": f"00000000-0000-0000-0000-{next(self._uids):012d}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "generation": 1,
        }
        if resource == PODS:
            made.setdefault("status", {"phase": "Pending"})
        return await self._put(key, made, "ADDED")

    async def replace(
        self, resource: Resource, document: Document, subresource: str = "", *, is_dry_run: bool = False
    ) -> Document:
        assert not is_dry_run
        await self._take_time()
        self._begin("PUT", resource, document, subresource)
        key = _key(resource, document)
        before = self._find(resource, document["metadata"]["name"], document["metadata"].get("namespace"))
        if document["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]:
            raise Conflict("the object has been modified")
        parts = {"status": document.get("status")} if subresource else {"spec": document.get("spec")}
        after = {**before, **copy.deepcopy(parts)}
        if after.get("spec") != before.get("spec"):
            after["metadata"] = {**before["metadata"], "generation": before["metadata"]["generation"] + 1}
        return await self._put(key, after, "MODIFIED") if after != before else copy.deepcopy(before)

    async def patch(
        self, resource: Resource, name: str, namespace: str, part: Document, subresource: str = ""
    ) -> Document:
        await self._take_time()
        self._begin("PATCH", resource, {"metadata": {"name": name}}, subresource)
        before = self._find(resource, name, namespace)
        if part.get("metadata", {}).get("uid", before["metadata"]["uid"]) != before["metadata"]["uid"]:
            raise Conflict("another uid")
        after = dict(before)
        for each in part.keys() & {"spec", "status", "metadata"}:
            after[each] = _merged(before.get(each) or {}, part[each])
        return await self._put((resource.plural, namespace, name), after, "MODIFIED") if after != before else before

    async def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        uid: str | None = None,
        grace_s: int | None = None,  # noqa: ARG002  pods are gone at once
    ) -> Document:
        await self._take_time()
        self._begin("DELETE", resource, {"metadata": {"name": name, "namespace": namespace}}, "")
        found = self._find(resource, name, namespace)
        if uid is not None and found["metadata"]["uid"] != uid:
            raise Conflict("another uid")
        await self._drop((resource.plural, namespace or "", name))
        return found

    async def read_log(self, pod: ObjectName, container: str, *, follow: bool) -> AsyncIterator[bytes]:  # noqa: ARG002
        """Pods here say nothing."""
        self._find(PODS, pod.name, pod.namespace)
        silent: tuple[bytes, ...] = ()
        for chunk in silent:
            yield chunk

    # ---- for tests ----

    async def add_node(self, name: str, labels: dict[str, str], **allocatable: str) -> None:
        ready = [{"type": "Ready", "status": "True"}]
        metadata = {"name": name, "labels": labels}
        await self.create(
            NODES,
            {"metadata": metadata, "spec": {}, "status": {"allocatable": allocatable, "conditions": ready}},
        )

    async def change(self, resource: Resource, name: str, namespace: str | None = None, **parts: Any) -> None:
        """As somebody else: these parts of the document are merged."""
        found = self._find(resource, name, namespace)
        after = {**found, **{part: {**found.get(part, {}), **value} for part, value in parts.items()}}
        if "spec" in parts and "generation" in found["metadata"]:
            after["metadata"] = {**after["metadata"], "generation": found["metadata"]["generation"] + 1}
        await self._put((resource.plural, namespace or "", name), after, "MODIFIED")

    async def set_phase(self, pod: str, phase: str, namespace: str = "default", **status: Any) -> None:
        await self.change(PODS, pod, namespace, status={"phase": phase, **status})

    def names(self, resource: Resource) -> set[str]:
        return {name for plural, _, name in self.objects if plural == resource.plural}

    async def set_down(self, is_down: bool) -> None:
        """As when it restarts: all watches end at once. What is stored stays."""
        self.is_down = is_down
        async with self._changed:
            self._changed.notify_all()

    # ---- inside ----

    def _require_up(self) -> None:
        if self.is_down:
            raise Unavailable("the API server is starting")

    async def _take_time(self) -> None:
        for _ in range(0 if self.random is None else self.random.randrange(6)):
            await asyncio.sleep(0)

    def _begin(self, method: str, resource: Resource, document: Document, subresource: str) -> None:
        self.requests += 1
        self.writes += 1
        path = f"{resource.plural}/{document['metadata']['name']}{f'/{subresource}' if subresource else ''}"
        self.fail(method, path)
        self.log.append(f"{method} {path}")

    def _find(self, resource: Resource, name: str, namespace: str | None) -> Document:
        found = self.objects.get((resource.plural, (namespace or "") if resource.is_namespaced else "", name))
        if found is None:
            raise NotFound(f"{resource.plural} {name} not found")
        return found

    async def _bind(self, document: Document) -> Document:
        name, namespace = document["metadata"]["name"], document["metadata"]["namespace"]
        found = self._find(PODS, name, namespace)
        if found["spec"].get("nodeName"):
            raise Conflict("already bound")
        if found["spec"].get("schedulingGates"):
            raise Conflict("it has gates")
        after = {**found, "spec": {**found["spec"], "nodeName": document["target"]["name"]}}
        return await self._put((PODS.plural, namespace, name), after, "MODIFIED")

    async def _put(self, key: Key, document: Document, type: str) -> Document:
        self._version += 1
        document = {**document, "metadata": {**document["metadata"], "resourceVersion": str(self._version)}}
        self.objects[key] = document
        self.on_put()
        await self._tell(type, key[0], document)
        return copy.deepcopy(document)

    async def _drop(self, key: Key) -> None:
        """What it owns goes with it, as the garbage collector does it."""
        document = self.objects.pop(key)
        self._version += 1
        document = {**document, "metadata": {**document["metadata"], "resourceVersion": str(self._version)}}
        await self._tell("DELETED", key[0], document)
        uid = document["metadata"]["uid"]
        for other, found in list(self.objects.items()):
            if uid in [owner["uid"] for owner in found["metadata"].get("ownerReferences") or ()]:
                await self._drop(other)

    async def _tell(self, type: str, plural: str, document: Document) -> None:
        self.events.append((self._version, type, plural, document))
        async with self._changed:
            self._changed.notify_all()


def _merged(before: Document, part: Document) -> Document:
    """As a merge patch does."""
    after = dict(before)
    for key, value in part.items():
        after[key] = _merged(before.get(key) or {}, value) if isinstance(value, dict) else value
    return {key: value for key, value in after.items() if value is not None}


def _key(resource: Resource, document: Document) -> Key:
    metadata = document["metadata"]
    return (resource.plural, metadata.get("namespace") or "", metadata["name"])

"""The writes of the operator. Each is a compare-and-swap on the version that was seen, is refused without the lease,
and is put into the mirrors at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from shunter.kube.client.api import KubeApi, Resource
from shunter.kube.client.lease import Lease
from shunter.kube.client.mirror import Mirror
from shunter.kube.cluster_view import ClusterView
from shunter.kube.custom_objects import CustomObject, with_claim, with_problems, with_status
from shunter.kube.past_records import Record
from shunter.kube.pod import Pod
from shunter.kube.pod_templates import binding
from shunter.kube.resources import EXECUTOR_INDEX, OBJECTS, PAST_SCHEDULINGS, PLACE, PODS
from shunter.model.errors import Conflict, NotFound
from shunter.model.objects.batch_jobs import Claim
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import BATCH_JOB
from shunter.model.objects.testbeds import SlotPlace

PARALLEL_MAX = 32  # requests at once


class Writer:
    """`lease` is None where no other operator can be."""

    def __init__(self, api: KubeApi, view: ClusterView, lease: Lease | None) -> None:
        self._api, self._view, self._lease = api, view, lease
        self._limit = asyncio.Semaphore(PARALLEL_MAX)
        self._deleted: set[str] = set()  # uids of pods whose deletion the mirror does not show yet

    async def set_status(self, kind: str, name: ObjectName, status: Any) -> None:
        found = self._require(kind, name)
        if found.object.status != status:
            await self._replace(kind, with_status(found, status), "status")

    async def set_problems(self, kind: str, found: CustomObject) -> None:
        shown = (found.document.get("status") or {}).get("problems") or []
        if list(found.problems) != shown:
            await self._replace(kind, with_problems(found), "status")

    async def set_claim(self, name: ObjectName, claim: Claim | None) -> None:
        found = self._require(BATCH_JOB, name)
        if found.object.claim != claim:
            await self._replace(BATCH_JOB, with_claim(found, claim))

    async def create_pods(self, pods: Iterable[Document]) -> None:
        """Pods that exist already stay: a repetition after a crash finds them."""
        await asyncio.gather(*(self._create_pod(pod) for pod in pods))

    async def look_for_pods(self, names: Iterable[ObjectName]) -> None:
        await asyncio.gather(*(self._look_for_pod(name) for name in names))

    async def _look_for_pod(self, name: ObjectName) -> None:
        async with self._limit:
            try:
                self._view.pods.put(await self._api.get(PODS, name.name, name.namespace))
            except NotFound:
                return

    async def delete_pods(self, pods: Iterable[Pod]) -> None:
        known = self._view.pods.items
        self._deleted &= {pod.uid for pod in known.values()}
        await asyncio.gather(
            *(self._delete_pod(pod) for pod in pods if not pod.is_terminating and pod.uid not in self._deleted)
        )

    async def bind(self, pod: Pod, node: str) -> None:
        async with self._limit:
            self._check()
            await self._api.create(PODS, binding(pod.name.name, pod.name.namespace, node), "binding")

    async def create_record(self, document: Document) -> None:
        self._check()
        self._view.records.put(await self._api.create(PAST_SCHEDULINGS, document))

    async def replace_record(self, document: Document) -> None:
        self._check()
        self._view.records.put(await self._api.replace(PAST_SCHEDULINGS, document))

    async def delete_record(self, record: Record) -> None:
        self._check()
        await self._api.delete(PAST_SCHEDULINGS, record.name.name, record.name.namespace)

    async def nominate(self, pod: Pod, node: str) -> None:
        """From now on, kube-scheduler leaves room for it there."""
        await self._patch_pod(pod, {"status": {"nominatedNodeName": node}}, "status")

    async def assign(self, pod: Pod, index: int, place: SlotPlace) -> None:
        """Give an executor that an operator of others has made its slot."""
        given = {PLACE: f"{place.node}/{place.position}", EXECUTOR_INDEX: str(index)}
        await self._patch_pod(pod, {"metadata": {"annotations": given}})

    async def create_application(self, resource: Resource, mirror: Mirror[Any], document: Document) -> None:
        self._check()
        metadata = document["metadata"]
        try:
            mirror.put(await self._api.create(resource, document))
        except Conflict:
            made = await self._api.get(resource, metadata["name"], metadata["namespace"])
            owners = [each["uid"] for each in made["metadata"].get("ownerReferences") or ()]
            if owners != [each["uid"] for each in metadata["ownerReferences"]]:
                raise
            mirror.put(made)

    async def look_for_application(self, resource: Resource, mirror: Mirror[Any], name: ObjectName) -> None:
        try:
            mirror.put(await self._api.get(resource, name.name, name.namespace))
        except NotFound:
            return

    async def delete_application(self, resource: Resource, name: ObjectName, uid: str) -> None:
        self._check()
        try:
            await self._api.delete(resource, name.name, name.namespace, uid=uid)
        except (NotFound, Conflict):
            return

    async def open_gate(self, pod: Pod) -> None:
        await self._patch_pod(pod, {"spec": {"schedulingGates": None}})

    async def _patch_pod(self, pod: Pod, part: Document, subresource: str = "") -> None:
        async with self._limit:
            self._check()
            # The uid is refused for another pod of its name.
            part = {**part, "metadata": {**part.get("metadata", {}), "uid": pod.uid}}
            self._view.pods.put(await self._api.patch(PODS, pod.name.name, pod.name.namespace, part, subresource))

    async def _create_pod(self, document: Document) -> None:
        async with self._limit:
            self._check()
            metadata = document["metadata"]
            try:
                made = await self._api.create(PODS, document)
            except Conflict:
                made = await self._api.get(PODS, metadata["name"], metadata["namespace"])
                if not _is_same_pod(made, document):
                    raise
            self._view.pods.put(made)

    async def _delete_pod(self, pod: Pod) -> None:
        async with self._limit:
            self._check()
            try:
                await self._api.delete(PODS, pod.name.name, pod.name.namespace, uid=pod.uid)
            except (NotFound, Conflict):  # it is gone, or another one has its name
                return
            self._deleted.add(pod.uid)

    async def _replace(self, kind: str, document: Document, subresource: str = "") -> None:
        self._check()
        self._view.objects[kind].put(await self._api.replace(OBJECTS[kind], document, subresource))

    def _require(self, kind: str, name: ObjectName) -> CustomObject:
        found = self._view.find(kind, name)
        if found is None or found.object is None:
            raise NotFound(f"{kind} {name} does not exist any more")
        return found

    def _check(self) -> None:
        if self._lease is not None:
            self._lease.check()


def _is_same_pod(made: Document, wanted: Document) -> bool:
    """Whether it is what we would have made: ours, and for the same purpose."""
    before, after = made["metadata"], wanted["metadata"]
    return (before.get("annotations") or {}).items() >= after["annotations"].items() and (
        [each["uid"] for each in before.get("ownerReferences") or ()]
        == [each["uid"] for each in after["ownerReferences"]]
    )

"""The operator's picture of a cluster: mirrors of all that it reads, indexes over the pods, and which objects must be
reconciled after each change."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from shunter.kube.applications.adapter import ApplicationAdapter
from shunter.kube.applications.applications import AppObject, reader
from shunter.kube.client.api import KubeApi
from shunter.kube.client.mirror import Mirror
from shunter.kube.custom_objects import CustomObject, read_custom_object
from shunter.kube.node import Node, read_node
from shunter.kube.past_records import Record, read_record
from shunter.kube.pod import Pod, read_pod
from shunter.kube.resources import NODES, OBJECTS, PAST_SCHEDULINGS, PODS
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.objects.past_schedulings import PastScheduling
from shunter.testbeds.history import past_scheduling

ENDED_MAX = 1_000  # deleted Schedulings whose records are not written yet
Key = tuple[str, ObjectName]  # kind, name


class ClusterView:
    def __init__(self, api: KubeApi, adapters: Iterable[ApplicationAdapter] = ()) -> None:
        """`adapters` are of the operators that are there: their objects are watched."""
        self.adapters = {adapter.engine: adapter for adapter in adapters}
        self.applications: dict[str, Mirror[AppObject]] = {
            engine: Mirror(api, adapter.resource, reader(adapter), self._on_application)
            for engine, adapter in self.adapters.items()
        }
        self.parts_by_job: dict[ObjectName, dict[ObjectName, Pod]] = defaultdict(dict)
        # Schedulings as they were when they were deleted, by name and uid, and records of those that exist.
        self.ended: dict[ObjectName, dict[str, PastScheduling]] = defaultdict(dict)
        self.open_records: dict[ObjectName, dict[ObjectName, Record]] = defaultdict(dict)
        self.records = Mirror(api, PAST_SCHEDULINGS, read_record, self._on_record)
        self.dirty: set[Key] = set()
        self.changed = asyncio.Event()
        self._pods_by_node: dict[str, dict[ObjectName, Pod]] = defaultdict(dict)
        self.pods_by_testbed: dict[ObjectName, dict[ObjectName, Pod]] = defaultdict(dict)
        self.pods_by_job: dict[ObjectName, dict[int, Pod]] = defaultdict(dict)
        self.pods = Mirror(api, PODS, read_pod, self._on_pod)
        self.nodes = Mirror(api, NODES, read_node, self._on_node)
        self.objects: dict[str, Mirror[CustomObject]] = {
            TESTBED: Mirror(api, OBJECTS[TESTBED], read_custom_object, self._on_testbed),
            BATCH_JOB: Mirror(api, OBJECTS[BATCH_JOB], read_custom_object, self._on_batch_job),
            SCHEDULING: Mirror(api, OBJECTS[SCHEDULING], read_custom_object, self._on_scheduling),
        }
        self._mirrors: tuple[Mirror[Any], ...] = (
            *self.applications.values(),
            self.records,
            self.pods,
            self.nodes,
            *self.objects.values(),
        )

    async def run(self) -> None:
        """Keep it up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            for mirror in self._mirrors:
                group.create_task(mirror.run())

    async def wait_synced(self) -> None:
        for mirror in self._mirrors:
            await mirror.is_synced.wait()

    def find(self, kind: str, name: ObjectName) -> CustomObject | None:
        return self.objects[kind].items.get(name)

    def pod(self, name: ObjectName) -> Pod | None:
        return self.pods.items.get(name)

    def slot_pods(self, pod: Pod) -> list[Pod]:
        """All pods at the slot of a pod of ours, that pod too."""
        assert pod.assignment is not None
        place, others = pod.assignment.place, self.pods_by_testbed.get(pod.assignment.testbed, {})
        return [each for each in others.values() if each.assignment is not None and each.assignment.place == place]

    def pods_on(self, node: str) -> Iterable[Pod]:
        return self._pods_by_node.get(node, {}).values()

    def mark(self, kind: str, name: ObjectName) -> None:
        self.dirty.add((kind, name))
        self.changed.set()

    def mark_all(self, *kinds: str) -> None:
        for kind in kinds or self.objects:
            for name in self.objects[kind].items:
                self.mark(kind, name)

    # ---- changes ----

    def _on_testbed(self, before: CustomObject | None, after: CustomObject | None) -> None:
        found = after or before
        assert found is not None
        self.mark(TESTBED, found.name)
        self.mark_all(BATCH_JOB, SCHEDULING)

    def _on_batch_job(self, before: CustomObject | None, after: CustomObject | None) -> None:
        found = after or before
        assert found is not None
        self.mark(BATCH_JOB, found.name)
        self.mark_all(SCHEDULING)
        for each in (before, after):  # its slots are reserved before it has executors
            job = None if each is None else each.object
            if job is not None and job.status.testbed is not None and job.spec.engine in self.adapters:
                self.mark(TESTBED, job.status.testbed)

    def _on_application(self, before: AppObject | None, after: AppObject | None) -> None:
        found = after or before
        assert found is not None
        self.mark(BATCH_JOB, found.name)

    def _on_scheduling(self, before: CustomObject | None, after: CustomObject | None) -> None:
        found = after or before
        assert found is not None
        self.mark(SCHEDULING, found.name)
        self.mark_all(BATCH_JOB)
        if before is not None and (after is None or after.uid != before.uid):
            self._remember_ended(before)
        if after is None:  # what it had claimed is free for others
            self.mark_all(TESTBED, SCHEDULING)

    def _remember_ended(self, found: CustomObject) -> None:
        """Now, before its jobs are released. With too many, those that are left out keep what their records say."""
        if found.object is None or len(self.ended) >= ENDED_MAX:
            return
        jobs = [each.object for each in self.objects[BATCH_JOB].items.values() if each.object is not None]
        self.ended[found.name][found.uid] = past_scheduling(found.object, jobs, now_ms())

    def forget_ended(self, name: ObjectName, uid: str) -> None:
        _drop(self.ended, name, uid)

    def _on_record(self, before: Record | None, after: Record | None) -> None:
        if before is not None and before.is_open:
            _drop(self.open_records, before.scheduling, before.name)
        if after is not None and after.is_open:
            self.open_records[after.scheduling][after.name] = after
            self.mark(SCHEDULING, after.scheduling)

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        if before is not None and after is not None and _same_for_slots(before, after):
            return
        labels = {label for node in (before, after) if node is not None for label in node.labels}
        self._mark_testbeds_labelled(labels)

    def _on_pod(self, before: Pod | None, after: Pod | None) -> None:
        if before is not None:
            self._forget(before)
        if after is not None:
            self._remember(after)
        for pod in (before, after):
            if pod is None:
                continue
            if pod.part is not None:
                self.mark(BATCH_JOB, pod.part.batch_job)
            if pod.assignment is not None:
                self.mark(TESTBED, pod.assignment.testbed)
                self._mark_jobs_at(pod)
            if pod.node and _room(before) != _room(after):
                node = self.nodes.items.get(ObjectName("", pod.node))
                self._mark_testbeds_labelled(node.labels if node is not None else ())

    def _mark_jobs_at(self, pod: Pod) -> None:
        """Its own, and those that wait for its place."""
        assert pod.assignment is not None
        for other in (pod, *self.pods_by_testbed[pod.assignment.testbed].values()):
            job = other.assignment.batch_job if other.assignment is not None else None
            if job is not None and (other is pod or not other.node):
                self.mark(BATCH_JOB, job)

    def _mark_testbeds_labelled(self, labels: Iterable[str]) -> None:
        labels = set(labels)
        for name, found in self.objects[TESTBED].items.items():
            if found.object is not None and found.object.spec.node_label in labels:
                self.mark(TESTBED, name)

    def _remember(self, pod: Pod) -> None:
        if pod.node:
            self._pods_by_node[pod.node][pod.name] = pod
        if pod.part is not None:
            self.parts_by_job[pod.part.batch_job][pod.name] = pod
        assignment = pod.assignment
        if assignment is not None:
            self.pods_by_testbed[assignment.testbed][pod.name] = pod
            if assignment.batch_job is not None:
                self.pods_by_job[assignment.batch_job][assignment.executor] = pod

    def _forget(self, pod: Pod) -> None:
        if pod.node:
            _drop(self._pods_by_node, pod.node, pod.name)
        if pod.part is not None:
            _drop(self.parts_by_job, pod.part.batch_job, pod.name)
        assignment = pod.assignment
        if assignment is not None:
            _drop(self.pods_by_testbed, assignment.testbed, pod.name)
            if assignment.batch_job is not None:
                known = self.pods_by_job[assignment.batch_job].get(assignment.executor)
                if known is None or known.uid == pod.uid:  # another one may have taken the place of one that ended
                    _drop(self.pods_by_job, assignment.batch_job, assignment.executor)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def _drop(index: dict, key: object, item: object) -> None:  # type: ignore[type-arg]
    index[key].pop(item, None)
    if not index[key]:
        del index[key]


def _same_for_slots(before: Node, after: Node) -> bool:
    return (before.labels, before.allocatable, before.not_ready_reason) == (
        after.labels,
        after.allocatable,
        after.not_ready_reason,
    )


def _room(pod: Pod | None) -> tuple[str, bool]:
    """Where it takes room, and whether it does."""
    return ("", True) if pod is None else (pod.node, pod.has_ended)

"""All pods of the cluster as a manager with `--kubernetes` sees them: those of its tasks, to wait for, and what the
others request on each node."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable

from shunter.kube.client.api import KubeApi
from shunter.kube.client.mirror import Mirror
from shunter.kube.jobs.task_pods import TaskPod, read_task_pod
from shunter.kube.quantities import add_amounts
from shunter.kube.resources import PODS
from shunter.model.objects.object_meta import Document, ObjectName

Condition = Callable[[TaskPod | None], bool]


class TaskPodView:
    """`on_room` is called with the name of a node on which pods of others use more or less than before."""

    def __init__(self, api: KubeApi, cluster: str, on_room: Callable[[str], None]) -> None:
        self._cluster, self._on_room = cluster, on_room
        self.mirror: Mirror[TaskPod] = Mirror(api, PODS, read_task_pod, self._on_pod)
        self._by_node: dict[str, dict[ObjectName, TaskPod]] = defaultdict(dict)
        self._waiting: dict[ObjectName, set[asyncio.Event]] = {}

    def put(self, document: Document) -> TaskPod:
        """The answer to a write of our own."""
        return self.mirror.put(document)

    def get(self, name: ObjectName, uid: str) -> TaskPod | None:
        found = self.mirror.items.get(name)
        return found if found is not None and found.pod.uid == uid else None

    def own_pods(self, node: str) -> list[TaskPod]:
        return [each for each in self._by_node.get(node, {}).values() if self._is_own(each)]

    def foreign_requests(self, node: str) -> dict[str, int]:
        """What pods of others request there."""
        total: dict[str, int] = {}
        for each in self._by_node.get(node, {}).values():
            if not self._is_own(each) and not each.pod.has_ended:
                add_amounts(total, each.pod.requests)
        return total

    async def wait(self, name: ObjectName, uid: str, condition: Condition) -> TaskPod | None:
        """Until the condition holds for the pod, or it is gone: then the answer is None."""
        changed = asyncio.Event()
        self._waiting.setdefault(name, set()).add(changed)
        try:
            while (found := self.get(name, uid)) is not None and not condition(found):
                changed.clear()
                await changed.wait()
            return found
        finally:
            waiting = self._waiting[name]
            waiting.discard(changed)
            if not waiting:
                del self._waiting[name]

    def _is_own(self, found: TaskPod) -> bool:
        return found.attempt is not None and found.cluster == self._cluster

    def _on_pod(self, before: TaskPod | None, after: TaskPod | None) -> None:
        for each in (before, after):
            if each is not None and each.pod.node:
                self._by_node[each.pod.node].pop(each.name, None)
        if after is not None and after.pod.node:
            self._by_node[after.pod.node][after.name] = after
        found = after or before
        assert found is not None
        for event in self._waiting.get(found.name, ()):
            event.set()
        if not self._is_own(found):
            for node in {each.pod.node for each in (before, after) if each is not None and each.pod.node}:
                if _used(before, node) != _used(after, node):
                    self._on_room(node)


def _used(found: TaskPod | None, node: str) -> bool:
    return found is not None and found.pod.node == node and not found.pod.has_ended

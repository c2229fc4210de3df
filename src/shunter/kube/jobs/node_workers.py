"""All nodes of a Kubernetes cluster as workers of this manager. Created by `app.kubernetes.jobs`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from shunter.kube.client.api import KubeApi
from shunter.kube.client.mirror import Mirror
from shunter.kube.jobs.node_worker import NodeWorker
from shunter.kube.jobs.task_pod_view import TaskPodView
from shunter.kube.jobs.task_pods import PodSettings
from shunter.kube.jobs.worker_node import WorkerNode, read_worker_node
from shunter.kube.resources import NODES
from shunter.log import Log
from shunter.model.objects.object_meta import ObjectName
from shunter.ports.clock import Clock
from shunter.ports.workers import WorkerHandler
from shunter.worker.settings import WorkerSettings

UPDATE_EVERY_S = 1.0  # at most: each change of a node's room costs an inventory

log = Log(__name__)


class Connection(Protocol):
    def close(self, reason: str) -> None: ...


class NodeWorkers:
    """`connect` opens the connection of a worker to the watcher, and keeps it open."""

    def __init__(
        self, api: KubeApi, clock: Clock, folder: Path, pod: PodSettings, connect: Callable[[WorkerHandler], Connection]
    ) -> None:
        self._api, self._clock, self._folder, self._pod, self._connect = api, clock, folder, pod, connect
        self._pods = TaskPodView(api, pod.cluster, self._mark)
        self._nodes: Mirror[WorkerNode] = Mirror(api, NODES, read_worker_node, self._on_node)
        self._workers: dict[str, tuple[str, NodeWorker, Connection]] = {}  # by name: the uid of its node
        self._dirty: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def count(self) -> int:
        return len(self._workers)

    async def run(self) -> None:
        """Until it is cancelled; then the pods go on."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._nodes.run())
                group.create_task(self._pods.mirror.run())
                group.create_task(self._follow())
        finally:
            for _, worker, connection in self._workers.values():
                connection.close("the manager is stopping")
                await worker.stop()

    async def _follow(self) -> None:
        await self._nodes.is_synced.wait()
        await self._pods.mirror.is_synced.wait()
        while True:
            dirty, self._dirty = self._dirty, set()
            for name in sorted(dirty):
                await self._update(name)
            await self._changed.wait()
            self._changed.clear()
            await asyncio.sleep(UPDATE_EVERY_S)

    async def _update(self, name: str) -> None:
        node = self._nodes.items.get(ObjectName("", name))
        known = self._workers.get(name)
        if known is not None and (node is None or node.uid != known[0]):
            del self._workers[name]
            known[1].leave("the node was removed from Kubernetes")
            known[2].close("the node was removed from Kubernetes")
            await known[1].stop()
            known = None
        if node is None:
            return
        if known is not None:
            known[1].update(node, self._pods.foreign_requests(name))
            return
        settings = WorkerSettings(home=self._folder / name, name=name)
        (settings.home / "logs").mkdir(parents=True, exist_ok=True)
        worker = NodeWorker(self._api, self._pods, node, self._clock, settings, self._pod)
        await worker.start()
        self._workers[name] = (node.uid, worker, self._connect(worker))
        log.info("node.found", node=name)

    def _on_node(self, before: WorkerNode | None, after: WorkerNode | None) -> None:
        found = after or before
        assert found is not None
        self._mark(found.name.name)

    def _mark(self, name: str) -> None:
        self._dirty.add(name)
        self._changed.set()

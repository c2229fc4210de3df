"""Runs attempts as pods on one node of Kubernetes: creates them there, finds them again after a restart of the manager,
removes those of attempts that nobody knows. The worker's code for attempts calls it through `worker.runtimes.port`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping

from shunter.kube.client.api import KubeApi
from shunter.kube.jobs.running_pod import RunningPod
from shunter.kube.jobs.task_pod_view import TaskPodView
from shunter.kube.jobs.task_pods import ATTEMPT, CLUSTER, PodSettings, TaskPod, task_pod
from shunter.kube.resources import PODS
from shunter.log import Log
from shunter.model.errors import Busy, Conflict, NotFound, Rejected, ShunterError, Unavailable
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.worker.runtimes.port import Attempt, Launch, NotStarted, Running, RuntimeGone

REMOVE_AGAIN_S = 5.0
CLOSE_MAX_S = 5.0  # how long a stopping manager waits for removals; the next one finds the rest

log = Log(__name__)


class PodRuntime:
    """Implements `worker.runtimes.port.Runtime`."""

    def __init__(self, api: KubeApi, pods: TaskPodView, node: str, settings: PodSettings) -> None:
        self._api, self._pods, self._node, self._settings = api, pods, node, settings
        self._running: set[RunningPod] = set()
        self._removals: set[asyncio.Task[None]] = set()

    async def open(self) -> Mapping[str, str]:
        return {"runtime.pod": "kubernetes"}

    async def launch(self, launch: Launch) -> Running:
        document = task_pod(launch, self._node, self._settings)
        creating = asyncio.create_task(self._create(document))
        name = ObjectName(document["metadata"]["namespace"], document["metadata"]["name"])
        try:
            running = RunningPod(self._api, self._pods, await asyncio.shield(creating), launch)
            await running.wait_started()
        except (asyncio.CancelledError, NotStarted, RuntimeGone):
            self._later(self._undo(creating, name))
            raise
        return self._follow(running)

    async def find(self, launches: Mapping[Attempt, Launch]) -> Mapping[Attempt, Running]:
        found: dict[Attempt, Running] = {}
        for each in self._pods.own_pods(self._node):
            assert each.attempt is not None
            launch = launches.get(each.attempt)
            if launch is None:
                self._later(self._remove(each.name))
            else:
                found[each.attempt] = self._follow(RunningPod(self._api, self._pods, each, launch))
        return found

    async def close(self) -> None:
        await asyncio.gather(*(each.detach() for each in self._running))
        if self._removals:
            await asyncio.wait(self._removals, timeout=CLOSE_MAX_S)
        for each in self._removals:
            each.cancel()

    # ---- inside ----

    def _follow(self, running: RunningPod) -> RunningPod:
        self._running = {each for each in self._running if each.is_followed}
        self._running.add(running)
        running.watch()
        return running

    async def _create(self, document: Document) -> TaskPod:
        metadata = document["metadata"]
        try:
            return self._pods.put(await self._api.create(PODS, document))
        except Conflict:
            made = await self._api.get(PODS, metadata["name"], metadata["namespace"])
            if not _is_same(made, document):
                raise NotStarted(f"pod {metadata['name']} exists and is not ours") from None
            return self._pods.put(made)
        except (Unavailable, Busy) as error:
            raise RuntimeGone(str(error)) from error
        except Rejected as error:
            raise NotStarted(f"Kubernetes refused the pod: {error}") from error

    async def _undo(self, creating: asyncio.Task[TaskPod], name: ObjectName) -> None:
        """The API server may have made the pod though it did not answer."""
        await asyncio.gather(creating, return_exceptions=True)
        await self._remove(name)

    async def _remove(self, name: ObjectName) -> None:
        while True:
            try:
                await self._api.delete(PODS, name.name, name.namespace, grace_s=1)
                return
            except NotFound:
                return
            except ShunterError as error:
                log.warning("pod.not_removed", pod=name, error=error)
            await asyncio.sleep(REMOVE_AGAIN_S)

    def _later(self, removal: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(removal)
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)


def _is_same(made: Document, wanted: Document) -> bool:
    labels, ours = made["metadata"].get("labels") or {}, wanted["metadata"]["labels"]
    return all(labels.get(each) == ours[each] for each in (CLUSTER, ATTEMPT))

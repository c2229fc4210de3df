"""Copies the output of a pod into the task's log. Used by `kube.jobs.running_pod`.

Kubernetes gives both streams as one, which becomes the task's stdout. A copy that broke off reads from the beginning
and skips what the log has: that is exact until the kubelet rotates the file (10 MiB by default)."""

from __future__ import annotations

import asyncio

from shunter.kube.client.api import KubeApi
from shunter.log import Log
from shunter.model.errors import NotFound, ShunterError
from shunter.model.objects.object_meta import ObjectName
from shunter.worker.runtimes.task_log import OUT, TaskLog

RETRY_S = 0.5

log = Log(__name__)


class PodOutput:
    def __init__(self, api: KubeApi, name: ObjectName, container: str, task_log: TaskLog) -> None:
        self._api, self._name, self._container, self._log = api, name, container, task_log
        self.has_ended = False  # no more comes: to be set when the container has ended

    async def copy(self) -> None:
        """As it comes, until all of an ended container is copied, or the pod is gone."""
        while True:
            is_last = self.has_ended
            try:
                await self._read(is_last)
                if is_last:
                    return
            except NotFound:
                return
            except ShunterError as error:
                log.debug("pod.log_interrupted", pod=self._name, error=error)
                if is_last:
                    return
            if not self.has_ended:
                await asyncio.sleep(RETRY_S)

    async def _read(self, is_last: bool) -> None:
        skip = self._log.written(OUT)
        async for chunk in self._api.read_log(self._name, self._container, follow=not is_last):
            if skip < len(chunk):
                self._log.write(OUT, chunk[skip:])
            skip = max(0, skip - len(chunk))

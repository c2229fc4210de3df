"""One pod that runs an attempt: waits for its end, copies its output, decides its result. Created by
`kube.jobs.pod_runtime`, used by the worker's code for attempts through `worker.runtimes.port`."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Sequence

from shunter.kube.client.api import KubeApi
from shunter.kube.jobs.pod_output import PodOutput
from shunter.kube.jobs.task_pod_view import TaskPodView
from shunter.kube.jobs.task_pods import CONTAINER, TaskPod, grace_s, inner_port
from shunter.kube.resources import PODS
from shunter.log import Log
from shunter.model.errors import Conflict, NotFound, ShunterError, Unavailable
from shunter.worker.runtimes.docker.container import format_size
from shunter.worker.runtimes.port import EXIT_NOT_FOUND, Launch, NotStarted, Outcome, RuntimeGone, Usage

KILL_GRACE_S = 1  # 0 would take the pod out of the API before the kubelet has ended it
KILL_AGAIN_S = 10.0
OUTPUT_END_MAX_S = 30.0  # from the end of the container to the end of its output
NEVER_RAN = ("StartError", "ContainerCannotRun")
_MISSING = ("executable file not found", "no such file or directory")

log = Log(__name__)


class RunningPod:
    """Implements `worker.runtimes.port.Running`."""

    def __init__(self, api: KubeApi, pods: TaskPodView, found: TaskPod, launch: Launch) -> None:
        self._api, self._pods, self._launch = api, pods, launch
        self.name, self._uid = found.name, found.pod.uid
        self._last = found
        self._output = PodOutput(api, found.name, CONTAINER, launch.log)
        self._killed_at = 0.0
        self._was_stopped = False  # by us
        self._watching: asyncio.Task[Outcome] | None = None

    async def wait_started(self) -> None:
        """Until its container runs, or has ended. Raises NotStarted, RuntimeGone."""
        found = await self._pods.wait(self.name, self._uid, self._has_started)
        if found is None:
            raise RuntimeGone(f"pod {self.name.name} was deleted before it started")
        self._last = found
        if found.stuck:
            raise NotStarted(found.stuck.rstrip(": "))
        if found.end is not None and found.end.reason in NEVER_RAN:
            is_missing = any(words in found.end.message for words in _MISSING)
            detail = f"{found.end.reason}: {found.end.message}"
            raise NotStarted(detail, EXIT_NOT_FOUND) if is_missing else NotStarted(detail)
        if found.end is None and found.pod.has_ended:
            raise RuntimeGone(found.pod.reason or f"pod {self.name.name} ended before it started")

    def watch(self) -> None:
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        self._watching.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def detach(self) -> None:
        """The manager ends; the pod goes on."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    @property
    def is_followed(self) -> bool:
        return self._watching is not None and not self._watching.done()

    # ---- port.Running ----

    @property
    def started_ms(self) -> int:
        return self._last.pod.started_ms or int(time.time() * 1000)

    async def ended(self) -> Outcome:
        assert self._watching is not None
        return await asyncio.shield(self._watching)

    async def signal(self, number: int) -> None:
        """Kubernetes has one way to end a pod: TERM, and after a grace KILL."""
        is_kill, self._was_stopped = number == signal.SIGKILL, True
        if is_kill and time.monotonic() - self._killed_at < KILL_AGAIN_S:
            return
        self._killed_at = time.monotonic() if is_kill else 0.0
        await self.delete(KILL_GRACE_S if is_kill else grace_s(self._launch.spec))

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        try:
            async with asyncio.timeout(timeout_s):
                return await self._api.execute(self.name, CONTAINER, command)
        except Unavailable as error:
            raise RuntimeGone(str(error)) from error
        except ShunterError as error:
            raise OSError(str(error)) from error

    def address(self, port: str) -> tuple[str, int]:
        """In the pod's own network, which the manager must be able to reach."""
        found = self._pods.get(self.name, self._uid) or self._last
        if not found.address:
            raise LookupError(f"port {port}: the pod has no address yet")
        for known in self._launch.spec.ports:
            if port in (known.name, str(known.port)):
                return found.address, inner_port(self._launch, known.name)
        if not port.isdigit():
            raise LookupError(f"port {port}: the task has no port with this name")
        return found.address, int(port)

    async def usage(self) -> Usage | None:
        return None

    async def remove(self) -> None:
        try:
            await self.delete(0)
        except ShunterError as error:
            log.warning("pod.not_removed", pod=self.name, error=error)  # `find` of the next start does it

    # ---- inside ----

    async def delete(self, grace_s: int) -> None:
        try:
            await self._api.delete(PODS, self.name.name, self.name.namespace, uid=self._uid, grace_s=grace_s)
        except (NotFound, Conflict):
            return

    def _has_started(self, found: TaskPod | None) -> bool:
        assert found is not None
        return bool(found.end or found.stuck or found.pod.has_ended or found.pod.started_ms)

    def _has_ended(self, found: TaskPod | None) -> bool:
        assert found is not None
        self._last = found
        return found.end is not None or found.pod.has_ended

    async def _watch(self) -> Outcome:
        copying = asyncio.create_task(self._output.copy())
        try:
            await self._pods.wait(self.name, self._uid, self._has_ended)
            self._output.has_ended = True
            await asyncio.wait({copying}, timeout=OUTPUT_END_MAX_S)
        finally:
            copying.cancel()
            await asyncio.gather(copying, return_exceptions=True)
        return self._outcome()

    def _outcome(self) -> Outcome:
        """Raises RuntimeGone where the task's own exit code is not known."""
        last, spec = self._last, self._launch.spec
        if last.pod.was_disrupted and not self._was_stopped:
            if spec.disk_bytes and "ephemeral" in last.pod.reason:
                return Outcome(-1, int(time.time() * 1000), "disk", f"disk limit of {format_size(spec.disk_bytes)}")
            raise RuntimeGone(last.pod.reason or "Kubernetes ended the pod")
        if last.end is None:
            raise RuntimeGone(last.pod.reason or f"pod {self.name.name} was deleted")
        if last.pod.is_terminating and not self._was_stopped:
            raise RuntimeGone(f"pod {self.name.name} was deleted")
        end = last.end
        if end.reason == "OOMKilled":
            return Outcome(end.exit_code, end.ended_ms, "memory", f"memory limit of {format_size(spec.memory_bytes)}")
        return Outcome(end.exit_code, end.ended_ms or int(time.time() * 1000))

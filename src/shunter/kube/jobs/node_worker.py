"""The worker of one Kubernetes node, inside of the manager: takes orders, has them run as pods, and reports.

Implements `ports.workers.WorkerHandler`. All but the pods themselves is the code of Shunter's own workers: which
attempts there are, their time limits, health checks, records and results. Created by `kube.jobs.node_workers`."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from msgspec.structs import replace

from shunter.kube.client.api import KubeApi
from shunter.kube.jobs.pod_runtime import PodRuntime
from shunter.kube.jobs.task_pod_view import TaskPodView
from shunter.kube.jobs.task_pods import PodSettings
from shunter.kube.jobs.worker_node import WorkerNode, build_hello
from shunter.log import Log
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.worker_messages import (
    Ack,
    Goodbye,
    Heartbeat,
    LogData,
    MachineStats,
    ManagerMessage,
    Orders,
    Ping,
    Pong,
    ReadLog,
    ReadStats,
    Recall,
    Refused,
    SetHeartbeat,
    Shutdown,
    StatsData,
    Stop,
    Welcome,
)
from shunter.model.resources import DISK, MEMORY
from shunter.ports.clock import Clock
from shunter.ports.workers import Uplink
from shunter.worker.grants import Devices, Grants, HostPorts
from shunter.worker.health.monitor import Monitor
from shunter.worker.logs import read_log, sweep_logs
from shunter.worker.outbox import Outbox
from shunter.worker.process.assignments import CLUSTER_STOPPED
from shunter.worker.runtimes.attempt_records import RecordStore
from shunter.worker.runtimes.attempt_runner import RunnerContext
from shunter.worker.runtimes.attempts import Attempts
from shunter.worker.runtimes.port import Attempt
from shunter.worker.runtimes.registry import PROCESS, RuntimeRegistry
from shunter.worker.settings import WorkerSettings

POD, DOCKER = "pod", "docker"
KILL_MAX_S = 10.0

log = Log(__name__)


class NodeWorker:
    def __init__(
        self, api: KubeApi, pods: TaskPodView, node: WorkerNode, clock: Clock, home: WorkerSettings, pod: PodSettings
    ) -> None:
        """`home` is that of this node in the manager's."""
        self._clock, self._settings, self._node = clock, home, node
        self._boot = uuid.uuid4().hex
        self._outbox = Outbox()
        self._monitor = Monitor(clock, self._outbox.add_health)
        grants = Grants(HostPorts(home.ports_first, home.ports_last), Devices({}))
        runtime = partial(_pod_runtime, api, pods, node.name.name, pod)
        runtimes = RuntimeRegistry(home, lambda: None, {POD: runtime})
        context = RunnerContext(home, clock, grants, self._monitor, runtimes, RecordStore(home.home))
        self._attempts = Attempts(self._outbox, grants, runtimes, context)
        self._hello = build_hello(node, self._boot, pods.foreign_requests(node.name.name))
        self._uplink: Uplink | None = None
        self._epoch = 0
        self._heartbeat_s: float | None = None
        self._heartbeat_changed = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Find the pods of an earlier manager process."""
        await self._attempts.start()
        self._spawn(self._send_heartbeats())
        self._spawn(self._sweep_logs())

    async def stop(self) -> None:
        """The manager ends; pods go on."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self._monitor.close()
        await self._attempts.close()
        self._uplink = None
        self._outbox.disconnect()

    def update(self, node: WorkerNode, foreign: Mapping[str, int]) -> None:
        """The node has changed, or what pods of others request there. The manager hears of it by a new Hello."""
        self._node, before = node, self._hello
        self._hello = build_hello(node, self._boot, foreign)
        if self._hello != before and self._uplink is not None:
            self._uplink.close_after_flush()

    def leave(self, reason: str) -> None:
        """The node is gone for good."""
        self._send(Goodbye(reason))

    # ---- ports.workers.WorkerHandler ----

    def connected(self, uplink: Uplink) -> None:
        self._uplink = uplink
        uplink.send(self._hello)

    def disconnected(self, reason: str) -> None:
        log.debug("node.disconnected", node=self._node.name.name, reason=reason)
        self._uplink = None
        self._outbox.disconnect()

    def received(self, message: ManagerMessage) -> None:
        self._handlers[type(message)](self, message)

    # ---- what the manager says ----

    def _on_welcome(self, message: Welcome) -> None:
        if self._is_stale(message.epoch) or self._uplink is None:
            return
        self._send(Heartbeat(self._sample()))
        self._outbox.connect(self._uplink, self._attempts.held(), self._monitor.current_health())
        self._set_heartbeat(message.heartbeat_s)

    def _on_refused(self, message: Refused) -> None:
        log.warning("manager.refused", node=self._node.name.name, code=message.code, reason=message.reason)

    def _on_orders(self, message: Orders) -> None:
        if not self._is_stale(message.epoch):
            specs = {key: _as_pod(spec) for key, spec in message.specs.items()}
            self._attempts.accept(Orders(message.epoch, message.orders, specs))

    def _on_stop(self, message: Stop) -> None:
        if not self._is_stale(message.epoch):
            for stop_range in message.ranges:
                self._attempts.stop(stop_range)

    def _on_recall(self, message: Recall) -> None:
        if not self._is_stale(message.epoch):
            for reservation in message.reservations:
                self._attempts.recall(reservation)

    def _on_ack(self, message: Ack) -> None:
        self._attempts.acknowledged(self._outbox.acknowledge(message.seq).ended)

    def _on_set_heartbeat(self, message: SetHeartbeat) -> None:
        self._set_heartbeat(message.heartbeat_s)

    def _on_read_log(self, message: ReadLog) -> None:
        if not message.segment:
            attempt = Attempt(message.job, message.group, message.index, message.attempt)
            message.segment = self._attempts.segment_of(attempt)
        if message.segment:
            self._send(read_log(self._settings.home / "logs", message))
        else:
            self._send(LogData(message.request, b"", False, next=message.offset))

    def _on_read_stats(self, message: ReadStats) -> None:
        self._spawn(self._send_stats(message.request))

    def _on_shutdown(self, message: Shutdown) -> None:
        if message.stop_tasks:
            self._spawn(self._shut_down())
        else:
            self._send(Goodbye("the cluster is stopping, pods keep running"))

    def _on_pong(self, message: Pong) -> None:
        """No task here asks for contact: such specs are refused."""

    _handlers: dict[type, Callable[..., None]] = {
        Welcome: _on_welcome,
        Refused: _on_refused,
        Orders: _on_orders,
        Stop: _on_stop,
        Recall: _on_recall,
        Ack: _on_ack,
        SetHeartbeat: _on_set_heartbeat,
        ReadLog: _on_read_log,
        ReadStats: _on_read_stats,
        Shutdown: _on_shutdown,
        Pong: _on_pong,
    }

    # ---- inside ----

    async def _shut_down(self) -> None:
        grace_s = self._attempts.stop_all()
        await self._attempts.idle(grace_s + KILL_MAX_S)
        try:
            await asyncio.wait_for(self._outbox.wait_empty(), self._settings.shutdown_ack_max_s)
        except TimeoutError:
            log.warning("shutdown.unacknowledged", node=self._node.name.name)
        self._send(Goodbye(CLUSTER_STOPPED))

    async def _send_stats(self, request: int) -> None:
        self._send(StatsData(request, self._sample(), await self._attempts.usage()))

    async def _send_heartbeats(self) -> None:
        """Kubernetes knows whether the kubelet is alive: this node is silent while it says no."""
        while True:
            self._heartbeat_changed.clear()
            if not await self._clock.wait(self._heartbeat_changed, self._heartbeat_s) and self._node.is_ready:
                self._send(Heartbeat(self._sample()))

    async def _sweep_logs(self) -> None:
        settings = self._settings
        while True:
            await asyncio.sleep(settings.log_sweep_s)
            limits = settings.log_age_max_s, settings.log_total_max_bytes
            sweep_logs(settings.home / "logs", self._attempts.segments(), time.time(), *limits)

    def _sample(self) -> MachineStats:
        return MachineStats(
            at_ms=int(self._clock.now() * 1000),
            memory_total_bytes=self._node.allocatable.get(MEMORY, 0),
            disk_total_bytes=self._node.allocatable.get(DISK, 0),
            tasks_running=self._attempts.running,
        )

    def _set_heartbeat(self, heartbeat_s: float) -> None:
        self._heartbeat_s = heartbeat_s
        self._heartbeat_changed.set()

    def _is_stale(self, epoch: int) -> bool:
        if epoch < self._epoch:
            log.warning("epoch.stale", epoch=epoch, seen=self._epoch)
            return True
        self._epoch = epoch
        return False

    def _send(self, message: Heartbeat | LogData | StatsData | Goodbye | Ping) -> None:
        if self._uplink is not None:
            self._uplink.send(message)

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _as_pod(spec: TaskSpec) -> TaskSpec:
    """Plain commands run in the manager's image, containers in theirs. Other runtimes are not on this node."""
    return replace(spec, runtime=POD) if spec.runtime in (PROCESS, DOCKER) else spec


def _pod_runtime(api: KubeApi, pods: TaskPodView, node: str, pod: PodSettings, _settings: WorkerSettings) -> PodRuntime:
    return PodRuntime(api, pods, node, pod)

"""Fake workers: ordered tasks start, stopped tasks end, and health checks report what the test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from shunter.engine.services.instances import collect_instances
from shunter.model.job.spec import TaskSpec
from shunter.model.lifecycles import TaskState
from shunter.model.protocol.worker_messages import Ended, Health, Order, Orders, Started, Stop
from shunter.simulation.runtime.loop import VirtualClock
from tests.unit.engine.harness import Harness

Task = tuple[int, int, int]  # job, group, index


@dataclass(frozen=True)
class FakeAttempt:
    node: int
    attempt: int
    visible_index: int
    spec: TaskSpec
    started_ms: int


@dataclass
class FakeWorkers:
    """`is_unhealthy` says which tasks never pass their checks, by the spec that they run and the index that they
    show."""

    harness: Harness
    is_unhealthy: Callable[[TaskSpec, int], bool] = lambda _spec, _shown: False
    active: dict[Task, FakeAttempt] = field(default_factory=dict)
    starts: list[tuple[int, int]] = field(default_factory=list)  # (node, shown index), in order
    ignores_stops: bool = False
    _left: list[tuple[int, object]] = field(default_factory=list)

    async def process(self, seconds: float = 0.0) -> None:
        """Do what was ordered until nothing more comes; then let time pass, and do what comes of it."""
        for _ in range(60):
            sent, self.harness.workers.sent = self.harness.workers.sent, []
            for node, message in sent:
                if isinstance(message, Orders):
                    for order in message.orders:
                        await self._start(node, order, message.specs[order.spec])
                elif isinstance(message, Stop) and not self.ignores_stops:
                    for each in message.ranges:
                        await self.stop(each.job, each.group, range(each.first, each.last + 1))
            await self.harness.settle()
            if not self.harness.workers.sent:
                break
        if seconds:
            await self.harness.settle(seconds)
            await self.process()

    async def advance(self, seconds: float, step: float = 0.5) -> None:
        for _ in range(int(seconds / step)):
            await self.process(step)

    async def _start(self, node: int, order: Order, spec: TaskSpec) -> None:
        now_ms = int(VirtualClock().now() * 1000)
        started, health = [], []
        for offset, index in enumerate(range(order.first, order.last + 1)):
            visible_index = order.shown[offset] if order.shown else index
            self.active[order.job, order.group, index] = FakeAttempt(node, order.attempt, visible_index, spec, now_ms)
            self.starts.append((node, visible_index))
            started.append(Started(order.job, order.group, order.attempt, index, now_ms, 1, 0))
            if spec.health:
                is_healthy = not self.is_unhealthy(spec, visible_index)
                health.append(Health(order.job, order.group, order.attempt, index, is_healthy, now_ms, ""))
        await self.harness.report(node, started=started, health=health)

    async def stop(self, job: int, group: int, indexes: Iterable[int]) -> None:
        for index in indexes:
            await self.end((job, group, index), 143, "stopped")

    async def end(self, task: Task, exit_code: int, how: str = "") -> None:
        """The task's attempt ends."""
        active = self.active.pop(task, None)
        if active is None:
            return
        now_ms = int(VirtualClock().now() * 1000)
        job, group, index = task
        exits = [exit_code] if exit_code else []
        ended = Ended(job, group, active.attempt, index, exits, [active.started_ms], [now_ms], 1, 0, how)
        await self.harness.report(active.node, ended=[ended])

    def find(self, visible_index: int, job: int | None = None) -> Task:
        """The one task that plays an index."""
        [task] = [
            task
            for task, active in self.active.items()
            if active.visible_index == visible_index and job in (None, task[0])
        ]
        return task

    def indexes_on(self, node: int) -> list[int]:
        """The indexes that play on a node."""
        return sorted(active.visible_index for active in self.active.values() if active.node == node)

    def commands(self) -> list[str]:
        """What runs, in words: the last word of each command."""
        return sorted(active.spec.command[-1] for active in self.active.values())


def healthy_count(harness: Harness, job_id: int) -> int:
    """Instances of a service that are healthy now."""
    job, now_ms = harness.engine.state.jobs[job_id], int(VirtualClock().now() * 1000)
    return sum(instance.is_healthy_at(now_ms) for instance in collect_instances(harness.engine.state, job).values())


def running(harness: Harness, job_id: int) -> int:
    job = harness.engine.state.jobs[job_id]
    return job.counts()[TaskState.RUNNING]

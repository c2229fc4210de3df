"""Converts samples of workers to named series. The watcher passes in each heartbeat; a metric sink stores the
series."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.model.protocol.worker_messages import Heartbeat, MachineSample
from shunter.ports.metrics import Measurement, MetricSink, NodeSource, TaskSource

MACHINE_INCARNATION = 0
CLOCK_STEP_MS = 1_000  # a clock that is off by so much more or less than before was set
ATTEMPTS_MAX = 2**32


class SampleRecorder:
    """Names are looked up while a task is known; samples of unknown tasks are dropped."""

    def __init__(self, engine: Engine, sink: MetricSink) -> None:
        self._engine, self._sink = engine, sink
        self._clock_skew_ms: dict[int, int] = {}  # node -> of its clock before ours

    def record_heartbeat(self, node: int, heartbeat: Heartbeat, now_ms: int) -> None:
        nodes = self._engine.state.nodes
        if node in nodes.records:
            skew_ms = self._clock_skew_of(node, heartbeat.stats.at_ms - now_ms)
            for sample in heartbeat.samples:
                self._record(nodes.view.names[node], sample, skew_ms)

    def _clock_skew_of(self, node: int, measured_ms: int) -> int:
        """How far its clock is ahead. A slow heartbeat makes it look less, so the largest value counts; it hardly ever
        changes, so that differences between samples stay correct."""
        known_ms = self._clock_skew_ms.get(node)
        if known_ms is None or not 0 <= known_ms - measured_ms < CLOCK_STEP_MS:
            known_ms = self._clock_skew_ms[node] = measured_ms
        return known_ms

    def _record(self, node: str, sample: MachineSample, skew_ms: int) -> None:
        at_ms = sample.at_ms - skew_ms
        io = (sample.read_bytes, sample.written_bytes, sample.received_bytes, sample.sent_bytes)
        totals = (sample.cpu_s, sample.memory_bytes, *io)
        self._sink.record(NodeSource(node), Measurement(at_ms, node, MACHINE_INCARNATION, totals))
        for task in sample.tasks:
            task_set = self._engine.state.task_set(task.job, task.group)
            if task_set is not None and task.index < task_set.count:
                source = TaskSource(task.job, task_set.spec.name, task_set.visible_index_of(task.index))
                # an instance of a service is replaced by a new task set
                incarnation = task_set.number * ATTEMPTS_MAX + task.attempt
                used = (task.cpu_s, task.memory_bytes, task.read_bytes, task.written_bytes)
                since_ms = task.started_ms - skew_ms if task.started_ms else None
                self._sink.record(source, Measurement(at_ms, node, incarnation, used, since_ms))

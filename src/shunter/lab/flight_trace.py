"""Makes a trace from a flight recording: what was submitted while it was recorded, and on which nodes. Called by
`app.lab`, which reads the file or asks a running cluster for it.

A recording shows what was pending and what was placed, at each decision. When a task ended is not in it. So a task runs
as long as its estimate says, given or learnt. Without one, its run lasts from its placement until its node was seen
with fewer tasks, which may be late: nothing is recorded while nothing is pending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from shunter.lab.nodes import NodeModel, make_node
from shunter.lab.trace import JOBS_MAX, Trace, make_trace
from shunter.lab.workload import GPU_MILLI
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import QUEUE_DEFAULT
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, FlightRecord, SituationRecord, Step
from shunter.model.protocol.scheduler_messages import DecisionRow, PlacementRow
from shunter.model.resources import CPU, MEMORY
from shunter.planning.remote.view_reader import GapInDeltas, ViewReader
from shunter.planning.view import ClusterView, Nodes, TaskClass

GPU = "gpu"  # the resource of real nodes: whole devices
UNKNOWN = -1.0


@dataclass(slots=True)
class _Submission:
    """`count` tasks of a class that became pending at the same time."""

    task_class: TaskClass
    at_s: float
    count: int
    estimate_s: float


@dataclass(slots=True)
class _ClassHistory:
    pending: int = 0
    is_known: bool = False  # it was pending before
    estimate_s: float = 0.0  # the newest
    ran_s: float = 0.0  # of all tasks that were seen to end
    ended: int = 0

    @property
    def run_s(self) -> float:
        return self.estimate_s or (self.ran_s / self.ended if self.ended else UNKNOWN)


@dataclass(slots=True)
class _OnNode:
    """Tasks that were placed on a node together."""

    class_id: int
    started_s: float
    count: int


@dataclass(slots=True)
class _Recording:
    submissions: list[_Submission] = field(default_factory=list)
    histories: dict[int, _ClassHistory] = field(default_factory=dict)
    on_nodes: dict[int, list[_OnNode]] = field(default_factory=dict)
    tasks: dict[int, int] = field(default_factory=dict)  # row -> how many must be there if none has ended

    def see(self, view: ClusterView, now_s: float) -> None:
        self._see_ends(view.nodes, now_s)
        counts = {queued.task_class.id: queued for queued in view.queued}
        for class_id, queued in counts.items():
            history = self.histories.setdefault(class_id, _ClassHistory())
            more = queued.count - history.pending
            if more > 0:
                at_s = now_s if history.is_known or not queued.since_ms else min(now_s, queued.since_ms / 1000)
                self.submissions.append(_Submission(queued.task_class, at_s, more, queued.estimate_s))
            history.pending, history.is_known = queued.count, True
            history.estimate_s = queued.estimate_s or history.estimate_s
        for class_id, history in self.histories.items():
            if class_id not in counts:
                history.pending = 0

    def place(self, placement: PlacementRow, now_s: float) -> None:
        history = self.histories.setdefault(placement.class_id, _ClassHistory())
        for row, count in zip(placement.nodes, placement.counts, strict=True):
            history.pending = max(history.pending - count, 0)
            self.tasks[row] = self.tasks.get(row, 0) + count
            self.on_nodes.setdefault(row, []).append(_OnNode(placement.class_id, now_s, count))

    def _see_ends(self, nodes: Nodes, now_s: float) -> None:
        """Where a node has fewer tasks than were placed, those that came first have ended."""
        for row in range(1, nodes.count):
            count = int(nodes.tasks[row])
            missing, waiting = self.tasks.get(row, 0) - count, self.on_nodes.get(row, [])
            while missing > 0 and waiting:
                first, history = waiting[0], self.histories[waiting[0].class_id]
                ended = min(missing, first.count)
                history.ran_s += ended * (now_s - first.started_s)
                history.ended += ended
                first.count -= ended
                missing -= ended
                if not first.count:
                    waiting.pop(0)
            self.tasks[row] = count


def read_flight(records: Iterable[FlightRecord]) -> tuple[Trace, NodeModel]:
    """The trace, and the nodes at the end of the recording. Raises Invalid if it shows no jobs."""
    recording, nodes = _Recording(), None
    for view, now_s, decision in _situations(list(records)):
        recording.see(view, now_s)
        nodes = view.nodes
        for placement in decision.placements if decision is not None else ():
            recording.place(placement, now_s)
    if nodes is None or not recording.submissions:
        raise Invalid([Problem("--trace", "the recording shows no jobs", fix="record while jobs are submitted")])
    return _trace(recording), _node_model(nodes)


def _situations(records: list[FlightRecord]) -> Iterator[tuple[ClusterView, float, DecisionRow | None]]:
    """What the policy that decided most often has seen and decided. A view is valid until the next one."""
    sources = Counter(_source_of(record) for record in records if isinstance(record, Step | Decided))
    if not sources:
        return
    source, reader, decided = sources.most_common(1)[0][0], None, dict[int, DecisionRow]()
    for record in records:
        if isinstance(record, Decided) and record.source == source:
            decided[record.number] = record.decision
    for record in records:
        if isinstance(record, Began) and record.source == source:
            reader = ViewReader(record.wants)
        elif reader is not None and isinstance(record, Step | SituationRecord) and _source_of(record) == source:
            situation = record.situation
            row = record.decision if isinstance(record, Step) else decided.pop(situation.delta.number, None)
            try:
                yield reader.read(situation.delta), situation.now, row
            except GapInDeltas:
                reader = None  # until it begins again


def _source_of(record: FlightRecord) -> str:
    return record.source if isinstance(record, Decided | SituationRecord) else ROUNDS


def _trace(recording: _Recording) -> Trace:
    """A job is a task, or a whole gang."""
    rows: list[tuple[float, ...]] = []
    users: list[str] = []
    queues: list[str] = []
    gangs: dict[tuple[int, float], list[_Submission]] = {}
    for number, each in enumerate(recording.submissions):
        rules = each.task_class.rules
        gangs.setdefault((rules.gang, each.at_s) if rules is not None and rules.gang else (-number, 0.0), []).append(
            each
        )
    for (gang, _), parts in gangs.items():
        run_s = max(recording.histories[each.task_class.id].run_s for each in parts)
        tasks = sum(each.count for each in parts) if gang > 0 else 1
        needs = [
            sum(each.task_class.needs.get(name, 0) * (each.count if gang > 0 else 1) for each in parts)
            for name in (CPU, MEMORY, GPU)
        ]
        row = parts[0].at_s, run_s, max(each.estimate_s for each in parts), tasks, needs[0], needs[1], needs[2] * 1000
        count, task_class = 1 if gang > 0 else parts[0].count, parts[0].task_class
        if len(rows) + count > JOBS_MAX:
            raise Invalid([Problem("--trace", f"the recording has more than {JOBS_MAX:,} jobs")])
        rows += [row] * count
        users += [task_class.user] * count
        queues += ["" if task_class.queue == QUEUE_DEFAULT else task_class.queue] * count
    names = ("submit_s", "run_s", "estimate_s", "tasks", "cpu_milli", "memory_bytes", "gpu_milli")
    return make_trace(dict(zip(names, np.array(rows, np.float64).T, strict=True)), users, queues, {})


def _node_model(nodes: Nodes) -> NodeModel:
    hellos = []
    for row in range(1, nodes.count):
        amounts = dict(zip(nodes.resources, nodes.capacity[row].tolist(), strict=True))
        capacity = {name: amounts[name] for name in (CPU, MEMORY) if amounts.get(name)}
        if amounts.get(GPU):
            capacity[GPU_MILLI] = amounts[GPU] * 1000
        if capacity:
            hellos.append(make_node(nodes.names[row], capacity, {}))
    return NodeModel("as recorded", tuple(hellos), True)

"""Checks the invariants of the design from outside: after every durable round, every message to a worker, and every
event on a simulated machine.

Cheap checks run every time; the audit of the live state runs every few rounds and at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from shunter.engine.changes import Change, LanesSet, TaskEnded, TasksTransitioned, decode_round
from shunter.engine.changes.formats import FORMATS, Formats
from shunter.engine.engine import Engine
from shunter.engine.jobs.submit import SubmitResult
from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.records import ClassKey
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.engine.state.task_table import unpack_columns
from shunter.model.job.spec import LICENCE_PREFIX, PORT_PREFIX, TaskSpec
from shunter.model.lifecycles import NodeState, TaskEvent, TaskState
from shunter.model.protocol.worker_messages import Ended, Lost, ManagerMessage, Order, Orders
from shunter.ports.store import Commit, FinishedJob, Store
from shunter.simulation.checks.audit import audit
from shunter.simulation.checks.audit_chain import AuditChain
from shunter.simulation.checks.format_rules import FormatRules
from shunter.simulation.checks.histories import Histories
from shunter.simulation.checks.leadership import LeaderChecker
from shunter.simulation.checks.object_rules import check_objects
from shunter.simulation.checks.placement_rules import check_gangs, check_lanes, check_placed
from shunter.simulation.checks.reference_model import ReferenceModel
from shunter.simulation.checks.reference_records import LIVE, require
from shunter.simulation.checks.service_rules import check_ended
from shunter.simulation.checks.status_order import StatusOrder
from shunter.simulation.fleet.machine import Machine, RunningRange
from shunter.simulation.fleet.node import SimulatedNode

AUDIT_EVERY = 8  # rounds
SNAPSHOT_EVERY = 8  # audits


@dataclass(slots=True)
class WaitTimes:
    """How long tasks waited from the submit of their job to the first time that they were placed."""

    tasks: int = 0
    total_ms: int = 0

    def record(self, model: ReferenceModel) -> None:
        for placed in model.placed_in_round:
            if placed.attempt == 1:
                count = placed.last - placed.first + 1
                self.tasks += count
                self.total_ms += count * (model.now_ms - model.jobs[placed.job].submitted_ms)

    @property
    def mean_s(self) -> float:
        return self.total_ms / 1000 / self.tasks if self.tasks else 0.0


class Checkers:
    def __init__(self, formats: Formats = FORMATS) -> None:
        """`formats` are those of the newest program of this world."""
        self._formats = formats
        self.formats = FormatRules()
        self.model = ReferenceModel()
        self.shadow = State(formats)  # what replaying the committed rounds gives
        self.checked: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()  # committed, by kind
        self.acknowledged: dict[int, SubmitResult] = {}
        self.wait_times = WaitTimes()
        self.histories = Histories(self.shadow, self.checked)
        self.status = StatusOrder(self.shadow, self.checked)
        self.leadership = LeaderChecker()
        self.audit_chain = AuditChain()
        self._machines: dict[str, Machine] = {}
        self._classes: dict[int, ClassKey] = {}  # those that had lanes

    # ---- what the store has ----

    def on_durable(self, engine: Engine | None, commit: Commit, writer: Formats = FORMATS) -> None:
        """A round became durable; the live state is exactly the state after it. Without an engine there is none."""
        changes = decode_round(commit.body)
        self.formats.on_durable(writer, changes)
        self.audit_chain.on_durable(commit, changes)
        self.model.begin(commit.epoch, commit.version, round(commit.at * 1000))
        for change in changes:
            self.model.apply(change)
            self._replay(change)
            self.changes[_kind_of(change)] += 1
        self.shadow.version = commit.version
        check_placed(self.model)
        check_gangs(self.model)
        check_ended(self.model)
        check_objects(self.shadow)
        self._check_losses()
        self.wait_times.record(self.model)
        for job in commit.finished:
            self._check_finished(job)
        self.checked["round"] += 1
        if commit.version % AUDIT_EVERY == 0 and engine is not None:
            self.on_audit(engine.state)

    def _replay(self, change: Change) -> None:
        """Into the shadow. Whenever lanes are added, they fit."""
        if not isinstance(change, LanesSet):
            self.shadow.apply(change)
            return
        record = self.shadow.classes[change.class_id]
        lanes = record.lanes.get(change.node)
        width = lanes.width if lanes else 0
        # an executor takes nothing itself: its slot has the resources, and the slot's node may have shrunk
        takes_resources = bool(record.task_class.needs)
        self.shadow.apply(change)
        view = self.shadow.nodes.view
        fits = bool((view.reserved[change.node] <= view.capacity[change.node]).all()) or not takes_resources
        require(fits or change.width <= width, f"node {change.node} has no room for {change.width - width} more lanes")
        if change.width > width:
            self._classes[change.class_id] = self.shadow.classes[change.class_id].key
            check_lanes(self.model, self._classes, change.class_id)

    def on_audit(self, state: State) -> None:
        self.require_same(state, "the live state")
        if self.checked["audit"] % SNAPSHOT_EVERY == 0:
            self.require_same(load(make_snapshot(state), self._formats), "a snapshot of the live state")
            self.checked["snapshot"] += 1
        audit(state, self.model)
        self.checked["audit"] += 1

    def on_recovered(self, engine: Engine) -> None:
        """A manager that another one replaced while it took the lead has an older state, and can commit nothing."""
        if engine.epoch < self.model.epoch:
            return
        self.require_same(engine.state, "what was recovered")
        self.checked["recovery"] += 1

    async def check_replay(self, store: Store) -> None:
        """A snapshot and the rounds after it, replayed, give the state."""
        snapshot = await store.snapshot()
        state = load(snapshot, self._formats) if snapshot else State(self._formats)
        for logged in await store.rounds_after(state.version, 1_000_000):
            for change in decode_round(logged.body):
                state.apply(change)
            state.version = logged.version
        self.require_same(state, "the snapshot with the rounds after it")
        self.checked["replay"] += 1

    def require_same(self, state: State, what: str) -> None:
        replayed, found = fingerprint(self.shadow), fingerprint(state)
        if replayed != found:
            require(False, f"{what} is not what the committed rounds give: {_difference(replayed, found)}")

    # ---- what the engine says ----

    def on_acknowledged(self, answers: list[SubmitResult]) -> None:
        for answer in answers:
            self.acknowledged.setdefault(answer.job_id, answer)
            is_known = answer.job_id in self.model.jobs or answer.job_id in self.model.templates.ids
            require(is_known, f"job {answer.job_id} was acknowledged and is not committed")

    def on_sent(self, engine: Engine, node: int, message: ManagerMessage) -> None:
        """A leader that was replaced may still say things of the past; workers refuse them by their epoch."""
        if isinstance(message, Orders) and engine.epoch == self.model.epoch:
            require(message.epoch == engine.epoch, f"orders of epoch {message.epoch} in epoch {engine.epoch}")
            for order in message.orders:
                self._check_order(node, order)
                self._check_secrets(order, message.specs[order.spec])

    def _check_order(self, node: int, order: Order) -> None:
        """An order goes out only when the commit that assigns it is durable."""
        for index in range(order.first, order.last + 1):
            task = self.model.task(order.job, order.group, index)
            where = f"task {order.job}/{index}#{order.attempt}"
            require(task is not None and order.attempt <= task.attempt, f"{where} was ordered and is not committed")
            if task is not None and order.attempt == task.attempt:
                require(task.state is not TaskState.SUCCEEDED, f"{where} was ordered after it had succeeded")
                require(task.node in (0, node), f"{where} was ordered on node {node}, committed is {task.node}")
        self.checked["order"] += 1

    def _check_secrets(self, order: Order, spec: TaskSpec) -> None:
        job = self.model.jobs.get(order.job)
        task_set = None if job is None else job.groups.get(order.group)
        if task_set is not None and (spec.secrets or task_set.spec.task.secrets):
            self.model.secrets.check_order(order, spec, task_set.spec.task)
            self.checked["secrets"] += 1

    # ---- what happens on the machines ----

    def watch(self, node: SimulatedNode) -> None:
        self._machines[node.hello.name] = node.machine
        node.machine.observer = _MachineObserver(self, node)
        node.on_result_dropped = self.on_dropped

    def on_attempt_started(self, node: SimulatedNode, running_range: RunningRange) -> None:
        for index in range(running_range.first, running_range.last + 1):
            task = self.model.task(running_range.job, running_range.group, index)
            where = f"task {running_range.job}/{index}#{running_range.attempt} on {node.hello.name}"
            require(
                task is not None and running_range.attempt <= task.attempt, f"{where} began before it was committed"
            )
            if task is not None:
                require(task.succeeded_attempt != running_range.attempt, f"{where} began after it had succeeded")
        self._check_at_most_once(node, running_range)
        self._check_machine(node)
        self.checked["start"] += 1

    def _check_at_most_once(self, node: SimulatedNode, started: RunningRange) -> None:
        """No other attempt of such a task runs anywhere, whatever the engine believes. An operator who says that
        nothing runs on a node may be wrong, but simulated ones are not."""
        task_set = self.model.jobs[started.job].groups.get(started.group)
        if task_set is None or not task_set.spec.at_most_once:
            return
        for name, machine in self._machines.items():
            for other in machine.running:
                is_same = other is not started and (other.job, other.group) == (started.job, started.group)
                if is_same and other.first <= started.last and other.last >= started.first:
                    where = f"task {started.job}/{started.first}#{started.attempt} on {node.hello.name}"
                    require(False, f"{where} began while attempt {other.attempt} of it ran on {name}")
        self.checked["at_most_once"] += 1

    def on_dropped(self, node: SimulatedNode, result: Ended | Lost) -> None:
        """A worker forgot a result because the manager acknowledged it: the record must have it."""
        last = result.last if isinstance(result, Lost) else result.first + len(result.ended_ms) - 1
        for index in range(result.first, last + 1):
            task = self.model.task(result.job, result.group, index)
            is_live = task is not None and task.state in LIVE
            is_current_attempt = task is not None and is_live and (task.attempt, task.node) == (result.attempt, node.id)
            where = f"task {result.job}/{index}#{result.attempt} of {node.hello.name}"
            require(not is_current_attempt, f"the result of {where} was acknowledged before it was committed")
        self.checked["result"] += 1

    def _check_machine(self, node: SimulatedNode) -> None:
        """What really runs fits into the lanes and on the machine, but for attempts that the engine has written off."""
        used: Counter[str] = Counter()
        busy: Counter[int] = Counter()
        for running_range in node.machine.running:
            job = self.model.jobs[running_range.job]
            task_set = job.groups.get(running_range.group)
            if task_set is None:
                continue  # a task set that has left its job
            tasks = task_set.tasks[running_range.first : running_range.last + 1]
            live = sum((t.attempt, t.node) == (running_range.attempt, node.id) and t.state in LIVE for t in tasks)
            busy[running_range.lanes.reservation] += live
            for resource, amount in task_set.spec.needs.items():
                if not resource.startswith(LICENCE_PREFIX):
                    used[resource] += amount * live
        for reservation, live in busy.items():
            width = self.model.nodes[node.id].widths.get(reservation, 0) if live else 0
            require(live <= width, f"{live} attempts live in {width} lanes of {reservation} on {node.hello.name}")
        for resource, amount in used.items():
            has_port = resource.startswith(PORT_PREFIX)
            capacity = 1 if has_port else self.model.nodes[node.id].capacity_max.get(resource, 0)
            require(amount <= capacity, f"{amount} of {capacity} {resource} are in use on {node.hello.name}")

    def _check_losses(self) -> None:
        """An attempt is written off only if its node is down, or does not have it."""
        for job, task_set, index, attempt, node in self.model.lost_in_round:
            name = self.model.nodes[node].name
            machine = self._machines.get(name)
            if node in self.model.went_down or machine is None:
                self._check_replaced(job, task_set, index, node)
                continue
            has_it = any(
                held.attempt == attempt and held.first <= index <= held.last for held in machine.held(job, task_set)
            )
            where = f"task {job}/{index}#{attempt}"
            require(not has_it, f"{where} was written off while {name}, which is not down, has it")

    def _check_replaced(self, job: int, task_set: int, index: int, node: int) -> None:
        """A task of a down node is not replaced before its time."""
        known = self.model.jobs[job].groups.get(task_set)
        if known is None:
            return  # a task set that has left its job
        spec, record = known.spec, self.model.nodes[node]
        if spec.replace_after_s and record.state is NodeState.DOWN and not record.is_forgotten:
            elapsed_s = (self.model.now_ms - record.down_at_ms) / 1000
            require(elapsed_s >= spec.replace_after_s, f"task {job}/{index} was replaced {elapsed_s} s after its node")

    def _check_finished(self, finished: FinishedJob) -> None:
        """History keeps what the record says."""
        job = self.model.jobs[finished.id]
        require(
            finished.state == job.state.wire_name,
            f"history has job {finished.id} {finished.state}, not {job.state.wire_name}",
        )
        states: dict[int, list[int]] = {}
        for chunk in finished.tasks:
            states.setdefault(chunk.group, []).extend(unpack_columns(chunk.count, chunk.body)["state"].tolist())
        for number, task_set in job.groups.items():
            expected = [int(task.state) for task in task_set.tasks]
            require(states.get(number) == expected, f"history has other tasks of job {finished.id} than the record")


class _MachineObserver:
    """One machine's observer."""

    def __init__(self, checkers: Checkers, node: SimulatedNode) -> None:
        self._checkers = checkers
        self._node = node

    def on_started(self, running_range: RunningRange) -> None:
        self._checkers.on_attempt_started(self._node, running_range)

    def on_ended(self, running_range: RunningRange) -> None:
        require(running_range.lanes.busy >= 0, f"lanes of {self._node.hello.name} are less than empty")


def _kind_of(change: Change) -> str:
    """Its name, with the event where there are several."""
    name = type(change).__name__
    return f"{name}.{TaskEvent(change.event).wire_name}" if isinstance(change, TasksTransitioned | TaskEnded) else name


def _difference(replayed: Any, found: Any) -> str:
    """The first thing that is not alike, short enough to read."""
    if isinstance(replayed, dict) and isinstance(found, dict):
        for key in [*replayed, *found]:
            if replayed.get(key) != found.get(key):
                return f"[{key}] {_difference(replayed.get(key), found.get(key))}"
    if isinstance(replayed, list | tuple) and isinstance(found, list | tuple) and len(replayed) == len(found):
        for position, (one, other) in enumerate(zip(replayed, found, strict=True)):
            if one != other:
                return f"[{position}] {_difference(one, other)}"
    return f"replayed {str(replayed)[:200]}, found {str(found)[:200]}"

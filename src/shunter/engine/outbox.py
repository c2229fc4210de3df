"""Messages to workers that a round sends after its commit: orders, stops, recalls and acknowledgements. The modules
that decide fill it, and `engine.engine` sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from shunter.engine.state.records import TaskSet
from shunter.engine.state.task_table import TaskTable
from shunter.model.errors import Unavailable
from shunter.model.job.spec import TaskSpec, array_values
from shunter.model.protocol.worker_messages import Ack, ManagerMessage, Order, Orders, Recall, Stop, StopRange

OpenSecret = Callable[[str, str], bytes]
PAYLOADS_BYTES_MAX = 8 * 2**20  # in one message of orders


@dataclass(slots=True)
class Outbox:
    """All collections are by node."""

    epoch: int
    table: TaskTable
    orders: dict[int, list[Order]] = field(default_factory=dict)
    trace_order: Callable[[str], str] | None = None  # the context of an order, for that of its job
    specs: dict[int, dict[int, TaskSpec]] = field(default_factory=dict)  # of the orders
    has_payloads: bool = False  # among these specs
    open_secret: OpenSecret | None = None  # reads the value of a secret, by namespace and name
    # (spec key, namespace) of specs with secrets: specs are shared between namespaces, values are not
    secret_specs: dict[tuple[int, str], int] = field(default_factory=dict)
    unsent: list[tuple[int, Order]] = field(default_factory=list)  # by node: `messages` found secrets unreadable
    stops: dict[int, list[StopRange]] = field(default_factory=dict)
    deferred_stops: dict[int, list[StopRange]] = field(default_factory=dict)  # of what the same round has ordered
    recalls: dict[int, list[int]] = field(default_factory=dict)
    acks: dict[int, int] = field(default_factory=dict)

    def order(self, task_set: TaskSet, first: int, last: int, attempt: int, node: int) -> None:
        """Tell the node's worker to run these tasks."""
        job, record, spec, spec_key = task_set.job, task_set.task_class, task_set.spec, task_set.spec_key
        if spec.task.secrets:
            spec_key = self.secret_specs.setdefault((spec_key, job.namespace), -1 - len(self.secret_specs))
        self.specs.setdefault(node, {})[spec_key] = spec.task
        self.has_payloads |= bool(spec.task.payload or spec.task.secrets)
        order = Order(
            job.id,
            task_set.number,
            first,
            last,
            attempt,
            spec_key,
            record.id,
            record.lanes[node].width,
            job.namespace,
            job.name,
            spec.name,
            spec.total or spec.count or task_set.count,
        )
        if task_set.visible_index is not None or spec.array or spec.entries:
            order.shown, order.entries = _per_task_values(task_set, first, last)
        if job.trace:
            order.trace = job.trace if self.trace_order is None else self.trace_order(job.trace)
        self.orders.setdefault(node, []).append(order)

    def withdraw(self, task_set: TaskSet, first: int, last: int, attempt: int, node: int) -> None:
        """Do not repeat orders that the worker has carried out after all, as a report after its inventory says."""
        orders = self.orders.get(node)
        if not orders:
            return
        name = task_set.job.id, task_set.number, attempt
        overlapping = [
            order
            for order in orders
            if (order.job, order.group, order.attempt) == name and order.first <= last and first <= order.last
        ]
        for order in overlapping:
            orders.remove(order)
            if order.first < first:
                self.order(task_set, order.first, first - 1, attempt, node)
            if order.last > last:
                self.order(task_set, last + 1, order.last, attempt, node)

    def stop(self, task_set: TaskSet, first: int, last: int, node: int, grace_s: float, signal: int = 0) -> None:
        """Tell the node's worker to end the current attempts of these tasks, which all run there."""
        newest_attempt = int(self.table.attempt[task_set.base + first : task_set.base + last + 1].max())
        ordered = (
            order
            for order in self.orders.get(node, ())
            if (order.job, order.group) == (task_set.job.id, task_set.number)
        )
        is_new = any(
            order.first <= last and first <= order.last and order.attempt <= newest_attempt for order in ordered
        )
        stops = self.deferred_stops if is_new else self.stops
        stops.setdefault(node, []).append(
            StopRange(task_set.job.id, task_set.number, first, last, grace_s, newest_attempt, signal)
        )

    def recall(self, node: int, class_id: int) -> None:
        """Ask the node's worker to return the tasks of a class that it has not started."""
        self.recalls.setdefault(node, []).append(class_id)

    def _with_values(self, key: int, spec: TaskSpec) -> TaskSpec | None:
        """The spec with the values of its secrets: the only place where they are in the clear. None if one of them
        cannot be decrypted: a task never starts without it."""
        if not spec.secrets:
            return spec
        assert self.open_secret is not None
        namespace = next(namespace for (_, namespace), own in self.secret_specs.items() if own == key)
        try:
            values = [replace(each, value=self.open_secret(namespace, each.name)) for each in spec.secrets]
        except Unavailable:
            return None
        return replace(spec, secrets=tuple(values))

    def messages(self) -> Iterator[tuple[int, ManagerMessage]]:
        """Stops go before orders, because an index may be stopped and started again. Stops of tasks that the same round
        has ordered go after the orders, because the worker must know the order first. Afterwards `unsent` has what
        was left out."""
        for node, ranges in self.stops.items():
            yield node, Stop(self.epoch, ranges)
        for node, orders in self.orders.items():
            if orders:
                for message in self._order_messages(node, orders):
                    yield node, message
        for node, ranges in self.deferred_stops.items():
            yield node, Stop(self.epoch, ranges)
        for node, reservations in self.recalls.items():
            yield node, Recall(self.epoch, reservations)
        for node, seq in self.acks.items():
            yield node, Ack(seq)

    def _order_messages(self, node: int, orders: list[Order]) -> Iterator[Orders]:
        specs = self.specs[node]
        if self.secret_specs:
            filled = {key: self._with_values(key, spec) for key, spec in specs.items()}
            specs = {key: spec for key, spec in filled.items() if spec is not None}
            self.unsent += [(node, order) for order in orders if order.spec not in specs]
            orders = [order for order in orders if order.spec in specs]
        if not orders:
            return
        if not self.has_payloads:
            yield Orders(self.epoch, orders, specs)
            return
        for batch in _split_by_size(orders, specs):
            yield Orders(self.epoch, batch, {order.spec: specs[order.spec] for order in batch})


def _size_bytes(spec: TaskSpec) -> int:
    return len(spec.payload or b"") + sum(len(each.value or b"") for each in spec.secrets)


def _per_task_values(task_set: TaskSet, first: int, last: int) -> tuple[list[int], list[str]]:
    """What differs between the tasks of an order besides their index: the visible index and their entries."""
    spec = task_set.spec
    visible_indexes = (
        list(task_set.visible_index[first : last + 1])
        if task_set.visible_index is not None
        else list(range(first, last + 1))
    )
    entries = [spec.entries[index] for index in visible_indexes] if spec.entries else []
    return array_values(spec.array, visible_indexes) if spec.array else visible_indexes, entries


def _split_by_size(orders: list[Order], specs: dict[int, TaskSpec]) -> Iterator[list[Order]]:
    """Split orders into messages of a size that a connection can carry: each run of a template may have a payload."""
    if sum(map(_size_bytes, specs.values())) <= PAYLOADS_BYTES_MAX:
        yield orders
        return
    batch: list[Order] = []
    remaining_bytes = PAYLOADS_BYTES_MAX
    sent_specs: set[int] = set()
    for order in orders:
        size_bytes = _size_bytes(specs[order.spec])
        if batch and order.spec not in sent_specs and size_bytes > remaining_bytes:
            yield batch
            batch, remaining_bytes, sent_specs = [], PAYLOADS_BYTES_MAX, set()
        if order.spec not in sent_specs:
            sent_specs.add(order.spec)
            remaining_bytes -= size_bytes
        batch.append(order)
    yield batch

"""Makes the spans of orders that have a trace: how long a range was here, and when its tasks ran. Owned by
`worker.worker`; `worker.process.assignments` and `worker.runtimes.attempts` begin a range, `worker.outbox` tells its
end.

There are two spans for each order, never one for each task."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from shunter.model.protocol.worker_messages import Ended, Lost, Order, Returned
from shunter.model.tracing import is_sampled
from shunter.ports.tracing.tracer import Attributes, Span, SpanKind, Tracer

OPEN_MAX = 10_000  # orders at once; beyond that the oldest gets no span


@dataclass(slots=True)
class _OpenRange:
    order: Order
    start_s: float
    remaining: int = 0
    parts: list[tuple[int, int]] = field(default_factory=list)
    started_ms: int = 0  # the first
    ended_ms: int = 0  # the last
    succeeded: int = 0
    failed: int = 0
    exit_code: int = 0  # of the last task that failed
    problem: str = ""

    def overlap(self, first: int, last: int) -> list[tuple[int, int]]:
        parts = [(max(first, low), min(last, high)) for low, high in self.parts]
        return [(low, high) for low, high in parts if low <= high]


class RangeSpans:
    """`clock` gives seconds since 1970."""

    def __init__(self, tracer: Tracer, clock: Callable[[], float], node: str) -> None:
        self._tracer, self._clock, self._node = tracer, clock, node
        self._open: OrderedDict[str, _OpenRange] = OrderedDict()  # by the context of the order
        self._by_attempt: dict[tuple[int, int, int], list[str]] = {}  # (job, group, attempt) -> contexts

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, order: Order, first: int, last: int) -> None:
        """These tasks of the order are here from now on."""
        if not is_sampled(order.trace):
            return
        found = self._open.get(order.trace)
        if found is None:
            found = self._open[order.trace] = _OpenRange(order, self._clock())
            self._by_attempt.setdefault(_key(order), []).append(order.trace)
        found.parts.append((first, last))
        found.remaining += last - first + 1
        while len(self._open) > OPEN_MAX:
            self._forget(next(iter(self._open)))

    def ended(self, ended: Ended) -> None:
        last = ended.first + len(ended.ended_ms) - 1
        for context, found, low, high in self._found(_key(ended), ended.first, last):
            begin, end = low - ended.first, high - ended.first + 1
            exits = ended.exits[begin:end]
            failures = [code for code in exits if code] if not ended.how else exits or [-1]
            found.failed += len(failures)
            found.succeeded += high - low + 1 - len(failures)
            if failures:
                found.exit_code, found.problem = failures[-1], ended.detail or ended.how or f"exit {failures[-1]}"
            started_ms = min(ended.started_ms[begin:end])
            found.started_ms = min(found.started_ms or started_ms, started_ms)
            found.ended_ms = max(found.ended_ms, *ended.ended_ms[begin:end])
            self._take(context, found, high - low + 1)

    def lost(self, lost: Lost) -> None:
        self._gone(_key(lost), lost.first, lost.last, lost.reason)

    def returned(self, returned: Returned) -> None:
        self._gone(_key(returned), returned.first, returned.last, "")

    def _gone(self, key: tuple[int, int, int], first: int, last: int, problem: str) -> None:
        for context, found, low, high in self._found(key, first, last):
            if problem:
                found.problem = problem
                found.failed += high - low + 1
            self._take(context, found, high - low + 1)

    def _found(self, key: tuple[int, int, int], first: int, last: int) -> list[tuple[str, _OpenRange, int, int]]:
        return [
            (context, self._open[context], low, high)
            for context in self._by_attempt.get(key, ())
            for low, high in self._open[context].overlap(first, last)
        ]

    def _take(self, context: str, found: _OpenRange, count: int) -> None:
        found.remaining -= count
        if found.remaining > 0:
            return
        self._forget(context)
        order, own = found.order, self._tracer.child_of(context)
        about: Attributes = {
            "shunter.job": order.job_name, "shunter.namespace": order.namespace, "shunter.group": order.group_name,
            "shunter.node": self._node, "shunter.first": order.first, "shunter.last": order.last,
            "shunter.attempt": order.attempt,
        }  # fmt: skip
        self._tracer.record(
            Span("keeper", own, context, found.start_s, self._clock(), about, SpanKind.CONSUMER, found.problem)
        )
        if found.ended_ms:
            results: Attributes = {"shunter.succeeded": found.succeeded, "shunter.failed": found.failed,
                       "shunter.exit_code": found.exit_code}  # fmt: skip
            times = found.started_ms / 1000, found.ended_ms / 1000
            self._tracer.record(
                Span("exit", self._tracer.child_of(own), own, *times, {**about, **results}, error=found.problem)
            )

    def _forget(self, context: str) -> None:
        found = self._open.pop(context)
        contexts = self._by_attempt[_key(found.order)]
        contexts.remove(context)
        if not contexts:
            del self._by_attempt[_key(found.order)]


def _key(named: Order | Ended | Lost | Returned) -> tuple[int, int, int]:
    return named.job, named.group, named.attempt

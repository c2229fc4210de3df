"""Makes spans of what a round did for jobs that have a trace: commit, decision, order, and the job when it ends. Called
by `engine.engine` after the commit, so nobody waits for it.

A span is about a range, never about one task. A job carries the context of the request that submitted it, so a leader
that takes over continues the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.log import Log
from shunter.model.lifecycles import JobEvent
from shunter.model.protocol.worker_messages import Order
from shunter.model.tracing import is_sampled, trace_id_of
from shunter.ports.tracing.tracer import Attributes, Span, SpanKind, Tracer

log = Log(__name__)
SPANS_MAX = 10_000  # of one round; what is beyond them is dropped
_FAILED = (JobEvent.FAILED, JobEvent.CANCELLED)


class RoundTracer:
    """`clock` gives seconds since 1970; `node_name` names a node."""

    def __init__(self, tracer: Tracer, clock: Callable[[], float], node_name: Callable[[int], str]) -> None:
        self._tracer, self._clock, self._node_name = tracer, clock, node_name
        self._decisions: dict[str, str] = {}  # context of a job -> that of its decision in this round
        self._order_parents: dict[str, str] = {}  # context of an order -> that of its decision
        self._placed_s = self._committed_s = (0.0, 0.0)  # begin and end

    def begin(self, round: Round) -> None:
        self._decisions, self._order_parents = {}, {}
        round.outbox.trace_order = self._trace_order

    def on_placed(self, began_s: float) -> None:
        self._placed_s = began_s, self._clock()

    def on_committed(self, began_s: float) -> None:
        self._committed_s = began_s, self._clock()

    def on_announced(self, round: Round) -> None:
        """The commit is durable, callers are answered and orders are sent."""
        spans = self._spans(round)
        for span in islice(spans, SPANS_MAX):
            self._tracer.record(span)
        if next(spans, None) is not None:
            log.warning("spans.dropped", version=round.state.version, limit=SPANS_MAX)

    def _trace_order(self, context: str) -> str:
        """What an order of a job carries: the context of its own span, below the decision of this round."""
        if not is_sampled(context):
            return context
        decision = self._decisions.get(context)
        if decision is None:
            decision = self._decisions[context] = self._tracer.child_of(context)
        order = self._tracer.child_of(decision)
        self._order_parents[order] = decision
        return order

    def _spans(self, round: Round) -> Iterator[Span]:
        version: Attributes = {"shunter.state_version": round.state.version}
        for change in round.changes:
            if isinstance(change, c.JobSubmitted) and is_sampled(change.trace):
                own = self._tracer.child_of(change.trace)
                yield Span("commit", own, change.trace, *self._committed_s, {**version, **_of_submit(change)})
        for context, decision in self._decisions.items():
            yield Span("decision", decision, context, *self._placed_s, version)
        if self._order_parents:
            times = self._committed_s[0], self._clock()
            for node, orders in round.outbox.orders.items():
                for order in orders:
                    if (parent := self._order_parents.get(order.trace)) is not None:
                        about = self._of_order(order, node)
                        yield Span("order", order.trace, parent, *times, about, SpanKind.PRODUCER)
        if round.traced_ends:
            yield from self._jobs(round)

    def _of_order(self, order: Order, node: int) -> Attributes:
        return {
            "shunter.job": order.job_name,
            "shunter.namespace": order.namespace,
            "shunter.group": order.group_name,
            "shunter.first": order.first,
            "shunter.last": order.last,
            "shunter.attempt": order.attempt,
            "shunter.node": self._node_name(node),
        }

    def _jobs(self, round: Round) -> Iterator[Span]:
        """A job's whole life, from the submit to its end."""
        ends = {each.job: each for each in round.changes if isinstance(each, c.JobEnded)}
        for job in round.traced_ends:
            if not is_sampled(job.trace):
                continue
            end = ends[job.id]
            event = JobEvent(end.event)
            about: Attributes = {
                "shunter.job": job.name,
                "shunter.namespace": job.namespace,
                "shunter.run": job.run,
                "shunter.user": job.user,
                "shunter.end": event.name.lower(),
            }
            error = (end.reason or event.name.lower()) if event in _FAILED else ""
            times = job.submitted_ms / 1000, end.at_ms / 1000
            yield Span("job", self._tracer.child_of(job.trace), job.trace, *times, about, error=error)


def _of_submit(change: c.JobSubmitted) -> Attributes:
    log.debug("job.submitted", job=f"{change.namespace}/{change.name}@{change.run}", trace_id=trace_id_of(change.trace))
    return {"shunter.job": change.name, "shunter.namespace": change.namespace, "shunter.run": change.run}

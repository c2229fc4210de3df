"""Spans of orders in a worker: two for each order, whatever becomes of its tasks."""

from __future__ import annotations

import itertools

import pytest

from shunter.model.protocol.worker_messages import Ended, Lost, Order, Returned
from shunter.model.tracing import span_id_of, with_span
from shunter.ports.tracing.tracer import Span
from shunter.worker import range_spans
from shunter.worker.range_spans import RangeSpans

CONTEXT = f"00-{'a' * 32}-{'b' * 16}-01"


class Recorder:
    """A tracer that remembers."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self._ids = itertools.count(1)

    def begin_trace(self) -> str:
        return CONTEXT

    def child_of(self, context: str) -> str:
        return with_span(context, f"{next(self._ids):016x}")

    def record(self, span: Span) -> None:
        self.spans.append(span)


def order_of(first: int, last: int, *, trace: str = CONTEXT, job: int = 1, attempt: int = 1) -> Order:
    return Order(job, 0, first, last, attempt, 1, 1, 1, "default", "render", "main", 100, trace=trace)


def ended(first: int, exits: list[int], count: int, how: str = "") -> Ended:
    return Ended(1, 0, 1, first, exits, [2_000 + each for each in range(count)], [3_000] * count, 1, 1, how)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def spans(recorder: Recorder) -> RangeSpans:
    return RangeSpans(recorder, lambda: 1.0, "node-1")


def test_an_order_is_over_when_the_last_of_its_tasks_is(spans: RangeSpans, recorder: Recorder) -> None:
    spans.begin(order_of(0, 9), 0, 9)
    spans.ended(ended(0, [], 4))
    assert recorder.spans == []
    spans.ended(ended(4, [0, 3, 0, 0, 0, 0], 6))
    keeper, exit = recorder.spans
    assert (keeper.name, keeper.parent, exit.name, exit.parent) == ("keeper", CONTEXT, "exit", keeper.context)
    results = {name: exit.attributes[f"shunter.{name}"] for name in ("succeeded", "failed", "exit_code")}
    assert results == {"succeeded": 9, "failed": 1, "exit_code": 3}
    assert (exit.start_s, exit.end_s, exit.error) == (2.0, 3.0, "exit 3")
    assert len(spans) == 0


def test_a_timeout_without_an_exit_code_is_an_error(spans: RangeSpans, recorder: Recorder) -> None:
    spans.begin(order_of(0, 0), 0, 0)
    spans.ended(ended(0, [-1], 1, how="timeout"))
    assert [span.error for span in recorder.spans] == ["timeout", "timeout"]


def test_returned_and_lost_tasks_end_an_order_too(spans: RangeSpans, recorder: Recorder) -> None:
    spans.begin(order_of(0, 2), 0, 2)
    spans.returned(Returned(1, 0, 1, 2, 2))
    spans.lost(Lost(1, 0, 1, 0, 1, "the keeper died"))
    assert [(span.name, span.error) for span in recorder.spans] == [("keeper", "the keeper died")]


def test_parts_of_an_order_that_is_adopted_are_one_span(spans: RangeSpans, recorder: Recorder) -> None:
    spans.begin(order_of(3, 3), 3, 3)
    spans.begin(order_of(4, 6), 4, 6)
    spans.ended(ended(3, [], 4))
    assert [span.name for span in recorder.spans] == ["keeper", "exit"]


def test_orders_of_one_job_are_told_apart(spans: RangeSpans, recorder: Recorder) -> None:
    other = with_span(CONTEXT, "c" * 16)
    spans.begin(order_of(0, 1), 0, 1)
    spans.begin(order_of(2, 3, trace=other), 2, 3)
    spans.ended(ended(1, [], 2))
    assert (recorder.spans, len(spans)) == ([], 2)
    spans.ended(ended(3, [], 1))
    assert span_id_of(recorder.spans[0].parent) == "c" * 16
    assert len(spans) == 1


def test_what_is_not_sampled_or_unknown_has_no_span(spans: RangeSpans, recorder: Recorder) -> None:
    spans.begin(order_of(0, 0, trace=""), 0, 0)
    spans.begin(order_of(0, 0, trace=CONTEXT[:-1] + "0"), 0, 0)
    spans.ended(ended(0, [], 1))
    assert (recorder.spans, len(spans)) == ([], 0)


def test_the_number_of_open_orders_has_a_limit(
    spans: RangeSpans, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(range_spans, "OPEN_MAX", 2)
    for number in range(3):
        spans.begin(order_of(number, number, trace=with_span(CONTEXT, f"{number + 1:016x}")), number, number)
    assert len(spans) == 2
    spans.ended(ended(0, [], 3))
    assert len([span for span in recorder.spans if span.name == "keeper"]) == 2

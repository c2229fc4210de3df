"""The lifecycle of one connection: its table, and which message reaches which handler."""

from __future__ import annotations

import asyncio
from typing import get_args

import msgspec
import pytest

from shunter.model.errors import Busy, Fenced, Invalid, InvalidMove, Problem, StoreFailed
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import (
    CertificateRequest,
    Goodbye,
    Heartbeat,
    Hello,
    Inventory,
    LogData,
    MachineStats,
    Ping,
    Refused,
    Report,
    StatsData,
    Welcome,
    WorkerMessage,
)
from shunter.watcher.session import ALLOWED_STATES, SESSION, SessionEvent, SessionState, WorkerSession
from tests.unit.watcher.harness import EPOCH, FakeWorker, Harness, RecordingLink, beat, hello, virtual

MESSAGES: dict[type, WorkerMessage] = {
    Hello: hello(),
    Inventory: Inventory(1, [], []),
    Report: Report(2),
    Heartbeat: beat(),
    LogData: LogData(1, b"", True),
    StatsData: StatsData(1, MachineStats(1), []),
    Goodbye: Goodbye("bye"),
    Ping: Ping(1),
}
HANDLERS: dict[type, str] = {
    Hello: "handle_hello",
    Inventory: "handle_inventory",
    Report: "handle_report",
    Heartbeat: "handle_heartbeat",
    LogData: "handle_answer",
    StatsData: "handle_answer",
    Goodbye: "handle_goodbye",
    Ping: "handle_ping",
}
# The listener answers requests for certificates, because it knows whose certificate a worker has shown.
KINDS = [kind for kind in get_args(WorkerMessage) if kind is not CertificateRequest]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


class RecordingService:
    """Notes which of a session's ways out was taken."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name in ("handle_hello", "handle_inventory", "handle_report", "handle_ping"):

            async def record_call(*_: object) -> Welcome:
                self.taken.append(name)
                return Welcome(EPOCH, 1, 1.0)

            return record_call
        return lambda *_: self.taken.append(name)


@pytest.mark.parametrize("state", SessionState)
@pytest.mark.parametrize("event", SessionEvent)
def test_a_connection_moves_only_as_its_table_says(state: SessionState, event: SessionEvent) -> None:
    allowed = {
        (SessionState.GREETING, SessionEvent.WELCOMED): SessionState.JOINING,
        (SessionState.JOINING, SessionEvent.INVENTORIED): SessionState.LIVE,
        **{
            (begun, SessionEvent.ENDED): SessionState.ENDED
            for begun in SessionState
            if begun not in SESSION.terminal_states
        },
    }
    if (state, event) in allowed:
        assert SESSION.move(state, event) is allowed[state, event]
    else:
        with pytest.raises(InvalidMove):
            SESSION.move(state, event)


def test_every_kind_of_message_has_its_turn_and_its_handler() -> None:
    assert set(ALLOWED_STATES) == set(HANDLERS) == set(KINDS)


@each_kind
@virtual
async def test_a_message_reaches_its_handler_and_no_other(kind: type) -> None:
    service = RecordingService()
    session = WorkerSession(RecordingLink(), service, 0.0)  # type: ignore[arg-type]  # answers to every name
    session.state = max(ALLOWED_STATES[kind])
    await session.received(MESSAGES[kind])
    assert [way for way in service.taken if way.startswith("handle_")] == [HANDLERS[kind]]


@each_kind
@pytest.mark.parametrize("state", [SessionState.GREETING, SessionState.JOINING, SessionState.LIVE])
@virtual
async def test_a_message_out_of_turn_is_refused_as_invalid(kind: type, state: SessionState) -> None:
    harness = await Harness().open()
    worker = FakeWorker(harness, "n1", "b1")
    if state is not SessionState.GREETING:
        await worker.send(hello())
    if state is SessionState.LIVE:
        await worker.send(Inventory(1, [], []))
    assert worker.session.state is state
    await worker.send(MESSAGES[kind])
    refused = worker.link.refused
    assert (refused is not None) == (state not in ALLOWED_STATES[kind])
    if refused is not None:
        assert refused.code == "invalid"
        assert f"{kind.__name__} is not allowed now" in refused.reason
        assert worker.link.close_reason is not None


@virtual
async def test_a_message_of_an_unknown_kind_is_logged_and_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Newer(msgspec.Struct, tag=True):
        field: int

    harness = await Harness().open()
    worker = await harness.join()
    before = list(harness.engine.calls)
    await worker.send(Newer(1))  # type: ignore[arg-type]
    await worker.beat()
    assert harness.engine.call_kinds() == [kind for kind, _, _ in before] + ["heartbeat"]
    assert worker.link.close_reason is None
    assert any("message.unknown kind=Newer" in record.getMessage() for record in caplog.records)


@virtual
async def test_the_conversation_is_hello_welcome_inventory_live() -> None:
    harness = await Harness().open()
    worker = FakeWorker(harness, "n1", "b1")
    states = [worker.session.state]
    for message in (hello(), Inventory(1, [], [])):
        await worker.send(message)
        states.append(worker.session.state)
    assert states == [SessionState.GREETING, SessionState.JOINING, SessionState.LIVE]
    assert worker.link.sent == [Welcome(EPOCH, 1, heartbeat_s=1.0)]
    assert harness.engine.call_kinds() == ["hello", "inventory"]


@virtual
async def test_messages_of_one_connection_reach_the_engine_in_order() -> None:
    harness = await Harness().open()
    workers = [await harness.join(f"n{number}") for number in range(3)]
    harness.engine.calls.clear()

    async def report(worker: FakeWorker) -> None:
        for seq in range(2, 52):
            await worker.send(Report(seq))

    await asyncio.gather(*(report(worker) for worker in workers))
    for worker in workers:
        numbers = [message.seq for _, node, message in harness.engine.calls if node == worker.node]
        assert len(numbers) == 50
        assert numbers == sorted(numbers)


@virtual
async def test_a_connection_that_closes_while_the_engine_thinks_about_its_hello_is_not_welcomed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = await Harness().open()
    harness.engine.gate.clear()
    worker = FakeWorker(harness, "n1", "b1")
    saying = asyncio.create_task(worker.send(hello()))
    await harness.settle()
    worker.session.closed("gone")
    harness.engine.gate.set()
    await saying
    assert (worker.link.sent, harness.watcher.connected) == ([], 0)
    assert (await harness.join("n1", "b2")).session.state is SessionState.LIVE
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@virtual
async def test_a_connection_that_closes_while_the_engine_takes_its_inventory_does_not_become_live(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = await Harness().open()
    worker = FakeWorker(harness, "n1", "b1")
    await worker.send(hello())
    harness.engine.gate.clear()
    saying = asyncio.create_task(worker.send(Inventory(1, [], [])))
    await harness.settle()
    worker.session.closed("gone")
    harness.engine.gate.set()
    await saying
    await harness.settle()
    assert harness.engine.events_of(1) == [NodeEvent.SILENT]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@virtual
async def test_after_its_end_a_connection_is_deaf() -> None:
    harness = await Harness().open()
    worker = await harness.join()
    await worker.send(Goodbye("bye"))
    calls = list(harness.engine.calls)
    await worker.send(Report(2))
    worker.session.closed("at last")
    worker.session.end(Refused("silent", "too late"))
    assert harness.engine.calls == calls
    assert worker.link.refused is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Fenced("epoch 3 leads"), "stale_epoch"),
        (StoreFailed("disk full"), "not_leader"),
        (Busy("inbox is full"), "busy"),
        (Invalid([Problem("ended", "is odd")]), "invalid"),
        (RuntimeError("a bug"), "failed"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
@pytest.mark.parametrize("message", [hello(), Inventory(1, [], []), Report(2)], ids=lambda value: type(value).__name__)
@virtual
async def test_what_the_engine_cannot_take_ends_the_connection_with_a_code(
    error: Exception, code: str, message: WorkerMessage
) -> None:
    harness = await Harness().open()
    worker = FakeWorker(harness, "n1", "b1")
    for earlier in (hello(), Inventory(1, [], []), Report(2)):
        if type(earlier) is type(message):
            break
        await worker.send(earlier)
    harness.engine.message_error = error
    await worker.send(message)
    assert worker.link.refused is not None
    assert worker.link.refused.code == code
    assert worker.link.refused.retry == (code != "invalid")

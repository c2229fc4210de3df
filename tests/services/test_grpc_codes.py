"""Every error code of the worker protocol is provoked over a real connection, and the document lists exactly them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from shunter.adapters.grpc.channel import STATUS
from shunter.model.errors import Busy, Fenced
from shunter.model.job.spec import TaskSpec
from shunter.model.protocol.refusals import PERMANENT, RefusalCode, refuse
from shunter.model.protocol.worker_messages import Hello, Orders, Refused
from shunter.proto.worker.v1 import worker_pb2 as pb
from shunter.watcher.settings import WatcherSettings
from tests.services.grpc_harness import ScriptedWorker, manager

pytestmark = pytest.mark.services

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "worker-protocol.md"
Ending = tuple[str | None, grpc.StatusCode]  # the code of the Refused message, and the stream's status


async def ending_of(worker: ScriptedWorker) -> Ending:
    refused = await worker.receive("refused")
    assert refused.reason
    assert refused.retry == (RefusalCode(refused.code) not in PERMANENT)
    return refused.code, (await worker.end())[0]


async def a_wrong_token() -> Ending:
    async with manager() as served, ScriptedWorker(served.address, token="wrong") as worker:
        return await ending_of(worker)


async def another_version() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.send(hello=pb.Hello(protocol=99, name="n1", boot="b1"))
        return await ending_of(worker)


async def a_report_before_the_hello() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.send(report=pb.Report(seq=1))
        return await ending_of(worker)


async def a_second_worker_of_the_same_name() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as first, ScriptedWorker(served.address) as second:
        await first.join(boot="b1")
        await second.send(hello=pb.Hello(protocol=1, name="n1", boot="b2"))
        return await ending_of(second)


async def a_manager_that_does_not_lead() -> Ending:
    async with manager(leading=False) as served, ScriptedWorker(served.address) as worker:
        await worker.send(hello=pb.Hello(protocol=1, name="n1", boot="b1"))
        return await ending_of(worker)


async def a_worker_of_another_home() -> Ending:
    async def refuse_hello(_: Hello) -> Refused:
        return refuse(RefusalCode.OTHER_HOME, "tasks may still run")

    async with manager() as served, ScriptedWorker(served.address) as worker:
        served.engine.hello = refuse_hello  # type: ignore[method-assign,assignment]
        await worker.send(hello=pb.Hello(protocol=1, name="n1", boot="b1"))
        return await ending_of(worker)


async def a_leader_that_was_overtaken() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        served.engine.message_error = Fenced("epoch 8 leads")
        await worker.send(hello=pb.Hello(protocol=1, name="n1", boot="b1"))
        return await ending_of(worker)


async def a_full_inbox() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        served.engine.message_error = Busy("10000 requests wait already")
        await worker.send(hello=pb.Hello(protocol=1, name="n1", boot="b1"))
        return await ending_of(worker)


async def a_bug_of_the_manager() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        served.engine.message_error = RuntimeError("a bug")
        await worker.send(hello=pb.Hello(protocol=1, name="n1", boot="b1"))
        return await ending_of(worker)


async def a_worker_without_heartbeats() -> Ending:
    async with manager(WatcherSettings(timeout_s=0.3)) as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        return await ending_of(worker)


async def a_worker_that_does_not_read() -> Ending:
    """It cannot be told in a message, so only the status says it."""
    orders = Orders(7, [], {1: TaskSpec(("x" * 100_000,))})
    async with manager(send_buffer_bytes_max=1_000_000) as served, ScriptedWorker(served.address) as worker:
        node = (await worker.join()).node
        for _ in range(1000):
            served.watcher.send(node, orders)
        return None, (await worker.end())[0]


async def the_same_process_again() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as first, ScriptedWorker(served.address) as second:
        await first.join()
        await second.join()
        return await ending_of(first)


async def an_engine_that_loaded_its_state_again() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        served.watcher.reset("epoch 8")
        return await ending_of(worker)


async def a_manager_that_stops() -> Ending:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        await served.watcher.stop("upgrade")
        return await ending_of(worker)


PROVOCATIONS: dict[RefusalCode, Callable[[], Awaitable[Ending]]] = {
    RefusalCode.UNAUTHORIZED: a_wrong_token,
    RefusalCode.PROTOCOL_VERSION: another_version,
    RefusalCode.INVALID: a_report_before_the_hello,
    RefusalCode.NAME_TAKEN: a_second_worker_of_the_same_name,
    RefusalCode.OTHER_HOME: a_worker_of_another_home,
    RefusalCode.NOT_LEADER: a_manager_that_does_not_lead,
    RefusalCode.STALE_EPOCH: a_leader_that_was_overtaken,
    RefusalCode.BUSY: a_full_inbox,
    RefusalCode.SILENT: a_worker_without_heartbeats,
    RefusalCode.TOO_SLOW: a_worker_that_does_not_read,
    RefusalCode.REPLACED: the_same_process_again,
    RefusalCode.RESET: an_engine_that_loaded_its_state_again,
    RefusalCode.SHUTTING_DOWN: a_manager_that_stops,
    RefusalCode.FAILED: a_bug_of_the_manager,
}


@pytest.mark.parametrize("code", RefusalCode)
async def test_each_code_is_what_a_worker_gets_for_its_cause(code: RefusalCode) -> None:
    said, status = await PROVOCATIONS[code]()
    assert status is STATUS[code]
    assert said == (None if code is RefusalCode.TOO_SLOW else code)


async def test_a_missing_token_is_unauthorized_too_and_nothing_reaches_the_watcher() -> None:
    async with manager() as served, ScriptedWorker(served.address, token=None) as worker:
        assert await ending_of(worker) == ("unauthorized", grpc.StatusCode.UNAUTHENTICATED)
        assert served.engine.calls == []


async def test_bytes_that_are_no_message_are_refused_as_invalid() -> None:
    async with manager() as served, grpc.aio.insecure_channel(served.address) as channel:
        connect: Any = channel.stream_stream("/shunter.worker.v1.Workers/Connect", bytes, pb.ManagerMessage.FromString)
        call = connect(metadata=(("authorization", "Bearer a-worker-token"),))
        await call.write(b"\xff\xff\xff")
        assert (await call.read()).refused.code == "invalid"
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_the_document_lists_every_code_with_its_status_and_whether_to_retry() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (yes|no) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    expected = [(code.value, STATUS[code].name, "no" if code in PERMANENT else "yes") for code in RefusalCode]
    assert rows == expected

"""What both transports must do, over real sockets: the same claims, the same conversations."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from shunter.model.rest.job_views import JobView
from shunter.sdk.calls.follow import follow_job, follow_submit
from shunter.sdk.core import Core
from shunter.sdk.endpoint import finder
from shunter.sdk.errors import AnswerNotUnderstood, NotReachable, Unavailable
from shunter.sdk.transport import asynchronous, blocking
from shunter.sdk.transport.steps import Conversation, Request
from tests.unit.sdk.scripted_server import ReceivedRequest, answer, chunks, job_document, lines, serving

ASK = Request("GET", "/jobs/render?namespace=default")
JOB = lines({"job": job_document()})
END = lines({"end": job_document(state="succeeded"), "exit_code": 3})

Perform = Callable[[str, list[Conversation[Any]]], list[Any]]


def perform_blocking(url: str, conversations: list[Conversation[Any]]) -> list[Any]:
    """The results of conversations, one after another, by one transport."""
    transport = blocking.Transport(finder(url, "secret"))
    try:
        return [transport.perform(conversation) for conversation in conversations]
    finally:
        transport.close()


def perform_async(url: str, conversations: list[Conversation[Any]]) -> list[Any]:
    async def perform() -> list[Any]:
        transport = asynchronous.Transport(finder(url, "secret"))
        try:
            return [await transport.perform(conversation) for conversation in conversations]
        finally:
            await transport.close()

    return asyncio.run(perform())


@pytest.fixture(params=[perform_blocking, perform_async], ids=["blocking", "async"])
def perform(request: pytest.FixtureRequest) -> Perform:
    return request.param  # type: ignore[no-any-return]


def job(core: Core | None = None) -> Conversation[JobView]:
    return (core or Core()).fetch(ASK, JobView)


def test_an_answer_is_typed_and_the_token_is_sent(perform: Perform) -> None:
    with serving(lambda _: answer(200, job_document())) as server:
        (found,) = perform(server.url, [job()])
    assert isinstance(found, JobView)
    assert server.received[0].headers["authorization"] == "Bearer secret"
    assert server.received[0].path == "/api/v1/jobs/render?namespace=default"


def test_requests_share_a_connection(perform: Perform) -> None:
    with serving(lambda _: answer(200, job_document())) as server:
        perform(server.url, [job(), job(), job()])
    assert [received.connection for received in server.received] == [0, 0, 0]


def test_a_stream_gives_its_connection_back(perform: Perform) -> None:
    with serving(lambda _: chunks(201, JOB, END)) as server:
        ended = perform(server.url, [follow_submit(Core(), {}, "end") for _ in range(2)])
    assert [each.exit_code for each in ended] == [3, 3]
    assert [received.connection for received in server.received] == [0, 0]


def test_a_connection_that_the_server_closed_is_replaced(perform: Perform) -> None:
    with serving(lambda _: answer(200, job_document(), connection="close")) as server:
        perform(server.url, [job(), job()])
    assert [received.connection for received in server.received] == [0, 1]


def test_a_connection_that_breaks_before_the_answer_is_replaced(perform: Perform) -> None:
    def script(received: ReceivedRequest) -> bytes | None:
        return answer(200, job_document()) if received.connection else None

    with serving(script) as server:
        (found,) = perform(server.url, [job()])
    assert found.name == "render" and len(server.received) == 2


def test_a_stream_that_breaks_is_gone_on_with(perform: Perform) -> None:
    def script(received: ReceivedRequest) -> list[bytes]:
        return chunks(200, JOB, END) if received.method == "GET" else chunks(201, JOB, ended=False)

    with serving(script) as server:
        (ended,) = perform(server.url, [follow_submit(Core(random=lambda: 0.0), {}, "end")])
    assert (ended.exit_code, ended.created) == (3, True)
    assert server.received[1].path == "/api/v1/jobs/id:7/follow?namespace=default&mode=end"


def test_an_error_in_place_of_a_stream_is_read_whole(perform: Perform) -> None:
    with (
        serving(lambda _: answer(503, {"detail": "no leader"}, retry_after="1")) as server,
        pytest.raises(Unavailable, match="no leader"),
    ):
        perform(server.url, [follow_submit(Core(patience_s=0), {}, "end")])


def test_a_wait_ends_in_its_time_though_the_server_stays_silent(perform: Perform) -> None:
    def script(received: ReceivedRequest) -> list[bytes]:
        received.gone.wait(30)
        return chunks(200)

    with serving(script) as server, pytest.raises(TimeoutError):
        perform(server.url, [follow_job(Core(), "render", "default", "end", timeout_s=0.05)])


def test_a_port_where_nobody_listens_is_told_at_once(perform: Perform) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotReachable, match=f"127.0.0.1:{port}"):
        perform(f"http://127.0.0.1:{port}", [job()])


def test_a_server_that_speaks_something_else_is_told_so(perform: Perform) -> None:
    with serving(lambda _: b"220 smtp ready\r\n\r\n") as server, pytest.raises(AnswerNotUnderstood):
        perform(server.url, [job()])


def test_a_large_answer_arrives_whole(perform: Perform) -> None:
    words = ["x" * 1000] * 3000
    with serving(lambda _: answer(200, job_document(command=words))) as server:
        (found,) = perform(server.url, [job()])
    assert found.command == words


def test_the_blocking_transport_serves_threads_side_by_side() -> None:
    both_asked = threading.Barrier(2, timeout=60)

    def script(_: ReceivedRequest) -> bytes:
        both_asked.wait()
        return answer(200, job_document())

    with serving(script) as server:
        transport = blocking.Transport(finder(server.url, "secret"))
        threads = [threading.Thread(target=transport.perform, args=(job(),)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        transport.close()
    assert sorted(received.connection for received in server.received) == [0, 1]


async def test_the_async_transport_serves_tasks_side_by_side() -> None:
    both_asked = threading.Barrier(2, timeout=60)

    def script(_: ReceivedRequest) -> bytes:
        both_asked.wait()
        return answer(200, job_document())

    with serving(script) as server:
        transport = asynchronous.Transport(finder(server.url, "secret"))
        found = await asyncio.gather(transport.perform(job()), transport.perform(job()))
        await transport.close()
    assert [each.name for each in found] == ["render", "render"]


def test_an_iterator_that_is_left_early_closes_its_connection() -> None:
    def script(received: ReceivedRequest) -> Iterator[bytes]:
        yield from chunks(201, JOB, ended=False)
        if received.connection == 0:
            received.gone.wait(30)
        yield from chunks(201, END)[1:]

    with serving(script) as server:
        transport = blocking.Transport(finder(server.url, "secret"))
        stream = transport.stream(follow_submit(Core(), {}, "end"))
        assert next(stream).job is not None
        stream.close()
        perform_again = transport.perform(follow_submit(Core(), {}, "end"))
        transport.close()
    assert perform_again.exit_code == 3
    assert [received.connection for received in server.received] == [0, 1]

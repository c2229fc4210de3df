"""Clients of a cluster with several managers, over real sockets: what fails on one is done by another."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import pytest

import shunter
from shunter import aio
from shunter.sdk.errors import ConnectionLost, NotReachable
from shunter.sdk.transport import asynchronous, blocking, sockets
from tests.unit.sdk.scripted_server import (
    ReceivedRequest,
    ScriptedServer,
    answer,
    chunks,
    job_document,
    lines,
    serving,
)
from tests.unit.sdk.test_clients import CLUSTER

MANIFEST = {"kind": "Job"}
JOB = lines({"job": job_document()})
ENDED = job_document(state="succeeded")
END = lines({"end": ENDED, "exit_code": 3})
CREATED = answer(201, job_document())
NOT_LEADER = answer(503, {"title": "not the leader", "detail": "nobody leads"}, retry_after="1")
FOUND = answer(200, job_document())


class Principal(Protocol):
    """A client of either kind, called the same way."""

    def call(self, method: str, *arguments: Any, **options: Any) -> Any: ...

    def items(self, method: str, *arguments: Any, **options: Any) -> Iterator[Any]: ...

    def close(self) -> None: ...


class BlockingCaller:
    def __init__(self, urls: list[str]) -> None:
        self.client = shunter.connect(urls, "secret")

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        return getattr(self.client, method)(*arguments, **options)

    items = call

    def close(self) -> None:
        self.client.close()


class AsyncCaller:
    def __init__(self, urls: list[str]) -> None:
        self.client = aio.connect(",".join(urls), "secret")
        self.runner = asyncio.Runner()

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        return self.runner.run(getattr(self.client, method)(*arguments, **options))

    def items(self, method: str, *arguments: Any, **options: Any) -> Iterator[Any]:
        iterator = getattr(self.client, method)(*arguments, **options)

        async def next_item() -> Any:
            return await anext(iterator, None)

        while (item := self.runner.run(next_item())) is not None:
            yield item

    def close(self) -> None:
        self.runner.run(self.client.close())
        self.runner.close()


Connect = Callable[[list[str]], Principal]


@pytest.fixture(params=[BlockingCaller, AsyncCaller], ids=["blocking", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Connect]:
    with ExitStack() as opened:

        def connect(urls: list[str]) -> Principal:
            caller: Principal = request.param(urls)
            opened.callback(caller.close)
            return caller

        yield connect


@pytest.fixture
def probe_timeout(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Probes silent managers soon."""
    monkeypatch.setattr(sockets, "PROBE_AFTER_S", 0.05)

    def set_timeout(timeout_s: float) -> None:
        for transport in (blocking, asynchronous):
            monkeypatch.setattr(transport, "PROBE_TIMEOUT_S", timeout_s)

    return set_timeout


@contextmanager
def stopped_manager() -> Iterator[str]:
    """The kernel accepts connections for it, but it answers nothing, like a process that was stopped."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def dead_manager() -> str:
    with stopped_manager() as url:
        return url


def paths(server: ScriptedServer) -> list[str]:
    return [received.path.removeprefix("/api/v1") for received in server.received]


def test_a_manager_that_refuses_connections_is_left_and_not_asked_again(connect: Connect) -> None:
    with serving(lambda _: FOUND) as second:
        caller = connect([dead_manager(), second.url])
        for _ in range(3):
            assert caller.call("job", "render").name == "render"
    assert [received.connection for received in second.received] == [0, 0, 0]


def test_managers_that_all_refuse_connections_are_named_at_once(connect: Connect) -> None:
    urls = [dead_manager(), dead_manager(), dead_manager()]
    with pytest.raises(NotReachable) as caught:
        connect(urls).call("job", "render")
    assert all(url in caught.value.detail for url in urls)


def test_a_stopped_manager_does_not_hang_a_client(connect: Connect, probe_timeout: Callable[[float], None]) -> None:
    probe_timeout(0.1)
    with stopped_manager() as first, serving(lambda _: CREATED) as second:
        caller = connect([first, second.url])
        assert caller.call("submit", MANIFEST).created
        assert caller.call("submit", MANIFEST).created
    assert len(second.received) == 2


def test_a_slow_manager_that_runs_is_waited_for(connect: Connect, probe_timeout: Callable[[float], None]) -> None:
    probe_timeout(30.0)
    probes = threading.Semaphore(0)

    def script(received: ReceivedRequest) -> bytes:
        if received.path == "/healthz":
            probes.release()
            return answer(503, {"detail": "cannot commit"})
        for _ in range(3):
            assert probes.acquire(timeout=60)
        return CREATED

    with serving(script) as first, serving(lambda _: CREATED) as second:
        assert connect([first.url, second.url]).call("submit", MANIFEST).created
    assert second.received == []
    assert len([path for path in paths(first) if path != "/healthz"]) == 1


def test_a_submit_survives_the_time_without_a_leader(connect: Connect) -> None:
    refusals = iter([NOT_LEADER] * 5)
    scripts = [lambda _: next(refusals, CREATED)] * 2
    with serving(scripts[0]) as first, serving(scripts[1]) as second:
        assert connect([first.url, second.url]).call("submit", MANIFEST).created
    received = first.received + second.received
    assert (len(first.received), len(second.received)) == (3, 3)
    assert len({each.headers["idempotency-key"] for each in received}) == 1


def test_what_must_not_be_repeated_is_not_sent_again_after_its_connection_broke(connect: Connect) -> None:
    with serving(lambda _: None) as first, serving(lambda _: answer(202, {"status": "stopping"})) as second:
        with pytest.raises(ConnectionLost):
            connect([first.url, second.url]).call("down")
        connect([dead_manager(), second.url]).call("down")
    assert (len(first.received), len(second.received)) == (1, 1)


def event(position: str, **fields: object) -> bytes:
    document = {"id": position, "at": "2026-01-01T00:00:00Z", "type": "job.submitted", "name": "render", **fields}
    return b"id: %b\nevent: %b\ndata: %b\n" % (
        position.encode(),
        str(document["type"]).encode(),
        lines(document) + b"\n",
    )


def test_events_resume_on_another_manager_without_gaps_or_repeats(connect: Connect) -> None:
    with (
        serving(lambda _: chunks(200, event("7-0") + event("7-1"), event("8-0")[:20], ended=False)) as first,
        serving(lambda _: chunks(200, event("8-0"), event("9-0"))) as second,
    ):
        events = connect([first.url, second.url]).items("events", after="6", follow=True)
        found = [next(events).id for _ in range(4)]
    assert found == ["7-0", "7-1", "8-0", "9-0"]
    assert "after=7-1" in second.received[0].path
    assert second.received[0].headers["shunter-min-version"] == "7"


@contextmanager
def stopping_stream(*bodies: bytes) -> Iterator[ScriptedServer]:
    """A manager that stops after these chunks: it answers nothing more, and not to others."""

    def script(received: ReceivedRequest) -> Iterator[bytes]:
        if received.path != "/healthz":
            yield from chunks(200, *bodies, ended=False)
        received.gone.wait(60)
        yield b""

    with serving(script) as server:
        yield server


def test_a_stream_leaves_a_manager_that_stopped(connect: Connect, probe_timeout: Callable[[float], None]) -> None:
    probe_timeout(0.1)
    with stopping_stream(event("7-0")) as first, serving(lambda _: chunks(200, event("8-0"))) as second:
        events = connect([first.url, second.url]).items("events", after="6", follow=True)
        assert [next(events).id for _ in range(2)] == ["7-0", "8-0"]


def test_a_quiet_stream_of_a_manager_that_runs_goes_on(
    connect: Connect, probe_timeout: Callable[[float], None]
) -> None:
    probe_timeout(30.0)
    probes = threading.Semaphore(0)

    def script(received: ReceivedRequest) -> Iterable[bytes] | bytes:
        if received.path == "/healthz":
            probes.release()
            return answer(200, {})
        return quiet_stream()

    def quiet_stream() -> Iterator[bytes]:
        head, job, end, last = chunks(201, JOB, END)
        yield head + job
        for _ in range(2):
            assert probes.acquire(timeout=60)
        yield end + last

    with serving(script) as first, serving(lambda _: None) as second:
        assert connect([first.url, second.url]).call("run_to_end", ["true"]).exit_code == 3
    assert second.received == []
    assert len([path for path in paths(first) if path != "/healthz"]) == 1


def test_a_followed_job_goes_on_at_another_manager(connect: Connect) -> None:
    with (
        serving(lambda _: chunks(201, JOB, ended=False)) as first,
        serving(lambda _: chunks(200, JOB, END)) as second,
    ):
        job = connect([first.url, second.url]).call("run_to_end", ["true"])
    assert (job.exit_code, job.created) == (3, True)
    assert paths(second) == ["/jobs/id:7/follow?namespace=default&mode=end"]


def test_the_output_of_a_job_goes_on_at_another_manager(connect: Connect) -> None:
    def log(offset: int, data: bytes) -> bytes:
        task = {"task": "a/0", "group": "main", "index": 0, "attempt": 1, "stream": "stdout", "offset": offset}
        return lines({"log": {**task, "next": offset + len(data), "data": b64encode(data).decode()}})

    with (
        serving(lambda _: chunks(200, log(0, b"one\n"), ended=False)) as first,
        serving(lambda _: chunks(200, log(0, b"one\ntwo\n"), lines({"end": {"tasks": 1}}))) as second,
    ):
        found = list(connect([first.url, second.url]).items("job_logs", "render", follow=True))
    assert [line.log.data for line in found if line.log] == [b"one\n", b"two\n"]


def test_a_watch_goes_on_at_another_manager(connect: Connect) -> None:
    def change(version: int) -> bytes:
        metadata = {"name": "bench", "namespace": "default", "uid": "1", "resourceVersion": str(version)}
        each = {"apiVersion": "v1", "kind": "Testbed", "metadata": metadata, "spec": {}, "status": {}}
        return lines({"type": "MODIFIED", "object": each})

    with (
        serving(lambda _: chunks(200, change(7), change(8)[:9], ended=False)) as first,
        serving(lambda _: chunks(200, change(8))) as second,
    ):
        watched = connect([first.url, second.url]).items("watch", "testbed", after=6)
        assert [next(watched).object.resource_version for _ in range(2)] == [7, 8]
    assert second.received[0].path.endswith("watch=true&resourceVersion=7")
    assert second.received[0].headers["shunter-min-version"] == "7"


def test_who_waits_for_jobs_goes_on_at_another_manager(connect: Connect) -> None:
    def script(received: ReceivedRequest) -> bytes | list[bytes]:
        if received.method == "POST":
            return answer(201, {"items": [{**submitted, "id": number, "name": f"job-{number}"} for number in (1, 2)]})
        if "/events" in received.path:
            return chunks(200, ended_event("5-0", 1), ended=False)
        if "/cluster" in received.path:
            return answer(200, CLUSTER)
        unfinished = [job_document(f"job-{number}", id=number) for number in (2, 1)]
        return answer(200, {"items": unfinished, "next": None, "total": 2})

    def ended_event(position: str, number: int) -> bytes:
        name = {"name": f"job-{number}", "job": f"job-{number}", "namespace": "default", "run": 1}
        return event(position, type="job.succeeded", **name)

    submitted = {"namespace": "default", "run": 1, "created": True}
    with serving(script) as first, serving(lambda _: chunks(200, ended_event("6-0", 2))) as second:
        caller = connect([first.url, second.url])
        jobs = caller.call("submit_many", [MANIFEST, MANIFEST])
        assert [job.state for job in caller.call("gather", jobs)] == ["succeeded"] * 2
    assert [path.partition("?")[2] for path in paths(second)] == ["namespace=default&after=5-0&follow=true"]


class Replica:
    """A manager that lags behind, fails now and then, and refuses what it does not know yet."""

    def __init__(self, dice: random.Random) -> None:
        self._dice, self.version = dice, 1

    def __call__(self, received: ReceivedRequest) -> bytes | None:
        self.version += self._dice.choice((0, 0, 1, 5))
        if self._dice.random() < 0.3:
            return None
        if int(received.headers.get("shunter-min-version", "0")) > self.version:
            return NOT_LEADER
        return answer(200, job_document(id=self.version), shunter_version=str(self.version))


def test_time_never_goes_back_whichever_manager_answers(connect: Connect) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    replicas = [Replica(random.Random(seed + number)) for number in range(3)]
    with ExitStack() as opened:
        servers = [opened.enter_context(serving(replica)) for replica in replicas]
        caller = connect([server.url for server in servers])
        versions = [caller.call("job", "render").id for _ in range(100)]
    assert versions == sorted(versions)
    assert all(server.received for server in servers)

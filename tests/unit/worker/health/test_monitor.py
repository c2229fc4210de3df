"""When a task is healthy, and which failures count, at times that only the test's clock knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from shunter.model.job.spec import HealthCheck
from shunter.model.protocol.worker_messages import Health
from shunter.worker.health.checks import check_http, check_tcp
from shunter.worker.health.monitor import STARTUP_INTERVAL_S, Monitor
from shunter.worker.health.port import Unhealthy
from shunter.worker.runtimes.port import RuntimeGone

NAME = 1, 0, 7, 2


class JumpingClock:
    """Time passes when somebody sleeps, and only then."""

    def __init__(self) -> None:
        self.at = 1000.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds
        await asyncio.sleep(0)

    async def wait(self, event: asyncio.Event, timeout_s: float | None) -> bool:
        raise NotImplementedError


class Script:
    """A task whose command check passes at the times that the test says."""

    def __init__(self, clock: JumpingClock, is_well: Callable[[float], bool], until_s: float) -> None:
        self._clock = clock
        self._is_well = is_well
        self._until_s = until_s
        self.tried_s: list[float] = []
        self.over = asyncio.Event()

    def address(self, port: str) -> tuple[str, int]:
        raise LookupError(f"port {port}: none")

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:  # noqa: ARG002
        passed_s = self._clock.at - 1000.0
        if passed_s > self._until_s:
            self.over.set()
            await asyncio.Event().wait()
        self.tried_s.append(passed_s)
        return (0, "") if self._is_well(passed_s) else (1, "no")


async def look(
    check: HealthCheck, is_well: Callable[[float], bool], until_s: float = 100.0
) -> tuple[Script, list[tuple[float, bool]], list[str]]:
    """The task's tries, the changes of opinion by time, and the reason of its end."""
    clock = JumpingClock()
    script = Script(clock, is_well, until_s)
    said: list[Health] = []
    ended: list[str] = []

    def fail(detail: str) -> None:
        ended.append(detail)
        script.over.set()

    monitor = Monitor(clock, said.append)
    monitor.watch(NAME, (check,), script, 1_000_000, fail)
    async with asyncio.timeout(60):
        await script.over.wait()
    await monitor.close()
    return script, [(health.at_ms / 1000 - 1000, health.is_healthy) for health in said], ended


def command(**fields: float | int) -> HealthCheck:
    return HealthCheck("command", command=("ok",), interval_s=10.0, failures=3, **fields)  # type: ignore[arg-type]


async def test_a_quick_start_is_seen_long_before_the_first_interval() -> None:
    script, said, ended = await look(command(), lambda at: at >= 0.6, until_s=25.0)
    assert said == [(0.75, True)]
    assert script.tried_s[:4] == [0.0, 0.25, 0.5, 0.75]
    assert len(script.tried_s) == 4 + 2 and not ended  # then once an interval


async def test_before_the_first_success_only_one_failure_an_interval_counts() -> None:
    script, said, ended = await look(command(), lambda _: False)
    assert said == [(30.0, False)]
    assert script.tried_s[1] == STARTUP_INTERVAL_S
    assert ended == ["command check ok failed 3 times in a row: exited with 1: no"]


async def test_failures_within_the_start_grace_do_not_count() -> None:
    _, said, _ = await look(command(start_grace_s=45.0), lambda _: False)
    assert said == [(70.0, False)]  # at 50, 60 and 70


async def test_after_the_first_success_every_failure_counts_even_within_the_grace() -> None:
    _, said, ended = await look(command(start_grace_s=1000.0), lambda at: at < 5.0)
    assert [is_healthy for _, is_healthy in said] == [True, False]
    assert said[1][0] == pytest.approx(30.0)
    assert len(ended) == 1


async def test_what_could_not_be_looked_at_does_not_count() -> None:
    def is_well(at: float) -> bool:
        if 20.0 <= at < 70.0:
            raise RuntimeGone("the daemon does not answer")
        return at < 70.0

    _, said, ended = await look(command(), is_well)
    assert [is_healthy for _, is_healthy in said] == [True, False]
    assert said[1][0] == pytest.approx(90.0)  # failures at 70, 80 and 90
    assert len(ended) == 1


async def test_a_success_in_between_starts_the_count_again() -> None:
    _, said, ended = await look(command(), lambda at: int(at / 10) % 3 == 0, until_s=200.0)
    assert said == [(0.0, True)] and not ended


async def test_a_task_that_has_ended_is_not_looked_at_any_more() -> None:
    clock = JumpingClock()
    script = Script(clock, lambda _: True, until_s=1e9)
    said: list[Health] = []
    monitor = Monitor(clock, said.append)
    monitor.watch(NAME, (command(),), script, 1_000_000, lambda _: None)
    while not said:
        await asyncio.sleep(0)
    assert monitor.current_health() == said
    monitor.forget_range(1, 0, 2, 5, 4)
    await asyncio.sleep(0)
    tries = len(script.tried_s)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(script.tried_s) == tries
    assert monitor.current_health() == []


class Address:
    def __init__(self, port: int) -> None:
        self._port = port

    def address(self, port: str) -> tuple[str, int]:  # noqa: ARG002
        return "127.0.0.1", self._port

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", ""),
        (b"HTTP/1.0 399 Odd\r\n\r\n", ""),
        (b"HTTP/1.1 204\r\n\r\n", ""),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answered 400"),
        (b"HTTP/1.1 199 Early\r\n\r\n", "answered 199"),
        (b"SSH-2.0-OpenSSH\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 soon\r\n", "the answer is not HTTP"),
        (b"", "closed the connection without an answer"),
        (b"x" * 20_000, "answered with a line that is too long"),
    ],
)
async def test_what_an_http_server_may_answer(answer: bytes, fault: str) -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        check = HealthCheck("http", path="/well?now=1", timeout_s=10.0)
        if fault:
            with pytest.raises(Unhealthy, match=fault):
                await check_http(check, Address(port))
        else:
            await check_http(check, Address(port))
        await check_tcp(check, Address(port))
    assert asked[0].startswith(b"GET /well?now=1 HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % port)
    with pytest.raises(ConnectionRefusedError):
        await check_tcp(check, Address(port))

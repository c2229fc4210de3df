"""One container that was started: watched to its end, its output copied, its end judged. Made by `docker.runtime`, used
by the worker through the port."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

from shunter.log import Log
from shunter.worker.runtimes.docker.container_spec import HOST_NETWORK, is_published
from shunter.worker.runtimes.docker.daemon import Daemon, DaemonAway, DaemonRefused, Stream
from shunter.worker.runtimes.docker.output import Copy
from shunter.worker.runtimes.port import Launch, Outcome, RuntimeGone, Usage

log = Log(__name__)

FOLLOW_AFTER_S = 0.2  # what ends sooner is read once, at its end
STREAM_END_MAX_S = 30.0  # from the end of a container to the end of its output
ENTRY_MIN_BYTES = 64  # of the daemon's log, to see the time of its first entry
FOLLOW_AGAIN_S = 1.0
DISK_CHECK_S = 1.0
DISK_CHECK_SHARE = 0.05  # of the time may go into adding up the container's files
AWAY_MAX_S = 60.0  # without the daemon, before a container that nobody can see is given up
ASK_AGAIN_S = 0.5
KILLED_WITH_DAEMON = 255  # the exit code of what the daemon found dead when it started
NOT_THERE = 404
NOT_RUNNING = 409
ENDED = re.compile("is not running|can only kill running")  # in Docker's words, and in podman's


class ContainerOwner(Protocol):
    async def remove_container(self, id: str) -> None:
        """Now if that is possible, else later. Never raises."""
        ...

    def abandon_container(self, id: str) -> None:
        """Nobody can tell what it does: remove it as soon as somebody can."""
        ...


class Container:
    """Implements `port.Running`. `stream` is its output from the beginning, where somebody was attached before."""

    def __init__(
        self, daemon: Daemon, id: str, launch: Launch, copy: Copy, owner: ContainerOwner, stream: Stream | None
    ) -> None:
        self.id = id
        self.started_ms = int(time.time() * 1000)
        self._daemon = daemon
        self._launch = launch
        self._copy = copy
        self._owner = owner
        self._stream = stream
        self._stream_ended = asyncio.Event()
        self._was_away = False  # the daemon, while the container ran
        self._address = ""  # in a network of its own, where the worker can reach it
        self._disk_passed = False
        self.is_known = True  # False once it is removed or given up
        self._watching: asyncio.Task[Outcome] | None = None

    def watch(self) -> None:
        """It runs, or has ended: see to it until it has."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        self._watching.add_done_callback(lambda done: done.cancelled() or done.exception())

    def learn(self, found: dict[str, Any]) -> None:
        """Take over what the daemon says of the container: where it is reached, and since when it runs."""
        networks = found.get("NetworkSettings") or {}
        addresses = [networks.get("IPAddress"), *((n or {}).get("IPAddress") for n in _values(networks, "Networks"))]
        self._address = next(filter(None, addresses), "")
        self.started_ms = read_time_ms(found["State"]["StartedAt"]) or self.started_ms

    async def leave(self) -> None:
        """The worker ends; the container goes on."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        self._copy.note()

    # ---- port.Running ----

    async def ended(self) -> Outcome:
        assert self._watching is not None
        return await asyncio.shield(self._watching)

    async def signal(self, number: int) -> None:
        try:
            await self._daemon.kill(self.id, await self._signal_name(number))
        except DaemonRefused as error:
            if error.status not in (NOT_THERE, NOT_RUNNING) and not ENDED.search(str(error)):
                log.warning("container.unsignalled", container=self.id[:12], signal=number, error=error)
        except DaemonAway as error:
            log.warning("container.unsignalled", container=self.id[:12], signal=number, error=error)

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        running = asyncio.ensure_future(self._daemon.execute(self.id, command))
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(running)
        except DaemonAway as error:
            raise RuntimeGone(str(error)) from error
        except DaemonRefused as error:
            raise OSError(str(error)) from error
        finally:
            running.cancel()

    def address(self, port: str) -> tuple[str, int]:
        """Rather the container's own address: the daemon's proxy on the node takes connections for nobody."""
        for known in self._launch.spec.ports:
            if port in (known.name, str(known.port)):
                if self._address and known.port:
                    return self._address, known.port
                return "127.0.0.1", self._launch.ports.get(known.name, known.host_port)
        if not port.isdigit():
            raise LookupError(f"port {port}: the task has no port of this name")
        if not self._address and not self._is_on_host:
            raise LookupError(f"port {port}: the container has no address that the node can reach")
        return self._address or "127.0.0.1", int(port)

    async def usage(self) -> Usage | None:
        try:
            found = await self._daemon.stats(self.id)
            memory = found["memory_stats"]
            cached = (memory.get("stats") or {}).get("total_inactive_file")
            if cached is None:
                cached = (memory.get("stats") or {}).get("inactive_file", 0)
            used_bytes = max(0, int(memory["usage"]) - int(cached))
            cpu_s = int(found["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9
            io = disk_bytes(found.get("blkio_stats") or {})
            return Usage(cpu_s, used_bytes, int(found["pids_stats"].get("current") or 0), io["read"], io["write"])
        except (DaemonAway, DaemonRefused, KeyError, TypeError):
            return None

    async def remove(self) -> None:
        self.is_known = False
        await self._owner.remove_container(self.id)
        self._copy.forget()

    # ---- inside ----

    async def _watch(self) -> Outcome:
        copying = asyncio.ensure_future(self._copy_output())
        beside = [asyncio.ensure_future(self._check_disk())] if self._launch.spec.disk_bytes else []
        try:
            code = await self._wait()
            await self._finish_output(copying)
        finally:
            for each in (copying, *beside):
                each.cancel()
            await asyncio.gather(copying, *beside, return_exceptions=True)
            if self._stream is not None:
                self._stream.close()
        return await self._judge(code)

    def _give_up(self, reason: str) -> RuntimeGone:
        """Whoever waits hears that it is lost. Should it turn up again, it is nobody's."""
        self.is_known = False
        self._owner.abandon_container(self.id)
        return RuntimeGone(reason)

    async def _wait(self) -> int:
        """The exit code. A daemon that is away for a while comes back to a container that ran on, or has ended."""
        seen_at = time.monotonic()
        while True:
            try:
                answer = await self._daemon.wait(self.id)
                return int(answer["StatusCode"])
            except DaemonRefused as error:
                raise self._give_up(f"the container is gone: {error}") from error
            except DaemonAway as error:
                self._was_away = True
                if await self._is_answering():
                    seen_at = time.monotonic()
                elif time.monotonic() - seen_at > AWAY_MAX_S:
                    raise self._give_up(str(error)) from error
                await asyncio.sleep(ASK_AGAIN_S)

    async def _is_answering(self) -> bool:
        try:
            await self._daemon.facts()
        except (DaemonAway, DaemonRefused):
            return False
        return True

    async def _copy_output(self) -> None:
        """Take the output while it comes: from the stream, and where there is none any longer, from the log."""
        if self._stream is not None:
            with contextlib.suppress(DaemonAway):
                while piece := await self._stream.read():
                    self._copy.take_live(piece)
            self._stream_ended.set()
        await asyncio.sleep(FOLLOW_AFTER_S)
        while True:
            with contextlib.suppress(DaemonAway, DaemonRefused):
                await self._read_log(follow=True)
            await asyncio.sleep(FOLLOW_AGAIN_S)

    async def _finish_output(self, copying: asyncio.Future[None]) -> None:
        """The container has ended: what is still to come of its output comes at once."""
        if self._stream is not None and not self._was_away:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STREAM_END_MAX_S):
                    await self._stream_ended.wait()
        copying.cancel()
        await asyncio.gather(copying, return_exceptions=True)
        if not (self._stream_ended.is_set() and self._copy.is_live and not self._was_away):
            try:
                await self._read_log(follow=False)
            except (DaemonAway, DaemonRefused) as error:
                log.warning("container.log_incomplete", container=self.id[:12], error=error)
        self._copy.note()

    async def _read_log(self, follow: bool) -> None:
        if self._copy.is_live:
            self._copy.go_over(await self._oldest_ns())
        self._copy.begin()
        async for piece in self._daemon.output(self.id, self._copy.since, follow):
            self._copy.take(piece)

    async def _oldest_ns(self) -> int:
        """The time of the first entry that the daemon's log still has."""
        beginning = b""
        async with contextlib.aclosing(self._daemon.output(self.id, "0", follow=False)) as pieces:
            async for piece in pieces:
                beginning += piece
                if len(beginning) >= ENTRY_MIN_BYTES:
                    break
        return self._copy.oldest_ns(beginning)

    async def _check_disk(self) -> None:
        """What it writes outside its mounts is added up by the daemon, now and then."""
        pause_s = DISK_CHECK_S
        while True:
            await asyncio.sleep(pause_s)
            begun = time.monotonic()
            try:
                found = await self._daemon.inspect(self.id, with_size=True)
            except (DaemonAway, DaemonRefused):
                continue
            pause_s = max(DISK_CHECK_S, (time.monotonic() - begun) / DISK_CHECK_SHARE)
            if int(found.get("SizeRw") or 0) > self._launch.spec.disk_bytes:
                self._disk_passed = True
                await self.signal(signal.SIGKILL)
                return

    async def _judge(self, code: int) -> Outcome:
        """How it ended: by itself, or for a limit. Whoever asked it to end knows of that."""
        spec = self._launch.spec
        now_ms = int(time.time() * 1000)
        if self._disk_passed:
            return Outcome(code, now_ms, "disk", f"disk limit of {size(spec.disk_bytes)}")
        if code == 0:
            return Outcome(code, now_ms)
        try:
            state = (await self._daemon.inspect(self.id))["State"]
        except (DaemonAway, DaemonRefused):
            return Outcome(code, now_ms)
        ended_ms = read_time_ms(state["FinishedAt"]) or now_ms
        if code == KILLED_WITH_DAEMON and self.started_ms < now_ms - time.clock_gettime(time.CLOCK_BOOTTIME) * 1000:
            raise self._give_up("the node was restarted")
        if state.get("OOMKilled") and spec.memory_bytes:
            return Outcome(code, ended_ms, "memory", f"memory limit of {size(spec.memory_bytes)}")
        return Outcome(code, ended_ms)

    async def _signal_name(self, number: int) -> str:
        """An image may say by which signal it wants to be ended; TERM, our usual one, gives way to it."""
        if number == signal.SIGTERM:
            wanted = (await self._daemon.inspect(self.id))["Config"].get("StopSignal")
            return str(wanted or "SIGTERM")
        return str(int(number))

    @property
    def _is_on_host(self) -> bool:
        container = self._launch.spec.container
        return container is not None and container.network == HOST_NETWORK


def needs_address(launch: Launch) -> bool:
    """Whether somebody will ask where the container is reached."""
    return bool(launch.spec.health) or is_published(launch.spec)


def read_time_ms(text: str) -> int:
    """Milliseconds since 1970 of the daemon's times; 0 for those that have not come."""
    try:
        found = int(datetime.fromisoformat(f"{text[:19]}+00:00").timestamp() * 1000)
    except ValueError:
        return 0
    fraction = text[20:23] if text[19:20] == "." else ""
    return max(0, found + int(fraction.ljust(3, "0") if fraction.isdigit() else 0))


def size(amount_bytes: int) -> str:
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount_bytes >= unit and amount_bytes % unit == 0:
            return f"{amount_bytes // unit}{suffix}"
    return str(amount_bytes)


def disk_bytes(found: dict[str, Any]) -> dict[str, int]:
    """What a container read and wrote: the daemon tells it by device, and with version 1 of cgroups in capitals."""
    sums = {"read": 0, "write": 0}
    for entry in found.get("io_service_bytes_recursive") or ():
        kind = str(entry["op"]).lower()
        if kind in sums:
            sums[kind] += int(entry["value"])
    return sums


def _values(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return list((found.get(key) or {}).values())

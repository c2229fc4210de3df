"""One started container: waits for its end, copies its output, and decides its result. Created by `docker.runtime`,
used by the worker through the port."""

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
from shunter.worker.runtimes.docker.daemon import Daemon, DaemonError, DaemonUnavailable, Stream
from shunter.worker.runtimes.docker.output import OutputCopier
from shunter.worker.runtimes.port import Launch, Outcome, RuntimeGone, Usage

log = Log(__name__)

FOLLOW_AFTER_S = 0.2  # shorter ones are read once, at their end
STREAM_END_MAX_S = 30.0  # from the end of a container to the end of its output
ENTRY_MIN_BYTES = 64  # of the daemon's log, to see the time of its first entry
FOLLOW_RETRY_S = 1.0
DISK_CHECK_S = 1.0
DISK_CHECK_SHARE = 0.05  # of the time may go into adding up the container's files
AWAY_MAX_S = 60.0  # without the daemon, before a container that nobody can see is given up
RETRY_S = 0.5
KILLED_WITH_DAEMON = 255  # the exit code of a container that the daemon found dead when it started
KILLED = 128 + signal.SIGKILL
OOM_EVENT_MAX_S = 2.0  # how much later than the end of a container it may be known that memory ran out
OOM_EVENT_POLL_S = 0.05
MAYBE_MEMORY = "exit code {code}: killed, perhaps because it exceeded its memory limit of {limit}"
NOT_FOUND = 404
NOT_RUNNING = 409
ALREADY_ENDED = re.compile("is not running|can only kill running")  # in Docker's words, and in podman's


class ContainerOwner(Protocol):
    async def remove_container(self, id: str) -> None:
        """Now if that is possible, else later. Never raises."""
        ...

    def abandon_container(self, id: str) -> None:
        """Its state is unknown: remove it as soon as possible."""
        ...


class Container:
    """Implements `port.Running`. `stream` is its output from the beginning, if it was attached before the start."""

    def __init__(
        self,
        daemon: Daemon,
        id: str,
        launch: Launch,
        copier: OutputCopier,
        owner: ContainerOwner,
        stream: Stream | None,
    ) -> None:
        self.id = id
        self.started_ms = int(time.time() * 1000)
        self._daemon = daemon
        self._launch = launch
        self._copier = copier
        self._owner = owner
        self._stream = stream
        self._stream_ended = asyncio.Event()
        self._daemon_was_away = False  # the daemon, while the container ran
        self._address = ""  # in a network of its own, where the worker can reach it
        self._disk_exceeded = False
        self._was_killed = False  # by us
        self.is_tracked = True  # False once it is removed or given up
        self._watching: asyncio.Task[Outcome] | None = None

    def watch(self) -> None:
        """It runs, or has ended: see to it until it has."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        self._watching.add_done_callback(lambda done: done.cancelled() or done.exception())

    def update_from_inspect(self, found: dict[str, Any]) -> None:
        """Update from the daemon's data: its address, and since when it runs."""
        networks = found.get("NetworkSettings") or {}
        addresses = [networks.get("IPAddress"), *((n or {}).get("IPAddress") for n in _values(networks, "Networks"))]
        self._address = next(filter(None, addresses), "")
        self.started_ms = read_time_ms(found["State"]["StartedAt"]) or self.started_ms

    async def detach(self) -> None:
        """The worker ends; the container goes on."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        self._copier.save_position()

    # ---- port.Running ----

    async def ended(self) -> Outcome:
        assert self._watching is not None
        return await asyncio.shield(self._watching)

    async def signal(self, number: int) -> None:
        self._was_killed |= number == signal.SIGKILL
        try:
            await self._daemon.kill(self.id, await self._signal_name(number))
        except DaemonError as error:
            if error.status not in (NOT_FOUND, NOT_RUNNING) and not ALREADY_ENDED.search(str(error)):
                log.warning("container.signal_failed", container=self.id[:12], signal=number, error=error)
        except DaemonUnavailable as error:
            log.warning("container.signal_failed", container=self.id[:12], signal=number, error=error)

    async def execute(self, command: Sequence[str], timeout_s: float) -> tuple[int, str]:
        running = asyncio.ensure_future(self._daemon.execute(self.id, command))
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(running)
        except DaemonUnavailable as error:
            raise RuntimeGone(str(error)) from error
        except DaemonError as error:
            raise OSError(str(error)) from error
        finally:
            running.cancel()

    def address(self, port: str) -> tuple[str, int]:
        """Prefer the container's own address: the daemon's proxy on the node accepts connections even if nothing
        listens."""
        for known in self._launch.spec.ports:
            if port in (known.name, str(known.port)):
                if self._address and known.port:
                    return self._address, known.port
                return "127.0.0.1", self._launch.ports.get(known.name, known.host_port)
        if not port.isdigit():
            raise LookupError(f"port {port}: the task has no port with this name")
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
        except (DaemonUnavailable, DaemonError, KeyError, TypeError):
            return None

    async def remove(self) -> None:
        self.is_tracked = False
        await self._owner.remove_container(self.id)
        self._copier.forget()

    # ---- inside ----

    async def _watch(self) -> Outcome:
        copying = asyncio.ensure_future(self._copy_output())
        background = [asyncio.ensure_future(self._check_disk())] if self._launch.spec.disk_bytes else []
        try:
            code = await self._wait()
            await self._finish_output(copying)
        finally:
            for each in (copying, *background):
                each.cancel()
            await asyncio.gather(copying, *background, return_exceptions=True)
            if self._stream is not None:
                self._stream.close()
        return await self._classify_exit(code)

    def _abandon(self, reason: str) -> RuntimeGone:
        """Tell waiters that it is lost. If it turns up again, it is an orphan."""
        self.is_tracked = False
        self._owner.abandon_container(self.id)
        return RuntimeGone(reason)

    async def _wait(self) -> int:
        """The exit code. A daemon that is away for a while comes back to a container that ran on, or has ended."""
        seen_at = time.monotonic()
        while True:
            try:
                answer = await self._daemon.wait(self.id)
                return int(answer["StatusCode"])
            except DaemonError as error:
                raise self._abandon(f"the container is gone: {error}") from error
            except DaemonUnavailable as error:
                self._daemon_was_away = True
                if await self._is_answering():
                    seen_at = time.monotonic()
                elif time.monotonic() - seen_at > AWAY_MAX_S:
                    raise self._abandon(str(error)) from error
                await asyncio.sleep(RETRY_S)

    async def _is_answering(self) -> bool:
        try:
            await self._daemon.facts()
        except (DaemonUnavailable, DaemonError):
            return False
        return True

    async def _copy_output(self) -> None:
        """Copy the output as it comes: from the stream, and if that is gone, from the log."""
        if self._stream is not None:
            with contextlib.suppress(DaemonUnavailable):
                while chunk := await self._stream.read():
                    self._copier.write_stream_chunk(chunk)
            self._stream_ended.set()
        await asyncio.sleep(FOLLOW_AFTER_S)
        while True:
            with contextlib.suppress(DaemonUnavailable, DaemonError):
                await self._read_log(follow=True)
            await asyncio.sleep(FOLLOW_RETRY_S)

    async def _finish_output(self, copying: asyncio.Future[None]) -> None:
        """The container has ended: read the rest of its output at once."""
        if self._stream is not None and not self._daemon_was_away:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STREAM_END_MAX_S):
                    await self._stream_ended.wait()
        copying.cancel()
        await asyncio.gather(copying, return_exceptions=True)
        if not (self._stream_ended.is_set() and self._copier.is_live and not self._daemon_was_away):
            try:
                await self._read_log(follow=False)
            except (DaemonUnavailable, DaemonError) as error:
                log.warning("container.log_incomplete", container=self.id[:12], error=error)
        self._copier.save_position()

    async def _read_log(self, follow: bool) -> None:
        if self._copier.is_live:
            self._copier.switch_to_log(await self._oldest_ns())
        self._copier.begin()
        async for chunk in self._daemon.output(self.id, self._copier.since, follow):
            self._copier.write_log_chunk(chunk)

    async def _oldest_ns(self) -> int:
        """The time of the first entry that the daemon's log still has."""
        head = b""
        async with contextlib.aclosing(self._daemon.output(self.id, "0", follow=False)) as chunks:
            async for chunk in chunks:
                head += chunk
                if len(head) >= ENTRY_MIN_BYTES:
                    break
        return self._copier.oldest_ns(head)

    async def _check_disk(self) -> None:
        """The daemon sums up what it writes outside of its mounts; check it periodically."""
        pause_s = DISK_CHECK_S
        while True:
            await asyncio.sleep(pause_s)
            started_at = time.monotonic()
            try:
                found = await self._daemon.inspect(self.id, with_size=True)
            except (DaemonUnavailable, DaemonError):
                continue
            pause_s = max(DISK_CHECK_S, (time.monotonic() - started_at) / DISK_CHECK_SHARE)
            if int(found.get("SizeRw") or 0) > self._launch.spec.disk_bytes:
                self._disk_exceeded = True
                await self.signal(signal.SIGKILL)
                return

    async def _classify_exit(self, code: int) -> Outcome:
        """How it ended: by itself, or by a limit. The caller knows whether it was told to stop."""
        spec = self._launch.spec
        now_ms = int(time.time() * 1000)
        if self._disk_exceeded:
            return Outcome(code, now_ms, "disk", f"disk limit of {format_size(spec.disk_bytes)}")
        if code == 0:
            return Outcome(code, now_ms)
        try:
            state = await self._state_after_exit(code)
        except (DaemonUnavailable, DaemonError):
            return Outcome(code, now_ms)
        ended_ms = read_time_ms(state["FinishedAt"]) or now_ms
        if code == KILLED_WITH_DAEMON and self.started_ms < now_ms - time.clock_gettime(time.CLOCK_BOOTTIME) * 1000:
            raise self._abandon("the node was restarted")
        if state.get("OOMKilled") and spec.memory_bytes:
            return Outcome(code, ended_ms, "memory", f"memory limit of {format_size(spec.memory_bytes)}")
        if self._may_have_exceeded_memory(code):
            return Outcome(code, ended_ms, "", MAYBE_MEMORY.format(code=code, limit=format_size(spec.memory_bytes)))
        return Outcome(code, ended_ms)

    async def _state_after_exit(self, code: int) -> dict[str, Any]:
        """The daemon learns by an event of its own that memory ran out. It may come after the container's end. On
        cgroup v1 the event is lost if the cgroup is removed before the daemon has read it."""
        deadline_s = time.monotonic() + OOM_EVENT_MAX_S
        while True:
            state: dict[str, Any] = (await self._daemon.inspect(self.id))["State"]
            is_late = time.monotonic() > deadline_s
            if state.get("OOMKilled") or not self._may_have_exceeded_memory(code) or is_late:
                return state
            await asyncio.sleep(OOM_EVENT_POLL_S)

    def _may_have_exceeded_memory(self, code: int) -> bool:
        return bool(code == KILLED and self._launch.spec.memory_bytes and not self._was_killed)

    async def _signal_name(self, number: int) -> str:
        """An image may set its own stop signal, which takes precedence over our default TERM."""
        if number == signal.SIGTERM:
            wanted = (await self._daemon.inspect(self.id))["Config"].get("StopSignal")
            return str(wanted or "SIGTERM")
        return str(int(number))

    @property
    def _is_on_host(self) -> bool:
        container = self._launch.spec.container
        return container is not None and container.network == HOST_NETWORK


def needs_address(launch: Launch) -> bool:
    """Whether the container's address will be needed."""
    return bool(launch.spec.health) or is_published(launch.spec)


def read_time_ms(text: str) -> int:
    """Milliseconds since 1970 of the daemon's times; 0 for those that have not come."""
    try:
        found = int(datetime.fromisoformat(f"{text[:19]}+00:00").timestamp() * 1000)
    except ValueError:
        return 0
    fraction = text[20:23] if text[19:20] == "." else ""
    return max(0, found + int(fraction.ljust(3, "0") if fraction.isdigit() else 0))


def format_size(amount_bytes: int) -> str:
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if amount_bytes >= unit and amount_bytes % unit == 0:
            return f"{amount_bytes // unit}{suffix}"
    return str(amount_bytes)


def disk_bytes(found: dict[str, Any]) -> dict[str, int]:
    """The bytes that a container read and wrote: the daemon reports them by device, and in capitals with cgroups
    version 1."""
    sums = {"read": 0, "write": 0}
    for entry in found.get("io_service_bytes_recursive") or ():
        kind = str(entry["op"]).lower()
        if kind in sums:
            sums[kind] += int(entry["value"])
    return sums


def _values(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return list((found.get(key) or {}).values())

"""The built-in health checks, and the lookup of all kinds. Called by `worker.health.monitor`."""

from __future__ import annotations

import asyncio

from shunter.log import Log
from shunter.model.job.spec import HealthCheck
from shunter.plugins import HEALTH_CHECKS, find_plugins
from shunter.worker.health.port import Check, Target, Unhealthy

log = Log(__name__)

LINE_MAX_BYTES = 8192
OUTPUT_CHARS_MAX = 200  # characters of a command's output in a reason


class CheckRegistry:
    """Checks by name. Plugins are loaded when the first kind is asked for that is not built in."""

    def __init__(self) -> None:
        self._checks: dict[str, Check] = {"http": check_http, "tcp": check_tcp, "command": check_command}
        self._plugins_loaded = False

    def __getitem__(self, kind: str) -> Check:
        """An unknown kind is a check that never passes: the task must not count as healthy unchecked."""
        if kind not in self._checks and not self._plugins_loaded:
            self._load_plugins()
        return self._checks.get(kind, check_unknown)

    def _load_plugins(self) -> None:
        self._plugins_loaded = True
        for plugin in find_plugins(HEALTH_CHECKS):
            if plugin.error:
                log.error("plugin.broken", group=plugin.group, name=plugin.name, error=plugin.error)
            else:
                self._checks.setdefault(plugin.name, plugin.target)


async def check_http(check: HealthCheck, target: Target) -> None:
    """GET the path; any status from 200 to 399 is healthy."""
    host, port = target.address(check.port)
    async with asyncio.timeout(check.timeout_s):
        reader, writer = await asyncio.open_connection(host, port, limit=LINE_MAX_BYTES)
        try:
            path = check.path if check.path.startswith("/") else f"/{check.path}"
            request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: shunter\r\nConnection: close\r\n\r\n"
            writer.write(request.encode())
            try:
                line = await reader.readline()
            except ValueError:
                raise Unhealthy("answered with a line that is too long") from None
        finally:
            writer.close()
    if not line:
        raise Unhealthy("closed the connection without an answer")
    words = line.split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].strip().isdigit():
        raise Unhealthy("the answer is not HTTP")
    status = int(words[1])
    if not 200 <= status < 400:
        raise Unhealthy(f"answered {status}")


async def check_tcp(check: HealthCheck, target: Target) -> None:
    """Healthy if the port accepts connections."""
    host, port = target.address(check.port)
    async with asyncio.timeout(check.timeout_s):
        _, writer = await asyncio.open_connection(host, port)
        writer.close()


async def check_command(check: HealthCheck, target: Target) -> None:
    """Healthy if a command next to the task exits with 0."""
    code, output = await target.execute(check.command, check.timeout_s)
    if code != 0:
        words = " ".join(output.split())[-OUTPUT_CHARS_MAX:]
        raise Unhealthy(f"exited with {code}" + (f": {words}" if words else ""))


async def check_unknown(check: HealthCheck, target: Target) -> None:  # noqa: ARG001
    raise Unhealthy(f"this node has no health check of kind {check.kind}; install the plugin that provides it")

"""A health check: the task is healthy while a file in its directory says `healthy`."""

from __future__ import annotations

from shunter.plugins import HealthCheck, Target, Unhealthy

FILE_DEFAULT = "status"
HEALTHY = "healthy"


async def check_marker(check: HealthCheck, target: Target) -> None:
    """Read the file `status`, or the file of `options: {file: NAME}`."""
    name = check.options.get("file", FILE_DEFAULT)
    code, text = await target.execute(["cat", name], check.timeout_s)
    if code != 0 or text.strip() != HEALTHY:
        raise Unhealthy(f"{name} says {text.strip()!r}")

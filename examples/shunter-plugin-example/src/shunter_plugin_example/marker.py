"""A health check: the task keeps a file in its folder, and is well while the file says so."""

from __future__ import annotations

from shunter.plugins import HealthCheck, Target, Unwell

FILE_DEFAULT = "status"
WELL = "well"


async def check_marker(check: HealthCheck, target: Target) -> None:
    """`options: {file: NAME}` names another file."""
    name = check.options.get("file", FILE_DEFAULT)
    code, text = await target.execute(["cat", name], check.timeout_s)
    if code != 0 or text.strip() != WELL:
        raise Unwell(f"{name} says {text.strip()!r}")

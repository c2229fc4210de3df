"""The parts in which kinds of applications differ. Built by `testbeds.spark_application` and
`testbeds.flink_application`, assembled by `testbeds.applications`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shunter.model.resources import MEMORY, format_amount

DRIVER, EXECUTOR = "driver", "executor"
DRIVER_CPU_MILLI = 500
DRIVER_MEMORY_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class ApplicationParts:
    """`driver` and `executor` are the payloads of their launchers."""

    runtime: str
    executor_env: Mapping[str, str]
    executor: Mapping[str, Any] = field(default_factory=dict)
    executor_command: tuple[str, ...] = (EXECUTOR,)
    executor_dir: str | None = None
    driver: Mapping[str, Any] | None = None  # None: there is none
    driver_env: Mapping[str, str] = field(default_factory=dict)
    driver_cpu_milli: int = DRIVER_CPU_MILLI
    driver_memory_bytes: int = DRIVER_MEMORY_BYTES
    ports: tuple[str, ...] = ()  # of the driver


def local_path(uri: str) -> str:
    """A path of the node, from `local:///a`, `file:///a`, `file:/a` or `/a`."""
    for scheme in ("local://", "file://", "file:"):
        if uri.startswith(scheme):
            return uri.removeprefix(scheme)
    return uri


def format_mebibytes(amount_bytes: int) -> str:
    """For people, in whole mebibytes."""
    return format_amount(MEMORY, amount_bytes // 2**20 * 2**20)

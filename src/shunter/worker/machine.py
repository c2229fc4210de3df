"""Describes this machine for the worker's Hello: its resources, labels and properties."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping

from shunter import __version__
from shunter.model import secrets
from shunter.model.job.isolation import ATTRIBUTE
from shunter.model.protocol.worker_messages import PROTOCOL_VERSION, Hello
from shunter.model.resources import CPU, DISK, MEMORY
from shunter.worker.identity import machine_boot_id, machine_id, worker_id
from shunter.worker.settings import WorkerSettings


def build_hello(settings: WorkerSettings, boot: str, limits: str, isolation: str, runtimes: Mapping[str, str]) -> Hello:
    """Build the Hello of this worker process; the settings' capacity overrides the machine's."""
    return Hello(
        protocol=PROTOCOL_VERSION,
        name=settings.name,
        boot=boot,
        capacity={**machine_capacity(settings), **settings.capacity, **_device_counts(settings)},
        labels=dict(settings.labels),
        datacenter=settings.datacenter,
        attributes={**machine_attributes(limits), ATTRIBUTE: isolation, secrets.ATTRIBUTE: "true", **runtimes},
        address=settings.address,
        worker_id=worker_id(settings.home),
        machine=machine_id(),
        machine_boot=machine_boot_id(),
    )


def machine_capacity(settings: WorkerSettings) -> dict[str, int]:
    disk = os.statvfs(settings.home)
    return {
        CPU: cores() * 1000,
        MEMORY: os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        DISK: disk.f_blocks * disk.f_frsize,
    }


def _device_counts(settings: WorkerSettings) -> dict[str, int]:
    return {kind: len(ids) for kind, ids in settings.devices.items()}


def machine_attributes(limits: str) -> dict[str, str]:
    return {
        "os": platform.system().lower(),
        "kernel": platform.release(),
        "arch": platform.machine(),
        "python": platform.python_version(),
        "limits": limits,
        "shunter": __version__,
    }


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0))

"""What can be said when a cluster, a manager or a worker is started. Made by the CLI; sent to the background process
as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.model.errors import Invalid, Problem
from shunter.model.resources import CPU, MEMORY, parse_amount
from shunter.planning.planner import POLICY_DEFAULT

SIMULATED_NODES_MAX = 100_000


class UpOptions(msgspec.Struct, kw_only=True):
    cpu: str | None = None  # what this machine offers; None: what it has
    memory: str | None = None
    listen: str = "127.0.0.1:0"
    workers_listen: str | None = None  # HOST:PORT for remote workers; None: none may join
    insecure: bool = False  # let others than this machine reach a port without TLS
    has_worker: bool = True
    simulate_nodes: int = 0
    speed: float = 1.0
    policy: str = POLICY_DEFAULT
    store: str = "sqlite"  # sqlite | memory
    name: str | None = None

    def capacity(self) -> dict[str, int]:
        """The resources given by hand, in inner amounts. Raises Invalid."""
        return parse_capacity({CPU: self.cpu, MEMORY: self.memory})


class WorkerOptions(msgspec.Struct, kw_only=True):
    manager: str
    token: str
    name: str | None = None
    cpu: str | None = None
    memory: str | None = None
    datacenter: str = "dc1"
    labels: dict[str, str] = {}
    resources: dict[str, str] = {}

    def capacity(self) -> dict[str, int]:
        return parse_capacity({CPU: self.cpu, MEMORY: self.memory, **self.resources})


def parse_capacity(given: dict[str, Any]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for resource, text in given.items():
        if text is None:
            continue
        try:
            amounts[resource] = parse_amount(resource, text)
        except ValueError as error:
            fix = "write it like 4 or 500m" if resource == CPU else "write it like 2 or 512Mi"
            raise Invalid([Problem(f"--{resource}", str(error), text, fix)]) from None
    return amounts


def parse_address(text: str, option: str) -> tuple[str, int]:
    """HOST:PORT. Raises Invalid."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise Invalid([Problem(option, "is not an address", text, "write it as HOST:PORT, like 127.0.0.1:7700")])
    return host.strip("[]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    return host == "localhost" or host == "::1" or host.startswith("127.")

"""What a user asks for, after validation: frozen, normalised, every default filled in. Made by `model.manifests`."""

from __future__ import annotations

import msgspec

COUNT_MAX = 10_000_000
PRIORITY_DEFAULT = 50
LOST_MAX = 20
NAMESPACE_DEFAULT = "default"


class Restart(msgspec.Struct, frozen=True):
    """When an attempt that ended with an exit code is followed by another. `max` None means without limit."""

    policy: str = "never"  # never | on-failure | always | unless-stopped
    max: int | None = 3
    delay_s: float = 1.0
    factor: float = 2.0
    delay_max_s: float = 60.0
    jitter: float = 0.1


class TaskSpec(msgspec.Struct, frozen=True):
    """What a worker must know to run one task; alike for all tasks of a group."""

    command: tuple[str, ...]
    env: dict[str, str] = {}
    dir: str | None = None  # None: a fresh folder that goes away with the task
    cpu_milli: int = 1000
    memory_bytes: int = 0  # 0 means no limit, here and below
    disk_bytes: int = 0
    run_timeout_s: float = 0.0
    stop_grace_s: float = 5.0
    log_max_bytes: int = 16 * 2**20  # of each stream
    runtime: str = "process"


class GroupSpec(msgspec.Struct, frozen=True):
    """Tasks of a job that are alike."""

    name: str
    count: int
    task: TaskSpec
    needs: dict[str, int]  # resource -> inner amount, zero amounts left out
    restart: Restart = Restart()
    datacenters: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    queue_timeout_s: float = 0.0


class JobSpec(msgspec.Struct, frozen=True):
    """A whole job."""

    namespace: str
    name: str
    groups: tuple[GroupSpec, ...]
    type: str = "batch"
    priority: int = PRIORITY_DEFAULT
    labels: dict[str, str] = {}

    @property
    def count(self) -> int:
        return sum(group.count for group in self.groups)

"""The settings and limits of a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    home: Path
    name: str
    capacity: Mapping[str, int] = field(default_factory=dict)  # resource -> inner amount, over what the machine shows
    labels: Mapping[str, str] = field(default_factory=dict)
    datacenter: str = "dc1"
    address: str = ""
    devices: Mapping[str, Sequence[str]] = field(default_factory=dict)  # kind -> ids; their number is the capacity
    ports_first: int = 20_000  # of those that are chosen for tasks; below what the system chooses for itself
    ports_last: int = 29_999
    warm_keepers: int = 2  # started before there is work, and kept when there is none
    keepers_max: int = 2000
    keepers_starting_max: int = 4  # at once: each start takes a few hundredths of a second of a core
    keeper_idle_max_s: float = 60.0  # beyond the warm ones
    keeper_alone_max_s: float = 5.0  # without a worker and with nothing to run; then it ends
    keeper_results_max_s: float = 86_400.0  # the same while it has results that no worker has acknowledged
    task_descriptors: int = 0  # the soft limit of open files of keepers and tasks; 0: that of the worker
    cgroups: bool = True  # False: rlimits, whatever the machine offers
    task_user: str = ""  # who runs the tasks of a worker of root: a user, or root; empty: the worker's own user
    hide_secrets: bool = True  # from tasks, by a mount namespace, where the machine allows it
    cluster_homes: Sequence[Path] = ()  # homes of clusters, whose files are hidden from tasks
    secret_files: Sequence[Path] = ()  # other files that are hidden from tasks
    secret_folders: Sequence[
        Path
    ] = ()  # whose files are hidden from tasks, also those to come; made if they are missing
    task_umask: int | None = None  # of tasks; None: this process's own
    task_pids_max: int = 4096  # processes and threads of a task, where control groups can limit them; 0: no limit
    otlp_endpoint: str | None = None  # URL of an OTLP receiver for traces; None: no tracing
    docker_host: str = ""  # the daemon's address; empty: DOCKER_HOST, or the usual sockets
    log_age_max_s: float = 14 * 86400.0
    log_total_max_bytes: int = 8 * 2**30
    log_sweep_s: float = 300.0
    shutdown_ack_max_s: float = 5.0  # how long to wait for the manager before the keepers are ended

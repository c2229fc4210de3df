"""What `shunter doctor` looks at on this machine. Nothing here judges: `app.diagnosis.verdicts` does. What cannot be
read is None, or says why."""

from __future__ import annotations

import asyncio
import ctypes
import os
import ssl
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from shunter.adapters.system.disk_probe import store_bytes
from shunter.app.home import Home
from shunter.model.errors import Invalid

CONNECT_MAX_S = 3.0
STA_UNSYNC = 0x40  # of adjtimex
_TIMEX_STATUS, _TIMEX_BYTES = 40, 208  # offset of `status` in struct timex on 64 bits, and its size


@dataclass(frozen=True, slots=True)
class DiskFacts:
    path: str
    total_bytes: int
    free_bytes: int
    inodes: int
    inodes_free: int
    is_writable: bool


@dataclass(frozen=True, slots=True)
class StoreFacts:
    exists: bool
    size_bytes: int = 0
    wal_bytes: int = 0
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the home says about a running cluster, and whether that is true."""

    is_locked: bool
    url: str = ""
    pid: int = 0
    is_pid_alive: bool = False
    health: str = ""  # the answer of /healthz; empty: none
    error: str = ""
    skew_s: float | None = None  # of its clock to this one


@dataclass(frozen=True, slots=True)
class MachineFacts:
    python: tuple[int, int]
    missing: tuple[str, ...]  # packages that Shunter needs
    open_files: tuple[int, int]  # soft and hard limit
    is_clock_synchronized: bool | None
    cgroups: str  # cgroup-v2, cgroup-v1 or none
    isolation: str
    user_id: int
    docker: str  # its socket; empty: none
    docker_error: str = ""


@dataclass(frozen=True, slots=True)
class HomeFacts:
    path: str
    mode: int | None
    owner: int | None
    secret_modes: dict[str, int] = field(default_factory=dict)  # of files with tokens
    keepers: tuple[int, ...] = ()  # processes that run tasks of this home
    drafts: tuple[str, ...] = ()  # files that an interrupted write left


def read_machine(home: Home) -> MachineFacts:
    import resource

    docker, error = _docker(home)
    return MachineFacts(
        (sys.version_info[0], sys.version_info[1]),
        _missing_packages(),
        resource.getrlimit(resource.RLIMIT_NOFILE),
        _is_clock_synchronized(),
        _cgroups(),
        _isolation(home),
        os.geteuid(),
        docker,
        error,
    )


def read_home(home: Home) -> HomeFacts:
    try:
        status = home.folder.stat()
    except OSError:
        return HomeFacts(str(home.folder), None, None)
    secrets = {path.name: path.stat().st_mode & 0o777 for path in (home.token, home.worker_token) if path.exists()}
    drafts = tuple(path.name for path in home.folder.glob(".*.draft"))
    return HomeFacts(str(home.folder), status.st_mode & 0o777, status.st_uid, secrets, _keepers(home.worker), drafts)


def read_disk(folder: Path) -> DiskFacts:
    found = os.statvfs(folder)
    return DiskFacts(
        str(folder),
        found.f_blocks * found.f_frsize,
        found.f_bavail * found.f_frsize,
        found.f_files,
        found.f_favail,
        os.access(folder, os.W_OK),
    )


def read_store(home: Home, *, is_running: bool) -> StoreFacts:
    """A running cluster checks its store itself, so only one that is stopped is read in full."""
    if not home.store.exists():
        return StoreFacts(exists=False)
    wal = home.store.with_name(home.store.name + "-wal")
    sizes = store_bytes(home.store), wal.stat().st_size if wal.exists() else 0
    if is_running:
        return StoreFacts(True, *sizes)
    from shunter.app.storage.verify import verify_store

    return StoreFacts(True, *sizes, tuple(verify_store(home).problems))


def read_cluster(home: Home) -> ClusterFacts:
    is_locked = home.is_locked()
    description = home.read_description()
    if description is None:
        return ClusterFacts(is_locked)
    url, pid = str(description["url"]), int(description["pid"])
    is_alive = Path(f"/proc/{pid}").exists()
    if not is_locked:
        return ClusterFacts(is_locked, url, pid, is_alive)
    try:
        trusted = ssl.create_default_context(cafile=description.get("ca")) if url.startswith("https:") else None
        with urllib.request.urlopen(f"{url}/healthz", timeout=CONNECT_MAX_S, context=trusted) as response:
            date = response.headers["date"]
            skew_s = None if date is None else parsedate_to_datetime(date).timestamp() - time.time()
            return ClusterFacts(is_locked, url, pid, is_alive, response.read(4096).decode(), "", skew_s)
    except OSError as error:  # HTTPError and URLError are of this kind
        return ClusterFacts(is_locked, url, pid, is_alive, error=str(error))


def _missing_packages() -> tuple[str, ...]:
    missing = []
    for line in requires("shunter") or ():
        requirement, _, marker = line.partition(";")
        name = requirement.split("[")[0].split(">")[0].split("<")[0].split("=")[0].split("~")[0].strip()
        if "extra" in marker:
            continue
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    return tuple(missing)


def _is_clock_synchronized() -> bool | None:
    """As the kernel was told by an NTP daemon; None if that cannot be asked."""
    if ctypes.sizeof(ctypes.c_long) != 8:
        return None
    try:
        buffer = ctypes.create_string_buffer(_TIMEX_BYTES)
        if ctypes.CDLL(None, use_errno=True).adjtimex(buffer) < 0:
            return None
    except (OSError, AttributeError):
        return None
    status = int.from_bytes(buffer.raw[_TIMEX_STATUS : _TIMEX_STATUS + 4], sys.byteorder)
    return not status & STA_UNSYNC


def _cgroups() -> str:
    """What could be used, without making anything."""
    root = Path("/sys/fs/cgroup")
    try:
        controllers = (root / "cgroup.controllers").read_text().split()
    except OSError:
        controllers = []
    if {"cpu", "memory"} <= set(controllers) and os.access(root, os.W_OK):
        return "cgroup-v2"
    is_v1 = all((root / name).is_dir() and os.access(root / name, os.W_OK) for name in ("cpu", "memory"))
    return "cgroup-v1" if is_v1 else "none"


def _isolation(home: Home) -> str:
    from shunter.worker.isolation import detect_isolation
    from shunter.worker.settings import WorkerSettings

    settings = WorkerSettings(home.worker, "doctor", cluster_homes=(home.folder,))
    return asyncio.run(detect_isolation(settings)).name


def _docker(home: Home) -> tuple[str, str]:
    """The daemon that a worker of this home uses."""
    from shunter.app.config import read_config
    from shunter.worker.runtimes.docker.daemon import Daemon, DaemonError, DaemonUnavailable, find_host

    try:
        wanted = read_config(home.config).worker.get("docker_host", "")
    except Invalid:
        wanted = ""  # the cluster does not start with this file, and says why
    host = find_host(wanted)
    if not host:
        return "", ""

    async def ask() -> str:
        daemon = Daemon(host)
        try:
            await daemon.version()
        except (DaemonUnavailable, DaemonError) as error:
            return str(error)
        finally:
            await daemon.close()
        return ""

    return host, asyncio.run(ask())


def _keepers(worker_home: Path) -> tuple[int, ...]:
    """The keepers of this home, which their command lines name."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"keeper_main.py" in command and os.fsencode(worker_home) in command:
                found.append(int(entry.name))
    return tuple(sorted(found))

"""Control groups of this machine: finds where the lanes' groups go, and what dead keepers left in them.

A group tree is created below the worker's own group of each controller: `shunter-HASH/lane-N`, where HASH is that of
the home, so that two clusters on one machine do not collide. Version 2 is used if it has the controllers, else version
1. `keeper.limits` manages the groups of a lane."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from shunter.log import Log

log = Log(__name__)

V1_CONTROLLERS = ("cpu", "cpuacct", "memory", "freezer", "pids")
V2_CONTROLLERS = ("cpu", "memory")
V2_OPTIONAL = ("pids",)
GROUP_MODE = 0o755
SHARES_PER_CORE, SHARES_MAX = 1024, 262_144  # version 1
WEIGHT_PER_CORE, WEIGHT_MAX = 100, 10_000  # version 2
CLEAR_ROUNDS_MAX = 100
CLEAR_EVERY_S = 0.02

Groups = dict[str, str]  # controller, or "unified" -> the folder in which lanes make theirs


def prepare_groups(home: Path) -> tuple[str, Groups]:
    """Make the tree; returns the kind of limits (cgroup-v2, cgroup-v1 or rlimits) and the parents of lanes."""
    name = tree_name(home)
    mounts, own_paths = _mounts(), _own_paths()
    unified = _prepare_v2(mounts, own_paths, name)
    if unified is not None:
        return "cgroup-v2", {"unified": unified}
    groups = _prepare_v1(mounts, own_paths, name)
    return ("cgroup-v1", groups) if groups else ("rlimits", {})


def tree_name(home: Path) -> str:
    return f"shunter-{hashlib.sha256(bytes(home.resolve())).hexdigest()[:12]}"


async def clear_lane(groups: Mapping[str, str], number: int) -> bool:
    """Kill everything left in a dead keeper's groups, and remove them; returns whether no process is left."""
    folders = [Path(parent) / f"lane-{number}" for parent in groups.values()]
    for _ in range(CLEAR_ROUNDS_MAX):
        remaining = [folder for folder in folders if folder.is_dir()]
        if not remaining:
            return True
        for folder in remaining:
            _kill_members(folder)
            try:
                folder.rmdir()
            except OSError:
                pass  # killed processes are still leaving it
        await asyncio.sleep(CLEAR_EVERY_S)
    log.warning("cgroup.not_removed", lane=number)
    return not any(_members(folder) for folder in folders)


def stale_lanes(groups: Mapping[str, str], alive: set[int]) -> set[int]:
    """Lanes that have groups but no keeper."""
    numbers = set()
    for parent in groups.values():
        for folder in Path(parent).glob("lane-*"):
            numbers.add(int(folder.name.removeprefix("lane-")))
    return numbers - alive


def remove_groups(groups: Mapping[str, str]) -> None:
    """Remove the tree when no lane is left in it."""
    for parent in groups.values():
        for folder in (Path(parent) / "parking", Path(parent)):
            try:
                folder.rmdir()
            except OSError:
                pass


def _members(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _kill_members(folder: Path) -> None:
    """While they are frozen, where the group can be: some processes fork faster than they are killed. The keeper may
    have died while it had frozen them itself."""
    _set_frozen(folder, True)
    for pid in _members(folder):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    _set_frozen(folder, False)


def _set_frozen(folder: Path, is_frozen: bool) -> None:
    for name, values in (("freezer.state", ("THAWED", "FROZEN")), ("cgroup.freeze", ("0", "1"))):
        try:
            fd = os.open(folder / name, os.O_WRONLY)  # never made: the folder may be removed meanwhile
        except OSError:
            continue  # the controller of this group cannot freeze
        try:
            os.write(fd, values[is_frozen].encode())
        except OSError as error:
            log.warning("cgroup.not_frozen", folder=folder, error=error)
        finally:
            os.close(fd)


def _prepare_v1(mounts: dict[str, tuple[str, str]], own_paths: dict[str, str], name: str) -> Groups:
    groups = {}
    for controller in V1_CONTROLLERS:
        if controller in mounts and controller in own_paths:
            folder = _group_folder(mounts[controller], own_paths[controller]) / name
            if _make_group(folder):
                groups[controller] = str(folder)
    if "cpu" in groups:
        _set_weight(Path(groups["cpu"]) / "cpu.shares", SHARES_PER_CORE, SHARES_MAX)
    return groups if "freezer" in groups and ("cpu" in groups or "memory" in groups) else {}


def _set_weight(file: Path, per_core: int, weight_max: int) -> None:
    """Otherwise all tasks together would weigh as much against the rest of the machine as one ordinary process."""
    try:
        file.write_text(str(min(per_core * (os.cpu_count() or 1), weight_max)))
    except OSError as error:
        log.warning("cgroup.weight_failed", file=file, error=error)


def _prepare_v2(mounts: dict[str, tuple[str, str]], own_paths: dict[str, str], name: str) -> str | None:
    if "" not in mounts or "" not in own_paths:
        return None
    folder = _group_folder(mounts[""], own_paths[""])
    try:
        available = (folder / "cgroup.controllers").read_text().split()
        if not set(V2_CONTROLLERS) <= set(available) or not _make_group(folder / name):
            return None
        optional = [controller for controller in V2_OPTIONAL if controller in available]
        enable = " ".join(f"+{controller}" for controller in (*V2_CONTROLLERS, *optional))
        if not _enable(folder, enable):
            # A group with processes of its own cannot hand controllers down: step into a group below.
            if not _make_group(folder / "shunter-worker"):
                return None
            (folder / "shunter-worker" / "cgroup.procs").write_text(str(os.getpid()))
            if not _enable(folder, enable):
                (folder / "cgroup.procs").write_text(str(os.getpid()))
                return None
        _set_weight(folder / name / "cpu.weight", WEIGHT_PER_CORE, WEIGHT_MAX)
        return str(folder / name) if _enable(folder / name, enable) else None
    except OSError:
        return None


def _enable(folder: Path, controllers: str) -> bool:
    try:
        (folder / "cgroup.subtree_control").write_text(controllers)
    except OSError:
        return False
    return True


def _make_group(folder: Path) -> bool:
    try:
        folder.mkdir(GROUP_MODE, exist_ok=True)
    except OSError:
        return False
    return os.access(folder / "cgroup.procs", os.W_OK)


def _group_folder(mount: tuple[str, str], path: str) -> Path:
    """The folder of a group path; in a container the mount may begin below the hierarchy's root."""
    root, point = mount
    relative = path.removeprefix(root) if root != "/" else path
    return Path(point) / relative.lstrip("/")


def _mounts() -> dict[str, tuple[str, str]]:
    """Controller ("" for version 2) -> root and mount point."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        remaining, _, right = line.partition(" - ")
        root, point = remaining.split()[3:5]
        kind, _, options = right.split()[:3]
        if kind == "cgroup2":
            found[""] = (root, point)
        elif kind == "cgroup":
            for option in options.split(","):
                if option in V1_CONTROLLERS:
                    found[option] = (root, point)
    return found


def _own_paths() -> dict[str, str]:
    """Controller ("" for version 2) -> this process's group."""
    found = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = path
    return found

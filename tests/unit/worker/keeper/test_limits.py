"""What the keeper writes into control groups. Files in a folder stand in for the kernel's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shunter.worker.keeper.limits import KEEPER_CPU_MILLI, KEEPER_MEMORY_BYTES, KEEPER_PIDS, Limits
from shunter.worker.process.cgroups import _group_folder

MI = 2**20
V1 = ("cpu", "memory", "freezer")
FILES = (
    "cgroup.procs", "cgroup.freeze", "cpu.max", "memory.max", "memory.events", "memory.swap.max", "cpu.cfs_quota_us",
    "memory.limit_in_bytes", "memory.oom_control", "freezer.state", "pids.max",
)  # fmt: skip


def group_tree(tmp_path: Path, controllers: tuple[str, ...]) -> dict[str, str]:
    for controller in controllers:
        for folder in (tmp_path / controller, tmp_path / controller / "lane-1"):
            folder.mkdir(parents=True)
            for name in FILES:
                (folder / name).write_text("")
    return {controller: str(tmp_path / controller) for controller in controllers}


def written(tmp_path: Path, path: str) -> str:
    return (tmp_path / path).read_text()


def test_version_2_gets_quota_and_memory_with_the_keeper_s_own_share_added(tmp_path: Path) -> None:
    limits = Limits(group_tree(tmp_path, ("unified",)), "lane-1", cores=4)
    limits.apply(1500, 64 * MI)
    assert written(tmp_path, "unified/lane-1/cpu.max") == f"{(1500 + KEEPER_CPU_MILLI) * 100} 100000"
    assert written(tmp_path, "unified/lane-1/memory.max") == str(64 * MI + KEEPER_MEMORY_BYTES)
    assert written(tmp_path, "unified/lane-1/memory.swap.max") == "0"


def test_version_1_gets_the_same_in_its_own_files(tmp_path: Path) -> None:
    limits = Limits(group_tree(tmp_path, V1), "lane-1", cores=4)
    limits.apply(500, 64 * MI)
    assert written(tmp_path, "cpu/lane-1/cpu.cfs_quota_us") == str((500 + KEEPER_CPU_MILLI) * 100)
    assert written(tmp_path, "memory/lane-1/memory.limit_in_bytes") == str(64 * MI + KEEPER_MEMORY_BYTES)


@pytest.mark.parametrize("controllers", [("unified",), (*V1, "pids")])
def test_a_limit_of_processes_is_set_once_for_all_tasks_of_a_lane(tmp_path: Path, controllers: tuple[str, ...]) -> None:
    Limits(group_tree(tmp_path, controllers), "lane-1", cores=4, pids_max=64).enter()
    assert written(tmp_path, f"{controllers[-1]}/lane-1/pids.max") == str(64 + KEEPER_PIDS)


def test_0_is_no_limit_of_processes(tmp_path: Path) -> None:
    Limits(group_tree(tmp_path, ("unified",)), "lane-1", cores=4, pids_max=0).enter()
    assert written(tmp_path, "unified/lane-1/pids.max") == ""


@pytest.mark.parametrize("cpu_milli", [4000, 9000])
def test_a_task_that_may_use_all_cores_is_not_throttled(tmp_path: Path, cpu_milli: int) -> None:
    limits = Limits(group_tree(tmp_path, V1), "lane-1", cores=4)
    limits.apply(cpu_milli, 0)
    assert written(tmp_path, "cpu/lane-1/cpu.cfs_quota_us") == ""


def test_limits_are_rewritten_only_when_they_change_and_lifted_when_the_next_task_has_none(tmp_path: Path) -> None:
    limits = Limits(group_tree(tmp_path, V1), "lane-1", cores=4)
    quota = tmp_path / "cpu/lane-1/cpu.cfs_quota_us"
    limits.apply(500, 0)
    quota.write_text("")
    limits.apply(500, 0)
    assert quota.read_text() == ""
    limits.apply(4000, 0)
    assert quota.read_text() == "-1"


def test_memory_was_passed_when_the_kernel_s_count_of_kills_has_risen(tmp_path: Path) -> None:
    limits = Limits(group_tree(tmp_path, V1), "lane-1", cores=4)
    control = tmp_path / "memory/lane-1/memory.oom_control"
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
    limits.apply(500, 64 * MI)
    assert not limits.was_oom_killed()
    control.write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert limits.was_oom_killed()
    assert not limits.was_oom_killed()


def test_the_keeper_is_not_among_the_members(tmp_path: Path) -> None:
    limits = Limits(group_tree(tmp_path, V1), "lane-1", cores=4)
    (tmp_path / "freezer/lane-1/cgroup.procs").write_text(f"{os.getpid()}\n12\n34\n")
    assert sorted(limits.members() or []) == [12, 34]


def test_without_groups_nothing_is_limited_and_nobody_tells_the_members() -> None:
    limits = Limits({}, "lane-1", cores=4)
    limits.enter()
    limits.apply(500, 64 * MI)
    assert limits.members() is None
    assert not limits.limits_memory
    assert not limits.can_freeze()


@pytest.mark.parametrize(
    ("root", "path", "folder"),
    [("/", "/", "/sys/x"), ("/", "/user/a", "/sys/x/user/a"), ("/docker/1", "/docker/1/b", "/sys/x/b")],
)
def test_a_group_is_found_below_its_mount_even_in_a_container(root: str, path: str, folder: str) -> None:
    assert _group_folder((root, "/sys/x"), path) == Path(folder)

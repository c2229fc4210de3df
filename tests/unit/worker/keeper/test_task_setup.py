"""How a keeper prepares tasks that need more than a command in a folder."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from shunter.model.job.spec import Port
from shunter.worker.health.process_target import find_port
from shunter.worker.keeper import task_setup
from shunter.worker.keeper.task_setup import expand_path_pattern, find_user_folder, user_folder, variable_name
from shunter.worker.keeper.task_user import Identity, StartError, find_identity


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (None, None),
        ("out.txt", "out.txt"),
        ("%j/%g/%i.%a", "render/back/12.3"),
        ("100%%", "100%"),
        ("%%i", "%i"),
        ("%%%i", "%12"),
        ("%i%i", "1212"),
    ],
)
def test_a_stream_s_path_is_made_from_its_pattern(pattern: str | None, path: str | None) -> None:
    assert expand_path_pattern(pattern, "render", "back", 12, 3) == path


def test_a_user_is_found_by_name_or_number_with_its_groups() -> None:
    root = pwd.getpwuid(0)
    by_name, by_number = find_identity_as_root(root.pw_name), find_identity_as_root("0:7")
    assert (by_name.uid, by_name.gid, by_name.home) == (0, root.pw_gid, root.pw_dir)
    assert (by_number.uid, by_number.gid) == (0, 7)
    unnamed = find_identity_as_root("4000000000")
    assert (unnamed.uid, unnamed.gid, unnamed.groups, unnamed.home) == (4000000000, 4000000000, [4000000000], "/")


def find_identity_as_root(user: str) -> Identity:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 0)
        return find_identity(user)


def test_only_root_starts_tasks_as_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.setattr(os, "getegid", lambda: 12345)
    with pytest.raises(StartError, match="user root: the worker must run as root to start tasks as another user"):
        find_identity("root")
    assert find_identity("12345").uid == 12345  # which it is anyway


def test_homes_of_one_machine_have_folders_of_their_own_for_users(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert user_folder(str(tmp_path / "a"), 1) != user_folder(str(tmp_path / "b"), 1)
    assert user_folder(str(tmp_path / "a"), 1) == user_folder(str(tmp_path / "a"), 1)


def test_homes_with_the_same_inode_number_on_two_disks_have_folders_of_their_own() -> None:
    """As the roots of two disks. Each worker removed the folders of the other one's tasks."""
    assert Path("/proc").stat().st_ino == Path("/sys").stat().st_ino
    assert user_folder("/proc", 1) != user_folder("/sys", 1)


def test_a_keeper_that_an_older_worker_started_is_found_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_setup, "USER_FOLDERS", str(tmp_path))
    current = user_folder(str(tmp_path), 1)
    assert find_user_folder(str(tmp_path), 1) == current
    older = tmp_path / f"shunter-{tmp_path.stat().st_ino:x}-1"
    older.mkdir()
    assert find_user_folder(str(tmp_path), 1) == str(older)
    Path(current).mkdir()
    assert find_user_folder(str(tmp_path), 1) == current


def test_a_variable_s_name_holds_letters_digits_and_underscores() -> None:
    assert variable_name(b"SHUNTER_PORT_", "web-ui.2") == b"SHUNTER_PORT_WEB_UI_2"


def test_a_check_finds_its_port_by_name_number_or_as_the_only_one() -> None:
    ports = (Port("web", 80), Port("admin", 81))
    granted = {"web": 20_001, "admin": 20_002}
    assert find_port("admin", ports, granted) == find_port("81", ports, granted) == 20_002
    assert find_port("9000", ports, granted) == 9000
    assert find_port("", ports[:1], granted) == 20_001
    with pytest.raises(LookupError, match="port not named is not a port of the task: it has web, admin"):
        find_port("", ports, granted)
    with pytest.raises(LookupError, match="port db"):
        find_port("db", ports, granted)

"""Keepers that do not answer are killed, also those that an earlier version started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.worker.process.launcher import HOME_VARIABLE, KEEPER_PROGRAM, KEEPER_PROGRAMS, MARK_FILE, KeeperLauncher
from shunter.worker.settings import WorkerSettings

NUMBER = 7


@pytest.mark.parametrize("program", KEEPER_PROGRAMS, ids=lambda program: Path(program).name)
@pytest.mark.parametrize(("number", "is_killed"), [(NUMBER, True), (NUMBER + 1, False)])
def test_an_unresponsive_keeper_is_killed_whatever_version_started_it(
    program: str, number: int, is_killed: bool, tmp_path: Path
) -> None:
    is_old = program != KEEPER_PROGRAM
    options = json.dumps({"home": str(tmp_path), "number": number}) if is_old else str(number)
    environment = {} if is_old else {HOME_VARIABLE: str(tmp_path)}
    command = [sys.executable, "-c", "print(flush=True); input()", program, options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as keeper:
        assert keeper.stdout is not None
        keeper.stdout.readline()  # from now on it has its command line
        KeeperLauncher(WorkerSettings(tmp_path, "n"), {})._kill_unresponsive(NUMBER, keeper.pid)
        keeper.communicate(b"\n")
    assert (keeper.returncode == -9) == is_killed


@pytest.mark.parametrize("content", ["", "secret token", "../", "0" * 31, "g" * 32])
def test_a_mark_that_is_none_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / MARK_FILE).write_text(content)
    assert make_mark(tmp_path) != content
    assert make_mark(tmp_path) == make_mark(tmp_path)


def test_a_task_cannot_make_the_worker_tell_or_overwrite_another_file(tmp_path: Path) -> None:
    """Tasks of the worker's user may have placed links in its folders."""
    secret = tmp_path / "token"
    secret.write_text("0123456789abcdef" * 2)
    (tmp_path / MARK_FILE).symlink_to(secret)
    assert make_mark(tmp_path) != secret.read_text()
    launcher = KeeperLauncher(WorkerSettings(tmp_path, "n"), {})
    launcher.prepare()
    (tmp_path / "keepers" / f"{NUMBER}.json").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        launcher._write_record(NUMBER, 1)
    assert launcher._read_record(NUMBER) == {}
    launcher.close()
    assert secret.read_text() == "0123456789abcdef" * 2


def make_mark(home: Path) -> str:
    launcher = KeeperLauncher(WorkerSettings(home, "n"), {})
    launcher.prepare()
    launcher.close()
    return launcher._home_mark

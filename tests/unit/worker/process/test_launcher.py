"""Keepers that do not answer are killed, also those that an earlier version started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shunter.worker.process.launcher import KEEPER_PROGRAMS, KeeperLauncher
from shunter.worker.settings import WorkerSettings

NUMBER = 7


@pytest.mark.parametrize("program", KEEPER_PROGRAMS, ids=lambda program: Path(program).name)
@pytest.mark.parametrize(("number", "is_killed"), [(NUMBER, True), (NUMBER + 1, False)])
def test_an_unresponsive_keeper_is_killed_whatever_version_started_it(
    program: str, number: int, is_killed: bool, tmp_path: Path
) -> None:
    options = json.dumps({"home": str(tmp_path), "number": number})
    command = [sys.executable, "-c", "print(flush=True); input()", program, options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout is not None
        keeper.stdout.readline()  # from now on it has its command line
        KeeperLauncher(WorkerSettings(tmp_path, "n"), {})._kill_unresponsive(NUMBER, keeper.pid)
        keeper.communicate(b"\n")
    assert (keeper.returncode == -9) == is_killed

"""Runs `shunter` commands in forks of a process that has already imported the command line.

Imports take most of the time of a short command. A forked command is still a process with its own environment, folder,
streams and exit code; `Cluster.begin` starts commands the way a shell does.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from pathlib import Path

from shunter.cli.registry import ENTRIES

COMMAND_MODULES = sorted({f"shunter.cli.commands.{entry.target.partition(':')[0]}" for entry in ENTRIES.values()})

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(["shunter.cli.main", "shunter.cli.connection", *COMMAND_MODULES])


def run_command(words: tuple[str, ...], environment: dict[str, str], cwd: Path, streams: Path, within_s: float) -> int:
    """Run a command to its end and return its exit code. The folder `streams` has its stdin, and gets its output."""
    command = _forks.Process(target=_become_command, args=(words, environment, cwd, streams))
    command.start()
    command.join(within_s)
    if command.exitcode is None:
        command.kill()
        raise TimeoutError(f"shunter {' '.join(words)}: not within {within_s:.0f} s")
    code = command.exitcode
    command.close()
    return code


def _become_command(words: tuple[str, ...], environment: dict[str, str], cwd: Path, streams: Path) -> None:
    """In the forked process: do what an executable `shunter` does."""
    from shunter.cli.main import main

    for number, (name, flags) in enumerate((("in", os.O_RDONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY))):
        file = os.open(streams / name, flags | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(":"))
    sys.argv = ["shunter", *words]
    main()

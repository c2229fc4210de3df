"""The commands about the store in SHUNTER_HOME: store verify, backup, restore."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import plural, print_items
from shunter.model.errors import Conflict

store = plain_typer(no_args_is_help=True, help="Check the store in SHUNTER_HOME.")


@store.callback()
def _store() -> None:
    """Check the store in SHUNTER_HOME."""


@store.command()
def verify(output: Output = Format.TABLE) -> None:
    """Check that the store in SHUNTER_HOME is intact and contains every committed change.

    This changes no file, and the cluster may be running. The exit code is 1 if something is wrong.

    \b
    shunter store verify
    """
    from shunter.app.home import Home
    from shunter.app.verify import verify_store

    found = verify_store(Home.find())
    if output is not Format.TABLE:
        print_items([msgspec.to_builtins(found)], output)
    else:
        jobs = f"{plural(found.jobs, 'unfinished job')}, {found.finished_jobs:,} finished"
        counts = f"{jobs}, {plural(found.nodes, 'node')}"
        print(f"{found.path}: version {found.version} of epoch {found.epoch}, {counts}")
        for problem in found.problems:
            print(f"  {problem}")
        print("the store is damaged" if found.problems else "the store is intact")
    if found.problems:
        raise typer.Exit(JOB_FAILED)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it must not exist.")],
) -> None:
    """Back up the store of this machine's cluster to a file. The cluster may be running.

    The file also contains the tokens and config.toml, so protect it like SHUNTER_HOME. It does not contain task logs.

    \b
    shunter backup /backups/cluster.db
    """
    from shunter.app.backup import back_up
    from shunter.app.home import Home

    done = back_up(Home.find(), file)
    print(f"backed up to {done.path}: version {done.version}, {done.size_bytes:,} bytes")


def restore(file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `shunter backup` wrote.")]) -> None:
    """Restore a backup into an empty SHUNTER_HOME. Then start the cluster with `shunter up`.

    Jobs that were submitted after the backup are lost. Workers that join again stop tasks that the restored cluster
    does not know.

    \b
    shunter restore /backups/cluster.db
    """
    from shunter.app.backup import restore
    from shunter.app.home import Home

    home = Home.find()
    lock_fd = home.lock()
    if lock_fd is None:
        raise Conflict(f"{home.folder} is in use by a running cluster or worker; restore into an empty SHUNTER_HOME")
    try:
        done = restore(home, file)
    finally:
        os.close(lock_fd)
    print(f"restored {home.folder} from {done.path}: version {done.version}. Start it with: shunter up")

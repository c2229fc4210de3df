"""The commands about the store of a cluster: store verify, store copy, backup, restore."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import plural, print_items
from shunter.cli.text import print_text
from shunter.model.errors import Conflict

if TYPE_CHECKING:
    from shunter.app.home import Home

store = plain_typer(no_args_is_help=True, help="Check or copy the store of a cluster.")

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="sqlite|URL",
        help="Store of the cluster. Default: that of SHUNTER_STORE_URL_FILE or config.toml, else sqlite.",
    ),
]


@store.callback()
def _store() -> None:
    """Check or copy the store of a cluster."""


@store.command()
def verify(store: StoreOption = None, output: Output = Format.TABLE) -> None:
    """Check that the store of this machine's cluster is intact and contains every committed change.

    This changes no file, and the cluster may be running. The exit code is 1 if something is wrong.

    \b
    shunter store verify
    """
    from shunter.app.home import Home
    from shunter.app.storage.verify import verify_store

    home = Home.find()
    found = verify_store(home, _store_in_use(home, store))
    if output is not Format.TABLE:
        print_items([msgspec.to_builtins(found)], output)
    else:
        jobs = f"{plural(found.jobs, 'unfinished job')}, {found.finished_jobs:,} finished"
        counts = f"{jobs}, {plural(found.nodes, 'node')}"
        print_text(f"{found.path}: version {found.version} of epoch {found.epoch}, {counts}")
        for problem in found.problems:
            print_text(f"  {problem}", "", 4)
        print("the store is damaged" if found.problems else "the store is intact")
    if found.problems:
        raise typer.Exit(JOB_FAILED)


@store.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="Store to read: sqlite, or postgresql://...")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Store to write, which must be empty.")],
) -> None:
    """Copy a cluster's store between SQLite and PostgreSQL. Stop all managers of the cluster first.

    sqlite is the store in SHUNTER_HOME. The copy is compared with the source by number and checksum before it counts.
    The source stays as it is; do not start a manager on it again. Give no password in a URL: set PGPASSWORD.

    \b
    shunter store copy sqlite postgresql://shunter@db.example/shunter
    shunter store copy postgresql://shunter@db.example/shunter sqlite
    """
    from shunter.app.home import Home
    from shunter.app.storage.store_copy import copy_store

    done = copy_store(source, target, Home.find())
    counts = f"{plural(done.rounds, 'round')}, {plural(done.finished_jobs, 'finished job')}"
    print_text(f"copied version {done.last_version}: {counts}, checksum {done.checksum[:16]}")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write; it must not exist.")],
    store: StoreOption = None,
) -> None:
    """Back up the store of this machine's cluster to a file. The cluster may be running.

    The file also contains the tokens and config.toml, so protect it like SHUNTER_HOME. It does not contain task logs.

    \b
    shunter backup /backups/cluster.db
    shunter backup /backups/cluster.db --store postgresql://shunter@db.example/shunter
    """
    from shunter.app.home import Home
    from shunter.app.storage.backup import back_up

    home = Home.find()
    done = back_up(home, file, _store_in_use(home, store))
    print_text(f"backed up to {done.path}: version {done.version}, {done.size_bytes:,} bytes")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File that `shunter backup` wrote.")],
    store: StoreOption = None,
) -> None:
    """Restore a backup into an empty SHUNTER_HOME, or an empty database. Then start the cluster with `shunter up`.

    A backup of one kind of store can be restored into the other.

    Jobs that were submitted after the backup are lost. Workers that join again stop tasks that the restored cluster
    does not know.

    \b
    shunter restore /backups/cluster.db
    shunter restore /backups/cluster.db --store postgresql://shunter@db.example/shunter
    """
    from shunter.app.home import Home
    from shunter.app.storage.backup import restore

    home = Home.find()
    chosen = _chosen_store(home, store)
    lock_fd = home.lock()
    if lock_fd is None:
        raise Conflict(f"{home.folder} is in use by a running cluster or worker; restore into an empty SHUNTER_HOME")
    try:
        done = restore(home, file, chosen)
    finally:
        os.close(lock_fd)
    option = f" --store {store}" if store is not None else ""
    print_text(f"restored {home.folder} from {done.path}: version {done.version}. Start it with: shunter up{option}")


def _store_in_use(home: Home, option: str | None) -> str:
    """The chosen store. Without the option, it must be that of the running cluster, which may have moved to another."""
    from shunter.app.storage.stores import public_store_name

    chosen = _chosen_store(home, option)
    running = (home.read_description() or {}).get("store", chosen) if home.is_locked() else None
    if option is None and running not in (None, public_store_name(chosen)):
        raise Conflict(f"the cluster in {home.folder} runs with {running}; add --store {running}")
    return chosen


def _chosen_store(home: Home, option: str | None) -> str:
    from shunter.app.config import read_config
    from shunter.app.storage.stores import choose_store

    return choose_store(option, read_config(home.config).cluster.get("store"))

"""The commands about the store of this machine's cluster: store verify, backup, restore."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import print_items

store = plain_typer(no_args_is_help=True, help="Check the store under SHUNTER_HOME.")


@store.callback()
def _store() -> None:
    """Check the store under SHUNTER_HOME."""


@store.command()
def verify(output: Output = Format.TABLE) -> None:
    """Check the store under SHUNTER_HOME: is it whole, and is everything there that was committed?

    No file is changed, and the cluster may run meanwhile. Exits with code 1 if something is wrong.

    \b
    shunter store verify
    """
    from shunter.app.home import Home
    from shunter.app.verify import verify_store

    found = verify_store(Home.find())
    if output is not Format.TABLE:
        print_items([msgspec.to_builtins(found)], output)
    else:
        print(f"{found.path}: version {found.version} of epoch {found.epoch}, {found.jobs} jobs, {found.nodes} nodes")
        for problem in found.problems:
            print(f"  {problem}")
        print("the store is damaged" if found.problems else "the store is whole")
    if found.problems:
        raise typer.Exit(JOB_FAILED)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not be there yet.")],
) -> None:
    """Copy the store of this machine's cluster into a file, while the cluster runs.

    The file also holds the tokens and config.toml, so keep it as safe as SHUNTER_HOME. Logs of tasks are not in it.

    \b
    shunter backup /backups/cluster.db
    """
    from shunter.app.backup import back_up
    from shunter.app.home import Home

    done = back_up(Home.find(), file)
    print(f"backed up to {done.path}: version {done.version}, {done.size_bytes:,} bytes")


def restore(file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `shunter backup` wrote.")]) -> None:
    """Make an empty SHUNTER_HOME into the cluster that was backed up. Start it afterwards with `shunter up`.

    What was submitted after the backup is not in it. Workers that join again end what the restored cluster does not
    know.

    \b
    shunter restore /backups/cluster.db
    """
    from shunter.app.backup import restore
    from shunter.app.home import Home

    home = Home.find()
    done = restore(home, file)
    print(f"restored {home.folder} from {done.path}: version {done.version}. Start it with: shunter up")

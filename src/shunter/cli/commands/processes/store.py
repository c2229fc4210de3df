"""The commands about the store of this machine's cluster: verify."""

from __future__ import annotations

import msgspec
import typer

from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.options import Format, Output
from shunter.cli.render.tables import print_items

store = typer.Typer(no_args_is_help=True, help="Check the store under SHUNTER_HOME.")


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

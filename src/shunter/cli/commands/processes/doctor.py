"""The commands doctor and debug bundle."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, print_warning
from shunter.cli.options import Format, Output
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import Column, print_document, print_table
from shunter.cli.text import print_text
from shunter.model.errors import ShunterError

if TYPE_CHECKING:
    from shunter.app.diagnosis.bundle import Answers

COLUMNS = (Column("CHECK"), Column("LEVEL"), Column("FINDING"))
INDENT = 2
ERROR = "error"
PROFILE_S = 5

debug = plain_typer(no_args_is_help=True)


def doctor(output: Output = Format.TABLE) -> None:
    """Check this machine and its cluster, and say how to fix what is wrong.

    It checks the installation, SHUNTER_HOME, the store, disk, clock, cgroups, isolation, runtimes, connectivity, and
    what crashes have left. It changes nothing, and works without a cluster. The exit code is 1 if there is an error.

    \b
    shunter doctor
    shunter doctor --output json
    """
    from shunter.app.diagnosis.doctor import examine
    from shunter.app.home import Home

    findings = examine(Home.find())
    if output is Format.TABLE:
        print_table(COLUMNS, ((each.check, each.level, each.text) for each in findings))
        for each in findings:
            if each.fix:  # in full: a narrow terminal cuts the table
                print_text(f"\n{each.check}: {each.text}\nFix: {each.fix}", indent=INDENT)
    else:
        print_document(msgspec.to_builtins(findings), output)
    if any(each.level == ERROR for each in findings):
        raise typer.Exit(JOB_FAILED)


@debug.callback()
def _debug() -> None:
    """Collect what helps to find a fault.

    \b
    shunter debug bundle debug.tar.gz
    """


@debug.command()
def bundle(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive to write, such as debug.tar.gz.")],
    profile: Annotated[
        int, typer.Option(metavar="SECONDS", min=0, max=30, help="How long to profile the manager.")
    ] = PROFILE_S,
) -> None:
    """Pack versions, settings, recent logs, rounds, stalls, a profile and sizes into one archive for a bug report.

    Tokens, keys and passwords are removed; check it before you share it. Without a running cluster, it has less.

    \b
    shunter debug bundle debug.tar.gz
    """
    from shunter.app.diagnosis.bundle import write_bundle
    from shunter.app.home import Home

    home = Home.find()
    written = write_bundle(home, _ask(profile, is_running=home.is_locked()), file)
    print(f"{file}: {', '.join(written)}")


def _ask(profile: int, *, is_running: bool) -> Answers:
    from shunter.app.diagnosis.bundle import Answers

    if not is_running:
        return Answers(errors=("no cluster runs here",))
    try:
        with open_client(patience_s=0.0) as client:
            return Answers(client.debug(profile), client.cluster())
    except ShunterError as error:
        print_warning(f"the manager is not in the archive: {error.detail}")
        return Answers(errors=(error.detail,))

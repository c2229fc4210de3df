"""The entry point of the command line. Turns errors into messages and exit codes."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from shunter.cli.exit_codes import BROKEN_PIPE, INTERNAL_ERROR, INTERRUPTED, SUCCESS, exit_code_for, print_error
from shunter.cli.option_names import command_name, describe_error
from shunter.cli.output_mode import mode
from shunter.cli.registry import LazyGroup, UsageError, plain_typer
from shunter.cli.text import print_text
from shunter.model.errors import Busy, ShunterError, Unauthorized
from shunter.sdk.errors import NotReachable
from shunter.sdk.retry import PATIENCE_S

HELP_SETTINGS = {"help_option_names": ["-h", "--help"]}

app = plain_typer(cls=LazyGroup, add_completion=True, no_args_is_help=True, context_settings=HELP_SETTINGS)


def _print_version(requested: bool) -> None:
    if requested:
        from shunter.cli.commands.processes.processes import version

        version()
        raise typer.Exit


@app.callback()
def shunter(
    version: Annotated[  # noqa: ARG001  # its callback prints it
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="Cluster to use; see 'shunter context --help'.")
    ] = None,
    ca_file: Annotated[
        str | None,
        typer.Option("--ca-file", metavar="FILE", help="Authorities to trust for HTTPS. Default: SHUNTER_CA_FILE."),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Print only results and errors, and only the names in listings; also after COMMAND."
        ),
    ] = False,
) -> None:
    """Run jobs on machines, from a laptop to a cluster.

    \b
    shunter up --detach               start a cluster on this machine
    shunter run -- echo hello         run a command on it
    shunter run --count 1000 -- true  run a command a thousand times
    shunter jobs                      list the jobs

    'shunter COMMAND --help' explains a command. Commands use the cluster in SHUNTER_HOME, the one at SHUNTER_URL with
    the token in SHUNTER_TOKEN, or the one that 'shunter context use' has chosen.
    """
    mode.is_quiet |= quiet
    if context is not None:
        os.environ["SHUNTER_CONTEXT"] = context
        os.environ.pop("SHUNTER_URL", None)  # what is written on the command line counts most
    if ca_file is not None:
        os.environ["SHUNTER_CA_FILE"] = ca_file


def main() -> NoReturn:
    sys.exit(run_command(sys.argv[1:]))


def run_command(arguments: list[str]) -> int:
    """Run one command line. Returns the exit code."""
    if sys.stdin is None:  # closed: nothing can be read, and no connection may take its place
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    mode.reset()
    has_task_exit_codes = command_name(arguments) == "run"
    try:
        code: object = get_command(app).main(arguments, prog_name="shunter", standalone_mode=False)
        sys.stdout.flush()
    except UsageError as error:
        error.message = _plain(error.message)  # type: ignore[attr-defined]
        shown = io.StringIO()
        error.show(shown)  # type: ignore[attr-defined]
        print_text(shown.getvalue().rstrip("\n"), "", 2, sys.stderr)
        return exit_code_for(error, has_task_exit_codes)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        return _end_without_reader()
    except SystemExit as exit:
        if not isinstance(exit.__context__, BrokenPipeError):  # Typer has caught it
            raise
        return _end_without_reader()
    except ShunterError as error:
        print_error(_describe(error, arguments))
        return exit_code_for(error, has_task_exit_codes)
    except TimeoutError as error:
        print_error(error)
        return exit_code_for(error, has_task_exit_codes)
    except OSError as error:  # of this machine: a full or read-only disk, a missing permission
        print_error(_describe_os_error(error))
        return exit_code_for(error, has_task_exit_codes)
    except Exception:
        traceback.print_exc()
        return INTERNAL_ERROR
    return code if isinstance(code, int) else SUCCESS


def _describe_os_error(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{error.filename}: {text}" if error.filename else text


_NOT_A_NUMBER = re.compile(r"(?P<value>'.*') is not a valid (?P<kind>int|float)\w*( range)?\.", re.DOTALL)
_OUT_OF_RANGE = re.compile(
    r"(?P<value>\S+) is not in the range (?:(?P<low>[-\d.]+)<=)?x(?:(?P<at>[<>]=)(?P<end>[-\d.]+))?\."
)


def _plain(message: str) -> str:
    """A message of the library about a number, in words for users."""
    if found := _NOT_A_NUMBER.fullmatch(message):
        return f"must be a {'whole ' if found['kind'] == 'int' else ''}number (got {found['value']})."
    if found := _OUT_OF_RANGE.fullmatch(message):
        end = _with_commas(found["end"])
        if found["low"] is not None:
            rule = f"between {_with_commas(found['low'])} and {end}"
        else:
            rule = f"at {'least' if found['at'] == '>=' else 'most'} {end}"
        return f"must be {rule} (got {found['value']})."
    return message


def _with_commas(number: str) -> str:
    return f"{int(number):,}" if number.isdigit() else number


def _end_without_reader() -> int:
    """The reader of our output has left. Discard what is still buffered."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE


def _describe(error: ShunterError, arguments: list[str]) -> str:
    if isinstance(error, Unauthorized | NotReachable):
        from shunter.cli.connection import describe_refused_token, describe_unreachable

        return describe_refused_token(error) if isinstance(error, Unauthorized) else describe_unreachable(error)
    text = describe_error(error, arguments)
    return f"{text}; gave up after {PATIENCE_S:.0f} s, nothing was done" if isinstance(error, Busy) else text

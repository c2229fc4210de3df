"""Options that several commands share, and functions that parse their values."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs, complete_namespaces, complete_nodes, complete_states
from shunter.cli.output_mode import mode
from shunter.model.errors import Invalid, Problem
from shunter.model.resources import NotAQuantity, parse_amount, parse_duration_s, quantity_hint
from shunter.sdk.client import Job

PORT_MAX = 65535


class Format(StrEnum):
    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


Namespace = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Namespace to use.",
        envvar="SHUNTER_NAMESPACE",
        autocompletion=complete_namespaces,
    ),
]


def _choose_width(output: Format) -> Format:
    """For commands, a wide table is a table."""
    mode.is_wide = output is Format.WIDE
    return Format.TABLE if mode.is_wide else output


Output = Annotated[
    Format,
    typer.Option(
        "--output",
        "-o",
        metavar="FORMAT",
        help="table, wide (all columns, uncut), json or yaml.",
        callback=_choose_width,
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-l", min=0, metavar="N", help="Maximum number of rows; 0 means all.")]
States = Annotated[
    list[str] | None,
    typer.Option(
        "--state",
        "-s",
        metavar="STATE",
        help="Show only this state. May be repeated.",
        autocompletion=complete_states,
    ),
]
JobName = Annotated[
    str,
    typer.Argument(metavar="JOB", help="NAME (the newest run), NAME@RUN or id:NUMBER.", autocompletion=complete_jobs),
]
JobOrTask = Annotated[
    str, typer.Argument(metavar="JOB[/[GROUP/]INDEX]", help="A job, or one of its tasks.", autocompletion=complete_jobs)
]
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.", autocompletion=complete_nodes)]


def pairs(words: Iterable[str] | None, option: str) -> dict[str, str]:
    """`k=v` words as a mapping. Raises Invalid."""
    found: dict[str, str] = {}
    problems = []
    for word in words or ():
        key, equals, value = word.partition("=")
        if not key or not equals:
            problems.append(Problem(option, "must have the form KEY=VALUE", word))
        found[key] = value
    if problems:
        raise Invalid(problems)
    return found


def duration_s(text: str | None, option: str) -> float | None:
    """A duration in seconds, or None if not given. Raises Invalid."""
    if text is None:
        return None
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise Invalid([Problem(option, "must be a duration", text, "write it as 90s, 10m or 1h30m")]) from error


def check_amount(resource: str, text: str | None, option: str) -> str | None:
    """Return the quantity as given. Raises Invalid if it is not one."""
    if text is not None:
        try:
            parse_amount(resource, text)
        except ValueError as error:
            message = "must be a quantity" if isinstance(error, NotAQuantity) else str(error)
            raise Invalid([Problem(option, message, text, quantity_hint(resource, text))]) from error
    return text


def check_address(text: str | None, option: str) -> str | None:
    """Return HOST:PORT as given. Raises Invalid if it is not an address."""
    if text is not None:
        host, _, port = text.rpartition(":")
        if not host or not (port.isascii() and port.isdigit()) or int(port) > PORT_MAX:
            raise Invalid(
                [Problem(option, "must be an address", text, "write it as HOST:PORT, for example 127.0.0.1:7070")]
            )
    return text


def check_addresses(text: str, option: str) -> str:
    """Return HOST:PORT, or several of them separated by commas, as given. Raises Invalid."""
    for address in text.split(","):
        check_address(address.strip(), option)
    return text


def current_task(reference: str) -> tuple[str, str | None]:
    """Like `job_and_task`, for commands that replaced instances do not have."""
    successor, tilde, _ = reference.partition("~")
    job, task = job_and_task(reference)
    if task is not None and tilde:
        message = "is a replaced instance, which only logs, tasks and metrics show"
        raise Invalid([Problem("task", message, reference, f"write {successor} for its successor")])
    return job, task


def job_and_task(reference: str) -> tuple[str, str | None]:
    """Split JOB, JOB/INDEX or JOB/GROUP/INDEX into the job and its task; INDEX~N is a replaced instance. Raises
    Invalid."""
    job, slash, task = reference.partition("/")
    index = task.rpartition("/")[2]
    if slash and (not _is_task(index) or task.count("/") > 1):
        fix = "write JOB for the job, JOB/INDEX for a task, JOB/GROUP/INDEX if it has several groups"
        raise Invalid([Problem("task", "must be a job or a task", reference, fix)])
    return job, task if slash else None


def first_task(job: Job) -> str:
    """The first task of a job, of its first group: [GROUP/]INDEX."""
    first = next(iter(job.tasks(limit=1)), None)
    return "0" if first is None else first.name.partition("/")[2]


def read_token_file(file: Path, fix: str) -> str:
    """The token in the file of --token-file. No option is a token itself, because everybody can read command lines."""
    from shunter.model.identity.oidc import TOKEN_SIZE_MAX  # here: most commands read no such file

    try:
        with file.open("rb") as opened:
            text = opened.read(TOKEN_SIZE_MAX + 3).decode(errors="replace").strip()
    except OSError as error:
        raise Invalid([Problem("--token-file", f"cannot be read: {error.strerror}", str(file), fix)]) from error
    problem = Problem("--token-file", "does not look like a token", str(file), fix)
    if len(text) > TOKEN_SIZE_MAX:
        raise Invalid([problem])
    return check_token(text, problem)


def check_token(text: str, problem: Problem) -> str:
    """Raises Invalid with that problem if the text cannot be sent as a token."""
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise Invalid([problem])
    return text


def _is_task(text: str) -> bool:
    index, tilde, piece = text.partition("~")
    return text.isascii() and index.isdigit() and (not tilde or piece.isdigit())

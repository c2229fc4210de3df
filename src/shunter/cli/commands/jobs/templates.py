"""The commands about scheduled and parameterized jobs: dispatch, and cron list, show, pause, resume, run, delete."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shunter.cli.commands.jobs.jobs import command_line
from shunter.cli.commands.jobs.wait import print_run
from shunter.cli.completion import complete_templates
from shunter.cli.connection import open_client
from shunter.cli.options import Format, Namespace, Output, pairs
from shunter.cli.registry import SingleObjectGroup, plain_typer
from shunter.cli.render.tables import (
    DELETED,
    Column,
    age,
    format_local_time,
    print_document,
    print_facts,
    print_items,
    print_result,
    print_table,
    time_until,
)
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.admin_views import TemplateView

PAYLOAD_READ_MAX = 2**20 + 1  # one byte more than the limit, so that the cluster rejects it

cron = plain_typer(cls=SingleObjectGroup, invoke_without_command=True)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the job.", autocompletion=complete_templates)]


@cron.callback()
def overview(context: typer.Context, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Manage templates: jobs that run on a schedule, and parameterized jobs that run when dispatched.

    Submitting a manifest with `schedule` or `parameters` saves a template. Each run has the name of the template.

    \b
    shunter cron list
    shunter cron pause nightly
    shunter cron run nightly            start a run now
    """
    if context.invoked_subcommand is None:
        _list(namespace, output)


@cron.command("list")
def list_all(namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """List templates with their next run and the result of the last run.

    \b
    shunter cron list
    shunter cron list -n '*' --output json
    """
    _list(namespace, output)


@cron.command("show")
def show(name: Name, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Show one template.

    \b
    shunter cron show nightly
    """
    with open_client(namespace) as client:
        found = client.template(name)
    if output is not Format.TABLE:
        print_document(found, output)
        return
    parameters = [*found.required, *(f"{key}={value}" for key, value in found.optional.items())]
    facts = [
        ("state", found.state),
        ("command", command_line(found.command)),
        ("tasks", f"{found.count:,}"),
        ("cron", f"{found.cron} ({found.timezone})" if found.cron else ""),
        ("overlap", found.overlap or ""),
        ("catch up", found.catch_up or ""),
        ("next", f"{found.next_at} (in {time_until(found.next_at)})" if found.next_at else ""),
        ("parameters", " ".join(parameters)),
        ("payload", found.payload or ""),
        ("last run", _last(found)),
        ("skipped", f"{age(found.skipped_at)} ago: {found.skipped_because}" if found.skipped_at else ""),
        ("saved", f"{age(found.set_at)} ago by {found.user}"),
    ]
    print_facts(f"{found.name} in namespace {found.namespace}, id {found.id}", facts)


@cron.command("pause")
def pause(name: Name, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Pause the schedule of a template. Current runs continue.

    \b
    shunter cron pause nightly
    """
    with open_client(namespace) as client:
        found = client.pause_template(name)
    print_result(f"{found.name} paused", found, output)


@cron.command("resume")
def resume(name: Name, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Resume the schedule of a template. Firings during the pause are skipped.

    \b
    shunter cron resume nightly
    """
    with open_client(namespace) as client:
        found = client.resume_template(name)
    when = f"next run {format_local_time(found.next_at)}" if found.next_at else "runs when dispatched"
    print_result(f"{found.name} resumed: {when}", found, output)


@cron.command("run")
def run(
    name: Name,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Start a run now, even if another run is unfinished. Print NAME@RUN.

    \b
    shunter cron run nightly --wait
    """
    with open_client(namespace) as client:
        print_run(client.dispatch(name), wait, output)


@cron.command("delete")
def delete(name: Name, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Delete a template. Current runs continue.

    \b
    shunter cron delete nightly
    """
    with open_client(namespace) as client:
        client.delete_template(name)
    print_result(f"{name} deleted", {"name": name, "namespace": namespace, "action": DELETED}, output)


def dispatch(
    name: Name,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", "-p", metavar="KEY=VALUE", help="Parameter, passed in SHUNTER_PARAM_KEY. May be repeated."
        ),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="File to pass to the tasks; SHUNTER_PAYLOAD is its path. - reads stdin."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Run a parameterized job. Print NAME@RUN. With --wait, the exit code is 1 unless the run succeeded.

    \b
    shunter dispatch render --param input=/srv/a.blend --param quality=low
    shunter dispatch ingest --payload batch.bin --wait
    """
    parameters, content = pairs(param, "--param"), _read(payload)
    with open_client(namespace) as client:
        print_run(client.dispatch(name, parameters, content), wait, output)


def _read(file: str | None) -> bytes | None:
    if file is None:
        return None
    try:
        if file == "-":
            return sys.stdin.buffer.read(PAYLOAD_READ_MAX)
        with Path(file).open("rb") as opened:
            return opened.read(PAYLOAD_READ_MAX)
    except OSError as error:
        raise Invalid(
            [Problem("--payload", f"cannot be read: {error.strerror}", file, "name a readable file")]
        ) from error


def _list(namespace: str, output: Format) -> None:
    with open_client(namespace) as client:
        found = list(client.templates())
    if output is not Format.TABLE:
        print_items(found, output)
        return
    show_namespace = namespace == "*"
    titles = ["NAMESPACE"] * show_namespace + ["NAME", "STATE", "SCHEDULE", "NEXT IN", "LAST RUN", "COMMAND"]
    drop = {"COMMAND": 2, "LAST RUN": 1}
    columns = [Column(title, title == "NEXT IN", drop.get(title, 0)) for title in titles]
    print_table(columns, ([view.namespace] * show_namespace + _row(view) for view in found), titles.index("STATE"))


def _row(view: TemplateView) -> list[str]:
    parameters = ", ".join([*view.required, *(f"{key}={value}" for key, value in view.optional.items())])
    when = f"{view.cron} ({view.timezone})" if view.cron else f"on dispatch: {parameters}".rstrip(": ")
    return [view.name, view.state, when, time_until(view.next_at), _last(view) or "-", command_line(view.command)]


def _last(view: TemplateView) -> str:
    return f"{view.last_run} {view.last_state}" if view.last_run else ""

"""The commands that show jobs: jobs, job, tasks."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import chain, islice
from typing import Annotated

import msgspec
import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import print_notice
from shunter.cli.options import Format, JobName, Limit, Namespace, Output, States, pairs
from shunter.cli.render.job_status import (
    TROUBLES,
    describe_leaving,
    describe_version,
    is_in_trouble,
    visible_state,
    waits_again,
)
from shunter.cli.render.progress import done_count
from shunter.cli.render.tables import (
    MEASURED_ROWS_MAX,
    Column,
    age,
    elapsed_s,
    format_counts,
    plural,
    print_document,
    print_facts,
    print_items,
    print_table,
)
from shunter.model.job.spec import NAMESPACE_DEFAULT, QUEUE_DEFAULT
from shunter.model.resources import format_duration
from shunter.model.rest.job_views import GroupView, JobTerms, JobView, TaskView
from shunter.sdk.client import Job

JOBS_SHOWN = 100
EXTRA_TITLES = ("TYPE", "PRIORITY", "USER", "LABELS")  # of wide tables
ENTRY_SHOWN = 40  # characters of a task's line
TASKS_SHOWN = 10  # of one job, in its own view


def jobs(
    states: States = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="Show only jobs with this label. May be repeated."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="PATTERN", help="Show only jobs with this name; * matches any text."),
    ] = None,
    queue: Annotated[str | None, typer.Option("--queue", metavar="NAME", help="Show only jobs of this queue.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="Show only jobs of this user.")] = None,
    limit: Limit = JOBS_SHOWN,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """List jobs, newest first.

    \b
    shunter jobs --state running --state pending
    shunter jobs --label team=film --output json
    shunter jobs --queue night --user ana
    shunter jobs --name 'render*' --output wide
    shunter stop $(shunter jobs --quiet --state running)
    shunter jobs -n '*' --limit 0          list all jobs of all namespaces
    """
    with open_client(namespace) as client:
        wanted, visible = limit or None, frozenset(states or ())
        asked = list(dict.fromkeys("running" if state in TROUBLES else state for state in states or ()))
        asked += ["running"] if "pending" in asked and "running" not in asked else []
        # The cluster knows neither patterns nor what is shown instead of `running`, so the limit counts what is left.
        is_filtered = name is not None or bool(visible & {"pending", *TROUBLES})
        limit_asked = None if is_filtered else wanted
        labels = pairs(label, "--label")
        found = client.jobs(states=asked, labels=labels, limit=limit_asked, queue=queue, user=user)
        matching = (
            each.view
            for each in found
            if (name is None or fnmatchcase(each.view.name, name))
            and (not visible or each.view.state in visible or visible_state(each.view) in visible)
        )
        views = islice(matching, wanted)
        if output is not Format.TABLE:
            print_items(views, output)
            return
        if _print_jobs(views, show_namespace=namespace == "*") == limit:
            print_notice(f"showing the newest {plural(limit, 'job')}; --limit 0 shows all")


def _print_jobs(views: Iterable[JobView], *, show_namespace: bool) -> int:
    titles = ["NAMESPACE"] * show_namespace
    titles += ["NAME", "RUN", "STATE", "DONE", "AGE", "ELAPSED", *EXTRA_TITLES, "COMMAND"]
    drop = {"ELAPSED": 4, "RUN": 3, "AGE": 2, "COMMAND": 1}
    right = ("RUN", "DONE", "AGE", "ELAPSED", "PRIORITY")
    columns = [
        Column(title, title in right, drop.get(title, 0), title in EXTRA_TITLES, "@" * (title == "RUN"))
        for title in titles
    ]
    return print_table(columns, (_job_row(view, show_namespace) for view in views), titles.index("STATE"))


def job(name: JobName, namespace: Namespace = NAMESPACE_DEFAULT, output: Output = Format.TABLE) -> None:
    """Show one job: its state, resources and tasks.

    \b
    shunter job render            show the newest run
    shunter job render@3          show run 3
    shunter job render -o json    print everything, including all tasks
    """
    with open_client(namespace) as client:
        found = client.job(name)
        if output is not Format.TABLE:
            print_document(msgspec.to_builtins(found.view) | {"tasks": list(found.tasks())}, output)
            return
        _describe(found)


def tasks(
    name: JobName,
    states: States = None,
    all: Annotated[
        bool, typer.Option("--all", help="Include replaced and removed instances of a service or system job.")
    ] = False,
    limit: Limit = 0,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """List the tasks of a job, by index.

    With --all, replaced and removed instances have names like web/3~7, which `shunter logs` accepts too.

    \b
    shunter tasks render --state failed
    shunter tasks render --output json
    shunter tasks web --all
    """
    with open_client(namespace) as client:
        found = client.job(name).tasks(states=states or (), limit=limit or None, all=all)
        if all:
            found = iter(sorted(found, key=_by_instance))
        if output is not Format.TABLE:
            print_items(found, output)
        else:
            _print_tasks(found)


def _by_instance(task: TaskView) -> tuple[str, int, bool, str]:
    """Sort key: all attempts at an instance in order, the current one last."""
    _, tilde, piece = task.name.rpartition("~")
    return task.group, task.index, not tilde, piece.rjust(9) if tilde else ""


def _job_row(view: JobView, with_namespace: bool) -> list[str]:
    return [
        *([view.namespace] if with_namespace else []),
        view.name,
        str(view.run),
        visible_state(view),
        format_done(view),
        age(view.submitted_at),
        _duration(view.started_at, view.ended_at),
        view.type,
        str(view.priority),
        view.user or "-",
        _pairs(view.labels) or "-",
        describe_command(view),
    ]


def describe_command(view: JobView | GroupView) -> str:
    """The command; of a container, with its image."""
    return " ".join(filter(None, [f"[{view.image}]" if view.image else "", command_line(view.command)]))


def format_done(view: JobView) -> str:
    """How many tasks have ended; of a long-running job, how many run."""
    if view.update is not None and not view.ended_at:
        return f"{view.counts.get('running', 0)}/{view.count} up"
    failed = view.counts.get("failed", 0)
    return f"{done_count(view.counts)}/{view.count}" + (f" ({failed} failed)" if failed and view.count > 1 else "")


def _describe(found: Job) -> None:
    view = found.view
    print_facts(f"{view.name}@{view.run} in namespace {view.namespace}, id {view.id}", _facts(view))
    if view.groups:
        print()
        _print_groups(view.groups)
    notable = [state for state in view.counts if state != "succeeded"]
    if notable:
        print()
        # Of a service, list all tasks: one that is being replaced runs alongside its successor.
        wanted = () if view.update is not None else notable
        row_count = _print_tasks(found.tasks(states=wanted, limit=TASKS_SHOWN))
        if row_count == TASKS_SHOWN:
            print_notice(f"showing {TASKS_SHOWN} tasks; list all with: shunter tasks {view.name}")


def _facts(view: JobView) -> list[tuple[str, str]]:
    times = [("submitted", view.submitted_at), ("started", view.started_at), ("ended", view.ended_at)]
    task = [
        ("image", view.image or ""),
        ("command", command_line(view.command)),
        ("resources", _amounts(view.resources)),
    ]
    return [
        ("state", _state(view)),
        ("tasks", f"{view.count:,}: {format_counts(view.counts)}{describe_leaving(view)}"),
        *(task if not view.groups else ()),
        ("type", f"{view.type}, priority {view.priority}"),
        ("version", describe_version(view)),
        ("labels", _pairs(view.labels)),
        *((word, f"{at} ({age(at)} ago)") for word, at in times if at),
        ("elapsed", _duration(view.started_at, view.ended_at) if view.ended_at else ""),
        ("user", view.user),
        *_terms(view.name, view.terms),
    ]


def _state(view: JobView) -> str:
    if waits_again(view):
        return f"pending: its tasks wait to start again; `shunter why {view.name}` says for what"
    reason = view.update.reason if view.update is not None and is_in_trouble(view) else view.reason
    return visible_state(view) + (f": {reason}" if reason else "")


def _terms(name: str, terms: JobTerms | None) -> list[tuple[str, str]]:
    """Options of a job that differ from the defaults."""
    if terms is None:
        return []
    missed = " (missed)" if terms.deadline_missed else ""
    return [
        ("held", f"Start it with `shunter release {name}`" if terms.held else ""),
        ("waits for", "; ".join(terms.waits_for)),
        ("queue", terms.queue if terms.queue != QUEUE_DEFAULT else ""),
        ("start at", terms.start_at or ""),
        ("deadline", f"{terms.deadline}{missed}" if terms.deadline else ""),
        ("timeout", f"{format_duration(terms.timeout_s)} for the whole job" if terms.timeout_s else ""),
        (
            "fails at",
            plural(terms.failures_max, "failed task") if terms.failures_max else "",
        ),
    ]


def _print_groups(groups: Sequence[GroupView]) -> None:
    titles = ["GROUP", "TASKS", "AFTER", "RESOURCES", "COMMAND"]
    rows = (
        [
            group.name,
            format_counts(group.counts),
            ", ".join(edge.name for edge in group.after) or "-",
            _amounts(group.resources),
            describe_command(group),
        ]
        for group in groups
    )
    print_table([Column(title, drop=title == "RESOURCES") for title in titles], rows)


def _pairs(labels: dict[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in labels.items())


def _amounts(resources: dict[str, str]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in resources.items())


def _print_tasks(found: Iterator[TaskView]) -> int:
    """Tasks as a table; those of --each-line with their entry. Returns the number of rows."""
    first = list(islice(found, MEASURED_ROWS_MAX))
    has_entries = any(task.entry is not None for task in first)
    entry_titles = ["ENTRY"] * has_entries
    titles = ["TASK", "STATE", *entry_titles, "ATTEMPT", "NODE", "EXIT", "STARTED", "ELAPSED", "REASON"]
    drop = {"STARTED": 4, "ATTEMPT": 3, "ELAPSED": 2, "NODE": 1}
    right = ("ATTEMPT", "EXIT", "STARTED", "ELAPSED")
    columns = [Column(title, title in right, drop.get(title, 0)) for title in titles]
    return print_table(columns, (_task_row(task, has_entries) for task in chain(first, found)), state_column=1)


def _task_row(task: TaskView, has_entries: bool) -> list[str]:
    return [
        task.name,
        task.state,
        *(["-" if task.entry is None else task.entry[:ENTRY_SHOWN]] if has_entries else []),
        str(task.attempt),
        task.node or "-",
        "-" if task.exit_code is None else str(task.exit_code),
        age(task.started_at),
        _duration(task.started_at, task.ended_at),
        task.reason or _condition(task),
    ]


def _condition(task: TaskView) -> str:
    """The health and ports of a running task, whether another task replaces it, and how often it was lost."""
    is_live = task.ended_at is None
    leaving = "is being replaced" if "~" in task.name and is_live else ""
    health = "" if task.healthy is None else "healthy" if task.healthy else "not healthy"
    lost = f"was lost {plural(task.lost, 'time')}" if task.lost and is_live else ""
    return ", ".join(filter(None, [leaving, health, *(f"{name}={port}" for name, port in task.ports.items()), lost]))


def _duration(started_at: str | None, ended_at: str | None) -> str:
    seconds = elapsed_s(started_at, ended_at)
    return "-" if seconds is None else format_duration(seconds)


def command_line(words: Sequence[str]) -> str:
    """A command as typed in a shell."""
    return shlex.join(words)

"""The list of all commands, and the group that loads a command's module only when that command is used.

Building every command with its options takes as long as all the rest of a short command, so the summaries stand here.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter


@dataclass(frozen=True, slots=True)
class Entry:
    """`target` names the function, or the Typer of a family of commands, in its module."""

    name: str
    target: str
    summary: str
    settings: dict[str, Any] | None = None


# Everything after the program's name belongs to the program: `shunter run ls -l` needs no `--`.
_RUN = {"allow_interspersed_args": False}

SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Run jobs": (
        Entry("run", "jobs.run:run", "Run a command, once or many times, and wait for it.", _RUN),
        Entry("submit", "jobs.submit:submit", "Submit the jobs of a manifest file."),
        Entry("validate", "jobs.validate:validate", "Check manifest files without a cluster."),
        Entry("plan", "jobs.plan:plan", "Say what submitting a manifest file would do."),
        Entry("wait", "jobs.stop:wait", "Wait until jobs have ended."),
        Entry("retry", "jobs.rerun:retry", "Run a finished job again, or what failed of it."),
        Entry("dispatch", "jobs.templates:dispatch", "Run a job that has parameters."),
        Entry("cron", "jobs.templates:cron", "Look after jobs that a clock or dispatches run."),
    ),
    "Step in": (
        Entry("stop", "jobs.stop:stop", "End jobs, or single tasks of them."),
        Entry("hold", "jobs.rerun:hold", "Let nothing more of jobs start."),
        Entry("release", "jobs.rerun:release", "Let held jobs go on."),
        Entry("move", "services:move", "Let a task run on a node of your choice."),
    ),
    "Keep services up": (
        Entry("update", "services:update", "Give a service or system job another spec."),
        Entry("scale", "services:scale", "Change how many instances a service has."),
        Entry("rollback", "services:rollback", "Go back to an earlier good version."),
        Entry("restart", "services:restart", "Replace instances by fresh ones."),
    ),
    "Look at jobs": (
        Entry("jobs", "jobs.jobs:jobs", "List jobs, newest first."),
        Entry("job", "jobs.jobs:job", "Show one job."),
        Entry("tasks", "jobs.jobs:tasks", "List the tasks of a job."),
        Entry("logs", "jobs.logs:logs", "Print what a task wrote."),
        Entry("graph", "jobs.graph:graph", "Draw which job waits for which."),
        Entry("why", "jobs.plan:why", "Say why a job waits, and what would start it."),
    ),
    "Queues and dead letters": (
        Entry("queues", "queues:queues", "List the queues."),
        Entry("queue", "queues:queue", "Limit, pause, purge or delete a queue."),
        Entry("dead", "jobs.rerun:dead", "List, replay or purge tasks that gave up."),
    ),
    "Testbeds and schedulings": (
        Entry("apply", "objects.apply:apply", "Apply manifests: Testbeds, BatchJobs, Schedulings, Jobs."),
        Entry("get", "objects.objects:get", "List Testbeds, BatchJobs or Schedulings."),
        Entry("describe", "objects.describe:describe", "Describe one of them for a person."),
        Entry("edit", "objects.edit:edit", "Edit one of them in your editor."),
        Entry("delete", "objects.delete:delete", "Delete some of them."),
        Entry("watch", "objects.objects:watch", "Watch them change."),
        Entry("batchjob", "objects.objects:batchjob", "Step in on BatchJobs: reset failed ones."),
        Entry("profiler", "objects.profiler:profiler", "Measure which BatchJobs bear one another; schedule by it."),
    ),
    "Look at the cluster": (
        Entry("nodes", "cluster.nodes:nodes", "List the nodes."),
        Entry("node", "cluster.nodes:node", "Show, label, drain or cordon one node."),
        Entry("cluster", "cluster.cluster_settings:cluster", "Show the whole cluster, or change it while it runs."),
        Entry("policies", "jobs.plan:policies", "List who can decide where tasks run, or choose."),
        Entry("flight", "cluster.flight:flight", "List or export recorded decisions."),
        Entry("replay", "cluster.flight:replay", "Decide recorded decisions again, and compare."),
        Entry("simulate", "cluster.simulate:simulate", "Try policies in simulated worlds, and compare."),
        Entry("events", "cluster.events:events", "Print what has happened, or what happens."),
        Entry("metrics", "cluster.metrics:metrics", "Show what a run, a task or a node used over time."),
        Entry("top", "cluster.top:top", "Watch resources, nodes and running jobs."),
    ),
    "Start and stop clusters": (
        Entry("up", "processes.processes:up", "Start a cluster on this machine."),
        Entry("down", "processes.processes:down", "Stop the cluster of this machine."),
        Entry("manager", "processes.processes:manager", "Start a manager alone; workers join it."),
        Entry("worker", "processes.processes:worker", "Start a worker that joins a manager."),
        Entry("backup", "processes.store:backup", "Copy the store into a file while the cluster runs."),
        Entry("restore", "processes.store:restore", "Make an empty home from a backup."),
        Entry("store", "processes.store:store", "Check the store of this machine."),
        Entry("install", "processes.install:install_frameworks", "Install Spark or Flink for BatchJobs."),
        Entry("version", "processes.processes:version", "Print the version."),
    ),
}
ENTRIES = {entry.name: entry for section in SECTIONS.values() for entry in section}


class LazyGroup(TyperGroup):
    """A group whose commands are built when they are asked for."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Stand-ins: lists and suggestions want no more than names.
        self.commands = {name: TyperCommand(name=name) for name in ENTRIES}

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:  # noqa: ARG002
        return build(ENTRIES[cmd_name]) if cmd_name in ENTRIES else None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, ENTRIES))
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(entry.name.ljust(width), entry.summary) for entry in entries])


class SingleObjectGroup(TyperGroup):
    """Commands about one thing of a kind. Who writes its name where a command belongs is told how to see it."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        is_name = args and not args[0].startswith("-") and not get_close_matches(args[0], self.commands)
        if is_name and args[0] not in self.commands:
            ctx.fail(f"No such command '{args[0]}'. To see what is called so: {ctx.command_path} show {args[0]}")
        return super().resolve_command(ctx, args)


class SectionedCommand(TyperCommand):
    """A command whose help has its options in sections, where they name one."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        others = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            section = getattr(parameter, "rich_help_panel", None)
            if section is None and parameter.param_type_name != "argument":
                others.append(record)
            else:
                sections.setdefault(section or "Arguments", []).append(record)
        for title, records in (sections | {"Options": others}).items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def build(entry: Entry) -> Command:
    """The command with all its options."""
    module, _, name = entry.target.partition(":")
    target = getattr(import_module(f"shunter.cli.commands.{module}"), name)
    if not isinstance(target, typer.Typer):
        function, target = target, plain_typer()
        target.command(entry.name, cls=SectionedCommand, context_settings=entry.settings)(function)
    command = get_command(target)
    command.name = entry.name
    return command


def plain_typer(**settings: Any) -> typer.Typer:
    """A Typer that draws nothing: rich would cost a tenth of a second at every call."""
    return typer.Typer(
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=settings.pop("add_completion", False),
        **settings,
    )

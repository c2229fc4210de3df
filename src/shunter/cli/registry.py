"""The list of all commands, and a group that imports the module of a command only when the command is used.

Building every command would double the time of a short command, so the summaries of `shunter --help` are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from shunter.cli.other_words import OTHER_WORDS
from shunter.cli.output_mode import mode

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter, Parameter

UsageError: type[Exception] = typer.BadParameter.__bases__[0]  # it has no public name
CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Entry:
    """`target` is MODULE:NAME of the command's function, or of the Typer of a command group."""

    name: str
    target: str
    summary: str
    settings: dict[str, Any] | None = None


# Everything after the program name belongs to the program: `shunter run ls -l` needs no `--`.
_RUN = {"allow_interspersed_args": False}
_SCALE = {"ignore_unknown_options": True}  # -1 is a wrong number, not an option

SECTIONS: dict[str, tuple[Entry, ...]] = {
    "Run jobs": (
        Entry("run", "jobs.run:run", "Run a command, once or many times, and wait for it.", _RUN),
        Entry("submit", "jobs.submit:submit", "Submit the jobs of a manifest file."),
        Entry("validate", "jobs.validate:validate", "Check manifest files without a cluster."),
        Entry("plan", "jobs.plan:plan", "Show what submitting a manifest file would do."),
        Entry("wait", "jobs.wait:wait", "Wait until jobs have ended."),
        Entry("retry", "jobs.retry:retry", "Run a finished job again, or only its failed tasks."),
        Entry("dispatch", "jobs.templates:dispatch", "Run a parameterized job."),
        Entry("cron", "jobs.templates:cron", "Manage scheduled and parameterized jobs."),
    ),
    "Control jobs": (
        Entry("stop", "jobs.stop:stop", "Stop jobs, or single tasks."),
        Entry("hold", "jobs.hold:hold", "Stop new tasks of jobs from starting."),
        Entry("release", "jobs.hold:release", "Release held jobs."),
        Entry("move", "jobs.move:move", "Move a task to another node."),
    ),
    "Manage services": (
        Entry("update", "services:update", "Update a service or system job to a new spec."),
        Entry("scale", "services:scale", "Change the number of instances of a service.", _SCALE),
        Entry("rollback", "services:rollback", "Roll back to an earlier version."),
        Entry("restart", "services:restart", "Restart instances of a service or system job."),
    ),
    "Inspect jobs": (
        Entry("jobs", "jobs.jobs:jobs", "List jobs, newest first."),
        Entry("job", "jobs.jobs:job", "Show one job."),
        Entry("tasks", "jobs.jobs:tasks", "List the tasks of a job."),
        Entry("logs", "jobs.logs:logs", "Print the output of a job or a task."),
        Entry("usage", "jobs.usage:usage", "Show what jobs used, and what they requested."),
        Entry("graph", "jobs.graph:graph", "Draw the dependencies between jobs."),
        Entry("why", "jobs.plan:why", "Explain why a job is pending, and what would start it."),
    ),
    "Queues and dead letters": (
        Entry("queues", "queues:queues", "List the queues."),
        Entry("queue", "queues:queue", "Show, limit, pause, purge or delete a queue."),
        Entry("dead", "jobs.dead_letters:dead", "List, replay or purge tasks that failed for good."),
    ),
    "Testbeds and schedulings": (
        Entry("apply", "objects.apply:apply", "Apply manifests: Testbeds, BatchJobs, Schedulings, Jobs."),
        Entry("get", "objects.objects:get", "List Testbeds, BatchJobs or Schedulings."),
        Entry("describe", "objects.describe:describe", "Describe one object in detail."),
        Entry("edit", "objects.edit:edit", "Edit one object in your editor."),
        Entry("delete", "objects.delete:delete", "Delete objects."),
        Entry("watch", "objects.objects:watch", "Watch objects change."),
        Entry("batchjob", "objects.objects:batchjob", "Reset failed BatchJobs."),
        Entry("profiler", "objects.profiler:profiler", "Measure how BatchJobs interfere with each other."),
    ),
    "Inspect and change the cluster": (
        Entry("context", "cluster.contexts:context", "Choose among several clusters."),
        Entry("ui", "cluster.ui:ui", "Open the web UI in your browser."),
        Entry("nodes", "cluster.nodes:nodes", "List the nodes."),
        Entry("node", "cluster.nodes:node", "Show, label, drain or cordon one node."),
        Entry("managers", "cluster.managers:managers", "List the managers, or let another one lead."),
        Entry("cluster", "cluster.cluster_settings:cluster", "Show the cluster, or change its settings."),
        Entry("policies", "jobs.plan:policies", "List scheduling policies, or choose one."),
        Entry("flight", "cluster.flight:flight", "List or export recorded decisions."),
        Entry("replay", "cluster.flight:replay", "Replay recorded decisions, and compare."),
        Entry("simulate", "cluster.simulate:simulate", "Run policies in simulated clusters, and compare."),
        Entry("lab", "cluster.lab:lab", "Compare policies on traces of real clusters."),
        Entry("events", "cluster.events:events", "Print past events, or follow new ones."),
        Entry("metrics", "cluster.metrics:metrics", "Show the resource usage of a run, task or node."),
        Entry("top", "cluster.top:top", "Watch resources, nodes and unfinished jobs."),
    ),
    "Secrets": (Entry("secret", "identity.secrets:secret", "Set, list or delete secrets for tasks."),),
    "Users and keys": (
        Entry("login", "identity.login:login", "Sign in at the issuer of the cluster."),
        Entry("logout", "identity.login:logout", "Delete the tokens of a sign-in."),
        Entry("whoami", "identity.users:whoami", "Show your user name and roles."),
        Entry("key", "identity.keys:key", "Create, list, rotate or revoke API keys."),
        Entry("join-token", "identity.join_tokens:join_token", "Create, list or revoke join tokens for new workers."),
        Entry("user", "identity.users:user", "Create, list, disable or enable users."),
        Entry("tenant", "identity.tenants:tenant", "Create, list, show, update or delete tenants."),
        Entry("audit", "identity.audit:audit", "List, export or verify the audit log."),
        Entry("token", "identity.users:token", "Reset the admin token of the cluster on this machine."),
    ),
    "Start and stop clusters": (
        Entry("up", "processes.processes:up", "Start a cluster on this machine."),
        Entry("down", "processes.down:down", "Stop the cluster of this machine."),
        Entry("manager", "processes.processes:manager", "Start a manager without a worker."),
        Entry("worker", "processes.processes:worker", "Start a worker that joins a manager."),
        Entry("ca", "processes.authority:ca", "Manage the certificate authority for TLS."),
        Entry("backup", "processes.store:backup", "Back up the store while the cluster runs."),
        Entry("restore", "processes.store:restore", "Restore a backup into an empty SHUNTER_HOME."),
        Entry("store", "processes.store:store", "Check or copy the store of a cluster."),
        Entry("doctor", "processes.doctor:doctor", "Check this machine and its cluster, and say what to fix."),
        Entry("debug", "processes.doctor:debug", "Collect what helps to find a fault."),
        Entry("operator", "processes.operator:operator", "Run Testbeds and BatchJobs on Kubernetes."),
        Entry("install", "processes.install:install_frameworks", "Install Spark or Flink for BatchJobs."),
        Entry("version", "processes.processes:version", "Print the version."),
    ),
}
ENTRIES = {entry.name: entry for section in SECTIONS.values() for entry in section}


def _point_to_command(ctx: Context, args: list[str]) -> None:
    word = args[0] if args else ""
    command = OTHER_WORDS.get(ctx.command_path, {}).get(word)
    if command is not None:
        ctx.fail(f"No such command '{word}'. Use `shunter {command}`.")


class PlainGroup(TyperGroup):
    """A group that knows words of other tools."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        _point_to_command(ctx, args)
        return super().resolve_command(ctx, args)


class LazyGroup(PlainGroup):
    """A group that builds a command on first use."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Placeholders: listings and suggestions need only names.
        self.commands = {name: TyperCommand(name=name) for name in ENTRIES}

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:  # noqa: ARG002
        return build(ENTRIES[cmd_name]) if cmd_name in ENTRIES else None

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, ENTRIES))
        for title, entries in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(entry.name.ljust(width), entry.summary) for entry in entries])


class SingleObjectGroup(PlainGroup):
    """Commands about one object. If a user writes its name instead of a command, the error says how to show it."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        _point_to_command(ctx, args)
        is_name = args and not args[0].startswith("-") and not get_close_matches(args[0], self.commands)
        if is_name and args[0] not in self.commands:
            ctx.fail(
                f"No such command '{args[0]}'. To show the object with that name: {ctx.command_path} show {args[0]}"
            )
        return super().resolve_command(ctx, args)


def _be_quiet(ctx: Context, parameter: Parameter, is_given: bool | None) -> None:  # noqa: ARG001
    mode.is_quiet |= bool(is_given)


class SectionedCommand(TyperCommand):
    """A command whose help lists options in sections. Like every command, it accepts the global option --quiet."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        names = ["--quiet", "-q"]
        self.params.append(
            TyperOption(param_decls=names, is_flag=True, expose_value=False, hidden=True, callback=_be_quiet)
        )

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError:
            _point_to_command(ctx, words)
            raise

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """The library puts braces around required arguments: {JOB}."""
        return [word.strip("{}") for word in super().collect_usage_pieces(ctx)]

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
                name, text = record
                if name.count("[") != name.count("]"):  # brackets around several arguments: [KIND [NAME]]
                    name = name.strip("[]")
                sections.setdefault(section or "Arguments", []).append((name, text))
        for title, records in (sections | {"Options": others}).items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def build(entry: Entry) -> Command:
    """Build the command with all its options."""
    module, _, name = entry.target.partition(":")
    target = getattr(import_module(f"shunter.cli.commands.{module}"), name)
    if not isinstance(target, typer.Typer):
        function, target = target, plain_typer()
        target.command(entry.name, context_settings=entry.settings)(function)
    command = get_command(target)
    command.name = entry.name
    return command


class PlainTyper(typer.Typer):
    """A Typer whose commands have our help and our global options."""

    def command(self, *arguments: Any, **settings: Any) -> Callable[[CommandFunction], CommandFunction]:
        return super().command(*arguments, **{"cls": SectionedCommand, **settings})


def plain_typer(**settings: Any) -> typer.Typer:
    """A Typer without rich, which would add a tenth of a second to every command."""
    return PlainTyper(
        cls=settings.pop("cls", PlainGroup),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=settings.pop("add_completion", False),
        **settings,
    )

"""The commands that explain placement: why, plan, policies."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from shunter.cli.completion import complete_jobs, complete_policies
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED
from shunter.cli.manifest_files import (
    FilePath,
    OptionalFile,
    chosen_file,
    document_labels,
    read_file,
    with_locations,
)
from shunter.cli.options import Format, Namespace, Output, current_task
from shunter.cli.registry import plain_typer
from shunter.cli.render.tables import (
    Column,
    coloured,
    format_local_time,
    plural,
    print_document,
    print_items,
    print_result,
    print_table,
)
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.objects.objects import KINDS, PLURALS, SHORT_NAMES
from shunter.model.rest.cluster_views import PolicyView
from shunter.model.rest.plan_views import PlannedJobView, PlanView, ReasonView, StartView, WhyView
from shunter.sdk.calls.objects import expand_lists
from shunter.sdk.client import Client

NODES_SHOWN = 10  # of one job's placements
REASONS_SHOWN = 3  # of one pending job

OBJECT_WORDS = frozenset({*(kind.lower() for kind in KINDS), *PLURALS, *SHORT_NAMES})
WhyTarget = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="JOB, JOB/INDEX or JOB/GROUP/INDEX; or testbed/NAME, batchjob/NAME or scheduling/NAME.",
        autocompletion=complete_jobs,
    ),
]

policies = plain_typer(invoke_without_command=True)


def why(
    name: WhyTarget,
    apply: Annotated[
        str | None,
        typer.Option("--apply", metavar="FIELD", help="Make the suggested change of this field. Verifies it again."),
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Explain why a job, one of its tasks, or a Testbed, BatchJob or Scheduling is in its state.

    For a pending job, this prints the reasons with the number of nodes for each, the changes that would start the job
    now (smallest first, each verified on a copy of the cluster), and an estimate of the start without any change.
    --apply makes one of the changes: a batch job that waits is replaced by a new run.

    \b
    shunter why render
    shunter why render/4
    shunter why render --apply spec.resources.cpu
    shunter why testbed/bench
    shunter why scheduling/nightly
    """
    kind, slash, object_name = name.partition("/")
    with open_client(namespace) as client:
        if apply is not None:
            _apply(client, name, apply, output)
            return
        if slash and kind.lower() in OBJECT_WORDS and not object_name.replace("~", "").isdigit():
            found = client.why_object(kind, object_name)
        else:
            found = client.why(*current_task(name))
    if output is not Format.TABLE:
        print_document(found, output)
    else:
        _print_why(found)


def plan(
    path: FilePath = None,
    file: OptionalFile = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Output = Format.TABLE,
) -> None:
    """Show what submitting or applying a manifest file would do now, without doing it.

    The plan lists which tasks would start and where, which other tasks would be preempted, and which tasks would stay
    pending and why. For an update of a service, it says how many tasks the whole update replaces, and shows the first
    step. For Testbeds, BatchJobs and Schedulings, it shows the state that they would have. The exit code is 0 if
    everything would start, 1 if something would stay pending, and 2 if the submit would be rejected.

    \b
    shunter plan job.yaml
    shunter plan job.yaml && shunter submit job.yaml
    shunter plan testbed.yaml && shunter apply testbed.yaml
    """
    file = chosen_file(path, file)
    manifests = expand_lists(read_file(file))
    with open_client(namespace) as client:
        try:
            found = client.plan(manifests)
        except Invalid as error:
            raise Invalid(with_locations(error.problems, document_labels([(file, manifests)]))) from error
    if output is not Format.TABLE:
        print_document(found, output)
    else:
        _print_plan(found)
    if not found.starts:
        raise typer.Exit(JOB_FAILED)


@policies.callback()
def show_policies(context: typer.Context, output: Output = Format.TABLE) -> None:
    """List scheduling policies, or choose one: built-in policies, policies of plugins, and external schedulers.

    A star marks the active policy and the filters of plugins, which are always active. A plugin that failed to load or
    to decide is listed with its error; when a policy fails, the default policy decides. Choose an external scheduler
    as remote:NAME, even before it is connected; while it is not connected, the fallback policy decides.

    \b
    shunter policies
    shunter policies use bin-pack
    shunter policies use remote:mine
    """
    if context.invoked_subcommand is None:
        with open_client() as client:
            _print_policies(client.policies(), output)


@policies.command("use")
def use_policy(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Name of a policy, as `shunter policies` lists it.", autocompletion=complete_policies
        ),
    ],
    output: Output = Format.TABLE,
) -> None:
    """Change the active policy. The choice survives restarts. Running tasks are not moved.

    \b
    shunter policies use bin-pack
    """
    with open_client() as client:
        _print_policies(client.use_policy(name), output)


def _apply(client: Client, name: str, field: str, output: Format) -> None:
    suggestions = client.why(name).suggestions
    chosen = next((each for each in suggestions if each.field == field), None)
    if chosen is None:
        fields = ", ".join(dict.fromkeys(each.field for each in suggestions)) or "none"
        raise Invalid([Problem("--apply", f"is not suggested now; suggested fields: {fields}", field)])
    view = client.job(name).apply_suggestion(chosen).view
    print_result(f"{view.name}@{view.run}: {chosen.text}", view, output)


def _print_why(found: WhyView) -> None:
    print_text(found.sentence)
    if found.reasons:
        print()
        _print_reasons(found.reasons)
    if found.suggestions:
        print("\nAny one of these would start it now:")
        for each in found.suggestions:
            print_text(f"{each.text}  ({each.field})", "  ", 4)
    if found.start is not None:
        print()
        print_text(_start(found.start))


def _start(start: StartView) -> str:
    if start.at is None:
        return f"No start estimate: {start.basis}."
    return f"Estimated start: {format_local_time(start.at)}: {start.basis}."


def _print_reasons(reasons: list[ReasonView]) -> None:
    columns = [Column("NODES", right=True), Column("REASON"), Column("EXAMPLES")]
    rows = ([f"{each.nodes:,}" if each.nodes else "-", each.text, ", ".join(each.examples)] for each in reasons)
    print_table(columns, rows)


def _print_plan(found: PlanView) -> None:
    for job in found.jobs:
        print_text(_verdict(job), f"{job.name}: ", 2)
        for placement in job.placements[:NODES_SHOWN]:
            group = f" ({placement.group})" if placement.group != "main" else ""
            print(f"  {placement.node}  {plural(placement.count, 'task')}{group}")
        _print_more_nodes(len({each.node for each in job.placements[NODES_SHOWN:]}), "  ")
        for reason in job.reasons[:REASONS_SHOWN]:
            _print_reason(reason)
    for each in found.objects:
        colour = {"starts": "running", "ready": "ready", "fails": "failed"}.get(each.verdict, "cancelled")
        print_text(f"{coloured(colour, each.verdict)}. {each.sentence}", f"{each.kind} {each.name}: ", 2)
        for reason in each.reasons[:REASONS_SHOWN]:
            _print_reason(reason)
    for preemption in found.preemptions[:NODES_SHOWN]:
        print_text(f"preempts {plural(preemption.count, 'task')} of {preemption.name} on {preemption.node}")
    _print_more_nodes(len({each.node for each in found.preemptions[NODES_SHOWN:]}))
    print()
    print_text(found.sentence)


def _print_reason(reason: ReasonView) -> None:
    nodes = f"{plural(reason.nodes, 'node')}: " if reason.nodes else ""
    print_text(f"{nodes}{reason.text}", "  ", 4)


def _print_more_nodes(nodes: int, indent: str = "") -> None:
    if nodes:
        print(f"{indent}and {'on ' if not indent else ''}{plural(nodes, 'more node')}")


def _verdict(job: PlannedJobView) -> str:
    if job.verdict == "waits":
        return coloured(
            "cancelled", re.sub(r"^(All|Both|Pending|Held)\b", lambda found: found[0].lower(), job.sentence)
        )
    if job.verdict == "kept":  # a template
        return job.sentence
    return f"{coloured('running' if job.verdict == 'starts' else 'queued', job.verdict)}; {job.sentence}"


def _print_policies(found: list[PolicyView], output: Format) -> None:
    if output is not Format.TABLE:
        print_items(found, output)
        return
    columns = [Column(""), Column("NAME"), Column("KIND", drop=1), Column("SOURCE"), Column("ERROR")]
    rows = (["*" if each.active else "", each.name, each.kind, each.source, _error(each)] for each in found)
    print_table(columns, rows)


def _error(view: PolicyView) -> str:
    times = f" ({plural(view.failures, 'time')}; the default policy decided)" if view.failures else ""
    refused = f"{plural(view.refusals, 'item')} of its decisions refused; last: {view.last_refusal}"
    parts = [f"{view.error}{times}" if view.error else "", refused if view.refusals else ""]
    return "; ".join(filter(None, parts))

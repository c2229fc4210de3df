"""The commands about nodes: nodes; node show, label, attribute, drain, undrain, cordon, uncordon, release,
forget."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated, Any, NoReturn

import typer

from shunter.cli.connection import open_client
from shunter.cli.exit_codes import JOB_FAILED, SUCCESS, print_notice, print_warning
from shunter.cli.options import Format, NodeName, Output, duration_s, pairs
from shunter.cli.registry import SingleObjectGroup, plain_typer
from shunter.cli.render.tables import (
    Column,
    age,
    plural,
    print_document,
    print_facts,
    print_items,
    print_table,
)
from shunter.cli.text import print_text
from shunter.model.errors import Invalid, Problem, ShunterError
from shunter.model.job.spec import PORT_PREFIX
from shunter.model.lifecycles import NodeState
from shunter.model.resources import format_amount, parse_amount
from shunter.model.rest.cluster_views import ClusterInfo
from shunter.model.rest.node_views import NodeStatsView, NodeView, TaskStatsView

POLL_INTERVAL_S = 0.5
DOWN_NOTICE = (
    "nodes that are down stay in the list; --state ready hides them. If a machine is gone for good, "
    "`shunter node forget NODE` lets tasks that wait for it run on other nodes"
)

node = plain_typer(cls=SingleObjectGroup, no_args_is_help=True, help="Show, label, drain or cordon one node.")


def nodes(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", "-s", metavar="STATE", help="Show only nodes in this state. May be repeated."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="Show only nodes with this label. May be repeated."),
    ] = None,
    output: Output = Format.TABLE,
) -> None:
    """List nodes with their reserved resources.

    Nodes that left the cluster stay in the list as down, because jobs and history name them.

    \b
    shunter nodes
    shunter nodes --state ready
    shunter nodes --state down --output json
    """
    _check_states(state or ())
    pairs(label, "--label")
    with open_client() as client:
        found = [each for each in client.nodes() if _matches(each, state, label)]
    if output is not Format.TABLE:
        print_items(found, output)
        return
    titles = ["NAME", "STATE", "CPU", "MEMORY", "TASKS", "ISOLATION", "DATACENTER", "LAST SEEN", "LABELS"]
    drop = {"DATACENTER": 4, "ISOLATION": 3, "LAST SEEN": 2, "LABELS": 1}
    columns = [Column(title, title in ("CPU", "MEMORY", "TASKS"), drop.get(title, 0)) for title in titles]
    print_table(columns, map(_row, found), state_column=1)
    if any(each.state == "down" for each in found):
        print_notice(DOWN_NOTICE)


@node.command("show")
def show(name: NodeName, output: Output = Format.TABLE) -> None:
    """Show one node: its resources, labels and running tasks.

    \b
    shunter node show worker-3
    """
    with open_client() as client:
        found = client.node(name)
        if output is not Format.TABLE:
            print_document(found, output)
            return
    _describe(found, _stats(name) if found.state == "ready" else None)


def _stats(name: str) -> NodeStatsView | None:
    """None if the worker does not answer at once; the other facts are still worth showing."""
    with open_client(patience_s=0) as client:
        try:
            return client.node_stats(name)
        except ShunterError:
            return None


@node.command("label", context_settings={"ignore_unknown_options": True})
def label(
    name: NodeName,
    labels: Annotated[list[str], typer.Argument(metavar="KEY=VALUE|KEY-...", help="Labels to set; KEY- removes one.")],
    output: Output = Format.TABLE,
) -> None:
    """Set or remove labels of a node.

    \b
    shunter node label worker-3 disk=ssd rack=b7
    shunter node label worker-3 rack-             remove the label rack
    """
    with open_client() as client:
        found = client.label_node(name, _changes(labels, "label"))
    if output is not Format.TABLE:
        print_document(found, output)
    else:
        print_text(f"{found.name} labels: {_pairs(found.labels) or 'none'}")


@node.command("attribute", context_settings={"ignore_unknown_options": True})
def attribute(
    name: NodeName,
    attributes: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE|KEY-...", help="Attributes to set; KEY- removes one.")
    ],
    output: Output = Format.TABLE,
) -> None:
    """Set or remove attributes of a node, which constraints see as node.attributes.

    \b
    shunter node attribute worker-3 role=edge
    shunter node attribute worker-3 role-         remove the attribute role
    """
    with open_client() as client:
        found = client.attribute_node(name, _changes(attributes, "attribute"))
    if output is not Format.TABLE:
        print_document(found, output)
    else:
        print_text(f"{found.name} attributes: {_pairs(found.attributes) or 'none'}")


@node.command("drain")
def drain(
    name: NodeName,
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Maximum time to wait for batch tasks, which are then queued again: 90s, 10m."
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the node is empty.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Drain a node: no new tasks start, services move to other nodes, and batch tasks finish.

    Without a deadline, batch tasks may take as long as they need. Tasks of system jobs stop last. With --wait, the exit
    code is 1 if the node goes down, or if someone ends the drain.

    \b
    shunter node drain worker-3 --deadline 10m --wait
    shunter node undrain worker-3
    """
    duration_s(deadline, "--deadline")
    with open_client() as client:
        found = client.drain_node(name, deadline)
        shown = 0
        while wait and found.state in ("draining", "suspect"):
            if found.tasks not in (0, shown):
                shown = found.tasks
                print_notice(f"waiting for {plural(shown, 'task')} on {found.name}")
            time.sleep(POLL_INTERVAL_S)
            found = client.node(name)
    if wait:
        _report_drain(found, output)
    _print_eligibility(found, output)


def _report_drain(found: NodeView, output: Format) -> NoReturn:
    """Say how a drain ended, and exit."""
    if output is not Format.TABLE:
        print_document(found, output)
    if found.state == "drained":
        if output is Format.TABLE:
            again = f"let new tasks start with `shunter node undrain {found.name}`"
            print_text(f"{found.name} is drained: no tasks are left; {again}")
        raise typer.Exit(SUCCESS)
    tasks = plural(found.tasks, "task")
    if found.state == "down":
        print_warning(f"{found.name} went down with {tasks} on it; the drain continues when it is back")
    else:
        print_warning(f"{found.name} is {found.state}: the drain was ended with {tasks} on it")
    raise typer.Exit(JOB_FAILED)


@node.command("undrain")
def undrain(name: NodeName, output: Output = Format.TABLE) -> None:
    """End the drain of a node: new tasks may start there again.

    \b
    shunter node undrain worker-3
    """
    with open_client() as client:
        _print_eligibility(client.undrain_node(name), output)


@node.command("cordon")
def cordon(
    name: NodeName,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Reason to show to other users.")] = "",
    output: Output = Format.TABLE,
) -> None:
    """Stop new tasks from starting on a node. Running tasks continue.

    \b
    shunter node cordon worker-3 --reason 'disk replacement at noon'
    """
    with open_client() as client:
        _print_eligibility(client.cordon_node(name, reason), output)


@node.command("uncordon")
def uncordon(name: NodeName, output: Output = Format.TABLE) -> None:
    """Let new tasks start on a cordoned node again.

    \b
    shunter node uncordon worker-3
    """
    with open_client() as client:
        _print_eligibility(client.uncordon_node(name), output)


@node.command("release")
def release(name: NodeName, output: Output = Format.TABLE) -> None:
    """Release a node from quarantine, after you fixed what made tasks of several jobs fail there.

    \b
    shunter node release worker-3
    """
    with open_client() as client:
        _print_eligibility(client.release_node(name), output)


@node.command("forget")
def forget(name: NodeName, output: Output = Format.TABLE) -> None:
    """Declare that nothing runs on a down node any more, so that tasks that wait for it run on other nodes.

    Tasks of jobs with at_most_once or disconnect.replace_after stay on a node that is down. Use this command when you
    know that the machine is off or gone. If it comes back, Shunter stops its old attempts. The node stays in the list
    of `shunter nodes`.

    \b
    shunter node forget worker-3
    """
    with open_client() as client:
        found = client.forget_node(name)
    if output is not Format.TABLE:
        print_document(found, output)
    else:
        print_text(f"{found.name} is forgotten: its tasks may run on other nodes")


def _print_eligibility(view: NodeView, output: Format) -> None:
    if output is not Format.TABLE:
        print_document(view, output)
    else:
        answer = "new tasks" if view.eligible else f"no new tasks ({view.reason or view.state})"
        print_text(f"{view.name} accepts {answer}")


def _changes(words: list[str], what: str) -> dict[str, str | None]:
    """KEY=VALUE sets, KEY- removes."""
    changes: dict[str, str | None] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals and not word.endswith("-"):
            fix = "write KEY=VALUE to set it, KEY- to remove it"
            raise Invalid([Problem(what, "no value is given", word, fix)])
        changes[key if equals else word[:-1]] = value if equals else None
    return changes


def _check_states(states: Iterable[str]) -> None:
    """Raises Invalid."""
    known = [state.wire_name for state in NodeState]
    message = f"must be one of {', '.join(known)}"
    if problems := [Problem("--state", message, each) for each in states if each not in known]:
        raise Invalid(problems)


def _matches(view: NodeView, states: list[str] | None, labels: list[str] | None) -> bool:
    has = {f"{key}={value}" for key, value in view.labels.items()}
    return (not states or view.state in states) and has.issuperset(labels or ())


def _row(view: NodeView) -> list[str]:
    return [
        view.name,
        visible_node_state(view),
        share(view, "cpu"),
        share(view, "memory"),
        str(view.tasks),
        view.isolation,
        view.datacenter,
        age(view.heard_at),
        _pairs(view.labels) or "-",
    ]


def visible_node_state(view: NodeView) -> str:
    """The state; of a ready node without new tasks, also why: `ready, cordon`. `shunter node show` has the details."""
    if view.eligible or view.state != "ready":
        return view.state
    return f"ready, {(view.reason or 'not eligible').partition(':')[0]}"


def share(view: NodeView | ClusterInfo, resource: str) -> str:
    """Reserved of capacity: `1/2`, `512Mi/7.6Gi`."""
    if resource not in view.capacity:
        return "-"
    reserved = format_quantity(resource, view.reserved.get(resource, "0"))
    return f"{reserved}/{format_quantity(resource, view.capacity[resource])}"


def format_quantity(resource: str, quantity: str) -> str:
    """A quantity with few digits."""
    amount = parse_amount(resource, quantity)
    if resource == "cpu":
        return f"{amount / 1000:g}"
    if resource in ("memory", "disk"):
        for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
            if amount >= size:
                return f"{amount / size:.1f}".removesuffix(".0") + unit
    return format_amount(resource, amount)


def _describe(view: NodeView, stats: NodeStatsView | None) -> None:
    machine = (stats.machine if stats else view.stats) or {}
    facts = [*_facts(view), ("machine", _format_stats(machine))]
    print_facts(f"{view.name}, id {view.id}", facts)
    if stats and stats.tasks:
        print()
        titles = ["TASK", "ATTEMPT", "CPU TIME", "MEMORY", "PROCESSES"]
        print_table([Column(title, right=title != "TASK") for title in titles], map(_task_row, stats.tasks))


def _facts(view: NodeView) -> list[tuple[str, str]]:
    resources = [f"{name} {share(view, name)}" for name, amount in view.capacity.items() if amount != "0"]
    reason = (view.reason or "").removeprefix(f"{view.state}: ")
    return [
        ("state", view.state + (f": {reason}" if reason and reason != view.state else "")),
        ("eligible", "yes" if view.eligible else "no"),
        ("reserved", ", ".join(resources)),
        ("ports", ", ".join(name.removeprefix(PORT_PREFIX) for name in view.reserved if name.startswith(PORT_PREFIX))),
        ("tasks", str(view.tasks)),
        ("isolation", view.isolation),
        ("datacenter", view.datacenter),
        ("labels", _pairs(view.labels)),
        ("attributes", _pairs(view.attributes)),
        ("last seen", f"{age(view.heard_at)} ago" if view.heard_at else ""),
    ]


def _task_row(task: TaskStatsView) -> list[str]:
    memory = format_quantity("memory", str(task.memory_bytes))
    return [task.name, str(task.attempt), f"{task.cpu_s:.2f}s", memory, str(task.processes)]


def _format_stats(machine: dict[str, Any]) -> str:
    """`cpu_busy=0.35, memory_available=21.2Gi`: measurements of the worker, without their time."""
    found = []
    for key, value in machine.items():
        if key.endswith("_bytes"):
            found.append(f"{key.removesuffix('_bytes')}={format_quantity('memory', str(value))}")
        elif not key.endswith("_ms"):
            found.append(f"{key}={value:.2f}" if isinstance(value, float) else f"{key}={value}")
    return ", ".join(found)


def _pairs(mapping: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in mapping.items())

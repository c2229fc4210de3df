"""The command `graph`: dependencies between jobs, as a drawing, as JSON or YAML, or for Graphviz."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import count
from typing import Annotated

import typer

from shunter.cli.commands.jobs.job_graph import (
    SUCCEEDED,
    Graph,
    GraphEdge,
    Node,
    connected_runs,
    connected_subgraph,
    graph_of_specs,
    graph_of_views,
)
from shunter.cli.completion import complete_jobs
from shunter.cli.connection import open_client
from shunter.cli.exit_codes import print_notice
from shunter.cli.manifest_files import read_file, refuse_manifest
from shunter.cli.options import Format, Namespace
from shunter.cli.render.graph_drawing import Box, draw
from shunter.cli.render.tables import GAP, Column, coloured, print_document, print_table
from shunter.cli.text import on_terminal
from shunter.model.errors import Invalid, NotFound, Problem
from shunter.model.job.spec import NAMESPACE_DEFAULT
from shunter.model.rest.job_views import JobView
from shunter.sdk.client import Client

UNFINISHED = ("pending", "running", "stopping")
JOBS_DRAWN_MAX = 1_000
LIST_TITLES = ("NAME", "STATE", "TASKS", "AFTER")
BOXES_MAX = 200  # larger graphs are listed as a table
ENDED_LOOKUPS_MAX = 100  # ended jobs, one request each


class GraphFormat(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"
    DOT = "dot"


def graph(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="Show only jobs connected to this job.", autocompletion=complete_jobs),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", "-f", metavar="FILE", help="Read jobs from this file, not from the cluster; - reads stdin."
        ),
    ] = None,
    namespace: Namespace = NAMESPACE_DEFAULT,
    output: Annotated[
        GraphFormat, typer.Option("--output", "-o", metavar="text|json|yaml|dot", help="Output format.")
    ] = (GraphFormat.TEXT),
    ascii: Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters.")] = False,
) -> None:
    """Draw the dependencies between unfinished jobs of the cluster, or between the jobs of a file.

    With JOB, the graph has only the jobs connected to it, including ended ones with their outcome. A job whose groups
    depend on each other is drawn as its groups. A graph that is too wide for the terminal is printed as a table. With
    --file, no cluster is needed.

    \b
    shunter graph -f pipeline.yaml
    shunter graph
    shunter graph train --ascii
    shunter graph -o dot | dot -Tsvg > graph.svg
    """
    if file is None and name is not None:
        refuse_manifest("JOB", name, "shunter graph -f")
    found = _of_file(file) if file is not None else _of_cluster(namespace, name)
    if name is not None:
        found = connected_subgraph(found, name)
        if not found.nodes:
            raise Invalid(
                [Problem("JOB", "job is not in the graph", name, "list all jobs of the graph with: shunter graph")]
            )
    if output in (GraphFormat.JSON, GraphFormat.YAML):
        print_document(found, Format(output.value))
    elif output is GraphFormat.DOT:
        print("\n".join(_dot(found)))
    else:
        _show(found, plain=ascii or not _supports_unicode())


def _of_file(file: str) -> Graph:
    from shunter.model.job.manifests import JobReader  # slow to import, so only for files

    numbers = count(1)
    reader = JobReader(None)
    specs = reader.read_all(read_file(file), default_namespace=None, make_name=lambda: f"(no name {next(numbers)})")
    return graph_of_specs(specs)


def _of_cluster(namespace: str, name: str | None) -> Graph:
    """All unfinished jobs; or all jobs connected to one, ended or not."""
    with open_client(namespace) as client:
        states = UNFINISHED if name is None else ()
        views = [job.view for job in client.jobs(states=states, limit=JOBS_DRAWN_MAX)]
        if len(views) == JOBS_DRAWN_MAX:
            print_notice(f"the graph covers only the newest {JOBS_DRAWN_MAX:,} jobs")
        if name is not None:
            if not any(name in (view.name, f"{view.name}@{view.run}") for view in views):
                views.append(client.job(name).view)
            views = connected_runs(views, name)
        return graph_of_views(views, _ended_states(client, views))


def _ended_states(client: Client, views: Iterable[JobView]) -> dict[str, str]:
    """States of ended jobs that other jobs depend on."""
    known = {name for view in views for name in (view.name, f"{view.name}@{view.run}")}
    edges = [(edge, view) for view in views if view.terms is not None for edge in view.terms.after]
    found = {edge.name: edge.outcome for edge, _ in edges if edge.outcome is not None}
    lookups = {edge.name: view.namespace for edge, view in edges if edge.name not in known and edge.name not in found}
    for name, namespace in list(lookups.items())[:ENDED_LOOKUPS_MAX]:
        try:
            found[name] = client.job(name, namespace).state
        except NotFound:
            continue  # its history was deleted
    return found


def _show(found: Graph, plain: bool) -> None:
    if not found.nodes:
        print_notice("no unfinished jobs")
        return
    boxes = [Box(node.name, tuple(_lines(node, found)), node.state or "") for node in found.nodes]
    edges = list(dict.fromkeys((edge.before, edge.after) for edge in found.edges))
    width = shutil.get_terminal_size().columns if on_terminal(sys.stdout) else None
    drawn = draw(boxes, edges, width) if len(boxes) <= BOXES_MAX else None
    if drawn is None:
        _list(found)
        return
    for number, canvas in enumerate(drawn):
        if number:
            print()
        for line in canvas.lines(coloured, plain=plain):
            print(line)


def _lines(node: Node, found: Graph) -> Iterable[str]:
    yield node.name
    tasks = f"{node.count:,} tasks" if node.count > 1 else ""
    if facts := ", ".join(filter(None, (node.state or "", tasks, node.note))):
        yield facts
    yield from dict.fromkeys(filter(None, (_condition(edge) for edge in found.edges if edge.after == node.name)))


def _condition(edge: GraphEdge) -> str:
    """The condition of an edge, unless it is the default; or the outcome, if that did not meet the condition."""
    if edge.is_unmet:
        return f"{'although' if edge.otherwise == 'run' else 'not run:'} {edge.on} {edge.outcome}"
    if edge.when != SUCCEEDED or edge.otherwise == "run":
        return f"if {edge.on} {edge.when}" + (", or cannot be" if edge.otherwise == "run" else "")
    return ""


def _list(found: Graph) -> None:
    """Print a graph that is too wide or too large to draw."""

    waits: dict[str, list[str]] = {}
    for edge in found.edges:
        waits.setdefault(edge.after, []).append(edge.before + (f" ({_label(edge)})" if _label(edge) else ""))
    facts = [(node.name, node.state or "-", f"{node.count:,}" if node.count else "-") for node in found.nodes]
    text_width = _last_column_width(facts)

    def rows() -> Iterable[list[str]]:
        for fact in facts:
            text = ", ".join(waits.get(fact[0], ())) or "-"
            first, *rest = textwrap.wrap(text, text_width, break_on_hyphens=False) if text_width else [text]
            yield [*fact, first]
            yield from (["", "", "", more] for more in rest)

    columns = [Column(title, right=title == "TASKS") for title in LIST_TITLES]
    print_table(columns, rows(), state_column=1)


def _last_column_width(facts: Sequence[Sequence[str]]) -> int | None:
    """The maximum width of the last column; None without a terminal."""
    if not on_terminal(sys.stdout):
        return None
    widths = [
        max(len(title), *map(len, cells)) for title, cells in zip(LIST_TITLES, zip(*facts, strict=True), strict=False)
    ]
    taken = sum(widths) + len(widths) * len(GAP)
    return max(shutil.get_terminal_size().columns - taken, len(LIST_TITLES[-1]))


def _dot(found: Graph) -> Iterable[str]:
    """The graph in the language of Graphviz."""
    yield "digraph jobs {"
    yield "  node [shape=box];"
    for node in found.nodes:
        label = "\\n".join(_escaped(part) for part in (node.name, node.state or "", node.note) if part)
        yield f'  "{_escaped(node.name)}" [label="{label}"];'
    for edge in found.edges:
        label = f' [label="{_label(edge)}"]' if _label(edge) else ""
        yield f'  "{_escaped(edge.before)}" -> "{_escaped(edge.after)}"{label};'
    yield "}"


def _label(edge: GraphEdge) -> str:
    if edge.is_unmet:
        return f"{edge.when}, but it {'was ' if edge.outcome == 'cancelled' else ''}{edge.outcome}"
    if edge.otherwise == "run":
        return f"{edge.when}, or cannot be"
    return edge.when if edge.when != SUCCEEDED else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _supports_unicode() -> bool:
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"

"""The graph of jobs and their groups, from manifests or from the views of a cluster.

Pure; called by `cli.commands.jobs.graph`. A job whose groups depend on each other becomes one node per group: edges
into the job end at its first groups, and edges out of the job start at its last groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from shunter.cli.render.graph_layout import topological
from shunter.model.job.spec import JobSpec
from shunter.model.rest.job_views import EdgeView, JobView

SUCCEEDED = "succeeded"  # the default condition of an edge
NOT_FOUND = "not found"  # note of a job that is referenced, but is not on the cluster
NOT_IN_FILE = "not in the file"  # the same in the graph of a file; the job may be on the cluster


class Node(msgspec.Struct, kw_only=True):
    name: str  # JOB, JOB@RUN or JOB/GROUP
    job: str
    group: str | None = None
    count: int = 0
    state: str | None = None  # only for jobs of a cluster
    note: str = ""


class GraphEdge(msgspec.Struct, kw_only=True):
    before: str
    after: str
    on: str  # the job or group that the edge waits for
    when: str = SUCCEEDED
    otherwise: str = "cancel"
    open: bool = True
    outcome: str | None = None  # how that job or group ended, if it has

    @property
    def is_unmet(self) -> bool:
        return self.outcome is not None and self.when not in ("finished", self.outcome)


class Graph(msgspec.Struct):
    nodes: list[Node]
    edges: list[GraphEdge]


@dataclass(slots=True)
class _JobGroup:
    name: str
    count: int
    state: str | None
    after: Sequence[EdgeView]


@dataclass(slots=True)
class _Job:
    """A job of a manifest or a view. `aliases` has all names that edges use for it."""

    name: str
    aliases: tuple[str, ...]
    count: int
    state: str | None
    after: Sequence[EdgeView]
    parts: list[_JobGroup] = field(default_factory=list)


def graph_of_specs(specs: Iterable[JobSpec]) -> Graph:
    jobs = []
    for spec in specs:
        parts = [_JobGroup(group.name, group.count, None, _edges(group.after, "group")) for group in spec.groups]
        jobs.append(_Job(spec.name, (spec.name,), spec.count, None, _edges(spec.options.after, "job"), parts))
    return _graph(jobs, {}, NOT_IN_FILE)


def graph_of_views(views: Iterable[JobView], ended: Mapping[str, str]) -> Graph:
    """`ended` has the states of referenced jobs that are not in `views`."""
    jobs = []
    seen: dict[str, int] = {}
    ordered = sorted(views, key=lambda view: view.id)
    for view in ordered:
        seen[view.name] = seen.get(view.name, 0) + 1
    for view in ordered:
        run = _run_of(view)
        name = run if seen[view.name] > 1 else view.name
        parts = [_JobGroup(group.name, group.count, group_state(group.counts), group.after) for group in view.groups]
        jobs.append(_Job(name, (view.name, run), view.count, view.state, _after(view), parts))
    return _graph(jobs, ended, NOT_FOUND)


def connected_runs(views: Sequence[JobView], name: str) -> list[JobView]:
    """All runs connected to a job: to its unfinished runs, or else to its newest run. `views` are newest first."""
    named = [view for view in views if name in (view.name, _run_of(view))]
    wanted = [view for view in named if view.ended_at is None] or named[:1]
    neighbours = _neighbours(views)
    found = {view.id: view for view in wanted}
    while wanted:
        for other in neighbours.get(wanted.pop().id, ()):
            if other.id not in found:
                found[other.id] = other
                wanted.append(other)
    return list(found.values())


def _neighbours(views: Sequence[JobView]) -> dict[int, list[JobView]]:
    """By id, the runs that share an edge with a run. A name without a run means the newest run."""
    by_name = {view.name: view for view in reversed(views)} | {_run_of(view): view for view in views}
    neighbours: dict[int, list[JobView]] = {}
    for view in views:
        for edge in _after(view):
            if (other := by_name.get(edge.name)) is not None:
                neighbours.setdefault(view.id, []).append(other)
                neighbours.setdefault(other.id, []).append(view)
    return neighbours


def _after(view: JobView) -> Sequence[EdgeView]:
    return view.terms.after if view.terms is not None else ()


def _run_of(view: JobView) -> str:
    return f"{view.name}@{view.run}"


def group_state(counts: Mapping[str, int]) -> str:
    """One state for a group: the first of these that any of its tasks has."""
    order = ("running", "stopping", "assigned", "queued", "waiting", "failed", "cancelled", SUCCEEDED)
    return next((state for state in order if counts.get(state)), "waiting")


def connected_subgraph(graph: Graph, name: str) -> Graph:
    """The part of the graph that is connected to a job."""
    wanted = {node.name for node in graph.nodes if name in (node.name, node.job, node.job.partition("@")[0])}
    while True:
        more = {end for edge in graph.edges for end in (edge.before, edge.after) if {edge.before, edge.after} & wanted}
        if more <= wanted:
            break
        wanted |= more
    nodes = [node for node in graph.nodes if node.name in wanted]
    return Graph(nodes, [edge for edge in graph.edges if edge.before in wanted])


def _edges(after: Iterable[object], target: str) -> list[EdgeView]:
    return [
        EdgeView(name=getattr(edge, target), when=edge.when, otherwise=edge.otherwise, open=True)  # type: ignore[attr-defined]
        for edge in after
    ]


def _graph(jobs: Sequence[_Job], ended: Mapping[str, str], missing_note: str) -> Graph:
    graph = Graph([], [])
    entry_nodes: dict[str, list[str]] = {}
    exit_nodes: dict[str, list[str]] = {}
    known = {alias: job.name for job in jobs for alias in job.aliases}
    for job in jobs:
        _add_job(graph, job, entry_nodes, exit_nodes)
    for job in jobs:
        for edge in job.after:
            before = known.get(edge.name)
            if before is None or before == job.name:
                before = edge.name
                if before not in exit_nodes:
                    state = ended.get(before)
                    graph.nodes.append(Node(name=before, job=before, state=state, note="" if state else missing_note))
                    exit_nodes[before] = [before]
            renamed = msgspec.structs.replace(edge, name=before)
            graph.edges += [
                _graph_edge(upper, lower, renamed) for upper in exit_nodes[before] for lower in entry_nodes[job.name]
            ]
    return _sorted(graph)


def _add_job(graph: Graph, job: _Job, entry_nodes: dict[str, list[str]], exit_nodes: dict[str, list[str]]) -> None:
    if not any(part.after for part in job.parts):
        groups = ", ".join(part.name for part in job.parts) if len(job.parts) > 1 else ""
        graph.nodes.append(Node(name=job.name, job=job.name, count=job.count, state=job.state, note=groups))
        entry_nodes[job.name] = exit_nodes[job.name] = [job.name]
        return
    named = {part.name: f"{job.name}/{part.name}" for part in job.parts}
    for part in job.parts:
        node = Node(name=named[part.name], job=job.name, group=part.name, count=part.count, state=part.state)
        graph.nodes.append(node)
        graph.edges += [_graph_edge(named[edge.name], node.name, edge) for edge in part.after]
    waited_for = {edge.name for part in job.parts for edge in part.after}
    entry_nodes[job.name] = [named[part.name] for part in job.parts if not part.after]
    exit_nodes[job.name] = [name for part, name in named.items() if part not in waited_for]


def _graph_edge(before: str, after: str, edge: EdgeView) -> GraphEdge:
    return GraphEdge(
        before=before, after=after, on=edge.name, when=edge.when, otherwise=edge.otherwise, open=edge.open,
        outcome=edge.outcome,
    )  # fmt: skip


def _sorted(graph: Graph) -> Graph:
    """Sort nodes topologically."""
    ends = list(dict.fromkeys((edge.before, edge.after) for edge in graph.edges))
    nodes = {node.name: node for node in graph.nodes}
    return Graph([nodes[name] for name in topological(list(nodes), ends)], graph.edges)

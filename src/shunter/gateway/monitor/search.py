"""Finds jobs, nodes, templates, queues and objects by a part of their names. Used by `gateway.monitor`."""

from __future__ import annotations

from collections.abc import Iterator

from shunter.engine.engine import Engine
from shunter.engine.state.state import State
from shunter.gateway.scope import Scope
from shunter.model.objects.objects import KINDS
from shunter.model.rest.monitor.views import SearchHit, SearchPage
from shunter.ports.store import FinishedJob, FinishedQuery, Store

NAMES_MAX = 200_000  # of unfinished jobs, that are compared
RUNS_MAX = 3  # of one name
FINISHED_MAX = 2_000  # of ended jobs, the newest


async def search(engine: Engine, store: Store, text: str, limit: int, scope: Scope) -> SearchPage:
    """The same name first, then what begins with the text, then what contains it; short names before long ones."""
    await engine.wait_committed()
    wanted = text.lower()
    hits = [hit for hit in _live_hits(engine, wanted) if scope.sees(hit.namespace)]
    finished: list[FinishedJob] = []
    is_partial = False
    for namespace in scope.select(None):  # so that jobs of others do not displace those of the caller
        newest = await store.finished_jobs(FinishedQuery(namespace=namespace, limit=FINISHED_MAX))
        finished, is_partial = [*finished, *newest], is_partial or len(newest) == FINISHED_MAX
    seen = {(hit.namespace, hit.name) for hit in hits if hit.kind == "job"}
    for job in finished:
        name = f"{job.name}@{job.run}"
        if wanted in job.name.lower() and (job.namespace, name) not in seen:
            hits.append(SearchHit(kind="job", name=name, namespace=job.namespace, state=job.state))
    hits.sort(key=lambda hit: _rank(hit.name.lower().partition("@")[0], wanted))
    return SearchPage(items=hits[:limit], partial=is_partial)


def _rank(name: str, wanted: str) -> tuple[int, int, str]:
    return 0 if name == wanted else 1 if name.startswith(wanted) else 2, len(name), name


def _live_hits(engine: Engine, wanted: str) -> Iterator[SearchHit]:
    state = engine.state
    for node in state.nodes.records.values():
        if wanted in node.name.lower():
            yield SearchHit(kind="node", name=node.name, state=node.state.wire_name)
    for queue in state.queues.queues:
        if wanted in queue.lower():
            yield SearchHit(kind="queue", name=queue)
    for template in state.templates.by_id.values():
        if wanted in template.name.lower():
            yield SearchHit(kind="template", name=template.name, namespace=template.namespace)
    for kind in KINDS:
        for each in state.objects.all(kind):
            if wanted in each.meta.name.lower():
                yield SearchHit(kind=kind, name=each.meta.name, namespace=each.meta.namespace)
    yield from _job_hits(state, wanted)


def _job_hits(state: State, wanted: str) -> Iterator[SearchHit]:
    compared = 0
    for namespace, names in state.jobs_by_name.items():
        for name in names:
            compared += 1
            if compared > NAMES_MAX:
                return
            if wanted in name.lower():
                for job in state.unfinished_runs(namespace, name)[-RUNS_MAX:]:
                    ref = f"{name}@{job.run}"
                    yield SearchHit(kind="job", name=ref, namespace=namespace, state=job.state.wire_name)

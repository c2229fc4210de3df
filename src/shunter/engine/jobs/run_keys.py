"""Which ended runs a round must know before it decides. Called by `engine.engine` and `engine.commands`, and by the
gateway for dry runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shunter.engine.state.state import State
from shunter.engine.timers import TimerKind, Timers
from shunter.model.job.spec import After, JobSpec
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import BATCH_JOB, Draft
from shunter.ports.store import RunKey
from shunter.testbeds.applications import PREFIX


def keys_of_specs(specs: Iterable[JobSpec]) -> Iterator[RunKey]:
    """The names to submit, and the runs that edges name."""
    for spec in specs:
        yield spec.namespace, spec.name, None
        yield from keys_of_edges(spec.namespace, spec.options.after)


def keys_of_edges(namespace: str, edges: Sequence[After]) -> Iterator[RunKey]:
    """NAME or NAME@RUN."""
    for edge in edges:
        name, _, run = edge.job.partition("@")
        yield namespace, name, None
        if run:
            yield namespace, name, int(run)


def keys_of_drafts(drafts: Iterable[Draft]) -> Iterator[RunKey]:
    for draft in drafts:
        if draft.kind == BATCH_JOB:
            yield draft.name.namespace, PREFIX + draft.name.name, None


def keys_of_template(state: State, namespace: str, name: str) -> Iterator[RunKey]:
    template = state.templates.get(namespace, name)
    if template is not None:
        yield from keys_of_specs([template.spec])


def keys_of_due_templates(state: State, timers: Timers, now_ms: int) -> Iterator[RunKey]:
    for template_id in timers.due_subjects(TimerKind.TEMPLATE, now_ms):
        template = state.templates.by_id.get(template_id)
        if template is not None:
            yield from keys_of_specs([template.spec])


def permanent_keys(state: State) -> Iterator[RunKey]:
    """Names whose runs start without a request: by schedule, or in slots."""
    for template in state.templates.by_id.values():
        yield template.namespace, template.name, None
    for name in state.objects.batch_jobs:
        yield name.namespace, PREFIX + name.name, None


def is_permanent(state: State, key: RunKey) -> bool:
    namespace, name, run = key
    if run is not None:
        return False
    return state.templates.get(namespace, name) is not None or (
        name.startswith(PREFIX) and ObjectName(namespace, name.removeprefix(PREFIX)) in state.objects.batch_jobs
    )

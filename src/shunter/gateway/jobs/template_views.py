"""Views of templates. Called by `gateway.jobs.templates`, and by `gateway.jobs.runs`, which lists them among jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shunter.engine.jobs.templates import no_template
from shunter.engine.read.views import command_of, image_of, resources_of
from shunter.engine.state.registries.templates import Template
from shunter.engine.state.state import State
from shunter.model.rest.admin_views import TemplatePage, TemplateView
from shunter.model.rest.job_views import JobView
from shunter.model.timestamps import iso
from shunter.ports.store import EndedRun, RunKey


def template_page(
    state: State, namespace: str | None, limit: int, after: str | None, sees: Callable[[str], bool] = lambda _: True
) -> TemplatePage:
    """By namespace and name; both form the cursor."""
    found = sorted(
        (
            template
            for template in state.templates.by_id.values()
            if namespace in (None, template.namespace) and sees(template.namespace)
        ),
        key=_cursor,
    )
    remaining = [template for template in found if after is None or _cursor(template) > after]
    items = [template_view(state, template) for template in remaining[:limit]]
    return TemplatePage(items, _cursor(remaining[limit - 1]) if len(remaining) > limit else None, len(found))


def find_template(state: State, namespace: str, name: str) -> Template:
    template = state.templates.get(namespace, name)
    if template is None:
        raise no_template(namespace, name)
    return template


def template_view(state: State, template: Template) -> TemplateView:
    """Without runs that have ended, which `add_last_runs` adds."""
    spec, options = template.spec, template.spec.options
    view = TemplateView(
        name=template.name,
        namespace=template.namespace,
        id=template.id,
        state=_state(template),
        type=spec.type,
        count=spec.count,
        command=command_of(spec.groups[0]),
        user=template.user,
        labels=spec.labels,
        set_at=iso(template.updated_ms / 1000) or "",
        next_at=iso(template.next_ms / 1000) if template.next_ms is not None else None,
        skipped_at=iso(template.skipped_ms / 1000),
        skipped_because=template.skipped_because or None,
    )
    if options.schedule is not None:
        schedule = options.schedule
        view.cron, view.timezone = schedule.cron, schedule.timezone
        view.overlap, view.catch_up = schedule.overlap, schedule.catch_up
    if options.parameters is not None:
        parameters = options.parameters
        view.required, view.optional = list(parameters.required), parameters.optional
        view.payload = parameters.payload
    unfinished = state.unfinished_runs(template.namespace, template.name)
    view.unfinished = len(unfinished)
    if unfinished:
        view.last_run, view.last_state = unfinished[-1].run, unfinished[-1].state.wire_name
    return view


def last_run_key(view: TemplateView) -> RunKey:
    return view.namespace, view.name, None


def add_last_runs(views: Iterable[TemplateView], ended_runs: Mapping[RunKey, EndedRun]) -> None:
    """Runs that have ended are in history. One may have ended since the view was made, so the newer one is shown."""
    for view in views:
        ended = ended_runs.get(last_run_key(view))
        if ended is not None and ended.run >= (view.last_run or 0):
            view.last_run, view.last_state = ended.run, ended.state


def template_as_job(template: Template) -> JobView:
    """A template in a list of jobs: a run 0, before its first run."""
    spec = template.spec
    first = spec.groups[0]
    return JobView(
        name=template.name,
        namespace=template.namespace,
        id=template.id,
        run=0,
        state=_state(template),
        type=spec.type,
        count=spec.count,
        counts={},
        priority=spec.priority,
        submitted_at=iso(template.updated_ms / 1000) or "",
        reason=_next_run_note(template),
        labels=spec.labels,
        user=template.user,
        command=command_of(first),
        image=image_of(first),
        resources=resources_of(first),
    )


def _state(template: Template) -> str:
    if template.is_paused:
        return "paused"
    return "scheduled" if template.is_scheduled else "dispatchable"


def _next_run_note(template: Template) -> str:
    schedule = template.spec.options.schedule
    if schedule is None:
        return f"runs when dispatched: shunter dispatch {template.name}"
    if template.is_paused:
        return f"is paused; resume it with: shunter cron resume {template.name}"
    schedule_text = f"schedule {schedule.cron!r} in {schedule.timezone}"
    return (
        f"runs next at {iso(template.next_ms / 1000)}, {schedule_text}"
        if template.next_ms is not None
        else f"never runs, {schedule_text}"
    )


def _cursor(template: Template) -> str:
    return f"{template.namespace}/{template.name}"

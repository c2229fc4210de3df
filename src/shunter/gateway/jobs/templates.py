"""The sub-gateway `templates`: jobs that run by a schedule or when they are dispatched. Implements
`ports.admin.TemplateService`."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.engine.jobs.templates import Dispatch
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.template_views import (
    add_last_runs,
    find_template,
    last_run_key,
    template_page,
    template_view,
)
from shunter.model.rest.admin_views import TemplatePage, TemplateView
from shunter.model.rest.job_views import JobView
from shunter.ports.admin import DispatchRequest
from shunter.ports.callers import Caller, JobReference


class Templates:
    def __init__(self, caller: Caller, engine: Engine, runs: Runs) -> None:
        self._caller, self._engine, self._runs = caller, engine, runs

    async def page(self, namespace: str | None, limit: int, after: str | None) -> TemplatePage:
        await self._engine.wait_committed()
        page = template_page(self._engine.state, namespace, limit, after)
        await self._add_last_runs(page.items)
        return page

    async def get(self, namespace: str, name: str) -> TemplateView:
        await self._engine.wait_committed()
        view = template_view(self._engine.state, find_template(self._engine.state, namespace, name))
        await self._add_last_runs([view])
        return view

    async def pause(self, namespace: str, name: str, is_paused: bool) -> TemplateView:
        await self._engine.pause_template(namespace, name, is_paused)
        return await self.get(namespace, name)

    async def delete(self, namespace: str, name: str) -> None:
        await self._engine.drop_template(namespace, name)

    async def dispatch(self, request: DispatchRequest) -> JobView:
        dispatch = Dispatch(
            request.namespace, request.name, self._caller.user, request.parameters, request.payload, request.key
        )
        run = await self._engine.dispatch(dispatch)
        return await self._runs.view(JobReference(request.namespace, id=run.job_id))

    async def _add_last_runs(self, views: list[TemplateView]) -> None:
        add_last_runs(views, await self._engine.look_up_runs([last_run_key(view) for view in views]))

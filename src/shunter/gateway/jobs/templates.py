"""The sub-gateway `templates`: jobs that run by a schedule or when they are dispatched. Implements
`ports.admin.TemplateService`."""

from __future__ import annotations

from shunter.engine.engine import Engine
from shunter.engine.jobs.templates import Dispatch, no_template
from shunter.gateway.jobs.runs import Runs
from shunter.gateway.jobs.template_views import (
    add_last_runs,
    find_template,
    last_run_key,
    template_page,
    template_view,
)
from shunter.gateway.scope import Scope
from shunter.model.rest.admin_views import TemplatePage, TemplateView
from shunter.model.rest.job_views import JobView
from shunter.ports.admin import DispatchRequest
from shunter.ports.principals import JobReference, Principal


class Templates:
    def __init__(self, caller: Principal, engine: Engine, runs: Runs, scope: Scope) -> None:
        self._caller, self._engine, self._runs, self._scope = caller, engine, runs, scope

    async def page(self, namespace: str | None, limit: int, after: str | None) -> TemplatePage:
        await self._engine.wait_committed()
        page = template_page(self._engine.state, namespace, limit, after, self._scope.sees)
        await self._add_last_runs(page.items)
        return page

    async def get(self, namespace: str, name: str) -> TemplateView:
        await self._engine.wait_committed()
        self._check(namespace, name)
        view = template_view(self._engine.state, find_template(self._engine.state, namespace, name))
        await self._add_last_runs([view])
        return view

    async def pause(self, namespace: str, name: str, is_paused: bool) -> TemplateView:
        self._check(namespace, name)
        await self._engine.pause_template(namespace, name, is_paused)
        return await self.get(namespace, name)

    async def delete(self, namespace: str, name: str) -> None:
        self._check(namespace, name)
        await self._engine.drop_template(namespace, name)

    async def dispatch(self, request: DispatchRequest) -> JobView:
        self._check(request.namespace, request.name)
        key = self._scope.own_key(request.key)
        dispatch = Dispatch(
            request.namespace, request.name, self._caller.user, request.parameters, request.payload, key
        )
        run = await self._engine.dispatch(dispatch)
        return await self._runs.view(JobReference(request.namespace, id=run.job_id))

    def _check(self, namespace: str, name: str) -> None:
        """Whether the caller sees it. Raises NotFound."""
        if not self._scope.sees(namespace):
            raise no_template(namespace, name)

    async def _add_last_runs(self, views: list[TemplateView]) -> None:
        add_last_runs(views, await self._engine.look_up_runs([last_run_key(view) for view in views]))

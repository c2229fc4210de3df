"""Handlers and routes of plans and policies. Part of the table in `api.routes.table`."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.api.http.exchange import Exchange
from shunter.api.http.routing import BASE, AnsweredBy, RequestBody, ResponseSpec, Route
from shunter.api.routes.jobs import IN_JOB, JSON_TYPES, job_of, read_manifests
from shunter.model.errors import Invalid, Problem
from shunter.model.rest.cluster_views import PolicyPage
from shunter.model.rest.job_views import JobView
from shunter.model.rest.plan_views import PlanView
from shunter.model.schema.problems import format_value
from shunter.ports.gateway import CallerGateway
from shunter.ports.jobs import Suggestion

PLAN_JOBS_MAX = 1_000


class PolicyChoice(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class SuggestionChoice(msgspec.Struct, forbid_unknown_fields=True):
    """A suggestion of `why`, as it was: what else it has may be left out."""

    field: str
    before: Any
    after: Any


_suggestion_decoder = msgspec.json.Decoder(SuggestionChoice)
_choice_decoder = msgspec.json.Decoder(PolicyChoice)


async def plan_jobs(gateway: CallerGateway, exchange: Exchange) -> PlanView:
    documents = await _read_manifests(exchange)
    if not 1 <= len(documents) <= PLAN_JOBS_MAX:
        fault = f"must have 1 to {PLAN_JOBS_MAX:,} items"
        raise Invalid([Problem("body.items", fault, format_value(documents), "plan in several requests")])
    return await gateway.explain.plan(documents, namespace=exchange.query["namespace"])


async def apply_suggestion(gateway: CallerGateway, exchange: Exchange) -> JobView:
    chosen = await exchange.read_json(_suggestion_decoder)
    suggestion = Suggestion(chosen.field, chosen.before, chosen.after)
    return await gateway.explain.apply_suggestion(job_of(exchange), suggestion)


async def list_policies(gateway: CallerGateway, _exchange: Exchange) -> PolicyPage:
    return await gateway.policies.page()


async def use_policy(gateway: CallerGateway, exchange: Exchange) -> PolicyPage:
    choice = await exchange.read_json(_choice_decoder)
    return await gateway.policies.use(choice.name)


async def _read_manifests(exchange: Exchange) -> list[object]:
    """One manifest or `{"items": [...]}` as JSON, or one or several documents of YAML."""
    documents = await read_manifests(exchange)
    first = documents[0] if exchange.content_type in JSON_TYPES else None
    if isinstance(first, dict) and isinstance(first.get("items"), list) and len(first) == 1:
        return list(first["items"])
    return documents


PLAN_ROUTES = (
    Route(
        "POST", f"{BASE}/plan", "planJobs", "Plan a submit: report what would happen, without doing it", plan_jobs,
        responses=(
            ResponseSpec(200, PlanView, description="which tasks would start, and which would stay pending and why"),
        ),
        query=IN_JOB, body=RequestBody(component="Plan", content_types=("application/json", "application/yaml")),
        errors=(400, 409, 413),
    ),
    Route(
        "POST", f"{BASE}/jobs/{{job}}/suggestions", "applySuggestion", "Make a change that `why` has suggested",
        apply_suggestion,
        responses=(ResponseSpec(200, JobView, description="the job; of a batch job, the run that replaces it"),),
        query=IN_JOB, body=RequestBody(SuggestionChoice), errors=(400, 404, 409, 413),
    ),
    Route(
        "GET", f"{BASE}/policies", "listPolicies", "List policies, and the active one", list_policies,
        answered_by=AnsweredBy.LEADER, responses=(ResponseSpec(200, PolicyPage),),
    ),
    Route(
        "PUT", f"{BASE}/policies/active", "usePolicy", "Change the active policy", use_policy,
        responses=(ResponseSpec(200, PolicyPage, description="the policy is active from the next round on"),),
        body=RequestBody(PolicyChoice), errors=(400, 413),
    ),
)  # fmt: skip

"""The published description is valid, complete, and matches the application."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema
import openapi_spec_validator
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from shunter.api.http.exchange import encode
from shunter.api.http.openapi import openapi_document
from shunter.api.http.routing import Route
from shunter.api.routes.table import ROUTES
from shunter.model.job.manifests import job_schema
from shunter.model.objects.objects import KINDS
from tests.unit.api.asgi_client import AUTHORIZED, Client
from tests.unit.api.live_server import live_server

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.unsupported_method,
]
# Whether it is right to take or refuse a manifest is tested with manifests: quantities, long durations and pairs of
# fields are beyond a schema.
VERDICTS = [checks.positive_data_acceptance, checks.negative_data_rejection]
APPLIES = tuple(f"{verb}{kind}" for verb in ("create", "replace", "patch") for kind in KINDS)
SUBMITS = (
    *("submitJob", "submitJobs", "planJobs", "updateJob", "drainNode", "patchCluster"),
    *("createKey", "rotateKey", "createJoinToken"),  # durations
    "setSecret",  # a value in base64
    *("applyDocuments", "writeExternal", *APPLIES),
    *("writeExternalJob", "writeExternalJobByName", "postExternalScheduling"),
)
LOW = {"maxItems": 5, "maxProperties": 5, "maxLength": 63}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with live_server() as (port, gateway):
        gateway.is_eager = gateway.objects.is_eager = True
        yield f"http://127.0.0.1:{port}"


async def test_the_document_is_valid_openapi_and_lists_every_route(client: Client) -> None:
    document = (await client.get("/api/v1/openapi.json")).json
    assert document["openapi"] == "3.1.0"
    openapi_spec_validator.validate(document)
    listed = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert listed == {(route.method, route.path) for route in ROUTES}
    assert len({route.name for route in ROUTES}) == len(ROUTES)


def test_the_schema_of_manifests_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(job_schema())


def call_as_generated(url: str, route: Route, mode: GenerationMode) -> None:
    """Requests that the document allows (or forbids), each answered in a way that the document lists."""
    document = json.loads(encode(openapi_document([route])))
    document.pop("security")  # every request below has the token
    schema = schemathesis.openapi.from_dict(small(document) if route.name in SUBMITS else document)
    refused = schema.config.checks.negative_data_rejection
    refused.expected_statuses = [*refused.expected_statuses, "413"]  # too many items may be too large as well
    # any text may be a name, indexes must count upwards, and whoever follows events gets all of them
    unsure = (*SUBMITS, "usePolicy", "readJobLogs", "listEvents")
    received = CHECKS if route.name in unsure else [*CHECKS, *VERDICTS]

    @given(case=schema[route.path][route.method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=5,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    def call(case: schemathesis.Case[Any]) -> None:
        assume(is_sent_whole(case.query))
        case.call_and_validate(base_url=url, headers=AUTHORIZED, checks=received, timeout=60)

    call()


def is_sent_whole(query: Mapping[str, Any] | None) -> bool:
    """A URL has no way to say that a parameter is an empty list or object: it would be left out, and be allowed."""
    return all(value not in ([], {}) for value in (query or {}).values())


def small(schema: Any) -> Any:
    """The same with low limits: to make up manifests as large as they may be takes seconds."""
    if isinstance(schema, list):
        return [small(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: min(value, LOW[key]) if key in LOW and isinstance(value, int) else small(value)
        for key, value in schema.items()
    }


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_allowed_requests_are_answered_as_described(url: str, route: Route) -> None:
    call_as_generated(url, route, GenerationMode.POSITIVE)


CAN_BE_WRONG = [route for route in ROUTES if route.query.parameters or route.body]


@pytest.mark.parametrize("route", CAN_BE_WRONG, ids=lambda route: route.name)
def test_forbidden_requests_are_refused_as_described(url: str, route: Route) -> None:
    call_as_generated(url, route, GenerationMode.NEGATIVE)

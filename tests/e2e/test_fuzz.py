"""Requests made up from the OpenAPI document, and bytes that are hardly HTTP, against a cluster of simulated nodes.

Every day with few examples; `make fuzz` with many (SHUNTER_FUZZ_EXAMPLES), from a new seed each time."""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote, urlencode

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
from tests.e2e.cluster import Cluster
from tests.e2e.rest import Rest
from tests.unit.api.http.test_openapi import small

EXAMPLES = int(os.environ.get("SHUNTER_FUZZ_EXAMPLES", "0"))
EXAMPLES_EVERY_DAY = 2
MESSAGES_EVERY_DAY = 300
NOT_CALLED = ("stopCluster",)  # it does what it says
ENDLESS = ("follow", "watch")  # parameters that make an answer a stream
UNTIL_THE_END = "followJob"  # lasts as long as the job
CHECKS = [not_a_server_error, checks.status_code_conformance, checks.content_type_conformance]
OPERATIONS = [route for route in ROUTES if route.name not in NOT_CALLED]
# Forbidden requests are tested every day without a cluster, in tests/unit/api/http/test_openapi.py.
CASES = [pytest.param(route, GenerationMode.POSITIVE, id=f"{route.name}-allowed") for route in OPERATIONS] + [
    pytest.param(route, GenerationMode.NEGATIVE, id=f"{route.name}-forbidden")
    for route in OPERATIONS
    if EXAMPLES and (route.query.parameters or route.body)
]


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    running = Cluster(tmp_path_factory.mktemp("home"))
    running.up("--simulate-nodes", "3")
    with running.client() as client:
        client.run(["true"], name="render").wait()
    yield Rest(running)
    running.down()
    running.expect_nothing_left()


@pytest.mark.parametrize(("route", "mode"), CASES)
def test_no_request_is_an_error_of_the_cluster(rest: Rest, route: Route, mode: GenerationMode) -> None:
    document = json.loads(encode(openapi_document([route])))
    document.pop("security")  # every request below has the token
    schema = schemathesis.openapi.from_dict(small(document))

    @given(case=schema[route.path][route.method].as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES or EXAMPLES_EVERY_DAY,
        phases=[Phase.generate, Phase.shrink] if EXAMPLES else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=not EXAMPLES,
        database=None,
    )
    def call(case: schemathesis.Case[Any]) -> None:
        for name in ENDLESS:
            (case.query or {}).pop(name, None)
        if route.name == UNTIL_THE_END:
            assume(not is_unfinished(rest, case))
        headers = {"authorization": rest.authorization, "accept": "application/json"}
        case.call_and_validate(base_url=f"http://{rest.host}:{rest.port}", headers=headers, checks=CHECKS, timeout=60)

    call()


def is_unfinished(rest: Rest, case: schemathesis.Case[Any]) -> bool:
    """Whether it names a job that another request has submitted, and that runs or waits."""
    job = quote(unquote(str(case.path_parameters["job"])), safe="")  # cases have it quoted
    query = urlencode({name: value for name, value in (case.query or {}).items() if name == "namespace"})
    found = rest.ask("GET", f"/jobs/{job}?{query}")
    return found.status == 200 and not found.json.get("ended_at")


def test_bytes_that_are_hardly_http_harm_nobody(rest: Rest) -> None:
    """Whatever is sent is refused or answered, and the next one is served."""
    seed = random.randrange(2**32) if EXAMPLES else 7
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(EXAMPLES * 100 or MESSAGES_EVERY_DAY):
        message = some_message(rng, rest)
        with socket.create_connection((rest.host, rest.port), timeout=60) as connection:
            connection.sendall(message)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(4096)
        assert not answer.startswith(b"HTTP/1.1 5"), message
    assert rest.ask("GET", "/cluster").status == 200


def some_message(rng: random.Random, rest: Rest) -> bytes:
    """A request with some of its bytes changed, repeated, removed or cut off."""
    route = rng.choice(OPERATIONS)
    path = route.path.replace("{job}", "render").replace("{index}", "0")
    headers = [f"host: {rest.host}", f"authorization: {rest.authorization}", "content-type: application/json"]
    body = rng.choice(["", "{}", "[]", '{"items": [1]}', "x" * 100])
    headers.append(rng.choice([f"content-length: {len(body)}", "content-length: 9" * 3, "transfer-encoding: chunked"]))
    method = "GET" if route.method == "GET" else "POST"
    message = bytearray(f"{method} {path} HTTP/1.1\r\n".encode() + "\r\n".join([*headers, "", body]).encode())
    for _ in range(rng.randrange(4)):
        start = rng.randrange(len(message) + 1)
        end = min(len(message), start + rng.randrange(1, 20))
        match rng.randrange(4):
            case 0:
                message[start:end] = rng.randbytes(end - start)
            case 1:
                message[start:start] = message[start:end] * rng.randrange(1, 50)
            case 2:
                del message[start:end]
            case _:
                del message[max(start, 1) :]
    return bytes(message)

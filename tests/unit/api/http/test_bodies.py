"""Request bodies: all of them together have a budget, and large YAML is parsed in another process."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import pytest

from shunter.api.http import large_yaml
from shunter.api.http.app import OPEN_EXTERNAL_LISTENER, ApiSettings, App, build_app
from shunter.api.http.exchange import VALUES_MAX
from shunter.model.errors import Invalid
from tests.unit.api.asgi_client import AUTHORIZED, Client, manifest
from tests.unit.api.fake_gateway import FakeGateway

YAML = AUTHORIZED | {"content-type": "application/yaml"}
KIB = 2**10


def jobs_yaml(count: int, end: str = "") -> bytes:
    head = "---\napiVersion: shunter.dev/v1\nkind: Job\nmetadata: {name: job-%d}\nspec: {command: [echo, yes, %r]}\n"
    return ("".join(head % (number, "x" * 400) for number in range(count)) + end).encode()


@pytest.fixture
def app() -> App:
    return build_app(FakeGateway(), ApiSettings(bodies_bytes_max=300 * KIB))


async def test_all_bodies_together_have_a_budget(app: App) -> None:
    """What is refused is told why and when to try again; small bodies get through all the same."""
    client = Client(app)
    slow = client.start("POST", "/api/v1/bulk/jobs", body=b" " * 200 * KIB, is_whole=False)
    while app.shared.bodies.taken_bytes < 200 * KIB:
        await asyncio.sleep(0)
    refused = await client.call("POST", "/api/v1/bulk/jobs", body=[b" " * 100 * KIB, b" " * 100 * KIB])
    assert refused.status == 429
    assert "the bodies of other requests take" in refused.json["detail"]
    assert "of 307,200 bytes" in refused.json["detail"]
    assert int(refused.headers["retry-after"]) >= 1
    assert app.shared.bodies.taken_bytes == 200 * KIB
    assert (await client.post("/api/v1/jobs", manifest())).status == 201
    slow.hang_up()
    await slow.finished()
    assert app.shared.bodies.taken_bytes == 0
    large = json.dumps({"items": [manifest(f"job-{number}") for number in range(1_500)]}).encode()
    assert len(large) > 150 * KIB
    assert (await client.call("POST", "/api/v1/bulk/jobs", body=large)).status == 201
    assert app.shared.bodies.taken_bytes == 0


async def test_an_open_listener_takes_small_bodies_from_a_budget_of_its_own(app: App) -> None:
    """Who has no token cannot use up what the API with a token needs."""
    external = build_app(FakeGateway(), listener=OPEN_EXTERNAL_LISTENER, shared_with=app)
    client = Client(external)
    refused = await client.call("POST", "/external/schedulings", body=[b" " * 200 * KIB] * 2, headers={})
    assert refused.status == 413
    assert "larger than 262,144 bytes; send it to the API with a token" in refused.json["detail"]
    slow = [
        client.start("POST", "/external/schedulings", body=b" " * 250 * KIB, headers={}, is_whole=False)
        for _ in range(16)
    ]
    while external.bodies.taken_bytes < 16 * 250 * KIB:
        await asyncio.sleep(0)
    assert app.shared.bodies.taken_bytes == 0
    busy = await client.call("POST", "/external/schedulings", body=b" " * 250 * KIB, headers={})
    assert busy.status == 429
    for call in slow:
        call.hang_up()
        await call.finished()
    assert external.bodies.taken_bytes == 0


async def test_a_stream_does_not_hold_the_body_that_began_it(app: App) -> None:
    client = Client(app)
    call = client.start("POST", "/api/v1/jobs?follow=end", body=json.dumps(manifest()).encode())
    await call.chunk()
    assert app.shared.bodies.taken_bytes == 0
    call.hang_up()
    await call.finished()


async def test_large_yaml_means_the_same_and_its_problems_too(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    async def outcomes(parser: large_yaml.YamlParser) -> list[object]:
        found: list[object] = []
        large_numbers = f"---\na: [{2**64}, {-(2**63) - 1}, {10**60}, {2**64 - 1}, 0x{'f' * 50}]\n"
        for text in (
            jobs_yaml(100),
            jobs_yaml(100, large_numbers),
            jobs_yaml(100, "---\na: 1\na: 2\n"),
            jobs_yaml(100, "---\n["),
        ):
            try:
                found.append(await parser.parse(text))
            except Invalid as error:
                found.append(error.problems)
        return found

    in_child = await outcomes(app.shared.yaml)
    monkeypatch.setattr(large_yaml, "IN_PROCESS_SIZE_MAX", 2**20)
    assert in_child == await outcomes(app.shared.yaml)
    assert app.shared.yaml is not None


async def test_a_key_of_large_yaml_may_be_any_integer(app: App) -> None:
    [*_, last] = await app.shared.yaml.parse(jobs_yaml(100, f"---\n1: 1\n{2**64}: 2\n"))
    assert last == {1: 1, str(2**64): 2}


async def test_yaml_beyond_its_limit_is_refused_with_the_limit() -> None:
    client = Client(build_app(FakeGateway()))
    for path in ("/api/v1/apply", "/api/v1/jobs"):
        answer = await client.call("POST", path, body=[b" " * 2**20] * 5, headers=YAML)
        assert answer.status == 413
        assert "larger than 4,194,304 bytes; send JSON" in answer.json["detail"]


async def test_aliases_that_expand_too_far_are_refused() -> None:
    client = Client(build_app(FakeGateway()))
    bomb = b'a: &a "' + b"x" * 100_000 + b'"\nb: [' + b"*a, " * 1_000 + b"]\n"
    answer = await client.call("POST", "/api/v1/apply", body=bomb, headers=YAML)
    assert answer.status == 413
    assert "expands to more than 33,554,432 bytes" in answer.json["detail"]


@pytest.mark.parametrize("unit", [b"{},", b"[],", b"1,", b'{"a":[1]},'])
@pytest.mark.parametrize("path", ["/api/v1/jobs", "/api/v1/bulk/jobs", "/api/v1/apply"])
async def test_json_of_very_many_values_is_refused_before_it_is_parsed(path: str, unit: bytes) -> None:
    """30 MB of empty objects would take 680 MB in the manager, and stall it for seconds."""
    client = Client(build_app(FakeGateway()))
    body = b'{"items":[' + unit * (VALUES_MAX + 1) + b"0]}"
    tracemalloc.start()
    try:
        answer = await client.call("POST", path, body=body)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.status == 413
    assert "the body has more than 1,000,000 values; split it" in answer.json["detail"]
    assert peak_bytes < 8 * 2**20


async def test_large_json_with_few_values_is_parsed() -> None:
    client = Client(build_app(FakeGateway()))
    items = [manifest(f"job-{number}", command=["echo", "x" * 1_500]) for number in range(1_500)]
    body = json.dumps({"items": items}).encode()
    assert len(body) > VALUES_MAX
    assert (await client.call("POST", "/api/v1/bulk/jobs", body=body)).status == 201


@pytest.mark.parametrize(
    ("text", "at", "value"),
    [
        (r'{"command": ["\ud800"]}', "body, line 1, column 15", r"\ud800"),
        (r'{"command": ["\\\uDBFFabc"]}', "body, line 1, column 17", r"\uDBFF"),
        ('{\n"a": "\\ud83d\\ude00 \\udc00"}', "body, line 2, column 20", r"\udc00"),
        (r'{"a": "\ud800\u0041"}', "body, line 1, column 8", r"\ud800"),
    ],
)
async def test_an_unpaired_surrogate_is_named(text: str, at: str, value: str) -> None:
    answer = await Client(build_app(FakeGateway())).call("POST", "/api/v1/jobs", body=text.encode())
    assert answer.status == 400
    [problem] = answer.json["problems"]
    assert (problem["field"], problem["message"], problem["value"]) == (at, "is an unpaired surrogate", value)


async def test_a_body_that_ends_too_early_is_still_called_truncated() -> None:
    answer = await Client(build_app(FakeGateway())).call("POST", "/api/v1/jobs", body=rb'{"a": "\ud83d\ude00", "b": [')
    assert "truncated" in answer.json["problems"][0]["message"]


async def test_a_repeated_key_is_refused_with_its_name() -> None:
    body = b'{"kind": "Job", "spec": {"command": ["true"], "count": 1, "count": 500}}'
    answer = await Client(build_app(FakeGateway())).call("POST", "/api/v1/jobs", body=body)
    assert answer.status == 400
    assert answer.json["problems"][0]["message"] == "has the key 'count' twice in one object"

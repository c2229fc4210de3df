"""Tenants and bound keys hold sessions of schedulers over REST, under names of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shunter.gateway import sessions
from shunter.model.errors import Forbidden
from shunter.model.identity.roles import Role
from shunter.ports.identity import NewKey
from tests.unit.api.asgi_client import Client
from tests.unit.gateway.tenant_world import World, in_world
from tests.unit.gateway.test_testbed_keys import build, scheduling

SESSIONS = "/external/sessions"


class Caller:
    def __init__(self, world: World, key: str) -> None:
        self._client, self._key = Client(world.app), key

    async def ask(self, method: str, path: str, body: Any = b"", token: str = "") -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
        headers |= {"shunter-scheduler": token} if token else {}
        return await self._client.call(method, path, body=data, headers=headers)

    async def open(self, name: str = "mine", mode: str = "lead") -> str:
        answer = await self.ask("POST", SESSIONS, {"name": name, "mode": mode})
        assert (answer.status, answer.json["name"]) == (201, name), answer.body
        token: str = answer.json["token"]
        return token


async def callers(world: World) -> tuple[Caller, Caller, Caller, Caller]:
    await build(world)
    identity = world.harness.gateway.identity
    cluster = (await identity.create_key(NewKey((Role.SCHEDULER,)))).key
    return tuple(Caller(world, key) for key in (cluster, *(world.keys[name] for name in ("red", "blue", "bound"))))  # type: ignore[return-value]


def test_equal_names_of_different_owners_are_different_sessions() -> None:
    async def scenario(world: World) -> None:
        every = await callers(world)
        tokens = [await each.open() for each in every]
        for caller, token in zip(every, tokens, strict=True):
            assert (await caller.ask("PUT", f"{SESSIONS}/mine", token=token)).status == 200
        again = await every[1].open()
        for caller, token, status in zip(every, tokens, (200, 409, 200, 200), strict=True):
            assert (await caller.ask("PUT", f"{SESSIONS}/mine", token=token)).status == status
        names = {each.name for each in (await world.harness.gateway.policies.page()).items}
        assert {"remote:mine", "remote:red/mine", "remote:blue/mine", "remote:@anna/mine"} <= names
        assert (await every[1].ask("DELETE", f"{SESSIONS}/mine", token=again)).status == 204

    in_world(scenario)


def test_the_token_of_somebody_else_is_as_unknown_as_any() -> None:
    async def scenario(world: World) -> None:
        every = await callers(world)
        tokens = [await each.open(f"of-{number}") for number, each in enumerate(every)]
        for number, caller in enumerate(every):
            for other in range(len(every)):
                if other != number:
                    requests = [("PUT", f"{SESSIONS}/of-{other}"), ("DELETE", f"{SESSIONS}/of-{other}")]
                    requests += [("GET", "/external/jobs"), ("POST", "/external/schedulings")]
                    for method, path in requests:
                        answers = [await caller.ask(method, path, {}, each) for each in (tokens[other], "1-none")]
                        assert [each.status for each in answers] == [409, 409], (number, other, path)
                        assert answers[0].body == answers[1].body
        for caller, token, number in zip(every, tokens, range(4), strict=True):
            assert (await caller.ask("PUT", f"{SESSIONS}/of-{number}", token=token)).status == 200

    in_world(scenario)


@pytest.mark.parametrize("mode", ["lead", "shadow"])
def test_a_session_of_a_bound_key_decides_on_its_testbed_only(mode: str) -> None:
    async def scenario(world: World) -> None:
        *_, bound = await callers(world)
        token = await bound.open(mode=mode)
        answer = await bound.ask("POST", "/api/v1/apply", scheduling("mine", "own", "hidden"), token)
        assert answer.status == 200
        answer = await bound.ask("POST", "/api/v1/apply", scheduling("more", "other", "hidden"), token)
        assert (answer.status, "your key is bound to testbed lab/own" in answer.json["detail"]) == (403, True)
        assert (await bound.ask("DELETE", "/external/schedulings/theirs", token=token)).status == 403
        is_there = (await bound.ask("GET", "/external/schedulings/mine", token=token)).status
        assert is_there == (200 if mode == "lead" else 404)

    in_world(scenario)


def test_each_owner_has_few_sessions_and_all_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "OWNER_SESSIONS_MAX", 2)
    monkeypatch.setattr(sessions, "OWNERS_SESSIONS_MAX", 3)

    async def scenario(world: World) -> None:
        cluster, red, blue, _ = await callers(world)
        for name in ("one", "two", "one"):
            await red.open(name)
        answer = await red.ask("POST", SESSIONS, {"name": "three"})
        assert (answer.status, answer.fields) == (400, ["name"])
        await blue.open("one")
        assert (await blue.ask("POST", SESSIONS, {"name": "two"})).status == 429
        await cluster.open("one")

    in_world(scenario)


def test_a_bound_caller_is_told_why_it_may_not_place_tasks() -> None:
    async def scenario(world: World) -> None:
        await build(world)
        caller = world.harness.local_gateway.authenticate(world.keys["bound"])
        assert caller is not None
        with pytest.raises(Forbidden, match="POST /external/sessions"):
            world.harness.local_gateway.for_caller(caller, "connectScheduler")

    in_world(scenario)

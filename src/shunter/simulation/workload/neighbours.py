"""A second tenant in worlds whose jobs belong to the first: an administrator makes its users, keys and join tokens, and
it reads whatever lists everything. Nothing that it reads may be of the first tenant. Driven by
`simulation.workload.users`.

It has its own random source. Only worlds from `simulation.world.NEIGHBOURS_FROM` on have it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from shunter.engine.engine import Engine
from shunter.engine.identity.join_tokens import JoinTokenDraft
from shunter.engine.identity.keys import KeyDraft
from shunter.engine.identity.tenants import TenantUpdate
from shunter.gateway.jobs.dead_letters import DeadLetters
from shunter.gateway.jobs.queues import Queues
from shunter.gateway.monitor.search import search
from shunter.gateway.scope import Scope
from shunter.gateway.streams.events import Events
from shunter.model.errors import Busy, NotFound, Rejected, ShunterError
from shunter.model.identity.keys import SecretDigest, digest_secret
from shunter.model.identity.roles import Role
from shunter.ports.admin import EventQuery
from shunter.ports.principals import Principal
from shunter.simulation.checks.reference_records import require
from shunter.simulation.workload.tenants import NAMESPACES, TENANT

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

NEIGHBOUR = "atelier"
READER = Principal("eve", frozenset((Role.VIEWER,)), tenant=NEIGHBOUR)
EVERY_S = (0.3, 3.0)
IDS = ("aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc")  # few, so that keys are rotated and revoked, too
PAGE_MAX = 1_000
READ_TIMEOUT_S = 5.0


class Neighbour:
    def __init__(self, users: Users, world: World, seed: int) -> None:
        self._users, self._world = users, world
        self._rng = random.Random(f"neighbours {seed}")

    async def run(self) -> None:
        """At random moments until the scenario's faults are over, and once more then."""
        clock, rng = self._world.clock, self._rng
        deadline_s = clock.now() + self._world.scenario.fault_period_s
        await self._request(_create_tenant)
        while clock.now() < deadline_s:
            await clock.sleep(rng.uniform(*EVERY_S))
            await self._request(self._draw())
            await self._read()
        await self._read()

    def _draw(self) -> Callable[[Engine], Awaitable[None]]:
        rng = self._rng
        id, secret = rng.choice(IDS), digest_secret(b"salt", str(rng.random()))
        tenant = rng.choice((NEIGHBOUR, TENANT, ""))
        return rng.choice(
            (
                partial(_put_user, tenant=tenant, is_disabled=rng.random() < 0.3),
                partial(_create_key, id=id, secret=secret, tenant=tenant, lifetime_s=rng.choice((None, 5.0))),
                partial(_rotate_key, id=id, secret=secret),
                partial(_revoke_key, id=id),
                partial(_create_join_token, id=id, secret=secret),
                partial(_revoke_join_token, id=id),
            )
        )

    async def _read(self) -> None:
        """Any manager answers, also one that is behind."""
        managers = self._world.live_managers
        if not managers:
            return
        try:
            async with asyncio.timeout(READ_TIMEOUT_S):
                manager = self._rng.choice(managers)
                await manager.gate.wait_open()
                await self._read_all(manager.engine)
        except (TimeoutError, ShunterError) as error:
            self._world.trace.record("neighbour.not_answered", type(error).__name__)

    async def _read_all(self, engine: Engine) -> None:
        scope, store = Scope(READER, engine), self._world.store
        events = Events(engine, store, scope)
        answers = [
            await search(engine, store, "", PAGE_MAX, scope),
            await DeadLetters(READER, engine, store, scope).page(None, None, PAGE_MAX, None),
            await Queues(READER, engine, scope).page(),
            await events.page(EventQuery(limit=PAGE_MAX, is_newest_first=True)),
        ]
        for answer in answers:
            told = msgspec.json.encode(answer).decode()
            for namespace in NAMESPACES:
                require(f'"namespace":"{namespace}"' not in told, f"tenant {NEIGHBOUR} was told of {namespace}")
            require(TENANT not in told, f"tenant {NEIGHBOUR} was told of {TENANT}")
        self._world.trace.record("neighbour.read", str(len(answers)))

    async def _request(self, call: Callable[[Engine], Awaitable[None]]) -> None:
        try:
            await self._users.request(call)
        except (Rejected, Busy, NotFound) as refusal:  # such as a key that does not exist, or exists already
            self._world.trace.record("neighbour.refused", str(refusal)[:80])


async def _create_tenant(engine: Engine) -> None:
    await engine.create_tenant(NEIGHBOUR, TenantUpdate(), "ada")


async def _put_user(engine: Engine, tenant: str, is_disabled: bool) -> None:
    await engine.put_user("eve", (Role.SUBMITTER,), is_disabled, "ada", tenant)


async def _create_key(engine: Engine, id: str, secret: SecretDigest, tenant: str, lifetime_s: float | None) -> None:
    await engine.create_key(KeyDraft(id, secret, "eve", (Role.SUBMITTER,), "", lifetime_s, tenant), "ada")


async def _rotate_key(engine: Engine, id: str, secret: SecretDigest) -> None:
    await engine.rotate_key(id, secret, 1.0, "ada")


async def _revoke_key(engine: Engine, id: str) -> None:
    await engine.revoke_key(id, "ada")


async def _create_join_token(engine: Engine, id: str, secret: SecretDigest) -> None:
    await engine.create_join_token(JoinTokenDraft(id, "node-9", secret, 60.0), "ada")


async def _revoke_join_token(engine: Engine, id: str) -> None:
    await engine.revoke_join_token(id, "ada")

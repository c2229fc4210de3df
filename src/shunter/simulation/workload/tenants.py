"""A simulated administrator who gives a tenant quotas and changes them, in worlds whose jobs belong to that tenant.
Driven by `simulation.workload.users`.

It has its own random source, so that worlds without tenants stay as they are."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace as with_fields
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shunter.engine.engine import Engine
from shunter.engine.identity.tenants import TenantUpdate
from shunter.model.errors import Busy, Rejected
from shunter.model.identity.quotas import CPU, GPU, MEMORY, PLACED, RUNNING
from shunter.model.job.spec import NAMESPACE_DEFAULT, JobSpec
from shunter.simulation.scenario import Scenario

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

TENANT = "studio"  # its namespace takes the place of the default one
NAMESPACES = (TENANT, "film")
EVERY_S = (0.5, 6.0)
GI = 2**30
LIMITS = {
    RUNNING: (None, 1, 3, 8),
    CPU: (None, 500, 2000, 6000),
    MEMORY: (None, GI, 8 * GI),
    GPU: (None, 1),
}


class TenantAdmin:
    def __init__(self, users: Users, world: World, seed: int) -> None:
        self._users, self._world = users, world
        self._rng = random.Random(f"tenants {seed}")
        self.is_ready = asyncio.Event()  # the tenant exists: jobs can be submitted

    async def run(self) -> None:
        """At random moments until the scenario's faults are over."""
        clock, rng = self._world.clock, self._rng
        deadline_s = clock.now() + self._world.scenario.fault_period_s
        await self._request(partial(_create, quotas=self._draw()))
        self.is_ready.set()
        while clock.now() < deadline_s:
            await clock.sleep(rng.uniform(*EVERY_S))
            await self._set(self._draw())

    async def settle(self) -> None:
        """Every task can start."""
        await self._set(dict.fromkeys(PLACED))

    def _draw(self) -> dict[str, int | None]:
        return {name: self._rng.choice(limits) for name, limits in LIMITS.items()}

    async def _set(self, quotas: dict[str, int | None]) -> None:
        self._world.trace.record("tenant.quotas", str(quotas))
        await self._request(partial(_update, quotas=quotas))

    async def _request(self, call: Callable[[Engine], Awaitable[None]]) -> None:
        try:
            await self._users.request(call)
        except (Rejected, Busy) as refusal:  # its answer was lost, and it exists already
            self._world.trace.record("tenant.refused", str(refusal)[:80])


def with_tenants(scenario: Scenario, seed: int) -> Scenario:
    """The same jobs, all of one tenant. A repeated submit stays the same."""
    drawn: dict[int, list[JobSpec]] = {}
    submits = []
    for submit in scenario.submits:
        if id(submit.specs) not in drawn:
            drawn[id(submit.specs)] = [_of_tenant(spec) for spec in submit.specs]
        submits.append(with_fields(submit, specs=drawn[id(submit.specs)]))
    return with_fields(scenario, submits=submits, tenants_seed=seed)


def _of_tenant(spec: JobSpec) -> JobSpec:
    return replace(spec, namespace=TENANT) if spec.namespace == NAMESPACE_DEFAULT else spec


async def _create(engine: Engine, quotas: dict[str, int | None]) -> None:
    await engine.create_tenant(TENANT, TenantUpdate(namespaces=NAMESPACES, quotas=quotas), "ada")


async def _update(engine: Engine, quotas: dict[str, int | None]) -> None:
    await engine.update_tenant(TENANT, TenantUpdate(quotas=quotas), "ada")

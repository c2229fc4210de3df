"""Simulated users who set, replace, delete and re-encrypt secrets, in worlds whose jobs refer to some. Driven by
`simulation.workload.users`.

It has its own random source, so that worlds without secrets stay as they are."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace as with_fields
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shunter.engine.engine import Engine
from shunter.model import secrets
from shunter.model.errors import Busy, Rejected
from shunter.model.job.spec import BATCH, GroupSpec, JobSpec, SecretRef
from shunter.model.secrets import associated_data, is_text
from shunter.simulation.scenario import Scenario

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

NAMES = ("password", "token")
EVERY_S = (0.2, 3.0)
REFS_RATE, DELETE_RATE, ROTATE_RATE, BINARY_RATE = 0.5, 0.3, 0.15, 0.2


class SecretUser:
    def __init__(self, users: Users, world: World, seed: int) -> None:
        self._users, self._world = users, world
        self._rng = random.Random(f"secrets {seed}")
        submits = world.scenario.submits
        self._namespaces = sorted({"default", *(spec.namespace for each in submits for spec in each.specs)})
        self._values = 0
        self.are_set = asyncio.Event()  # all of them, for the first time: jobs that refer to them can be submitted

    async def run(self) -> None:
        """At random moments until the scenario's faults are over."""
        clock, rng = self._world.clock, self._rng
        deadline_s = clock.now() + self._world.scenario.fault_period_s
        await self._set_all()
        self.are_set.set()
        while clock.now() < deadline_s:
            await clock.sleep(rng.uniform(*EVERY_S))
            namespace, name, what = rng.choice(self._namespaces), rng.choice(NAMES), rng.random()
            try:
                if what < ROTATE_RATE:
                    await self._rotate()
                elif what < ROTATE_RATE + DELETE_RATE:
                    self._world.trace.record("secret.delete", f"{namespace}/{name}")
                    delete = partial(_delete, namespace=namespace, name=name)
                    await self._users.request(delete)
                else:
                    await self._set(namespace, name, is_binary=rng.random() < BINARY_RATE)
            except (Rejected, Busy) as refusal:
                self._world.trace.record("secret.refused", str(refusal)[:80])

    async def settle(self) -> None:
        """Every task can have its secrets."""
        await self._set_all()

    async def _set_all(self) -> None:
        for namespace in self._namespaces:
            for name in NAMES:
                await self._set(namespace, name)

    async def _set(self, namespace: str, name: str, *, is_binary: bool = False) -> None:
        self._values += 1
        value = f"value {self._values}".encode() + (b"\xff" if is_binary else b"")
        self._world.trace.record("secret.set", f"{namespace}/{name} {self._values}")
        await self._users.request(partial(_set, namespace=namespace, name=name, value=value))

    async def _rotate(self) -> None:
        self._world.trace.record("secret.rotate")
        assert self._world.secret_keys is not None
        self._world.secret_keys.add()
        await self._users.request(_reseal)


def with_secrets(scenario: Scenario, seed: int) -> Scenario:
    """The same jobs, some of which refer to secrets, and the same nodes, whose workers know them. A repeated submit
    stays the same."""
    rng = random.Random(seed)
    drawn: dict[int, list[JobSpec]] = {}
    submits = []
    for submit in scenario.submits:
        if id(submit.specs) not in drawn:
            drawn[id(submit.specs)] = [_with_refs(spec, rng) for spec in submit.specs]
        submits.append(with_fields(submit, specs=drawn[id(submit.specs)]))
    known = {secrets.ATTRIBUTE: "true"}
    hellos, extra = (
        [replace(each, attributes={**each.attributes, **known}) for each in nodes]
        for nodes in (scenario.hellos, scenario.extra)
    )
    return with_fields(scenario, submits=submits, hellos=hellos, extra=extra, secrets_seed=seed)


def _with_refs(spec: JobSpec, rng: random.Random) -> JobSpec:
    if spec.type != BATCH:
        return spec
    return replace(spec, groups=tuple(_draw_group(group, rng) for group in spec.groups))


def _draw_group(group: GroupSpec, rng: random.Random) -> GroupSpec:
    if rng.random() >= REFS_RATE:
        return group
    names = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    refs = tuple(
        SecretRef(name, env=name.upper()) if rng.random() < 0.5 else SecretRef(name, file=name) for name in names
    )
    return replace(group, task=replace(group.task, secrets=refs))


async def _set(engine: Engine, namespace: str, name: str, value: bytes) -> None:
    sealed = engine.secrets.keys.seal(value, associated_data(namespace, name))
    await engine.set_secret(namespace, name, sealed, "ada", is_text=is_text(value))


async def _delete(engine: Engine, namespace: str, name: str) -> None:
    await engine.delete_secret(namespace, name, "ada")


async def _reseal(engine: Engine) -> None:
    """As the gateway does."""
    await engine.wait_committed()
    keys, resealed = engine.secrets.keys, []
    for secret in engine.state.secrets.secrets.values():
        bound_to = associated_data(secret.namespace, secret.name)
        resealed.append((secret, keys.seal(keys.open(secret.sealed, bound_to), bound_to)))
    await engine.reseal_secrets(resealed)

"""What users do to services and nodes: they scale, update, roll back, restart, move, drain, cordon and release. Driven
by `simulation.workload.actions`, which has the other kinds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from shunter.engine.engine import Engine
from shunter.model.errors import Rejected
from shunter.model.job.spec import LONG_RUNNING, SERVICE
from shunter.simulation.checks.model_records import LedgerJob, require
from shunter.simulation.checks.service_rules import unsettled
from shunter.simulation.workload.job_draws import draw_lasting

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

RELEASE_EVERY_S = 5.0
COME_TO_REST_S = 60.0  # within which services are as they shall be once nothing else happens
COME_TO_REST_MAX_S = 600.0  # tasks that fail may be started again for ever


class Upkeep:
    def __init__(self, users: Users, world: World) -> None:
        self._users = users
        self._world = world
        self._chance = world.chance
        self._ledger = world.checkers.ledger

    async def release_nodes(self) -> None:
        """Let every node take work again."""
        for node in list(self._ledger.nodes.values()):
            for call in (_undrain, _uncordon, _release):
                try:
                    await self._users.ask(partial(call, name=node.name))
                except Rejected:  # there was nothing to undo
                    pass

    async def keep_releasing(self) -> None:
        """Tasks go on failing when all is quiet, and nodes go into quarantine for it: somebody lets them out again."""
        while True:
            for node in list(self._ledger.nodes.values()):
                if node.cordoned_by:
                    await self.release_nodes()
            await self._world.clock.sleep(RELEASE_EVERY_S)

    async def check_rest(self) -> None:
        """Services and system jobs come to what was asked for, by themselves. Where the cluster is full they wait for
        others to end: the time is up when nobody has for so long."""
        clock, ended = self._world.clock, self._ledger.ended
        at_most_s = clock.now() + COME_TO_REST_MAX_S
        until_s = clock.now() + COME_TO_REST_S
        while (lacks := unsettled(self._ledger)) and clock.now() < min(until_s, at_most_s):
            await clock.sleep(1.0)
            if self._ledger.ended > ended:
                ended, until_s = self._ledger.ended, clock.now() + COME_TO_REST_S
        require(not lacks, f"lasting jobs have not come to rest: {lacks[:3]}")

    # ---- the kinds ----

    async def scale(self) -> None:
        job = self._some_lasting()
        if job is not None:
            count = self._chance.randint(0, 4)
            await self._users.ask(lambda engine: engine.scale(job.id, {"main": count}, "ada"))

    async def update(self) -> None:
        """To something else, which may be bad; or what is submitted becomes an update by its name."""
        job = self._some_lasting()
        spec = draw_lasting(self._chance)
        if job is not None and job.type == spec.type:
            node = self._chance.choice([None, None, None, *self._node_names()])
            await self._users.ask(lambda engine: engine.update(job.id, spec, "ada", node))

    async def roll_back(self) -> None:
        job = self._some_lasting()
        if job is not None:
            await self._users.ask(lambda engine: engine.roll_back(job.id, "ada"))

    async def restart(self) -> None:
        job = self._some_lasting()
        if job is not None:
            task = self._chance.choice((None, ("main", self._chance.randrange(3))))
            await self._users.ask(lambda engine: engine.restart(job.id, task, "ada"))

    async def move(self) -> None:
        jobs, names = list(self._ledger.unfinished.values()), self._node_names()
        if jobs and names:
            job, node = self._chance.choice(jobs), self._chance.choice(names)
            spec = self._chance.choice(job.specs)
            task = (spec.name, self._chance.randrange(max(spec.count, 1)))
            await self._users.ask(lambda engine: engine.move(job.id, task, node, "ada"))

    async def drain(self) -> None:
        name, deadline_s = self._some_node(), self._chance.choice((None, 0.5, 5.0))
        if name is not None:
            await self._users.ask(lambda engine: engine.drain_node(name, deadline_s, "ada"))
            await self._world.clock.sleep(self._chance.uniform(0.5, 20.0))
            await self._users.ask(partial(_undrain, name=name))

    async def cordon(self) -> None:
        name = self._some_node()
        if name is not None:
            await self._users.ask(lambda engine: engine.cordon_node(name, "looked at"))
            await self._world.clock.sleep(self._chance.uniform(0.5, 10.0))
            await self._users.ask(partial(_uncordon, name=name))

    async def attribute(self) -> None:
        name, value = self._some_node(), self._chance.choice(("1", "2", None))
        if name is not None:
            await self._users.ask(lambda engine: engine.attribute_node(name, {"firmware": value}))

    def _some_lasting(self) -> LedgerJob | None:
        jobs = [job for job in self._ledger.unfinished.values() if job.type in LONG_RUNNING]
        services = [job for job in jobs if job.type == SERVICE]
        return self._chance.choice(services or jobs) if jobs else None

    def _some_node(self) -> str | None:
        names = self._node_names()
        return self._chance.choice(names) if names else None

    def _node_names(self) -> list[str]:
        return [node.name for node in self._ledger.nodes.values()]


def _undrain(engine: Engine, name: str) -> Awaitable[None]:
    return engine.undrain_node(name)


def _uncordon(engine: Engine, name: str) -> Awaitable[None]:
    return engine.release_node(name, "cordon")


def _release(engine: Engine, name: str) -> Awaitable[None]:
    return engine.release_node(name, "quarantine")


KINDS: dict[str, Callable[[Upkeep], Coroutine[Any, Any, None]]] = {
    "scale": Upkeep.scale,
    "update": Upkeep.update,
    "roll_back": Upkeep.roll_back,
    "restart": Upkeep.restart,
    "move": Upkeep.move,
    "drain": Upkeep.drain,
    "cordon": Upkeep.cordon,
    "attribute": Upkeep.attribute,
}

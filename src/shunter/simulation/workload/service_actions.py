"""Actions of simulated users on services and nodes: scale, update, roll back, restart, move, drain, cordon and release.
Driven by `simulation.workload.actions`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from shunter.engine.engine import Engine
from shunter.model.errors import Rejected
from shunter.model.job.spec import LONG_RUNNING, SERVICE
from shunter.model.lifecycles import NodeState
from shunter.simulation.checks.reference_records import ModelJob, ModelNode, require
from shunter.simulation.checks.service_rules import unconverged
from shunter.simulation.workload.job_draws import draw_long_running

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

RELEASE_EVERY_S = 5.0
CONVERGE_S = 60.0  # time for services to converge once nothing else happens
CONVERGE_MAX_S = 600.0  # tasks that fail may be started again forever


class ServiceActions:
    def __init__(self, users: Users, world: World) -> None:
        self._users = users
        self._world = world
        self._rng = world.rng
        self._model = world.checkers.model

    async def release_nodes(self) -> None:
        """Let every node take work again."""
        for node in list(self._model.nodes.values()):
            for call in (_undrain, _uncordon, _release):
                try:
                    await self._users.request(partial(call, name=node.name))
                except Rejected:  # there was nothing to undo
                    pass

    async def release_periodically(self) -> None:
        """Tasks continue to fail when all faults are over, and nodes are quarantined for it: release them again."""
        while True:
            for node in list(self._model.nodes.values()):
                if node.cordoned_by:
                    await self.release_nodes()
                if self._world.scenario.cuts_seed is not None:
                    await self._forget_if_gone(node)
            await self._world.clock.sleep(RELEASE_EVERY_S)

    async def _forget_if_gone(self, node: ModelNode) -> None:
        """Some tasks wait for their node, and this one never comes back."""
        if node.state is NodeState.DOWN and self._world.workers[node.name].is_off:
            node.is_forgotten = True
            try:
                await self._users.request(lambda engine: engine.forget_node(node.name, "ada"))
            except Rejected:  # it is not down any more
                pass

    async def check_converged(self) -> None:
        """Services and system jobs converge by themselves. Where the cluster is full they wait for others to end: the
        time is up when none has ended for that long."""
        clock, ended = self._world.clock, self._model.ended
        hard_deadline_s = clock.now() + CONVERGE_MAX_S
        deadline = clock.now() + CONVERGE_S
        while (shortfalls := unconverged(self._model)) and clock.now() < min(deadline, hard_deadline_s):
            await clock.sleep(1.0)
            if self._model.ended > ended:
                ended, deadline = self._model.ended, clock.now() + CONVERGE_S
        require(not shortfalls, f"lasting jobs have not come to rest: {shortfalls[:3]}")

    # ---- the kinds ----

    async def scale(self) -> None:
        job = self._pick_long_running()
        if job is not None:
            count = self._rng.randint(0, 4)
            await self._users.request(lambda engine: engine.scale(job.id, {"main": count}, "ada"))

    async def update(self) -> None:
        """To something else, which may be bad; or what is submitted becomes an update by its name."""
        job = self._pick_long_running()
        spec = draw_long_running(self._rng)
        if job is not None and job.type == spec.type:
            node = self._rng.choice([None, None, None, *self._node_names()])
            await self._users.request(lambda engine: engine.update(job.id, spec, "ada", node))

    async def roll_back(self) -> None:
        job = self._pick_long_running()
        if job is not None:
            await self._users.request(lambda engine: engine.roll_back(job.id, "ada"))

    async def restart(self) -> None:
        job = self._pick_long_running()
        if job is not None:
            task = self._rng.choice((None, ("main", self._rng.randrange(3))))
            await self._users.request(lambda engine: engine.restart(job.id, task, "ada"))

    async def move(self) -> None:
        jobs, names = list(self._model.unfinished.values()), self._node_names()
        if jobs and names:
            job, node = self._rng.choice(jobs), self._rng.choice(names)
            spec = self._rng.choice(job.specs)
            task = (spec.name, self._rng.randrange(max(spec.count, 1)))
            await self._users.request(lambda engine: engine.move(job.id, task, node, "ada"))

    async def drain(self) -> None:
        name, deadline_s = self._pick_node(), self._rng.choice((None, 0.5, 5.0))
        if name is not None:
            await self._users.request(lambda engine: engine.drain_node(name, deadline_s, "ada"))
            await self._world.clock.sleep(self._rng.uniform(0.5, 20.0))
            await self._users.request(partial(_undrain, name=name))

    async def cordon(self) -> None:
        name = self._pick_node()
        if name is not None:
            await self._users.request(lambda engine: engine.cordon_node(name, "looked at"))
            await self._world.clock.sleep(self._rng.uniform(0.5, 10.0))
            await self._users.request(partial(_uncordon, name=name))

    async def attribute(self) -> None:
        name, value = self._pick_node(), self._rng.choice(("1", "2", None))
        if name is not None:
            await self._users.request(lambda engine: engine.attribute_node(name, {"firmware": value}))

    def _pick_long_running(self) -> ModelJob | None:
        jobs = [job for job in self._model.unfinished.values() if job.type in LONG_RUNNING]
        services = [job for job in jobs if job.type == SERVICE]
        return self._rng.choice(services or jobs) if jobs else None

    def _pick_node(self) -> str | None:
        names = self._node_names()
        return self._rng.choice(names) if names else None

    def _node_names(self) -> list[str]:
        return [node.name for node in self._model.nodes.values()]


def _undrain(engine: Engine, name: str) -> Awaitable[None]:
    return engine.undrain_node(name)


def _uncordon(engine: Engine, name: str) -> Awaitable[None]:
    return engine.release_node(name, "cordon")


def _release(engine: Engine, name: str) -> Awaitable[None]:
    return engine.release_node(name, "quarantine")


KINDS: dict[str, Callable[[ServiceActions], Coroutine[Any, Any, None]]] = {
    "scale": ServiceActions.scale,
    "update": ServiceActions.update,
    "roll_back": ServiceActions.roll_back,
    "restart": ServiceActions.restart,
    "move": ServiceActions.move,
    "drain": ServiceActions.drain,
    "cordon": ServiceActions.cordon,
    "attribute": ServiceActions.attribute,
}

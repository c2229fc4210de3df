"""Actions of simulated users besides submit and stop: hold, release, queue rules, licences, templates and reruns.
Driven by `simulation.workload.users`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from shunter.engine.engine import Engine
from shunter.engine.jobs.rerun import rerun_spec
from shunter.engine.jobs.templates import Dispatch
from shunter.model.errors import Busy, Rejected
from shunter.model.job.spec import JobSpec
from shunter.ports.admin import QueueChange
from shunter.simulation.checks.reference_records import ModelJob, require
from shunter.simulation.workload import service_actions
from shunter.simulation.workload.job_draws import LICENCES, QUEUES

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

STABLE_LEADER_S = 3.0  # after which a manager that leads has dealt with every firing


class UserActions:
    def __init__(self, users: Users, world: World) -> None:
        self._users = users
        self._world = world
        self._rng = world.rng
        self._model = world.checkers.model
        self.service_actions = service_actions.ServiceActions(users, world)

    async def run(self, at_s: float) -> None:
        """One of them, at its time. A refusal is an answer."""
        await self._world.clock.sleep(at_s)
        name = self._rng.choice(sorted((*KINDS, *service_actions.KINDS)))
        self._world.trace.record(f"act.{name}")
        try:
            await (KINDS[name](self) if name in KINDS else service_actions.KINDS[name](self.service_actions))
        except (Rejected, Busy) as refusal:
            self._world.trace.record("act.refused", str(refusal)[:80])

    async def settle(self) -> None:
        """Remove what keeps jobs from ending: templates, queue rules and holds; and provide enough licences."""
        await self._check_firings()
        for namespace, name in list(self._model.templates.by_name):
            await self._drop_template(namespace, name)
        for name in list(self._model.queues):
            await self._users.request(partial(_lift_queue_rules, name=name))
        for licence in LICENCES:
            await self._users.request(partial(_set_enough_licences, licence=licence))
        for job in list(self._model.unfinished.values()):
            if job.is_held:
                await self._hold(job, False)
        await self.service_actions.release_nodes()
        self._world.spawn(self.service_actions.release_periodically())

    async def _check_firings(self) -> None:
        """With a manager that leads, no firing is late."""
        while True:
            leader = self._world.leader
            await self._world.clock.sleep(STABLE_LEADER_S)
            if leader is not None and leader is self._world.leader:
                break
        overdue = self._model.templates.overdue(int(self._world.clock.now() * 1000))
        require(not overdue, f"firings of {overdue} are overdue")

    # ---- the kinds ----

    async def _hold_or_release(self) -> None:
        job = self._pick_job()
        if job is not None:
            await self._hold(job, not job.is_held)

    async def _hold(self, job: ModelJob, is_held: bool) -> None:
        try:
            await self._users.request(lambda engine: engine.hold(job.id, is_held))
        except Rejected as refusal:  # it has ended, or is stopping
            self._world.trace.record("hold.refused", str(refusal)[:80])

    async def _set_queue_rules(self) -> None:
        patch = QueueChange(
            paused=self._rng.choice((None, True, False)),
            strict=self._rng.choice((None, True, False)),
            running_max=self._rng.choice((None, 0, 1, 3)),
            queued_max=self._rng.choice((None, None, 0, 40)),
        )
        name = self._rng.choice(QUEUES)
        await self._users.request(lambda engine: engine.patch_queue(name, patch))

    async def _drop_queue_rules(self) -> None:
        name = self._rng.choice(QUEUES)
        await self._users.request(lambda engine: engine.drop_queue(name))

    async def _purge_queue(self) -> None:
        name = self._rng.choice(QUEUES)
        self._users.purged.add(name)
        await self._users.request(lambda engine: engine.purge_queue(name, "ada"))

    async def _set_licences(self) -> None:
        licence, count = self._rng.choice(LICENCES), self._rng.choice(("1", "2", "4"))
        await self._users.request(lambda engine: engine.set_settings({licence: count}))

    async def _dispatch(self) -> None:
        name = self._pick_template()
        if name is not None:
            key = f"dispatch-{self._rng.randrange(10**9)}"
            answer = await self._users.request(lambda engine: engine.dispatch(Dispatch(*name, "bob", {}, None, key)))
            self._world.checkers.on_acknowledged([answer])

    async def _pause_template(self) -> None:
        name, is_paused = self._pick_template(), self._rng.random() < 0.5
        if name is not None:
            await self._users.request(lambda engine: engine.pause_template(*name, is_paused))

    async def _delete_template(self) -> None:
        name = self._pick_template()
        if name is not None and self._rng.random() < 0.3:
            await self._drop_template(*name)

    async def _drop_template(self, namespace: str, name: str) -> None:
        try:
            await self._users.request(lambda engine: engine.drop_template(namespace, name))
        except Rejected:  # its answer was lost the first time
            self._world.trace.record("template.gone", name)

    async def _rerun(self) -> None:
        """A finished job, all of it."""
        finished = [job for job in self._model.jobs.values() if job.id not in self._model.unfinished]
        if finished:
            job = self._rng.choice(finished[-20:])
            spec = rerun_spec(JobSpec(job.namespace, job.name, job.specs, job.type, job.priority, {}, job.options))
            await self._users.request(lambda engine: engine.start_run(spec, "ada"))

    async def _handle_dead_letters(self) -> None:
        """Dead letters are purged, or replayed as runs of their jobs."""
        leader = self._world.leader
        letters = list(leader.engine.state.dead_letters.letters.values()) if leader is not None else []
        if not letters:
            return
        letter = self._rng.choice(letters)
        job = self._model.jobs.get(letter.job)
        if job is None or self._rng.random() < 0.3:
            await self._users.request(lambda engine: engine.purge_dead([letter.number], "ada"))
            return
        job_spec = JobSpec(job.namespace, job.name, job.specs, job.type, job.priority, {}, job.options)
        spec = rerun_spec(job_spec, {letter.group: [letter.index]})
        await self._users.request(lambda engine: engine.replay([letter.number], [spec], "ada"))

    def _pick_job(self) -> ModelJob | None:
        jobs = list(self._model.unfinished.values())
        return self._rng.choice(jobs) if jobs else None

    def _pick_template(self) -> tuple[str, str] | None:
        names = list(self._model.templates.by_name)
        return self._rng.choice(names) if names else None


def _lift_queue_rules(engine: Engine, name: str) -> Awaitable[None]:
    return engine.patch_queue(name, QueueChange(paused=False, running_max=0, queued_max=0))


def _set_enough_licences(engine: Engine, licence: str) -> Awaitable[None]:
    return engine.set_settings({licence: "4"})


KINDS: dict[str, Callable[[UserActions], Coroutine[Any, Any, None]]] = {
    "hold": UserActions._hold_or_release,
    "rule_queue": UserActions._set_queue_rules,
    "free_queue": UserActions._drop_queue_rules,
    "purge_queue": UserActions._purge_queue,
    "buy_licences": UserActions._set_licences,
    "dispatch": UserActions._dispatch,
    "pause_template": UserActions._pause_template,
    "delete_template": UserActions._delete_template,
    "run_again": UserActions._rerun,
    "dead_letters": UserActions._handle_dead_letters,
}

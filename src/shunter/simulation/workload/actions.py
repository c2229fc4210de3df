"""What users do to a running cluster beside submitting and stopping: they hold and release, set rules of queues, buy
licences, dispatch, pause and delete templates, and run things again. Driven by `simulation.workload.users`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from shunter.engine.engine import Engine
from shunter.engine.jobs.queue_admin import QueuePatch
from shunter.engine.jobs.rerun import repeat
from shunter.engine.jobs.templates import Dispatch
from shunter.model.errors import Busy, Rejected
from shunter.model.job.spec import JobSpec
from shunter.simulation.checks.model_records import LedgerJob, require
from shunter.simulation.workload import service_actions
from shunter.simulation.workload.job_draws import LICENCES, QUEUES

if TYPE_CHECKING:
    from shunter.simulation.workload.users import Users
    from shunter.simulation.world import World

CALM_S = 3.0  # after which a manager that leads has dealt with every firing


class Acts:
    def __init__(self, users: Users, world: World) -> None:
        self._users = users
        self._world = world
        self._chance = world.chance
        self._ledger = world.checkers.ledger
        self.upkeep = service_actions.Upkeep(users, world)

    async def run(self, at_s: float) -> None:
        """One of them, at its time. A refusal is an answer."""
        await self._world.clock.sleep(at_s)
        name = self._chance.choice(sorted((*KINDS, *service_actions.KINDS)))
        self._world.trace.note(f"act.{name}")
        try:
            await (KINDS[name](self) if name in KINDS else service_actions.KINDS[name](self.upkeep))
        except (Rejected, Busy) as refusal:
            self._world.trace.note("act.refused", str(refusal)[:80])

    async def settle(self) -> None:
        """Take away what keeps jobs from ending: templates, rules of queues, holds; and there are licences for all."""
        await self._check_firings()
        for namespace, name in list(self._ledger.templates.by_name):
            await self._drop_template(namespace, name)
        for name in list(self._ledger.queues):
            await self._users.ask(partial(_open_queue, name=name))
        for licence in LICENCES:
            await self._users.ask(partial(_buy_enough, licence=licence))
        for job in list(self._ledger.unfinished.values()):
            if job.is_held:
                await self._hold(job, False)
        await self.upkeep.release_nodes()
        self._world.spawn(self.upkeep.keep_releasing())

    async def _check_firings(self) -> None:
        """With a manager that leads, no firing is late."""
        while True:
            leader = self._world.leader
            await self._world.clock.sleep(CALM_S)
            if leader is not None and leader is self._world.leader:
                break
        overdue = self._ledger.templates.overdue(int(self._world.clock.now() * 1000))
        require(not overdue, f"firings of {overdue} are overdue")

    # ---- the kinds ----

    async def _hold_or_release(self) -> None:
        job = self._some_job()
        if job is not None:
            await self._hold(job, not job.is_held)

    async def _hold(self, job: LedgerJob, is_held: bool) -> None:
        try:
            await self._users.ask(lambda engine: engine.hold(job.id, is_held))
        except Rejected as refusal:  # it has ended, or is stopping
            self._world.trace.note("hold.refused", str(refusal)[:80])

    async def _rule_queue(self) -> None:
        patch = QueuePatch(
            is_paused=self._chance.choice((None, True, False)),
            is_strict=self._chance.choice((None, True, False)),
            running_max=self._chance.choice((None, 0, 1, 3)),
            queued_max=self._chance.choice((None, None, 0, 40)),
        )
        name = self._chance.choice(QUEUES)
        await self._users.ask(lambda engine: engine.patch_queue(name, patch))

    async def _free_queue(self) -> None:
        name = self._chance.choice(QUEUES)
        await self._users.ask(lambda engine: engine.drop_queue(name))

    async def _purge_queue(self) -> None:
        name = self._chance.choice(QUEUES)
        self._users.purged.add(name)
        await self._users.ask(lambda engine: engine.purge_queue(name, "ada"))

    async def _buy_licences(self) -> None:
        licence, count = self._chance.choice(LICENCES), self._chance.choice(("1", "2", "4"))
        await self._users.ask(lambda engine: engine.set_settings({licence: count}))

    async def _dispatch(self) -> None:
        name = self._some_template()
        if name is not None:
            key = f"dispatch-{self._chance.randrange(10**9)}"
            answer = await self._users.ask(lambda engine: engine.dispatch(Dispatch(*name, "bob", {}, None, key)))
            self._world.checkers.on_acknowledged([answer])

    async def _pause_template(self) -> None:
        name, is_paused = self._some_template(), self._chance.random() < 0.5
        if name is not None:
            await self._users.ask(lambda engine: engine.pause_template(*name, is_paused))

    async def _delete_template(self) -> None:
        name = self._some_template()
        if name is not None and self._chance.random() < 0.3:
            await self._drop_template(*name)

    async def _drop_template(self, namespace: str, name: str) -> None:
        try:
            await self._users.ask(lambda engine: engine.drop_template(namespace, name))
        except Rejected:  # its answer was lost the first time
            self._world.trace.note("template.gone", name)

    async def _run_again(self) -> None:
        """A finished job, all of it."""
        finished = [job for job in self._ledger.jobs.values() if job.id not in self._ledger.unfinished]
        if finished:
            job = self._chance.choice(finished[-20:])
            spec = repeat(JobSpec(job.namespace, job.name, job.specs, job.type, job.priority, {}, job.options))
            await self._users.ask(lambda engine: engine.start_run(spec, "ada"))

    async def _look_at_dead(self) -> None:
        """Dead letters are purged, or replayed as runs of their jobs."""
        leader = self._world.leader
        letters = list(leader.engine.state.dead_letters.letters.values()) if leader is not None else []
        if not letters:
            return
        letter = self._chance.choice(letters)
        job = self._ledger.jobs.get(letter.job)
        if job is None or self._chance.random() < 0.3:
            await self._users.ask(lambda engine: engine.purge_dead([letter.number], "ada"))
            return
        whole = JobSpec(job.namespace, job.name, job.specs, job.type, job.priority, {}, job.options)
        spec = repeat(whole, {letter.group: [letter.index]})
        await self._users.ask(lambda engine: engine.replay([letter.number], [spec], "ada"))

    def _some_job(self) -> LedgerJob | None:
        jobs = list(self._ledger.unfinished.values())
        return self._chance.choice(jobs) if jobs else None

    def _some_template(self) -> tuple[str, str] | None:
        names = list(self._ledger.templates.by_name)
        return self._chance.choice(names) if names else None


def _open_queue(engine: Engine, name: str) -> Awaitable[None]:
    return engine.patch_queue(name, QueuePatch(is_paused=False, running_max=0, queued_max=0))


def _buy_enough(engine: Engine, licence: str) -> Awaitable[None]:
    return engine.set_settings({licence: "4"})


KINDS: dict[str, Callable[[Acts], Coroutine[Any, Any, None]]] = {
    "hold": Acts._hold_or_release,
    "rule_queue": Acts._rule_queue,
    "free_queue": Acts._free_queue,
    "purge_queue": Acts._purge_queue,
    "buy_licences": Acts._buy_licences,
    "dispatch": Acts._dispatch,
    "pause_template": Acts._pause_template,
    "delete_template": Acts._delete_template,
    "run_again": Acts._run_again,
    "dead_letters": Acts._look_at_dead,
}

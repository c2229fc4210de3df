"""The users of a simulated world: they submit, rerun, stop and label, and retry until they get an answer.

Created by `simulation.world`. The checkers hold the cluster to the answers that users received."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from shunter.engine.engine import Engine
from shunter.engine.jobs.submit import SubmitResult
from shunter.model.errors import Busy, NotFound, Rejected, ShunterError, Unavailable
from shunter.model.job.spec import LONG_RUNNING
from shunter.ports.principals import Principal
from shunter.ports.security.audit import Origin, request_of
from shunter.simulation.checks.reference_records import ModelJob, require
from shunter.simulation.scenario import never_ends
from shunter.simulation.workload.actions import UserActions
from shunter.simulation.workload.job_draws import Submit
from shunter.simulation.workload.neighbours import Neighbour
from shunter.simulation.workload.objects import ObjectActions
from shunter.simulation.workload.secrets import SecretUser
from shunter.simulation.workload.tenants import TenantAdmin

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager
    from shunter.simulation.world import World

T = TypeVar("T")
ORIGIN = Origin(Principal("ada", frozenset()), "simulated", "rest", "10.0.0.7")
ANSWER_TIMEOUT_S = 8.0
BUSY_MAX_S = 20.0
ANSWER_LOST_RATE = 0.05
LEADER_ASKED_RATE = 0.7


class Users:
    def __init__(self, world: World) -> None:
        self._world = world
        self._answered: dict[str, list[int]] = {}  # key -> jobs
        self.stopped: dict[int, set[tuple[str, int] | None]] = {}  # job -> tasks that a user stopped; None: all of it
        self.purged: set[str] = set()  # queues
        self._actions = UserActions(self, world)
        self._objects = ObjectActions(self, world)
        seed = world.scenario.secrets_seed
        self._secrets = None if seed is None else SecretUser(self, world, seed)
        seed = world.scenario.tenants_seed
        self._tenants = None if seed is None else TenantAdmin(self, world, seed)
        self._neighbour = Neighbour(self, world, seed) if seed is not None and world.scenario.has_neighbour else None

    async def run(self) -> None:
        scenario, rng = self._world.scenario, self._world.rng
        stop_times_s = [rng.uniform(0, scenario.fault_period_s) for _ in range(scenario.stops)]
        label_times_s = [rng.uniform(0, scenario.fault_period_s) for _ in range(scenario.labels)]
        action_times_s = [rng.uniform(0, scenario.fault_period_s) for _ in range(scenario.actions)]
        await asyncio.gather(
            *(self._submit(submit) for submit in scenario.submits),
            *(self._stop_random(at_s) for at_s in stop_times_s),
            *(self._label_random(at_s) for at_s in label_times_s),
            *(self._actions.run(at_s) for at_s in action_times_s),
            *([self._objects.run()] if scenario.has_objects else []),
            *([self._secrets.run()] if self._secrets is not None else []),
            *([self._tenants.run()] if self._tenants is not None else []),
            *([self._neighbour.run()] if self._neighbour is not None else []),
        )

    async def settle(self) -> None:
        """Let everything end: the first node gets the label that some jobs wait for, and jobs that would run or wait
        forever are stopped, also those whose answer got lost."""
        while not await self._label("node-0", "a"):
            await self._world.clock.sleep(1.0)  # it has not joined yet
        if self._secrets is not None:
            await self._secrets.settle()
        if self._tenants is not None:
            await self._tenants.settle()
        await self._actions.settle()
        if self._world.scenario.has_objects:
            await self._objects.settle()
        await self._stop_all(lambda job: job.type not in LONG_RUNNING and any(never_ends(spec) for spec in job.specs))
        await self._actions.service_actions.check_converged()
        await self._stop_all(lambda job: job.type in LONG_RUNNING)

    async def _stop_all(self, matches: Callable[[ModelJob], bool]) -> None:
        for job_id, job in list(self._world.checkers.model.unfinished.items()):
            if matches(job):
                await self._stop(job_id, None, now=False)

    async def _submit(self, submit: Submit) -> None:
        if self._tenants is not None:
            await self._tenants.is_ready.wait()
        if self._secrets is not None:
            await self._secrets.are_set.wait()
        await self._world.clock.sleep(submit.at_s)
        try:
            answers = await self.request(lambda engine: engine.submit(submit.specs, submit.user, submit.key))
        except (Rejected, Busy) as refusal:
            self._world.trace.record("submit.refused", str(refusal)[:80])
            return
        ids = [answer.job_id for answer in answers]
        self._world.trace.record("submit.acknowledged", f"{submit.key} {ids}")
        self._world.checkers.on_acknowledged(answers)
        self.check_answer(submit, answers)

    def check_answer(self, submit: Submit, answers: list[SubmitResult]) -> None:
        require(len(answers) == len(submit.specs), f"{len(submit.specs)} jobs, {len(answers)} answers")
        ids = [answer.job_id for answer in answers]
        if submit.key is not None and submit.key not in self._world.checkers.model.forgotten_keys:
            before = self._answered.setdefault(submit.key, ids)
            require(before == ids, f"key {submit.key} was answered with jobs {before}, then with {ids}")
        for answer, spec in zip(answers, submit.specs, strict=True):
            job = self._world.checkers.model.jobs.get(answer.job_id)
            if job is None or job.type in LONG_RUNNING:
                continue  # a template, or a job that may have been updated since
            is_same_job = job.specs == spec.groups and job.namespace == spec.namespace and spec.name in ("", job.name)
            require(is_same_job, f"job {answer.job_id} is not the job that was submitted")

    def pick_answered(self, rng: random.Random) -> Submit | None:
        """A submit whose repetition changes nothing."""
        forgotten = self._world.checkers.model.forgotten_keys
        answered = [
            each for each in self._world.scenario.submits if each.key in self._answered and each.key not in forgotten
        ]
        return rng.choice(answered) if answered else None

    async def _stop_random(self, at_s: float) -> None:
        await self._world.clock.sleep(at_s)
        model = self._world.checkers.model
        known = [job_id for job_id in self._world.checkers.acknowledged if job_id in model.jobs]
        if not known:
            return
        rng = self._world.rng
        job_id = rng.choice(known)
        job = model.jobs[job_id]
        spec = rng.choice(job.specs)
        task = None if rng.random() < 0.5 else (spec.name, rng.randrange(max(spec.count, 1)))
        try:
            await self._stop(job_id, task, now=rng.random() < 0.3)
        except (Rejected, Busy) as refusal:
            self._world.trace.record("stop.refused", str(refusal)[:80])

    async def _stop(self, job_id: int, task: tuple[str, int] | None, now: bool) -> None:
        self.stopped.setdefault(job_id, set()).add(task)
        self._world.trace.record("stop.asked", f"{job_id} {task}")
        await self.request(lambda engine: engine.stop_tasks(job_id, task, now))

    async def _label_random(self, at_s: float) -> None:
        await self._world.clock.sleep(at_s)
        rng = self._world.rng
        await self._label(rng.choice(sorted(self._world.workers)), rng.choice(("a", "b", None)))

    async def _label(self, name: str, value: str | None) -> bool:
        try:
            await self.request(lambda engine: engine.label_node(name, {"rack": value}))
        except (NotFound, Busy):
            self._world.trace.record("label.refused", name)
            return False
        return True

    async def _call(self, call: Callable[[Engine], Awaitable[T]], engine: Engine) -> T:
        """In worlds with tenants, requests leave records in the audit log."""
        if self._tenants is None:
            return await call(engine)
        with request_of(ORIGIN):
            return await call(engine)

    async def request(self, call: Callable[[Engine], Awaitable[T]]) -> T:
        """Repeat a request until answered. An answer may get lost, and then the request is repeated. Busy for a long
        time, such as a full and paused queue, is an answer too; the time without a leader does not count as busy."""
        world = self._world
        busy_until_s: float | None = None
        while True:
            await world.clock.sleep(world.rng.uniform(0.001, 0.2))
            leader = self._choose_manager()
            if leader is None:
                busy_until_s = None
                continue
            begun_at = world.checkers.histories.begin()
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    await leader.gate.wait_open()
                    answer = await self._call(call, leader.engine)
                    version = leader.engine.committed_version
                    await leader.gate.wait_open()
            except Busy:
                busy_until_s = busy_until_s or world.clock.now() + BUSY_MAX_S
                if world.clock.now() > busy_until_s:
                    raise
                continue
            except (TimeoutError, Unavailable):
                continue
            except ShunterError:
                self._check_current(leader, begun_at, leader.engine.committed_version)
                raise
            self._check_current(leader, begun_at, version)
            if world.rng.random() >= ANSWER_LOST_RATE:
                return answer
            world.trace.record("answer.lost")

    def _check_current(self, leader: SimulatedManager, begun_at: int, version: int) -> None:
        if self._world.scenario.managers:
            self._world.checkers.histories.on_leader_answer(begun_at, version, leader.name)

    def _choose_manager(self) -> SimulatedManager | None:
        """Any one of several managers. A follower refuses what only a leader can do."""
        world = self._world
        if not world.scenario.managers or world.rng.random() < LEADER_ASKED_RATE:
            return world.leader
        return world.rng.choice(world.live_managers) if world.live_managers else None

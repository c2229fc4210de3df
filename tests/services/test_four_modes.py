"""U-01: one policy, on the same recorded input, decides the same in every mode: simulated, in process, remote over real
gRPC, and in shadow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from shunter.adapters.grpc.scheduler_server import SchedulerServer
from shunter.engine.policy.replay import Replay
from shunter.model.protocol.flight_records import Began, Step, is_same
from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, Situation
from shunter.planning.view import ClusterView, Decides, Decision, Policy
from shunter.scheduler import ExternalScheduler, Room
from shunter.simulation.workload.policies import PolicyFactory
from shunter.simulation.world import Failed, simulate
from tests.services.scheduler_harness import callers_of
from tests.unit.engine.memory_flight_log import MemoryFlightLog

TOKEN = "correct-horse"
SEEDS = (19, 43, 49, 56, 10, 18, 1, 2, 4, 6)
STEPS_MIN = 100
PATIENCE_S = 60.0


class WorstFit:
    """The most urgent first, on the nodes with most room, or every other time on those with least."""

    name, fast, wants = "worst-fit", True, ("tasks", "rules", "objects")

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, view: ClusterView, _now: float, budget: int) -> Decision:
        self.asked += 1
        decision, room = Decision(based_on=view.version), Room(view)
        for queued in sorted(view.queued, key=lambda each: (-each.task_class.priority, each.since)):
            rows = np.argsort(-room.of(queued.task_class), kind="stable")
            budget -= room.fill(decision, queued, rows[:: -1 if self.asked % 2 else 1], budget)
        return decision


@pytest.fixture(scope="module")
def recorded() -> list[Step]:
    """What the policy was shown, and decided, in one life of a manager in a simulated world with crashes."""
    for seed in SEEDS:
        lives: dict[int, MemoryFlightLog] = {}
        policy_factory = PolicyFactory(
            lambda _: WorstFit(),
            lambda number, lives=lives: lives.setdefault(number, MemoryFlightLog()),  # type: ignore[misc]
        )
        try:
            simulate(seed, policy_factory=policy_factory)
        except Failed:  # it knows nothing of gangs, so in some worlds somebody waits for ever
            continue
        for tape in lives.values():
            records = tape.records()
            steps = [each for each in records if isinstance(each, Step)]
            placements = sum(len(each.decision.placements) for each in steps)
            if len(tape.segments) == 1 and len(steps) >= STEPS_MIN and placements >= STEPS_MIN:
                assert isinstance(records[0], Began)
                assert (records[0].policy, records[0].is_fresh) == ("worst-fit", True)
                return steps
    raise AssertionError("no world is good for this")


def simulated(recorded: list[Step]) -> list[DecisionRow]:
    return [each.decision for each in recorded]


def in_process(recorded: list[Step]) -> list[DecisionRow]:
    began = Began("rounds", "worst-fit", 0.0, WorstFit.wants, True)
    build: Callable[[str], Policy] = lambda _: WorstFit()  # noqa: E731
    return [each.made for each in Replay(build).run([began, *recorded])]


def remote(recorded: list[Step]) -> list[DecisionRow]:
    return asyncio.run(over_grpc(recorded, WorstFit(), "lead"))


def in_shadow(recorded: list[Step]) -> list[DecisionRow]:
    return asyncio.run(over_grpc(recorded, WorstFit(), "shadow"))


@pytest.mark.parametrize("mode", [in_process, remote, in_shadow], ids=lambda mode: mode.__name__)
def test_the_decision_logs_are_equal_in_all_modes(
    mode: Callable[[list[Step]], list[DecisionRow]], recorded: list[Step]
) -> None:
    """U-01: the decision logs of the same recorded input are identical in all modes."""
    log, expected = mode(recorded), simulated(recorded)
    assert len(log) == len(expected)
    for made, decided in zip(log, expected, strict=True):
        assert is_same(made, decided)
        assert (made.number, made.based_on, made.left) == (decided.number, decided.based_on, decided.left)


class FakeSessions:
    """The service for schedulers, playing a recording: the next situation is shown when one has been decided on."""

    def __init__(self, recorded: list[Step]) -> None:
        self._recorded = recorded
        self.log: list[DecisionRow] = []
        self.agreed = 0
        self._decided = asyncio.Event()
        self.is_over = asyncio.Event()

    async def open(self, name: str, _wants: Collection[str], mode: str) -> FakeSession:
        return FakeSession(self, name, mode)

    async def decide(self, _token: str, row: DecisionRow) -> DecisionAnswer:
        agrees = is_same(row, self._recorded[len(self.log)].decision)
        self.log.append(row)
        self._decided.set()
        return DecisionAnswer(row.based_on, agrees=agrees)

    async def renew(self, _token: str) -> float:
        return PATIENCE_S

    async def show(self, mode: str) -> Situation | None:
        while len(self.log) < len(self._recorded):
            step = self._recorded[len(self.log)]
            self._decided.clear()
            return step.situation if mode == "lead" else replace(step.situation, active=step.decision)
        self.is_over.set()
        return None

    async def decided(self, count: int) -> None:
        while len(self.log) < count:
            self._decided.clear()
            await self._decided.wait()


class FakeSession:
    token, lease_s, close_reason = "played", PATIENCE_S, "the recording is over"

    def __init__(self, sessions: FakeSessions, name: str, mode: str) -> None:
        self._sessions, self.name, self._mode = sessions, name, mode
        self._shown = 0

    async def next(self) -> Situation | None:
        await self._sessions.decided(self._shown)
        self._shown += 1
        return await self._sessions.show(self._mode)

    def close(self, _reason: str) -> None:
        pass


async def over_grpc(recorded: list[Step], policy: Decides, mode: str) -> list[DecisionRow]:
    sessions: Any = FakeSessions(recorded)
    server = SchedulerServer(callers_of({TOKEN: sessions}))
    address = f"127.0.0.1:{await server.start()}"
    scheduler = ExternalScheduler(policy, address, token=TOKEN, mode=mode)
    work = asyncio.create_task(asyncio.to_thread(scheduler.run))
    try:
        async with asyncio.timeout(PATIENCE_S):
            await sessions.is_over.wait()
    finally:
        scheduler.stop()
        await work
        await server.stop()
    assert (scheduler.agreed, scheduler.differed) == (len(recorded), 0)
    return list(sessions.log)

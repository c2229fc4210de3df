"""`ExternalScheduler` with a real engine over real gRPC: it leads, survives the manager's absence, and shadows."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shunter import Unauthorized
from shunter.planning.planner import build_policy
from shunter.scheduler import ClusterView, Decision, ExternalScheduler, Room
from tests.services.scheduler_harness import TOKEN, SchedulerHarness, open_scheduler_harness


class LastNode:
    """All tasks go to the last node with room: nobody else would do that."""

    name = "last-node"

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.thinking: threading.Event | None = None

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        if self.failure is not None:
            raise self.failure
        if self.thinking is not None:
            self.thinking.wait()
        decision, room = Decision(based_on=view.version), Room(view)
        for queued in view.queued:
            rows = np.flatnonzero(room.of(queued.task_class))
            if len(rows):
                count = min(queued.count, int(room.of(queued.task_class)[rows[-1]]))
                room.place(decision, queued.task_class, rows[-1:], np.array([count]))
        return decision


@asynccontextmanager
async def running(
    harness: SchedulerHarness, policy: Any, *, others: tuple[str, ...] = (), **options: Any
) -> AsyncIterator[ExternalScheduler]:
    addresses = [harness.address, *others]
    scheduler = ExternalScheduler(policy, addresses, token=options.pop("token", TOKEN), **options)
    work = asyncio.create_task(asyncio.to_thread(scheduler.run))
    try:
        yield scheduler
    finally:
        scheduler.stop()
        await work


def nodes_of(scheduler: ExternalScheduler) -> set[int]:
    return {row for each in list(scheduler.decisions) for p in each.decision.placements for row in p.nodes}


def placed_by(scheduler: ExternalScheduler) -> int:
    """As its own thread has noted so far: a job may have ended before its scheduler has read the answer."""
    return sum(each.answer.placed for each in list(scheduler.decisions))


async def test_a_policy_leads_from_another_thread() -> None:
    async with open_scheduler_harness() as harness, running(harness, LastNode()) as scheduler:
        harness.use_external_policy("last-node")
        await harness.until(lambda: harness.engine.schedulers.sessions(), "it is connected")
        for number in range(5):
            await harness.ended(await harness.submit(f"job-{number}", 3))
        await harness.until(lambda: placed_by(scheduler) >= 15, "it has read all answers")
        assert placed_by(scheduler) == 15
        assert nodes_of(scheduler) == {3}


async def test_a_policy_goes_on_at_another_manager() -> None:
    async with AsyncExitStack() as opened, open_scheduler_harness() as second:
        first = await opened.enter_async_context(open_scheduler_harness())
        async with running(first, LastNode(), others=(unused_address(), second.address)):
            await first.until(lambda: first.engine.schedulers.sessions(), "it is connected")
            await opened.aclose()
            await second.until(lambda: second.engine.schedulers.sessions(), "it is connected again")


def unused_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


async def test_it_renews_its_lease_while_there_is_nothing_to_do() -> None:
    async with open_scheduler_harness() as harness:
        harness.use_external_policy("last-node", lease_s=1.0)
        async with running(harness, LastNode()):
            await harness.until(lambda: harness.engine.schedulers.sessions(), "it is connected")
            [session] = harness.engine.schedulers.sessions()
            await asyncio.sleep(2.5)
            assert harness.engine.schedulers.sessions() == [session]
            assert session.is_alive(int(harness.engine.now_ms()))


async def test_one_that_thinks_too_long_is_replaced_until_it_is_done() -> None:
    async with open_scheduler_harness() as harness:
        harness.use_external_policy("last-node", lease_s=1.0)
        policy = LastNode()
        async with running(harness, policy) as scheduler:
            await harness.until(lambda: harness.engine.schedulers.sessions(), "it is connected")
            policy.thinking = threading.Event()
            await harness.ended(await harness.submit("in-its-stead"))
            policy.thinking.set()
            policy.thinking = None
            await harness.until(lambda: harness.engine.schedulers.has_leader(harness.engine.now_ms()), "it leads again")
            await harness.ended(await harness.submit("by-itself"))
            await harness.until(lambda: nodes_of(scheduler) == {3}, "it has decided")


async def test_a_shadow_is_told_how_often_it_agrees() -> None:
    class Same:
        name, wants = "same", ("tasks", "rules", "running")

        def __init__(self) -> None:
            self.decide = build_policy("bin-pack").decide

    async with (
        open_scheduler_harness() as harness,
        running(harness, Same(), mode="shadow") as same,
        running(harness, LastNode(), mode="shadow") as other,
    ):
        await harness.until(lambda: len(harness.engine.schedulers.sessions()) == 2, "both are connected")
        for number in range(6):
            await harness.ended(await harness.submit(f"job-{number}", 2))
        await harness.until(lambda: same.agreed >= 6 and other.differed >= 6, "both have been compared")
        assert same.differed == 0


async def test_what_will_not_pass_is_raised() -> None:
    async with open_scheduler_harness() as harness:
        with pytest.raises(Unauthorized, match="the token is missing or wrong"):
            await asyncio.to_thread(ExternalScheduler(LastNode(), harness.address, token="wrong").run)


async def test_a_policy_that_fails_is_told_asked_again_and_does_not_end_the_process() -> None:
    async with open_scheduler_harness() as harness:
        harness.use_external_policy("last-node")
        policy = LastNode()
        policy.failure = RuntimeError("out of ideas")
        async with running(harness, policy) as scheduler:
            await harness.until(lambda: harness.engine.schedulers.sessions(), "it is connected")
            await harness.ended(await harness.submit("by-the-fall-back"))
            [session] = harness.engine.schedulers.sessions()
            assert session.refusals.last_reason == "the policy failed: RuntimeError: out of ideas"
            assert session.state(harness.engine.now_ms()) == "overruled"
            policy.failure = None
            session.refusals.overruled_until_ms = 0  # the time has passed
            await harness.ended(await harness.submit("by-itself"))
            await harness.until(lambda: nodes_of(scheduler) == {3}, "it has decided")


@pytest.mark.parametrize(
    "wrong", [np.array([1.5]), np.array(["one"]), np.array([2**63], np.uint64), np.array([None]), 1]
)
async def test_a_policy_whose_decision_cannot_be_sent_is_asked_again(wrong: Any) -> None:
    """Divided room is a fraction of a task, for example."""

    class Fraction(LastNode):
        times = 0

        def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
            decision = super().decide(view, now, budget)
            if decision.placements and self.times < 3:
                self.times += 1
                decision.placements[0] = replace(decision.placements[0], counts=wrong)
            return decision

    async with open_scheduler_harness() as harness:
        harness.use_external_policy("last-node")
        policy = Fraction()
        async with running(harness, policy) as scheduler:
            await harness.until(lambda: harness.engine.schedulers.sessions(), "it is connected")
            await harness.ended(await harness.submit("at-last"))
            assert policy.times == 3
            await harness.until(lambda: nodes_of(scheduler) == {3}, "it has decided")
            [session] = harness.engine.schedulers.sessions()
            assert session.refusals.last_reason.startswith("the policy failed: ")


async def test_a_policy_that_exceeds_its_budget_is_asked_again() -> None:
    class TooMany(LastNode):
        times = 0

        def decide(self, view: ClusterView, now: float, budget: int) -> Decision:
            decision = super().decide(view, now, budget)
            if decision.placements and self.times < 3:
                self.times += 1
                decision.placements[0].counts[0] = budget + 1
            return decision

    async with open_scheduler_harness() as harness:
        harness.use_external_policy("last-node")
        policy = TooMany()
        async with running(harness, policy):
            await harness.until(lambda: harness.engine.schedulers.sessions(), "it is connected")
            await harness.ended(await harness.submit("in-the-end"))
            [session] = harness.engine.schedulers.sessions()
            assert (policy.times, "more than its budget" in session.refusals.last_reason) == (3, True)

"""An engine as one of several managers: it follows, leads while its lease is held, and follows again."""

from __future__ import annotations

import asyncio
import random

import pytest

from shunter.engine.cluster_settings import on_set
from shunter.engine.leader_elector import STORE_LOOK_EVERY_S, STORE_LOOK_MAX_S, STORE_MISSES_MAX
from shunter.engine.round import Round
from shunter.model.errors import NotLeader, Unavailable
from shunter.model.rest.manager_views import API
from shunter.ports.coordination import ManagerRecord
from shunter.ports.store import LoggedRound
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import spec
from tests.unit.engine.managers import CountingStore, Manager, StoreLink, TestElection, leader_and_follower

TWO_MANAGERS = [ManagerRecord("leader"), ManagerRecord("follower")]


def test_a_promoted_follower_loads_nothing() -> None:
    async def main(_: random.Random) -> None:
        store = CountingStore()
        leader, follower, _election = await leader_and_follower(store)
        await leader.engine.submit([spec("a")], "tester")
        await follower.engine.wait_committed(leader.engine.committed_version)
        store.reads.clear()
        leader.running.cancel()
        await follower.leads.wait()
        assert store.reads.total() == 0
        assert set(follower.engine.state.jobs_by_name["default"]) == {"a"}
        await follower.engine.submit([spec("b")], "tester")

    run_virtual(main, 1)


def test_a_fenced_leader_becomes_a_follower() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(store := CountingStore())
        lease = election.lease
        assert lease is not None
        await store.begin_epoch(lease.term + 1)  # of a leader that this one has not heard of
        with pytest.raises(Unavailable):
            await leader.engine.submit([spec("refused")], "tester")
        await follower.leads.wait()
        await follower.engine.submit([spec("a")], "tester")
        await leader.engine.wait_committed(follower.engine.committed_version)
        assert leader.engine.is_following
        assert set(leader.engine.state.jobs_by_name["default"]) == {"a"}
        with pytest.raises(NotLeader):
            await leader.engine.submit([spec("b")], "tester")

    run_virtual(main, 1)


def test_an_idle_leader_whose_lease_ends_steps_down() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(CountingStore())
        await asyncio.sleep(0.5)
        election.expire()
        await follower.leads.wait()
        await leader.engine.wait_committed()
        assert leader.engine.is_following
        assert not leader.leads.is_set()

    run_virtual(main, 1)


def test_without_its_lease_a_leader_answers_no_read_and_acknowledges_nothing() -> None:
    async def main(_: random.Random) -> None:
        leader, _follower, election = await leader_and_follower(CountingStore())
        await leader.engine.submit([spec("a")], "tester", "key")
        assert election.lease is not None
        election.lease.lose()  # and the engine has not had time to notice
        with pytest.raises(NotLeader):
            await leader.engine.wait_committed()
        with pytest.raises(NotLeader):  # a repeated request changes nothing, so no commit is refused
            await leader.engine.submit([spec("a")], "tester", "key")
        assert not await leader.engine.is_leading()

    run_virtual(main, 1)


def test_a_leader_that_steps_down_hands_over_and_can_lead_again() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, _election = await leader_and_follower(CountingStore())
        leader.engine.step_down()
        await follower.leads.wait()
        assert not leader.leads.is_set()
        follower.engine.step_down()
        await leader.leads.wait()
        await leader.engine.submit([spec("a")], "tester")
        assert (leader.times_led, follower.times_led) == (2, 1)

    run_virtual(main, 1)


def test_an_elected_leader_whose_reload_fails_steps_down_so_that_another_one_can_try() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, _election = await leader_and_follower(store := CountingStore())
        store.failing = {"commit", "begin_epoch"}
        with pytest.raises(Unavailable):
            await leader.engine.submit([spec("lost")], "tester")
        await asyncio.sleep(0.01)
        assert not leader.leads.is_set()
        store.failing = set()
        await asyncio.wait([asyncio.ensure_future(each.leads.wait()) for each in (leader, follower)], timeout=5)
        assert leader.times_led + follower.times_led == 2

    run_virtual(main, 1)


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_leader_that_cannot_read_the_store_hands_over_although_it_has_nothing_to_commit(is_asked: bool) -> None:
    """It refuses all submits, because they need history, so no commit fails. Another manager may be too old, or too
    busy, to say whether it reaches the store."""

    async def main(_: random.Random) -> None:
        store = CountingStore()
        leader, follower, election = await leader_and_follower(store, link := StoreLink(store))
        election.registered = TWO_MANAGERS
        if is_asked:
            election.lags["follower"] = lambda: follower.engine.lag_s
        link.is_refused = True
        with pytest.raises(Unavailable):
            await leader.engine.submit([spec("refused")], "tester")
        await asyncio.wait_for(follower.leads.wait(), STORE_MISSES_MAX * STORE_LOOK_EVERY_S + 0.1)
        await follower.engine.submit([spec("a")], "tester")
        assert leader.engine.is_following

    run_virtual(main, 1)


@pytest.mark.parametrize("silent", ["ended_runs", "commit"])
def test_a_leader_whose_store_never_answers_hands_over_and_answers_its_callers(silent: str) -> None:
    async def main(_: random.Random) -> None:
        store = CountingStore()
        leader, follower, election = await leader_and_follower(store, link := StoreLink(store))
        election.registered = TWO_MANAGERS
        election.lags["follower"] = lambda: follower.engine.lag_s
        store.silent = {silent}
        submitted = asyncio.create_task(leader.engine.submit([spec("a")], "tester"))
        await asyncio.sleep(0.1)  # it waits for the store
        store.silent, link.is_silent = set(), True
        with pytest.raises(Unavailable):
            await asyncio.wait_for(submitted, 15)
        await asyncio.wait_for(follower.leads.wait(), 3)
        await follower.engine.submit([spec("a")], "tester")
        link.is_silent = False
        assert leader.engine.is_following

    run_virtual(main, 1)


@pytest.mark.parametrize("others", [(), (ManagerRecord("api", roles=(API,)),)])
def test_a_leader_that_nobody_can_replace_waits_for_the_store(others: tuple[ManagerRecord, ...]) -> None:
    async def main(_: random.Random) -> None:
        leader, _follower, election = await leader_and_follower(store := CountingStore())
        election.registered = [ManagerRecord("leader"), *others]
        store.failing = {"leading_term"}
        await asyncio.sleep(60)
        assert leader.leads.is_set()
        assert not leader.engine.health_problem

    run_virtual(main, 1)


@pytest.mark.parametrize("silent", [False, True])
def test_a_leader_waits_for_a_store_that_no_manager_reaches_and_goes_on_when_it_is_back(silent: bool) -> None:
    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(store := CountingStore())
        election.registered = TWO_MANAGERS
        election.lags["follower"] = lambda: follower.engine.lag_s
        await leader.engine.submit([spec("a")], "tester")
        await follower.engine.wait_committed(leader.engine.committed_version)
        (store.silent if silent else store.failing).update({"leading_term", "rounds_after", "ended_runs"})
        await asyncio.sleep(60)
        for manager in (leader, follower):
            await manager.engine.wait_committed()
            assert set(manager.engine.state.jobs_by_name["default"]) == {"a"}
        assert (leader.leads.is_set(), leader.engine.is_following) == (True, False)
        store.failing, store.silent = set(), set()
        await asyncio.sleep(1)
        await leader.engine.submit([spec("b")], "tester")
        assert (leader.times_led, follower.times_led) == (1, 0)

    run_virtual(main, 1)


@pytest.mark.parametrize(("lag_s", "hands_over"), [(0.1, True), (30.0, False), (None, False)])
def test_a_leader_without_the_store_hands_over_to_a_manager_that_has_just_read_it(
    lag_s: float | None, hands_over: bool
) -> None:
    async def main(_: random.Random) -> None:
        leader, _follower, election = await leader_and_follower(store := CountingStore())
        election.registered = TWO_MANAGERS
        election.lags["follower"] = lambda: lag_s
        store.failing = {"leading_term"}
        await asyncio.sleep(STORE_MISSES_MAX * STORE_LOOK_EVERY_S + 0.1)
        assert leader.engine.is_following == hands_over

    run_virtual(main, 1)


def test_a_leader_that_steps_down_without_the_store_answers_reads_of_what_was_committed() -> None:
    async def main(_: random.Random) -> None:
        store = CountingStore()
        leader, follower, election = await leader_and_follower(store, link := StoreLink(store))
        election.registered = TWO_MANAGERS
        await leader.engine.submit([spec("a")], "tester")
        version = leader.engine.committed_version
        link.is_refused = True
        await asyncio.wait_for(follower.leads.wait(), 3)
        await follower.engine.submit([spec("b")], "tester")
        await asyncio.sleep(30)
        await leader.engine.wait_committed(version)
        assert set(leader.engine.state.jobs_by_name["default"]) == {"a"}
        assert (leader.engine.is_following, leader.engine.health_problem) == (True, "")
        assert 30 < (leader.engine.lag_s or 0) < 34, "it says how old they are"
        with pytest.raises(NotLeader):
            await leader.engine.wait_committed(version + 1)
        link.is_refused = False
        await asyncio.sleep(1)
        await leader.engine.wait_committed(follower.engine.committed_version)
        assert set(leader.engine.state.jobs_by_name["default"]) == {"a", "b"}

    run_virtual(main, 1)


def test_a_leader_that_steps_down_in_the_middle_of_a_commit_answers_no_reads_before_it_has_loaded_the_state() -> None:
    async def main(_: random.Random) -> None:
        store = CountingStore()
        leader, follower, election = await leader_and_follower(store, link := StoreLink(store))
        election.registered = TWO_MANAGERS
        store.silent = {"commit"}
        submitted = asyncio.create_task(leader.engine.submit([spec("a")], "tester"))
        await asyncio.sleep(0.1)
        store.silent, link.is_refused = set(), True
        with pytest.raises(Unavailable):
            await asyncio.wait_for(submitted, 15)
        await asyncio.wait_for(follower.leads.wait(), 3)
        with pytest.raises(Unavailable):
            await leader.engine.wait_committed()
        assert leader.engine.lag_s is None
        link.is_refused = False
        await asyncio.sleep(1)
        await leader.engine.wait_committed()
        assert not leader.engine.state.jobs

    run_virtual(main, 1)


def test_a_manager_that_is_elected_while_its_store_does_not_answer_gives_the_lead_back() -> None:
    """Beginning an epoch may wait for a minute, and another manager may reach the store."""

    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(store := CountingStore())
        store.silent = {"leading_term", "begin_epoch"}
        leader.engine.step_down()
        await asyncio.sleep(STORE_LOOK_MAX_S + 0.1)
        assert not follower.leads.is_set()
        assert election.lease is None or not election.lease.is_held()

    run_virtual(main, 1)


def test_a_leader_that_misses_the_store_for_a_moment_goes_on() -> None:
    async def main(_: random.Random) -> None:
        leader, _follower, election = await leader_and_follower(store := CountingStore())
        election.registered = TWO_MANAGERS
        for _turn in range(3):
            store.failing = {"leading_term"}
            await asyncio.sleep(STORE_LOOK_EVERY_S)
            store.failing = set()
            await asyncio.sleep(STORE_LOOK_EVERY_S)
        assert (leader.times_led, leader.engine.is_following) == (1, False)

    run_virtual(main, 1)


def test_a_leader_whose_commit_fails_once_stays_the_leader_under_a_new_epoch() -> None:
    async def main(_: random.Random) -> None:
        leader, _follower, _election = await leader_and_follower(store := CountingStore())
        epoch = leader.engine.epoch
        store.failing = {"commit"}
        with pytest.raises(Unavailable):
            await leader.engine.submit([spec("lost")], "tester")
        store.failing = set()
        await leader.engine.wait_committed()
        assert (leader.engine.epoch, leader.times_led) == (epoch + 1, 1)
        assert leader.engine.is_following is False

    run_virtual(main, 1)


def test_a_deposed_leader_whose_commit_fails_does_not_take_the_lead_back() -> None:
    async def main(_: random.Random) -> None:
        leader, follower, election = await leader_and_follower(store := CountingStore())

        def depose(round: Round) -> None:
            on_set(round, {"licence.matlab": "1"})
            election.expire()
            store.failing = {"commit"}

        with pytest.raises(Unavailable):
            await leader.engine.ask(depose)
        store.failing = set()
        await follower.leads.wait()
        epoch = follower.engine.epoch
        await asyncio.sleep(5)
        assert await store.leading_epoch() == epoch
        assert leader.engine.is_following

    run_virtual(main, 1)


class StubbornStore(CountingStore):
    """A read that takes a second to be cancelled, once."""

    is_stubborn = False

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        if self.is_stubborn:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(1)
        return await super().rounds_after(version, limit)


def test_an_elector_that_is_cancelled_while_it_is_elected_ends() -> None:
    async def main(_: random.Random) -> None:
        store = StubbornStore()
        _leader, follower, election = await leader_and_follower(store)
        store.is_stubborn = True
        await asyncio.sleep(0.5)
        election.expire()
        await asyncio.sleep(0.5)  # it waits for its last read to be cancelled
        follower.running.cancel()
        await asyncio.wait([follower.running], timeout=10)
        assert follower.running.cancelled()

    run_virtual(main, 1)


def test_a_manager_that_is_no_candidate_follows_and_never_leads() -> None:
    async def main(_: random.Random) -> None:
        store, election = CountingStore(), TestElection()
        follower = Manager(store, election, is_candidate=False)
        leader = Manager(store, election)
        await leader.leads.wait()
        await leader.engine.submit([spec("a")], "tester")
        await follower.engine.wait_committed(leader.engine.committed_version)
        assert set(follower.engine.state.jobs_by_name["default"]) == {"a"}
        leader.running.cancel()
        await asyncio.sleep(60)
        assert follower.times_led == 0
        await follower.engine.stop()
        await follower.running

    run_virtual(main, 1)

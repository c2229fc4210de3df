"""What every coordination promises, as claims. An adapter's test file makes a `Harness` and runs all of them:

    @pytest.mark.parametrize("claim", CONTRACT)
    async def test_etcd_coordination(claim: Claim, servers: EtcdServers) -> None:
        async with EtcdHarness(servers) as harness:
            await claim(harness)

`ALONE` has the claims that need no second manager, no fault and no time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import pytest

from shunter.ports.coordination import Coordination, ManagerRecord

WAIT_MAX_S = 30.0  # on a busy machine

T = TypeVar("T")


class Harness(Protocol):
    ttl_s: float

    async def join(self, name: str) -> Coordination:
        """A member that is open. The harness closes it at the end."""
        ...

    async def cut(self, name: str) -> None:
        """Cut a member off from the servers, so that neither notices at once."""
        ...

    async def heal(self, name: str) -> None: ...

    async def pass_time(self, seconds: float) -> None: ...


Claim = Callable[[Harness], Awaitable[None]]


# ---- one manager ----


async def the_only_manager_is_elected(harness: Harness) -> None:
    a = await harness.join("a")
    await a.register(ManagerRecord("a", url="http://a"))
    lease = await within(a.acquire())
    assert lease.is_held()
    await until_leader(a, ManagerRecord("a", url="http://a"))


async def a_record_is_listed_and_may_change(harness: Harness) -> None:
    a = await harness.join("a")
    await a.register(ManagerRecord("a", url="http://a", workers="a:1", version="1", format=3))
    await until(a, lambda: a.managers() == [ManagerRecord("a", "http://a", "a:1", "1", 3)])
    await a.register(ManagerRecord("a", url="http://b"))
    await until(a, lambda: a.managers() == [ManagerRecord("a", url="http://b")])


# ---- the lease ----


async def one_of_several_holds_the_lease(harness: Harness) -> None:
    members = [await harness.join(name) for name in "abcde"]
    campaigns = [asyncio.ensure_future(member.acquire()) for member in members]
    terms = []
    for _ in members:
        await within(asyncio.wait(campaigns, return_when=asyncio.FIRST_COMPLETED))
        await harness.pass_time(harness.ttl_s / 10)
        (winner,) = (index for index, campaign in enumerate(campaigns) if campaign.done())
        lease = campaigns.pop(winner).result()
        assert lease.is_held()
        terms.append(lease.term)
        await members.pop(winner).resign(lease)
    assert terms == sorted(set(terms)), "terms rise"


async def a_term_is_above_the_newest_that_the_caller_knows(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    first = await within(a.acquire(above=10**9))
    assert first.term > 10**9
    campaign = asyncio.ensure_future(b.acquire(above=5))
    await a.resign(first)
    assert (await within(campaign)).term > first.term, "also for one that knows less"


async def a_lease_is_renewed(harness: Harness) -> None:
    a = await harness.join("a")
    lease = await within(a.acquire())
    await harness.pass_time(1.5 * harness.ttl_s)
    assert lease.is_held()
    assert (a.leader(), a.leader_term()) == (ManagerRecord("a"), lease.term)


async def a_lease_without_renewals_ends_before_another_begins(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    first = await within(a.acquire())
    campaign = asyncio.ensure_future(b.acquire())
    lost = asyncio.ensure_future(first.wait_lost())
    await harness.pass_time(harness.ttl_s / 2)  # it is renewed once
    await harness.cut("a")
    second = await while_time_passes(harness, campaign)
    assert not first.is_held()
    assert second.is_held()
    assert second.term > first.term
    await within(lost)
    await harness.heal("a")
    await harness.pass_time(harness.ttl_s / 2)
    assert not first.is_held(), "it does not come back"
    assert second.is_held()


async def a_manager_that_was_cut_off_can_lead_again(harness: Harness) -> None:
    a = await harness.join("a")
    first = await within(a.acquire())
    await harness.cut("a")
    await while_time_passes(harness, asyncio.ensure_future(first.wait_lost()))
    campaign = asyncio.ensure_future(a.acquire())
    await harness.pass_time(harness.ttl_s / 4)
    assert not campaign.done()
    await harness.heal("a")
    second = await while_time_passes(harness, campaign)
    assert second.term > first.term


async def resigning_hands_over(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    first = await within(a.acquire())
    campaign = asyncio.ensure_future(b.acquire())
    lost = asyncio.ensure_future(first.wait_lost())
    await harness.pass_time(harness.ttl_s / 4)
    await a.resign(first)
    assert not first.is_held()
    await within(lost)
    assert (await within(campaign)).term > first.term  # without the passing of any time
    await a.resign(first)  # once more does nothing
    assert (await campaign).is_held()


async def whoever_resigned_lets_the_others_go_first(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    await a.resign(await within(a.acquire()))
    own = asyncio.ensure_future(a.acquire())
    await harness.pass_time(harness.ttl_s / 10)
    second = await within(b.acquire())
    assert not own.done()
    await b.resign(second)
    assert (await while_time_passes(harness, own)).term > second.term


async def a_campaign_that_is_cancelled_takes_nothing(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    for delay_s in (0.0, 0.001, 0.002, 0.004, 0.008, 0.016):
        campaign = asyncio.ensure_future(a.acquire())
        await asyncio.sleep(delay_s)
        campaign.cancel()
        await asyncio.wait({campaign})
        if not campaign.cancelled():
            await a.resign(campaign.result())
    lease = await while_time_passes(harness, b.acquire(), time_max_s=harness.ttl_s / 2)
    assert lease.is_held()


async def closing_hands_over_and_unregisters(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    await a.register(ManagerRecord("a"))
    first = await within(a.acquire())
    campaign = asyncio.ensure_future(b.acquire())
    await until(b, lambda: b.managers() == [ManagerRecord("a")])
    await until_leader(b, ManagerRecord("a"))
    await a.close()
    assert not first.is_held()
    await a.resign(first)  # does nothing
    assert (await within(campaign)).is_held()
    await until(b, lambda: b.managers() == [])


# ---- the registry ----


async def all_see_who_is_registered_and_who_leads(harness: Harness) -> None:
    b, a = await harness.join("b"), await harness.join("a")
    await b.register(ManagerRecord("b"))
    await a.register(ManagerRecord("a"))
    for member in (a, b):
        await until_names(member, ["a", "b"])
        assert (member.leader(), member.leader_term()) == (None, 0)
    lease = await within(b.acquire())
    for member in (a, b):
        await until_leader(member, ManagerRecord("b"))
    await b.resign(lease)
    for member in (a, b):
        await until_leader(member, None)
    await until_names(await harness.join("late"), ["a", "b"])


async def a_leader_that_has_not_registered_has_a_name(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    await within(a.acquire())
    await until_leader(b, ManagerRecord("a"))


async def everybody_who_waits_hears_of_a_change(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    waits = [asyncio.ensure_future(a.wait_changed()) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert not any(wait.done() for wait in waits)
    await b.register(ManagerRecord("b"))
    await within(asyncio.gather(*waits))
    assert a.managers() == [ManagerRecord("b")]


async def a_manager_that_is_cut_off_vanishes_and_returns(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    await a.register(ManagerRecord("a"))
    await b.register(ManagerRecord("b"))
    await until(b, lambda: len(b.managers()) == 2)
    await harness.cut("a")
    await while_time_passes(harness, until(b, lambda: b.managers() == [ManagerRecord("b")]))
    await harness.heal("a")
    await while_time_passes(harness, until(b, lambda: len(b.managers()) == 2))


async def whoever_is_cut_off_does_not_know_the_leader(harness: Harness) -> None:
    a, b = await harness.join("a"), await harness.join("b")
    await b.register(ManagerRecord("b"))
    await within(b.acquire())
    await until_leader(a, ManagerRecord("b"))
    await until(a, lambda: a.managers() == [ManagerRecord("b")])
    await harness.cut("a")
    await while_time_passes(harness, until_leader(a, None))
    assert a.managers() == [ManagerRecord("b")], "as last heard"
    await harness.heal("a")
    await while_time_passes(harness, until_leader(a, ManagerRecord("b")))


ALONE_CLAIMS = (
    the_only_manager_is_elected,
    a_record_is_listed_and_may_change,
)
_CLAIMS = (
    *ALONE_CLAIMS,
    one_of_several_holds_the_lease,
    a_term_is_above_the_newest_that_the_caller_knows,
    a_lease_is_renewed,
    a_lease_without_renewals_ends_before_another_begins,
    a_manager_that_was_cut_off_can_lead_again,
    resigning_hands_over,
    whoever_resigned_lets_the_others_go_first,
    a_campaign_that_is_cancelled_takes_nothing,
    closing_hands_over_and_unregisters,
    all_see_who_is_registered_and_who_leads,
    a_leader_that_has_not_registered_has_a_name,
    everybody_who_waits_hears_of_a_change,
    a_manager_that_is_cut_off_vanishes_and_returns,
    whoever_is_cut_off_does_not_know_the_leader,
)
ALONE = [pytest.param(claim, id=claim.__name__) for claim in ALONE_CLAIMS]
CONTRACT = [pytest.param(claim, id=claim.__name__) for claim in _CLAIMS]


async def within(work: Awaitable[T]) -> T:
    return await asyncio.wait_for(work, WAIT_MAX_S)


async def until(member: Coordination, condition: Callable[[], bool]) -> None:
    """Wait by `wait_changed` alone, so that a missing signal fails the claim."""
    async with asyncio.timeout(WAIT_MAX_S):
        while not condition():
            await member.wait_changed()


async def until_names(member: Coordination, expected: list[str]) -> None:
    await until(member, lambda: [record.name for record in member.managers()] == expected)


async def until_leader(member: Coordination, expected: ManagerRecord | None) -> None:
    await until(member, lambda: member.leader() == expected)


async def while_time_passes(harness: Harness, work: Awaitable[T], time_max_s: float = WAIT_MAX_S) -> T:
    """The result of what happens at some time."""
    task = asyncio.ensure_future(work)
    step_s = harness.ttl_s / 50
    for _ in range(round(time_max_s / step_s)):
        await asyncio.wait({task}, timeout=0)
        if task.done():
            return task.result()
        await harness.pass_time(step_s)
    raise TimeoutError(f"it did not happen within {time_max_s} s")

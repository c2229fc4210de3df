"""Mirrors survive what watches do, and one of two operators holds the lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from shunter.kube.client.lease import LEASES, Lease
from shunter.kube.client.mirror import Mirror
from shunter.kube.node import Node, read_node
from shunter.kube.resources import NODES
from shunter.model.errors import Unavailable
from tests.unit.kube.fake_api import FakeKubeApi
from tests.unit.kube.harness import PATIENCE_S


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0)


async def test_a_mirror_lists_again_when_its_watch_has_expired() -> None:
    api = FakeKubeApi()
    changes: list[tuple[str, str]] = []

    def on_change(before: Node | None, after: Node | None) -> None:
        found = after or before
        assert found is not None
        changes.append((found.name.name, "gone" if after is None else "new" if before is None else "changed"))

    await api.add_node("a", {})
    await api.add_node("b", {})
    mirror = Mirror(api, NODES, read_node, on_change)
    task = asyncio.create_task(mirror.run())
    await until(lambda: len(mirror.items) == 2)
    await api.delete(NODES, "a")
    await api.add_node("c", {})
    api.events.clear()
    api.forgotten = 4  # as if etcd was compacted after these two
    await until(lambda: {name.name for name in mirror.items} == {"b", "c"})
    assert set(changes) == {("a", "new"), ("b", "new"), ("a", "gone"), ("c", "new")}
    task.cancel()


async def test_an_old_event_does_not_undo_what_we_have_written() -> None:
    api = FakeKubeApi()
    await api.add_node("a", {"x": "1"})
    mirror = Mirror(api, NODES, read_node, lambda _before, _after: None)
    old = await api.get(NODES, "a")
    await api.change(NODES, "a", metadata={"labels": {"x": "2"}})
    mirror.put(await api.get(NODES, "a"))
    assert mirror.put(old).labels == {"x": "2"}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lease(api: FakeKubeApi, holder: str, clock: Clock) -> Lease:
    return Lease(api, "shunter-system", "shunter-operator", holder, 15.0, clock)


async def test_one_of_two_holds_the_lease_until_it_is_silent_for_its_duration(clock: Clock) -> None:
    api = FakeKubeApi()
    first, second = lease(api, "first", clock), lease(api, "second", clock)
    await first._try()
    await second._try()
    assert (first.is_held, second.is_held) == (True, False)
    clock.now += 9.9
    assert first.is_held
    clock.now += 0.2  # it stops writing long before another one may begin
    assert not first.is_held
    with pytest.raises(Unavailable, match="another operator leads"):
        first.check()
    await second._try()
    assert not second.is_held
    clock.now += 15.0
    await second._try()
    assert second.is_held
    await first._try()
    assert not first.is_held
    found = await api.get(LEASES, "shunter-operator", "shunter-system")
    assert (found["spec"]["holderIdentity"], found["spec"]["leaseTransitions"]) == ("second", 1)


async def test_a_renewed_lease_stays_and_a_released_one_is_free_at_once(clock: Clock) -> None:
    api = FakeKubeApi()
    first, second = lease(api, "first", clock), lease(api, "second", clock)
    await first._try()
    for _ in range(5):
        clock.now += 5.0
        await first._try()
        await second._try()
        assert (first.is_held, second.is_held) == (True, False)
    await first._release()
    await second._try()
    assert (first.is_held, second.is_held) == (False, True)

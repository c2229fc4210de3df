"""Secrets where several managers share a store: each has its own keys, and whoever leads needs them."""

from __future__ import annotations

import asyncio
import logging
import random
from pathlib import Path

import pytest

from shunter.adapters.crypto.key_ring import KeyFile, KeyRing
from shunter.engine.changes.formats import FORMAT
from shunter.gateway.explain.why import reasons_of
from shunter.model.protocol.worker_messages import Hello, Inventory, Orders, Welcome
from shunter.model.secrets import associated_data
from shunter.simulation.runtime.loop import run_virtual
from tests.unit.engine.harness import spec
from tests.unit.engine.managers import CountingStore, Manager, leader_and_follower
from tests.unit.engine.secrets.test_orders import with_secret


async def join(manager: Manager) -> None:
    hello = Hello(1, "n1", "b1", {"cpu": 2000, "memory": 2**30}, attributes={"secrets": "true"})
    welcome = await manager.engine.hello(hello)
    assert isinstance(welcome, Welcome)
    await manager.engine.inventory(welcome.node, Inventory(1, [], []))


def values_sent(manager: Manager) -> list[bytes | None]:
    sent = [each for _, each in manager.workers.sent if isinstance(each, Orders)]
    return [ref.value for orders in sent for task in orders.specs.values() for ref in task.secrets]


def test_a_new_leader_without_the_key_lets_tasks_wait_until_it_has_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(_: random.Random) -> None:
        leader, follower, _election = await leader_and_follower(CountingStore())
        for each in (leader, follower):
            each.engine.allow_format(FORMAT)  # as when both are registered
        keys = leader.engine.secrets.keys = KeyRing(KeyFile(tmp_path / "first", may_create=True))
        follower.engine.secrets.keys = KeyRing(KeyFile(tmp_path / "second", may_create=False))
        sealed = keys.seal(b"hush", associated_data("default", "token"))
        await leader.engine.set_secret("default", "token", sealed, "ada")
        await leader.engine.submit([with_secret(spec("a"))], "tester")
        await follower.engine.wait_committed(leader.engine.committed_version)
        leader.running.cancel()
        await follower.leads.wait()
        await join(follower)
        await asyncio.sleep(5.0)
        job = follower.engine.state.find_job("default", "a")
        assert job is not None
        text = f"secret 'token' is encrypted with key {sealed.key_id}, which the leader does not have"
        assert reasons_of(follower.engine.state, job)[0].text == text
        missing = [each.getMessage() for each in caplog.records if "secrets_key.missing" in each.getMessage()]
        assert len(missing) == 1, "it is said once"
        assert sealed.key_id in missing[0]
        assert values_sent(follower) == []
        (tmp_path / "second").write_text((tmp_path / "first").read_text())
        await asyncio.sleep(1.5)
        assert values_sent(follower) == [b"hush"]

    caplog.set_level(logging.INFO)
    run_virtual(main, 1)

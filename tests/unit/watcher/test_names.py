"""A node's name has one worker: who may take it, who may return, and when it is free."""

from __future__ import annotations

import asyncio

from shunter.model.protocol.worker_messages import Refused, Shutdown, Welcome
from tests.unit.watcher.harness import HEARD, SILENT, FakeWorker, Harness, hello, virtual

# ---- names ----


@virtual
async def test_a_name_whose_worker_is_connected_and_alive_is_taken() -> None:
    harness = await Harness().open()
    first = await harness.join("n1", "b1")
    second = FakeWorker(harness, "n1", "b2")
    await second.send(hello("n1", "b2"))
    assert second.link.refused == Refused(
        "name_taken", "another worker is connected as 'n1'; start one of them with another --name", retry=True
    )
    assert first.link.close_reason is None
    assert harness.engine.call_kinds().count("hello") == 1


@virtual
async def test_a_name_is_taken_while_its_worker_is_still_joining() -> None:
    harness = await Harness().open()
    harness.engine.gate.clear()
    first, second = FakeWorker(harness, "n1", "b1"), FakeWorker(harness, "n1", "b2")
    joining = asyncio.create_task(first.send(hello("n1", "b1")))
    await harness.settle()
    await second.send(hello("n1", "b2"))
    assert second.link.refused is not None
    assert second.link.refused.code == "name_taken"
    harness.engine.gate.set()
    await joining
    assert first.link.of(Welcome)


@virtual
async def test_a_name_is_free_again_when_its_connection_is_gone_and_keeps_its_node() -> None:
    harness = await Harness().open()
    first = await harness.join("n1", "b1")
    first.session.closed("killed")
    second = await harness.join("n1", "b2")
    assert second.node == first.node
    assert harness.watcher.connected == 1


@virtual
async def test_the_same_process_may_come_again_and_its_old_connection_is_replaced() -> None:
    harness = await Harness().open()
    first = await harness.join("n1", "b1")
    second = await harness.join("n1", "b1")
    assert second.node == first.node
    assert first.link.refused is not None
    assert first.link.refused.code == "replaced"
    harness.watcher.send(second.node, Shutdown(False))
    assert second.link.of(Shutdown)
    first.session.closed("the transport noticed late")
    second.beat_every(1.0)
    await harness.advance(10.0)
    assert harness.engine.events_of(second.node)[-1] is HEARD


@virtual
async def test_a_name_whose_worker_has_fallen_silent_may_be_taken_over() -> None:
    """A machine that was switched off and on leaves a connection behind that nobody will ever close."""
    harness = await Harness().open()
    first = await harness.join("n1", "b1")
    await harness.advance(2.9)
    second = await harness.join("n1", "b2")
    assert first.link.refused is not None
    assert first.link.refused.code == "replaced"
    assert second.node == first.node
    assert harness.engine.events_of(second.node) == [HEARD, SILENT, HEARD]


@virtual
async def test_a_hello_that_the_engine_refuses_leaves_the_name_free() -> None:
    harness = await Harness().open()
    harness.engine.refusal = Refused("invalid", "no such datacenter")
    worker = FakeWorker(harness, "n1", "b1")
    await worker.send(hello("n1", "b1"))
    assert worker.link.refused == harness.engine.refusal
    harness.engine.refusal = None
    assert (await harness.join("n1", "b2")).node == 1

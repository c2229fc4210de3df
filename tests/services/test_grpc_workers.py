"""The worker protocol over a real connection, driven by a client that has only the generated stubs."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from shunter.adapters.grpc.channel import FLUSH_TIMEOUT_S
from shunter.adapters.grpc.listen import SCHEDULERS, WORKERS, ServerTimeouts
from shunter.adapters.grpc.worker_server import WorkerServer
from shunter.model.errors import Rejected, Unavailable
from shunter.model.job.spec import TaskSpec
from shunter.model.lifecycles import NodeEvent
from shunter.model.protocol.worker_messages import (
    Ended,
    Held,
    LogData,
    Order,
    Orders,
    Recall,
    Shutdown,
    Started,
    StatsData,
)
from shunter.proto.worker.v1 import worker_pb2 as pb
from shunter.watcher.settings import WatcherSettings
from tests.services.grpc_harness import PATIENCE_S, TOKEN, ScriptedWorker, manager
from tests.unit.watcher.harness import EPOCH

pytestmark = pytest.mark.services

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"  # what a client of HTTP/2 sends first
EMPTY_SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))


async def test_a_worker_registers_brings_its_inventory_and_is_live() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        welcome = await worker.greet()
        assert (welcome.epoch, welcome.node, welcome.heartbeat_s) == (EPOCH, 1, 1.0)
        held = pb.Held(job=1, group=0, attempt=2, first=3, last=3, running=True, started_ms=4)
        await worker.send(inventory=pb.Inventory(seq=1, held=[held]))
        assert (await worker.receive("ack")).seq == 1
        assert await served.engine.verdict(NodeEvent.HEARD) == "connected"
        assert served.engine.calls[-1][2].held == [Held(1, 0, 2, 3, 3, True, 4)]


async def test_orders_go_out_and_reports_come_back_acknowledged_in_order() -> None:
    orders = Orders(
        EPOCH,
        [Order(1, 0, first, first + 9, 1, 5, 2, 2, "default", "render", "main", 100) for first in range(0, 100, 10)],
        {5: TaskSpec(("/bin/true",), {"A": "b"}, memory_bytes=1)},
    )
    async with manager() as served, ScriptedWorker(served.address) as worker:
        node = (await worker.join()).node
        served.watcher.send(node, orders)
        served.watcher.send(node, Recall(EPOCH, [2]))
        heard = await worker.receive("orders")
        assert [order.first for order in heard.orders] == list(range(0, 100, 10))
        assert (heard.specs[5].command[0], heard.specs[5].stop_grace_s) == ("/bin/true", 5.0)
        assert list((await worker.receive("recall")).reservations) == [2]
        for seq in range(2, 52):
            ended = pb.Ended(job=1, attempt=1, first=seq, started_ms=[1], ended_ms=[2], exits=[-1])
            started = pb.Started(job=1, attempt=1, index=seq + 1)
            await worker.send(report=pb.Report(seq=seq, ended=[ended], started=[started]))
        assert [(await worker.receive("ack")).seq for _ in range(2, 52)] == list(range(2, 52))
        reports = [message for kind, _, message in served.engine.calls if kind == "report"]
        assert [report.ended for report in reports] == [
            [Ended(1, 0, 1, seq, [-1], [1], [2], 0, 0)] for seq in range(2, 52)
        ]
        assert reports[-1].started == [Started(1, 0, 1, 52, 0, 0, 0)]


async def test_a_worker_that_comes_back_is_the_same_node() -> None:
    async with manager() as served:
        async with ScriptedWorker(served.address) as worker:
            first = (await worker.join()).node
        assert "closed" in await served.engine.verdict(NodeEvent.SILENT)
        async with ScriptedWorker(served.address) as worker:
            assert (await worker.join(boot="b2")).node == first
            assert await served.engine.verdict(NodeEvent.HEARD) == "connected"


async def test_a_killed_connection_is_noticed_at_once_and_the_node_is_down_at_the_timeout() -> None:
    async with manager(WatcherSettings(timeout_s=0.6)) as served:
        async with ScriptedWorker(served.address) as worker:
            await worker.join()
            worker.call.cancel()
            await served.engine.verdict(NodeEvent.SILENT)
        assert "no heartbeat" in await served.engine.verdict(NodeEvent.TIMED_OUT)


async def test_a_change_of_the_interval_reaches_a_connected_worker() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        served.watcher.set_heartbeat(7.5)
        assert (await worker.receive("set_heartbeat")).heartbeat_s == 7.5


async def test_heartbeats_bring_samples_of_the_machine() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        node = (await worker.join()).node
        await worker.send(heartbeat=pb.Heartbeat(stats=pb.MachineStats(at_ms=5, cpu_busy=0.5, keepers=2)))
        await worker.send(report=pb.Report(seq=2))
        await worker.receive("ack")
        sample = served.watcher.sample(node)
        assert sample is not None
        assert (sample.stats.at_ms, sample.stats.cpu_busy, sample.stats.keepers, sample.stale) == (5, 0.5, 2, False)


async def test_logs_and_statistics_are_asked_for_and_answered_over_the_stream() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        node = (await worker.join()).node
        log = asyncio.create_task(served.watcher.read_log(node, 3, 4, "stdout", 0, 100))
        asked = await worker.receive("read_log")
        assert (asked.segment, asked.record, asked.stream, asked.size_max) == (3, 4, "stdout", 100)
        await worker.send(log_data=pb.LogData(request=asked.request, data=b"\x00\xff", eof=True))
        assert await log == LogData(asked.request, b"\x00\xff", True)
        stats = asyncio.create_task(served.watcher.read_stats(node))
        asked = await worker.receive("read_stats")
        tasks = [pb.TaskStats(job=1, cpu_s=0.5)]
        await worker.send(stats_data=pb.StatsData(request=asked.request, machine=pb.MachineStats(at_ms=1), tasks=tasks))
        answer = await stats
        assert isinstance(answer, StatsData)
        assert answer.tasks[0].cpu_s == 0.5


async def test_a_goodbye_means_that_the_node_has_left_and_the_stream_ends_well() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        await worker.send(goodbye=pb.Goodbye(reason="maintenance"))
        assert await served.engine.verdict(NodeEvent.LEFT) == "left: maintenance"
        assert (await worker.end())[0] is grpc.StatusCode.OK


async def test_a_message_of_a_newer_protocol_is_ignored_and_the_conversation_goes_on() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        newer = pb.WorkerMessage()
        newer.MergeFromString(b"\xfa\x3e\x03abc")
        await worker.call.write(newer)
        await worker.send(report=pb.Report(seq=2))
        assert (await worker.receive("ack")).seq == 2


async def test_a_hundred_workers_join_at_once() -> None:
    async with manager() as served:
        workers = [ScriptedWorker(served.address) for _ in range(100)]
        try:
            welcomes = await asyncio.gather(*(worker.join(f"n{number}") for number, worker in enumerate(workers)))
            assert sorted(welcome.node for welcome in welcomes) == list(range(1, 101))
            assert served.watcher.connected == 100
        finally:
            await asyncio.gather(*(worker.__aexit__() for worker in workers))


async def test_what_is_sent_last_before_a_close_still_arrives() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        node = (await worker.join()).node
        served.watcher.send(node, Shutdown(stop_tasks=True))
        await served.watcher.stop("down")
        assert (await worker.receive("shutdown")).stop_tasks
        assert (await worker.receive("refused")).code == "shutting_down"


async def test_a_server_that_stops_ends_its_connections_itself_and_at_once() -> None:
    async with manager() as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        async with asyncio.timeout(FLUSH_TIMEOUT_S):
            await served.server.stop()
        assert (await worker.receive("refused")).code == "shutting_down"


async def test_two_managers_cannot_share_a_port() -> None:
    async with manager() as served:
        port = int(served.address.rpartition(":")[2])
        with pytest.raises(Unavailable, match=f"cannot listen for workers on 127.0.0.1:{port}"):
            await WorkerServer(served.watcher, TOKEN, "127.0.0.1", port).start()


async def test_an_address_of_another_machine_is_refused_in_one_sentence() -> None:
    async with manager() as served:
        server = WorkerServer(served.watcher, TOKEN, host="192.0.2.1", port=1)
        with pytest.raises(Rejected, match=r"on 192\.0\.2\.1:1: this machine does not have that address"):
            await server.start()


@pytest.mark.parametrize("sent", [b"", PREFACE, PREFACE + EMPTY_SETTINGS], ids=["nothing", "preface", "settings"])
async def test_a_connection_that_calls_nothing_is_closed_and_a_quiet_worker_is_not(sent: bytes) -> None:
    timeouts = ServerTimeouts(handshake_s=0.5, idle_s=0.5)
    async with manager(timeouts=timeouts) as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        reader, writer = await asyncio.open_connection(*served.address.split(":"))
        writer.write(sent)
        async with asyncio.timeout(PATIENCE_S):
            await reader.read()  # until the server closes it
        writer.close()
        served.watcher.set_heartbeat(7.5)
        assert (await worker.receive("set_heartbeat")).heartbeat_s == 7.5


async def test_connections_beyond_the_limit_are_closed_and_a_joined_worker_stays() -> None:
    async with manager(connections_max=3) as served, ScriptedWorker(served.address) as worker:
        await worker.join()
        address = served.address.split(":")
        streams = [await asyncio.open_connection(*address) for _ in range(2)]
        try:
            reader, writer = await asyncio.open_connection(*address)
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b"", "it was served"
            writer.close()
            served.watcher.set_heartbeat(7.5)
            assert (await worker.receive("set_heartbeat")).heartbeat_s == 7.5
        finally:
            for _, writer in streams:
                writer.close()
        async with asyncio.timeout(PATIENCE_S):  # there is room again
            while not await is_served(address):
                await asyncio.sleep(0.01)


async def is_served(address: list[str]) -> bool:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(PREFACE + EMPTY_SETTINGS)
    try:
        return bool(await reader.read(1))
    except ConnectionError:
        return False
    finally:
        writer.close()


def test_grpc_listeners_together_leave_open_files_for_others() -> None:
    """HTTP connections leave a quarter."""
    for descriptors in (256, 1024, 4096, 2**20):
        assert WORKERS.of(descriptors) + SCHEDULERS.of(descriptors) < descriptors // 4
    assert (WORKERS.of(1024), WORKERS.of(2**20)) == (128, 20_000)

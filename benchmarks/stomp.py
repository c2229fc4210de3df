"""Changes over STOMP: a cluster writes a BatchJob 50 times per second, and 200 subscribers get each change with the
whole view; then again with a subscriber that does not read.

A change carries the time at which it was sent: the time from the PUT to the subscriber is measured, with the commit.

Run: python -m benchmarks.stomp"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import uvloop

import shunter
from benchmarks.cluster import cluster
from benchmarks.measure import Bar, Options, Report, Sample, read_options

SUBSCRIBERS, SUBSCRIBERS_SMALL = 200, 10
CHANGES_PER_S = 50
SECONDS, SECONDS_SMALL = 10, 1
STALLED_SUBSCRIPTIONS = 200  # of the one that does not read, so that its buffers are full within seconds
LATE_MAX_S = 10.0  # for the last messages to come
RATE_PER_S = Bar(at_least=0.99 * SUBSCRIBERS * CHANGES_PER_S)
P99_MS = Bar(at_most=50.0)
NONE = Bar(at_most=0)
TOPIC = "/topic/jobs/crawler"
JOB = {
    "apiVersion": "batchjob.gcr.io/v1alpha1",
    "kind": "BatchJob",
    "metadata": {"name": "crawler"},
    "spec": {"commandSpec": {"command": ["true"]}},
}
HANDSHAKE = (
    b"GET /scheduler HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
SENT = re.compile(rb'"sent":"(\d+)"')
SENT_SIZE_MAX = 64


@dataclass
class Received:
    """What all subscribers have heard."""

    is_subscribed: int = 0
    latencies_ms: list[float] = field(default_factory=list)


class Subscriber(asyncio.Protocol):
    """As little of a client as can be, so that the server is measured."""

    def __init__(self, received: Received) -> None:
        self._received = received
        self._rest = b""
        self._is_open = self._is_subscribed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(HANDSHAKE)

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        if not self._is_open and b"\r\n\r\n" in data:
            self._is_open = True
            self._transport.write(masked(f"CONNECT\naccept-version:1.2\n\n\0{subscribe('0', receipt=True)}"))
        if not self._is_subscribed and b"RECEIPT" in data:
            self._is_subscribed = True
            self._received.is_subscribed += 1
        now_ns, end = time.monotonic_ns(), 0
        for found in SENT.finditer(data):
            self._received.latencies_ms.append((now_ns - int(found[1])) / 1e6)
            end = found.end()
        self._rest = data[end:][-SENT_SIZE_MAX:] if self._is_subscribed else data


def subscribe(id: str, *, receipt: bool = False) -> str:
    return f"SUBSCRIBE\nid:{id}\ndestination:{TOPIC}\n" + ("receipt:r\n" if receipt else "") + "\n\0"


def masked(text: str) -> bytes:
    """A text message of a client, masked with zeros: no change to its bytes."""
    data = text.encode()
    assert len(data) < 2**16
    return bytes([0x81, 0x80 | 126, *len(data).to_bytes(2, "big"), 0, 0, 0, 0]) + data


def main() -> None:
    options = read_options(__doc__)
    report = Report("stomp", options)
    with cluster("--external-listen", "127.0.0.1:0", "--external-open") as running:
        address = urlsplit(json.loads((running.home / "cluster.json").read_text())["external"])
        with shunter.connect() as client:
            client.apply([JOB])
        for case, stalls in (("", False), (", beside one that does not read", True)):
            measure(report, options, str(address.hostname), int(address.port or 0), case, stalls)


def measure(report: Report, options: Options, host: str, port: int, case: str, stalls: bool) -> None:
    count, seconds = (SUBSCRIBERS_SMALL, SECONDS_SMALL) if options.small else (SUBSCRIBERS, SECONDS)
    rates, p99s_ms, dropped = [], [], []
    for _ in range(options.rounds):
        with stalled(host, port, is_cut_off=not options.small) if stalls else nobody():
            received, elapsed_s = uvloop.run(fan_out(host, port, count, seconds))
        rates.append(len(received.latencies_ms) / elapsed_s)
        p99s_ms.append(statistics.quantiles(received.latencies_ms, n=100)[98])
        dropped.append(float(count * seconds * CHANGES_PER_S - len(received.latencies_ms)))
    report.figure(f"messages to {count} subscribers{case}", "a second", Sample(tuple(rates)), RATE_PER_S)
    report.figure(f"99 % of them come within{case}", "ms", Sample(tuple(p99s_ms)), P99_MS)
    report.figure(f"messages that did not come{case}", "messages", Sample(tuple(dropped)), NONE)


async def fan_out(host: str, port: int, count: int, seconds: int) -> tuple[Received, float]:
    loop, received = asyncio.get_running_loop(), Received()
    transports = [(await loop.create_connection(lambda: Subscriber(received), host, port))[0] for _ in range(count)]
    async with asyncio.timeout(LATE_MAX_S):
        while received.is_subscribed < count:
            await asyncio.sleep(0.01)
    begun = loop.time()
    changes = seconds * CHANGES_PER_S
    await change(host, port, changes)
    elapsed_s = max(loop.time() - begun, seconds)
    give_up_at = loop.time() + LATE_MAX_S
    while len(received.latencies_ms) < count * changes and loop.time() < give_up_at:
        await asyncio.sleep(0.01)
    for transport in transports:
        transport.abort()
    return received, elapsed_s


async def change(host: str, port: int, count: int) -> None:
    """Write the job's data `count` times, at an even pace."""
    reader, writer = await asyncio.open_connection(host, port)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    for number in range(count):
        await asyncio.sleep(max(0, begun + number / CHANGES_PER_S - loop.time()))
        body = json.dumps({"externalScheduler": {"benchmark": [{"sent": str(time.monotonic_ns())}]}})
        head = f"PUT /external/jobs/crawler HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write((head + body).encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200"), answer
        [length] = re.findall(rb"content-length: (\d+)", answer)
        await reader.readexactly(int(length))
    writer.close()


@contextmanager
def stalled(host: str, port: int, *, is_cut_off: bool) -> Iterator[None]:
    """A subscriber that does not read; at the end it looks whether it has been cut off."""
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.settimeout(LATE_MAX_S)
        peer.connect((host, port))
        peer.sendall(HANDSHAKE)
        assert b" 101 " in peer.recv(4096)
        frames = [subscribe(str(number)) for number in range(STALLED_SUBSCRIPTIONS)]
        peer.sendall(masked("CONNECT\naccept-version:1.2\n\n\0" + "".join(frames)))
        yield
        with suppress(ConnectionResetError):
            while is_cut_off and peer.recv(65536):
                pass  # what the kernel has kept; a time-out says that it was not cut off


@contextmanager
def nobody() -> Iterator[None]:
    yield


if __name__ == "__main__":
    main()

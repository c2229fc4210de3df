"""Stock STOMP clients on a real cluster: `stomp.py`, and `@stomp/stompjs` on Node. Both receive each change once, and
continue after an outage of the manager."""

from __future__ import annotations

import json
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import stomp

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.node_packages import NODE, install_packages
from tests.e2e.rest import Rest
from tests.e2e.test_objects import apply, command, got, testbed
from tests.e2e.test_objects import queue as queued

RECEIVE_MAX_S = 30.0
LISTENER = Path(__file__).parent / "stompjs"
COLLECTIONS = {"/topic/testbeds": "Testbed", "/topic/jobs": "BatchJob", "/topic/schedulings": "Scheduling"}
ONE = "/topic/jobs/crawler"
TOPICS = (*COLLECTIONS, ONE)

Message = dict[str, Any]


class ReceivedMessages:
    """What a client tells, in order."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Message] = queue.Queue()
        self.put = self._queue.put

    def until(self, **wanted: Any) -> list[Message]:
        """All up to the one that says this."""
        seen: list[Message] = []
        while not seen or any(seen[-1].get(key) != value for key, value in wanted.items()):
            seen.append(self._queue.get(timeout=RECEIVE_MAX_S))
        return seen


@pytest.fixture
def endpoint() -> str:
    """An address that a manager can take again after a restart."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"127.0.0.1:{taken.getsockname()[1]}"


def start(cluster: Cluster, endpoint: str, *options: str) -> None:
    cluster.up("--cpu", "2", "--external-listen", endpoint, *options)
    cluster.shunter("node", "label", cluster.items("nodes")[0]["name"], "bench=0")


def expect_each_change_once(cluster: Cluster, received: ReceivedMessages, name: str) -> None:
    """A scheduling from its making to its deletion. What a watch over REST lists, the client has heard, and no more."""
    rest, apis = Rest(cluster), "/apis/batchjob.gcr.io/v1alpha1/objects"
    revision = rest.ask("GET", apis).json["metadata"]["resourceVersion"]
    apply(cluster, command(f"before-{name}"))
    received.until(topic="/topic/jobs", resource=f"before-{name}", action="ADDED")
    apply(cluster, testbed(), command("crawler"), queued(name, "crawler", "crawler"))
    eventually(lambda: got(cluster, "sched", name)["status"]["state"] == "CompletedState", "it has completed")
    cluster.shunter("delete", "scheduling", name)
    eventually(lambda: got(cluster, "bj", "crawler")["status"]["state"] == "ReadyState", "its job may run again")
    apply(cluster, command(f"after-{name}"))
    seen = received.until(topic="/topic/jobs", resource=f"after-{name}", action="ADDED")
    changes = changes_between(rest, f"{apis}?watch=true&resourceVersion={revision}", f"before-{name}", f"after-{name}")
    assert [
        (each["action"], COLLECTIONS[each["topic"]], each["resource"]) for each in seen if each["topic"] != ONE
    ] == [(each["type"], each["object"]["kind"], each["object"]["metadata"]["name"]) for each in changes]
    of_the_job = [each["object"] for each in changes if each["object"]["metadata"]["name"] == "crawler"]
    states = [each["resource"]["state"] for each in seen if each["topic"] == ONE]
    assert states == [each["status"]["state"] for each in of_the_job]
    assert "CompletedState" in states and states[-1] == "ReadyState"


def changes_between(rest: Rest, path: str, first: str, last: str) -> list[Message]:
    """What REST lists from the making of one object, without it, to that of another."""
    changes: list[Message] = []
    with rest.stream(path) as lines:
        for line in filter(None, (each.strip() for each in lines)):
            changes.append(json.loads(line))
            name, action = changes[-1]["object"]["metadata"]["name"], changes[-1]["type"]
            if (name, action) == (first, "ADDED"):
                changes.clear()
            if (name, action) == (last, "ADDED"):
                return changes
    raise AssertionError(f"the watch ended before {last} was made")


def test_stomp_py_hears_of_each_change_once_and_survives_a_restart(home: Cluster, endpoint: str) -> None:
    """S1-21: with heart-beats, without polling; the token is the passcode."""
    start(home, endpoint)
    with stomp_py(endpoint, home.token) as received:
        received.until(connected=True)
        expect_each_change_once(home, received, "first")
        home.down()
        received.until(closed=True)
        start(home, endpoint)
        received.until(connected=True)
        expect_each_change_once(home, received, "second")


@contextmanager
def stomp_py(endpoint: str, token: str) -> Iterator[ReceivedMessages]:
    host, _, port = endpoint.partition(":")
    client = stomp.WSStompConnection(
        [(host, int(port))],
        ws_path="/scheduler",
        heartbeats=(1000, 1000),
        reconnect_attempts_max=-1,
        reconnect_sleep_max=0.2,
    )
    received = ReceivedMessages()
    listener = _Listener(client, received, token)
    client.set_listener("test", listener)
    listener.connect()
    try:
        yield received
    finally:
        listener.is_done = True
        client.disconnect()


class _Listener(stomp.ConnectionListener):  # type: ignore[misc]
    """Subscribes whenever it is connected, and connects whenever it is not."""

    def __init__(self, client: Any, received: ReceivedMessages, token: str) -> None:
        self.is_done = False
        self._client, self._received, self._token = client, received, token
        self._left: set[str] = set()

    def connect(self) -> None:
        self._client.connect("me", self._token, wait=False)

    def on_connected(self, _frame: Any) -> None:
        self._left = set(TOPICS)
        for number, topic in enumerate(TOPICS):
            self._client.subscribe(topic, id=str(number), headers={"receipt": topic})

    def on_receipt(self, frame: Any) -> None:
        self._left.discard(frame.headers["receipt-id"])
        if not self._left:
            self._received.put({"connected": True})

    def on_message(self, frame: Any) -> None:
        self._received.put({"topic": frame.headers["destination"], **json.loads(frame.body)})

    def on_error(self, frame: Any) -> None:
        self._received.put({"error": frame.headers["message"]})

    def on_disconnected(self) -> None:
        self._received.put({"closed": True})
        if not self.is_done:
            threading.Thread(target=self.connect, daemon=True).start()


def test_stompjs_hears_of_each_change_once_and_survives_a_restart(home: Cluster, endpoint: str, tmp_path: Path) -> None:
    """S1-21: through an open door, as a browser connects."""
    installed = install_packages(LISTENER, tmp_path)
    start(home, endpoint, "--external-open")
    with stompjs(installed, f"ws://{endpoint}/scheduler") as received:
        received.until(connected="1.2")
        expect_each_change_once(home, received, "first")
        home.down()
        received.until(closed=True)
        start(home, endpoint, "--external-open")
        received.until(connected="1.2")
        expect_each_change_once(home, received, "second")


def test_sockjs_hears_of_each_change_once(home: Cluster, endpoint: str, tmp_path: Path) -> None:
    """S1-21: the reference implementation's clients connect by SockJS."""
    installed = install_packages(LISTENER, tmp_path)
    start(home, endpoint, "--external-open")
    with stompjs(installed, f"http://{endpoint}/scheduler") as received:
        received.until(connected="1.2")
        expect_each_change_once(home, received, "first")


@contextmanager
def stompjs(folder: Path, url: str) -> Iterator[ReceivedMessages]:
    command = [NODE, "listen.mjs", url, *TOPICS]
    received = ReceivedMessages()
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        reader = threading.Thread(target=_read, args=(process.stdout, received), daemon=True)
        reader.start()
        try:
            yield received
            process.stdin.close()
            assert process.wait(RECEIVE_MAX_S) == 0
        finally:
            process.kill()


def _read(lines: Any, received: ReceivedMessages) -> None:
    for line in lines:
        received.put(json.loads(line))


def test_a_small_run_of_the_benchmark_gives_every_figure() -> None:
    """Its bars are for a machine at rest; that every message comes is asked here, too."""
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.stomp", "--small", "--json"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    figures = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [figure["unit"] for figure in figures] == ["a second", "ms", "messages"] * 2
    assert [figure["value"] for figure in figures if figure["unit"] == "messages"] == [0, 0]

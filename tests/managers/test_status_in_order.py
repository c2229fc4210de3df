"""Every stage of every job reaches every client once and in order, whichever manager it asks, while leaders are killed
and step down. What clients received is compared with the committed history."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeVar

import pytest

from shunter.model.rest.cluster_views import EventView
from shunter.sdk.client import Client
from shunter.sdk.errors import ShunterError, Unavailable
from tests.manager_cluster import ManagerCluster, manager_cluster, shared_folder, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

T = TypeVar("T")

PATIENCE_S = 120.0  # of a client whose only manager is away
FOLLOW_MAX_S = 180.0
LAST = "the-last-job"
CONFIG = '[nodes]\ntimeout = "60s"\n'
JOB_ENDS = ("job.succeeded", "job.failed", "job.cancelled")
JOB_STATES = {"pending": 0, "running": 1, "stopping": 2, "succeeded": 3, "failed": 3, "cancelled": 3}
TASK_ENDS = ("tasks.succeeded", "tasks.failed", "tasks.cancelled")


@pytest.fixture(scope="module")
def cluster() -> Iterator[ManagerCluster]:
    with shared_folder() as folder, manager_cluster(folder, config=CONFIG) as cluster:
        yield cluster


class Followers:
    """Threads that follow events from one version on, each in its own way, until the last job has ended."""

    def __init__(self, cluster: ManagerCluster, version: int) -> None:
        self._cluster, self._version = cluster, version
        self._threads: list[threading.Thread] = []
        self.received: dict[str, list[EventView]] = defaultdict(list)
        self.errors: list[str] = []

    def start(self) -> None:
        for name in self._cluster.managers:
            self._run(self._follow, f"only {name}", self._connect(name))
        self._run(self._follow, "all", self._connect())
        for seed in range(2):
            self._run(self._hop, f"hopper {seed}", random.Random(seed))

    def _connect(self, *managers: str) -> Client:
        """A client waits only for a manager that has answered it before, so it asks before anybody is killed."""
        client = self._cluster.client(*managers, patience_s=PATIENCE_S)
        client.cluster()
        return client

    def join(self) -> None:
        for thread in self._threads:
            thread.join(FOLLOW_MAX_S)
            assert not thread.is_alive(), (
                f"{thread.name} does not see the end; it has {len(self.received[thread.name])} events"
            )

    def _run(self, work: Callable[[str, T], None], name: str, argument: T) -> None:
        def run() -> None:
            try:
                work(name, argument)
            except Exception as error:
                self.errors.append(f"{name}: {error!r}")

        thread = threading.Thread(target=run, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _follow(self, who: str, client: Client) -> None:
        """One stream, which the client resumes by itself."""
        with client:
            for event in client.events(follow=True, after=str(self._version)):
                self.received[who].append(event)
                if is_last(event):
                    return

    def _hop(self, who: str, rng: random.Random) -> None:
        """Leaves each manager in mid-stream, and goes on at another one from the last event."""
        position = str(self._version)
        while True:
            manager = rng.choice(self._cluster.managers)
            with suppress(Unavailable), self._cluster.client(manager, patience_s=1) as client:
                for event in itertools.islice(client.events(follow=True, after=position), rng.randrange(1, 12)):
                    self.received[who].append(event)
                    position = event.id
                    if is_last(event):
                        return


class StateReader:
    """Reads the states of jobs again and again, each time from another manager. It never sees one go back."""

    def __init__(self, cluster: ManagerCluster) -> None:
        self._client = cluster.client(patience_s=PATIENCE_S)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._is_over = threading.Event()
        self.names: list[str] = []
        self.reads = 0
        self.errors: list[str] = []

    def __enter__(self) -> StateReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join(PATIENCE_S)
        self._client.close()

    def _run(self) -> None:
        seen: dict[str, tuple[int, int]] = {}
        try:
            while not self._is_over.is_set():
                for name in list(self.names[-8:]):
                    find = self._client._transport.find
                    find.skip(find.position)
                    job = self._client.job(name).view
                    progress = (JOB_STATES[job.state], job.counts.get("succeeded", 0))
                    if progress < seen.get(name, (0, 0)) or progress[1] < seen.get(name, (0, 0))[1]:
                        self.errors.append(f"{name} went from {seen[name]} back to {progress}")
                    seen[name] = progress
                    self.reads += 1
        except ShunterError as error:
            self.errors.append(repr(error))


def is_last(event: EventView) -> bool:
    return event.name == LAST and event.type in JOB_ENDS


@pytest.mark.smoke
def test_every_client_sees_every_stage_once_and_in_order(cluster: ManagerCluster) -> None:
    with cluster.client(patience_s=PATIENCE_S) as client, StateReader(cluster) as reader:
        version = client.cluster().state_version
        followers = Followers(cluster, version)
        followers.start()
        submitted: list[str] = []
        for round, disturb in enumerate((kill_leader, step_down, kill_follower, step_down, kill_leader)):
            submit_some(client, round, submitted)
            reader.names = submitted
            disturb(cluster, client)
            submit_some(client, round + 100, submitted)
            time.sleep(0.3)  # let the jobs of both halves overlap
            cluster.start(*(name for name in cluster.managers if name not in cluster.processes))
        for name in submitted:
            client.job(name).wait()
        client.run(["/bin/true"], name=LAST).wait()
        followers.join()
        history = read_history(client, version)
    assert not followers.errors
    assert len(history) > 100
    expected = [event.id for event in history]
    assert expected == sorted(expected, key=position_of)
    for who, events in followers.received.items():
        assert [event.id for event in events] == expected, f"{who} missed, repeated or swapped events"
        assert events == history, f"{who} received another content"
    assert len(followers.received) == len(cluster.managers) + 3
    check_stages(history, submitted)
    assert not reader.errors
    assert reader.reads > 50
    print(f"{len(history)} events, {len(submitted)} jobs, {reader.reads} reads, {len(followers.received)} followers")


def submit_some(client: Client, round: int, submitted: list[str]) -> None:
    jobs = {
        f"one-{round}": client.run(["/bin/true"], name=f"one-{round}"),
        f"array-{round}": client.run(["/bin/sleep", "0.2"], count=10, name=f"array-{round}"),
        f"failing-{round}": client.run(["/bin/false"], name=f"failing-{round}", retries=1),
        f"long-{round}": client.run(["/bin/sleep", "3"], name=f"long-{round}"),
    }
    submitted += jobs


def kill_leader(cluster: ManagerCluster, _client: Client) -> None:
    leader = cluster.wait_for_leader()
    cluster.kill(leader)
    cluster.wait_for_leader(other_than=leader)


def kill_follower(cluster: ManagerCluster, _client: Client) -> None:
    leader = cluster.wait_for_leader()
    cluster.kill(next(name for name in cluster.managers if name != leader))


def step_down(cluster: ManagerCluster, client: Client) -> None:
    leader = cluster.wait_for_leader()
    wait_for(lambda: sum(view.lag_s is not None for view in cluster.find_managers(leader)) == 3, "three managers")
    client.step_down()
    cluster.wait_for_leader(other_than=leader)


def read_history(client: Client, version: int) -> list[EventView]:
    """What is committed, up to the end of the last job."""
    found = []
    for event in client.events(after=str(version)):
        found.append(event)
        if is_last(event):
            return found
    raise AssertionError("the history does not have the end of the last job")


def position_of(id: str) -> tuple[int, int]:
    version, _, number = id.partition("-")
    return int(version), int(number)


def check_stages(history: list[EventView], submitted: list[str]) -> None:
    """Accepted, placed, started, ended: the stages of each job and each attempt come in this order."""
    by_job: dict[str, list[EventView]] = defaultdict(list)
    for event in history:
        if event.job is not None:
            by_job[event.job].append(event)
    for name in submitted:
        kinds = [event.type for event in by_job[name]]
        assert kinds[0] == "job.submitted", (name, kinds)
        assert kinds[-1] in JOB_ENDS, (name, kinds)
        assert sum(kind in JOB_ENDS for kind in kinds) == 1
        placed = kinds.index("tasks.placed")
        started = [index for index, kind in enumerate(kinds) if kind == "tasks.started"]
        ended = [index for index, kind in enumerate(kinds) if kind in TASK_ENDS]
        assert 0 < placed < min(started + ended), (name, kinds)

"""A manager and its workers as separate processes: workers join, fail and return."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.cluster import COMMAND_MAX_S, Cluster, eventually, is_alive
from tests.e2e.manifests import as_yaml, job
from tests.e2e.remote import RemoteCluster, Worker
from tests.e2e.task_gates import Gate


@pytest.fixture
def remote(request: pytest.FixtureRequest, make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    """A manager alone; stories add workers. A node is soon down, unless the story is about coming back in time."""
    running = RemoteCluster(make_home, timeout=getattr(request, "param", "2s"))
    running.start_manager()
    yield running
    running.close()


comes_back_in_time = pytest.mark.parametrize("remote", ["60s"], indirect=True, ids=[""])


def test_workers_join_and_share_the_work(remote: RemoteCluster, gate: Gate) -> None:
    """C-20, R-10, R-17: `manager` and `worker` as processes of their own; two replicas on two equal nodes: one each."""
    remote.add_worker("w1")
    remote.add_worker("w2")
    cluster = remote.manager
    assert [node["name"] for node in cluster.items("nodes")] == ["w1", "w2"]
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("pair", gate.command, count=2)))
    gate.reached(2)
    assert {task["node"] for task in cluster.items("tasks", "pair")} == {"w1", "w2"}
    gate.open()
    cluster.shunter("wait", "pair")
    done = cluster.shunter("run", "--", "/bin/sh", "-c", "echo from afar; exit 3", code=3)
    assert done.out == "from afar\n"
    assert "worker" in remote.workers["w1"].home.shunter("down", code=3).err  # there is no cluster to stop there


def test_a_node_has_what_its_worker_says_of_it(remote: RemoteCluster) -> None:
    """R-02, R-11: custom resources, labels and datacenter decide where a task goes."""
    remote.add_worker("plain", "--cpu", "1")
    remote.add_worker("special", "--cpu", "1", "--resource", "gpu=2", "--label", "disk=ssd", "--datacenter", "berlin")
    cluster = remote.manager
    node = cluster.json("node", "show", "special")
    assert (node["capacity"]["gpu"], node["labels"], node["datacenter"]) == ("2", {"disk": "ssd"}, "berlin")
    for options in (["--gpu", "1"], ["--datacenter", "berlin"], ["--constraint", "node.labels.disk == 'ssd'"]):
        name = cluster.shunter("run", "--detach", *options, "--", "/bin/true").out.strip()
        cluster.shunter("wait", name)
        assert [task["node"] for task in cluster.items("tasks", name)] == ["special"], options
    three = cluster.shunter("run", "--detach", "--gpu", "3", "--", "/bin/true").out.strip()
    assert "gpu" in cluster.shunter("why", three).out
    cluster.shunter("stop", three)


def test_a_task_waits_until_a_node_that_fits_joins(remote: RemoteCluster) -> None:
    """C-18, R-02: pending while none fits, placed when one joins."""
    cluster = remote.manager
    name = cluster.shunter("run", "--detach", "--cpu", "2", "--", "/bin/true").out.strip()
    remote.add_worker("small", "--cpu", "1")
    assert cluster.json("job", name)["state"] == "pending"
    remote.add_worker("large", "--cpu", "2")
    cluster.shunter("wait", name)
    assert [task["node"] for task in cluster.items("tasks", name)] == ["large"]


def test_a_name_that_is_taken_is_refused(remote: RemoteCluster, make_home: Callable[[], Cluster]) -> None:
    """R-17: a duplicate hears the reason, and the first one is not disturbed."""
    remote.add_worker("twin")
    intruder = Worker(remote.manager, make_home(), "twin", ("--cpu", "8"))
    intruder.start()
    eventually(lambda: "another worker is connected as 'twin'" in intruder.home.log(), "it is refused")
    assert remote.manager.json("node", "show", "twin")["capacity"]["cpu"] == "1"
    assert "manager.disconnected" not in intruder.home.log()
    assert remote.manager.shunter("run", "--", "/bin/echo", "undisturbed").out == "undisturbed\n"
    intruder.kill_machine()


def test_a_wrong_token_is_refused(remote: RemoteCluster, make_home: Callable[[], Cluster]) -> None:
    """R-25: workers join with a token of their own."""
    home = make_home()
    (home.home / "wrong-token").write_text("wrong")
    stranger = Worker(remote.manager, home, "stranger", ("--token-file", str(home.home / "wrong-token")))
    stranger.start()
    assert stranger.process.wait(timeout=COMMAND_MAX_S) == 2
    said = stranger.home.log()
    assert said.splitlines()[-1] == (
        f"shunter: error: the manager refused the token in {home.home}/wrong-token; "
        "copy `worker-token` from the manager's SHUNTER_HOME"
    )
    assert said.count("the worker token is missing or wrong") <= 1
    assert remote.manager.items("nodes") == []
    stranger.kill_machine()


@comes_back_in_time
def test_a_killed_workers_tasks_go_on_and_are_found_again(remote: RemoteCluster, gate: Gate) -> None:
    """R-12: keepers outlive their worker; started again in time, it has the same task still running."""
    worker = remote.add_worker("w1")
    cluster = remote.manager
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("outlives", gate.command)))
    [arrival] = gate.reached()
    cluster.until("outlives", "running")
    worker.kill()
    assert is_alive(arrival.pid)
    worker.start()
    remote.until("w1", "ready")
    assert is_alive(arrival.pid)
    gate.open()
    cluster.shunter("wait", "outlives")
    [task] = cluster.items("tasks", "outlives")
    assert (task["state"], task["attempt"], task["lost"]) == ("succeeded", 1, 0)
    assert len(gate.arrivals) == 1


def test_the_tasks_of_a_lost_machine_run_on_another_one(remote: RemoteCluster, gate: Gate) -> None:
    """C-17, R-09, R-15, D-25: down within the timeout, with the event; the task is queued again and not failed."""
    gone = remote.add_worker("w1")
    cluster = remote.manager
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("moves", gate.command)))
    gate.reached()
    remote.add_worker("w2")
    gone.kill_machine()
    second = gate.reached(2)[1]
    assert second.attempt == 2
    remote.until("w1", "down")
    gate.open()
    cluster.shunter("wait", "moves")
    [task] = cluster.items("tasks", "moves")
    assert (task["state"], task["node"], task["attempt"], task["lost"], task["restarts"]) == (
        "succeeded", "w2", 2, 1, 0,
    )  # fmt: skip
    events = cluster.items("events", "--limit", "0")
    of_w1 = [event["type"] for event in events if event.get("node") == "w1" and event["type"].startswith("node.")]
    assert of_w1[-2:] == ["node.suspect", "node.down"]
    [lost] = [event for event in events if event["type"] == "tasks.lost"]
    assert "w1" in lost["reason"]


def test_a_node_that_comes_back_takes_work_again(remote: RemoteCluster) -> None:
    """R-15, R-17: back online, under its old name, with its event; what it has no longer is not believed."""
    worker = remote.add_worker("w1")
    worker.kill_machine()
    remote.until("w1", "down")
    worker.start()
    remote.until("w1", "ready")
    remote.manager.shunter("run", "--", "/bin/true")
    types = [event["type"] for event in remote.manager.items("events", "--limit", "0") if event.get("node") == "w1"]
    assert types.index("node.down") < len(types) - 1 - types[::-1].index("node.ready")


def test_a_stale_attempt_of_a_returning_node_is_stopped(remote: RemoteCluster, gate: Gate) -> None:
    """R-12: a node given up for lost comes back with its task still running, which by now runs elsewhere."""
    away = remote.add_worker("w1")
    cluster = remote.manager
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("contested", gate.command)))
    [stale] = gate.reached()
    remote.add_worker("w2")
    away.kill()
    [_, fresh] = gate.reached(2)
    assert is_alive(stale.pid)  # nobody can reach it
    away.start()
    eventually(lambda: not is_alive(stale.pid), "the stale attempt is stopped")
    assert is_alive(fresh.pid)
    gate.open()
    cluster.shunter("wait", "contested")
    [task] = cluster.items("tasks", "contested")
    assert (task["state"], task["attempt"], task["node"]) == ("succeeded", 2, "w2")


def test_a_manager_that_was_killed_finds_its_workers_again(remote: RemoteCluster, gate: Gate) -> None:
    """R-12, R-13: workers come back by themselves, running tasks are not disturbed."""
    remote.add_worker("w1")
    remote.add_worker("w2")
    cluster = remote.manager
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("steady", gate.command, count=3)))
    first = gate.reached(2)
    cluster.kill_manager()
    assert all(is_alive(arrival.pid) for arrival in first)
    remote.start_manager()
    for name in ("w1", "w2"):
        remote.until(name, "ready")
    assert all(is_alive(arrival.pid) for arrival in first)
    gate.open()
    cluster.shunter("wait", "steady")
    assert sorted((arrival.index, arrival.attempt) for arrival in gate.arrivals) == [(0, 1), (1, 1), (2, 1)]


def test_the_reporting_interval_is_set_by_the_manager_and_changes_live(remote: RemoteCluster) -> None:
    """R-18, R-23: no worker is told by hand, none restarts. Times are the worker's own, so a slow test is no matter."""
    remote.add_worker("w1")
    with remote.manager.client() as client:

        def next_sample_ms(after_ms: int) -> int:
            def check() -> int:
                sample = client.node("w1").stats
                at_ms = int(sample["at_ms"]) if sample else 0
                return at_ms if at_ms > after_ms else 0

            return eventually(check, "a heartbeat")

        def interval_ms() -> int:
            """Between two samples next to each other, once the worker has heard of the change."""
            seen = [0]
            while len(seen) < 5:
                seen.append(next_sample_ms(seen[-1]))
            return seen[-1] - seen[-2]

        assert 150 <= interval_ms() < 400
        remote.manager.shunter("cluster", "set", "heartbeat=600ms")
        assert 550 <= interval_ms() < 1200
    refused = remote.manager.shunter("cluster", "set", "heartbeat=1h", code=2)
    assert "heartbeat" in refused.err


def test_down_ends_the_manager_and_leaves_other_workers_with_their_tasks(remote: RemoteCluster, gate: Gate) -> None:
    """A manager that stops, for example for an upgrade, does not take workers on other machines with it."""
    worker = remote.add_worker("w1")
    remote.manager.shunter("submit", "-f", "-", stdin=as_yaml(job("left", gate.command)))
    [arrival] = gate.reached(1)
    assert "would stop 1 other worker: w1" in remote.manager.shunter("down", "--cluster", code=2).err
    remote.manager.down()
    assert worker.process.poll() is None
    assert is_alive(arrival.pid)
    remote.start_manager()
    remote.until("w1", "ready")
    gate.open()
    remote.manager.shunter("wait", "left")
    [task] = remote.manager.items("tasks", "left")
    assert task["attempt"] == 1

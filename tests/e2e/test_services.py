"""Services, system jobs, and drains, cordons and moves of nodes on real clusters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job
from tests.e2e.remote import RemoteCluster

UPDATE = {"healthy_for": "200ms", "deadline": "20s", "parallel": 2}


def service(name: str, word: str, count: int | None, **fields: Any) -> dict[str, Any]:
    """Sleeps; its command tells one version from another. The bad one ends at once."""
    code = f"print('this is {word}', flush=True); "
    code += "raise SystemExit(3)" if word == "bad" else "import time; time.sleep(3600)"
    command = [sys.executable, "-I", "-S", "-c", code, word]
    resources = fields.pop("resources", {"cpu": "100m"})
    restart = {"delay": "50ms", "delay_max": "50ms"}
    counted = {} if count is None else {"count": count}
    fields = {"type": "service", "restart": restart, "update": UPDATE, "stop_grace": "1s", **counted, **fields}
    return job(name, command, resources=resources, **fields)


def running(cluster: Cluster, name: str) -> list[str]:
    """`INDEX@NODE` of what runs, one for each instance."""
    return sorted(f"{task['index']}@{task['node']}" for task in cluster.items("tasks", name, "--state", "running"))


def test_a_crashing_service_says_so_in_every_command(cluster: Cluster) -> None:
    restart = {"policy": "always", "max": 100_000, "delay": "50ms", "delay_max": "50ms"}
    crashing = service("crasher", "bad", 1, restart=restart, update=UPDATE | {"healthy_for": "20s"})
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(crashing))
    eventually(lambda: cluster.json("job", "crasher")["update"]["status"] == "crashing", "it has crashed")
    assert "last exit code 3" in cluster.shunter("job", "crasher").out
    assert "crasher is crashing: restart " in cluster.shunter("why", "crasher").out
    assert "crashing" in cluster.shunter("jobs").out
    waited = cluster.shunter("wait", "crasher", "--timeout", "3s", code=None)
    assert waited.code != 0 and "crasher is crashing: restart " in waited.err
    cluster.shunter("stop", "crasher")
    cluster.shunter("wait", "crasher", code=1)
    assert cluster.json("job", "crasher")["update"]["status"] == "ended"


def test_a_task_that_fails_again_after_its_restart_is_counted_once_in_every_command(cluster: Cluster) -> None:
    code = "import os, sys, time; time.sleep(3600 if os.environ['SHUNTER_TASK_INDEX'] == '1' else 0); sys.exit(3)"
    half = service("half", "v1", 2, restart={"policy": "never"})
    half["spec"]["command"] = [sys.executable, "-I", "-S", "-c", code]
    reason = "1 of 2 tasks gave up; half/0: exit code 3"
    said = cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(half), code=1)
    assert said.err.splitlines()[-1] == f"shunter: half is degraded: {reason}"
    said = cluster.shunter("restart", "half/0", "--wait", code=1)
    assert said.err.splitlines()[-1] == f"shunter: half is degraded: {reason}"
    assert "degraded" in cluster.shunter("jobs", "--name", "half").out
    assert cluster.shunter("why", "half").out.startswith(
        f"half is degraded: 1 of 2 tasks is running, {reason}. Start it"
    )
    cluster.shunter("stop", "half")
    cluster.shunter("wait", "half", code=1)
    assert cluster.json("job", "half")["reason"] == "1 of 2 tasks failed; first failure: task 0: exit code 3"
    assert [task["name"] for task in cluster.items("tasks", "half")] == ["half/0", "half/1"]


@pytest.fixture
def remote(make_home: Callable[[], Cluster]) -> Iterator[RemoteCluster]:
    cluster = RemoteCluster(make_home, timeout="2s")
    cluster.start_manager()
    yield cluster
    cluster.close()


def test_a_service_is_scaled_updated_and_taken_back(cluster: Cluster) -> None:
    """C-04: kept at count, rolling update with a health gate, roll-back."""
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(service("web", "v1", 2)))
    eventually(lambda: len(running(cluster, "web")) == 2, "two instances run")
    cluster.shunter("scale", "web", "3", "--wait")
    assert len(running(cluster, "web")) == 3
    assert "web updated" in cluster.shunter("submit", "-f", "-", stdin=as_yaml(service("web", "v2", 3))).out
    eventually(lambda: cluster.json("job", "web")["update"]["status"] == "steady", "the update has settled")
    view = cluster.json("job", "web")
    assert (view["version"], view["command"][-1], view["counts"]) == (2, "v2", {"running": 3})
    replaced = [task for task in cluster.items("tasks", "web", "--all") if "~" in task["name"]]
    assert sorted(task["index"] for task in replaced) == [0, 1, 2]
    assert {(task["state"], task["reason"]) for task in replaced} == {("cancelled", "replaced by version 2")}
    assert {cluster.shunter("logs", task["name"]).out for task in replaced} == {"this is v1\n"}

    bad = cluster.shunter("update", "-f", "-", "--wait", stdin=as_yaml(service("web", "bad", 3)), code=1)
    assert "rolled back to version 2: task web/" in bad.err and "failed: exit code 3" in bad.err
    assert cluster.json("job", "web")["command"][-1] == "v2"
    cluster.shunter("rollback", "web", "--wait")
    assert cluster.json("job", "web")["command"][-1] == "v1"

    cluster.shunter("stop", "--signal", "INT", "web/1")
    eventually(lambda: len(running(cluster, "web")) == 2, "one instance is down")
    assert cluster.json("job", "web")["counts"] == {"running": 2, "cancelled": 1}
    cluster.shunter("restart", "web/1", "--wait")
    assert len(running(cluster, "web")) == 3
    cluster.shunter("stop", "web")
    cluster.until("web", "cancelled")


def test_an_update_goes_on_when_the_manager_was_killed(home: Cluster) -> None:
    home.up("--cpu", "4")
    home.shunter("submit", "-f", "-", stdin=as_yaml(service("web", "v1", 4, update=UPDATE | {"parallel": 1})))
    eventually(lambda: home.json("job", "web")["update"]["status"] == "steady", "it runs well")
    home.shunter("update", "-f", "-", stdin=as_yaml(service("web", "v2", 4, update=UPDATE | {"parallel": 1})))
    home.kill_manager()
    home.up("--cpu", "4")
    eventually(lambda: home.json("job", "web")["update"]["status"] == "steady", "the update has settled")
    view = home.json("job", "web")
    assert (view["version"], view["counts"], view["update"]["updated"]) == (2, {"running": 4}, 4)


def test_a_drained_node_is_left_and_one_that_joins_gets_its_system_task(remote: RemoteCluster) -> None:
    """R-03, R-16, R-27: an update of one node; draining and drained; an instance moves to the node that is named."""
    manager = remote.manager
    remote.add_worker("n1", "--cpu", "4")
    manager.shunter("submit", "-f", "-", stdin=as_yaml(service("agent", "v1", None, type="system")))
    manager.shunter("submit", "-f", "-", stdin=as_yaml(service("web", "v1", 2)))
    eventually(lambda: running(manager, "web") == ["0@n1", "1@n1"], "the service runs on the only node")
    remote.add_worker("n2", "--cpu", "4")
    eventually(lambda: running(manager, "agent") == ["0@n1", "1@n2"], "the node that joined has its task too")

    manager.shunter("move", "web/1", "n2")
    eventually(lambda: running(manager, "web") == ["0@n1", "1@n2"], "it has moved")
    manager.shunter("update", "-f", "-", "--node", "n2", "--wait", stdin=as_yaml(service("web", "v2", 2)))
    tasks = {task["index"]: task["current"] for task in manager.items("tasks", "web", "--state", "running")}
    assert tasks == {0: False, 1: True}  # only what runs on that node

    manager.shunter("node", "drain", "n1", "--deadline", "20s", "--wait")
    assert running(manager, "web") == ["0@n2", "1@n2"]
    assert running(manager, "agent") == ["1@n2"]
    node = remote.node("n1")
    assert node is not None and (node["state"], node["tasks"]) == ("drained", 0)
    manager.shunter("node", "undrain", "n1")
    eventually(lambda: running(manager, "agent") == ["0@n1", "1@n2"], "the system task is back")
    assert (
        manager.shunter("node", "cordon", "n1", "--reason", "new disk").out
        == "n1 accepts no new tasks (cordon: new disk)\n"
    )
    assert manager.shunter("node", "uncordon", "n1").out == "n1 accepts new tasks\n"

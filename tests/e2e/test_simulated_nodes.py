"""A cluster of thousands on a laptop: simulated nodes on the real engine."""

from __future__ import annotations

from datetime import datetime

from tests.e2e.cluster import Cluster

NODES = 5_000
TASKS = 20_000


def test_thousands_of_nodes_run_an_array(home: Cluster) -> None:
    """U-06: one command starts it, arrays run on it in simulated time, no task really runs."""
    home.up("--simulate-nodes", str(NODES), "--speed", "10")
    found = home.json("cluster")
    assert (found["simulated"], found["nodes"]) == (True, {"ready": NODES})
    done = home.shunter("run", "--name", "wide", "--count", str(TASKS), "--", "/bin/sleep", "5")
    assert f"wide succeeded: {TASKS:,} succeeded" in done.out
    tasks = home.items("tasks", "wide")
    assert len({task["node"] for task in tasks}) > NODES / 2
    assert not [process for process in home.processes() if process.is_keeper]
    assert set(home.json("cluster")["reserved"].values()) == {"0"}


def test_simulated_nodes_are_gone_when_the_cluster_is_started_without_them(home: Cluster) -> None:
    home.up("--simulate-nodes", "5")
    home.shunter("run", "--detach", "--name", "begun", "--env", "SHUNTER_SIM_DURATION=3600", "--", "/bin/true")
    home.until("begun", "running")
    home.down()
    home.up()
    assert home.json("cluster")["nodes"] == {"ready": 1, "down": 5}
    home.until("begun", "succeeded")  # it runs for good on what there is


def test_a_policy_can_be_tried_on_them(home: Cluster) -> None:
    """C-05, C-06, C-07, C-08: every policy starts and places; bin-pack uses few nodes where spread uses many."""
    used = {}
    for policy in ("bin-pack", "spread", "round-robin", "greedy", "e-pvm", "e-pvm-classic"):
        home.up("--simulate-nodes", "100", "--policy", policy, "--store", "memory", "--speed", "100")
        with home.client() as client:
            assert client.cluster().policy == policy
            done = client.run_to_end(["/bin/sleep", "60"], count=100)
            used[policy] = len({task.node for task in done.tasks()})
        home.down()
    assert used["spread"] == used["round-robin"] == 100
    assert used["bin-pack"] <= 100 // 2


def test_failures_are_simulated_too(home: Cluster) -> None:
    """U-06: exit codes and rates of failure as asked for by the task's variables."""
    home.up("--simulate-nodes", "10", "--speed", "10")
    options = ["--count", "1000", "--env", "SHUNTER_SIM_FAIL_RATE=0.5"]
    home.shunter("run", "--name", "half", *options, "--", "/bin/sleep", "1", code=1)
    counts = home.json("job", "half")["counts"]
    assert 300 < counts["failed"] < 700
    assert counts["failed"] + counts["succeeded"] == 1000


def test_a_hundred_nodes_are_back_soon_after_a_crash(home: Cluster) -> None:
    """R-13: from the opened store to ready in less than 5 s, by the manager's own log; nodes register by themselves."""
    options = ["--simulate-nodes", "100", "--speed", "10"]
    home.up(*options)
    home.shunter("run", "--detach", "--name", "interrupted", "--count", "2000", "--", "/bin/sleep", "5")
    home.until("interrupted", "running")
    home.kill_manager()
    home.up(*options)
    assert home.json("cluster")["nodes"] == {"ready": 100}
    times = [datetime.fromisoformat(line[:23].replace(",", ".")) for line in last_life(home).splitlines()]
    assert (times[-1] - times[0]).total_seconds() < 5
    home.shunter("wait", "interrupted")
    assert home.json("job", "interrupted")["counts"] == {"succeeded": 2000}


def last_life(home: Cluster) -> str:
    """The log of the manager's last start, from the opened store to the word that it is ready."""
    log = (home.home / "shunter.log").read_text()
    begin = log.rfind("\n", 0, log.rfind("store.opened")) + 1
    return log[begin : log.index("manager.ready", begin)]

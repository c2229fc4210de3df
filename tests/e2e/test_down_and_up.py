"""Stopping and starting again: nothing is lost, nothing is left, and nothing runs twice."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.e2e.cluster import Cluster, eventually, is_alive
from tests.e2e.manifests import as_yaml, job
from tests.e2e.task_gates import Gate


def test_up_says_where_it_is_and_down_leaves_no_process(home: Cluster) -> None:
    """C-20: `up --detach` returns when the API answers and the first node is ready."""
    started = home.up("--cpu", "2")
    assert re.fullmatch(r"the cluster is ready at http://127\.0\.0\.1:\d+\n", started.out)
    assert [node["state"] for node in home.items("nodes")] == ["ready"]
    assert home.down().out == "cluster stopped\n"
    assert home.processes() == []
    assert not (home.home / "cluster.json").exists()


def test_up_twice_says_so(home: Cluster) -> None:
    """C-20: a second `up` changes nothing and exits with 0; so does a second `down`."""
    home.up("--cpu", "2")
    before = home.description
    again = home.up("--cpu", "1")
    assert "is already running at" in again.out
    assert home.description == before
    in_front = home.shunter("up")
    assert "is already running at" in in_front.out
    home.down()
    assert home.down().out == "no cluster is running\n"


def test_a_home_whose_only_node_takes_no_work_starts_again(home: Cluster) -> None:
    """It takes work again only when someone says so, and for that the cluster must be up."""
    home.up("--cpu", "2")
    [node] = home.items("nodes")
    for verb, back in (("drain", "undrain"), ("cordon", "uncordon")):
        home.shunter("node", verb, node["name"])
        home.down()
        assert "is ready at" in home.up("--cpu", "2").out
        home.shunter("node", back, node["name"])
        home.shunter("run", "--", "/bin/true")


def test_up_says_who_decides_where_another_policy_was_chosen_than_it_names(home: Cluster) -> None:
    """And where schedulers find it, since the port was chosen by the system."""
    started = home.up("--policy", "spread", "--external-grpc", "127.0.0.1:0")
    assert f"external schedulers connect over gRPC at {home.description['schedulers']}\n" in started.out
    home.shunter("policies", "use", "bin-pack")
    home.down()
    told = "bin-pack, which was chosen while the cluster ran; change it with: shunter policies use spread"
    assert told in home.up("--policy", "spread").err
    home.down()
    assert home.up("--policy", "bin-pack").err == ""


def test_down_means_the_cluster_of_this_home(make_home: Callable[[], Cluster]) -> None:
    """Whatever SHUNTER_URL and SHUNTER_TOKEN say: those are for looking at clusters elsewhere."""
    mine, other = make_home(), make_home()
    mine.up("--cpu", "1")
    other.up("--cpu", "1")
    mine.environment |= {"SHUNTER_URL": other.description["url"], "SHUNTER_TOKEN": other.token}
    assert mine.down().out == "cluster stopped\n"
    assert mine.processes() == []
    other.shunter("run", "--", "/bin/true")


def test_in_the_foreground_it_runs_until_it_is_interrupted(home: Cluster) -> None:
    """C-20: `up` without --detach; an interrupt stops it as `down` does."""
    process = home.begin("up", "--cpu", "2", stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("the cluster is ready at http://127.0.0.1:")
    home.shunter("run", "--", "/bin/true")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 0
    assert home.processes() == []


def test_down_queues_running_tasks_again_and_up_finishes_them(home: Cluster, gate: Gate) -> None:
    """C-12, R-12: what `down` ended was lost, not failed: it runs again whatever its restart policy."""
    home.up("--cpu", "2")
    home.shunter("submit", "-f", "-", stdin=as_yaml(job("survivor", gate.command, count=4)))
    first = gate.reached(2)
    home.down()
    assert not any(is_alive(arrival.pid) for arrival in first)
    gate.open()
    home.up("--cpu", "2")
    home.shunter("wait", "survivor")
    tasks = home.items("tasks", "survivor")
    assert [task["state"] for task in tasks] == ["succeeded"] * 4
    assert sum(task["lost"] for task in tasks) == 2
    assert [task["restarts"] for task in tasks] == [0] * 4
    assert sorted((arrival.index, arrival.attempt) for arrival in gate.arrivals) == [
        (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (3, 1),
    ]  # fmt: skip


def test_history_and_labels_survive(home: Cluster) -> None:
    """C-12, D-11: jobs, tasks, logs, events, labels and run numbers are there after a restart."""
    home.up("--cpu", "2")
    [node] = home.items("nodes")
    home.shunter("node", "label", node["name"], "disk=ssd")
    home.shunter("run", "--name", "kept", "--", "/bin/echo", "what it said")
    before = [home.json("job", "kept"), home.items("events", "--job", "kept")]
    home.down()
    home.up("--cpu", "2")
    assert [home.json("job", "kept"), home.items("events", "--job", "kept")] == before
    assert home.shunter("logs", "kept").out == "what it said\n"
    assert home.items("nodes")[0]["labels"] == {"disk": "ssd"}
    home.shunter("run", "--name", "kept", "--", "/bin/true")
    assert home.json("job", "kept")["run"] == 2


def test_down_leave_running_keeps_the_very_same_process(home: Cluster, gate: Gate) -> None:
    """R-12: the task goes on while nobody manages it; the next start finds it, with the result that it came to."""
    home.up("--cpu", "2")
    for name in ("ends-alone", "goes-on"):
        home.shunter("run", "--detach", "--name", name, "--", *gate.command)
    alone, on = (arrival.pid for arrival in gate.reached(2))
    home.down("--leave-running")
    assert is_alive(alone)
    assert is_alive(on)
    assert not any("shunter.app.serve" in process.command for process in home.processes())
    home.up("--cpu", "2")
    assert is_alive(alone)
    gate.open()
    home.shunter("wait", "ends-alone", "goes-on")
    assert len(gate.arrivals) == 2
    for name in ("ends-alone", "goes-on"):
        [task] = home.items("tasks", name)
        assert (task["state"], task["attempt"], task["lost"]) == ("succeeded", 1, 0)


def test_a_result_that_came_while_nobody_managed_is_found(home: Cluster, gate: Gate) -> None:
    """R-12: keepers hold results until a manager has committed them."""
    home.up("--cpu", "2")
    home.shunter("run", "--detach", "--name", "orphan", "--", "/bin/sh", "-c", f"{script_of(gate)}; echo late; exit 5")
    [arrival] = gate.reached()
    home.down("--leave-running")
    gate.open()
    eventually(lambda: not is_alive(arrival.pid), "the task ends")
    home.up("--cpu", "2")
    home.shunter("wait", "orphan", code=1)
    [task] = home.items("tasks", "orphan")
    assert (task["state"], task["exit_code"], task["attempt"]) == ("failed", 5, 1)
    assert home.shunter("logs", "orphan").out == "late\n"


def test_two_clusters_in_two_homes_do_not_meet(make_home: Callable[[], Cluster], gate: Gate) -> None:
    """All state lives under SHUNTER_HOME: jobs, names, tokens and processes are apart."""
    one, other = make_home(), make_home()
    one.up("--cpu", "2")
    other.up("--cpu", "2")
    one.shunter("run", "--detach", "--name", "mine", "--", *gate.command)
    gate.reached()
    other.shunter("job", "mine", code=2)
    assert one.token != other.token
    assert not {process.pid for process in one.processes()} & {process.pid for process in other.processes()}
    other.down()
    assert one.json("job", "mine")["state"] == "running"
    gate.open()
    one.shunter("wait", "mine")


def test_a_home_with_a_long_path_works(tmp_path: Path) -> None:
    """Sockets have a limit of 108 bytes; homes have not."""
    long = Cluster(tmp_path / ("long-" * 20) / ("path-" * 20))
    try:
        long.up("--cpu", "2")
        assert long.shunter("run", "--", "/bin/echo", "far away").out == "far away\n"
        long.down()
        long.expect_nothing_left()
    finally:
        long.kill_all()


def test_memory_mode_forgets(home: Cluster) -> None:
    """C-12: the in-memory store is offered for those who want nothing kept."""
    home.up("--cpu", "2", "--store", "memory")
    home.shunter("run", "--name", "fleeting", "--", "/bin/true")
    assert home.json("job", "fleeting")["state"] == "succeeded"
    home.down()
    assert not (home.home / "store.db").exists()
    home.up("--cpu", "2", "--store", "memory")
    home.shunter("job", "fleeting", code=2)


def test_wrong_options_are_refused_before_anything_starts(home: Cluster) -> None:
    for options in (["--cpu", "many"], ["--listen", "nowhere"], ["--policy", "luck"], ["--store", "paper"]):
        refused = home.shunter("up", "--detach", *options, code=2)
        assert options[0] in refused.err or options[1] in refused.err
    home.expect_nothing_left()


def script_of(gate: Gate) -> str:
    """The gate's command as a part of a shell script."""
    return f"/bin/sh -c '{gate.command[2]}' sh {gate.path}"

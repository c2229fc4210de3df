"""The command line on a terminal: Ctrl-C, the progress bar, colours."""

from __future__ import annotations

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.task_gates import Gate
from tests.e2e.terminal import CTRL_C, Terminal

LONG_S = "300"


def test_ctrl_c_ends_the_task_gracefully(cluster: Cluster) -> None:
    """D-27: one Ctrl-C cancels the running job; the task may say its last words, which are still seen."""
    script = 'trap "echo last words; exit 7" TERM; echo running; while :; do sleep 0.05; done'
    with Terminal(cluster, "run", "--name", "polite", "--", "/bin/sh", "-c", script) as terminal:
        terminal.see("running")
        terminal.type(CTRL_C)
        terminal.see("last words")
        assert terminal.end() == 7
    assert cluster.json("job", "polite")["state"] == "cancelled"


def test_a_second_ctrl_c_kills_at_once(cluster: Cluster) -> None:
    """D-27: a task that does not want to end is killed by the second Ctrl-C, long before its grace is over."""
    script = 'trap "echo no" TERM; echo running; while :; do sleep 0.05; done'
    with Terminal(cluster, "run", "--name", "stubborn", "--", "/bin/sh", "-c", script) as terminal:
        terminal.see("running")
        terminal.type(CTRL_C)
        terminal.see("no")
        terminal.type(CTRL_C)
        assert terminal.end(within_s=4.0) == 137  # the grace is 5 s
    assert cluster.json("job", "stubborn")["state"] == "cancelled"


def test_ctrl_c_cancels_a_whole_array(cluster: Cluster) -> None:
    """D-27: what runs is stopped and what waits never starts; the exit code tells it from success."""
    with Terminal(cluster, "run", "--name", "crowd", "--count", "50", "--", "/bin/sleep", LONG_S) as terminal:
        eventually(lambda: cluster.shunter("job", "crowd", code=None).code == 0, "the array is there")
        eventually(lambda: cluster.json("job", "crowd")["counts"].get("running") == 2, "two run")
        terminal.type(CTRL_C)
        assert terminal.end() == 130
    assert cluster.json("job", "crowd")["counts"] == {"cancelled": 50}


def test_the_progress_of_an_array_is_drawn_and_cleared(cluster: Cluster, gate: Gate) -> None:
    """D-09: a bar on a terminal while it runs, one line when it is over."""
    with Terminal(cluster, "run", "--name", "drawn", "--count", "3", "--", *gate.command) as terminal:
        terminal.see("0/3")
        terminal.see("1 queued, 2 running")
        gate.open()
        assert terminal.end() == 0
    assert "drawn succeeded: 3 succeeded" in terminal.seen


def test_colours_are_for_terminals_only(cluster: Cluster) -> None:
    """C-20: a listing is coloured on a terminal, and plain in a pipe."""
    cluster.shunter("run", "--name", "green", "--", "/bin/true")
    with Terminal(cluster, "jobs") as terminal:
        assert terminal.end() == 0
    assert "\x1b[32msucceeded" in terminal.seen
    assert "\x1b" not in cluster.shunter("jobs").out


def test_top_shows_what_runs_until_q(cluster: Cluster, gate: Gate) -> None:
    """C-19: the cluster at a glance, drawn anew; in a pipe it is printed once."""
    [node] = cluster.items("nodes")
    cluster.shunter("run", "--name", "in-sight", "--detach", "--", *gate.command)
    gate.reached()
    with Terminal(cluster, "top", "--every", "0.1") as terminal:
        terminal.see("in-sight")
        terminal.see(node["name"])
        terminal.type(b"q")
        assert terminal.end() == 0
    once = cluster.shunter("top").out
    assert "in-sight" in once
    assert "\x1b" not in once
    gate.open()
    cluster.shunter("wait", "in-sight")

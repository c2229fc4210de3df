"""Output of tasks: captured by stream, task and attempt, readable while they run and afterwards."""

from __future__ import annotations

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import as_yaml, shell
from tests.e2e.task_gates import Gate

LOG_MAX = 64 * 2**10


def test_each_task_of_an_array_has_its_own_output(cluster: Cluster) -> None:
    """D-11: logs by task, although many short tasks share a file."""
    script = 'echo "out $SHUNTER_TASK_INDEX"; echo "err $SHUNTER_TASK_INDEX" >&2'
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("many", script, count=40)))
    with cluster.client() as client:
        job = client.job("many")
        for index in range(40):
            assert job.logs(index) == f"out {index}\n".encode()
            assert job.logs(index, "stderr") == f"err {index}\n".encode()


def test_the_output_of_all_tasks_comes_out_with_their_names(cluster: Cluster) -> None:
    """An index is what the task sees, in the output and in every command."""
    script = 'echo "out $SHUNTER_TASK_INDEX"; echo "err $SHUNTER_TASK_INDEX" >&2; test "$SHUNTER_TASK_INDEX" -ne 5'
    manifest = shell("odd", script, array="1-5:2", restart={"policy": "never"})
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(manifest), code=1)
    done = cluster.shunter("logs", "odd")
    assert sorted(done.out.splitlines()) == [f"odd/{index} | out {index}" for index in (1, 3, 5)]
    assert sorted(done.err.splitlines()) == [f"odd/{index} | err {index}" for index in (1, 3, 5)]
    assert cluster.shunter("logs", "odd/3").out == "out 3\n"
    assert cluster.shunter("logs", "odd", "--failed", "--stderr").out == "odd/5 | err 5\n"
    assert cluster.shunter("logs", "odd", "--index", "1,5", "--grep", "out 1", "--stdout").out == "odd/1 | out 1\n"
    assert cluster.shunter("logs", "odd", "--follow", "--stdout", "--index", "3").out == "odd/3 | out 3\n"
    assert "its tasks are 1-5:2" in cluster.shunter("logs", "odd/2", code=2).err
    assert "odd/5" in cluster.shunter("why", "odd/5").out


def test_both_streams_come_out_where_they_belong(cluster: Cluster) -> None:
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("two", "echo to out; echo to err >&2")))
    both = cluster.shunter("logs", "two")
    assert (both.out, both.err) == ("to out\n", "to err\n")
    assert cluster.shunter("logs", "two", "--stderr").out == "to err\n"
    assert cluster.shunter("logs", "two", "--stdout").err == ""


def test_output_is_seen_while_the_task_runs(cluster: Cluster, gate: Gate) -> None:
    """R-23: `logs -f` shows lines as they are written, and ends with the task."""
    script = f"echo first; {' '.join(gate.command[:2])} '{gate.command[2]}' sh {gate.path}; echo last"
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("live", script)))
    follower = cluster.begin("logs", "live", "--follow")
    assert follower.stdout is not None
    assert follower.stdout.readline() == "first\n"
    gate.open()
    assert follower.stdout.readline() == "last\n"
    assert follower.wait(timeout=30) == 0


def test_following_a_job_that_has_not_started_waits_for_it(cluster: Cluster, gate: Gate) -> None:
    blocker = cluster.shunter("run", "--detach", "--cpu", "2", "--", *gate.command).out.strip()
    gate.reached()
    cluster.shunter("submit", "-f", "-", stdin=as_yaml(shell("later", "echo at last")))
    follower = cluster.begin("logs", "later", "--follow")
    gate.open()
    out, _ = follower.communicate(timeout=30)
    assert (out, follower.returncode) == ("at last\n", 0)
    cluster.shunter("wait", blocker)


def test_every_attempt_keeps_its_own_output(cluster: Cluster) -> None:
    """D-11: the log of an attempt that failed can still be read when a later one has succeeded."""
    script = 'echo "attempt $SHUNTER_ATTEMPT"; test "$SHUNTER_ATTEMPT" -eq 3'
    restart = {"policy": "on-failure", "max": 5, "delay": "10ms"}
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("tries", script, restart=restart)))
    for attempt in (1, 2, 3):
        assert cluster.shunter("logs", "tries", "--attempt", str(attempt)).out == f"attempt {attempt}\n"
    assert cluster.shunter("logs", "tries").out == "attempt 3\n"
    assert "attempt 4" in cluster.shunter("logs", "tries", "--attempt", "4", code=2).err


def test_a_log_past_its_limit_keeps_its_beginning_and_its_end(cluster: Cluster) -> None:
    """R-23: output is bounded, and one who reads it is told that a part is missing."""
    script = "echo the beginning; head -c 2000000 /dev/zero | tr '\\0' 'x'; echo; echo the end"
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("loud", script, log_max="64Ki")))
    done = cluster.shunter("logs", "loud")
    assert done.out.startswith("the beginning\n")
    assert done.out.endswith("\nthe end\n")
    assert len(done.out) < 4 * LOG_MAX

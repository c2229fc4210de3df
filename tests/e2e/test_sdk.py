"""The Python SDK against a running cluster, blocking and async."""

from __future__ import annotations

import shlex

import pytest

import shunter
from shunter import aio
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import job
from tests.e2e.task_gates import Gate

WAIT_S = 30.0


@pytest.fixture
def at_home(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """As in a user's shell: the SDK finds the cluster by SHUNTER_HOME."""
    monkeypatch.setenv("SHUNTER_HOME", str(cluster.home))
    for name in ("SHUNTER_URL", "SHUNTER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return cluster


@pytest.mark.usefixtures("at_home")
def test_the_promised_lines_work_as_they_stand() -> None:
    """The example that the documentation begins with."""
    with shunter.connect() as client:
        found = client.run(["/bin/true"], count=100)
        found.wait()
        assert (found.state, found.counts) == ("succeeded", {"succeeded": 100})
        assert found.name.startswith("true-")


@pytest.mark.usefixtures("at_home")
async def test_the_async_client_does_the_same() -> None:
    async with aio.connect() as client:
        found = await client.run(["/bin/true"], count=10)
        await found.wait()
        assert (found.state, found.counts) == ("succeeded", {"succeeded": 10})
        ended = await client.run_to_end(["/bin/sh", "-c", "exit 3"])
        assert (ended.state, ended.exit_code) == ("failed", 3)


@pytest.mark.usefixtures("at_home")
def test_a_run_is_acknowledged_before_it_ends(gate: Gate) -> None:
    """D-09: `run` returns when the job is committed; it can be looked at from elsewhere at once."""
    with shunter.connect() as client, shunter.connect() as other:
        found = client.run(gate.command, name="acknowledged")
        assert not found.ended
        assert other.job("acknowledged").view.id == found.view.id
        with pytest.raises(TimeoutError):
            found.wait(timeout=0.2)
        gate.open()
        assert found.wait(WAIT_S).state == "succeeded"


@pytest.mark.usefixtures("at_home")
def test_output_attempts_and_tasks_are_read(gate: Gate) -> None:
    """D-11: everything about a run that the command line shows."""
    gate.open()
    with shunter.connect() as client:
        script = 'echo "out $SHUNTER_ATTEMPT"; echo err >&2; test "$SHUNTER_ATTEMPT" = 2'
        found = client.run_to_end(["/bin/sh", "-c", script], restart="on-failure")
        assert (found.state, found.exit_code) == ("succeeded", 0)
        assert (found.logs(0), found.logs(0, "stderr"), found.logs(0, attempt=1)) == (b"out 2\n", b"err\n", b"out 1\n")
        attempts = found.attempts()
        assert [(each.attempt, each.state, each.exit_code) for each in attempts] == [
            (1, "failed", 1),
            (2, "succeeded", 0),
        ]
        [task] = found.tasks()
        assert (task.attempt, task.restarts, task.lost) == (2, 1, 0)


@pytest.mark.usefixtures("at_home")
def test_many_jobs_go_in_few_requests() -> None:
    """D-49: bulk submit from Python."""
    with shunter.connect() as client:
        submitted = client.submit_many([job(f"many-{number}") for number in range(500)])
        assert len({each.id for each in submitted}) == 500
        assert {each.name for each in client.as_completed(submitted, WAIT_S)} == {each.name for each in submitted}
        assert {(each.state, each.exit_code) for each in client.gather(submitted, WAIT_S)} == {("succeeded", 0)}
        assert client.job("many-499").state == "succeeded"


@pytest.mark.usefixtures("at_home")
def test_a_failure_says_why(gate: Gate) -> None:
    """Jobs that end before and after the wait begins, and arrays, whose tasks end in different ways."""
    with shunter.connect() as client:
        early = client.run_to_end(["/bin/sh", "-c", "echo no luck >&2; exit 3"])
        fails = (
            f'{" ".join(map(shlex.quote, gate.command))}; echo "task $SHUNTER_TASK_INDEX"; test $SHUNTER_TASK_INDEX = 1'
        )
        array = client.run(["/bin/sh", "-c", fails], count=3)
        with pytest.raises(TimeoutError, match=f"1 of 2 jobs have not ended: {array.name}@1"):
            client.wait([early, array], 0.2)
        gate.open()
        client.wait([early, array], WAIT_S)
        assert (early.exit_code, array.counts) == (3, {"succeeded": 1, "failed": 2})
        with pytest.raises(shunter.JobFailed, match=f"job {early.name}@1 failed: exit code 3; .*\nno luck"):
            early.result()
        assert [line for line in array.logs() if "task" in line] == ["task 0\n", "task 1\n", "task 2\n"]
        assert client.run(["/bin/echo", "hello"]).result(WAIT_S) == "hello\n"


@pytest.mark.usefixtures("at_home")
def test_errors_say_what_is_wrong() -> None:
    with shunter.connect() as client:
        with pytest.raises(shunter.NotFound):
            client.job("nobody")
        with pytest.raises(shunter.Invalid) as refused:
            client.run(["/bin/true"], count=0)
        assert [problem.field for problem in refused.value.problems] == ["spec.count"]


def test_without_a_cluster_it_is_not_reachable(home: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHUNTER_HOME", str(home.home))
    with pytest.raises(shunter.NotReachable, match="shunter up --detach"):
        shunter.connect()


def test_a_wrong_token_is_refused(cluster: Cluster) -> None:
    with shunter.connect(cluster.description["url"], "wrong") as client, pytest.raises(shunter.Rejected) as refused:
        client.cluster()
    assert refused.value.status == 401

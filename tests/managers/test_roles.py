"""A process for each role: api, scheduler and watcher. Workers know the watchers only, clients know the api only."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from shunter.model.rest.manager_views import API, FOLLOWER, LEADER, SCHEDULER, WATCHER, ManagerView
from tests.manager_cluster import SHUNTER, TOKEN, ManagerCluster, manager_cluster, shared_folder, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# Longer than a process needs to start on a busy machine: a node that is given up runs its tasks a second time.
CONFIG = '[nodes]\ntimeout = "60s"\n'
PROCESSES = {"a1": API, "a2": API, "s1": SCHEDULER, "s2": SCHEDULER, "v1": WATCHER, "v2": WATCHER}
# It leaves one line for each run, so that a second one is seen.
TASK = "echo begin; i=0; while [ $i -lt 80 ]; do echo line-$i; i=$((i+1)); sleep 0.1; done; echo end"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ManagerCluster]:
    with (
        shared_folder() as folder,
        manager_cluster(folder, managers=0, workers=2, roles=PROCESSES, config=CONFIG) as cluster,
    ):
        yield cluster


@pytest.fixture(autouse=True)
def all_processes_run(cluster: ManagerCluster) -> None:
    cluster.start(*(name for name in (*PROCESSES, "w1", "w2") if name not in cluster.processes))
    cluster.wait_for_leader()
    wait_for(lambda: len(answering(cluster)) == len(PROCESSES), "all managers")
    cluster.wait_for_workers(2)


def answering(cluster: ManagerCluster) -> dict[str, ManagerView]:
    return {view.name: view for view in cluster.find_managers("a1") if view.lag_s is not None}


def busy_watcher(cluster: ManagerCluster) -> str:
    """One that has workers."""
    return next(view.name for view in answering(cluster).values() if view.roles == [WATCHER] and view.workers)


@pytest.mark.smoke
def test_managers_are_listed_with_their_roles_and_only_schedulers_lead(cluster: ManagerCluster) -> None:
    views = answering(cluster)
    assert {name: view.roles for name, view in views.items()} == {name: [role] for name, role in PROCESSES.items()}
    leader = cluster.leader()
    assert leader in ("s1", "s2")
    assert {name for name, view in views.items() if view.role == LEADER} == {leader}
    assert sum(views[name].workers or 0 for name in ("v1", "v2")) == views[leader].workers == 2


@pytest.mark.smoke
def test_a_job_runs_through_api_scheduler_and_watcher(cluster: ManagerCluster) -> None:
    for asked in ("a1", "a2"):
        with cluster.client(asked) as client:
            job = client.run(["/bin/echo", f"hello {asked}"])
            assert job.wait().state == "succeeded"
            assert "".join(job.logs()) == f"hello {asked}\n"


def test_a_manager_without_the_api_role_serves_no_clients(cluster: ManagerCluster) -> None:
    for asked in ("s1", "s2", "v1"):
        result = shunter(cluster, asked, "jobs")
        assert result.returncode != 0
        assert "has no api role" in result.stderr
        assert "s2" in shunter(cluster, asked, "managers").stdout


@pytest.mark.smoke
def test_killing_a_watcher_stops_no_task_and_its_log_still_streams(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        job = client.run(["/bin/sh", "-c", TASK], count=4, name="through-a-watcher")
        wait_for(lambda: client.job("through-a-watcher").counts == {"running": 4}, "the tasks")
        lines = job.logs(0, follow=True)
        text = next(lines).decode()
        killed = busy_watcher(cluster)
        cluster.kill(killed)
        text += b"".join(lines).decode()
        assert job.wait().counts == {"succeeded": 4}
        assert text.splitlines() == ["begin", *(f"line-{number}" for number in range(80)), "end"]
        for index in range(4):
            assert len(client.job("through-a-watcher").attempts(index)) == 1
    views = answering(cluster)
    other = "v2" if killed == "v1" else "v1"
    assert views[other].workers == 2


def test_a_watcher_that_restarts_knows_the_state_and_takes_workers(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        client.run(["/bin/true"], name="before-a-restart").wait()
        for killed, other in (("v1", "v2"), ("v2", "v1")):
            cluster.kill(killed)
            wait_for(lambda: (answering(cluster)[other].workers or 0) == 2, "all workers at the other one")  # noqa: B023
            cluster.start(killed)
            wait_for(lambda: killed in answering(cluster), "the watcher")  # noqa: B023
        assert answering(cluster)["v1"].workers == 2
        version = client.cluster().state_version
        wait_for(lambda: all((view.state_version or 0) >= version for view in answering(cluster).values()), "the state")
        assert client.run(["/bin/true"]).wait().state == "succeeded"


def test_without_watchers_tasks_go_on_and_come_back(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        job = client.run(["/bin/sh", "-c", "sleep 4; echo done"], name="without-watchers")
        wait_for(lambda: client.job("without-watchers").state == "running", "the task")
        cluster.kill("v1")
        cluster.kill("v2")
        wait_for(lambda: not answering(cluster)[cluster.leader()].workers, "no worker")
        cluster.start("v1", "v2")
        assert job.wait().state == "succeeded"
        assert len(client.job("without-watchers").attempts(0)) == 1


@pytest.mark.smoke
def test_killing_the_leading_scheduler_loses_nothing(cluster: ManagerCluster) -> None:
    leader = cluster.wait_for_leader()
    with cluster.client() as client:
        running = client.run(["/bin/sh", "-c", "sleep 6; echo done"], name="through-a-scheduler")
        many = client.run(["/bin/sleep", "0.1"], count=200, name="many")
        wait_for(lambda: client.job("through-a-scheduler").state == "running", "the first task")
        cluster.kill(leader)
        assert client.run(["/bin/true"]).wait().state == "succeeded"
        assert running.wait().state == "succeeded"
        assert many.wait().counts == {"succeeded": 200}, [task.reason for task in many.tasks(states=["failed"])]
        assert len(client.job("through-a-scheduler").attempts(0)) == 1
    assert cluster.leader() not in ("", leader)


def test_a_stopped_watcher_is_left_before_its_nodes_are_given_up(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        job = client.run(["/bin/sh", "-c", "sleep 18; echo done"], count=4, name="through-a-pause")
        wait_for(lambda: client.job("through-a-pause").counts == {"running": 4}, "the tasks")
        stopped = busy_watcher(cluster)
        cluster.send(stopped, signal.SIGSTOP)
        try:
            other = "v2" if stopped == "v1" else "v1"
            wait_for(lambda: (answering(cluster)[other].workers or 0) == 2, "all workers at the other one")
            assert job.wait().counts == {"succeeded": 4}
        finally:
            cluster.send(stopped, signal.SIGCONT)
        for index in range(4):
            assert len(client.job("through-a-pause").attempts(index)) == 1


def test_without_a_scheduler_everybody_says_so(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        client.run(["/bin/true"], name="seen-without-a-scheduler").wait()
    cluster.kill("s1")
    cluster.kill("s2")
    wait_for(lambda: not any(view.role == LEADER for view in cluster.find_managers("a1")), "the end of the lease")
    wait_for(lambda: len(cluster.find_managers("a1")) == 4, "the end of their registrations")
    listed = shunter(cluster, "a1", "managers")
    assert "no manager with the scheduler role is running" in listed.stderr
    with cluster.client("a1", patience_s=0) as client:
        assert client.job("seen-without-a-scheduler").state == "succeeded", "reads go on"
        with pytest.raises(Exception, match="no manager with the scheduler role is running"):
            client.run(["/bin/true"])
    assert {view.role for view in cluster.find_managers("a1")} == {FOLLOWER}


def shunter(cluster: ManagerCluster, asked: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SHUNTER_URL": cluster.url_of(asked), "SHUNTER_TOKEN": TOKEN}
    return subprocess.run([str(SHUNTER), *words], capture_output=True, text=True, env=environment, timeout=60)

"""Several managers as real processes: every one serves everything, and no one of them is needed."""

from __future__ import annotations

import http.client
import signal
import time
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import pytest

from shunter import connect
from shunter.model.audit.verification import ChainVerifier
from shunter.model.errors import Unauthorized
from shunter.model.rest.manager_views import FOLLOWER, LEADER
from tests.manager_cluster import ManagerCluster, manager_cluster, shared_folder, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ManagerCluster]:
    with shared_folder() as folder, manager_cluster(folder) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def all_managers_run(cluster: ManagerCluster) -> None:
    """Tests may kill managers and workers; the next one finds all of them."""
    missing = [name for name in (*cluster.managers, "w1", "w2") if name not in cluster.processes]
    cluster.start(*missing)
    leader = cluster.wait_for_leader()
    wait_for(lambda: len([m for m in cluster.find_managers(leader) if m.lag_s is not None]) == 3, "three managers")
    cluster.wait_for_workers(2)


@pytest.mark.smoke
def test_every_manager_lists_the_same_leader(cluster: ManagerCluster) -> None:
    leader = cluster.wait_for_leader()
    for asked in cluster.managers:
        views = cluster.find_managers(asked)
        assert {view.name: view.role for view in views} == {
            name: LEADER if name == leader else FOLLOWER for name in cluster.managers
        }
        assert all(view.lag_s is not None and view.lag_s < 1 for view in views)


@pytest.mark.smoke
def test_every_manager_accepts_jobs_and_shows_their_output(cluster: ManagerCluster) -> None:
    for asked in cluster.managers:
        with cluster.client(asked) as client:
            job = client.run(["/bin/echo", f"hello {asked}"])
            assert job.wait().state == "succeeded"
            assert "".join(job.logs()) == f"hello {asked}\n"


@pytest.mark.smoke
def test_a_key_works_at_once_on_every_manager_until_it_is_revoked(cluster: ManagerCluster) -> None:
    """D-55. A follower that does not know a key yet asks the leader."""
    with cluster.client() as admin:
        for _ in range(10):
            new = admin.create_key(["viewer"])
            for asked in cluster.managers:
                with connect(cluster.url_of(asked), new.key, patience_s=0) as client:
                    assert client.whoami().roles == ["viewer"]
        admin.revoke_key(new.id)
    for asked in cluster.managers:
        wait_for(partial(is_refused, cluster.url_of(asked), new.key), f"{asked} to refuse the key")


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["key revoked", "signed out"])
def test_open_streams_end_on_every_manager(cluster: ManagerCluster, way: str) -> None:
    with cluster.client() as admin:
        new = admin.create_key(["viewer"])
    first = urlsplit(cluster.url_of(cluster.managers[0])).netloc
    headers, status, cookie = {"Authorization": f"Bearer {new.key}"}, *exchange(first, "POST", new.key)
    assert status == 201
    if way == "signed out":
        headers = {"Cookie": cookie, "Origin": f"http://{first}"}
    streams = []
    for asked in cluster.managers:
        stream = http.client.HTTPConnection(urlsplit(cluster.url_of(asked)).netloc, timeout=30)
        stream.request("GET", "/api/v1/events?follow=true", headers=headers)
        response = stream.getresponse()
        assert (asked, response.status) == (asked, 200)
        streams.append((stream, response))
    if way == "signed out":
        assert exchange(first, "DELETE", "", headers)[0] == 204
    else:
        with cluster.client() as admin:
            admin.revoke_key(new.id)
    began_s = time.monotonic()
    for stream, response in streams:
        while response.read1():
            pass
        stream.close()
    print(f"{way}: the streams of {len(streams)} managers ended within {time.monotonic() - began_s:.1f} s")


def exchange(address: str, method: str, key: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Opens or ends a session of a browser. Returns the status, and the cookie without its attributes."""
    path = "/api/v1/sessions" if method == "POST" else "/api/v1/sessions/current"
    connection = http.client.HTTPConnection(address, timeout=30)
    connection.request(method, path, headers=headers or {"Authorization": f"Bearer {key}"})
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status, (response.getheader("set-cookie") or "").partition(";")[0]


def is_refused(url: str, key: str) -> bool:
    with connect(url, key, patience_s=0) as client:
        try:
            client.whoami()
        except Unauthorized:
            return True
        return False


@pytest.mark.smoke
def test_a_client_sees_its_own_writes_on_every_manager(cluster: ManagerCluster) -> None:
    """One client with all managers: it never sees time go back."""
    with cluster.client() as client:
        for number in range(30):
            job = client.run(["/bin/true"], name=f"mine-{number}")
            client._transport.find.skip(client._transport.find.position)  # the next manager answers
            assert client.job(job.name).name == job.name


@pytest.mark.smoke
def test_killing_the_leader_loses_nothing_and_another_leads(cluster: ManagerCluster) -> None:
    leader = cluster.wait_for_leader()
    with cluster.client() as client:
        running = client.run(["/bin/sh", "-c", "sleep 6; echo done"], name="through-a-kill")
        waiting = client.run(["/bin/sleep", "0.1"], count=200, name="many")
        wait_for(lambda: client.job("through-a-kill").state == "running", "the first task")
        cluster.kill(leader)
        began_s = time.monotonic()
        after = client.run(["/bin/echo", "after"], name="after-a-kill")
        assert after.wait().state == "succeeded"
        print(f"a new job ended {time.monotonic() - began_s:.1f} s after the kill")
        assert running.wait().state == "succeeded"
        assert waiting.wait().counts == {"succeeded": 200}
        attempts = client.job("through-a-kill").attempts(0)
        assert len(attempts) == 1, "the task ran once, although its manager was killed"
    assert cluster.leader() not in ("", leader)


@pytest.mark.smoke
def test_stepping_down_hands_over_at_once(cluster: ManagerCluster) -> None:
    leader = cluster.wait_for_leader()
    with cluster.client() as client:
        client.step_down()
        job = client.run(["/bin/true"])
        assert job.wait().state == "succeeded"
    assert cluster.wait_for_leader() != leader


def test_a_stopped_leader_is_replaced_and_changes_nothing_when_it_wakes(cluster: ManagerCluster) -> None:
    leader = cluster.wait_for_leader()
    others = [name for name in cluster.managers if name != leader]
    with cluster.client(*others) as client:
        job = client.run(["/bin/sh", "-c", "sleep 20; echo done"], name="through-a-pause")
        cluster.send(leader, signal.SIGSTOP)
        try:
            wait_for(
                lambda: any(m.role == LEADER and m.name != leader for m in cluster.find_managers(others[0])), "a leader"
            )
            assert client.run(["/bin/true"]).wait().state == "succeeded"
        finally:
            cluster.send(leader, signal.SIGCONT)
        wait_for(lambda: cluster.find_managers(leader) != [], "the old leader")
        own = next(view for view in cluster.find_managers(leader) if view.name == leader)
        assert own.role == FOLLOWER
        assert job.wait().state == "succeeded"


def test_workers_leave_a_stopped_leader_as_soon_as_another_one_leads(cluster: ManagerCluster) -> None:
    """They need not wait until the stopped one has been silent for too long."""
    leader = cluster.wait_for_leader()
    others = [name for name in cluster.managers if name != leader]
    said = {name: len(cluster.log_of(name)) for name in ("w1", "w2")}
    cluster.send(leader, signal.SIGSTOP)
    try:
        for name, length in said.items():
            wait_for(lambda: "leader.changed" in cluster.log_of(name)[length:], f"{name} to leave")  # noqa: B023
            assert "leader.unconfirmed" not in cluster.log_of(name)[length:]
        with cluster.client(*others) as client:
            assert client.run(["/bin/true"]).wait().state == "succeeded"
    finally:
        cluster.send(leader, signal.SIGCONT)


def test_streams_of_events_go_on_at_another_manager(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        events = client.events(follow=True, after=str(client.cluster().state_version))
        client.run(["/bin/true"], name="before").wait()
        seen = []
        cluster.kill(cluster.wait_for_leader())
        client.run(["/bin/true"], name="behind").wait()
        for event in events:
            seen.append((event.type, event.name))
            if event.name == "behind" and event.type == "job.succeeded":
                break
        assert len(seen) == len(set(seen))
        assert [name for kind, name in seen if kind == "job.succeeded"] == ["before", "behind"]


def test_without_etcd_nobody_writes_and_reads_go_on(cluster: ManagerCluster) -> None:
    with cluster.client() as client:
        job = client.run(["/bin/sleep", "8"], name="without-etcd")
        cluster.etcd.kill()
        try:
            wait_for(lambda: cluster.leader() == "", "the end of the lease")
            with cluster.client(cluster.managers[0], patience_s=0) as asked:
                assert asked.job("without-etcd").name == "without-etcd"
        finally:
            cluster.etcd.start()
            cluster.etcd.wait_until_up()
        assert job.wait().state == "succeeded"
        assert client.run(["/bin/true"]).wait().state == "succeeded"


@pytest.mark.smoke
def test_a_manager_waits_for_servers_that_are_away_when_it_starts(cluster: ManagerCluster) -> None:
    follower = next(name for name in cluster.managers if name != cluster.wait_for_leader())
    cluster.kill(follower)
    cluster.postgres.kill()
    cluster.etcd.kill()
    try:
        said = len(cluster.log_of(follower))
        cluster.start(follower)
        wait_for(lambda: "manager.waiting" in cluster.log_of(follower)[said:], "the warning")
        assert "the server cannot be reached" in cluster.log_of(follower)[said:]
    finally:
        cluster.postgres.start()
        cluster.etcd.start()
        cluster.etcd.wait_until_up()
    wait_for(lambda: len(cluster.find_managers(follower)) == 3, "the manager that waited")
    cluster.expect_running()
    with cluster.client(follower) as client:
        assert client.run(["/bin/true"]).wait().state == "succeeded"


def test_a_manager_that_waits_for_its_store_can_be_stopped(cluster: ManagerCluster) -> None:
    follower = next(name for name in cluster.managers if name != cluster.wait_for_leader())
    cluster.kill(follower)
    cluster.postgres.kill()
    try:
        said = len(cluster.log_of(follower))
        cluster.start(follower)
        wait_for(lambda: "manager.waiting" in cluster.log_of(follower)[said:], "the warning")
        cluster.send(follower, signal.SIGTERM)
        assert cluster.processes.pop(follower).wait(10) == 1
        assert "stopped while it waited for its store" in cluster.log_of(follower)[said:]
    finally:
        cluster.postgres.start()


def test_the_whole_cluster_stops_whichever_manager_is_asked(cluster: ManagerCluster) -> None:
    leader = cluster.wait_for_leader()
    follower = next(name for name in cluster.managers if name != leader)
    with cluster.client(follower) as client:
        client.run(["/bin/sleep", "60"], name="stopped-with-the-cluster")
        wait_for(lambda: client.job("stopped-with-the-cluster").state == "running", "the task")
        client.down(cluster=True)
    for name, process in list(cluster.processes.items()):
        assert process.wait(30) == 0, name
        del cluster.processes[name]


def test_the_audit_log_has_what_every_manager_accepted_and_goes_on_under_the_next_leader(
    cluster: ManagerCluster,
) -> None:
    """D-45. A follower forwards a change, and says where it came from."""
    leader = cluster.wait_for_leader()
    for number in range(2):
        for asked in cluster.managers:
            if asked in cluster.processes:
                with cluster.client(asked) as client:
                    client.update_queue(f"audited-{asked}-{number}", {"running_max": 1})
        if not number:
            cluster.kill(leader)
            cluster.wait_for_leader(other_than=leader)
    with cluster.client() as client:
        # Refused requests of the tests before may have been recorded meanwhile: such a record has no names.
        records = [each for each in client.audit(limit=200) if " ".join(each.names).startswith("queue audited-")]
        assert len(records) == 2 * len(cluster.managers) - 1
        assert {each.source for each in records} == {"127.0.0.1"}
        page = client.audit_lines()
        verifier = ChainVerifier()
        while page.lines:
            for line in page.lines:
                verifier.add(line.encode())
            page = client.audit_lines(after=page.last)
        verifier.finish()
        assert verifier.problems == []

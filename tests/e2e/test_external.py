"""External schedulers on a real cluster, with an HTTP client and nothing else."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.cluster import Cluster, eventually
from tests.e2e.rest import Rest
from tests.e2e.test_objects import apply, command, testbed

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def testbed_cluster(home: Cluster) -> Cluster:
    """A cluster with an open door for external schedulers, a testbed of two slots and two jobs."""
    started = home.up("--cpu", "2", "--external-listen", "127.0.0.1:0", "--external-open")
    assert f"external schedulers connect over REST at {home.description['external']}" in started.out
    home.shunter("node", "label", home.items("nodes")[0]["name"], "bench=0")
    apply(home, testbed(), command("crawler"), command("sorter"))
    return home


def endpoint(cluster: Cluster) -> Ask:
    """Requests as a client sends them that knows no token."""
    address = str(urlsplit(cluster.description["external"]).netloc)

    def ask(method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(address, timeout=30)
        try:
            connection.request(method, path, json.dumps(body), {"content-type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()

    return ask


def test_a_scheduler_looks_schedules_and_remembers_with_http_alone(testbed_cluster: Cluster) -> None:
    """S0-19, S0-25, S1-19: the situation of the cluster, a new scheduling, and those that were."""
    ask = endpoint(testbed_cluster)

    def state(path: str) -> Any:
        return ask("GET", path)[1]["state"]

    eventually(lambda: state("/external/testbeds/bench") == "SUCCESS", "the testbed is ready")
    _, [seen] = ask("GET", "/external/testbeds")
    [slots] = seen["slotsByNode"].values()
    assert (seen["numberOfNodes"], [slot["state"] for slot in slots]) == (1, ["FREE", "FREE"])
    assert sorted(ask("GET", "/external/jobs")[1]) == ["crawler", "sorter"]
    status, made = ask(
        "POST", "/external/schedulings", {"name": "s", "testBed": "bench", "queue": ["crawler", "sorter"]}
    )
    assert (status, made["queue"]) == (200, ["crawler", "sorter"])
    eventually(lambda: state("/external/schedulings/s") == "CompletedState", "both jobs have run")
    status, old = ask("DELETE", "/external/schedulings/s")
    assert (status, {each["state"] for each in old["jobStatus"]}) == (200, {"Completed"})
    eventually(lambda: ask("GET", "/external/schedulings/s")[0] == 404, "it is gone")
    eventually(lambda: state("/external/jobs/crawler") == "ReadyState", "its job may run again")
    [run] = ask("GET", "/external/jobs/crawler")[1]["scheduledEvents"]
    status, job = ask(
        "PUT", "/external/jobs/", {"name": "crawler", "externalScheduler": {"me": [{"ran": run["start"]}]}}
    )
    assert (status, job["externalScheduler"]) == (200, {"me": [{"ran": run["start"]}]})
    past = Rest(testbed_cluster).ask("GET", "/schedulings/past?name=s").json["items"]
    ran = {each["name"]: (each["successful"], each["start"]) for each in past[0]["runs"]}
    assert sorted(ran) == ["crawler", "sorter"] and ran["crawler"] == (True, run["start"])


def test_an_open_door_leads_to_the_interface_and_nowhere_else(testbed_cluster: Cluster) -> None:
    """S1-04, S1-20."""
    ask = endpoint(testbed_cluster)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        assert ask(method, "/external/testbeds/bench", {})[0] == 405
    both = {"name": "s", "testBed": "bench", "queue": ["a"], "slots": {"jobs": [{"name": "a", "slots": [0]}]}}
    status, problem = ask("POST", "/external/schedulings", both)
    assert (status, problem["detail"].partition(";")[0]) == (400, "body: has both queue and slots")
    assert ask("GET", "/api/v1/jobs")[0] == 404
    assert Rest(testbed_cluster).ask("GET", "/external/jobs", token=False).status == 401
    assert Rest(testbed_cluster).ask("GET", "/external/jobs").status == 200


def test_two_schedulers_write_the_same_job_at_once_and_both_survive(testbed_cluster: Cluster) -> None:
    """S1-29: each has keys of its own, and the last of its writes stays."""
    ask = endpoint(testbed_cluster)

    def write(who: str) -> list[int]:
        bodies = [{"name": "crawler", "externalScheduler": {who: [{"round": str(number)}]}} for number in range(20)]
        return [ask("PUT", "/external/jobs/", body)[0] for body in bodies]

    with ThreadPoolExecutor(2) as pool:
        assert [set(codes) for codes in pool.map(write, ("profiler", "packer"))] == [{200}, {200}]
    assert ask("GET", "/external/jobs/crawler")[1]["externalScheduler"] == {
        "profiler": [{"round": "19"}],
        "packer": [{"round": "19"}],
    }


def test_what_was_put_is_there_after_completion_release_and_the_next_run(testbed_cluster: Cluster) -> None:
    """S0-06: data of a scheduler outlives the runs of its job."""
    ask, data = (
        endpoint(testbed_cluster),
        {"profiler": [{"sorter": "24 (16)"}, {"crawler": "30"}], "packer": [{"weight": "7"}]},
    )
    assert ask("PUT", "/external/jobs/crawler", {"name": "crawler", "externalScheduler": data})[0] == 200

    def read_data() -> Any:
        return ask("GET", "/external/jobs/crawler")[1]["externalScheduler"]

    for number in (1, 2):
        run_once(ask, f"s{number}", "crawler")
        assert read_data() == data
        release(ask, f"s{number}", "crawler")
        assert read_data() == data
    assert len(ask("GET", "/external/jobs/crawler")[1]["scheduledEvents"]) == 2


def test_each_run_has_an_entry_with_its_times_and_result_over_a_killed_manager(
    testbed_cluster: Cluster, tmp_path: Path
) -> None:
    """S0-20."""
    ask, flag = endpoint(testbed_cluster), tmp_path / "fails"
    apply(testbed_cluster, command("moody", "sh", "-c", f"test ! -e {flag}"))
    expected = []
    for number, fails in enumerate((False, True, True, False)):
        flag.touch() if fails else flag.unlink(missing_ok=True)
        state = run_once(ask, f"s{number}", "moody")
        assert state == ("FailedState" if fails else "CompletedState")
        release(ask, f"s{number}", "moody")
        expected.append((f"s{number}", not fails))
        if number == 1:
            testbed_cluster.kill_manager()
            testbed_cluster.up("--cpu", "2", "--external-listen", "127.0.0.1:0", "--external-open")
            ask = endpoint(testbed_cluster)
    events = ask("GET", "/external/jobs/moody")[1]["scheduledEvents"]
    assert [(each["scheduling"]["name"], each["successful"]) for each in events] == expected
    times = [datetime.fromisoformat(each[end]) for each in events for end in ("start", "stop")]
    assert times == sorted(times)


def run_once(ask: Ask, scheduling: str, job: str) -> str:
    """Until a Scheduling of one executor has ended, well or not; how."""
    ask("POST", "/external/schedulings", {"name": scheduling, "testBed": "bench", "queue": [job]})
    ends = ("CompletedState", "FailedState")

    def ended() -> Any:
        return found if (found := ask("GET", f"/external/schedulings/{scheduling}")[1]["state"]) in ends else None

    return str(eventually(ended, f"{scheduling} has ended"))


def release(ask: Ask, scheduling: str, job: str) -> None:
    assert ask("DELETE", f"/external/schedulings/{scheduling}")[0] == 200
    eventually(lambda: ask("GET", f"/external/jobs/{job}")[1]["state"] == "ReadyState", f"{job} may run again")


def test_an_open_door_is_refused_to_other_machines(home: Cluster) -> None:
    refused = home.shunter("up", "--detach", "--external-listen", "0.0.0.0:8082", "--external-open", code=2)
    assert "listen on 127.0.0.1" in refused.err

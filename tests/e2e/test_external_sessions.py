"""Schedulers over REST with a session, with an HTTP client and nothing else: lease, record, shadow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.adapters.files.flight_files import read_frames
from shunter.model.protocol.flight_records import Decided, Shadowed, decode_record
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.rest import Answer, Rest
from tests.e2e.test_objects import apply, command, testbed

LEASE_S = 1


@pytest.fixture
def rest(home: Cluster) -> Rest:
    home.up("--cpu", "2")
    home.shunter("cluster", "set", f"lease={LEASE_S}s")
    home.shunter("node", "label", home.items("nodes")[0]["name"], "bench=0")
    apply(home, testbed(), command("crawler"), command("sorter"))
    asked = Rest(home)
    eventually(lambda: asked.ask("GET", "/external/testbeds/bench").json["state"] == "SUCCESS", "it is ready")
    return asked


class Scheduler:
    """What a client must do for a session: send the token that it got with each request."""

    def __init__(self, rest: Rest, name: str, mode: str = "lead") -> None:
        self._rest = rest
        opened = rest.ask("POST", "/external/sessions", {"name": name, "mode": mode})
        assert (opened.status, opened.json["leaseSeconds"]) == (201, LEASE_S), opened.body
        self.path, self.headers = f"/external/sessions/{name}", {"shunter-scheduler": opened.json["token"]}

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self._rest.ask(method, path, body, self.headers)

    def schedule(self, name: str, *queue: str) -> Answer:
        return self.ask("POST", "/external/schedulings", {"name": name, "testBed": "bench", "queue": queue})


def policy(cluster: Cluster, name: str) -> dict[str, Any]:
    return next(each for each in cluster.items("policies") if each["name"] == name)


def test_a_session_has_a_lease_and_fences_who_has_lost_it(home: Cluster, rest: Rest) -> None:
    first = Scheduler(rest, "mine")
    assert policy(home, "remote:mine")["state"] == "connected"
    second = Scheduler(rest, "mine")
    refused = first.schedule("old", "crawler")
    assert (refused.status, "another session took over" in refused.json["detail"]) == (409, True)
    assert second.ask("PUT", second.path).status == 200
    assert second.schedule("new", "crawler").status == 200
    assert "1 decision" in policy(home, "remote:mine")["source"]
    eventually(lambda: policy(home, "remote:mine")["state"] == "silent", "its lease ends")
    requests = (("GET", "/external/jobs"), ("PUT", second.path), ("DELETE", "/external/schedulings/new"))
    for late in (second.schedule("late", "sorter"), *(second.ask(*each) for each in requests)):
        assert (late.status, "its lease expired; open another one" in late.json["detail"]) == (409, True)
    names = [each["name"] for each in rest.ask("GET", "/external/schedulings").json]
    assert names == ["new"]
    state = "/external/schedulings/new"
    eventually(lambda: rest.ask("GET", state).json["state"] == "CompletedState", "what it began goes on without it")
    assert rest.ask("DELETE", "/external/schedulings/new").status == 200  # without a session, all is as before
    third = Scheduler(rest, "mine")
    assert third.ask("DELETE", third.path).status == 204
    assert all(each["name"] != "remote:mine" for each in home.items("policies"))


def test_while_a_scheduler_is_silent_the_fallback_policy_places_tasks(home: Cluster, rest: Rest) -> None:
    Scheduler(rest, "mine")
    home.shunter("policies", "use", "remote:mine")
    home.shunter("run", "--", "true")
    eventually(lambda: policy(home, "remote:mine")["state"] == "silent", "its lease ends")
    assert "fallback" in policy(home, "remote:mine")["error"]
    home.shunter("run", "--", "true")


def test_decisions_of_a_session_are_in_the_flight_recorder_with_what_was_seen(
    home: Cluster, rest: Rest, tmp_path: Path
) -> None:
    scheduler = Scheduler(rest, "mine")
    seen = scheduler.ask("GET", "/external/testbeds")
    assert scheduler.schedule("s", "crawler", "sorter").status == 200
    refused = scheduler.schedule("t", *["crawler"] * 3)
    assert refused.status == 400
    assert "schedulings[0]" in policy(home, "remote:mine")["last_refusal"]
    assert scheduler.ask("DELETE", "/external/schedulings/s").status == 200
    decided = [each for each in records(home, tmp_path) if isinstance(each, Decided) and each.source == "mine"]
    made = [(each.decision.schedulings, each.decision.withdrawals, each.refused) for each in decided]
    assert [([str(draft.name) for draft in drafts], list(map(str, gone)), count) for drafts, gone, count in made] == [
        (["default/s"], [], 0),
        (["default/t"], [], 1),
        ([], ["default/s"], 0),
    ]
    assert decided[0].decision.based_on == int(seen.headers["shunter-version"])


def records(cluster: Cluster, folder: Path) -> list[Any]:
    cluster.shunter("flight", "export", str(folder / "day.flight"))
    return [decode_record(body) for body in read_frames(folder / "day.flight")]


def test_what_a_shadow_schedules_is_compared_and_not_applied(home: Cluster, rest: Rest, tmp_path: Path) -> None:
    shadow = Scheduler(rest, "shade", mode="shadow")
    made = shadow.schedule("mine", "crawler")
    assert (made.status, made.json["queue"]) == (200, ["crawler"])
    assert rest.ask("GET", "/external/schedulings").json == []
    body = {"name": "real", "testBed": "bench", "queue": ["crawler"]}
    assert rest.ask("POST", "/external/schedulings", body).status == 200
    eventually(lambda: "agrees with 1 of 1 decisions" in policy(home, "shade")["source"], "they are compared")
    shadow = Scheduler(rest, "shade", mode="shadow")
    assert shadow.schedule("mine", "sorter").status == 200
    eventually(lambda: "agrees with 0 of 1 decisions" in policy(home, "shade")["source"], "they are compared")
    assert [each.is_same for each in records(home, tmp_path) if isinstance(each, Shadowed)] == [True, False]


def test_sessions_need_a_role_a_name_and_a_mode(home: Cluster, rest: Rest) -> None:
    viewer = {"authorization": f"Bearer {home.json('key', 'create', '--role', 'viewer')['key']}"}
    body = {"name": "mine"}
    assert rest.ask("POST", "/external/sessions", body, viewer).status == 403
    assert rest.ask("POST", "/external/sessions", {"name": "NO"}).fields == ["name"]
    assert rest.ask("POST", "/external/sessions", {**body, "mode": "boss"}).fields == ["mode"]
    assert rest.ask("PUT", "/external/sessions/NO").fields == ["path.scheduler"]
    for token in ({}, {"shunter-scheduler": "1-0123456789abcdef"}):
        assert rest.ask("PUT", "/external/sessions/mine", None, token).status == 409
    scheduler = Scheduler(rest, "mine")
    assert rest.ask("PUT", "/external/sessions/other", None, scheduler.headers).status == 404

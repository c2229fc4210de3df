"""The status stream: what happened, in order, once each, for any number of clients, resumable from any event."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import as_yaml, job, shell
from tests.e2e.rest import Rest, events_of
from tests.e2e.task_gates import Gate


def position(event: dict[str, Any]) -> tuple[int, int]:
    version, _, number = event["id"].partition("-")
    return int(version), int(number)


def until_end_of(name: str, events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events up to the end of a job."""
    ends = ("job.succeeded", "job.failed", "job.cancelled")
    return list(takewhile(lambda event: not (event["type"] in ends and event["job"] == name), events))


def test_a_tasks_life_is_told_in_order(cluster: Cluster) -> None:
    """R-06, R-07, R-20: each change of state once, in the order in which it came about."""
    restart = {"policy": "on-failure", "max": 1, "delay": "10ms"}
    script = 'sleep 0.1; test "$SHUNTER_ATTEMPT" = 2'
    cluster.shunter("submit", "-f", "-", "--wait", stdin=as_yaml(shell("told", script, restart=restart)))
    events = cluster.items("events", "--job", "told")
    assert [event["type"] for event in events] == [
        "job.submitted", "tasks.placed", "tasks.started", "tasks.retried",
        "tasks.placed", "tasks.started", "tasks.succeeded", "job.succeeded",
    ]  # fmt: skip
    assert [position(event) for event in events] == sorted({position(event) for event in events})
    assert {(event["job"], event["namespace"]) for event in events} == {("told", "default")}
    assert [event["attempt"] for event in events if event["type"] == "tasks.placed"] == [1, 2]


def test_an_array_is_told_by_ranges_not_by_tasks(cluster: Cluster) -> None:
    """R-06: raw noise is not lifted: thousands of short tasks make far fewer events."""
    cluster.shunter("run", "--name", "ranges", "--count", "3000", "--", "/bin/true")
    events = cluster.items("events", "--job", "ranges", "--limit", "0")
    succeeded = [event["tasks"] for event in events if event["type"] == "tasks.succeeded"]
    covered = [index for tasks in succeeded for index in indexes(tasks)]
    assert sorted(covered) == list(range(3000))  # every task once
    assert len(events) < 1500


def test_any_number_of_clients_follow_the_same_stream(cluster: Cluster) -> None:
    """R-19: one stream, several clients, the same events for all."""
    rest = Rest(cluster)
    with rest.stream("/events?follow=true") as first, rest.stream("/events?follow=true") as second:
        next(first), next(second)  # both are there
        cluster.shunter("run", "--name", "watched", "--", "/bin/true")
        told = until_end_of("watched", events_of(first))
        assert [event["type"] for event in told][:2] == ["job.submitted", "tasks.placed"]
        assert until_end_of("watched", events_of(second)) == told


def test_a_stream_is_resumed_behind_the_last_event_seen(cluster: Cluster) -> None:
    """R-19: after a break, a client sends the last id and misses nothing, sees nothing twice."""
    rest = Rest(cluster)
    with rest.stream("/events?follow=true") as lines:
        next(lines)
        cluster.shunter("run", "--name", "before", "--", "/bin/true")
        events = events_of(lines)
        seen = [next(events), next(events)]
    cluster.shunter("run", "--name", "meanwhile", "--", "/bin/true")
    with rest.stream("/events", {"accept": "text/event-stream", "last-event-id": seen[-1]["id"]}) as lines:
        seen += until_end_of("meanwhile", events_of(lines))
    places = [position(event) for event in seen]
    assert places == sorted(set(places))
    assert {event["job"] for event in seen} == {"before", "meanwhile"}
    every = {event["id"] for event in cluster.items("events", "--limit", "0")}
    assert {event["id"] for event in seen} == {each for each in every if in_between(seen, each)}


def test_events_are_filtered_by_job_and_namespace(cluster: Cluster) -> None:
    cluster.shunter("run", "-n", "elsewhere", "--name", "one", "--", "/bin/true")
    cluster.shunter("run", "--name", "two", "--", "/bin/true")
    assert {event["job"] for event in cluster.items("events", "-n", "elsewhere")} == {"one"}
    assert {event["job"] for event in cluster.items("events", "--job", "two")} == {"two"}


def test_the_command_follows_live(cluster: Cluster, gate: Gate) -> None:
    """C-20: `events --follow` prints what happens, one JSON object a line."""
    before = str(cluster.json("cluster")["state_version"])  # so that it misses nothing, however late it connects
    follower = cluster.begin("events", "--follow", "--after", before, "--output", "json", "--job", "live")
    try:
        cluster.shunter("submit", "-f", "-", stdin=as_yaml(job("live", gate.command)))
        gate.open()
        assert follower.stdout is not None
        types = []
        while "job.succeeded" not in types:
            types.append(json.loads(follower.stdout.readline())["type"])
        assert types[:2] == ["job.submitted", "tasks.placed"]
    finally:
        follower.terminate()
        follower.wait(timeout=30)


def test_a_stream_goes_on_after_the_manager_was_restarted(home: Cluster) -> None:
    """R-12, R-19: Last-Event-ID of the old manager is good for the new one: no gap and nothing twice."""
    home.up("--cpu", "2")
    home.shunter("run", "--name", "first", "--", "/bin/true")
    [*_, last] = home.items("events", "--job", "first")
    home.shunter("run", "--name", "second", "--", "/bin/true")
    home.kill_manager()
    home.up("--cpu", "2")
    home.shunter("run", "--name", "third", "--", "/bin/true")
    with Rest(home).stream("/events?follow=true", {"last-event-id": last["id"]}) as lines:
        seen = until_end_of("third", events_of(lines))
    submitted = [event["job"] for event in seen if event["type"] == "job.submitted"]
    assert submitted == ["second", "third"]
    assert [event["job"] for event in seen if event["type"] == "tasks.succeeded"] == ["second", "third"]
    assert [position(event) for event in seen] == sorted({position(event) for event in seen})


def indexes(tasks: str) -> range:
    first, _, last = tasks.partition("-")
    return range(int(first), int(last or first) + 1)


def in_between(seen: list[dict[str, Any]], event_id: str) -> bool:
    return position(seen[0]) <= position({"id": event_id}) <= position(seen[-1])

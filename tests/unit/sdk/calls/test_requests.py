"""Every REST call as a value: what a name or filter holds cannot change the path."""

from __future__ import annotations

import pytest

from shunter.sdk.calls import requests
from shunter.sdk.errors import Invalid
from shunter.sdk.transport.steps import Request


@pytest.mark.parametrize(
    ("request_", "method", "path"),
    [
        (requests.cluster(), "GET", "/cluster"),
        (requests.job("render@3", "default"), "GET", "/jobs/render@3?namespace=default"),
        (requests.job("id:7", "film"), "GET", "/jobs/id:7?namespace=film"),
        (requests.job("..?x=1 &y", "a&b"), "GET", "/jobs/..%3Fx%3D1%20%26y?namespace=a%26b"),
        (requests.job("a\r\nX: y", "default"), "GET", "/jobs/a%0D%0AX:%20y?namespace=default"),
        (requests.stop("a", "n", None, now=False), "DELETE", "/jobs/a?namespace=n"),
        (requests.stop("a", "n", 3, now=True), "DELETE", "/jobs/a/tasks/3?namespace=n&now=true"),
        (
            requests.jobs("*", ["running", "pending"], {"team": "film"}, 5, None),
            "GET",
            "/jobs?namespace=%2A&state=running&state=pending&label=team%3Dfilm&limit=5",
        ),
        (
            requests.tasks("a", "n", ["failed"], False, 9, "8"),
            "GET",
            "/jobs/a/tasks?namespace=n&state=failed&limit=9&after=8",
        ),
        (requests.tasks("a", "n", [], True, 9, None), "GET", "/jobs/a/tasks?namespace=n&all=true&limit=9"),
        (requests.task("a", "n", "g/3~7"), "GET", "/jobs/a/tasks/3?namespace=n&group=g&piece=7"),
        (requests.follow("a", "n", "logs"), "GET", "/jobs/a/follow?namespace=n&mode=logs"),
        (requests.node("a/b"), "GET", "/nodes/a%2Fb"),
        (requests.events("n", "a", 5, "42-3"), "GET", "/events?namespace=n&job=a&limit=5&after=42-3"),
        (requests.follow_events("*", None, "4"), "GET", "/events?namespace=%2A&after=4&follow=true"),
    ],
)
def test_a_call_has_its_method_and_quoted_path(request_: Request, method: str, path: str) -> None:
    assert (request_.method, request_.path) == (method, path)


def test_a_task_is_not_taken_for_a_job() -> None:
    with pytest.raises(Invalid, match=r"job: is a task, and this is about whole jobs .*; write web"):
        requests.job("web/1", "default")


def test_labels_are_set_and_taken_away_in_one_body() -> None:
    assert requests.label_node("a", {"disk": "ssd", "rack": None}).body == b'{"labels":{"disk":"ssd","rack":null}}'


def test_only_ending_the_cluster_must_not_be_repeated() -> None:
    assert not requests.down(leave_running=True).repeatable
    assert requests.down(leave_running=True).body == b'{"leave_running":true}'
    assert requests.submit({}, "n", "k").repeatable

"""The command `node drain`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.commands.test_listings import NODE
from tests.unit.cli.conftest import Cluster, Reply, Shunter
from tests.unit.sdk.scripted_server import ReceivedRequest, answer


def test_a_drain_says_how_many_tasks_it_waits_for(
    cluster: Cluster, shunter: Shunter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shunter.cli.commands.cluster.nodes.POLL_INTERVAL_S", 0.0)
    draining = NODE | {"state": "draining", "eligible": False}
    left = iter([2, 1])

    def look(_: ReceivedRequest) -> Reply:
        count = next(left, 0)
        return answer(200, draining | {"tasks": count} | ({} if count else {"state": "drained"}))

    cluster.answers |= {"POST /nodes/vm/drain": answer(200, draining | {"tasks": 2}), "GET /nodes/vm": look}
    said = shunter("node", "drain", "vm", "--wait")
    assert said.err == "shunter: waiting for 2 tasks on vm\nshunter: waiting for 1 task on vm\n"
    assert said.out == "vm is drained: no tasks are left; let new tasks start with `shunter node undrain vm`\n"


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"state": "drained"}, "vm is drained: no tasks are left; let new tasks start with `shunter node undrain vm`"),
        ({"state": "down", "tasks": 2, "reason": "no heartbeat for 12 s"}, "vm went down with 2 tasks on it"),
        ({"state": "ready", "eligible": True, "tasks": 1}, "vm is ready: the drain was ended with 1 task on it"),
    ],
)
def test_a_drain_ends_with_a_line_that_says_what_came_of_it(
    cluster: Cluster, shunter: Shunter, fields: dict[str, Any], outcome: str
) -> None:
    draining = NODE | {"state": "draining", "eligible": False, "tasks": 2}
    cluster.answers |= {
        "POST /nodes/vm/drain": answer(200, draining), "GET /nodes/vm": answer(200, draining | {"tasks": 0} | fields)
    }  # fmt: skip
    said = shunter("node", "drain", "vm", "--wait")
    assert outcome in said.out + said.err
    assert said.code == (0 if fields["state"] == "drained" else 1)

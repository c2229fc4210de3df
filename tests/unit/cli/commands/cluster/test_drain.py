"""The command `node drain`."""

from __future__ import annotations

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
    assert said.out == "vm accepts no new tasks (drained)\n"

"""What `why` says about tasks on a node that is down."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.lifecycles import NodeEvent
from shunter.ports.principals import TaskReference
from tests.unit.gateway.harness import GatewayHarness, reference, run_scenario


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"at_most_once": True},
            "the old attempt may still run there. It goes on when n1 returns. If the machine is off",
        ),
        ({"at_most_once": True}, "`shunter node forget n1`"),
        ({"at_most_once": True, "disconnect": {"stop_after": "30s"}}, "It goes on when n1 returns, or in 45s"),
        (
            {"disconnect": {"replace_after": "1m"}},
            "1 task waits for node n1, which is down, and may run on another node",
        ),
    ],
)
def test_why_names_the_node_the_wait_and_the_command(fields: dict[str, Any], words: str) -> None:
    async def scenario(harness: GatewayHarness) -> None:
        node = await harness.join("n1", cpu=1)
        await harness.run("job", **fields)
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
        await harness.settle()
        assert words in (await harness.gateway.explain.why(reference("job"))).sentence
        assert words in (await harness.gateway.explain.why(reference("job"), TaskReference(0))).sentence

    run_scenario(scenario)


def test_why_of_a_job_whose_only_node_is_down_names_the_node() -> None:
    async def scenario(harness: GatewayHarness) -> None:
        await harness.join("n1", cpu=1)
        node = await harness.join("n2", cpu=1)
        await harness.engine.node_event(node, NodeEvent.TIMED_OUT, "no heartbeat for 10 s")
        await harness.run("job", constraints=['node.name == "n2"'])
        found = await harness.gateway.explain.why(reference("job"))
        assert found.sentence == "Pending: its only matching node, n2, is down: no heartbeat for 10 s."
        assert found.start is not None
        assert found.start.basis.endswith("is down: no heartbeat for 10 s; it is placed when the node is back")

    run_scenario(scenario)

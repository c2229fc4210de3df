from __future__ import annotations

from typing import Any

import msgspec
import pytest

from shunter.model.protocol.worker_messages import PROTOCOL_VERSION
from shunter.model.resources import AMOUNT_MAX
from shunter.watcher.admission import ENTRIES_MAX, RESOURCES_MAX, TEXT_MAX, hello_problem
from tests.unit.watcher.harness import Harness, hello, virtual


@pytest.mark.parametrize("name", ["a", "node-1", "Node_1.rack2.example.org", "x" * 253])
def test_a_host_name_is_fine(name: str) -> None:
    assert hello_problem(hello(name)) is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": ""}, "name: ''"),
        ({"name": "x" * 254}, "name: "),
        ({"name": "-n"}, "name: '-n'"),
        ({"name": "a/b"}, "name: 'a/b'"),
        ({"name": "n\n"}, "name: "),
        ({"boot": ""}, "boot: is empty"),
        ({"capacity": {"cpu": -1}}, "capacity.cpu: -1"),
        ({"capacity": {"cpu": AMOUNT_MAX + 1}}, "capacity.cpu"),
        ({"capacity": {f"r{number}": 1 for number in range(RESOURCES_MAX + 1)}}, "more than 64"),
        ({"labels": {f"k{number}": "" for number in range(ENTRIES_MAX + 1)}}, "labels: has 257 entries"),
        ({"attributes": {f"k{number}": "" for number in range(ENTRIES_MAX + 1)}}, "attributes: has 257 entries"),
        ({"labels": {"k": "v" * (TEXT_MAX + 1)}}, "longer than 4096"),
        ({"address": "v" * (TEXT_MAX + 1)}, "longer than 4096"),
    ],
)
def test_a_hello_that_breaks_a_limit_is_refused_with_the_field(changed: dict[str, Any], said: str) -> None:
    refused = hello_problem(msgspec.structs.replace(hello(), **changed))
    assert refused is not None
    assert (refused.code, refused.retry) == ("invalid", False)
    assert said in refused.reason


@pytest.mark.parametrize("version", [0, PROTOCOL_VERSION + 1])
@virtual
async def test_another_version_of_the_protocol_is_refused_before_the_engine_is_asked(version: int) -> None:
    harness = await Harness().open()
    link, session = harness.connect()
    await session.received(hello(protocol=version))
    assert link.refused is not None
    assert (link.refused.code, link.refused.retry) == ("protocol_version", False)
    assert harness.engine.calls == []

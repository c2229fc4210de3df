"""Services and system jobs as tests submit them, and the kinds of events that come of what is done to them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from shunter.model.job.spec import JobSpec, Restart, TaskSpec, Update
from tests.unit.engine.harness import Harness, spec

ALWAYS = Restart("always", max=3, delay_s=1.0, jitter=0.0)


def service(count: int, word: str = "v1", **fields: Any) -> JobSpec:
    """Its tasks run `serve WORD`."""
    task = fields.pop("task", TaskSpec(("serve", word)))
    update = fields.pop("update", Update(healthy_for_s=2.0, deadline_s=60.0))
    fields.setdefault("restart", ALWAYS)
    return spec(
        fields.pop("name", "web"), count, type=fields.pop("type", "service"), task=task, update=update, **fields
    )


def system(word: str = "v1", **fields: Any) -> JobSpec:
    return service(0, word, name=fields.pop("name", "agent"), type=fields.pop("type", "system"), **fields)


async def types(harness: Harness) -> Counter[str]:
    return Counter(event.type for event in await harness.events())

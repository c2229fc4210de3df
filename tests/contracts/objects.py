"""What every ObjectService promises, as claims. A test file runs all of them in a few lines:

    @pytest.mark.parametrize("claim", CONTRACT)
    async def test_the_service_of_the_gateway(claim: Claim) -> None:
        async with ... as stage:
            await claim(stage)

Testbeds here name a label that no node has, and jobs are never run: what reconcilers do is tested elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from shunter.model.errors import Conflict, Gone, Invalid, NotFound
from shunter.model.identity.roles import Role
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.documents import object_document
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import Object, ObjectEvent
from shunter.ports.objects import Applied, ObjectQuery, ObjectService, PastQuery
from shunter.ports.principals import Principal

ME = Principal("me", frozenset((Role.ADMIN,)))  # on whose behalf the service is
V1 = "batchjob.gcr.io/v1alpha1"
PATIENCE_S = 60.0


async def _nothing_to_settle() -> None:
    return None


@dataclass
class Harness:
    """A service, and how to wait until nothing moves by itself behind it any more."""

    service: ObjectService
    remembered_max: int  # changes that it remembers
    settle: Callable[[], Awaitable[None]] = _nothing_to_settle

    async def apply(self, *documents: object, namespace: str = "default") -> list[Applied]:
        applied = await self.service.apply(documents, namespace=namespace)
        await self.settle()
        return applied

    async def get(self, kind: str, name: str, namespace: str = "default") -> Object:
        return await self.service.object(kind, ObjectName(namespace, name))

    async def delete(self, kind: str, name: str, revision: int | None = None) -> Object:
        deleted = await self.service.delete(kind, ObjectName("default", name), revision)
        await self.settle()
        return deleted

    async def revision(self) -> int:
        return (await self.service.objects(ObjectQuery())).revision


Claim = Callable[[Harness], Awaitable[None]]


def testbed(name: str = "bench", /, *, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    size = {"slotsPerNode": 2, "nodeLabel": "of-no-node", "resourcesPerSlot": {"cpu": "100m"}}
    return {"apiVersion": V1, "kind": "Testbed", "metadata": {"name": name, **(metadata or {})}, "spec": size | spec}


def batch_job(name: str = "crawler", /, *, metadata: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    command = {"commandSpec": {"command": ["true"]}}
    named = {"name": name, **(metadata or {})}
    return {"apiVersion": V1, "kind": "BatchJob", "metadata": named, "spec": command | spec}


def scheduling(name: str = "first", /, testbed: str = "bench", job: str = "crawler") -> dict[str, Any]:
    spec = {"queueBased": [{"name": job}], "testbed": {"name": testbed}}
    return {"apiVersion": V1, "kind": "Scheduling", "metadata": {"name": name}, "spec": spec}


# ---- apply ----


async def what_is_applied_is_made_changed_or_left(harness: Harness) -> None:
    [made] = await harness.apply(testbed())
    assert (made.action, made.object.meta.generation, made.object.meta.user) == ("created", 1, "me")
    assert made.object.meta.uid > 0
    before = await harness.get("Testbed", "bench")
    [same] = await harness.apply(testbed())
    assert same.action == "unchanged"
    assert await harness.get("Testbed", "bench") == before
    [changed] = await harness.apply(testbed(slotsPerNode=3))
    assert (changed.action, changed.object.meta.generation) == ("configured", 2)
    assert changed.object.meta.revision > before.meta.revision
    assert changed.object.meta.uid == made.object.meta.uid


async def another_label_is_no_other_spec(harness: Harness) -> None:
    await harness.apply(testbed())
    [changed] = await harness.apply(testbed(metadata={"labels": {"team": "film"}, "annotations": {"why": "so"}}))
    meta = changed.object.meta
    assert (changed.action, meta.generation) == ("configured", 1)
    assert (meta.labels, meta.annotations) == ({"team": "film"}, {"why": "so"})


async def a_file_is_applied_whole_or_not_at_all(harness: Harness) -> None:
    await harness.apply(testbed("there"))
    before = await harness.revision()
    with pytest.raises(Invalid) as caught:
        await harness.apply(testbed("new"), batch_job(commandSpec=None))
    assert [problem.field for problem in caught.value.problems] == ["items[1].spec"]
    with pytest.raises(Conflict):
        await harness.apply(testbed("new"), testbed("there", metadata={"resourceVersion": str(10**9)}, slotsPerNode=1))
    assert await harness.revision() == before
    applied = await harness.apply(testbed("new"), batch_job(), scheduling(testbed="new"))
    assert [(each.action, each.object.meta.name) for each in applied] == [
        ("created", "new"),
        ("created", "crawler"),
        ("created", "first"),
    ]


async def of_two_updates_of_one_version_one_conflicts(harness: Harness) -> None:
    await harness.apply(testbed())
    seen = {"resourceVersion": str((await harness.get("Testbed", "bench")).meta.revision)}
    [first] = await harness.apply(testbed(metadata=seen, slotsPerNode=3))
    assert first.action == "configured"
    with pytest.raises(Conflict, match="has changed"):
        await harness.apply(testbed(metadata=seen, slotsPerNode=4))
    assert (await harness.get("Testbed", "bench")).spec == first.object.spec


async def version_0_is_that_of_what_is_not_there(harness: Harness) -> None:
    await harness.apply(testbed(metadata={"resourceVersion": "0"}))
    with pytest.raises(Conflict, match="already exists"):
        await harness.apply(testbed(metadata={"resourceVersion": "0"}))
    with pytest.raises(Conflict, match="does not exist"):
        await harness.apply(testbed("other", metadata={"resourceVersion": "1"}))


async def what_is_printed_can_be_applied_again(harness: Harness) -> None:
    await harness.apply(testbed(), batch_job(externalScheduler={"profiler": [{"other": "24 (16)"}]}), scheduling())
    for kind, name in (("Testbed", "bench"), ("BatchJob", "crawler"), ("Scheduling", "first")):
        [again] = await harness.apply(object_document(await harness.get(kind, name)))
        assert again.action == "unchanged"


async def what_only_shunter_writes_cannot_be_applied(harness: Harness) -> None:
    await harness.apply(batch_job())
    claimed = batch_job(activeScheduling={"name": "mine", "namespace": "default"})
    for wrong, field in (
        (claimed, "spec.activeScheduling"),
        (batch_job() | {"status": {"state": "CompletedState"}}, "status"),
        (batch_job(metadata={"uid": "999999"}), "metadata.uid"),
    ):
        with pytest.raises(Invalid) as caught:
            await harness.apply(wrong)
        assert [problem.field for problem in caught.value.problems] == [field]


async def the_namespace_of_the_call_holds_where_a_manifest_names_none(harness: Harness) -> None:
    await harness.apply(testbed(), testbed(metadata={"namespace": "own"}), namespace="film")
    assert (await harness.get("Testbed", "bench", "film")).meta.object_name == ObjectName("film", "bench")
    assert (await harness.get("Testbed", "bench", "own")).meta.object_name == ObjectName("own", "bench")


# ---- looking ----


async def a_list_has_all_that_is_asked_for_by_name(harness: Harness) -> None:
    await harness.apply(testbed("b"), batch_job("b"), testbed("a"), testbed("a", metadata={"namespace": "film"}))

    async def names(**asked: Any) -> list[str]:
        page = await harness.service.objects(ObjectQuery(**asked))
        assert all(each.meta.revision <= page.revision for each in page.items)
        return [str(each.meta.object_name) for each in page.items]

    assert await names(kind="Testbed") == ["default/a", "default/b", "film/a"]
    assert await names(kind="Testbed", namespace="default") == ["default/a", "default/b"]
    assert await names(name="b") == ["default/b", "default/b"]
    assert await names(namespace="nowhere") == []


async def what_is_not_there_is_not_found(harness: Harness) -> None:
    for kind in ("Testbed", "BatchJob", "Scheduling"):
        with pytest.raises(NotFound):
            await harness.get(kind, "nothing")
        with pytest.raises(NotFound):
            await harness.delete(kind, "nothing")
    with pytest.raises(NotFound):
        await harness.service.write_external(ObjectName("default", "nothing"), {})
    with pytest.raises(NotFound):
        await harness.service.reset(ObjectName("default", "nothing"))


# ---- deleting ----


async def what_is_deleted_is_gone(harness: Harness) -> None:
    await harness.apply(testbed(), testbed(metadata={"namespace": "film"}))
    with pytest.raises(Conflict):
        await harness.delete("Testbed", "bench", revision=10**9)
    deleted = await harness.delete("Testbed", "bench")
    assert deleted.meta.name == "bench"
    with pytest.raises(NotFound):
        await harness.get("Testbed", "bench")
    await harness.get("Testbed", "bench", "film")
    [again] = await harness.apply(testbed())
    assert (again.action, again.object.meta.generation) == ("created", 1)
    assert again.object.meta.uid != deleted.meta.uid


async def a_deleted_scheduling_is_history(harness: Harness) -> None:
    for name in ("one", "two", "three"):
        await harness.apply(scheduling(name))
        await harness.delete("Scheduling", name)
    page = await harness.service.past_schedulings(PastQuery(limit=2))
    assert ([past.name for past in page.items], page.total) == (["three", "two"], 3)
    rest = await harness.service.past_schedulings(PastQuery(limit=2, after=page.next))
    assert ([past.name for past in rest.items], rest.next) == (["one"], None)
    [past] = (await harness.service.past_schedulings(PastQuery(name="two"))).items
    assert past == await harness.service.past_scheduling(past.uid)
    assert (past.testbed, past.mode, past.user, past.runs) == (ObjectName("default", "bench"), "queue", "me", ())
    assert past.deleted_ms >= past.created_ms > 0
    assert (await harness.service.past_schedulings(PastQuery(namespace="film"))).items == []
    with pytest.raises(NotFound):
        await harness.service.past_scheduling(10**9)


# ---- watching ----


async def next_event(events: AsyncGenerator[ObjectEvent, None]) -> ObjectEvent:
    async with asyncio.timeout(PATIENCE_S):
        return await anext(events)


async def read_until(events: AsyncGenerator[ObjectEvent, None], last: str) -> list[ObjectEvent]:
    """Everything up to the first event of this action."""
    seen: list[ObjectEvent] = []
    while not seen or seen[-1].action != last:
        seen.append(await next_event(events))
    return seen


async def a_watch_tells_every_change_in_order_and_resumes(harness: Harness) -> None:
    start = await harness.revision()
    await harness.apply(testbed())
    await harness.apply(testbed(slotsPerNode=3))
    await harness.delete("Testbed", "bench")
    events = await harness.service.watch(ObjectQuery(), start)
    async with aclosing(events):
        seen = await read_until(events, "DELETED")
    actions = [event.action for event in seen]
    assert (actions[0], actions[-1], set(actions[1:-1])) == ("ADDED", "DELETED", {"MODIFIED"})
    revisions = [event.revision for event in seen]
    assert revisions == sorted(set(revisions))
    assert [event.object.meta.revision for event in seen[:-1]] == revisions[:-1]
    for number in range(len(seen) - 1):
        again = await harness.service.watch(ObjectQuery(), revisions[number])
        async with aclosing(again):
            assert await read_until(again, "DELETED") == seen[number + 1 :]


async def a_watch_goes_on_with_what_comes(harness: Harness) -> None:
    await harness.apply(testbed("before"))
    events = await harness.service.watch(ObjectQuery(kind="Testbed"), None)
    async with aclosing(events):
        first = asyncio.create_task(next_event(events))
        await harness.apply(testbed("after"))
        assert ((await first).action, (await first).object.meta.name) == ("ADDED", "after")


async def a_watch_tells_only_what_is_asked_for(harness: Harness) -> None:
    start = await harness.revision()
    await harness.apply(testbed("a"), batch_job("a"), testbed("a", metadata={"namespace": "film"}), testbed("b"))
    for query, wanted in (
        (ObjectQuery("BatchJob"), "BatchJob default/a"),
        (ObjectQuery("Testbed", "film"), "Testbed film/a"),
        (ObjectQuery("Testbed", None, "b"), "Testbed default/b"),
    ):
        events = await harness.service.watch(query, start)
        async with aclosing(events):
            event = await next_event(events)
            assert f"{event.kind} {event.object.meta.object_name}" == wanted


async def what_is_not_remembered_any_more_is_gone(harness: Harness) -> None:
    start = await harness.revision()
    for number in range(harness.remembered_max + 1):
        await harness.service.apply([testbed(slotsPerNode=number % 1000)], namespace="default")
    await harness.settle()
    with pytest.raises(Gone):
        await harness.service.watch(ObjectQuery(), start)
    events = await harness.service.watch(ObjectQuery(), (await harness.revision()) - 1)
    async with aclosing(events):
        await next_event(events)


# ---- batch jobs ----


async def keys_of_external_data_are_replaced_one_by_one(harness: Harness) -> None:
    """A key without rows goes."""
    await harness.apply(batch_job(externalScheduler={"profiler": [{"a": "1"}], "mine": [{"b": "2"}], "old": [{}]}))
    name = ObjectName("default", "crawler")
    before = await harness.service.object("BatchJob", name)
    changed = await harness.service.write_external(name, {"profiler": [{"a": "2 (2)"}], "old": []})
    assert changed.spec.external == {"profiler": [{"a": "2 (2)"}], "mine": [{"b": "2"}]}
    assert changed.meta.revision > before.meta.revision
    await harness.settle()
    [applied] = await harness.apply(batch_job())
    assert applied.action == "unchanged"
    assert isinstance(applied.object, BatchJob)
    assert applied.object.spec.external == changed.spec.external


async def a_reset_with_nothing_to_do_changes_nothing(harness: Harness) -> None:
    await harness.apply(batch_job())
    await harness.settle()
    name = ObjectName("default", "crawler")
    before = await harness.service.object("BatchJob", name)
    for _ in range(2):
        assert await harness.service.reset(name) == before
    assert await harness.service.object("BatchJob", name) == before


CLAIMS: tuple[Claim, ...] = (
    what_is_applied_is_made_changed_or_left,
    another_label_is_no_other_spec,
    a_file_is_applied_whole_or_not_at_all,
    of_two_updates_of_one_version_one_conflicts,
    version_0_is_that_of_what_is_not_there,
    what_is_printed_can_be_applied_again,
    what_only_shunter_writes_cannot_be_applied,
    the_namespace_of_the_call_holds_where_a_manifest_names_none,
    a_list_has_all_that_is_asked_for_by_name,
    what_is_not_there_is_not_found,
    what_is_deleted_is_gone,
    a_deleted_scheduling_is_history,
    a_watch_tells_every_change_in_order_and_resumes,
    a_watch_goes_on_with_what_comes,
    a_watch_tells_only_what_is_asked_for,
    what_is_not_remembered_any_more_is_gone,
    keys_of_external_data_are_replaced_one_by_one,
    a_reset_with_nothing_to_do_changes_nothing,
)
CONTRACT = [pytest.param(claim, id=claim.__name__) for claim in CLAIMS]

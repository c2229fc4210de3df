"""The sub-gateway `objects`: Testbeds, BatchJobs and Schedulings. Implements `ports.objects.ObjectService`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.engine.engine import Engine
from shunter.engine.feed import Subscription
from shunter.engine.objects.apply import ApplyResult
from shunter.engine.policy.rest_decisions import RestDecision, is_decision
from shunter.engine.state.registries.objects import ObjectRegistry
from shunter.gateway.scope import Scope
from shunter.model.errors import Gone, Invalid, NotFound, Problem
from shunter.model.objects.batch_jobs import BatchJob
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.objects import BATCH_JOB, KINDS, SCHEDULING, Draft, Object, ObjectEvent
from shunter.model.objects.past_schedulings import PastScheduling, PastSchedulingPage
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.ports.objects import Applied, ObjectPage, ObjectQuery, PastQuery
from shunter.ports.principals import Principal
from shunter.ports.schedulers import session_of_request
from shunter.ports.store import PastQuery as StoredPastQuery
from shunter.ports.store import Store

SHADOWED = "shadowed"  # what happened to an object that a shadow decided
UID_DIGITS_MAX = 18  # the store has 64 bits for it
_past_decoder = msgspec.msgpack.Decoder(PastScheduling)


class Objects:
    def __init__(self, caller: Principal, engine: Engine, store: Store, scope: Scope) -> None:
        self._caller, self._engine, self._store, self._scope = caller, engine, store, scope

    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        drafts = read_objects(documents, default_namespace=namespace)
        self._scope.require_objects(drafts)
        apply = partial(self._engine.apply_objects, drafts, self._caller.user)
        session = session_of_request.get()
        if not session or not is_decision(drafts):
            return [await self.applied(each) for each in await apply()]
        if any(each.kind != SCHEDULING for each in drafts):
            raise Invalid([Problem("kind", "is not Scheduling", fix="in a session, send other objects by themselves")])
        taken = await self._engine.schedulers.decide_over_rest(session, RestDecision(drafts=tuple(drafts)), apply)
        if taken is None:
            return [Applied(_as_if_created(each, self._caller.user), SHADOWED) for each in drafts]
        return [await self.applied(each) for each in taken]

    async def applied(self, taken: ApplyResult) -> Applied:
        return Applied(await self.object(taken.kind, taken.name), taken.action)

    async def object(self, kind: str, name: ObjectName) -> Object:
        await self._engine.wait_committed()
        found = self._registry.get(kind, name)
        if found is None or not self._scope.sees(name.namespace):
            raise NotFound(f"{kind} '{name}' does not exist")
        return found

    async def objects(self, query: ObjectQuery) -> ObjectPage:
        await self._engine.wait_committed()
        kinds = (query.kind,) if query.kind is not None else KINDS
        items = [each for kind in kinds for each in self._registry.all(kind) if self._matches(kind, each, query)]
        return ObjectPage(tuple(sorted(items, key=lambda each: each.meta.object_name)), self._registry.revision)

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        before = await self.object(kind, name)
        check_bound(self._scope, before)
        delete, session = partial(self._engine.delete_object, kind, name, revision), session_of_request.get()
        if session and kind == SCHEDULING:
            await self._engine.schedulers.decide_over_rest(session, RestDecision(withdrawals=(name,)), delete)
        else:
            await delete()
        return before

    async def watch(self, query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        subscription = self._engine.feed.subscribe()  # before looking, so that nothing falls in between
        try:
            await self._engine.wait_committed()
            revision = self._registry.revision if after is None else after
            self._check_retained(revision)
        except BaseException:
            self._engine.feed.unsubscribe(subscription)
            raise
        return self._follow(subscription, query, revision)

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> BatchJob:
        await self._batch_job(name)
        await self._engine.write_external(name, data)
        return await self._batch_job(name)

    async def reset(self, name: ObjectName) -> BatchJob:
        await self._batch_job(name)
        await self._engine.reset_batch_job(name)
        return await self._batch_job(name)

    async def past_schedulings(self, query: PastQuery) -> PastSchedulingPage:
        if query.after is not None and not _is_uid(query.after):
            raise Invalid([Problem("after", "is not a valid cursor", query.after, "use `next` of the previous page")])
        before_uid = None if query.after is None else int(query.after)
        items: list[PastScheduling] = []
        total = 0
        for namespace in self._scope.select(query.namespace):
            stored = StoredPastQuery(namespace, query.name, before_uid, query.limit)
            items += [_past_decoder.decode(record.body) for record in await self._store.past_schedulings(stored)]
            total += await self._store.count_past(stored)
        items = sorted(items, key=lambda each: -each.uid)[: query.limit]
        next = str(items[-1].uid) if len(items) == query.limit and items else None
        return PastSchedulingPage(items, next, total)

    async def past_scheduling(self, uid: int) -> PastScheduling:
        record = await self._store.past_scheduling(uid)
        found = None if record is None else _past_decoder.decode(record.body)
        if found is None or not self._scope.sees(found.namespace):
            raise NotFound(f"Scheduling with uid {uid} is not in history")
        return found

    @property
    def _registry(self) -> ObjectRegistry:
        return self._engine.state.objects

    async def _batch_job(self, name: ObjectName) -> BatchJob:
        job = await self.object(BATCH_JOB, name)
        assert isinstance(job, BatchJob)
        return job

    def _matches(self, kind: str, object: Any, query: ObjectQuery) -> bool:
        return _matches(kind, object, query) and self._scope.sees(object.meta.namespace)

    def _check_retained(self, revision: int) -> None:
        registry = self._registry
        oldest = registry.recent_events[0].revision if registry.recent_events else registry.revision + 1
        if revision + 1 < oldest or revision > registry.revision:
            raise Gone(
                f"changes after resourceVersion {revision} are no longer available; list again, and watch from there"
            )

    async def _follow(
        self, subscription: Subscription, query: ObjectQuery, revision: int
    ) -> AsyncGenerator[ObjectEvent, None]:
        """First the remembered events, then those of each committed round. Ends when the manager stops or the reader is
        too slow."""
        try:
            while True:
                await self._engine.wait_committed()
                events = self._events_after(revision)
                revision = events[-1].revision if events else revision
                events = [each for each in events if self._matches(each.kind, each.object, query)]
                for number, event in enumerate(events, start=1):
                    yield replace(event, more=True) if number < len(events) else event
                if await subscription.next() is None:
                    return
        finally:
            self._engine.feed.unsubscribe(subscription)

    def _events_after(self, revision: int) -> list[ObjectEvent]:
        """Revisions have no gaps, so the newest are at the end."""
        recent = self._registry.recent_events
        count = self._registry.revision - revision
        if count > len(recent):
            raise Gone("the client read changes too slowly; list again, and watch from there")
        return [recent[position] for position in range(len(recent) - count, len(recent))]


def check_bound(scope: Scope, object: Object) -> None:
    """Whether the caller is bound to the testbed that it is about. Raises Forbidden."""
    if isinstance(object, Scheduling):
        scope.require_testbed(object.spec.testbed)


def _as_if_created(draft: Draft, user: str) -> Object:
    """For a shadow, whose decisions are not applied."""
    meta = Meta(0, draft.name.namespace, draft.name.name, 0, user, labels=draft.labels, annotations=draft.annotations)
    assert isinstance(draft.spec, SchedulingSpec), "checked"
    return Scheduling(meta, draft.spec)


def _is_uid(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= UID_DIGITS_MAX


def _matches(kind: str, object: Any, query: ObjectQuery) -> bool:
    meta = object.meta
    return query.kind in (None, kind) and query.namespace in (None, meta.namespace) and query.name in (None, meta.name)

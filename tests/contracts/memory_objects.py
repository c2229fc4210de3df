"""An ObjectService without an engine: objects are entries in a dict, and the test changes their statuses.

Tests of transports use it. It passes the contract of `contracts.objects`, as the gateway's own service does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import msgspec

from shunter.model.errors import Conflict, Gone, NotFound
from shunter.model.objects.apply_rules import check_read_only_fields, is_unchanged, resolve_spec
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.documents import object_document
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.objects import Draft, Object, ObjectEvent, Spec, kind_of
from shunter.model.objects.past_schedulings import PastScheduling, PastSchedulingPage
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import Testbed
from shunter.ports.objects import Applied, ObjectPage, ObjectQuery, PastQuery

T0_MS = 1_900_000_000_000
Key = tuple[str, ObjectName]
MAKE: dict[str, Any] = {"Testbed": Testbed, "BatchJob": BatchJob, "Scheduling": Scheduling}


class MemoryObjectService:
    def __init__(self, user: str = "me", *, remembered_max: int = 1000) -> None:
        self._user = user
        self.revision = 0
        self.is_eager = False  # watches end when there is nothing more to tell
        self.watches_open = 0
        self._remembered_max = remembered_max
        self._objects: dict[Key, Object] = {}
        self._events: list[ObjectEvent] = []
        self._past: list[PastScheduling] = []
        self._uids = 0
        self._changed = asyncio.Condition()

    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        drafts = read_objects(documents, default_namespace=namespace)
        existing_objects = [self._objects.get((draft.kind, draft.name)) for draft in drafts]
        specs = [resolve_spec(draft, existing) for draft, existing in zip(drafts, existing_objects, strict=True)]
        check_read_only_fields(
            drafts, [None if existing is None else object_document(existing) for existing in existing_objects]
        )
        steps = zip(drafts, specs, existing_objects, strict=True)
        applied = [self._write(draft, spec, existing) for draft, spec, existing in steps]
        await self._notify()
        return applied

    def _write(self, draft: Draft, spec: Spec, existing: Object | None) -> Applied:
        if existing is None:
            self._uids += 1
            meta = Meta(self._uids, draft.name.namespace, draft.name.name, T0_MS, self._user)
            made: Object = MAKE[draft.kind](_with_labels(meta, draft), spec)
            return Applied(self._put(made, "ADDED"), "created")
        if is_unchanged(draft, spec, existing):
            return Applied(existing, "unchanged")
        generation = existing.meta.generation + (spec != existing.spec)
        meta = msgspec.structs.replace(_with_labels(existing.meta, draft), generation=generation)
        changed: Any = msgspec.structs.replace(existing, meta=meta, spec=spec)
        return Applied(self._put(changed, "MODIFIED"), "configured")

    async def object(self, kind: str, name: ObjectName) -> Object:
        found = self._objects.get((kind, name))
        if found is None:
            raise NotFound(f"there is no {kind} {name}")
        return found

    async def objects(self, query: ObjectQuery) -> ObjectPage:
        found = [each for (kind, name), each in self._objects.items() if _matches(query, kind, name)]
        by_name = sorted(found, key=lambda each: (each.meta.object_name, kind_of(each)))
        return ObjectPage(tuple(by_name), self.revision)

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        found = await self.object(kind, name)
        if revision is not None and revision != found.meta.revision:
            raise Conflict(f"{kind} {name} has changed: its version is {found.meta.revision}")
        self._put(found, "DELETED")
        del self._objects[kind, name]
        if isinstance(found, Scheduling):
            self._past.insert(0, _past(found))
        await self._notify()
        return found

    async def watch(self, query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        start = self.revision if after is None else after
        if start < self.revision - self._remembered_max:
            raise Gone(f"changes behind {start} are not remembered any more")
        return self._watch(query, start)

    async def _watch(self, query: ObjectQuery, seen: int) -> AsyncGenerator[ObjectEvent, None]:
        self.watches_open += 1
        try:
            while True:
                news = [event for event in self._events if event.revision > seen]
                for event in news:
                    seen = event.revision
                    if _matches(query, event.kind, event.object.meta.object_name):
                        yield event
                if self.is_eager:
                    return
                async with self._changed:
                    while self.revision <= seen:
                        await self._changed.wait()
        finally:
            self.watches_open -= 1

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> BatchJob:
        job = await self.object("BatchJob", name)
        assert isinstance(job, BatchJob)
        external = {key: rows for key, rows in (job.spec.external | dict(data)).items() if rows}
        spec = msgspec.structs.replace(job.spec, external=external)
        meta = msgspec.structs.replace(job.meta, generation=job.meta.generation + 1)
        changed: BatchJob = await self.put(msgspec.structs.replace(job, meta=meta, spec=spec))
        return changed

    async def reset(self, name: ObjectName) -> BatchJob:
        job = await self.object("BatchJob", name)
        assert isinstance(job, BatchJob)
        if job.claim is not None:
            raise Conflict(f"BatchJob {name} is claimed by scheduling {job.claim.scheduling}")
        if job.status.state is not BatchJobState.FAILED:
            return job
        status = msgspec.structs.replace(job.status, state=BatchJobState.READY, problems=[])
        changed: BatchJob = await self.put(msgspec.structs.replace(job, status=status))
        return changed

    async def past_schedulings(self, query: PastQuery) -> PastSchedulingPage:
        found = [past for past in self._past if query.namespace in (None, past.namespace)]
        found = [past for past in found if query.name in (None, past.name)]
        first = int(query.after) if query.after and query.after.isdecimal() else 0
        last = first + query.limit
        return PastSchedulingPage(found[first:last], str(last) if last < len(found) else None, len(found))

    async def past_scheduling(self, uid: int) -> PastScheduling:
        for past in self._past:
            if past.uid == uid:
                return past
        raise NotFound(f"there is no deleted Scheduling {uid}")

    # ---- for tests ----

    async def put(self, changed: Any) -> Any:
        """Move an object on, as its reconciler would."""
        written = self._put(changed, "MODIFIED")
        await self._notify()
        return written

    def _put(self, each: Any, action: str) -> Any:
        self.revision += 1
        written = msgspec.structs.replace(each, meta=msgspec.structs.replace(each.meta, revision=self.revision))
        self._objects[kind_of(each), each.meta.object_name] = written
        self._events.append(ObjectEvent(self.revision, action, kind_of(each), written))
        del self._events[: -self._remembered_max]
        return written

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def _with_labels(meta: Meta, draft: Draft) -> Meta:
    return msgspec.structs.replace(meta, labels=draft.labels, annotations=draft.annotations)


def _matches(query: ObjectQuery, kind: str, name: ObjectName) -> bool:
    return query.kind in (None, kind) and query.namespace in (None, name.namespace) and query.name in (None, name.name)


def _past(scheduling: Scheduling) -> PastScheduling:
    meta, spec, status = scheduling.meta, scheduling.spec, scheduling.status
    return PastScheduling(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        testbed=spec.testbed,
        mode=spec.mode or "queue",
        user=meta.user,
        state=status.state.wire_name,
        problems=tuple(status.problems),
        created_ms=meta.created_ms,
        deleted_ms=T0_MS + 1000,
        runs=(),
    )

"""Testbeds, BatchJobs and Schedulings of a Kubernetes cluster for transports: implements `ports.objects.ObjectService`
on its API server.

A file is applied whole or not at all as far as can be told before: all documents are checked, also by the API server,
before the first is written. A change by somebody else at the same moment can leave a part of it behind."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from shunter.kube.client.api import KubeApi
from shunter.kube.cluster_view import now_ms
from shunter.kube.custom_objects import (
    CustomObject,
    new_document,
    read_custom_object,
    with_draft,
    with_external,
    with_status,
)
from shunter.kube.object_feed import ObjectFeed
from shunter.kube.past_records import read_past
from shunter.kube.resources import OBJECTS, PAST_SCHEDULINGS
from shunter.model.errors import Conflict, Invalid, NotFound, Problem
from shunter.model.objects.apply_rules import check_read_only_fields, is_unchanged, refuse_change, resolve_spec
from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.documents import object_document
from shunter.model.objects.object_fields import EXTERNAL_SIZE_MAX, encoded_size
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Document, ObjectName
from shunter.model.objects.objects import BATCH_JOB, Draft, Object, ObjectEvent
from shunter.model.objects.past_schedulings import PastScheduling, PastSchedulingPage
from shunter.ports.objects import Applied, ObjectPage, ObjectQuery, PastQuery
from shunter.testbeds.batch_job_reconcile import reset

ATTEMPTS_MAX = 5  # of a change that others may make at the same time


class KubeObjectService:
    """On behalf of one user. Those of all users share a feed, which somebody must run."""

    def __init__(self, api: KubeApi, user: str, feed: ObjectFeed) -> None:
        self.api, self._user, self.feed = api, user, feed

    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        drafts = read_objects(documents, default_namespace=namespace)
        existing = [await self._find(draft.kind, draft.name) for draft in drafts]
        self._check(drafts, existing)
        if len(drafts) > 1:
            for draft, found in zip(drafts, existing, strict=True):
                await self._write(draft, found, is_dry_run=True)
        return [await self._apply(draft, found) for draft, found in zip(drafts, existing, strict=True)]

    async def object(self, kind: str, name: ObjectName) -> Object:
        found: Object = _object(await self._require(kind, name))
        return found

    async def objects(self, query: ObjectQuery) -> ObjectPage:
        await self.feed.is_ready.wait()
        listed = await asyncio.gather(*(self.api.list(resource) for resource in OBJECTS.values()))
        found = [read_custom_object(document) for documents, _ in listed for document in documents]
        # Other objects raise the version of a list too, but nothing of ours has changed since.
        seen = min(self.feed.last, *(int(version) for _, version in listed))
        revision = max([seen, *(each.version for each in found)])
        items = [each.object for each in found if each.object is not None and _matches(query, each.object)]
        return ObjectPage(tuple(sorted(items, key=lambda each: each.meta.object_name)), revision)

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        found = await self._require(kind, name)
        if revision is not None and found.version != revision:
            raise Conflict(f"{kind} {name} has changed: its resourceVersion is {found.version}, not {revision}")
        job = found.object
        if isinstance(job, BatchJob) and (job.claim is not None or job.status.application):
            raise Conflict(f"BatchJob '{name}' is in use by a Scheduling; delete the Scheduling first")
        await self.api.delete(OBJECTS[kind], name.name, name.namespace, uid=found.uid)
        deleted: Object = _object(found)
        return deleted

    async def watch(self, query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        await self.feed.is_ready.wait()
        start = (await self.objects(query)).revision if after is None else after
        return _filtered(self.feed.follow(start), query)

    async def write_external(self, name: ObjectName, data: Mapping[str, list[dict[str, str]]]) -> BatchJob:
        for _ in range(ATTEMPTS_MAX):
            found = await self._require(BATCH_JOB, name)
            before = _object(found).spec.external
            external = {key: rows for key, rows in {**before, **data}.items() if rows}
            if encoded_size(external) > EXTERNAL_SIZE_MAX:
                fault = f"would exceed {EXTERNAL_SIZE_MAX} bytes"
                raise Invalid([Problem("externalScheduler", fault, sorted(data), "store less data with the BatchJob")])
            if external == before:
                return _job(found)
            try:
                written = await self.api.replace(OBJECTS[BATCH_JOB], with_external(found, external))
            except Conflict:
                continue
            return _job(read_custom_object(written))
        raise Conflict(f"BatchJob {name} changes too often; try again")

    async def reset(self, name: ObjectName) -> BatchJob:
        found = await self._require(BATCH_JOB, name)
        job = _job(found)
        if job.claim is not None:
            by = job.claim.scheduling
            raise Conflict(f"BatchJob '{name}' is in use by Scheduling '{by}'; delete the Scheduling first")
        if job.status.state is not BatchJobState.FAILED:
            return job
        document = with_status(found, reset(job, now_ms()))
        return _job(read_custom_object(await self.api.replace(OBJECTS[BATCH_JOB], document, "status")))

    async def past_schedulings(self, query: PastQuery) -> PastSchedulingPage:
        """The deleted Schedulings that the operator has recorded."""
        after = None if query.after is None else _read_cursor(query.after)
        found = sorted(
            (
                past
                for past in await self._past()
                if query.namespace in (None, past.namespace)
                and query.name in (None, past.name)
                and (query.visible is None or past.namespace in query.visible)
            ),
            key=_past_order,
            reverse=True,
        )
        rest = [past for past in found if after is None or _past_order(past) < after]
        items = rest[: query.limit]
        next = "-".join(map(str, _past_order(items[-1]))) if len(rest) > len(items) else None
        return PastSchedulingPage(items, next, len(found))

    async def past_scheduling(self, uid: int) -> PastScheduling:
        for past in await self._past():
            if past.uid == uid:
                return past
        raise NotFound(f"Scheduling with uid {uid} is not in history")

    async def _past(self) -> list[PastScheduling]:
        documents, _ = await self.api.list(PAST_SCHEDULINGS)
        return [past for past in map(read_past, documents) if past.deleted_ms]

    # ---- one draft ----

    def _check(self, drafts: Sequence[Draft], existing: Sequence[CustomObject | None]) -> None:
        for draft, found in zip(drafts, existing, strict=True):
            before = None if found is None else found.object
            resolve_spec(draft, before)  # raises Conflict where it is based on another version
            if before is not None:
                refuse_change(draft, before)
        documents = [None if each is None or each.object is None else object_document(each.object) for each in existing]
        check_read_only_fields(drafts, documents)

    async def _apply(self, draft: Draft, found: CustomObject | None) -> Applied:
        before = None if found is None else found.object
        if before is not None and is_unchanged(draft, resolve_spec(draft, before), before):
            return Applied(before, "unchanged")
        written = read_custom_object(await self._write(draft, found))
        return Applied(_object(written), "created" if found is None else "configured")

    async def _write(self, draft: Draft, found: CustomObject | None, *, is_dry_run: bool = False) -> Document:
        resource, spec = OBJECTS[draft.kind], resolve_spec(draft, None if found is None else found.object)
        if found is None:
            return await self.api.create(resource, new_document(draft, spec, self._user), is_dry_run=is_dry_run)
        return await self.api.replace(resource, with_draft(found, draft, spec), is_dry_run=is_dry_run)

    async def _find(self, kind: str, name: ObjectName) -> CustomObject | None:
        try:
            return read_custom_object(await self.api.get(OBJECTS[kind], name.name, name.namespace))
        except NotFound:
            return None

    async def _require(self, kind: str, name: ObjectName) -> CustomObject:
        found = await self._find(kind, name)
        if found is None:
            raise NotFound(f"{kind} '{name}' does not exist")
        return found


async def _filtered(events: AsyncGenerator[ObjectEvent, None], query: ObjectQuery) -> AsyncGenerator[ObjectEvent, None]:
    async with aclosing(events):
        async for event in events:
            if _matches(query, event.object):
                yield event


def _object(found: CustomObject) -> Any:
    """The API server may accept what our field tables refuse: then it raises Invalid."""
    if found.object is None:
        raise Invalid([Problem(str(found.name), problem) for problem in found.problems])
    return found.object


def _job(found: CustomObject) -> BatchJob:
    job: BatchJob = _object(found)
    return job


def _matches(query: ObjectQuery, each: Object) -> bool:
    meta, kind = each.meta, type(each).__name__
    return query.kind in (None, kind) and query.namespace in (None, meta.namespace) and query.name in (None, meta.name)


def _past_order(past: PastScheduling) -> tuple[int, int]:
    return past.deleted_ms, past.uid


def _read_cursor(text: str) -> tuple[int, int]:
    if not re.fullmatch(r"[0-9]{1,15}-[0-9]{1,18}", text):
        raise Invalid([Problem("after", "is not a valid cursor", text[:80], "use `next` of the previous page")])
    deleted_ms, _, uid = text.partition("-")
    return int(deleted_ms), int(uid)

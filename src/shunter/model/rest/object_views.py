"""REST answers about Testbeds, BatchJobs and Schedulings. Shared by the API, the SDK and the CLI.

An object itself is a document as `model.objects.documents` writes it; `ObjectView` gives its parts names."""

from __future__ import annotations

from typing import Any

import msgspec

from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.past_schedulings import PastRun, PastScheduling, PastSchedulingPage
from shunter.model.rest.job_views import SubmittedJob
from shunter.model.timestamps import iso


class ObjectView(msgspec.Struct, kw_only=True, rename="camel"):
    """One object, as its manifest with its status."""

    api_version: str
    kind: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    status: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def namespace(self) -> str:
        return str(self.metadata["namespace"])

    @property
    def resource_version(self) -> int:
        return int(self.metadata["resourceVersion"])


class ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str  # version of all items; start a watch from it


class ObjectList(msgspec.Struct, kw_only=True, rename="camel"):
    """The requested objects, by namespace and name."""

    api_version: str
    kind: str  # TestbedList, BatchJobList, SchedulingList, ObjectList
    metadata: ListMeta
    items: list[ObjectView]
    next: str | None = None
    total: int


class WatchLine(msgspec.Struct, omit_defaults=True):
    type: str  # ADDED | MODIFIED | DELETED
    object: ObjectView
    more: bool = False  # the next line may belong to the same commit


class AppliedView(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The result of one document: an object, or, for a Job, the submitted run."""

    kind: str
    namespace: str
    name: str
    action: str  # created | configured | unchanged
    object: ObjectView | None = None
    job: SubmittedJob | None = None


class AppliedPage(msgspec.Struct):
    items: list[AppliedView]  # in the order of the documents


class NameView(msgspec.Struct):
    name: str
    namespace: str


class PastRunView(msgspec.Struct, kw_only=True):
    name: str  # of the BatchJob
    namespace: str
    slot_ids: list[int]
    nodes: list[str]
    start: str | None
    stop: str | None
    successful: bool | None
    reason: str | None = None


class PastSchedulingView(msgspec.Struct, kw_only=True):
    uid: str
    name: str
    namespace: str
    testbed: NameView
    mode: str  # queue | strict | relaxed
    user: str
    state: str  # when it was deleted
    problems: list[str]
    created_at: str | None
    deleted_at: str | None
    runs: list[PastRunView]


class PastPage(msgspec.Struct):
    items: list[PastSchedulingView]
    next: str | None
    total: int


def past_page(page: PastSchedulingPage) -> PastPage:
    return PastPage([past_view(each) for each in page.items], page.next, page.total)


def past_view(past: PastScheduling) -> PastSchedulingView:
    return PastSchedulingView(
        uid=str(past.uid),
        name=past.name,
        namespace=past.namespace,
        testbed=_name(past.testbed),
        mode=past.mode,
        user=past.user,
        state=past.state,
        problems=list(past.problems),
        created_at=iso(past.created_ms / 1000),
        deleted_at=iso(past.deleted_ms / 1000),
        runs=[_run(run) for run in past.runs],
    )


def _run(run: PastRun) -> PastRunView:
    return PastRunView(
        name=run.job.name,
        namespace=run.job.namespace,
        slot_ids=list(run.slot_ids),
        nodes=list(run.nodes),
        start=iso(run.start_ms / 1000),
        stop=iso(run.stop_ms / 1000),
        successful=run.successful,
        reason=run.reason or None,
    )


def _name(name: ObjectName) -> NameView:
    return NameView(name.name, name.namespace)

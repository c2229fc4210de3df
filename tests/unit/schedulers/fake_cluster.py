"""A cluster in memory with planted interference: a job's duration depends on the jobs on the same nodes. It has the
methods of `shunter.aio.Client` that a scheduler uses; time passes only while a client watches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

from shunter.model.objects.objects import BATCH_JOB, SCHEDULING, TESTBED
from shunter.model.rest.object_views import AppliedView, ObjectView, WatchLine
from shunter.sdk.errors import Conflict, NotFound

TrueDurations = Callable[[str, str], float]  # (job, beside whom) -> seconds
BEGIN = datetime(2022, 3, 30, tzinfo=UTC)


class FakeCluster:
    def __init__(self, jobs: Iterable[str], true_durations: TrueDurations) -> None:
        self.true_durations = true_durations
        self.broken: set[str] = set()  # jobs that fail
        self.endless: set[str] = set()
        self.queues: dict[str, list[str]] = {}  # of every Scheduling that there was
        self.partners: dict[str, dict[str, str]] = {}  # Scheduling -> job -> whom it shared all its nodes with
        self._now = BEGIN
        self._objects: dict[tuple[str, str], ObjectView] = {}
        self._history: list[WatchLine] = []
        self._due: list[Callable[[], object]] = []
        for name in jobs:
            self.add_job(name)

    def add_job(self, name: str) -> None:
        self._put(_object(BATCH_JOB, name, {"commandSpec": {}}, {"state": "ReadyState", "scheduledEvents": []}))

    def add_testbed(self, name: str, nodes: int, slots_per_node: int = 2) -> None:
        slots = [{"nodeName": f"node-{place % nodes}"} for place in range(nodes * slots_per_node)]
        self._put(_object(TESTBED, name, {"slotsPerNode": slots_per_node}, {"state": "SUCCESS", "slots": slots}))

    def set_state(self, kind: str, name: str, state: str) -> None:
        self._put(self._objects[kind, name], state=state)

    def schedule_step(self, step: Callable[[], object]) -> None:
        """To happen when somebody watches and nothing else is to be told."""
        self._due.append(step)

    def names(self, kind: str) -> list[str]:
        return [name for each, name in self._objects if each == kind]

    # ---- as the client has it ----

    async def objects(self, kind: str | None = None, namespace: str | None = None) -> list[ObjectView]:  # noqa: ARG002
        return [deepcopy(each) for each in self._objects.values() if kind in (None, each.kind)]

    async def get(self, kind: str, name: str, namespace: str | None = None) -> ObjectView:  # noqa: ARG002
        if (kind, name) not in self._objects:
            raise NotFound(f"{kind} {name} is not there")
        return deepcopy(self._objects[kind, name])

    async def apply(self, documents: Any, namespace: str | None = None) -> list[AppliedView]:  # noqa: ARG002
        name = documents["metadata"]["name"]
        if documents["metadata"].get("resourceVersion") == "0" and (SCHEDULING, name) in self._objects:
            raise Conflict(f"{name} is there")
        made = _object(SCHEDULING, name, documents["spec"], {"state": "AcquireState", "problems": []})
        made.metadata["labels"] = documents["metadata"]["labels"]
        self._put(made)
        self.queues[name] = [entry["name"] for entry in documents["spec"]["queueBased"]]
        self.schedule_step(lambda: self._run(name))
        return []

    async def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,  # noqa: ARG002
        *,
        version: int | None = None,  # noqa: ARG002
    ) -> ObjectView:
        found = await self.get(kind, name)
        self.schedule_step(lambda: self._drop(kind, name))
        return found

    async def write_external(
        self,
        name: str,
        data: Mapping[str, Iterable[Mapping[str, str]]],
        namespace: str | None = None,  # noqa: ARG002
    ) -> ObjectView:
        job = await self.get(BATCH_JOB, name)
        job.spec.setdefault("externalScheduler", {}).update({key: list(rows) for key, rows in data.items()})
        self._put(job)
        return job

    async def watch(
        self,
        kind: str | None = None,
        name: str | None = None,
        namespace: str | None = None,  # noqa: ARG002
        *,
        after: int | None = None,
        present: bool = False,
    ) -> AsyncIterator[WatchLine]:
        seen = len(self._history) if after is None else after
        if present:
            for each in await self.objects(kind):
                yield WatchLine("ADDED", each)
        while True:
            for line in self._history[seen:]:
                if kind in (None, line.object.kind) and name in (None, line.object.name):
                    yield line
            seen = len(self._history)
            if not self._due:
                raise TimeoutError("nothing will ever happen here")  # as a watch without end seems to its time limit
            self._due.pop(0)()

    # ---- what happens ----

    def _run(self, name: str) -> None:
        """All jobs at once: entry i of the queue in slot i."""
        scheduling = self._objects[SCHEDULING, name]
        slots = self._objects[TESTBED, scheduling.spec["testbed"]["name"]].status["slots"]
        nodes: dict[str, set[str]] = {}
        for job, slot in zip(self.queues[name], slots, strict=False):
            nodes.setdefault(job, set()).add(slot["nodeName"])
        if self.endless & set(nodes):
            return
        if broken := self.broken & set(nodes):
            self._put(scheduling, state="FailedState", problems=[f"{sorted(broken)[0]}: exit code 7"])
            return
        self.partners[name] = {
            job: other for job in nodes for other in nodes if job != other and nodes[job] == nodes[other]
        }
        for job, other in self.partners[name].items():
            self._record(job, name, self.true_durations(job, other))
        self._put(scheduling, state="CompletedState")

    def _record(self, job: str, scheduling: str, duration_s: float) -> None:
        self._now += timedelta(seconds=1000)
        stop = self._now + timedelta(seconds=duration_s)
        run = {"start": self._now.isoformat(), "stop": stop.isoformat(), "successful": True}
        found = deepcopy(self._objects[BATCH_JOB, job])
        found.status["scheduledEvents"].append(run | {"scheduling": {"name": scheduling, "namespace": "default"}})
        self._put(found)

    def _put(self, each: ObjectView, **status: Any) -> None:
        changed = deepcopy(each)
        changed.status |= status
        changed.metadata["resourceVersion"] = str(len(self._history) + 1)
        is_new = (each.kind, each.name) not in self._objects
        self._objects[each.kind, each.name] = changed
        self._history.append(WatchLine("ADDED" if is_new else "MODIFIED", changed))

    def _drop(self, kind: str, name: str) -> None:
        self._history.append(WatchLine("DELETED", self._objects.pop((kind, name))))


def _object(kind: str, name: str, spec: dict[str, Any], status: dict[str, Any]) -> ObjectView:
    metadata = {"name": name, "namespace": "default", "resourceVersion": "0"}
    return ObjectView(api_version="batchjob.gcr.io/v1alpha1", kind=kind, metadata=metadata, spec=spec, status=status)

"""A small cluster in memory: the three reconcile functions run over objects until nothing changes, and applications do
what a test tells them. The invariants of testbeds are checked after every write.

The result of each step is carried out; the same step must then return nothing to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec, BatchJobStatus, Claim
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec, SchedulingState, SchedulingStatus, SlotJob
from shunter.model.objects.testbeds import SlotHolder, SlotPlace, SlotState, Testbed, TestbedSpec
from shunter.testbeds.batch_job_reconcile import reconcile_batch_job
from shunter.testbeds.queue_order import ReconcileCache
from shunter.testbeds.scheduling_reconcile import reconcile_scheduling
from shunter.testbeds.slots import LayoutCache
from shunter.testbeds.testbed_reconcile import reconcile_testbed
from shunter.testbeds.view import (
    Application,
    ApplicationState,
    BatchJobView,
    LabelledNode,
    SchedulingOutcome,
    SchedulingView,
    SlotUse,
    StartApplication,
)

ROUNDS_MAX = 10_000  # of one settling: more means that two functions undo each other's work
SLOT_SIZE = {"cpu": 500, "memory": 2**28}
AMPLE_CAPACITY = {"cpu": 64_000, "memory": 2**36}


def object_name(name: str) -> ObjectName:
    return ObjectName("default", name)


def queue_spec(*names: str, testbed: str = "tb", timeout_s: float = 120.0) -> SchedulingSpec:
    return SchedulingSpec(object_name(testbed), queue=tuple(map(object_name, names)), confirmation_timeout_s=timeout_s)


def slots_spec(mode: str, *jobs: tuple[str, Iterable[int]], testbed: str = "tb") -> SchedulingSpec:
    entries = tuple(SlotJob(object_name(name), tuple(slot_ids)) for name, slot_ids in jobs)
    return SchedulingSpec(object_name(testbed), slots=entries, mode=mode)


@dataclass
class FakeApplication:
    """An application as a test moves it."""

    id: int
    start: StartApplication
    state: ApplicationState = ApplicationState.SUBMITTED
    has_processes: bool = True
    started_ms: int = 0
    reason: str = ""
    is_stopped: bool = False

    @property
    def as_application(self) -> Application:
        return Application(self.id, self.state, self.has_processes, self.started_ms, reason=self.reason)


@dataclass
class MemoryCluster:
    now_ms: int = 1_000_000
    nodes: dict[str, LabelledNode] = field(default_factory=dict)
    testbeds: dict[ObjectName, Testbed] = field(default_factory=dict)
    jobs: dict[ObjectName, BatchJob] = field(default_factory=dict)
    schedulings: dict[ObjectName, Scheduling] = field(default_factory=dict)
    memories: dict[ObjectName, ReconcileCache] = field(default_factory=dict)
    layouts: dict[ObjectName, LayoutCache] = field(default_factory=dict)
    applications: dict[int, FakeApplication] = field(default_factory=dict)
    log: list[tuple[str, str]] = field(default_factory=list)  # (name, state) in the order in which they were written
    requested: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)  # requests, in order
    ends_at_once: bool = True  # what is stopped leaves no process
    _ids: int = 0

    # ---- what users do ----

    def with_nodes(self, count: int, free: dict[str, int] = AMPLE_CAPACITY) -> MemoryCluster:
        for number in range(count):
            self.nodes[f"n{number}"] = LabelledNode(f"n{number}", str(number), free)
        return self

    def testbed(self, name: str = "tb", slots_per_node: int = 1, **fields: Any) -> MemoryCluster:
        spec = TestbedSpec(slots_per_node, "slot-node", fields.pop("size", SLOT_SIZE), **fields)
        old = self.testbeds.get(object_name(name))
        meta = self._meta(name, old.meta if old else None)
        self.testbeds[object_name(name)] = Testbed(meta, spec, old.status) if old else Testbed(meta, spec)
        return self

    def with_jobs(self, *names: str) -> MemoryCluster:
        for name in names:
            self.jobs.setdefault(
                object_name(name), BatchJob(self._meta(name), BatchJobSpec(command={"command": ["true"]}))
            )
        return self

    def scheduling(self, name: str, spec: SchedulingSpec) -> MemoryCluster:
        old = self.schedulings.get(object_name(name))
        meta = self._meta(name, old.meta if old else None)
        self.schedulings[object_name(name)] = Scheduling(meta, spec, old.status) if old else Scheduling(meta, spec)
        return self

    def delete(self, name: str) -> MemoryCluster:
        for objects in (self.testbeds, self.jobs, self.schedulings):
            found: Any = objects.get(object_name(name))
            if found is not None:
                meta = msgspec.structs.replace(found.meta, deleting_ms=self.now_ms)
                objects[object_name(name)] = msgspec.structs.replace(found, meta=meta)
        return self

    def _meta(self, name: str, old: Meta | None = None) -> Meta:
        if old is not None:
            return msgspec.structs.replace(old, generation=old.generation + 1)
        self._ids += 1
        return Meta(self._ids, "default", name, self.now_ms, "ann")

    # ---- what applications do ----

    def fake_application(self, job: str) -> FakeApplication:
        return self.applications[self.jobs[object_name(job)].status.application]

    def schedules(self, *jobs: str) -> MemoryCluster:
        return self._all(jobs, ApplicationState.SCHEDULED)

    def runs(self, *jobs: str) -> MemoryCluster:
        for job in jobs:
            self.fake_application(job).started_ms = self.now_ms
        return self._all(jobs, ApplicationState.RUNNING)

    def completes(self, *jobs: str, has_processes: bool = False) -> MemoryCluster:
        for job in jobs:
            self.fake_application(job).has_processes = has_processes
            self.fake_application(job).started_ms = self.fake_application(job).started_ms or self.now_ms
        return self._all(jobs, ApplicationState.COMPLETED)

    def fails(self, job: str, reason: str, has_processes: bool = False) -> MemoryCluster:
        self.fake_application(job).reason, self.fake_application(job).has_processes = reason, has_processes
        return self._all((job,), ApplicationState.FAILED)

    def loses(self, job: str, reason: str = "node n0 is down") -> MemoryCluster:
        self.fake_application(job).reason = reason
        return self._all((job,), ApplicationState.LOST)

    def _all(self, jobs: Iterable[str], state: ApplicationState) -> MemoryCluster:
        for job in jobs:
            self.fake_application(job).state = state
        return self

    # ---- what the engine does ----

    def settle(self) -> MemoryCluster:
        for _ in range(ROUNDS_MAX):
            if not self.step_all():
                return self
        raise AssertionError("the reconcile functions never come to rest")

    def step_all(self) -> bool:
        """Once at everything; whether anything was to do."""
        steps: list[Callable[[], bool]] = [
            *(lambda name=name: self.step_testbed(name) for name in list(self.testbeds)),
            *(lambda name=name: self.step_job(name) for name in list(self.jobs)),
            *(lambda name=name: self.step_scheduling(name) for name in self.by_creation()),
        ]
        return sum(step() for step in steps) > 0

    def by_creation(self) -> list[ObjectName]:
        return [found.meta.object_name for found in sorted(self.schedulings.values(), key=lambda found: found.meta.uid)]

    def step_testbed(self, name: ObjectName) -> bool:
        testbed = self.testbeds[name]
        layouts = self.layouts.setdefault(name, LayoutCache())
        status = reconcile_testbed(testbed, self.nodes_of(name), self.uses(name), self.now_ms, layouts)
        assert status == reconcile_testbed(testbed, self.nodes_of(name), self.uses(name), self.now_ms)
        if status is testbed.status:
            if testbed.meta.is_deleting and not status.slots:
                del self.testbeds[name]
            return name not in self.testbeds
        self.testbeds[name] = msgspec.structs.replace(testbed, status=status)
        again = reconcile_testbed(self.testbeds[name], self.nodes_of(name), self.uses(name), self.now_ms)
        assert again is status, "a second look at the same testbed writes"
        if status.state is not testbed.status.state:
            self.log.append((name.name, status.state.wire_name))
        self.check()
        return True

    def nodes_of(self, testbed: ObjectName) -> list[LabelledNode]:
        """What the slots of other testbeds take is not free for this one."""
        others = [other for name, other in self.testbeds.items() if name != testbed]
        slots = [slot for other in others for slot in other.status.slots]
        found = []
        for node in self.nodes.values():
            taken = Counter[str]()
            for slot in slots:
                if slot.place.node == node.name:
                    taken.update(slot.size)
            free = {resource: amount - taken[resource] for resource, amount in node.free.items()}
            found.append(msgspec.structs.replace(node, free=free))
        return found

    def uses(self, testbed: ObjectName) -> dict[SlotPlace, SlotUse]:
        uses: dict[SlotPlace, SlotUse] = {}
        for name, job in self.jobs.items():
            fake_application = self.applications.get(job.status.application)
            if job.status.testbed != testbed or fake_application is None or not fake_application.has_processes:
                continue
            is_running = fake_application.state >= ApplicationState.RUNNING
            for executor, place in enumerate(job.status.places):
                assert place not in uses, f"{name} and {uses[place].holder} are both in {place}"
                uses[place] = SlotUse(SlotHolder(name, executor, object_name("any")), is_running)
        return uses

    def step_job(self, name: ObjectName) -> bool:
        outcome = reconcile_batch_job(self.view_of_job(name))
        job = self.jobs[name]
        if outcome.is_empty:
            if job.meta.is_deleting and job.claim is None and not job.status.places:
                del self.jobs[name]
            return name not in self.jobs
        application = 0
        if outcome.start is not None:
            self._ids += 1
            application = self._ids
            self.applications[application] = FakeApplication(application, outcome.start)
        if outcome.stop:
            fake_application = self.applications[job.status.application]
            fake_application.is_stopped = True
            if self.ends_at_once:
                fake_application.has_processes, fake_application.state = False, ApplicationState.FAILED
        has_started = False
        for status in outcome.statuses:
            has_started = has_started or (application != 0 and status.state.wire_name == "SubmittedState")
            self.write_job(name, self.numbered(status, application) if has_started else status)
        if outcome.drops_request and job.claim is not None:
            self.write_claim(name, Claim(job.claim.scheduling))
        assert reconcile_batch_job(self.view_of_job(name)).is_empty or outcome.stop, "a second look at the job writes"
        return True

    @staticmethod
    def numbered(status: BatchJobStatus, application: int) -> BatchJobStatus:
        return msgspec.structs.replace(status, application=application)

    def write_job(self, name: ObjectName, status: BatchJobStatus) -> None:
        if status.state is not self.jobs[name].status.state:
            self.log.append((name.name, status.state.wire_name))
        self.jobs[name] = msgspec.structs.replace(self.jobs[name], status=status)
        self.check()

    def view_of_job(self, name: ObjectName) -> BatchJobView:
        job = self.jobs[name]
        request = job.claim.request if job.claim else None
        fake_application = self.applications.get(job.status.application)
        return BatchJobView(
            job=job,
            scheduling=self.schedulings.get(job.claim.scheduling) if job.claim else None,
            testbed=self.testbeds.get(request.testbed) if request else None,
            application=fake_application.as_application if fake_application else None,
            now_ms=self.now_ms,
        )

    def step_scheduling(self, name: ObjectName) -> bool:
        uncached = reconcile_scheduling(self.view_of_scheduling(name))
        cache = self.memories.setdefault(name, ReconcileCache())
        outcome = reconcile_scheduling(msgspec.structs.replace(self.view_of_scheduling(name), cache=cache))
        assert outcome == uncached, "what the looks before have left changes what this one makes of it"
        if outcome.is_empty:
            return False
        for job in outcome.claims:
            claim = self.jobs[job].claim
            assert claim is None or claim.scheduling not in self.schedulings, f"{job} is claimed twice"
            self.write_claim(job, Claim(name))
        for job in outcome.releases:
            assert self.jobs[job].claim is not None
            self.write_claim(job, None)
        for job, request in outcome.requests.items():
            self.write_claim(job, Claim(name, request))
            self.requested.append((job.name, request.slot_ids))
        if outcome.claims_testbed or outcome.releases_testbed:
            self.write_testbed_claim(name, outcome.claims_testbed)
        for status in outcome.statuses:
            self.check_touched(self.schedulings[name].status, status, outcome)
            if status.state is not self.schedulings[name].status.state:
                self.log.append((name.name, status.state.wire_name))
            self.schedulings[name] = msgspec.structs.replace(self.schedulings[name], status=status)
        again = reconcile_scheduling(self.view_of_scheduling(name))
        assert again.is_empty, f"a second look at the scheduling writes: {again}"
        if self.schedulings[name].status.state is SchedulingState.FINISHED:
            del self.schedulings[name]
        self.check()
        return True

    def check_touched(self, before: SchedulingStatus, after: SchedulingStatus, outcome: SchedulingOutcome) -> None:
        """The engine writes only the records that are named as touched."""
        if outcome.touched_jobs is not None and len(before.jobs) == len(after.jobs):
            pairs = enumerate(zip(before.jobs, after.jobs, strict=True))
            assert {index for index, (old, new) in pairs if old != new} <= outcome.touched_jobs

    def write_claim(self, job: ObjectName, claim: Claim | None) -> None:
        self.jobs[job] = msgspec.structs.replace(self.jobs[job], claim=claim)

    def write_testbed_claim(self, scheduling: ObjectName, is_claimed: bool) -> None:
        testbed = self.testbeds[self.schedulings[scheduling].spec.testbed]
        others = tuple(name for name in testbed.status.claims if name != scheduling)
        status = msgspec.structs.replace(testbed.status, claims=(*others, scheduling) if is_claimed else others)
        self.testbeds[testbed.meta.object_name] = msgspec.structs.replace(testbed, status=status)

    def view_of_scheduling(self, name: ObjectName) -> SchedulingView:
        scheduling = self.schedulings[name]
        return SchedulingView(
            scheduling=scheduling,
            job=self.jobs.get,
            testbed=self.testbeds.get(scheduling.spec.testbed),
            now_ms=self.now_ms,
            claimed_jobs=lambda: [job for job in self.jobs.values() if job.claim and job.claim.scheduling == name],
            find_scheduling=self.schedulings.get,
        )

    # ---- what must always hold ----

    def check(self) -> None:
        held: dict[tuple[ObjectName | None, SlotPlace], ObjectName] = {}
        for name, job in self.jobs.items():
            for place in job.status.places:
                fake_application = self.applications.get(job.status.application)
                if fake_application is None or fake_application.has_processes:
                    holder = held.setdefault((job.status.testbed, place), name)
                    assert holder == name, f"{name} and {holder} are both in {place}"
            assert len(job.status.places) == len(job.status.slot_ids)
        for testbed in self.testbeds.values():
            for slot in testbed.status.slots:
                assert (slot.holder is None) == (slot.state in (SlotState.FREE, SlotState.ERROR))

    # ---- what tests look at ----

    def states(self, name: str) -> list[str]:
        return [state for found, state in self.log if found == name]

    def slot_states(self, testbed: str = "tb") -> list[str]:
        return [slot.state.wire_name for slot in self.testbeds[object_name(testbed)].status.slots]

    def status(self, scheduling: str) -> Any:
        return self.schedulings[object_name(scheduling)].status

    def job_state(self, job: str) -> str:
        return self.jobs[object_name(job)].status.state.wire_name

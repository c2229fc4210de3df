"""Finds who holds what a Scheduling needs. A Scheduling claims its testbed and all its jobs at once or none of them, so
two Schedulings never deadlock while they start. Called by `reconcile_scheduling`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shunter.model.objects.batch_jobs import BatchJob, BatchJobState
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import Scheduling
from shunter.model.objects.testbeds import DISJOINT, Testbed
from shunter.testbeds.view import SchedulingView

FAILED_STATES = (BatchJobState.FAILED, BatchJobState.FAILED_SUBMISSION)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why something cannot be claimed now: what it waits for, and what a user should fix, if anything."""

    waits_for: str
    problem: str = ""
    # 0: permanent, 1: resolves by itself, 2: resolves in this round. Permanent obstacles are reported first.
    transience: int = 0


def holds_job(job: BatchJob | None, scheduling: ObjectName) -> bool:
    return job is not None and job.claim is not None and job.claim.scheduling == scheduling


def holds_testbed(testbed: Testbed | None, scheduling: ObjectName) -> bool:
    return testbed is not None and scheduling in testbed.status.claims


def testbed_obstacle(view: SchedulingView, is_held: bool) -> Obstacle | None:
    """What prevents it from claiming its testbed, or from using it as its spec says now."""
    testbed, name = view.testbed, view.scheduling.spec.testbed
    if testbed is None:
        return Obstacle(f"testbed {name}", f"Testbed {name} does not exist. Apply one with that name.")
    if not is_held:
        if testbed.meta.is_deleting:
            problem = f"Testbed {name} is being deleted. Apply it again when it is gone, or use another one."
            return Obstacle(f"testbed {name}", problem)
        if all(slot.is_leaving for slot in testbed.status.slots):
            found = [*testbed.status.problems, *_node_problem_texts(testbed)]
            return Obstacle(f"slots of testbed {name}", f"Testbed {name} has no slots. {' '.join(found)}".rstrip())
    return _testbed_conflict(view, testbed, is_held)


def job_obstacle(view: SchedulingView, name: ObjectName) -> Obstacle | None:
    """What prevents it from claiming a job that is not its own."""
    job = view.job(name)
    if job is None:
        return Obstacle(f"batch job {name}", f"Batch job {name} does not exist. Apply one with that name.")
    if job.claim is not None and view.find_scheduling(job.claim.scheduling) is not None:
        return Obstacle(f"scheduling {job.claim.scheduling}, which uses batch job {name}")
    if job.meta.is_deleting:
        problem = (
            f"Batch job {name} is being deleted. Apply it again when it is gone, or remove it from the scheduling."
        )
        return Obstacle(f"batch job {name}", problem)
    if job.status.state is not BatchJobState.READY:
        transience = 2 if job.status.state is BatchJobState.IN_QUEUE else 1
        return Obstacle(f"batch job {name} to be ready (it is in {job.status.state.wire_name})", transience=transience)
    return None


def slot_conflict(view: SchedulingView, testbed: Testbed) -> Obstacle | None:
    """Slots that it names and that another one on the same testbed named before. A Scheduling whose changed spec is not
    accepted yet holds none: it waits for the others, so that two never wait for each other."""
    own_slot_ids = _slot_ids(view.scheduling)
    for other in _other_holders(view, testbed):
        if other.status.observed_generation != other.meta.generation:
            continue
        shared_slot_ids = sorted(own_slot_ids & _slot_ids(other))
        if shared_slot_ids:
            slots = f"slot{'s' if len(shared_slot_ids) > 1 else ''} {', '.join(map(str, shared_slot_ids))}"
            return Obstacle(
                f"scheduling {other.meta.object_name}, which uses {slots} of testbed {testbed.meta.object_name}"
            )
    return None


def _testbed_conflict(view: SchedulingView, testbed: Testbed, is_held: bool) -> Obstacle | None:
    may_share = testbed.spec.sharing == DISJOINT and view.scheduling.spec.is_slot_based
    for other in () if is_held else _other_holders(view, testbed):
        if not (may_share and other.spec.is_slot_based):
            name = testbed.meta.object_name
            return Obstacle(f"scheduling {other.meta.object_name}, which uses testbed {name}")
    return slot_conflict(view, testbed) if may_share else None


def _other_holders(view: SchedulingView, testbed: Testbed) -> Iterable[Scheduling]:
    """Its holders, without claims of deleted Schedulings."""
    for name in testbed.status.claims:
        other = None if name == view.scheduling.meta.object_name else view.find_scheduling(name)
        if other is not None:
            yield other


def _slot_ids(scheduling: Scheduling) -> set[int]:
    return {slot_id for entry in scheduling.spec.slots for slot_id in entry.slot_ids}


def _node_problem_texts(testbed: Testbed) -> list[str]:
    return [f"Node {node}: {' '.join(problems)}" for node, problems in testbed.status.node_problems.items()]

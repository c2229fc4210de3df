"""Who holds what a Scheduling wants. It claims its testbed and all its jobs at once or holds none of them, so two
Schedulings never wait for each other while they start. Called by `reconcile_scheduling`."""

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
    """Why something cannot be claimed now: whom or what it waits for, and what a person should mend, if anything."""

    waits_for: str
    problem: str = ""
    passes: int = 0  # whether it passes by itself: 1, or 2 at once. What lasts is told before what passes.


def holds_job(job: BatchJob | None, scheduling: ObjectName) -> bool:
    return job is not None and job.claim is not None and job.claim.scheduling == scheduling


def holds_testbed(testbed: Testbed | None, scheduling: ObjectName) -> bool:
    return testbed is not None and scheduling in testbed.status.claims


def obstacle_at_testbed(view: SchedulingView, is_held: bool) -> Obstacle | None:
    """What keeps it from claiming its testbed, or from using it as its spec says now."""
    testbed, name = view.testbed, view.scheduling.spec.testbed
    if testbed is None:
        return Obstacle(f"testbed {name}", f"Testbed {name} does not exist. Apply one of that name.")
    if not is_held:
        if testbed.meta.is_deleting:
            problem = f"Testbed {name} is being deleted. Apply it again when it is gone, or name another one."
            return Obstacle(f"testbed {name}", problem)
        if all(slot.is_leaving for slot in testbed.status.slots):
            found = [*testbed.status.problems, *_of_nodes(testbed)]
            return Obstacle(f"slots of testbed {name}", f"Testbed {name} has no slots. {' '.join(found)}".rstrip())
    return _user_of_testbed(view, testbed, is_held)


def obstacle_at_job(view: SchedulingView, name: ObjectName) -> Obstacle | None:
    """What keeps it from claiming a job that is not its own."""
    job = view.job(name)
    if job is None:
        return Obstacle(f"batch job {name}", f"Batch job {name} does not exist. Apply one of that name.")
    if job.claim is not None and view.other(job.claim.scheduling) is not None:
        return Obstacle(f"scheduling {job.claim.scheduling}, which uses batch job {name}")
    if job.meta.is_deleting:
        problem = f"Batch job {name} is being deleted. Apply it again when it is gone, or leave it out."
        return Obstacle(f"batch job {name}", problem)
    if job.status.state is not BatchJobState.READY:
        passes = 2 if job.status.state is BatchJobState.IN_QUEUE else 1
        return Obstacle(f"batch job {name} to be ready: it is in {job.status.state.word}", passes=passes)
    return None


def shares_slots_with(view: SchedulingView, testbed: Testbed) -> Obstacle | None:
    """Slots that it names and that another one on the same testbed named before. One whose changed spec is not
    accepted yet holds none: it waits for those whose is, so that two never wait for each other."""
    mine = _slot_ids(view.scheduling)
    for other in _others(view, testbed):
        if other.status.observed_generation != other.meta.generation:
            continue
        both = sorted(mine & _slot_ids(other))
        if both:
            slots = f"slot{'s' if len(both) > 1 else ''} {', '.join(map(str, both))}"
            return Obstacle(
                f"scheduling {other.meta.object_name}, which uses {slots} of testbed {testbed.meta.object_name}"
            )
    return None


def _user_of_testbed(view: SchedulingView, testbed: Testbed, is_held: bool) -> Obstacle | None:
    may_share = testbed.spec.sharing == DISJOINT and view.scheduling.spec.is_slot_based
    for other in () if is_held else _others(view, testbed):
        if not (may_share and other.spec.is_slot_based):
            name = testbed.meta.object_name
            return Obstacle(f"scheduling {other.meta.object_name}, which uses testbed {name}")
    return shares_slots_with(view, testbed) if may_share else None


def _others(view: SchedulingView, testbed: Testbed) -> Iterable[Scheduling]:
    """Those that hold it, but for claims of Schedulings that are no more."""
    for name in testbed.status.claims:
        other = None if name == view.scheduling.meta.object_name else view.other(name)
        if other is not None:
            yield other


def _slot_ids(scheduling: Scheduling) -> set[int]:
    return {slot_id for entry in scheduling.spec.slots for slot_id in entry.slot_ids}


def _of_nodes(testbed: Testbed) -> list[str]:
    return [f"Node {node}: {' '.join(problems)}" for node, problems in testbed.status.node_problems.items()]

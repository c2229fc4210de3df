"""Decides which jobs of a Scheduling go into which slots now: by a queue of executors, or by slot ids that the jobs
name.

Called by `reconcile_scheduling` and by the validation of manifests. Every function takes at most one pass over the
queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence

from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import RELAXED, JobProgress, JobRecord, SchedulingSpec
from shunter.model.objects.testbeds import Testbed, TestbedState
from shunter.testbeds.queue_order import QueueOrder

Selection = list[tuple[ObjectName, tuple[int, ...]]]


def describe_slot_needs(queue_order: QueueOrder, job: ObjectName, free: Iterable[int]) -> str:
    """What the job waits for: `2 free slots`; or, if it names slots, those in use: `slots 0, 3`."""
    spec = queue_order.spec
    if spec.is_slot_based:
        named = [slot_id for entry in spec.slots if entry.job == job for slot_id in entry.slot_ids]
        busy = sorted(set(named).difference(free)) or named
        return f"slot{'s' if len(busy) > 1 else ''} {_join_numbers(busy)}"
    count = queue_order.executors[queue_order.index[job]]
    return f"{count} free slot{'s' if count > 1 else ''}"


def select(spec: SchedulingSpec, records: Sequence[JobRecord], free_slot_ids: Iterable[int]) -> Selection:
    """The jobs to submit now, each with all its slots. `records` are in the order of `distinct_jobs`."""
    queued = [index for index, record in enumerate(records) if record.progress < JobProgress.SUBMITTED]
    return select_queued(QueueOrder(spec), queued, free_slot_ids)


def select_queued(queue_order: QueueOrder, queued: Sequence[int], free_slot_ids: Iterable[int]) -> Selection:
    """Like `select`, for callers that know which jobs are not submitted yet: their indices, in order."""
    free = sorted(free_slot_ids)
    if not free or not queued:
        return []
    if not queue_order.spec.is_slot_based:
        return _select_from_queue(queue_order, queued, free)
    names = {queue_order.jobs[index] for index in queued}
    return (_select_relaxed if queue_order.spec.mode == RELAXED else _select_strict)(queue_order.spec, names, free)


def _select_from_queue(queue_order: QueueOrder, queued: Sequence[int], free: Sequence[int]) -> Selection:
    """Executor i of those still queued takes the i-th smallest free slot; a job goes when all its executors have one.

    So a job whose last executor stands behind the free slots waits, and everybody behind that executor, too: only those
    whose executors all stand before it can go.
    """
    slots: dict[int, list[int]] = {}
    for slot_id, index in zip(free, queue_order.pending_executors(queued), strict=False):
        slots.setdefault(index, []).append(slot_id)
    return [
        (queue_order.jobs[index], tuple(slot_ids))
        for index, slot_ids in slots.items()
        if len(slot_ids) == queue_order.executors[index]
    ]


def _select_strict(spec: SchedulingSpec, queued: Container[ObjectName], free: Iterable[int]) -> Selection:
    """In order, up to the first job with a slot that is in use or was named before."""
    selection: Selection = []
    free_ids = set(free)
    for entry in spec.slots:
        if entry.job not in queued:
            continue
        if not free_ids.issuperset(entry.slot_ids):
            break
        free_ids.difference_update(entry.slot_ids)
        selection.append((entry.job, tuple(sorted(entry.slot_ids))))
    return selection


def _select_relaxed(spec: SchedulingSpec, queued: Container[ObjectName], free: Iterable[int]) -> Selection:
    """Every job whose slots are all free, also past jobs that wait."""
    selection: Selection = []
    free_ids = set(free)
    for entry in spec.slots:
        if not free_ids:
            break
        if entry.job in queued and free_ids.issuperset(entry.slot_ids):
            free_ids.difference_update(entry.slot_ids)
            selection.append((entry.job, tuple(sorted(entry.slot_ids))))
    return selection


# ---- what can never run ----


def infeasible_reasons(
    spec: SchedulingSpec, testbed: Testbed | None, submitted: Collection[ObjectName] = frozenset()
) -> list[str]:
    """Why jobs of it can never start, however long it waits. Submitted jobs are left out.

    A testbed that does not exist, or is about to change, refuses no job: the answer may change later."""
    problems = _slot_job_problems(spec) if spec.is_slot_based else []
    if not spec.queue and not spec.slots:
        problems.append("The scheduling has no batch job: name at least one.")
    if testbed is None or problems or not is_settled(testbed):
        return problems
    count = len(testbed.status.slots)
    name = testbed.meta.object_name
    if spec.is_slot_based:
        return _unknown_slot_problems(spec, count, name, submitted)
    return _queue_problems(spec.queue, count, name, submitted)


def is_settled(testbed: Testbed) -> bool:
    """Whether its slots are the desired ones."""
    status = testbed.status
    return (
        status.observed_generation == testbed.meta.generation
        and not testbed.meta.is_deleting
        and status.state not in (TestbedState.INITIAL, TestbedState.ERROR)
        and bool(status.slots)
        and not any(slot.is_leaving for slot in status.slots)
    )


def _slot_job_problems(spec: SchedulingSpec) -> list[str]:
    problems = []
    for job, times in Counter(entry.job for entry in spec.slots).items():
        if times > 1:
            problems.append(
                f"SlotScheduling needs distinct Jobs: batch job {job} is named {times} times. "
                "Name it once, with all its slot ids."
            )
    for entry in spec.slots:
        duplicates = sorted(slot_id for slot_id, times in Counter(entry.slot_ids).items() if times > 1)
        if not entry.slot_ids:
            problems.append(f"Batch job {entry.job} names no slot: give it at least one slot id.")
        if duplicates:
            problems.append(
                f"Batch job {entry.job} names slot {_join_numbers(duplicates)} more than once: name each slot once."
            )
    return problems


def _unknown_slot_problems(
    spec: SchedulingSpec, count: int, testbed: ObjectName, submitted: Collection[ObjectName]
) -> list[str]:
    problems = []
    for entry in spec.slots:
        unknown = sorted(slot_id for slot_id in entry.slot_ids if not 0 <= slot_id < count)
        if unknown and entry.job not in submitted:
            has = f"the slots 0 to {count - 1}: name some of those" if count > 1 else "slot 0 alone: name that"
            problems.append(
                f"Batch job {entry.job} names slot {_join_numbers(unknown)}, but testbed {testbed} has {has}, "
                "or give the testbed more slots."
            )
    return problems


def _queue_problems(
    queue: Sequence[ObjectName], count: int, testbed: ObjectName, submitted: Collection[ObjectName]
) -> list[str]:
    """Jobs that no free testbed could take.

    Once all slots are free, the job whose last executor stands first is the first that can go; if it cannot, nobody
    can. With it gone, the same holds of the rest, so one walk by last executors finds whether all get their turn.
    """
    waiting = [job for job in queue if job not in submitted]
    executors = Counter(waiting)
    problems = [
        f"Batch job {job} has {needed} executors, but testbed {testbed} has {_pluralize(count, 'slot')}: "
        f"name it at most {_pluralize(count, 'time')}, or give the testbed more slots."
        for job, needed in executors.items()
        if needed > count
    ]
    if problems:
        return problems
    last = {job: index for index, job in enumerate(waiting)}  # the last one wins
    submitted_executors = 0
    for job, index in sorted(last.items(), key=lambda item: item[1]):
        ahead = index + 1 - submitted_executors
        if ahead > count:
            return [
                f"Batch job {job} has an executor behind those of other jobs that wait for one another: it needs "
                f"{ahead} slots at a time, but testbed {testbed} has {count}. Put the executors of each job next to "
                "each other in the queue, or give the testbed more slots."
            ]
        submitted_executors += executors[job]
    return []


def _pluralize(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _join_numbers(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))

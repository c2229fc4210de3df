"""Services and jobs that run everywhere, read from the second book: nothing that is well is ended before enough others
are, and when all is quiet, all that was asked for runs. Called by `simulation.checks.checkers` and
`simulation.workload.service_actions`."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from shunter.model.job.spec import SERVICE, SYSTEM, GroupSpec, Update
from shunter.model.lifecycles import NodeState, TaskState
from shunter.simulation.checks.model import Ledger
from shunter.simulation.checks.model_records import LIVE, LedgerGroup, LedgerJob, LedgerTask, is_well, require


def check_ended(ledger: Ledger) -> None:
    """After a round that told tasks of services to end: those that were well left enough behind that were.
    Some of those may have been preempted afterwards by the same round."""
    for job_id, group_name, visible_index, well in ledger.well_ended_now:
        job = ledger.unfinished.get(job_id)
        spec = _spec(job, group_name) if job is not None else None
        if (
            job is None
            or spec is None
            or job.stop_was_asked
            or visible_index >= spec.count
            or (group_name, visible_index) in job.down
        ):
            continue
        wanted = [index for index in range(spec.count) if (group_name, index) not in job.down]
        least = len(wanted) - spec.update.unavailable_max
        is_kept = visible_index in well or (spec.update.unavailable_max > 0 and len(well) >= least)
        claim = f"{len(well)} of {len(wanted)} are well, unavailable_max is {spec.update.unavailable_max}"
        require(
            is_kept, f"task {group_name}/{visible_index} of service {job.name} was ended while it was needed: {claim}"
        )


def _spec(job: LedgerJob, name: str) -> GroupSpec | None:
    return next((spec for spec in job.specs if spec.name == name), None)


def unsettled(ledger: Ledger) -> list[str]:
    """What lasting jobs lack, with the reasons that do not pass by themselves left out."""
    lacks: list[str] = []
    for job in ledger.unfinished.values():
        if job.stop_was_asked or job.is_held or job.has_stalled:
            continue
        for spec in job.specs:
            if job.type == SERVICE:
                lacks += _service_lacks(ledger, job, spec)
            elif job.type == SYSTEM:
                lacks += _system_lacks(ledger, job, spec)
    return lacks


def _service_lacks(ledger: Ledger, job: LedgerJob, spec: GroupSpec) -> list[str]:
    """Each instance runs by the present spec, once, or has given up."""
    lacks = []
    for index in range(spec.count):
        where = f"{job.name}/{spec.name}/{index} (job {job.id})"
        members = _members(job, spec.name, index)
        live = [(piece, task) for piece, task in members if task.state in LIVE]
        if (spec.name, index) in job.down or (not live and _has_given_up(members)):
            continue
        if len(live) != 1:
            lacks.append(f"{where} has {len(live)} live tasks: {[task.state.word for _, task in members]}")
        elif not job.is_partly and not _is_same_work(live[0][0].spec, spec):
            lacks.append(f"{where} runs an older spec")
        elif not is_well(*live[0], ledger.now_ms) and live[0][1].state is not TaskState.RUNNING:
            lacks.append(f"{where} is {live[0][1].state.word}")
    more = [index for index in _live_indexes(job, spec.name) if index >= spec.count]
    return lacks + [f"{job.name}/{spec.name}/{index} is one too many" for index in more]


def _system_lacks(ledger: Ledger, job: LedgerJob, spec: GroupSpec) -> list[str]:
    """A task on every node that takes work and is large enough, unless it has given up there."""
    lacks = []
    for number, node in ledger.nodes.items():
        members = [(piece, task) for piece in job.pieces(spec.name) if piece.node == number for task in piece.tasks]
        is_served = node.state is NodeState.READY and not node.cordoned_by and not spec.constraints
        used = Counter[str]()
        for _, group, _, _ in ledger.live_on(number):
            used.update(group.spec.needs)
        is_served &= all(node.free(name, used[name]) >= need for name, need in spec.needs.items())
        has_one = any(task.state in LIVE for _, task in members) or _has_given_up(members)
        is_down = any((spec.name, piece.visible_index_of(0)) in job.down for piece, _ in members)
        if is_served and not has_one and not is_down and (spec.name, number - 1) not in job.down:
            lacks.append(f"{job.name}/{spec.name} (job {job.id}) has no task on node {node.name}")
    return lacks


def _members(job: LedgerJob, name: str, visible_index: int) -> list[tuple[LedgerGroup, LedgerTask]]:
    return [
        (piece, task)
        for piece in job.pieces(name)
        for index, task in enumerate(piece.tasks)
        if piece.visible_index_of(index) == visible_index
    ]


def _live_indexes(job: LedgerJob, name: str) -> list[int]:
    return [
        piece.visible_index_of(index)
        for piece in job.pieces(name)
        for index, task in enumerate(piece.tasks)
        if task.state in LIVE
    ]


def _has_given_up(members: list[tuple[LedgerGroup, LedgerTask]]) -> bool:
    return bool(members) and members[-1][1].state in (TaskState.FAILED, TaskState.SUCCEEDED)


def _is_same_work(one: GroupSpec, other: GroupSpec) -> bool:
    plain = [replace(spec, count=0, update=Update(), estimate_s=0.0, estimate_bits=0) for spec in (one, other)]
    return plain[0] == plain[1]

"""Stores what attempts used, as the reports of a round say: once for each group of a job that goes on, and in the
history of a job that ends."""

from __future__ import annotations

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.model.usage import Usage


def take_usage(round: Round, job: int) -> dict[str, Usage]:
    """All that a job used, which ends in this round."""
    total, stored = round.usage.pop(job, {}), round.state.job_usage.of_job(job)
    for name, usage in stored.items():  # nothing, if the job also began in this round
        total.setdefault(name, Usage()).add(usage)
    return total


def record_usage(round: Round) -> None:
    """Store the usage of unfinished jobs, unless an older manager could not read it."""
    usage, round.usage = round.usage, {}
    if not usage or not round.state.format.allows(c.UsageAdded):
        return
    for job, groups in usage.items():
        if job in round.state.jobs:
            for name, used in groups.items():
                round.record(c.UsageAdded(job, name, used))

"""A testbed with free slots and jobs beside it, and what a Scheduling has of them: for the tests of schedulings."""

from __future__ import annotations

from tests.unit.testbeds.memory_cluster import Play, named


def yard(*jobs: str, slots: int = 4) -> Play:
    return Play().labelled(slots).testbed().with_jobs(*jobs)


def progress(play: Play, name: str = "s") -> list[str]:
    return [record.progress.word for record in play.status(name).jobs]


def holds(play: Play, name: str) -> list[str]:
    """Everything that a Scheduling has claimed."""
    jobs = [job.meta.name for job in play.jobs.values() if job.claim and job.claim.scheduling.name == name]
    beds = [bed.meta.name for bed in play.testbeds.values() if named(name) in bed.status.claims]
    return [*jobs, *beds]

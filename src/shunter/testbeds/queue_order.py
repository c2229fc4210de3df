"""Who stands where in a Scheduling's spec, and what the last look at it made of that. Kept by whoever looks again: a
queue may have a hundred thousand entries, of which one look moves a few.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from shunter.model.objects.schedulings import JobRecord, SchedulingSpec
from shunter.testbeds.progress import Records


class Lineup:
    """The jobs of a spec by index, in the order in which they are first named."""

    def __init__(self, spec: SchedulingSpec) -> None:
        self.spec = spec
        self.jobs = spec.distinct_jobs
        self.index = {job: index for index, job in enumerate(self.jobs)}
        self.queue = [self.index[job] for job in spec.queue]
        self.executors = Counter(self.queue)

    def waiting(self, queued: Sequence[int]) -> Iterator[int]:
        """The queue's executors of these jobs, in order. `queued` is sorted, so none stands before the first's. Whoever
        asks takes a few of many: each is searched for when it is asked for."""
        first = self.queue.index(queued[0], queued[0])  # behind all that were named before it, so not before its number
        for index in islice(self.queue, first, None):
            place = bisect_left(queued, index)
            if place < len(queued) and queued[place] == index:
                yield index


class Memory:
    """Of one Scheduling, from look to look. Without it nothing is lost but time."""

    def __init__(self) -> None:
        self._lineup: Lineup | None = None
        self._records: Records | None = None

    def lineup(self, spec: SchedulingSpec) -> Lineup:
        if self._lineup is None or self._lineup.spec is not spec:
            self._lineup = Lineup(spec)
        return self._lineup

    def records(self, records: tuple[JobRecord, ...]) -> Records:
        if self._records is None or not self._records.is_of(records):
            self._records = Records(records)
        return self._records

"""Everything that a store holds, as of one moment: for copies between stores, and for backups. The adapters for SQLite
and PostgreSQL read and write it; `app.store_copy` compares what was read with what was written."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from shunter.ports.store import AuditBatch, FinishedJob, PastRecord, RollupRow, Snapshot


class StoredRound(msgspec.Struct, array_like=True, gc=False):
    version: int
    epoch: int
    at: float
    body: bytes


class StoreContents(Protocol):
    """What can be read. Lists come in batches of a moderate size."""

    async def leading_epoch(self) -> int: ...

    async def snapshot(self) -> Snapshot | None: ...

    def rounds(self) -> AsyncIterator[list[StoredRound]]:
        """In order."""
        ...

    def finished_jobs(self) -> AsyncIterator[list[FinishedJob]]:
        """Finished jobs with their tasks, by rising id."""
        ...

    def past_schedulings(self) -> AsyncIterator[list[PastRecord]]:
        """Deleted Schedulings by rising uid."""
        ...

    def audit(self) -> AsyncIterator[list[AuditBatch]]:
        """In order."""
        ...

    def rollups(self) -> AsyncIterator[tuple[int, list[RollupRow]]]:
        """Each tier with its rows, in order."""
        ...


@dataclass(slots=True)
class Tally:
    """How much was read, and a checksum of it."""

    rounds: int = 0
    finished_jobs: int = 0
    past_schedulings: int = 0
    audit_records: int = 0
    last_version: int = 0
    _digest: Any = field(default_factory=hashlib.sha256, repr=False)

    @property
    def checksum(self) -> str:
        return str(self._digest.hexdigest())

    def add(self, *values: Any) -> None:
        self._digest.update(_encode(values))


class TalliedContents:
    """Passes contents on, and counts them. The checksum is complete when everything was read in the order below."""

    def __init__(self, contents: StoreContents) -> None:
        self._contents = contents
        self.tally = Tally()

    async def leading_epoch(self) -> int:
        return await self._contents.leading_epoch()

    async def rounds(self) -> AsyncIterator[list[StoredRound]]:
        async for batch in self._contents.rounds():
            for each in batch:
                self.tally.add("round", each)
            self.tally.rounds += len(batch)
            self.tally.last_version = batch[-1].version
            yield batch

    async def snapshot(self) -> Snapshot | None:
        found = await self._contents.snapshot()
        if found is not None:
            self.tally.add("snapshot", found.version, found.body)
            self.tally.last_version = max(self.tally.last_version, found.version)
        return found

    async def finished_jobs(self) -> AsyncIterator[list[FinishedJob]]:
        async for batch in self._contents.finished_jobs():
            for job in batch:
                tasks = sorted(job.tasks, key=lambda chunk: (chunk.group, chunk.first))
                row = (job.id, job.namespace, job.name, job.run, job.state, job.submitted_at, job.ended_at)
                self.tally.add("job", row, sorted(job.labels.items()), job.summary, tasks)
            self.tally.finished_jobs += len(batch)
            yield batch

    async def past_schedulings(self) -> AsyncIterator[list[PastRecord]]:
        async for batch in self._contents.past_schedulings():
            for each in batch:
                self.tally.add("past", each)
            self.tally.past_schedulings += len(batch)
            yield batch

    async def audit(self) -> AsyncIterator[list[AuditBatch]]:
        async for batches in self._contents.audit():
            for each in batches:
                self.tally.add("audit", each)
            self.tally.audit_records += sum(each.last - each.first + 1 for each in batches)
            yield batches

    async def rollups(self) -> AsyncIterator[tuple[int, list[RollupRow]]]:
        async for tier_s, rows in self._contents.rollups():
            for each in rows:
                self.tally.add("rollup", tier_s, each)
            yield tier_s, rows

    async def read_all(self) -> Tally:
        async for _ in self.rounds():
            pass
        await self.snapshot()
        async for _ in self.finished_jobs():
            pass
        async for _ in self.past_schedulings():
            pass
        async for _ in self.audit():
            pass
        async for _ in self.rollups():
            pass
        return self.tally


_encode = msgspec.msgpack.Encoder().encode

"""The store on a PostgreSQL server, for one manager or many. `app` uses it as `ports.store.Store`.

Commits have a connection of their own. Snapshots, retention and reads share a bounded pool, so that a commit never
waits for them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from shunter.adapters.postgres import (
    audit_log,
    finished_jobs,
    finished_search,
    past_schedulings,
    rollups,
    rounds,
    schema,
)
from shunter.adapters.postgres.commit_listener import CommitListener
from shunter.adapters.postgres.connection import (
    WRITER_SESSION,
    Connection,
    Server,
    connect,
    read_known_server,
    read_server,
    refuse_other_server,
)
from shunter.adapters.postgres.retention import Purge, drop_history, drop_past, drop_rounds
from shunter.adapters.postgres.sessions import Pool, Writer
from shunter.adapters.postgres.url import StoreUrl, parse_store_url
from shunter.log import Log
from shunter.ports.store import (
    AuditBatch,
    AuditQuery,
    Commit,
    EndedRun,
    FinishedJob,
    FinishedQuery,
    FinishedTasks,
    LoggedRound,
    PastQuery,
    PastRecord,
    Purged,
    Retention,
    RollupRow,
    RunKey,
    Snapshot,
    unseen_epoch,
)

log = Log(__name__)


class PostgresStore:
    """A store that another server holds than the one of the last epoch does not open, unless `accepts_loss`."""

    def __init__(self, url: StoreUrl | str, *, accepts_loss: bool = False) -> None:
        self.url = parse_store_url(url) if isinstance(url, str) else url
        self._accepts_loss = accepts_loss
        self._writer = Writer(self.url.public_url, self._connect_writer)
        self._pool = Pool(self.url.public_url, self._connect)
        self._listener = CommitListener(self._connect)

    def __repr__(self) -> str:
        return f"PostgresStore({self.url.public_url!r})"

    async def open(self) -> None:
        await self._writer.open()
        self._accepts_loss = False  # it was meant for the server that is there now, not for a later one
        self._pool.open()
        log.info("store.opened", url=self.url.public_url)

    async def close(self) -> None:
        await self._listener.close()
        await self._pool.close()
        await self._writer.close()

    # ---- the log ----

    async def begin_epoch(self, term: int = 0) -> int:
        return await self._writer.run(self._begin_epoch, term)

    async def leading_epoch(self) -> int:
        return await self._pool.run(rounds.read_leading_epoch)

    async def leading_term(self) -> int:
        return await self._pool.run(rounds.read_leading_term)

    async def commit(self, commit: Commit) -> None:
        await self._writer.run(rounds.write_commit, commit)

    async def wait_for_commit(self, after_version: int, timeout_s: float) -> None:
        await self._listener.wait(after_version, timeout_s)

    async def save_snapshot(self, epoch: int, snapshot: Snapshot) -> None:
        save = await self._pool.run(rounds.begin_save, epoch)
        body = memoryview(snapshot.body)
        for part, start in enumerate(range(0, len(body), rounds.SNAPSHOT_PART_BYTES)):
            part_body = body[start : start + rounds.SNAPSHOT_PART_BYTES]
            await self._pool.run(rounds.save_part, epoch, save, part, part_body)
        await self._pool.run(rounds.end_save, epoch, save, snapshot.version)

    async def snapshot(self) -> Snapshot | None:
        return await self._pool.run(rounds.read_snapshot)

    async def rounds_after(self, version: int, limit: int) -> list[LoggedRound]:
        return await self._pool.run(rounds.read_rounds_after, version, limit)

    async def first_version(self) -> int:
        return await self._pool.run(rounds.read_first_version)

    async def last_version(self) -> int:
        return await self._pool.run(rounds.read_last_version)

    # ---- history ----

    async def finished_jobs(self, query: FinishedQuery) -> list[FinishedJob]:
        return await self._pool.run(finished_search.read_jobs, query)

    async def count_finished(self, query: FinishedQuery) -> int:
        return await self._pool.run(finished_search.count_jobs, query)

    async def finished_job(self, id: int) -> FinishedJob | None:
        return await self._pool.run(finished_jobs.read_job, id)

    async def finished_run(self, namespace: str, name: str, run: int | None) -> FinishedJob | None:
        return await self._pool.run(finished_jobs.read_run, namespace, name, run)

    async def finished_tasks(self, id: int, group: int, first: int, last: int) -> list[FinishedTasks]:
        return await self._pool.run(finished_jobs.read_tasks, id, group, first, last)

    async def ended_runs(self, keys: Sequence[RunKey]) -> dict[RunKey, EndedRun]:
        """By the writer's connection: long lists may keep the others busy."""
        return await self._writer.run(finished_jobs.read_ended_runs, keys)

    async def past_schedulings(self, query: PastQuery) -> list[PastRecord]:
        return await self._pool.run(past_schedulings.read_past, query)

    async def count_past(self, query: PastQuery) -> int:
        return await self._pool.run(past_schedulings.count_past, query)

    async def past_scheduling(self, uid: int) -> PastRecord | None:
        return await self._pool.run(past_schedulings.read_one, uid)

    async def audit_batches(self, query: AuditQuery) -> list[AuditBatch]:
        return await self._pool.run(audit_log.read_batches, query)

    async def expired_audit(self, through: int, before: float, limit: int) -> AuditBatch | None:
        return await self._pool.run(audit_log.read_expired, through, before, limit)

    async def drop_audit(self, epoch: int, through: int) -> None:
        await self._pool.run(audit_log.drop, epoch, through)

    async def save_rollups(self, epoch: int, tier_s: int, rows: Sequence[RollupRow]) -> None:
        await self._pool.run(rollups.write_rows, epoch, tier_s, rows)

    async def rollups(self, tier_s: int, first: int) -> list[RollupRow]:
        return await self._pool.run(rollups.read_rows, tier_s, first)

    async def purge(self, epoch: int, retention: Retention, now: float) -> Purged:
        purge = Purge(epoch, retention, now)
        cut = await self._pool.run(drop_rounds, purge)
        names = await self._pool.run(drop_history, purge)
        await self._pool.run(drop_past, purge)
        if cut or names:
            log.info("store.purged", rounds=cut, names=len(names))
        return Purged(tuple(names), cut)

    # ---- connections ----

    async def _begin_epoch(self, connection: Connection, term: int) -> int:
        return await rounds.begin_epoch(connection, term, await read_server(connection))

    async def _connect_writer(self) -> Connection:
        connection = await connect(self.url, WRITER_SESSION)
        try:
            await schema.migrate(connection, self.url.schema, schema.known_migrations())
            await self._check_server(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _connect(self) -> Connection:
        connection = await connect(self.url)
        try:
            await self._check_server(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _check_server(self, connection: Connection) -> None:
        """Raises StoreFailed if this is not the server of the last epoch, unless it has every commit by the operator's
        promise, or a loss is accepted."""
        known, found = await read_known_server(connection), await read_server(connection)
        if known in (None, found):
            return
        if self.url.is_synchronous and found.is_successor_of(known):
            log.warning("store.failed_over", url=self.url.public_url, was=known, found=found)
            await rounds.record_server(connection, found)
        elif self._accepts_loss:
            await self._accept(connection, known, found)
        else:
            refuse_other_server(self.url, known, found)

    async def _accept(self, connection: Connection, known: Server, found: Server) -> None:
        log.warning("store.loss_accepted", url=self.url.public_url, was=known, found=found)
        # Workers know epochs up to one that may be lost.
        await rounds.raise_epoch(connection, unseen_epoch(await rounds.read_leading_epoch(connection), time.time()))
        await rounds.record_server(connection, found)

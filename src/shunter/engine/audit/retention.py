"""Drops what retention does not keep of the audit log. Called by the leader from time to time.

It works in steps. Each step first commits a checkpoint, a record with the number and the hash of the last record that
it drops, so that the rest of the chain can still be checked; then it drops them in one transaction. After a crash in
between, the next step drops them."""

from __future__ import annotations

from typing import Protocol

from shunter.engine.state.state import State
from shunter.log import Log
from shunter.model.audit.records import Checkpoint, split_line
from shunter.ports.store import Retention, Store

log = Log(__name__)
EVERY_MS = 3_600_000  # a step leaves a record, so there are few
BATCHES_PER_STEP_MAX = 1_000
STEPS_MAX = 50  # in a row


class Auditor(Protocol):
    """What is needed of the engine."""

    @property
    def state(self) -> State: ...

    @property
    def epoch(self) -> int: ...

    def now_ms(self) -> int: ...

    async def note_checkpoint(self, checkpoint: Checkpoint) -> None: ...


async def drop_expired_records(engine: Auditor, store: Store, retention: Retention) -> None:
    ended = engine.state.audit
    if engine.now_ms() - ended.checkpoint_ms < EVERY_MS:
        return
    for _ in range(STEPS_MAX):
        ended = engine.state.audit
        await store.drop_audit(engine.epoch, ended.dropped_through)  # what a crash has left
        before_s = engine.now_ms() / 1000 - retention.audit_age_s
        last = ended.number - retention.audit_max
        expired = await store.expired_audit(last, before_s, BATCHES_PER_STEP_MAX)
        if expired is None or expired.last - ended.dropped_through <= 1:  # a checkpoint alone: it would leave another
            return
        try:
            _, _, hash = split_line(expired.body.rstrip(b"\n").rpartition(b"\n")[2])
        except ValueError as error:  # it was changed in the store: leave it for `shunter audit verify`
            log.error("audit.unreadable", record=expired.last, error=error)
            return
        await engine.note_checkpoint(Checkpoint(expired.last, hash.hex()))
        if engine.state.audit.dropped_through != expired.last:
            return  # the format does not have checkpoints yet

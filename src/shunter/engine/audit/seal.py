"""Writes the audit log: chains the acts of a round to the records before, in the round's commit. Called by
`engine.engine` just before it commits."""

from __future__ import annotations

from collections.abc import Sequence

from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.model.audit.records import (
    CHECKPOINT,
    REFUSED,
    AuditRecord,
    Checkpoint,
    RefusedRequests,
    encode_record,
    join_line,
    next_hash,
)
from shunter.model.timestamps import iso
from shunter.ports.security.audit import Act
from shunter.ports.store import AuditBatch


def seal_acts(round: Round) -> AuditBatch | None:
    """While managers of an older version follow, who could not read them, there are no records."""
    log = round.state.audit
    if not round.acts or not round.state.format.allows(c.AuditAdvanced):
        return None
    at, version = iso(round.now_ms / 1000) or "", round.state.version + 1
    number, hash, lines = log.number, log.head, []
    for act in round.acts:
        number += 1
        body = encode_record(_record(act, number, at, version))
        hash = next_hash(hash, body)
        lines.append(join_line(body, hash))
    batch = AuditBatch(log.number + 1, number, round.now_ms / 1000, b"".join(lines))
    round.record(c.AuditAdvanced(number, hash))
    return batch


def _record(act: Act, number: int, at: str, version: int) -> AuditRecord:
    origin = act.origin
    if origin is None:
        operation = CHECKPOINT if act.checkpoint is not None else REFUSED
        return AuditRecord(
            number=number, at=at, operation=operation, refused=list(act.refused), checkpoint=act.checkpoint,
            result=operation if operation == REFUSED else "ok", version=version,
        )  # fmt: skip
    caller = origin.caller
    return AuditRecord(
        number=number,
        at=at,
        operation=origin.operation,
        user=caller.user,
        tenant=caller.tenant,
        key=caller.key,
        transport=origin.transport,
        source=origin.source,
        names=list(act.names) or ([origin.target] if origin.target else []),
        version=version,
    )


def on_refused(round: Round, refused: Sequence[RefusedRequests]) -> None:
    round.acts.append(Act(None, refused=refused))


def on_checkpoint(round: Round, checkpoint: Checkpoint) -> None:
    """Retention is about to drop the records up to this one."""
    if round.state.format.allows(c.AuditCheckpointed):
        round.record(c.AuditCheckpointed(checkpoint.through, round.now_ms))
        round.acts.append(Act(None, checkpoint=checkpoint))


def on_noted(round: Round) -> None:
    """For a request that changes nothing in the state, but is to be recorded: its command is the act."""
    round.is_act = True

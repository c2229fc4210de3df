"""Why a manager closes a worker's connection: the error codes of the worker protocol, and whether to reconnect soon.

The watcher and the transports send them as `Refused`. docs/reference/worker-protocol.md has the same table; a test
compares them."""

from __future__ import annotations

from enum import StrEnum

from shunter.model.errors import Busy, Fenced, Rejected, ShunterError, Unavailable
from shunter.model.protocol.worker_messages import Refused


class RefusalCode(StrEnum):
    UNAUTHORIZED = "unauthorized"
    PROTOCOL_VERSION = "protocol_version"
    INVALID = "invalid"
    NAME_TAKEN = "name_taken"
    OTHER_HOME = "other_home"
    NOT_LEADER = "not_leader"
    STALE_EPOCH = "stale_epoch"
    BUSY = "busy"
    SILENT = "silent"
    TOO_SLOW = "too_slow"
    REPLACED = "replaced"
    RESET = "reset"
    SHUTTING_DOWN = "shutting_down"
    FAILED = "failed"


# A person must change the worker or its settings first, so it reconnects only from time to time.
PERMANENT = frozenset(
    {RefusalCode.UNAUTHORIZED, RefusalCode.PROTOCOL_VERSION, RefusalCode.INVALID, RefusalCode.OTHER_HOME}
)


def refuse(code: RefusalCode, reason: str, leader: str = "") -> Refused:
    return Refused(code=code.value, reason=reason, retry=code not in PERMANENT, leader=leader)


def refusal_for(error: ShunterError) -> Refused:
    """The refusal that a worker gets when the engine could not accept its message."""
    if isinstance(error, Fenced):
        return refuse(RefusalCode.STALE_EPOCH, error.detail)
    if isinstance(error, Busy):
        return refuse(RefusalCode.BUSY, error.detail)
    if isinstance(error, Unavailable):
        return refuse(RefusalCode.NOT_LEADER, error.detail)
    if isinstance(error, Rejected):
        return refuse(RefusalCode.INVALID, error.detail)
    return refuse(RefusalCode.FAILED, error.detail)

"""Puts a deleted Scheduling into the records of a round. Called by `engine.objects.controller`."""

from __future__ import annotations

import msgspec

from shunter.engine.round import Round
from shunter.model.objects.schedulings import Scheduling
from shunter.ports.store import PastRecord
from shunter.testbeds.history import past_scheduling


def past_record(round: Round, scheduling: Scheduling) -> PastRecord:
    meta = scheduling.meta
    past = past_scheduling(scheduling, round.state.objects.batch_jobs.values(), round.now_ms)
    return PastRecord(meta.uid, meta.namespace, meta.name, round.now_ms / 1000, msgspec.msgpack.encode(past))

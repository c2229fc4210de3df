"""Raises the active format of the store, when every manager can read the next one.

`engine.engine` calls `raise_format` in its rounds, and `engine.leader_elector` runs `watch_formats` while it leads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shunter import __version__
from shunter.engine import changes as c
from shunter.engine.round import Round
from shunter.log import Log
from shunter.ports.clock import Clock
from shunter.ports.coordination import Coordination, ManagerRecord

LOOK_EVERY_S = 1.0
log = Log(__name__)


class Leader(Protocol):
    """What is needed of the engine."""

    @property
    def is_new_store(self) -> bool: ...

    def allow_format(self, format: int) -> None: ...


def raise_format(round: Round, format_max: int) -> None:
    """Before all other changes of a round, so that they may need it already. `format_max` is known to all managers."""
    format = min(format_max, round.state.format.program.newest)
    if format > round.state.format.active:
        round.record(c.FormatRaised(format, __version__, round.now_ms))
        log.info("format.raised", format=format)


async def watch_formats(engine: Leader, coordination: Coordination, clock: Clock, settle_s: float) -> None:
    """Allow what every registered manager knows, once it was the same for `settle_s`: a manager that restarts is not
    registered for a moment. A new store needs no such care: no manager has read it yet."""
    common, since_s = 0, clock.now()
    while True:
        if (found := common_format(coordination.managers())) != common:
            common, since_s = found, clock.now()
            engine.allow_format(0)
            log.info("format.known_to_all", format=common)
        if engine.is_new_store or clock.now() - since_s >= settle_s:
            engine.allow_format(common)
        await clock.sleep(LOOK_EVERY_S)


def common_format(managers: Sequence[ManagerRecord]) -> int:
    """The newest format that all of them know; 0 if there are none, or one of them does not say."""
    return min((manager.format for manager in managers), default=0)

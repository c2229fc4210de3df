"""Finds keepers that do not do what they should, and kills them: one that does not end a task within its grace period,
and one that does not answer. What is left of their tasks is ended as after any other death of a keeper. Used by
`worker.process.keeper_pool`.

Time counts in rounds, so that a worker that was itself stopped for a while does not take its keepers for frozen ones:
they had no time to answer either."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shunter.log import Log
from shunter.worker.process.keeper_client import Keeper

log = Log(__name__)

ROUND_S = 1.0
STOP_MARGIN_S = 5.0  # after the grace period; less than the manager's own margin (`engine.nodes.disconnect`)
PING_EVERY_S = 30.0
STOPPED_MAX_S = 10.0  # without an answer, of a process that the kernel shows as stopped or traced
ANSWER_MAX_S = 300.0  # of any other; the scratch folder that it removes or measures may be large


class KeeperWatch:
    def __init__(self, keepers: Sequence[Keeper]) -> None:
        self._keepers = keepers
        self._until_ping_s = PING_EVERY_S

    def check(self) -> None:
        """One round, every ROUND_S."""
        self._until_ping_s -= ROUND_S
        is_ping_due = self._until_ping_s <= 0
        if is_ping_due:
            self._until_ping_s = PING_EVERY_S
        for keeper in self._keepers:
            if keeper.pending_stops or keeper.is_answer_due:
                self._check(keeper)
            elif is_ping_due and (keeper.held or keeper.is_ending):
                keeper.ping()

    def _check(self, keeper: Keeper) -> None:
        if fault := self._overdue_stop(keeper) or self._overdue_answer(keeper):
            log.warning("keeper.killed", keeper=keeper.number, pid=keeper.pid, tasks=keeper.held, reason=fault)
            keeper.kill(f"{fault}, and was killed")

    def _overdue_stop(self, keeper: Keeper) -> str:
        for what, stop in list(keeper.pending_stops.items()):
            stop.waited_s += ROUND_S
            if not keeper.holds(*what):
                del keeper.pending_stops[what]
            elif stop.waited_s > stop.grace_s + STOP_MARGIN_S:
                return f"did not end it in its grace period of {stop.grace_s:g} s"
        return ""

    def _overdue_answer(self, keeper: Keeper) -> str:
        if not keeper.is_answer_due:
            return ""
        keeper.unanswered_s += ROUND_S
        limit_s = STOPPED_MAX_S if keeper.unanswered_s <= ANSWER_MAX_S else ANSWER_MAX_S
        is_overdue = keeper.unanswered_s > limit_s and (limit_s == ANSWER_MAX_S or _is_stopped(keeper.pid))
        return f"did not answer for {limit_s:g} s" if is_overdue else ""


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] in ("T", "t")
    except OSError:
        return False

"""Counts the refused items of a policy's decisions, and overrules a scheduler whose decisions are all refused. Used for
sessions (`engine.policy.sessions`), and for policies that decide in rounds (`engine.policy.active_policy`), which are
never overruled.

While a scheduler is overruled, the fallback policy places tasks. Otherwise tasks would wait forever, because a
scheduler that repeats the same mistake is neither silent nor failing. If no pending task fits on any node, mistakes
cost nothing, and the scheduler is not overruled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shunter.model.protocol.scheduler_messages import DecisionAnswer, DecisionRow, ItemRefusal

FRUITLESS_MAX = 20  # decisions in a row of which nothing applied
TRIES = 5  # further fruitless decisions, after that time, before it is overruled again
OVERRULED_MS = 60_000
RENEWED_MS = 5_000  # how long a new session of an overruled scheduler stays overruled, at most
RETRY_MS = 100  # after a fruitless decision, the policy is asked again
IDLE_RETRY_MS = 1_000  # where nothing fits anywhere
REASON_SIZE_MAX = 300


@dataclass(slots=True)
class RefusalRecord:
    count: int = 0  # items that were refused
    last_reason: str = ""
    fruitless: int = 0  # decisions in a row of which nothing applied
    overruled_until_ms: int = 0
    is_waiting: bool = False  # its last decision was to place nothing, which nobody refuses

    def is_overruled(self, now_ms: int) -> bool:
        return now_ms < self.overruled_until_ms

    def refuse(self, reason: str, count: int = 1) -> None:
        self.count += count
        self.last_reason = reason[:REASON_SIZE_MAX]

    def refuse_items(self, refusals: Iterable[ItemRefusal]) -> None:
        for each in refusals:
            self.refuse(f"{each.item}{f' on node {each.node}' if each.node else ''}: {each.reason}")

    def record_decision(self, is_fruitful: bool, now_ms: int, has_alternative: Callable[[], bool]) -> None:
        """Record a decision that was to place or preempt tasks. `has_alternative`: some pending task fits somewhere."""
        self.is_waiting = False
        if is_fruitful:
            self.fruitless = self.overruled_until_ms = 0
        elif not self.is_overruled(now_ms):
            self.fruitless += 1
            if self.fruitless >= FRUITLESS_MAX and has_alternative():
                self.fruitless, self.overruled_until_ms = FRUITLESS_MAX - TRIES, now_ms + OVERRULED_MS

    def record_wait(self) -> None:
        """Record a decision to place nothing. The count goes on: a scheduler that waits now and then between decisions
        that are refused would starve the cluster otherwise."""
        self.is_waiting = True

    def retry_ms(self, now_ms: int) -> int:
        """How long after a fruitless decision the policy is asked again if nothing changes. Nobody else would: the
        tasks that it was to place still wait."""
        if self.is_overruled(now_ms):
            return self.overruled_until_ms - now_ms
        return RETRY_MS if self.fruitless < FRUITLESS_MAX else IDLE_RETRY_MS

    def renewed(self, now_ms: int) -> RefusalRecord:
        """For the next session of the same scheduler. It may have been repaired, so it is tried soon; one that connects
        again after each decision must not starve the cluster either."""
        until_ms = min(self.overruled_until_ms, now_ms + RENEWED_MS)
        return RefusalRecord(self.count, self.last_reason, self.fruitless, until_ms)

    def describe(self, name: str, now_ms: int) -> str:
        """What is wrong with the decisions of a policy now; empty if the last one applied."""
        if self.is_overruled(now_ms):
            return f"{name} is overruled, because its decisions were refused; last refusal: {self.last_reason}"
        if self.fruitless and not self.is_waiting:
            count = self.fruitless
            refused = f"decision of {name} was" if count == 1 else f"{count} decisions of {name} were"
            return f"the last {refused} refused; last refusal: {self.last_reason}"
        return ""


def is_fruitful(row: DecisionRow, answer: DecisionAnswer) -> bool | None:
    """Whether some tasks were placed or preempted as decided; None if that was not asked for."""
    if not row.placements and not row.preemptions:
        return None
    refused_preemptions = sum(each.item.startswith("preemptions") for each in answer.refusals)
    is_refused_whole = row.atomic and bool(answer.refusals)
    return answer.placed > 0 or (refused_preemptions < len(row.preemptions) and not is_refused_whole)

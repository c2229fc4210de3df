"""Making recorded decisions again: by the same policy, which must give the same, or by another one. Used by `shunter
replay`, and by tests.

What was decided in rounds is decided again behind the same guard (`engine.policy.active_policy`); what was decided
outside of them, by the bare policy, as it was there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from shunter.engine.policy.active_policy import ActivePolicy
from shunter.model.errors import Invalid
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, FlightRecord, Replayed, Shown, Step
from shunter.model.protocol.scheduler_messages import DecisionRow, Situation
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.policies import Renewing
from shunter.planning.remote.decision_rows import decision_row
from shunter.planning.remote.delta_reader import ViewReader
from shunter.planning.view import ClusterView, Policy

Build = Callable[[str], Policy]  # a fresh policy by its name


class Replay:
    """`policy` decides in place of those that were recorded; None: each decides again for itself, and
    what strangers decided is left out."""

    def __init__(self, build: Build, policy: str | None = None, filters: tuple[Filter, ...] = FILTERS) -> None:
        self._build, self._policy, self._filters = build, policy, filters
        self._minds: dict[str, _Mind] = {}
        self._strangers: dict[str, str] = {}  # by source: who decides there, and is not known here
        self.left_out: Counter[str] = Counter()  # decisions by strangers
        self.skipped = 0  # records that make no sense without what came before the recording

    def run(self, records: Iterable[FlightRecord]) -> Iterator[Replayed]:
        for record in records:
            if isinstance(record, Began):
                self._begin(record)
            elif isinstance(record, Step | Decided) and (stranger := self._strangers.get(_source_of(record))):
                self.left_out[stranger] += 1
            elif isinstance(record, Step):
                mind = self._minds.get(ROUNDS)
                if mind is not None:
                    mind.show(record.situation, record.inputs)
                    yield mind.decide(record.decision)
                self.skipped += mind is None
            elif isinstance(record, Shown):
                if (mind := self._mind_of(record)) is not None:
                    mind.put_off(record)
                self.skipped += mind is None
            elif isinstance(record, Decided):
                mind = self._minds.get(record.source)
                is_known = mind is not None and mind.catch_up(record.number)
                if mind is not None and is_known:
                    yield mind.decide(record.decision)
                self.skipped += not is_known

    def _mind_of(self, record: Shown) -> _Mind | None:
        return self._minds.get(record.source)

    def _begin(self, began: Began) -> None:
        self._minds.pop(began.source, None)
        self._strangers.pop(began.source, None)
        try:
            policy = self._build(self._policy or _bare(began.policy))
        except Invalid:
            if self._policy is not None:
                raise
            self._strangers[began.source] = _bare(began.policy)
            return
        if began.memory and self._policy in (None, began.policy) and isinstance(policy, Renewing):
            policy.memory = began.memory
        active_policy = ActivePolicy(policy, filters=self._filters) if began.source == ROUNDS else None
        self._minds[began.source] = _Mind(began, policy, active_policy, ViewReader(began.wants))


@dataclass(slots=True)
class _Mind:
    """What decides in place of one source."""

    began: Began
    policy: Policy
    active_policy: ActivePolicy | None
    reader: ViewReader
    waiting: list[Shown] = field(default_factory=list)  # shown, but nothing was decided on it yet
    situation: Situation | None = None
    view: ClusterView | None = None
    inputs: str = ""

    def show(self, situation: Situation, inputs: str) -> None:
        self.situation, self.inputs, self.view = situation, inputs, self.reader.read(situation.delta)

    def put_off(self, shown: Shown) -> None:
        self.waiting.append(shown)

    def catch_up(self, number: int) -> bool:
        """Look at what was shown up to this number; says whether that was the last that was looked at."""
        while self.waiting and self.waiting[0].situation.delta.number <= number:
            shown = self.waiting.pop(0)
            self.show(shown.situation, shown.inputs)
        return self.situation is not None and self.situation.delta.number == number

    def decide(self, recorded: DecisionRow) -> Replayed:
        assert self.situation is not None
        assert self.view is not None
        situation, missing = self.situation, self.reader.missing
        if self.active_policy is None:
            decision = self.policy.decide(self.view, situation.now, situation.budget)
        else:
            self.active_policy.decide(self.view, situation.now, situation.budget)
            decision = self.active_policy.said
        made = decision_row(decision, situation.delta.number)
        return Replayed(
            source=self.began.source,
            policy=self.began.policy,
            at=situation.now,
            number=situation.delta.number,
            version=situation.delta.version,
            inputs=self.inputs,
            recorded=recorded,
            made=made,
            missing=self.reader.missing - missing,
            is_fresh=self.began.is_fresh,
            names=self.view.nodes.names,
        )


def _source_of(record: Step | Decided) -> str:
    return record.source if isinstance(record, Decided) else ROUNDS


def _bare(policy: str) -> str:
    """A local session is named after its policy."""
    return policy.removeprefix("local:")

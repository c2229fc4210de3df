"""Makes recorded decisions again: with the same policy, which must decide the same, or with another one. Used by
`shunter replay` and by tests.

Decisions from rounds run behind the same guard (`engine.policy.active_policy`). Decisions from outside of rounds run
without it, as they did originally."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from shunter.engine.policy.active_policy import ActivePolicy
from shunter.model.errors import Invalid
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, FlightRecord, Replayed, SituationRecord, Step
from shunter.model.protocol.scheduler_messages import DecisionRow, Situation
from shunter.planning.filter.filters import FILTERS, Filter
from shunter.planning.policies import Renewable
from shunter.planning.remote.decision_rows import decision_row
from shunter.planning.remote.view_reader import ViewReader
from shunter.planning.view import ClusterView, Policy

Build = Callable[[str], Policy]  # a fresh policy by its name, or by its MODULE:CLASS


class Replay:
    """`policy` decides in place of the recorded ones. None: each recorded policy decides again. A policy that `build`
    does not know by its name is built by `build_origin` from the class that the recording names. Decisions of policies
    that both do not know are skipped."""

    def __init__(
        self,
        build: Build,
        policy: str | None = None,
        filters: tuple[Filter, ...] = FILTERS,
        build_origin: Build | None = None,
    ) -> None:
        self._build, self._policy, self._filters, self._build_origin = build, policy, filters, build_origin
        self._replays: dict[str, _SourceReplay] = {}
        self._unknown_policies: dict[str, str] = {}  # by source: policies that are not known here
        self.skipped_by_policy: Counter[str] = Counter()  # decisions by unknown policies
        self.fault_by_policy: dict[str, str] = {}  # of unknown policies with a class: why it could not be built
        self.skipped = 0  # records that depend on something before the recording

    def run(self, records: Iterable[FlightRecord]) -> Iterator[Replayed]:
        for record in records:
            if isinstance(record, Began):
                self._begin(record)
            elif isinstance(record, Step | Decided) and (
                unknown_policy := self._unknown_policies.get(_source_of(record))
            ):
                self.skipped_by_policy[unknown_policy] += 1
            elif isinstance(record, Step):
                replay = self._replays.get(ROUNDS)
                if replay is not None:
                    replay.load_situation(record.situation, record.inputs)
                    yield replay.decide(record.decision)
                self.skipped += replay is None
            elif isinstance(record, SituationRecord):
                if (replay := self._replay_of(record)) is not None:
                    replay.defer(record)
                self.skipped += replay is None
            elif isinstance(record, Decided):
                replay = self._replays.get(record.source)
                is_known = replay is not None and replay.catch_up(record.number)
                if replay is not None and is_known:
                    yield replay.decide(record.decision)
                self.skipped += not is_known

    def _replay_of(self, record: SituationRecord) -> _SourceReplay | None:
        return self._replays.get(record.source)

    def _begin(self, began: Began) -> None:
        self._replays.pop(began.source, None)
        self._unknown_policies.pop(began.source, None)
        try:
            policy = self._build_recorded(began)
        except Invalid as error:
            if self._policy is not None:
                raise
            name = self._unknown_policies[began.source] = _policy_name(began.policy)
            if began.origin:
                self.fault_by_policy[name] = error.problems[0].message
            return
        if began.memory and self._policy in (None, began.policy) and isinstance(policy, Renewable):
            policy.memory = began.memory
        active_policy = ActivePolicy(policy, filters=self._filters) if began.source == ROUNDS else None
        self._replays[began.source] = _SourceReplay(began, policy, active_policy, ViewReader(began.wants))

    def _build_recorded(self, began: Began) -> Policy:
        try:
            return self._build(self._policy or _policy_name(began.policy))
        except Invalid:
            if self._policy is not None or self._build_origin is None or not began.origin:
                raise
        return self._build_origin(began.origin)


@dataclass(slots=True)
class _SourceReplay:
    """The policy that decides in place of one source."""

    began: Began
    policy: Policy
    active_policy: ActivePolicy | None
    reader: ViewReader
    deferred: list[SituationRecord] = field(default_factory=list)  # shown, but not decided on yet
    situation: Situation | None = None
    view: ClusterView | None = None
    inputs: str = ""

    def load_situation(self, situation: Situation, inputs: str) -> None:
        self.situation, self.inputs, self.view = situation, inputs, self.reader.read(situation.delta)

    def defer(self, situation_record: SituationRecord) -> None:
        self.deferred.append(situation_record)

    def catch_up(self, number: int) -> bool:
        """Process the situations up to this number; return whether that was the last one processed."""
        while self.deferred and self.deferred[0].situation.delta.number <= number:
            situation_record = self.deferred.pop(0)
            self.load_situation(situation_record.situation, situation_record.inputs)
        return self.situation is not None and self.situation.delta.number == number

    def decide(self, recorded: DecisionRow) -> Replayed:
        assert self.situation is not None
        assert self.view is not None
        situation, missing = self.situation, self.reader.missing
        if self.active_policy is None:
            decision = self.policy.decide(self.view, situation.now, situation.budget)
        else:
            self.active_policy.decide(self.view, situation.now, situation.budget)
            decision = self.active_policy.last_decision
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


def _policy_name(policy: str) -> str:
    """A local session is named after its policy."""
    return policy.removeprefix("local:")

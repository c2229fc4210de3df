"""Records every decision together with its inputs. Owned by the engine, which calls it around each decision; a
`FlightLog` stores the records.

It encodes only what changed since the last decision. Each segment is self-contained: at its start, every policy sees
the whole view again, and a policy that supports it is created anew, so that its memory is known too."""

from __future__ import annotations

from collections.abc import Callable, Collection
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.engine.policy.active_policy import LOCAL_PREFIX, ActivePolicy
from shunter.model.protocol.flight_records import (
    ROUNDS,
    Began,
    Decided,
    FlightRecord,
    SituationRecord,
    Step,
    encode_record,
)
from shunter.model.protocol.scheduler_messages import OBJECTS, TASKS, DecisionAnswer, DecisionRow, Situation, ViewDelta
from shunter.planning.planner import Planner
from shunter.planning.policies import Renewable
from shunter.planning.remote.decision_rows import decision_row
from shunter.planning.remote.view_queries import QueryRecorder
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.remote.view_writer import ViewWriter
from shunter.planning.view import ClusterView, Decision, Policy
from shunter.ports.flight import FlightLog

SEGMENT_BYTES = 4 * 2**20  # a new segment begins beyond it, when the policy loses nothing by it
SEGMENT_BYTES_MAX = 8 * 2**20  # and beyond this in any case
HASH_BYTES = 8
_encoder = msgspec.msgpack.Encoder()


class FlightRecorder:
    """In a round: `before_decision` before the decision, `after_decision` after it, `on_commit` when the round is
    committed, `on_abort` if it is not. `on_new_segment` is called when a segment begins: sessions then get the whole
    view again."""

    def __init__(
        self,
        log: FlightLog,
        active_policy: ActivePolicy,
        on_new_segment: Callable[[], None],
        last_policy: Policy | None = None,
    ) -> None:
        """`last_policy` is the policy that decided before, of which nothing is recorded."""
        self._log, self._active_policy, self._on_new_segment = log, active_policy, on_new_segment
        self._writer = ViewWriter((TASKS,))
        self._last_policy = last_policy  # the policy that decided last: it has a memory
        self._has_begun = False  # in this segment
        self._pending_situation: tuple[float, int, ViewDelta, QueryRecorder] | None = None
        self._pending: list[bytes] = []
        self._inputs: dict[str, bytes] = {}  # source -> hash of everything it was shown so far
        self._recorded_sessions: set[str] = set()  # recorded sessions
        self._needs_segment = True

    # ---- in rounds ----

    def before_decision(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        """The view to decide on."""
        if self._needs_segment or self._is_segment_full():
            self._begin_segment()
        if not self._has_begun or self._active_policy.round_policy is not self._last_policy:
            self._begin(now)
        recorder = QueryRecorder(view)
        self._pending_situation = now, budget, self._writer.write(view), recorder
        return recorder.view

    def after_decision(self, decision: Decision) -> None:
        assert self._pending_situation is not None, "`before_decision` must be called first"
        now, budget, delta, recorder = self._pending_situation
        situation, inputs = self._encode_and_hash(
            ROUNDS, Situation(now, budget, replace(delta, answers=recorder.answers()))
        )
        self._pending.append(encode_record(Step(situation, decision_row(decision, delta.number), inputs)))

    def on_commit(self) -> None:
        for record in self._pending:
            self._log.append(record)
        self._pending.clear()

    def on_abort(self) -> None:
        """The decision was not committed, and the state will differ."""
        self._pending.clear()
        self._needs_segment = True

    # ---- outside of rounds ----

    def record_situation(self, source: str, situation: Situation, wants: Collection[str]) -> None:
        """A session was shown a situation; what its policy remembers from before is unknown."""
        self._rotate_segment()
        if situation.delta.is_whole:
            self._inputs[source] = b""
            is_first = source not in self._recorded_sessions
            self._recorded_sessions.add(source)
            origin = origin_of(self._active_policy.policy) if self._is_local_policy(source) else ""
            began = Began(source, source, situation.now, tuple(sorted(wants)), is_first, origin=origin)
            self._log.append(encode_record(began))
        raw, inputs = self._encode_and_hash(source, situation)
        self._log.append(encode_record(SituationRecord(source, raw, inputs)))

    def _is_local_policy(self, source: str) -> bool:
        """Whether the session is that of the active policy, which decides in this process."""
        return source.startswith(LOCAL_PREFIX) and source == self._active_policy.leader_session

    def forget_session(self, source: str) -> None:
        """The session has ended: the next one of this name starts with a fresh policy."""
        self._recorded_sessions.discard(source)

    def record_decision(self, source: str, row: DecisionRow, answer: DecisionAnswer) -> None:
        self.append(Decided(source, row.number, row, answer.placed, len(answer.refusals)))

    def append(self, record: FlightRecord) -> None:
        self._rotate_segment()
        self._log.append(encode_record(record))

    # ---- segments ----

    def _is_segment_full(self) -> bool:
        size = self._log.segment_bytes
        if size < SEGMENT_BYTES:
            return False
        policy = self._active_policy.round_policy
        return size >= SEGMENT_BYTES_MAX or not isinstance(policy, Renewable) or policy.is_settled

    def _begin_segment(self) -> None:
        self._needs_segment = self._has_begun = False
        self._log.begin_segment()
        self._on_new_segment()

    def _rotate_segment(self) -> None:
        if self._needs_segment or self._log.segment_bytes >= SEGMENT_BYTES_MAX:
            self._begin_segment()

    def _begin(self, now: float) -> None:
        """Start to record the policy that decides in rounds: it is new, was restarted, or is not fully known."""
        policy = self._active_policy.round_policy
        is_fresh = policy is not self._last_policy
        if not is_fresh and isinstance(policy, Renewable):
            policy, is_fresh = policy.renew(), True
            self._active_policy.renew(policy)
        wants = wants_of(policy)
        self._last_policy, self._has_begun, self._inputs[ROUNDS] = policy, True, b""
        self._writer = ViewWriter((TASKS, OBJECTS) if OBJECTS in wants else (TASKS,))
        memory = policy.memory if is_fresh and isinstance(policy, Renewable) else {}
        self._pending.append(encode_record(Began(ROUNDS, policy.name, now, wants, is_fresh, memory, origin_of(policy))))

    def _encode_and_hash(self, source: str, situation: Situation) -> tuple[Any, str]:
        """Encode the situation once for its record, and hash it with everything that the source was shown before."""
        body = _encoder.encode(situation)
        hash = blake2b(self._inputs.get(source, b"") + body, digest_size=HASH_BYTES).digest()
        self._inputs[source] = hash
        return msgspec.Raw(body), hash.hex()


def origin_of(policy: Policy) -> str:
    """The MODULE:CLASS of a policy that is not built in, for a replay; empty if it cannot be imported by its name."""
    kind = type(policy)
    is_importable = kind.__module__ != "__main__" and kind.__qualname__.isidentifier()
    return f"{kind.__module__}:{kind.__qualname__}" if is_importable and not isinstance(policy, Planner) else ""

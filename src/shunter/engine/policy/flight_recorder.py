"""The flight recorder: notes every decision with what it was made on. Owned by the engine, which calls it around each
decision; a `FlightLog` keeps the records.

It encodes only what changed since the last decision. A segment stands by itself: at its beginning everything is shown
anew to whoever decides, and a policy that can is renewed, so that its memory is known too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec.structs import replace

from shunter.engine.policy.active_policy import ActivePolicy
from shunter.model.protocol.flight_records import ROUNDS, Began, Decided, FlightRecord, Shown, Step, encode_record
from shunter.model.protocol.scheduler_messages import OBJECTS, TASKS, DecisionAnswer, DecisionRow, Situation, ViewDelta
from shunter.planning.policies import Renewing
from shunter.planning.remote.decision_rows import decision_row
from shunter.planning.remote.delta_writer import ViewWriter
from shunter.planning.remote.view_queries import Listening
from shunter.planning.remote.view_scope import wants_of
from shunter.planning.view import ClusterView, Decision, Policy
from shunter.ports.flight import FlightLog

SEGMENT_BYTES = 4 * 2**20  # a new one begins past it, when the policy has nothing to lose by it
SEGMENT_BYTES_MAX = 8 * 2**20  # and past this in any case
HASH_BYTES = 8
_encoder = msgspec.msgpack.Encoder()


class FlightRecorder:
    """In a round: `before_decision` before the decision, `note` after it, `land` when the round is committed, `drop` if
    it is not. `anew` is called when a segment begins: whoever shows situations to others begins anew, too."""

    def __init__(
        self, log: FlightLog, active_policy: ActivePolicy, anew: Callable[[], None], known: Policy | None = None
    ) -> None:
        """`known` is the policy that has decided before, of which nothing is recorded."""
        self._log, self._brain, self._anew = log, active_policy, anew
        self._writer = ViewWriter((TASKS,))
        self._known = known  # who decided last: it remembers something
        self._has_begun = False  # in this segment
        self._seen: tuple[float, int, ViewDelta, Listening] | None = None
        self._pending: list[bytes] = []
        self._inputs: dict[str, bytes] = {}  # source -> the hash of what it was shown so far
        self._told: set[str] = set()  # sessions of which something is recorded
        self._needs_segment = True

    # ---- in rounds ----

    def before_decision(self, view: ClusterView, now: float, budget: int) -> ClusterView:
        """The view to decide on."""
        if self._needs_segment or self._is_full():
            self._begin_segment()
        if not self._has_begun or self._brain.in_rounds is not self._known:
            self._begin(now)
        listening = Listening(view)
        self._seen = now, budget, self._writer.write(view), listening
        return listening.view

    def note(self, decision: Decision) -> None:
        assert self._seen is not None, "look comes first"
        now, budget, delta, listening = self._seen
        situation, inputs = self._hashed(ROUNDS, Situation(now, budget, replace(delta, answers=listening.answers())))
        self._pending.append(encode_record(Step(situation, decision_row(decision, delta.number), inputs)))

    def land(self) -> None:
        for record in self._pending:
            self._log.append(record)
        self._pending.clear()

    def drop(self) -> None:
        """What was decided never happened, and the state will be another one."""
        self._pending.clear()
        self._needs_segment = True

    # ---- outside of rounds ----

    def shown(self, source: str, situation: Situation, wants: Collection[str]) -> None:
        """A session was shown something; nobody knows what its policy remembers from before."""
        self._make_room()
        if situation.delta.is_whole:
            self._inputs[source] = b""
            is_first = source not in self._told
            self._told.add(source)
            self._log.append(encode_record(Began(source, source, situation.now, tuple(sorted(wants)), is_first)))
        raw, inputs = self._hashed(source, situation)
        self._log.append(encode_record(Shown(source, raw, inputs)))

    def closed(self, source: str) -> None:
        """Its session is over: the next one of this name begins with a policy that is fresh."""
        self._told.discard(source)

    def decided(self, source: str, row: DecisionRow, answer: DecisionAnswer) -> None:
        self.append(Decided(source, row.number, row, answer.placed, len(answer.refusals)))

    def append(self, record: FlightRecord) -> None:
        self._make_room()
        self._log.append(encode_record(record))

    # ---- segments ----

    def _is_full(self) -> bool:
        size = self._log.segment_bytes
        if size < SEGMENT_BYTES:
            return False
        policy = self._brain.in_rounds
        return size >= SEGMENT_BYTES_MAX or not isinstance(policy, Renewing) or policy.is_settled

    def _begin_segment(self) -> None:
        self._needs_segment = self._has_begun = False
        self._log.begin_segment()
        self._anew()

    def _make_room(self) -> None:
        if self._needs_segment or self._log.segment_bytes >= SEGMENT_BYTES_MAX:
            self._begin_segment()

    def _begin(self, now: float) -> None:
        """Who decides in rounds begins to be recorded: it is a new one, or begins anew, or nobody knows all of it."""
        policy = self._brain.in_rounds
        is_fresh = policy is not self._known
        if not is_fresh and isinstance(policy, Renewing):
            policy, is_fresh = policy.renew(), True
            self._brain.renew(policy)
        wants = wants_of(policy)
        self._known, self._has_begun, self._inputs[ROUNDS] = policy, True, b""
        self._writer = ViewWriter((TASKS, OBJECTS) if OBJECTS in wants else (TASKS,))
        memory = policy.memory if is_fresh and isinstance(policy, Renewing) else {}
        self._pending.append(encode_record(Began(ROUNDS, policy.name, now, wants, is_fresh, memory)))

    def _hashed(self, source: str, situation: Situation) -> tuple[Any, str]:
        """The situation, encoded once for its record, and the hash of all that the source was shown with it."""
        body = _encoder.encode(situation)
        hash = blake2b(self._inputs.get(source, b"") + body, digest_size=HASH_BYTES).digest()
        self._inputs[source] = hash
        return msgspec.Raw(body), hash.hex()

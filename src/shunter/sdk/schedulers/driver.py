"""`ExternalScheduler`: maintains a policy's view from deltas, calls the policy, and sends its decisions. The same
policy object runs next to a manager, in shadow, in the manager's own process and in a simulation.

One thread reads the manager's messages; the caller's thread decides on one situation after another. Nothing renews the
lease while the policy decides: if it takes too long, the lease expires and the cluster continues without it."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from shunter.log import Log
from shunter.model.errors import (
    Busy,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    Rejected,
    ShunterError,
    Unauthorized,
    Unavailable,
)
from shunter.model.protocol.scheduler_messages import WANTS_DEFAULT, DecisionAnswer, DecisionRow, Situation
from shunter.sdk.errors import NotReachable
from shunter.sdk.schedulers.links import Lease, Link

if TYPE_CHECKING:
    from shunter.planning.remote.policy_host import PolicyHost
    from shunter.planning.view import Decides
    from shunter.sdk.endpoint import Finder

LEAD, SHADOW = "lead", "shadow"
GRPC, REST = "grpc", "rest"
RETRY_MIN_S, RETRY_MAX_S = 0.1, 5.0
RENEW_SHARE = 3  # how many times a lease is renewed before it would end
DECISIONS_MAX = 1_000
FAILED_RETRY_MS = 1_000  # when a policy that failed is asked again, at the latest
ERROR_SIZE_MAX = 500
UNSENDABLE = (TypeError, ValueError, OverflowError)  # a decision has values that are no numbers, or too large
log = Log(__name__)


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision, and what the manager answered."""

    situation: Situation
    decision: DecisionRow
    answer: DecisionAnswer


@dataclass(slots=True)
class _Session:
    """What the reading thread hands over: situations, then why there are no more."""

    items: queue.Queue[tuple[Situation, Lease | None] | ShunterError | None] = field(default_factory=queue.Queue)
    lease: Lease | None = None


class ExternalScheduler:
    """`run` until `stop`, which may be called from anywhere.

    `address` is HOST:PORT of the manager's gRPC listener (`shunter up --external-grpc`); by default, that of the
    cluster on this machine. A cluster with several managers has several: a list, or text with commas. With
    `transport="rest"`, the address is the URL of the API, and the policy must have `wants = ("objects",)`: it sees
    objects and makes Schedulings only.

    The policy leads if the cluster's policy is `remote:NAME`. With `mode="shadow"`, its decisions are compared with
    those of the active policy and change nothing.
    """

    def __init__(
        self,
        policy: Decides,
        address: str | Sequence[str] | None = None,
        *,
        name: str | None = None,
        token: str | None = None,
        mode: str = LEAD,
        transport: str = GRPC,
        connect: Callable[[], Link] | None = None,
        on_decision: Callable[[Decided], None] | None = None,
    ) -> None:
        self.policy, self.mode = policy, mode
        self.name: str = name or str(getattr(policy, "name", type(policy).__name__.lower()))
        self.decisions: deque[Decided] = deque(maxlen=DECISIONS_MAX)
        self.agreed = self.differed = 0  # in shadow
        self._connect = connect or _Connector(transport, address, token)
        self._on_decision = on_decision
        self._is_stopping = threading.Event()
        self._link: Link | None = None
        self._last_refused: tuple[str, bool] = "", False
        self._last_failure = ""

    def run(self) -> None:
        """Decide until `stop`. Reconnects after the manager was away. Raises errors that a retry does not cure: a wrong
        token, an invalid name. If the policy fails, or the manager refuses its decision as a whole, that is logged and
        the policy is asked again."""
        delay_s, failures = RETRY_MIN_S, 0
        while not self._is_stopping.is_set():
            began_s = time.monotonic()
            try:
                self._link = self._connect()
                self._serve(self._link)
            except (Unavailable, Conflict) as error:
                if time.monotonic() - began_s > RETRY_MAX_S:
                    delay_s, failures = RETRY_MIN_S, 0
                failures += 1
                is_last = failures % getattr(self._connect, "addresses", 1) == 0  # all managers were asked
                if not self._is_stopping.is_set():
                    retry_s = delay_s if is_last else 0
                    log.warning("scheduler.waits", scheduler=self.name, reason=error.detail, retry_s=retry_s)
                if is_last:
                    self._is_stopping.wait(delay_s)
                    delay_s = min(delay_s * 2, RETRY_MAX_S)
            finally:
                if self._link is not None:
                    self._link.close()
                    self._link = None

    def stop(self) -> None:
        self._is_stopping.set()
        link = self._link
        if link is not None:
            link.stop_watching()

    def _serve(self, link: Link) -> None:
        """One session, from its first situation to its end."""
        from shunter.planning.remote.policy_host import PolicyHost

        session, policy_host = _Session(), PolicyHost(self.policy)
        wants = tuple(getattr(self.policy, "wants", WANTS_DEFAULT))
        reader = threading.Thread(target=self._read, args=(link, session, wants), daemon=True)
        reader.start()
        try:
            while not self._is_stopping.is_set():
                situations = self._next(link, session)
                if situations:
                    self._decide(link, session, policy_host, situations)
        finally:
            link.stop_watching()
            reader.join(RETRY_MAX_S)

    def _read(self, link: Link, session: _Session, wants: tuple[str, ...]) -> None:
        try:
            for item in link.watch(self.name, self.mode, wants):
                session.items.put(item)
            session.items.put(Conflict("the session ended"))
        except ShunterError as error:
            session.items.put(error)
        except Exception as error:  # the session must end, whatever it was: nobody reads any more
            session.items.put(NotReachable(f"the connection ended: {error!r}"))

    def _next(self, link: Link, session: _Session) -> list[Situation]:
        """All situations that have come; none if it was only time to renew the lease."""
        lease = session.lease
        found: list[Situation] = []
        try:
            item = session.items.get(timeout=None if lease is None else lease.lease_s / RENEW_SHARE)
        except queue.Empty:
            assert lease is not None
            link.renew(lease.token)
            return found
        while True:
            if isinstance(item, ShunterError):
                raise item
            assert item is not None
            situation, new_lease = item
            session.lease = new_lease or session.lease
            found.append(situation)
            try:
                item = session.items.get_nowait()
            except queue.Empty:
                return found

    def _decide(self, link: Link, session: _Session, policy_host: PolicyHost, situations: list[Situation]) -> None:
        """On the newest one, having looked at all; a shadow decides on those on which the active policy did."""
        assert session.lease is not None, "the first situation has it"
        for number, situation in enumerate(situations, start=1):
            is_skipped = number < len(situations) if self.mode == LEAD else situation.active is None
            if is_skipped:
                policy_host.observe(situation)
                continue
            row = self._ask_policy(policy_host, situation)
            try:
                answer = self._send(link, session.lease.token, row)
            except UNSENDABLE as error:
                row = self._failure(situation, error)
                answer = self._send(link, session.lease.token, row)
            if answer is not None:
                self._record(Decided(situation, row, answer))

    def _ask_policy(self, policy_host: PolicyHost, situation: Situation) -> DecisionRow:
        view = policy_host.observe(situation)
        try:
            return policy_host.decide_on(view, situation)
        except Exception as error:  # code of the user
            return self._failure(situation, error)

    def _failure(self, situation: Situation, error: Exception) -> DecisionRow:
        """A policy that fails decides nothing. The manager is told, shows it to users, and asks again."""
        reason = f"{type(error).__name__}: {error}"[:ERROR_SIZE_MAX]
        write = log.error if reason == self._last_failure else log.exception  # the traceback once
        write("scheduler.failed", scheduler=self.name, error=reason)
        self._last_failure = reason
        number = situation.delta.number
        return DecisionRow(situation.delta.version, number, error=reason, again_in_ms=FAILED_RETRY_MS)

    def _send(self, link: Link, token: str, row: DecisionRow) -> DecisionAnswer | None:
        """None if the manager refused the decision as a whole, for example because it exceeds the budget, and for the
        failure of a shadow. Raises UNSENDABLE."""
        if row.error and self.mode == SHADOW:
            return None
        try:
            return _retry_while_busy(partial(link.decide, token, row), self._is_stopping)
        except (Conflict, Forbidden, Unauthorized, NotFound):
            raise  # the session is refused, not the decision
        except Rejected as error:
            log.error("scheduler.refused", scheduler=self.name, reason=error.detail)
            return None

    def _record(self, decided: Decided) -> None:
        self.decisions.append(decided)
        self._log_refusals(decided.answer)
        if decided.answer.agrees is not None:
            self.agreed += decided.answer.agrees
            self.differed += not decided.answer.agrees
        if self._on_decision is not None:
            self._on_decision(decided)

    def _log_refusals(self, answer: DecisionAnswer) -> None:
        """Once for each reason, and when it is overruled; not with every decision."""
        refused = (answer.refusals[0].reason if answer.refusals else "", answer.is_overruled)
        is_newly_overruled = answer.is_overruled and not self._last_refused[1]
        if answer.refusals and refused != self._last_refused:
            log.warning(
                "scheduler.refused", scheduler=self.name, items=len(answer.refusals), reason=refused[0],
                is_overruled=answer.is_overruled,
            )  # fmt: skip
        elif is_newly_overruled:
            log.warning("scheduler.overruled", scheduler=self.name)
        self._last_refused = refused


def _retry_while_busy(ask: Callable[[], DecisionAnswer], is_stopping: threading.Event) -> DecisionAnswer:
    """Where the manager asks for patience, wait and ask again."""
    while True:
        try:
            return ask()
        except Busy as busy:
            if is_stopping.is_set():
                raise
            time.sleep(busy.retry_after_s)


class _Connector:
    """Connects to a manager, and each time to the next one over gRPC. Over REST, the link itself knows all of them."""

    def __init__(self, transport: str, address: str | Sequence[str] | None, token: str | None) -> None:
        self._transport, self._address, self._token = transport, address, token
        self._find: Finder | None = None
        self._calls = 0
        self.addresses = 1  # of which each call uses one

    def __call__(self) -> Link:
        if self._transport == REST:
            from shunter.sdk.endpoint import finder
            from shunter.sdk.schedulers.rest_link import RestLink

            self._find = self._find or finder(self._address, self._token)
            return RestLink(self._find)
        if self._transport != GRPC:
            raise Invalid([Problem("transport", "is unknown", self._transport, f"choose {GRPC} or {REST}")])
        from shunter.sdk.schedulers.grpc_link import GrpcLink, find_addresses, find_authorities

        found, token = find_addresses(self._address, self._token)
        self.addresses = len(found)
        self._calls += 1
        address = found[(self._calls - 1) % len(found)]
        return GrpcLink(address, token, find_authorities(self._address), has_others=len(found) > 1)

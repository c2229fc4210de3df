"""One worker's connection: its lifecycle as a table, and the dispatch of its messages. Created by the watcher for a
transport.

A known message in the wrong state is refused as invalid; an unknown one is logged and ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

from shunter.log import Log
from shunter.model.errors import ShunterError
from shunter.model.lifecycles import Machine, State
from shunter.model.protocol.refusals import RefusalCode, refusal_for, refuse
from shunter.model.protocol.report_slices import SLICE_MAX, count_entries, slice_report, split_inventory
from shunter.model.protocol.worker_messages import (
    Goodbye,
    Heartbeat,
    Hello,
    Inventory,
    LogData,
    Ping,
    Refused,
    Report,
    StatsData,
    Welcome,
    WorkerMessage,
)
from shunter.ports.workers import WorkerLink
from shunter.watcher.acknowledgements import Acknowledgements
from shunter.watcher.clock_skew import ClockSkew
from shunter.watcher.message_checks import message_problem

log = Log(__name__)


class SessionState(State):
    GREETING = 0
    JOINING = 1
    LIVE = 2
    ENDED = 3


class SessionEvent(State):
    WELCOMED = 0
    INVENTORIED = 1  # its inventory was taken
    ENDED = 2


_S, _E = SessionState, SessionEvent
SESSION: Machine[SessionState, SessionEvent] = Machine(
    name="session",
    initial=_S.GREETING,
    terminal_states=frozenset({_S.ENDED}),
    moves={
        (_S.GREETING, _E.WELCOMED): _S.JOINING,
        (_S.GREETING, _E.ENDED): _S.ENDED,
        (_S.JOINING, _E.INVENTORIED): _S.LIVE,
        (_S.JOINING, _E.ENDED): _S.ENDED,
        (_S.LIVE, _E.ENDED): _S.ENDED,
    },
)

ALLOWED_STATES: dict[type, frozenset[SessionState]] = {
    Hello: frozenset({_S.GREETING}),
    Inventory: frozenset({_S.JOINING}),
    Report: frozenset({_S.LIVE}),
    Heartbeat: frozenset({_S.JOINING, _S.LIVE}),  # a worker may count for a while
    LogData: frozenset({_S.JOINING, _S.LIVE}),
    StatsData: frozenset({_S.JOINING, _S.LIVE}),
    Ping: frozenset({_S.JOINING, _S.LIVE}),
    Goodbye: frozenset({_S.GREETING, _S.JOINING, _S.LIVE}),
}


class SessionService(Protocol):
    """The watcher as a session sees it: one method for each kind of message, and two for what all have in common."""

    async def handle_hello(self, session: WorkerSession, hello: Hello) -> Welcome | Refused: ...

    async def handle_inventory(self, session: WorkerSession, inventory: Inventory) -> None: ...

    async def handle_report(self, session: WorkerSession, report: Report) -> None: ...

    def handle_heartbeat(self, session: WorkerSession, heartbeat: Heartbeat) -> None: ...

    async def handle_ping(self, session: WorkerSession, ping: Ping) -> None: ...

    def handle_answer(self, session: WorkerSession, answer: LogData | StatsData) -> None: ...

    def handle_goodbye(self, session: WorkerSession, goodbye: Goodbye) -> None: ...

    def message_received(self, session: WorkerSession) -> None: ...

    def live(self, session: WorkerSession) -> None: ...

    def ended(self, session: WorkerSession, reason: str) -> None: ...


class WorkerSession:
    """`busy` while a message is being handled: nothing is read meanwhile, so silence is not the worker's."""

    def __init__(self, link: WorkerLink, service: SessionService, opened_at: float) -> None:
        self.link = link
        self._service = service
        self.opened_at = opened_at
        self.state = SESSION.initial
        self.busy = False
        self.name = ""
        self.boot = ""
        self.node = 0
        self.acknowledgements = Acknowledgements()
        self.clock_skew = ClockSkew()

    @property
    def reachable(self) -> bool:
        """Whether the worker can be sent messages besides the answer to its Hello."""
        return self.state in (_S.JOINING, _S.LIVE)

    @property
    def is_ended(self) -> bool:
        return self.state is _S.ENDED

    async def received(self, message: WorkerMessage) -> None:
        if self.is_ended:
            return
        allowed = ALLOWED_STATES.get(type(message))
        if allowed is None:
            log.warning("message.unknown", kind=type(message).__name__, node=self.node)
            return
        if self.state not in allowed:
            self.refuse(
                RefusalCode.INVALID,
                f"{type(message).__name__} is not allowed now: the connection is {self.state.wire_name}",
            )
            return
        problem = await self._check(message)
        if problem is not None:
            log.warning("message.invalid", node=self.node, problem=problem)
            self.refuse(RefusalCode.INVALID, problem)
            return
        if self.is_ended:  # while it was checked
            return
        self.busy = True
        self._service.message_received(self)
        try:
            await self._dispatch(message)
        except ShunterError as error:
            self.end(refusal_for(error))
        except Exception:
            log.exception("message.failed", kind=type(message).__name__, node=self.node)
            self.refuse(RefusalCode.FAILED, f"the manager failed on {type(message).__name__}")
        finally:
            self.busy = False

    async def _check(self, message: WorkerMessage) -> str | None:
        """A large report or inventory is checked part by part, because that takes about 2 µs for each entry."""
        parts: Iterable[WorkerMessage] = ()
        if isinstance(message, Report) and count_entries(message) > SLICE_MAX:
            parts = slice_report(message)
        elif isinstance(message, Inventory):
            parts, message = split_inventory(message)
        if not parts:
            return message_problem(message)
        self.busy = True
        try:
            for part in (*parts, message):
                if problem := message_problem(part):
                    return problem
                await asyncio.sleep(0)
        finally:
            self.busy = False
        return None

    def closed(self, reason: str) -> None:
        """The transport reports that the connection is closed."""
        if self.state is not _S.ENDED:
            self.state = SESSION.move(self.state, _E.ENDED)
            self._service.ended(self, reason)

    def refuse(self, code: RefusalCode, reason: str) -> None:
        self.end(refuse(code, reason))

    def end(self, refused: Refused) -> None:
        if self.state is not _S.ENDED:
            log.info("worker.refused", name=self.name, node=self.node, code=refused.code, reason=refused.reason)
            self.link.send(refused)
            self._close(f"{refused.code}: {refused.reason}")

    async def _dispatch(self, message: WorkerMessage) -> None:
        match message:
            case Hello():
                self._hello_answered(await self._service.handle_hello(self, message))
            case Inventory():
                await self._service.handle_inventory(self, message)
                self._inventory_accepted()
            case Report():
                await self._service.handle_report(self, message)
            case Heartbeat():
                self._service.handle_heartbeat(self, message)
            case LogData() | StatsData():
                self._service.handle_answer(self, message)
            case Ping():
                await self._service.handle_ping(self, message)
            case Goodbye():
                self._service.handle_goodbye(self, message)
                self._close(f"goodbye: {message.reason}")

    def _hello_answered(self, answer: Welcome | Refused) -> None:
        if isinstance(answer, Refused):
            self.end(answer)
        elif self.state is _S.GREETING:  # else it was closed while the engine thought about it
            self.state = SESSION.move(self.state, _E.WELCOMED)
            self.link.send(answer)

    def _inventory_accepted(self) -> None:
        if self.state is _S.JOINING:
            self.state = SESSION.move(self.state, _E.INVENTORIED)
            self._service.live(self)

    def _close(self, reason: str) -> None:
        self.state = SESSION.move(self.state, _E.ENDED)
        self.link.close(reason)
        self._service.ended(self, reason)

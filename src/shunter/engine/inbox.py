"""Commands wait in the inbox until a round applies them. Used only by `engine.engine`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from shunter.engine.audit.changed_names import changed_names
from shunter.engine.round import Round
from shunter.engine.state.state import State
from shunter.log import Log
from shunter.model.errors import Busy, Failed, FormatClosed, Rejected, ShunterError, Unavailable
from shunter.ports.security.audit import Act, Origin
from shunter.ports.store import RunKey

log = Log(__name__)
NeededRuns = Callable[[State], Iterable[RunKey]]


@dataclass(slots=True)
class Command:
    """A command for a round to decide. A request has a `reply`, a future that gets the answer; a report has the `node`
    whose worker sent it."""

    handler: Callable[[Round], Any]
    reply: asyncio.Future[Any] | None = None
    node: int = 0
    runs: NeededRuns | None = None  # of history, that the handler reads
    entries: int = 1  # that a report has
    origin: Origin | None = None  # of a request, for the audit log
    trace: str = ""  # of a request: the context that jobs which it submits carry

    def answer(self, answer: Any) -> None:
        if self.reply is None or self.reply.done():
            return
        if isinstance(answer, Exception):
            self.reply.set_exception(answer)
        else:
            self.reply.set_result(answer)


class HandlerFailed(Exception):
    """A handler raised after it had changed the state, so this round cannot continue. The other commands can be retried
    once the state is loaded again."""

    def __init__(self, command: Command, failure: ShunterError) -> None:
        super().__init__(failure.detail)
        self.command = command
        self.failure = failure


class Inbox:
    """Commands in the order in which they arrived."""

    def __init__(self) -> None:
        self._commands: deque[Command] = deque()

    def __len__(self) -> int:
        return len(self._commands)

    def put(self, command: Command) -> None:
        self._commands.append(command)

    def put_first(self, *commands: Command) -> None:
        """Before all others, in this order."""
        self._commands.extendleft(reversed(commands))

    def count_for_round(self, commands_max: int, entries_max: int) -> int:
        """How many commands a round takes: at least one, if there is any."""
        count = entries = 0
        for command in self._commands:
            entries += command.entries
            if count >= commands_max or (count and entries > entries_max):
                break
            count += 1
        return count

    def first(self, count: int) -> Iterable[Command]:
        return islice(self._commands, count)

    def take(self, count: int) -> list[Command]:
        return [self._commands.popleft() for _ in range(min(count, len(self._commands)))]

    def refuse_all(self, error: Unavailable) -> None:
        while self._commands:
            self._commands.popleft().answer(error)

    def refuse_those_that_need_history(self, error: Unavailable) -> None:
        commands, self._commands = self._commands, deque()
        for command in commands:
            if command.runs is None:
                self._commands.append(command)
            else:
                command.answer(error)

    def drop_reports(self) -> None:
        self._commands = deque(command for command in self._commands if command.reply is not None)


def apply_commands(round: Round, commands: list[Command]) -> list[tuple[Command, Any]]:
    """Apply the commands and return the answers. A refusal is also an answer and comes before anything is recorded. A
    handler that fails is refused too, and the round continues, as is a request that needs a newer format of the store.
    Raises HandlerFailed if the handler had already changed something."""
    answers: list[tuple[Command, Any]] = []
    for command in commands:
        recorded, round.is_act, round.trace = len(round.changes), False, command.trace
        try:
            answer = command.handler(round)
        except (Rejected, Busy) as refusal:
            assert len(round.changes) == recorded, "a refused command must not change anything"
            answer = refusal
        except FormatClosed as closed:
            assert command.reply is not None, f"a report needs what the format does not have: {closed}"
            answer = Unavailable(f"{closed}; nothing was changed, try again then")
            if len(round.changes) > recorded:
                raise HandlerFailed(command, answer) from closed
        except Exception as error:
            log.exception("command.failed", error=error)
            answer = Failed(f"the manager failed on this request ({error!r}); nothing was changed")
            if len(round.changes) > recorded:
                raise HandlerFailed(command, answer) from error
        if command.origin is not None and (round.is_act or len(round.changes) > recorded):
            round.acts.append(Act(command.origin, changed_names(round.state, round.changes, recorded)))
        if command.reply is not None or answer is not None:
            answers.append((command, answer))
    round.trace = ""
    return answers

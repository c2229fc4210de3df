"""Stops tasks with `stop_after` when this worker has had no contact with a manager for that long. Used by
`worker.worker`.

Keepers are told of each contact, so that they stop these tasks if this process is paused or dead. It costs nothing
while no such task is here. The last contact and the limits are in a file, so that a worker that was restarted without a
connection continues to count. Time is measured since the boot of the machine: changes of the date do not matter, and
time in suspension counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from shunter.log import Log
from shunter.model.protocol.contact import Contact, TaskKey
from shunter.model.protocol.worker_messages import ManagerMessage, Orders, Ping, Pong
from shunter.ports.clock import Clock
from shunter.worker.identity import machine_boot_id
from shunter.worker.keeper.contact import boot_time_s, describe
from shunter.worker.process.protocol import ContactLimit

log = Log(__name__)

DEFERRED_MAX = 10_000  # messages that wait for contact; beyond it the worker connects again, and gets them anew


class _Saved(msgspec.Struct):
    machine_boot: str
    at_s: float
    limits: list[tuple[int, int, float]]  # job, group, stop_after_s


class ContactWatch:
    """`send` sends a Ping if there is a connection, and `reconnect` ends it, if there is one. `held` has the tasks of
    this worker, by job and group; `stop` stops those of one group."""

    def __init__(
        self,
        home: Path,
        clock: Clock,
        send: Callable[[Ping], None],
        held: Callable[[], set[TaskKey]],
        stop: Callable[[TaskKey, str], None],
        reconnect: Callable[[], None],
    ) -> None:
        self._path = home / "contact.json"
        self._clock = clock
        self._send = send
        self._held = held
        self._stop = stop
        self._reconnect = reconnect
        self._contact = Contact()
        self._deferred: list[ManagerMessage] = []
        self._stopped: set[TaskKey] = set()  # since the last contact
        self._wake = asyncio.Event()

    def start(self) -> None:
        """Go on counting where an earlier process of this worker left off."""
        try:
            saved = msgspec.json.decode(self._path.read_bytes(), type=_Saved)
        except (OSError, msgspec.MsgspecError):
            return
        if saved.machine_boot and saved.machine_boot == machine_boot_id():
            self._contact.at_s = saved.at_s
            self._contact.stop_after_s |= {(job, group): limit_s for job, group, limit_s in saved.limits}
            self._wake.set()

    @property
    def at_s(self) -> float | None:
        """The last contact, by the clock of the machine since boot."""
        return self._contact.at_s

    def adopt(self, limits: Iterable[ContactLimit]) -> None:
        """A keeper of an earlier process of this worker has such tasks."""
        for limit in limits:
            self._contact.stop_after_s[limit.job, limit.group] = limit.stop_after_s
            self._wake.set()

    def defers(self, message: ManagerMessage) -> bool:
        """Whether the message must wait for contact: orders of such tasks that may have been under way for long, and
        whatever comes after them."""
        known = len(self._contact.stop_after_s)
        if not self._deferred and (not isinstance(message, Orders) or self._contact.accept(message, boot_time_s())):
            if len(self._contact.stop_after_s) > known:
                self._wake.set()
            return False
        if len(self._deferred) < DEFERRED_MAX:
            self._deferred.append(message)
            if len(self._deferred) == DEFERRED_MAX:
                log.warning("orders.too_many_deferred", messages=DEFERRED_MAX)
                self._reconnect()
        self._wake.set()
        return True

    def answered(self, pong: Pong) -> list[ManagerMessage]:
        """There is contact: returns the messages that waited for it."""
        if not self._contact.answered(pong):
            return []
        self._stopped.clear()
        self._save()
        deferred, self._deferred = self._deferred, []
        return deferred

    def disconnected(self) -> None:
        """Orders that waited are sent again after the next inventory, which does not have them."""
        self._contact.disconnected()
        self._deferred.clear()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._contact.stop_after_s or self._deferred:
                self._send(self._contact.ping(boot_time_s()))
                await self._clock.wait(self._wake, self._contact.ping_every_s)
                self._wake.clear()
                self._stop_overdue()
                self._contact.forget_all_but(self._held())
            self._path.unlink(missing_ok=True)

    def _stop_overdue(self) -> None:
        for key in self._contact.overdue(boot_time_s()):
            if key in self._stopped:
                continue
            self._stopped.add(key)
            limit_s = self._contact.stop_after_s[key]
            log.warning("tasks.without_contact", job=key[0], group=key[1], stop_after_s=limit_s)
            self._stop(key, describe(limit_s))

    def _save(self) -> None:
        assert self._contact.at_s is not None
        limits = [(job, group, limit_s) for (job, group), limit_s in self._contact.stop_after_s.items()]
        draft = self._path.with_suffix(".new")
        try:
            draft.write_bytes(msgspec.json.encode(_Saved(machine_boot_id(), self._contact.at_s, limits)))
            draft.replace(self._path)
        except OSError as error:  # it matters only if this process dies while there is no contact
            log.warning("contact.not_saved", error=error)

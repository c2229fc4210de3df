"""The worker process of one simulated node in a faulty world: it connects, says hello, sends its inventory, reports and
heartbeats, and starts over when the connection breaks. Faults crash, pause and replace it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from shunter.model.protocol.contact import Contact
from shunter.model.protocol.worker_messages import (
    LOST_RUNNING,
    Ack,
    Goodbye,
    Heartbeat,
    ManagerMessage,
    Orders,
    Pong,
    Recall,
    Refused,
    SetHeartbeat,
    Shutdown,
    Stop,
    Welcome,
)
from shunter.simulation.fleet.node import SimulatedNode
from shunter.simulation.runtime.network import Connection, Network
from shunter.simulation.runtime.process import Gate
from shunter.simulation.runtime.wrong_dates import by_date

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager

RECONNECT_MAX_S = 1.0
NEWS_EVERY_S = 0.5
OLD_NEWS_RATE = 0.2
HINTS_MAX = 2  # refusals in a row that name a leader and are followed without a pause
HELLO_TIMEOUT_S = 5.0


class SimulatedWorker:
    """`find_manager` returns the manager of that name, or another one to connect to; None means that there is none.

    It follows the rules of real workers: a refusal may name the leader, other managers tell who leads, and only a newer
    term that its leader confirms parts it from the present one."""

    def __init__(
        self, node: SimulatedNode, network: Network, find_manager: Callable[[str], SimulatedManager | None]
    ) -> None:
        self.node = node
        self.gate = Gate()
        self.date_ahead_ms = 0  # of the date of its machine
        self._network = network
        self._find_manager = find_manager
        self._named_leader = ""  # to try at once
        self._term = 0  # the newest under which a manager has welcomed it
        self._hints = 0
        self._old_news = ("", 0)
        self._connection: Connection | None = None
        self._is_registered = False
        self._is_off = False
        self._incarnation = 1
        self._heartbeat_s = HELLO_TIMEOUT_S
        self._contact = Contact()  # survives the process: real workers have it in a file
        self._deferred: list[ManagerMessage] = []  # orders that wait for contact, and what came after them
        self._watches_contact = False
        self._hello_answered = asyncio.Event()  # the hello of the present connection
        self._disconnected = asyncio.Event()  # the present connection
        network.spawn(self._run_connections())

    @property
    def name(self) -> str:
        return self.node.hello.name

    @property
    def is_off(self) -> bool:
        """The machine is switched off, for a while or for good."""
        return self._is_off

    # ---- what the manager says ----

    def received(self, connection: Connection, message: ManagerMessage) -> None:
        if connection is not self._connection or self._is_off:
            return
        now = self._network.clock.now()
        if isinstance(message, Welcome):
            self._on_welcome(connection, message)
        elif isinstance(message, Refused):
            self._named_leader = "" if message.leader == connection.manager.name else message.leader
            connection.reset(f"refused: {message.code}")
        elif isinstance(message, Pong):
            self._on_pong(message, now)
        elif self._deferred and isinstance(message, Orders | Stop | Recall):
            self._deferred.append(message)
        else:
            self._obey(message, now)

    def _obey(self, message: ManagerMessage, now: float) -> None:
        node = self.node
        if isinstance(message, Orders):
            if self._contact.accept(message, now):
                node.order(message, now)
            else:
                self._deferred.append(message)
            if (self._deferred or self._contact.stop_after_s) and not self._watches_contact:
                self._watches_contact = True
                self._network.spawn(self._watch_contact())
        elif isinstance(message, Stop):
            node.stop(message.epoch, message.ranges, now)
        elif isinstance(message, Recall):
            node.recall(message.epoch, message.reservations)
        elif isinstance(message, Ack):
            node.acknowledge(message.seq)
        elif isinstance(message, SetHeartbeat):
            self._heartbeat_s = message.heartbeat_s
        elif isinstance(message, Shutdown) and message.stop_tasks:
            node.shut_down(now)

    def _on_pong(self, pong: Pong, now: float) -> None:
        if self._contact.answered(pong):
            deferred, self._deferred = self._deferred, []
            for message in deferred:
                self._obey(message, now)

    async def _watch_contact(self) -> None:
        """As long as it has tasks that must stop without contact."""
        machine, clock = self.node.machine, self._network.clock
        while self._contact.stop_after_s or self._deferred:
            await self.gate.wait_open()
            if self._connection is not None and self._is_registered:
                self._connection.send_up(self._contact.ping(clock.now()))
            for key in self._contact.overdue(clock.now()):
                self.node.return_waiting(*key)
                for running_range in [each for each in machine.running if (each.job, each.group) == key]:
                    machine.mark_lost(running_range, "no contact with the manager", clock.now())
            await clock.sleep(self._contact.ping_every_s)
            held = {(each.job, each.group) for each in machine.running}
            held |= {(each.job, each.group) for each in machine.waiting()}
            self._contact.forget_all_but(held)
        self._watches_contact = False

    def disconnected(self, connection: Connection, _reason: str) -> None:
        if connection is self._connection:
            self._forget_connection()
            self._connection = None
            self._is_registered = False
            self._hello_answered.set()
            self._disconnected.set()

    def flush(self) -> None:
        """The node has something to report; without a connection it waits for the next inventory."""
        if self._connection is not None and self._is_registered and self.gate.is_running:
            self._connection.send_up(by_date(self.node.take_report(), self.date_ahead_ms))

    # ---- what befalls it ----

    def crash(self) -> None:
        """The worker's process dies; keepers and tasks go on, and a new process finds them."""
        self._restart("worker crashed")

    def resize(self, cpu_milli: int) -> None:
        """Like a crash, but the next process declares another capacity."""
        capacity = {**self.node.hello.capacity, "cpu": cpu_milli}
        self.node.hello = msgspec.structs.replace(self.node.hello, capacity=capacity)
        self._restart("worker resized")

    def lose_keeper(self, choice: int) -> None:
        """One keeper is killed; its task ends without an exit code."""
        running = list(self.node.machine.running)
        if running:
            lost, now = running[choice % len(running)], self._network.clock.now()
            self.node.machine.mark_lost(lost, "keeper gone", now, LOST_RUNNING)

    def switch_off(self) -> None:
        """The machine is gone with everything on it, without notice."""
        self._is_off = True
        self.node.machine.wipe()
        self._restart("machine gone")

    def switch_on(self) -> None:
        self._is_off = False

    def leave(self) -> None:
        """Orderly: the worker says goodbye; its machine is then switched off."""
        if self._connection is not None:
            self._connection.send_up(Goodbye("leaves"))
            self._connection.close("leaves")
        self._is_off = True
        self.node.machine.wipe()

    def pause(self) -> None:
        self.gate.pause()
        self.node.machine.freeze()

    def resume(self) -> None:
        self.gate.resume()
        if self.node.machine.frozen is not None:
            self.node.machine.thaw(self._network.clock.now())
        if self.node.is_dirty:
            self.flush()

    def _forget_connection(self) -> None:
        self._contact.disconnected()
        self._deferred.clear()

    def _restart(self, reason: str) -> None:
        self._forget_connection()
        self._incarnation += 1
        self._term = 0
        self.node.hello = msgspec.structs.replace(self.node.hello, boot=f"{self.name}-{self._incarnation}")
        self.node.epoch = 0
        self.node.machine.outbox.restart()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._is_registered = False
            connection.reset(reason)
            self._hello_answered.set()
            self._disconnected.set()

    # ---- connecting ----

    async def _run_connections(self) -> None:
        while True:
            named, self._named_leader = self._named_leader, ""
            self._hints = self._hints + 1 if named else 0
            if not named or self._hints > HINTS_MAX:
                self._hints = 0
                await self._network.clock.sleep(self._network.rng.uniform(0.01, RECONNECT_MAX_S))
            await self.gate.wait_open()
            manager = self._find_manager(named)
            if self._is_off or manager is None or not self._network.is_reachable(self.name):
                continue
            self._disconnected.clear()
            self._hello_answered.clear()
            self._connection = self._network.connect(self, manager)
            self._connection.send_up(self.node.hello)
            await self._stay_connected(self._connection)

    async def _stay_connected(self, connection: Connection) -> None:
        """Send heartbeats until the connection is gone; an unanswered hello ends it too."""
        if not await self._network.clock.wait(self._hello_answered, HELLO_TIMEOUT_S):
            connection.reset("no answer to hello")
        if connection.manager.coordination is not None:
            self._network.spawn(self._watch_leader(connection))
        while connection is self._connection and not await self._network.clock.wait(
            self._disconnected, self._heartbeat_s
        ):
            await self.gate.wait_open()
            self._send_heartbeat(connection)
        await self._disconnected.wait()

    async def _watch_leader(self, connection: Connection) -> None:
        """Another manager tells who leads; what it says may be old."""
        while connection is self._connection:
            await self._network.clock.sleep(NEWS_EVERY_S)
            await self.gate.wait_open()
            sender = self._find_manager("")
            if sender is None or not sender.gate.is_running or not self._network.is_reachable(self.name):
                continue
            name, term = news = sender.known_leader
            if self._network.rng.random() < OLD_NEWS_RATE:
                (name, term), self._old_news = self._old_news, news
            successor = self._find_manager(name) if name and term > self._term else None
            is_confirmed = successor is not None and successor.is_leading and successor.engine.term >= term
            if is_confirmed and connection is self._connection:
                self._named_leader = name
                self._network.trace.record("worker.follows", f"{self.name} {name} term {term}")
                connection.reset("another manager leads")

    def _on_welcome(self, connection: Connection, message: Welcome) -> None:
        if not self.node.accepts(message.epoch):
            connection.reset("an older epoch")
            return
        if message.term < self._term:
            connection.reset("an older term")
            return
        self._term = message.term
        self.node.id = message.node
        self._heartbeat_s = message.heartbeat_s
        self._is_registered = True
        self._hello_answered.set()
        self._send_heartbeat(connection)
        connection.send_up(by_date(self.node.take_inventory(), self.date_ahead_ms))

    def _send_heartbeat(self, connection: Connection) -> None:
        heartbeat = Heartbeat(self.node.machine_stats(self._network.clock.now()))
        connection.send_up(by_date(heartbeat, self.date_ahead_ms))

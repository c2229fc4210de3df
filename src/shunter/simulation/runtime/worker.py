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

if TYPE_CHECKING:
    from shunter.simulation.runtime.manager import SimulatedManager

RECONNECT_MAX_S = 1.0
HELLO_TIMEOUT_S = 5.0


class SimulatedWorker:
    """`leader` returns the manager to connect to at present; None means that there is none."""

    def __init__(self, node: SimulatedNode, network: Network, leader: Callable[[], SimulatedManager | None]) -> None:
        self.node = node
        self.gate = Gate()
        self._network = network
        self._leader = leader
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
            self._connection.send_up(self.node.take_report())

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
            await self._network.clock.sleep(self._network.rng.uniform(0.01, RECONNECT_MAX_S))
            await self.gate.wait_open()
            manager = self._leader()
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
        while connection is self._connection and not await self._network.clock.wait(
            self._disconnected, self._heartbeat_s
        ):
            await self.gate.wait_open()
            connection.send_up(Heartbeat(self.node.machine_stats(self._network.clock.now())))
        await self._disconnected.wait()

    def _on_welcome(self, connection: Connection, message: Welcome) -> None:
        if not self.node.accepts(message.epoch):
            connection.reset("an older epoch")
            return
        self.node.id = message.node
        self._heartbeat_s = message.heartbeat_s
        self._is_registered = True
        self._hello_answered.set()
        connection.send_up(self.node.take_inventory())

"""Which manager leads, and which managers there are. Implemented by adapters: alone (one manager), etcd, simulated.

The election only saves work: the store's fence decides what is written. A lease says who may answer reads."""

from __future__ import annotations

import asyncio
from typing import Protocol

import msgspec

from shunter.model.rest.manager_views import ROLES


class ManagerRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """What a manager tells the others about itself. It vanishes some seconds after the manager."""

    name: str
    url: str = ""  # of its REST API
    workers: str = ""  # the address that workers, or watchers, connect to; empty if it takes none
    version: str = ""  # of Shunter
    format: int = 0  # the newest format of changes that it can apply
    schedulers: str = ""  # the address that external schedulers connect to by gRPC; empty if it takes none
    roles: tuple[str, ...] = ROLES


class Lease(Protocol):
    """The right to lead for some time. The adapter renews it without the event loop, and it ends by itself."""

    @property
    def term(self) -> int:
        """Greater than that of every lease before it."""
        ...

    def is_held(self) -> bool:
        """Whether no other manager can have a lease now. It compares a monotonic clock with a deadline that is earlier
        than the server's, so it needs no message and is right after a pause."""
        ...

    async def wait_lost(self) -> None:
        """Return when it is not held any more, whatever the cause."""
        ...


class Coordination(Protocol):
    async def open(self) -> None:
        """Raises Unauthorized if the servers refuse this manager. If they cannot be reached it returns all the same,
        and the other methods go on trying."""
        ...

    async def close(self) -> None:
        """Resign and unregister, so that others need not wait for a time-out."""
        ...

    async def register(self, record: ManagerRecord) -> None:
        """Announce this manager, or change what was announced. Repeated by itself after a fault."""
        ...

    async def acquire(self, above: int = 0) -> Lease:
        """Wait until this manager is elected, with a term greater than `above`: the newest that the store knows. (The
        servers may have lost their data, and count from 1 again.) Retries by itself while the servers cannot be
        reached. After a resignation it lets the others go first for a moment."""
        ...

    async def resign(self, lease: Lease) -> None:
        """Give the lease back at once, if it is still held. It is not held when this returns."""
        ...

    def managers(self) -> list[ManagerRecord]:
        """The managers that are registered, this one included, by name. As last heard: it may be old."""
        ...

    def leader(self) -> ManagerRecord | None:
        """Who leads, as last heard. None while nobody does, or nothing was heard for the time of a lease."""
        ...

    def leader_term(self) -> int:
        """The term of the lease of `leader`; 0 while nobody leads."""
        ...

    async def wait_changed(self) -> None:
        """Return when `managers` or `leader` may give another answer than at the last return."""
        ...


class AlwaysHeld:
    """The lease of a manager that is alone."""

    term = 0

    def is_held(self) -> bool:
        return True

    async def wait_lost(self) -> None:
        await asyncio.get_running_loop().create_future()

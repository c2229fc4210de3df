"""Machines in network namespaces of their own, behind a bridge that only they and this machine use. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

FIRST_MACHINE = 10  # the last number of its address
NOBODY = "02:00:00:00:00:01"  # no card has it


class Network:
    """A bridge with the manager's address. Names and addresses follow from our process id, so that two campaigns can
    run at once. Everything is removed at the end."""

    def __init__(self) -> None:
        self._suffix = str(os.getpid())
        self._subnet = f"10.213.{os.getpid() % 250}"
        self.manager_address = f"{self._subnet}.1"
        self._bridge = f"shb{self._suffix}"
        self._namespaces: list[str] = []
        self._cables: list[str] = []
        self._servers = 0

    def open(self) -> None:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("address", "add", f"{self.manager_address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")

    def add_server_address(self) -> str:
        """One more address of this machine, so that machines can be cut off from one server and not from another."""
        self._servers += 1
        assert self._servers < FIRST_MACHINE - 1
        address = f"{self._subnet}.{self._servers + 1}"
        _ip("address", "add", f"{address}/24", "dev", self._bridge)
        return address

    def add_machine(self) -> Machine:
        number = len(self._namespaces)
        name = f"shunter-{self._suffix}-{number}"
        _ip("netns", "add", name)
        self._namespaces.append(name)
        outside, inside = f"sho{self._suffix}-{number}", f"shi{self._suffix}-{number}"
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside)
        self._cables.append(outside)
        _ip("link", "set", inside, "netns", name)
        _ip("link", "set", outside, "master", self._bridge, "up")
        address = f"{self._subnet}.{number + FIRST_MACHINE}"
        _ip("-netns", name, "address", "add", f"{address}/24", "dev", inside)
        _ip("-netns", name, "link", "set", inside, "up")
        _ip("-netns", name, "link", "set", "lo", "up")
        return Machine(name, outside, inside, address)

    def close(self) -> None:
        # A deleted namespace lives on, with its end of the cable, until its last process has gone.
        for cable in self._cables:
            _ip("link", "delete", cable)
        for name in self._namespaces:
            _ip("netns", "delete", name)
        _ip("link", "delete", self._bridge)


class Machine:
    def __init__(self, namespace: str, cable: str, inside: str, address: str) -> None:
        self._namespace, self._cable, self._inside = namespace, cable, inside
        self.address = address
        self.prefix = ("ip", "netns", "exec", namespace)  # runs a command on this machine

    def cut(self) -> None:
        """Packets vanish, and neither side is told."""
        _ip("link", "set", self._cable, "down")

    def heal(self) -> None:
        _ip("link", "set", self._cable, "up")

    def cut_from(self, address: str) -> None:
        """What it sends there vanishes, answers included. Everybody else is reached."""
        words = ("neighbour", "replace", address, "lladdr", NOBODY, "dev", self._inside, "nud", "permanent")
        _ip("-netns", self._namespace, *words)

    def heal_from(self, address: str) -> None:
        _ip("-netns", self._namespace, "neighbour", "delete", address, "dev", self._inside)


@contextmanager
def network() -> Iterator[Network]:
    opened = Network()
    opened.open()
    try:
        yield opened
    finally:
        opened.close()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)

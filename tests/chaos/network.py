"""Machines in network namespaces of their own, behind a bridge that only they and the manager use. Needs root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


class Network:
    """A bridge with the manager's address. Names and addresses follow from our process id, so that two campaigns can
    run at once. Everything is removed at the end."""

    def __init__(self) -> None:
        self._suffix = str(os.getpid())
        self._subnet = f"10.213.{os.getpid() % 250}"
        self.manager_address = f"{self._subnet}.1"
        self._bridge = f"shb{self._suffix}"
        self._namespaces: list[str] = []

    def open(self) -> None:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("address", "add", f"{self.manager_address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")

    def add_machine(self) -> Machine:
        number = len(self._namespaces)
        name = f"shunter-{self._suffix}-{number}"
        _ip("netns", "add", name)
        self._namespaces.append(name)
        outside, inside = f"sho{self._suffix}{number}", f"shi{self._suffix}{number}"
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside)
        _ip("link", "set", inside, "netns", name)
        _ip("link", "set", outside, "master", self._bridge, "up")
        _ip("-netns", name, "address", "add", f"{self._subnet}.{number + 10}/24", "dev", inside)
        _ip("-netns", name, "link", "set", inside, "up")
        _ip("-netns", name, "link", "set", "lo", "up")
        return Machine(name, outside)

    def close(self) -> None:
        for name in self._namespaces:
            _ip("netns", "delete", name)  # its end of the cable goes with it, and so does the other
        _ip("link", "delete", self._bridge)


class Machine:
    def __init__(self, namespace: str, cable: str) -> None:
        self._cable = cable
        self.prefix = ("ip", "netns", "exec", namespace)  # runs a command on this machine

    def cut(self) -> None:
        """Packets vanish, and neither side is told."""
        _ip("link", "set", self._cable, "down")

    def heal(self) -> None:
        _ip("link", "set", self._cable, "up")


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

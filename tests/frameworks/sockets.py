"""The addresses at which the processes of a cluster listen, read from the kernel."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.e2e.cluster import Process

LISTEN = "0A"  # the state of a socket in /proc/net/tcp


def listening_sockets(processes: Iterable[Process]) -> set[tuple[str, str]]:
    """(program, address) of every listening socket; addresses as the kernel writes them."""
    by_inode = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTEN:
                by_inode[f"socket:[{fields[9]}]"] = fields[1].rpartition(":")[0]
    found = set()
    for process in processes:
        for link in _links(process.pid):
            if link in by_inode:
                found.add((process.command.split(" ")[0], by_inode[link]))
    return found


def is_loopback(address: str) -> bool:
    """127.0.0.0/8, ::1, and the former as the latter's kind of address."""
    return address == "0" * 24 + "01000000" or (len(address) in (8, 32) and address[-8:].endswith("7F"))


def _links(pid: int) -> list[str]:
    try:
        return [str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return []  # it has ended

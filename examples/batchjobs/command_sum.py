"""Compute the sum of 1 to N with executors that know only their index and each other's hosts.

Each adds up its part. The first one listens, collects the parts of the others, and prints the total.
"""

import os
import socket
import sys
import time

INDEX = int(os.environ["SHUNTER_EXECUTOR_INDEX"])
COUNT = int(os.environ["SHUNTER_EXECUTOR_COUNT"])
HOSTS = os.environ["SHUNTER_EXECUTOR_HOSTS"].split(",")
PORT = int(os.environ["SUM_PORT"])
WAIT_MAX_S = 60.0


def main(last: int) -> None:
    part = sum(range(1 + INDEX, last + 1, COUNT))
    if INDEX == 0:
        print(f"sum {part + gather()}")
    else:
        send(part)
    print(f"executor {INDEX} of {COUNT} in slot {os.environ['SHUNTER_SLOT_ID']} had {part}")


def gather() -> int:
    total = 0
    with socket.create_server((HOSTS[0], PORT)) as server:
        server.settimeout(WAIT_MAX_S)
        for _ in range(COUNT - 1):
            peer, _ = server.accept()
            with peer, peer.makefile() as file:
                total += int(file.readline())
    return total


def send(part: int) -> None:
    deadline_s = time.monotonic() + WAIT_MAX_S
    while True:
        try:
            with socket.create_connection((HOSTS[0], PORT), timeout=5) as first:
                first.sendall(f"{part}\n".encode())
                return
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.1)  # the first executor does not listen yet


if __name__ == "__main__":
    main(int(sys.argv[1]))

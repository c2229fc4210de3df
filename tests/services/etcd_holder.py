"""A manager of its own process that leads, for tests that stop or kill it: `etcd_holder.py ADDRESS PREFIX TTL`.

It prints `held TERM`, and after each pause of its process `woke SECONDS` with what the lease says first."""

from __future__ import annotations

import asyncio
import sys
import time

from shunter.adapters.etcd.coordination import EtcdCoordination
from shunter.adapters.etcd.settings import EtcdSettings
from shunter.ports.coordination import ManagerRecord

PAUSE_MIN_S = 0.3


async def main(address: str, prefix: str, ttl: str) -> None:
    coordination = EtcdCoordination(EtcdSettings((address,), prefix=prefix, ttl_s=int(ttl)), "holder")
    await coordination.open()
    await coordination.register(ManagerRecord("holder"))
    lease = await coordination.acquire()
    last = time.monotonic()
    print("held", lease.term, flush=True)  # whoever reads this may stop us at once
    while True:  # the main loop is busy: only the thread renews
        now, is_held = time.monotonic(), lease.is_held()
        if now - last > PAUSE_MIN_S:
            print("woke", now - last, is_held, flush=True)
        last = now
        time.sleep(0.002)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

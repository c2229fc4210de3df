"""The process of a worker that joins a manager over gRPC: `shunter worker`. Its tasks and keepers outlive it."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import signal
from typing import TYPE_CHECKING

import msgspec

from shunter.app.home import Home
from shunter.app.options import WorkerOptions
from shunter.log import Log
from shunter.model.errors import ShunterError

if TYPE_CHECKING:
    from shunter.adapters.grpc.client import WorkerClient
    from shunter.worker.worker import Worker

log = Log(__name__)


def run_worker(options_json: bytes) -> int:
    """Until SIGTERM or SIGINT; returns the exit code."""
    import uvloop

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    options = msgspec.json.decode(options_json, type=WorkerOptions)
    home = Home.find()
    os.environ["SHUNTER_HOME"] = str(home.folder)
    held = home.lock()
    if held is None:
        log.error("home.taken", home=home.folder, fix="give every worker a SHUNTER_HOME of its own")
        return 2
    try:
        uvloop.run(_serve(home, options))
    except ShunterError as error:
        log.error("worker.failed", error=error)
        return 2 if error.status < 500 else 1
    finally:
        os.close(held)
    return 0


async def _serve(home: Home, options: WorkerOptions) -> None:
    from shunter.adapters.grpc.client import WorkerClient
    from shunter.adapters.system.clock import SystemClock
    from shunter.worker.settings import WorkerSettings
    from shunter.worker.worker import Worker

    name = options.name or platform.node() or "worker"
    settings = WorkerSettings(
        home.worker, name, options.capacity(), labels=options.labels, datacenter=options.datacenter
    )
    worker = Worker(settings, SystemClock())
    await worker.start()
    client = WorkerClient(worker, options.manager, options.token)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, client.stop)
    log.info("worker.started", name=name, manager=options.manager)
    leaving = loop.create_task(_leave_with_cluster(worker, client))
    await client.run()
    leaving.cancel()
    await worker.stop(end_keepers=worker.finished.is_set())
    log.info("worker.stopped", name=name)


async def _leave_with_cluster(worker: Worker, client: WorkerClient) -> None:
    """When the manager stops the whole cluster, its workers end too."""
    await worker.finished.wait()
    client.stop()

"""The process of a worker that joins a manager over gRPC: `shunter worker`. Its tasks and keepers outlive it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from shunter.adapters.system.descriptors import raise_descriptor_limit
from shunter.app.config import Config, read_config
from shunter.app.home import Home
from shunter.app.options import WorkerOptions, parse_address
from shunter.log import Log
from shunter.model.errors import ShunterError

if TYPE_CHECKING:
    from shunter.adapters.grpc.worker_client import WorkerClient
    from shunter.worker.worker import Worker

log = Log(__name__)


def run_worker(options_json: bytes) -> int:
    """Until SIGTERM or SIGINT; returns the exit code. Raises Invalid if config.toml is refused."""
    import uvloop

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    options = msgspec.json.decode(options_json, type=WorkerOptions)
    home = Home.find()
    os.environ["SHUNTER_HOME"] = str(home.folder)
    config = read_config(home.config).with_task_descriptors(raise_descriptor_limit())
    lock_fd = home.lock()
    if lock_fd is None:
        log.error("home.taken", home=home.folder, fix="give every worker its own SHUNTER_HOME")
        return 2
    try:
        uvloop.run(_serve(home, options, config))
    except ShunterError as error:
        log.error("worker.failed", error=error)
        return 2 if error.status < 500 else 1
    finally:
        os.close(lock_fd)
    return 0


async def _serve(home: Home, options: WorkerOptions, config: Config) -> None:
    from shunter.adapters.grpc.worker_client import WorkerClient
    from shunter.adapters.system.clock import SystemClock
    from shunter.worker.worker import Worker

    settings = config.worker_settings(home.worker, options.machine)
    settings = replace(settings, address=settings.address or local_address(options.manager))
    worker = Worker(settings, SystemClock())
    await worker.start()
    client = WorkerClient(worker, options.manager, options.token)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, client.stop)
    log.info("worker.started", name=settings.name, manager=options.manager)
    stop_task = loop.create_task(_stop_with_cluster(worker, client))
    await client.run()
    stop_task.cancel()
    await worker.stop(end_keepers=worker.finished.is_set())
    log.info("worker.stopped", name=settings.name)


def local_address(manager: str) -> str:
    """The address by which this machine reaches the manager; other nodes reach it there. Empty if there is no route
    now: then only its own processes can use its address."""
    host, port = parse_address(manager, "--manager")
    try:
        family, kind, protocol, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.connect(target)  # sends nothing
            found: str = probe.getsockname()[0]
    except OSError:
        return ""
    return found


async def _stop_with_cluster(worker: Worker, client: WorkerClient) -> None:
    """When the manager stops the whole cluster, its workers end too."""
    await worker.finished.wait()
    client.stop()

"""The process of a worker that joins a manager over gRPC: `shunter worker`. Its tasks and keepers outlive it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from shunter.adapters.system.descriptors import raise_descriptor_limit
from shunter.app.config import Config, read_config
from shunter.app.diagnosis.log_setup import set_up_logging
from shunter.app.diagnosis.tracing import build_tracer
from shunter.app.home import PRIVATE_UMASK, Home, sign_in_folders
from shunter.app.options import WorkerOptions, parse_address, parse_addresses
from shunter.app.tls.worker_tls import WorkerTls, find_worker_tls
from shunter.log import Log
from shunter.model.errors import Invalid, Problem, Rejected, ShunterError, Unauthorized, Unavailable
from shunter.worker.keeper.task_user import StartError, UnknownUser, find_identity
from shunter.worker.settings import WorkerSettings

if TYPE_CHECKING:
    from shunter.adapters.grpc.worker_client import WorkerClient
    from shunter.app.tls.renewal import CertificateRenewal
    from shunter.worker.worker import Worker

CREATE_ANOTHER = "`shunter join-token create NODE`"

log = Log(__name__)


def run_worker(options_json: bytes) -> int:
    """Until SIGTERM or SIGINT; returns the exit code. Raises Invalid if an option or config.toml is refused."""
    import uvloop

    options = msgspec.json.decode(options_json, type=WorkerOptions)
    set_up_logging().hide(options.token)
    task_umask = os.umask(PRIVATE_UMASK)
    home = Home.find()
    os.environ["SHUNTER_HOME"] = str(home.folder)
    config = read_config(home.config).with_task_descriptors(raise_descriptor_limit())
    _check_task_user(config.worker_settings(home.worker, options.machine).task_user)  # before a join token is used up
    if options.join_token_file is not None:
        _enrol(options, home, options.join_token_file, options.machine.name or config.worker.get("name"))
    tls = find_worker_tls(home.tls)
    if tls is not None and tls.node and options.machine.name is None and "name" not in config.worker:
        options.machine.name = tls.node
    settings = _worker_settings(home, options, config, task_umask)
    lock_fd = home.lock()
    if lock_fd is None:
        log.error("home.locked", home=home.folder, fix="give every worker its own SHUNTER_HOME")
        return 2
    try:
        uvloop.run(_serve(options, settings, tls))
    except Rejected:
        raise
    except ShunterError as error:
        log.error("worker.failed", error=error)
        return 1
    finally:
        os.close(lock_fd)
    return 0


def _enrol(options: WorkerOptions, home: Home, file: str, name: str | None) -> None:
    """`name` is that of the node, where the worker was told one. Raises Rejected."""
    from shunter.app.tls.enrolment import check_node_name, enrol_if_needed, read_join_token

    token = read_join_token(file)
    check_node_name(token, name)
    options.manager = options.manager or ",".join(token.managers)
    try:
        enrol_if_needed(token, home.tls)
    except Unauthorized as error:
        fault = "it is wrong, was used or revoked, or has expired"
        raise Rejected(f"the join token in {file} is refused: {fault}; make another: {CREATE_ANOTHER}") from error
    except Unavailable as error:
        raise Rejected(f"this worker could not enrol: {error.detail}") from error


async def _serve(options: WorkerOptions, settings: WorkerSettings, tls: WorkerTls | None) -> None:
    from shunter.adapters.grpc.worker_client import WorkerClient
    from shunter.adapters.system.clock import SystemClock
    from shunter.worker.worker import Worker

    tracer = build_tracer(options.otlp_endpoint or settings.otlp_endpoint, "shunter-worker", settings.name)
    worker = Worker(settings, SystemClock(), tracer)
    await worker.start()
    addresses = parse_addresses(options.manager, "--manager")
    client = WorkerClient(
        worker, addresses, options.token, tls=None if tls is None else tls.read, renewal=_renewal(tls)
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, client.stop)
    log.info("worker.started", name=settings.name, manager=options.manager)
    stop_task = loop.create_task(_stop_with_cluster(worker, client))
    try:
        await client.run()
    except Unauthorized as error:
        if tls is not None and not options.token:
            raise Rejected(f"the manager refused this worker: {error.detail}") from error
        source = "SHUNTER_WORKER_TOKEN" if options.token_file is None else options.token_file
        fix = "copy `worker-token` from the manager's SHUNTER_HOME"
        raise Rejected(f"the manager refused the token in {source}; {fix}") from error
    finally:
        stop_task.cancel()
        await worker.stop(end_keepers=worker.finished.is_set())
        if tracer is not None:
            await asyncio.to_thread(tracer.close)
    log.info("worker.stopped", name=settings.name)


def _renewal(tls: WorkerTls | None) -> CertificateRenewal | None:
    if tls is None or tls.certificate is None:
        return None
    from shunter.app.tls.renewal import CertificateRenewal

    return CertificateRenewal(tls.certificate.parent)


def _worker_settings(home: Home, options: WorkerOptions, config: Config, task_umask: int) -> WorkerSettings:
    settings = config.worker_settings(home.worker, options.machine)
    given = (options.token_file, options.join_token_file)
    token_files = tuple(Path(file).resolve() for file in given if file is not None)
    return replace(
        settings,
        address=settings.address or local_address(options.manager),
        cluster_homes=(home.folder, *(file.parent for file in token_files if Home(file.parent).is_of_manager)),
        secret_files=token_files,
        secret_folders=sign_in_folders(),
        task_umask=task_umask,
    )


def _check_task_user(user: str) -> None:
    if not user and os.geteuid() == 0:
        fix = "name the user that runs the tasks: --task-user NAME; root lets every job do everything on this machine"
        raise Invalid([Problem("--task-user", "is missing, and the worker runs as root", fix=fix)])
    try:
        if user:
            find_identity(user)
    except StartError as error:
        fix = "name a user of this machine; only a worker that runs as root can run tasks as another user"
        fault = "no such user on this machine" if isinstance(error, UnknownUser) else str(error)
        raise Invalid([Problem("--task-user", fault, user, fix)]) from None


def local_address(managers: str) -> str:
    """The address by which this machine reaches a manager; other nodes reach it there. Empty if there is no route
    now: then only its own processes can use its address."""
    for manager in parse_addresses(managers, "--manager"):
        host, port = parse_address(manager, "--manager")
        try:
            family, kind, protocol, _, target = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(target)  # sends nothing
                found: str = probe.getsockname()[0]
        except OSError:
            continue
        return found
    return ""


async def _stop_with_cluster(worker: Worker, client: WorkerClient) -> None:
    """When the manager stops the whole cluster, its workers end too."""
    await worker.finished.wait()
    client.stop()

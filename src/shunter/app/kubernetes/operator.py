"""Runs the Kubernetes operator, and installs what it needs. Called by `shunter operator`."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from shunter.app.diagnosis.log_setup import set_up_logging
from shunter.app.options import parse_address
from shunter.kube.applications.adapter import ApplicationAdapter
from shunter.kube.applications.applications import ADAPTERS
from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import Connection, find_connection
from shunter.kube.client.lease import Lease
from shunter.kube.cluster_view import ClusterView
from shunter.kube.extender.server import ExtenderListener, ExtenderServer
from shunter.kube.install.apply import install
from shunter.kube.install.crds import NAMESPACE, manifests
from shunter.kube.operator import Operator
from shunter.kube.pod_templates import Placement
from shunter.kube.reconcilers import Images, Reconcilers
from shunter.kube.writer import Writer
from shunter.log import Log
from shunter.model.errors import Invalid, Problem

LEASE = "shunter-operator"

log = Log(__name__)


def manifests_yaml() -> str:
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  every document shall be readable by itself
            return True

    return yaml.dump_all(manifests(), Dumper=Dumper, sort_keys=False, width=120, explicit_start=True)


def install_operator(kubeconfig: str | None, context: str | None, report: Callable[[str], None]) -> None:
    """Raises ShunterError."""
    _run(kubeconfig, context, lambda api: install(api, manifests(), report))


def _run(kubeconfig: str | None, context: str | None, action: Callable[[KubeApi], Awaitable[None]]) -> None:
    connection = find_connection(kubeconfig, context)

    async def run() -> None:
        api = KubeApi(connection)
        try:
            await action(api)
        finally:
            await api.close()

    asyncio.run(run())


@dataclass(frozen=True, slots=True)
class ExtenderOptions:
    """Where the extender listens. Without a certificate it speaks HTTP; with `client_ca` it answers only those whose
    certificate is by that authority."""

    listen: str
    cert: str | None = None
    key: str | None = None
    client_ca: str | None = None


def run_operator(
    kubeconfig: str | None,
    context: str | None,
    image: str,
    ghost_image: str,
    lease_s: float,
    extender: ExtenderOptions | None = None,
    applications: Sequence[str] = (),
) -> int:
    """Until SIGTERM or SIGINT; returns the exit code. Raises Invalid for a kubeconfig or files that cannot be used."""
    set_up_logging()
    connection = find_connection(kubeconfig, context)
    placement = Placement.DIRECT if extender is None else Placement.EXTENDER
    listener = None if extender is None else _listener(extender)
    adapters = _adapters(applications)
    asyncio.run(_serve(connection, Images(image, ghost_image, placement), lease_s, listener, adapters))
    return 0


def _adapters(kinds: Sequence[str]) -> list[ApplicationAdapter]:
    """One for each engine at most. Raises Invalid."""
    unknown = next((kind for kind in kinds if kind not in ADAPTERS), None)
    if unknown is not None:
        raise Invalid([Problem("--application", f"must be one of {', '.join(ADAPTERS)}", unknown)])
    adapters = [ADAPTERS[kind]() for kind in dict.fromkeys(kinds)]
    if len({adapter.engine for adapter in adapters}) < len(adapters):
        fix = "choose the one whose operator is installed"
        raise Invalid([Problem("--application", "names two kinds for flinkSpec", ", ".join(kinds), fix)])
    return adapters


def _listener(options: ExtenderOptions) -> ExtenderListener:
    host, port = parse_address(options.listen, "--extender-listen")
    if options.cert is None or options.key is None:
        given = next((each for each in (options.cert, options.key, options.client_ca) if each is not None), None)
        if given is not None:
            fix = "give --extender-cert and --extender-key too"
            raise Invalid([Problem("--extender-cert", "and its key are needed for HTTPS", given, fix)])
        return ExtenderListener(host, port)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        tls.load_cert_chain(options.cert, options.key)
        if options.client_ca is not None:
            tls.load_verify_locations(options.client_ca)
            tls.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        fix = "name PEM files of a certificate, its key and the authority of clients"
        raise Invalid([Problem("--extender-cert", f"cannot be used: {error}", options.cert, fix)]) from None
    return ExtenderListener(host, port, tls)


async def _serve(
    connection: Connection,
    images: Images,
    lease_s: float,
    listener: ExtenderListener | None,
    adapters: Sequence[ApplicationAdapter],
) -> None:
    api, lease_api = KubeApi(connection), KubeApi(connection)
    lease = Lease(lease_api, NAMESPACE, LEASE, f"{socket.gethostname()}-{uuid4().hex[:8]}", lease_s)
    view = ClusterView(api, adapters)
    operator = Operator(view, Reconcilers(view, Writer(api, view, lease), images), lease)
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    log.info("operator.started", api=connection.url)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(operator.run())
            if listener is not None:
                group.create_task(ExtenderServer(listener, view, lambda: lease.is_held).run())
    except asyncio.CancelledError:
        log.info("operator.stopped")
    finally:
        await api.close()
        await lease_api.close()

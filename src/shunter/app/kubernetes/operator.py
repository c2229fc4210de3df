"""Runs the Kubernetes operator, and installs what it needs. Called by `shunter operator`."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

from shunter.app.diagnosis.log_setup import set_up_logging
from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import Connection, find_connection
from shunter.kube.client.lease import Lease
from shunter.kube.cluster_view import ClusterView
from shunter.kube.install.apply import install
from shunter.kube.install.crds import NAMESPACE, manifests
from shunter.kube.operator import Operator
from shunter.kube.reconcilers import Images, Reconcilers
from shunter.kube.writer import Writer
from shunter.log import Log

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


def run_operator(kubeconfig: str | None, context: str | None, image: str, ghost_image: str, lease_s: float) -> int:
    """Until SIGTERM or SIGINT; returns the exit code. Raises Invalid for a kubeconfig that cannot be used."""
    set_up_logging()
    connection = find_connection(kubeconfig, context)
    asyncio.run(_serve(connection, Images(image, ghost_image), lease_s))
    return 0


async def _serve(connection: Connection, images: Images, lease_s: float) -> None:
    api, lease_api = KubeApi(connection), KubeApi(connection)
    lease = Lease(lease_api, NAMESPACE, LEASE, f"{socket.gethostname()}-{uuid4().hex[:8]}", lease_s)
    view = ClusterView(api)
    operator = Operator(view, Reconcilers(view, Writer(api, view, lease), images), lease)
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    log.info("operator.started", api=connection.url)
    try:
        await operator.run()
    except asyncio.CancelledError:
        log.info("operator.stopped")
    finally:
        await api.close()
        await lease_api.close()

"""Jobs that run as pods: `shunter manager --kubernetes`."""

from __future__ import annotations

import re
import uuid
from functools import partial
from pathlib import Path
from typing import Any

from shunter.app.worker_backends import LocalBackend
from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import find_connection
from shunter.kube.jobs.node_workers import NodeWorkers
from shunter.kube.jobs.task_pods import PodSettings
from shunter.log import Log
from shunter.model.errors import Invalid, Problem
from shunter.watcher.in_process import connect_in_process

NAMESPACE = re.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")

log = Log(__name__)


def check_jobs(is_given: bool, image: str | None, namespace: str | None, coordination: str | None) -> None:
    """Raises Invalid."""
    if not is_given:
        option, value = ("--image", image) if image is not None else ("--pod-namespace", namespace)
        raise Invalid([Problem(option, "needs --kubernetes", value, "add it, or remove this option")])
    if not image:
        raise Invalid([Problem("--image", "is missing", None, "name the image in which commands run, like busybox")])
    if namespace is not None and not NAMESPACE.fullmatch(namespace):
        raise Invalid([Problem("--pod-namespace", "is not a name of Kubernetes", namespace, "write it like default")])
    if coordination is not None:
        fix = "run one manager, or remove --kubernetes"
        raise Invalid([Problem("--kubernetes", "is for a manager that is alone", coordination, fix)])


class KubeBackend(LocalBackend):
    """The nodes of a Kubernetes cluster are workers in this process; others may join if a port is opened for them.
    Raises Invalid for a kubeconfig that cannot be used."""

    def __init__(self, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        options, folder = self._options, self._home.folder / "kubernetes"
        connection = find_connection(options.kubeconfig, options.kube_context)
        self._api = KubeApi(connection)
        pod = PodSettings(_cluster_id(folder), options.pod_namespace, options.image or "")
        connect = partial(connect_in_process, self._watcher)
        self._nodes = NodeWorkers(self._api, self.clock, folder / "nodes", pod, connect)
        self.background = (self._run,)
        log.info("jobs.on_kubernetes", api=connection.url, namespace=pod.namespace)

    @property
    def connected(self) -> int:
        return super().connected + self._nodes.count

    async def open(self) -> None:
        if self._options.workers_listen is not None:
            await super().open()

    async def _run(self) -> None:
        try:
            await self._nodes.run()
        finally:
            await self._api.close()


def _cluster_id(folder: Path) -> str:
    """The id of this home, by which its pods are known."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / "id"
    if not file.exists():
        temporary = file.with_suffix(".new")
        temporary.write_text(uuid.uuid4().hex)
        temporary.rename(file)
    return file.read_text().strip()

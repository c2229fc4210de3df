"""Testbeds, BatchJobs and Schedulings of a manager that are on Kubernetes: `shunter manager --objects kubernetes`."""

from __future__ import annotations

import asyncio

from shunter.app.options import UpOptions
from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import find_connection
from shunter.kube.object_feed import EVENTS_MAX, ObjectFeed
from shunter.kube.object_service import KubeObjectService
from shunter.log import Log
from shunter.model.errors import Invalid, Problem
from shunter.ports.objects import ObjectService

KUBERNETES = "kubernetes"

log = Log(__name__)


def check_objects(given: str | None, kubeconfig: str | None, context: str | None, *, runs_jobs: bool = False) -> None:
    """Raises Invalid. The kubeconfig may also be for jobs."""
    if given not in (None, KUBERNETES):
        raise Invalid([Problem("--objects", "must be kubernetes", given, "leave it out to have objects in the store")])
    for option, value in (("--kubeconfig", kubeconfig), ("--context", context)):
        if value is not None and given is None and not runs_jobs:
            fix = "add one of them, or remove this option"
            raise Invalid([Problem(option, "needs --objects kubernetes or --kubernetes", value, fix)])


class KubeObjects:
    """Raises Invalid for a kubeconfig that cannot be used."""

    def __init__(self, options: UpOptions) -> None:
        connection = find_connection(options.kubeconfig, options.kube_context)
        self._api = KubeApi(connection)
        self._feed = ObjectFeed(self._api, EVENTS_MAX)
        log.info("objects.on_kubernetes", api=connection.url)

    def bind(self, user: str) -> ObjectService:
        return KubeObjectService(self._api, user, self._feed)

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            await self._feed.run()
        finally:
            await asyncio.shield(self._api.close())

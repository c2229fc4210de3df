"""An operator on an API server in memory, and how to wait until nothing moves any more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from shunter.kube.applications.adapter import ApplicationAdapter
from shunter.kube.cluster_view import ClusterView
from shunter.kube.operator import Operator
from shunter.kube.reconcilers import Images, Reconcilers
from shunter.kube.resources import OBJECTS
from shunter.kube.writer import Writer
from shunter.model.objects.object_meta import Document
from tests.unit.kube.fake_api import FakeKubeApi

V1 = "batchjob.gcr.io/v1alpha1"
PATIENCE_S = 30.0
IMAGES = Images("job", "pause")


class KubeHarness:
    def __init__(self, images: Images = IMAGES, adapters: Sequence[ApplicationAdapter] = ()) -> None:
        self.images, self.adapters = images, adapters
        self.restart_on(FakeKubeApi())

    def restart_on(self, api: FakeKubeApi) -> None:
        """A new operator, which knows nothing yet."""
        self.api, self.view = api, ClusterView(api, self.adapters)
        self.writer = Writer(api, self.view, None)
        self.reconcilers = Reconcilers(self.view, self.writer, self.images)
        self.operator = Operator(self.view, self.reconcilers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.operator.run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def apply(self, kind: str, name: str, **spec: Any) -> None:
        document = {"apiVersion": V1, "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        await self.api.create(OBJECTS[kind], document)

    async def get(self, kind: str, name: str) -> Document:
        return await self.api.get(OBJECTS[kind], name, "default")

    async def wait_for(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0)

    async def wait_state(self, kind: str, name: str, state: str) -> Document:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = await self.get(kind, name)
                if found.get("status", {}).get("state") == state:
                    return found
                await asyncio.sleep(0)

    async def settle(self) -> None:
        """Until the operator has seen all that was written, and has written nothing since."""
        async with asyncio.timeout(PATIENCE_S):
            quiet, before = 0, -1
            while quiet < 20:
                quiet = quiet + 1 if self.api.writes == before and not self.view.dirty else 0
                before = self.api.writes
                await asyncio.sleep(0)

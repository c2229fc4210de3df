"""The service for objects on a real API server passes the contract of every ObjectService."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import find_connection
from shunter.kube.object_service import KubeObjectService
from shunter.kube.resources import OBJECTS
from shunter.model.errors import NotFound
from shunter.ports.objects import ObjectQuery
from tests.contracts.objects import CONTRACT, PATIENCE_S, Claim, Harness, a_deleted_scheduling_is_history
from tests.kube.kube_cluster import Kube

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
REMEMBERED_MAX = 20
NAMESPACES = ("film", "own")
# Kubernetes forgets what is deleted, so there is no history.
CLAIMS = [each for each in CONTRACT if each.values[0] is not a_deleted_scheduling_is_history]


@pytest.fixture
async def service(installed: str, tmp_path: Path) -> AsyncIterator[KubeObjectService]:
    assert installed
    for namespace in NAMESPACES:
        Kube(namespace, tmp_path).run("create", "namespace", namespace)
    api = KubeApi(find_connection())
    await delete_all(api)
    service = KubeObjectService(api, "me", REMEMBERED_MAX)
    feed = asyncio.create_task(service.feed.run())
    try:
        yield service
    finally:
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        await delete_all(api)
        await api.close()


async def delete_all(api: KubeApi) -> None:
    for resource in OBJECTS.values():
        for found in (await api.list(resource))[0]:
            try:
                await api.delete(resource, found["metadata"]["name"], found["metadata"]["namespace"])
            except NotFound:
                pass


@pytest.mark.smoke
@pytest.mark.parametrize("claim", CLAIMS)
async def test_kube_objects(claim: Claim, service: KubeObjectService) -> None:
    """S0-03: the store is that of Kubernetes."""

    async def settle() -> None:
        """Until the watches have told of all that is there."""
        found = (await service.objects(ObjectQuery())).items
        async with asyncio.timeout(PATIENCE_S):
            while service.feed.last < max((each.meta.revision for each in found), default=0):
                await asyncio.sleep(0.01)

    await claim(Harness(service, REMEMBERED_MAX, settle))

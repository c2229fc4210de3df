"""The service for objects on a real API server passes the contract of every ObjectService."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import find_connection
from shunter.kube.object_feed import ObjectFeed
from shunter.kube.object_service import KubeObjectService
from shunter.kube.resources import OBJECTS, PAST_SCHEDULINGS
from shunter.model.errors import NotFound
from shunter.ports.objects import ObjectQuery
from tests.contracts.objects import CONTRACT, PATIENCE_S, Claim, Harness, a_deleted_scheduling_is_history
from tests.kube.kube_cluster import Kube

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
REMEMBERED_MAX = 20
NAMESPACES = ("film", "own")


@pytest.fixture
async def service(installed: str, tmp_path: Path) -> AsyncIterator[KubeObjectService]:
    assert installed
    for namespace in NAMESPACES:
        Kube(namespace, tmp_path).run("create", "namespace", namespace)
    api = KubeApi(find_connection())
    await delete_all(api)
    service = KubeObjectService(api, "me", ObjectFeed(api, REMEMBERED_MAX))
    feed = asyncio.create_task(service.feed.run())
    try:
        yield service
    finally:
        feed.cancel()
        await asyncio.gather(feed, return_exceptions=True)
        await delete_all(api)
        await api.close()


async def delete_all(api: KubeApi) -> None:
    for resource in (*OBJECTS.values(), PAST_SCHEDULINGS):
        for found in (await api.list(resource))[0]:
            try:
                await api.delete(resource, found["metadata"]["name"], found["metadata"]["namespace"])
            except NotFound:
                pass


@pytest.mark.smoke
@pytest.mark.parametrize("claim", CONTRACT)
async def test_kube_objects(claim: Claim, service: KubeObjectService, kube: Kube) -> None:
    """S0-03: the store is that of Kubernetes."""

    async def settle() -> None:
        """Until the watches have told of all that is there."""
        found = (await service.objects(ObjectQuery())).items
        async with asyncio.timeout(PATIENCE_S):
            while service.feed.last < max((each.meta.revision for each in found), default=0):
                await asyncio.sleep(0.01)

    async def settle_with_history() -> None:
        """Until the operator has recorded every Scheduling that is gone."""
        await settle()
        async with asyncio.timeout(PATIENCE_S):
            while await unrecorded(service):
                await asyncio.sleep(0.05)

    if claim is not a_deleted_scheduling_is_history:
        await claim(Harness(service, REMEMBERED_MAX, settle))
        return
    with kube.operator():  # which keeps history
        await claim(Harness(service, REMEMBERED_MAX, settle_with_history))


async def unrecorded(service: KubeObjectService) -> set[str]:
    """Schedulings that exist and have no record yet, or are gone and have an open one."""
    schedulings = {each.meta.name for each in (await service.objects(ObjectQuery("Scheduling"))).items}
    records, _ = await service.api.list(PAST_SCHEDULINGS)
    return schedulings ^ {each["spec"]["name"] for each in records if not each["spec"]["deleted_ms"]}

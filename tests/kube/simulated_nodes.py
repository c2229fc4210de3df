"""Nodes without a machine, which kwok plays."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from shunter.kube.client.api import KubeApi
from shunter.kube.resources import NODES, PODS
from shunter.model.errors import NotFound
from tests.kube.kube_cluster import Document

SKIP_REASON = "" if shutil.which("kwok") else "no kwok: run `make setup-kube`"
SIMULATED = {"type": "kwok"}


def node(name: str, labels: dict[str, str], **allocatable: str) -> Document:
    metadata = {"name": name, "labels": {**SIMULATED, **labels}, "annotations": {"kwok.x-k8s.io/node": "fake"}}
    amounts = {"pods": "110", **allocatable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


@asynccontextmanager
async def simulated_nodes(api: KubeApi, count: int, label: str, **allocatable: str) -> AsyncIterator[list[str]]:
    """They are ready soon: kwok sees to it."""
    names = [f"{label}-{number}" for number in range(count)]
    for number, name in enumerate(names):
        await api.create(NODES, node(name, {label: str(number)}, **allocatable))
    try:
        yield names
    finally:
        for name in names:
            with suppress(NotFound):
                await api.delete(NODES, name)
        for pod in (await api.list(PODS))[0]:
            if pod["spec"].get("nodeName") in names:  # no kubelet says that it has ended
                with suppress(NotFound):
                    await api.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace_s=0)

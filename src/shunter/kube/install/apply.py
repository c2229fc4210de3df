"""Puts what the operator needs into a cluster, or upgrades it. Called by `shunter operator install`; repeating it
changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from shunter.kube.client.api import KubeApi, Resource
from shunter.kube.install.crds import Manifest
from shunter.model.errors import NotFound, Unavailable

ESTABLISHED_MAX_S = 30.0
_POLL_S = 0.2
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", is_namespaced=False)
RESOURCES = {
    "CustomResourceDefinition": CRDS,
    "Namespace": Resource("", "v1", "namespaces", is_namespaced=False),
    "PriorityClass": Resource("scheduling.k8s.io", "v1", "priorityclasses", is_namespaced=False),
    "ServiceAccount": Resource("", "v1", "serviceaccounts"),
    "ClusterRole": Resource("rbac.authorization.k8s.io", "v1", "clusterroles", is_namespaced=False),
    "ClusterRoleBinding": Resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", is_namespaced=False),
    "Role": Resource("rbac.authorization.k8s.io", "v1", "roles"),
    "RoleBinding": Resource("rbac.authorization.k8s.io", "v1", "rolebindings"),
}


async def install(api: KubeApi, manifests: Sequence[Manifest], report: Callable[[str], None]) -> None:
    """Apply all, and wait until the API server serves the custom resources. Raises ShunterError."""
    for manifest in manifests:
        report(f"{_title(manifest)} {await _apply(api, manifest)}")
    for manifest in manifests:
        if manifest["kind"] == "CustomResourceDefinition":
            await _wait_established(api, manifest["metadata"]["name"])


async def _apply(api: KubeApi, manifest: Manifest) -> str:
    resource, metadata = RESOURCES[manifest["kind"]], manifest["metadata"]
    try:
        before = (await api.get(resource, metadata["name"], metadata.get("namespace")))["metadata"]["resourceVersion"]
    except NotFound:
        before = ""
    after = (await api.apply(resource, manifest))["metadata"]["resourceVersion"]
    return "unchanged" if after == before else "configured" if before else "created"


async def _wait_established(api: KubeApi, name: str) -> None:
    try:
        async with asyncio.timeout(ESTABLISHED_MAX_S):
            while not _is_established(await api.get(CRDS, name)):
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise Unavailable(f"CustomResourceDefinition {name} is not served after {ESTABLISHED_MAX_S:g} s") from None


def _is_established(crd: Manifest) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _title(manifest: Manifest) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"

"""Spark and Flink on a real API server and kubelet, with the definitions of their operators, read from where these
publish them. The operators themselves are emulated: their images cannot be pulled here."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from shunter.kube.applications.applications import ADAPTERS
from shunter.kube.client.api import KubeApi
from shunter.kube.client.connection import find_connection
from tests.kube.kube_cluster import NODE, Document, Kube, document, queue, testbed
from tests.unit.kube.emulated_operators import EmulatedOperator

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
SPARK_MODULE = "github.com/kubeflow/spark-operator/v2@v2.4.0"
FLINK_CLUSTER_MODULE = "github.com/spotify/flink-on-k8s-operator@v0.6.0"
FLINK_ARTIFACT = "org.apache.flink:flink-kubernetes-operator-api:1.10.0"
BASES = "config/crd/bases"
EMULATED_PAUSE_S = 0.2
SPECS: dict[str, dict[str, Any]] = {
    "spark": {
        "sparkSpec": {
            "type": "Scala",
            "sparkVersion": "3.5.0",
            "image": "spark:3.5",
            "mainApplicationFile": "local:///a.jar",
            "mainClass": "A",
        }
    },
    "flink": {"flinkSpec": {"jarFile": "local:///a.jar", "image": {"name": "flink:1.20"}, "flinkVersion": "1.20"}},
}


def definition(kind: str, folder: Path) -> Document:
    """As the operator publishes it; skips where that cannot be reached."""
    if kind == "SparkApplication":
        path = module_folder(SPARK_MODULE) / BASES / "sparkoperator.k8s.io_sparkapplications.yaml"
        return read(path.read_text())
    if kind == "FlinkCluster":
        path = module_folder(FLINK_CLUSTER_MODULE) / BASES / "flinkoperator.k8s.io_flinkclusters.yaml"
        found = read(path.read_text())  # the API server guards *.k8s.io; its own kustomization says this too
        found["metadata"].setdefault("annotations", {})["api-approved.kubernetes.io"] = "unapproved"
        return found
    if shutil.which("mvn") is None:
        pytest.skip("no mvn, which gets the definition of FlinkDeployment")
    copy = ["-Dartifact=" + FLINK_ARTIFACT, f"-DoutputDirectory={folder}", "-Dmdep.stripVersion=true"]
    done = subprocess.run(["mvn", "-q", "-B", "dependency:copy", *copy], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"could not get {FLINK_ARTIFACT}")
    with zipfile.ZipFile(folder / "flink-kubernetes-operator-api.jar") as jar:
        return read(jar.read("META-INF/fabric8/flinkdeployments.flink.apache.org-v1.yml").decode())


def module_folder(module: str) -> Path:
    if shutil.which("go") is None:
        pytest.skip(f"no go, which gets {module}")
    done = subprocess.run(
        ["go", "mod", "download", "-json", module], capture_output=True, text=True, check=False, cwd="/"
    )
    if done.returncode:
        pytest.skip(f"could not get {module}")
    return Path(json.loads(done.stdout)["Dir"])


def read(text: str) -> Document:
    found: Document = yaml.safe_load(text)
    return found


@pytest.fixture
async def api() -> AsyncIterator[KubeApi]:
    api = KubeApi(find_connection())
    yield api
    await api.close()


@pytest.mark.smoke
@pytest.mark.parametrize("kind", list(ADAPTERS))
async def test_an_application_runs_in_its_slots_and_leaves_nothing(
    kind: str, kube: Kube, api: KubeApi, tmp_path: Path
) -> None:
    """S0-04, S0-23, S1-15, S1-16, S1-17: the API server checks our object by the operator's own schema."""
    adapter = ADAPTERS[kind]()
    found = definition(kind, tmp_path)
    kube("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(found))
    kube.wait(
        lambda: (
            "condition met"
            in kube.run("wait", "--for=condition=Established", f"crd/{found['metadata']['name']}").stdout
        )
    )
    kube("label", "node", NODE, "bench=0")
    emulated = asyncio.create_task(EmulatedOperator(api, adapter, "sleep 5", EMULATED_PAUSE_S).run())
    try:
        run = asyncio.create_task(asyncio.to_thread(run_and_release, kube, kind))
        await asyncio.wait((run, emulated), return_when=asyncio.FIRST_COMPLETED)
        assert not emulated.done(), emulated.exception()
        await run
    finally:
        emulated.cancel()
        await asyncio.gather(emulated, return_exceptions=True)
        kube("delete", "crd", found["metadata"]["name"], "--wait=false")


def run_and_release(kube: Kube, kind: str) -> None:
    adapter = ADAPTERS[kind]()
    with kube.operator("--application", kind):
        kube.apply(testbed(resourcesPerSlot={"cpu": "100m", "memory": "480Mi"}))
        kube.apply(document("BatchJob", "words", **SPECS[adapter.engine]), queue("first", "words", "words"))
        kube.wait_state("batchjob", "words", "RunningState")
        pods = kube.pods()
        assert [pods[f"words-exec-{number}"]["spec"]["nodeName"] for number in range(2)] == [NODE, NODE]
        places = [pods[f"words-exec-{number}"]["metadata"]["annotations"]["shunter.dev/place"] for number in range(2)]
        assert places == [f"{NODE}/0", f"{NODE}/1"]
        assert not any(name.startswith("ghostpod") for name in pods)
        assert "shunter.dev/place" not in pods["words-driver"]["metadata"]["annotations"]
        kube.wait_state("scheduling", "first", "CompletedState")
        [event] = kube.get("batchjob", "words")["status"]["scheduledEvents"]
        assert event["successful"]
        kube("delete", "scheduling", "first")
        kube.wait_state("batchjob", "words", "ReadyState")
        assert not [name for name in kube.pods() if name.startswith("words")]
        assert kube("get", adapter.resource.plural) == ""
        kube.wait_state("testbed", "bench", "SUCCESS")

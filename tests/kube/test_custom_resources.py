"""The CustomResourceDefinitions on a real API server: manifests apply unchanged, and invalid ones are refused with the
path of the field."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.kube.kube_cluster import Document, Kube, command, document, queue, testbed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
EXAMPLES = Path(__file__).parents[2] / "examples"
SHUNTER = [str(Path(sys.executable).parent / "shunter"), "operator"]
FOLDERS = ("testbeds", "batchjobs", "profiler")


@pytest.mark.smoke
def test_the_examples_apply_unchanged_and_again(kube: Kube, tmp_path: Path) -> None:
    """S0-02, S1-22: those of the documents are among them."""
    assert kube
    default = Kube("default", tmp_path)  # which some of them name
    for folder in FOLDERS:
        files = [word for path in sorted((EXAMPLES / folder).glob("*.yaml")) for word in ("-f", str(path))]
        default("apply", *files)
        again = default("apply", *files)
        assert all(line.endswith(" unchanged") for line in again.splitlines()), again
        default("delete", *files)


@pytest.mark.smoke
def test_kubectl_knows_short_names_columns_and_the_category(kube: Kube) -> None:
    kube.apply(testbed(), command("words", "true"), queue("first", "words"))
    listed = kube("get", "shunter", "--no-headers", "-o", "name").split()
    assert listed == [
        "batchjob.batchjob.gcr.io/words",
        "scheduling.batchjob.gcr.io/first",
        "testbed.batchjob.gcr.io/bench",
    ]
    assert kube("get", "tb").split()[:5] == ["NAME", "STATE", "FREE", "LABEL", "AGE"]
    assert kube("get", "bj").split()[:6] == ["NAME", "STATE", "SCHEDULING", "SLOTS", "RUNS", "AGE"]
    assert kube("get", "sched").split()[:5] == ["NAME", "STATE", "TESTBED", "WAITS-FOR", "AGE"]
    assert "number of slots on each node" in kube("explain", "testbed.spec.slotsPerNode")


SLOT_BASED = {"slotBased": {"jobs": [{"name": {"name": "a"}, "slotIds": [0]}]}}
REFUSED: list[tuple[Document, str]] = [
    (testbed(slotsPerNode=-1), "spec.slotsPerNode"),
    (testbed(slotsPerNode=1001), "spec.slotsPerNode"),
    (testbed(slotsPerNode="2"), "spec.slotsPerNode"),
    (testbed(nodeLabel="-"), "spec.nodeLabel"),
    (testbed(resourcesPerSlot={"cpu": "a lot"}), "spec.resourcesPerSlot.cpu"),
    (testbed(resourcesPerSlot={}), "spec.resourcesPerSlot"),
    (testbed(resourcesPerSlot={"gpu": "500m"}), "spec.resourcesPerSlot"),
    (testbed(resourcesPerSlot={"CPU": 1}), "spec.resourcesPerSlot"),
    (testbed(sharing="perhaps"), "spec.sharing"),
    (testbed(slotPerNode=2), "spec.slotPerNode"),
    (document("Testbed", "bench", nodeLabel="a", resourcesPerSlot={"cpu": "1"}), "spec.slotsPerNode"),
    (document("BatchJob", "job"), "spec"),
    (document("BatchJob", "job", commandSpec={"command": ["a"]}, flinkSpec={"jarFile": "/a.jar"}), "spec"),
    (document("BatchJob", "job", commandSpec={"command": []}), "spec.commandSpec.command"),
    (document("BatchJob", "job", commandSpec={"command": [""]}), "spec.commandSpec.command"),
    (document("BatchJob", "job", commandSpec={"command": "ls"}), "spec.commandSpec.command"),
    (document("BatchJob", "job", sparkSpec={"type": "R"}), "spec.sparkSpec.type"),
    (document("BatchJob", "job", commandSpec={"command": ["a"]}, onNodeLoss="cry"), "spec.onNodeLoss"),
    (document("BatchJob", "j" * 61, commandSpec={"command": ["a"]}), "metadata.name"),
    (document("Scheduling", "first", testbed={"name": "bench"}), "spec"),
    (document("Scheduling", "first", testbed={"name": "bench"}, queueBased=[{"name": "a"}], **SLOT_BASED), "spec"),
    (document("Scheduling", "first", testbed={"name": "bench"}, queueBased=[]), "spec.queueBased"),
    (document("Scheduling", "first", queueBased=[{"name": "a"}]), "spec"),
    (document("Scheduling", "first", testbed={"name": "bench"}, queueBased=[{"nam": "a"}]), "spec.queueBased[0].nam"),
    (
        document(
            "Scheduling",
            "first",
            testbed={"name": "bench"},
            slotBased={"mode": "loose", "jobs": [{"name": {"name": "a"}, "slotIds": [0]}]},
        ),
        "spec.slotBased.mode",
    ),
    (
        document(
            "Scheduling",
            "first",
            testbed={"name": "b"},
            slotBased={"jobs": [{"name": {"name": "a"}, "slotIds": [0, 0]}]},
        ),
        "spec.slotBased.jobs[0].slotIds[1]",
    ),
    (
        document("Scheduling", "first", testbed={"name": "b"}, queueBased=[{"name": "a"}], confirmationTimeout="soon"),
        "spec.confirmationTimeout",
    ),
]


@pytest.mark.smoke
def test_the_api_server_refuses_what_is_invalid_with_the_path_of_the_field(kube: Kube) -> None:
    """S0-02: an unknown strategy, a missing testbed and negative slots are among it."""
    answers = [(path, kube.refuse(given)) for given, path in REFUSED]
    assert [(path, answer) for path, answer in answers if path not in answer] == []
    assert kube("get", "shunter") == ""


def test_a_scheduling_stays_with_its_testbed(kube: Kube) -> None:
    kube.apply(queue("first", "words"))
    said = kube.refuse(queue("first", "words", testbed="other"))
    assert "spec.testbed" in said
    assert "is immutable" in said


def test_what_null_means_is_what_absence_means(kube: Kube) -> None:
    spec: dict[str, Any] = {"slotBased": None, "queueBased": [{"name": "a", "namespace": None}], "slots": None}
    kube.apply(document("Scheduling", "first", testbed={"name": "bench"}, confirmationTimeout=30, **spec))


def test_the_status_belongs_to_the_operator(kube: Kube) -> None:
    """It is a sub-resource: an update of the object leaves it alone."""
    kube.apply(testbed() | {"status": {"state": "SUCCESS"}})
    assert "status" not in kube.get("testbed", "bench")


def test_installing_again_changes_nothing_and_upgrades_an_older_definition(
    kube: Kube, installed: str, tmp_path: Path
) -> None:
    crd = "testbeds.batchjob.gcr.io"
    assert f"CustomResourceDefinition {crd} " in installed
    again = subprocess.run([*SHUNTER, "install"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert all(line.endswith(" unchanged") for line in again.splitlines()), again
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/slotsPerNode/maximum"
    kube("patch", "crd", crd, "--type=json", "-p", f'[{{"op": "replace", "path": "{path}", "value": 5}}]')
    upgraded = subprocess.run([*SHUNTER, "install"], capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"CustomResourceDefinition {crd} configured" in upgraded
    kube.apply(testbed(slotsPerNode=6))
    printed = subprocess.run([*SHUNTER, "manifests"], capture_output=True, text=True, check=True, timeout=60).stdout
    Kube("shunter-system", tmp_path)("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=printed)

"""Manifests of Testbeds, BatchJobs and Schedulings: valid ones and their objects, invalid ones and their messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from shunter.model.errors import Invalid
from shunter.model.files.yaml_reader import parse_documents
from shunter.model.objects.batch_jobs import BatchJobSpec
from shunter.model.objects.object_fields import DOCUMENTS, EXTERNAL_SIZE_MAX
from shunter.model.objects.object_manifests import (
    check_external,
    object_problems,
    object_schema,
    parse_kind,
    read_objects,
)
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.objects import KINDS
from shunter.model.objects.schedulings import SchedulingSpec, SlotJob
from shunter.model.objects.testbeds import TestbedSpec
from tests.unit.model.objects.object_samples import ANY, batch_job, document, problems, read, scheduling, testbed

ROOT = Path(__file__).parents[4]
EXAMPLES = [path for path in sorted((ROOT / "examples").rglob("*.yaml")) if "v1alpha1" in path.read_text()]
TRUE = {"command": ["true"]}
SCHEMAS = {kind: jsonschema.Draft202012Validator(object_schema(kind)) for kind in KINDS}


def document_example(name: str) -> Any:
    return parse_documents((ROOT / "examples" / "testbeds" / name).read_bytes())[0]


# ---- as the reference prints them ----


def test_the_printed_batch_job_is_read_with_all_its_values() -> None:
    draft = read(document_example("spark-crawler.yaml"))
    assert draft.name == ObjectName("default", "spark-crawler")
    assert draft.spec == BatchJobSpec(
        spark={
            "type": "Scala",
            "image": "gcr.io/spark-on-kubernetes-316714/spark-webcrawler:latest",
            "imagePullPolicy": "Always",
            "mainClass": "de.tuberlin.batchjoboperator.spark.webcrawler.WebCrawlerApplication",
            "mainApplicationFile": "local:///opt/spark/examples/webcrawler.jar",
            "arguments": ["Web_crawler", "10000", "Kubernetes"],
        },
        external={
            "profiler": [{"flink-wordcount": "24 (16)", "spark-pi": "27 (16)", "batchjob-sample3": "31 (8)"}],
        },
    )


def test_the_printed_testbed_has_exact_amounts() -> None:
    draft = read(document_example("profiler-testbed.yaml"))
    assert draft.spec == TestbedSpec(
        2, "tuberlin.de/node-with-slots-profiler", {"cpu": 700, "memory": 939524096}, "exclusive"
    )


def test_the_printed_scheduling_names_a_job_once_for_each_executor() -> None:
    spec = read(document_example("profiler-scheduling.yaml")).spec
    crawler, spark = ObjectName("default", "spark-crawler"), ObjectName("default", "batchjob-spark")
    assert spec == SchedulingSpec(ObjectName("default", "profiler-testbed"), (crawler, spark, spark, crawler))
    assert isinstance(spec, SchedulingSpec)
    assert spec.distinct_jobs == (crawler, spark)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_read_and_passes_its_schema(path: Path) -> None:
    documents: list[Any] = parse_documents(path.read_bytes())
    assert len(read_objects(documents)) == len(documents)
    for each in documents:
        SCHEMAS[each["kind"]].validate(each)


@pytest.mark.parametrize("version", ["batchjob.gcr.io/v1alpha1", "esi.tu-berlin.de/v1alpha1"])
def test_both_groups_mean_the_same(version: str) -> None:
    for each in (testbed(), batch_job(), scheduling()):
        assert read(each | {"apiVersion": version}) == read(each)


def test_a_testbed_is_also_one_of_ours() -> None:
    assert read(testbed() | {"apiVersion": "shunter.dev/v1"}) == read(testbed())
    [problem] = problems(batch_job() | {"apiVersion": "shunter.dev/v1"})
    assert problem.field == "apiVersion"
    assert problem.message == "must be batchjob.gcr.io/v1alpha1 or esi.tu-berlin.de/v1alpha1"


# ---- what is read ----


def test_slots_is_the_old_name_of_testbed() -> None:
    old = scheduling()
    old["spec"]["slots"] = old["spec"].pop("testbed")
    assert read(old) == read(scheduling())
    assert [problem.field for problem in problems(scheduling(slots={"name": "other"}))] == ["spec.slots"]


def test_names_without_a_namespace_are_of_the_manifest_s_own() -> None:
    spec = read(scheduling(), namespace="film").spec
    assert isinstance(spec, SchedulingSpec)
    assert (spec.testbed, spec.queue) == (ObjectName("film", "bench"), (ObjectName("film", "spark-pi"),))
    elsewhere = scheduling(queueBased=[{"name": "spark-pi", "namespace": "other"}])
    elsewhere["metadata"]["namespace"] = "own"
    spec = read(elsewhere, namespace="film").spec
    assert isinstance(spec, SchedulingSpec)
    assert (spec.testbed, spec.queue) == (ObjectName("own", "bench"), (ObjectName("other", "spark-pi"),))


def test_a_slot_based_scheduling_keeps_its_order_and_is_strict_unless_told() -> None:
    jobs = [{"name": {"name": "b"}, "slotIds": [3, 1]}, {"name": {"name": "a"}, "slotIds": [1]}]
    for given_mode, mode in (({}, "strict"), ({"mode": "relaxed"}, "relaxed")):
        spec = read(document("Scheduling", slotBased={"jobs": jobs, **given_mode}, testbed={"name": "bench"})).spec
        b, a = ObjectName("default", "b"), ObjectName("default", "a")
        slots = (SlotJob(b, (3, 1)), SlotJob(a, (1,)))
        assert spec == SchedulingSpec(ObjectName("default", "bench"), slots=slots, mode=mode)


def test_null_says_what_leaving_out_says() -> None:
    full = batch_job(commandSpec={"command": ["true"]}, sparkSpec=None, externalScheduler=None, driver=None)
    assert read(full) == read(batch_job())
    assert read(scheduling(slotBased=None, confirmationTimeout=None)) == read(scheduling())


def test_a_resource_version_may_be_text_or_a_number() -> None:
    for spelled in ("12", 12):
        assert read(testbed() | {"metadata": {"name": "a", "resourceVersion": spelled}}).revision == 12
    [problem] = problems(testbed() | {"metadata": {"name": "a", "resourceVersion": "newest"}})
    assert problem.field == "metadata.resourceVersion"


def test_what_only_shunter_writes_is_kept_apart() -> None:
    claimed = batch_job(commandSpec={"command": ["true"]}, activeScheduling={"name": "s", "namespace": "default"})
    claimed |= {"metadata": {"name": "a", "uid": "7"}, "status": {"state": "ReadyState"}}
    assert read(claimed).own == {
        "metadata.uid": "7",
        "spec.activeScheduling": {"name": "s", "namespace": "default"},
        "status": {"state": "ReadyState"},
    }
    label = "batchjob.tuberlin.de/active-scheduling-name"
    draft = read(testbed() | {"metadata": {"name": "a", "labels": {label: "s", "team": "film"}}})
    assert (draft.labels, draft.own) == ({"team": "film"}, {f"metadata.labels.{label}": "s"})


# ---- what is refused ----


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (testbed(slotsPerNode=-1), "spec.slotsPerNode: must be 0 to 1,000 (got -1)"),
        (testbed(resourcesPerSlot={"cpu": "700x"}), "spec.resourcesPerSlot.cpu: must be a quantity (got '700x')"),
        (testbed(resourcesPerSlot={"memry": "1Gi"}), "spec.resourcesPerSlot.memry: unknown resource; did you mean"),
        (testbed(resourcesPerSlot={}), "spec.resourcesPerSlot: must have at least one resource; write it like"),
        (testbed(resourcesPerSlot={"cpu": 0}), "spec.resourcesPerSlot: must request at least one resource"),
        (testbed(resourcesPerSlot={"cpu": 1, "licence/x": 1}), "spec.resourcesPerSlot.licence/x: is a resource"),
        (testbed(nodeLabel="-"), "spec.nodeLabel: must be letters, digits"),
        (testbed(slotPerNode=1), "spec.slotPerNode: unknown field; did you mean slotsPerNode?"),
        (testbed(sharing="shared"), "spec.sharing: must be exclusive or disjoint (got 'shared')"),
        (document("Testbed"), "spec.slotsPerNode: is missing; add slotsPerNode"),
        (batch_job("a" * 61), "metadata.name: must be at most 60 bytes"),
        (batch_job(driver={}), "spec: must have exactly one of sparkSpec, flinkSpec, commandSpec; add one of them"),
        (
            batch_job(commandSpec=TRUE, flinkSpec={"jarFile": "/a.jar"}),
            "spec: must have exactly one of sparkSpec, flinkSpec, commandSpec, but has flinkSpec and commandSpec",
        ),
        (batch_job(sparkSpec=[]), "spec.sparkSpec: must be a mapping"),
        (batch_job(sparkSpec={"a": 10**400}), "spec.sparkSpec: must contain only text, numbers"),
        (batch_job(sparkSpec={"a": "x" * 2**18}), "spec.sparkSpec: must be at most 262,144 bytes"),
        (batch_job(commandSpec=TRUE, driver={"cpu": "x"}), "spec.driver.cpu: must be a quantity"),
        (batch_job(commandSpec=TRUE, driver={"gpu": 1}), "spec.driver.gpu: unknown field; did you mean cpu?"),
        (
            batch_job(commandSpec=TRUE, externalScheduler={"profiler": [{"a": True}]}),
            "spec.externalScheduler.profiler[0].a: must be text or a number (got True)",
        ),
        (
            batch_job(commandSpec=TRUE, externalScheduler={"profiler": {"a": "24"}}),
            "spec.externalScheduler.profiler: must be a list",
        ),
        (batch_job(commandSpec={"comand": ["x"]}), "spec.commandSpec.comand: unknown field; did you mean command?"),
        (scheduling(fifoBased=[]), "spec.fifoBased: unknown field; did you mean slotBased?"),
        (scheduling(slotBased={"jobs": []}), "spec.slotBased.jobs: must have 1 to 100,000 items"),
        (scheduling(queueBased=[]), "spec.queueBased: must have 1 to 100,000 items"),
        (scheduling(queueBased=None), "spec: must have exactly one of queueBased and slotBased (got 'none'); add"),
        (scheduling(testbed=None), "spec.testbed: is missing; add testbed: {name: ...}"),
        (scheduling(testbed={}), "spec.testbed.name: is missing; add name"),
        (scheduling(queueBased=["a"]), "spec.queueBased[0]: must be a mapping (got 'a'); write {name: ..., "),
        (scheduling(confirmationTimeout="soon"), "spec.confirmationTimeout: must be a duration (got 'soon'); write it"),
        (scheduling(confirmationTimeout=0), "spec.confirmationTimeout: must be more than 0 (got 0.0)"),
        ({"kind": "Testbd"}, "kind: must be BatchJob, Testbed, Scheduling or Job (got 'Testbd'); did you mean"),
        ({"kind": "Slots"}, "kind: must be BatchJob, Testbed, Scheduling or Job (got 'Slots'); use Testbed"),
        ({"kind": "Job"}, "kind: is submitted, not applied (got 'Job'); use: shunter submit"),
        ({}, "kind: is missing; add kind: BatchJob, Testbed, Scheduling or Job"),
        ([], "document: must be a mapping (got 'a list of 0')"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field_the_value_and_the_fix(wrong: object, said: str) -> None:
    assert str(problems(wrong)[0]).startswith(said)


def test_both_strategies_are_one_too_many() -> None:
    both = scheduling(slotBased={"jobs": [{"name": {"name": "a"}, "slotIds": [0]}]})
    [problem] = problems(both)
    assert (problem.field, problem.value) == ("spec", "queueBased and slotBased")


def test_a_slot_based_scheduling_needs_distinct_jobs_and_slots() -> None:
    jobs = [{"name": {"name": "a"}, "slotIds": [0]}, {"name": {"name": "a"}, "slotIds": [1, 1]}]
    found = problems(document("Scheduling", slotBased={"jobs": jobs}, testbed={"name": "bench"}))
    assert [problem.field for problem in found] == ["spec.slotBased.jobs[1].name", "spec.slotBased.jobs[1].slotIds"]
    assert found[0].message == "names the same job twice"


def test_the_problems_of_a_whole_file_are_found_together() -> None:
    found = problems(testbed(slotsPerNode=-1), batch_job(sparkSpec=None), batch_job(), batch_job())
    assert [problem.field for problem in found] == [
        "items[0].spec.slotsPerNode",
        "items[1].spec",
        "items[3].metadata.name",
    ]
    assert found[2].message == "the BatchJob appears twice"
    assert [str(each) for each in object_problems([testbed(slotsPerNode=-1)])] == [
        str(problems(testbed(slotsPerNode=-1))[0])
    ]
    assert object_problems([testbed(), batch_job(), batch_job("other")]) == []


def test_equal_names_in_two_namespaces_are_two_objects() -> None:
    here, there = batch_job(), batch_job()
    there["metadata"]["namespace"] = "other"
    assert [str(draft.name) for draft in read_objects([here, there])] == ["default/spark-pi", "other/spark-pi"]


def test_what_schedulers_remember_is_bounded() -> None:
    assert check_external({"profiler": [{"a": 24, "b": 1.5}]}, "body") == {"profiler": [{"a": "24", "b": "1.5"}]}
    assert check_external({"profiler": [{"a": "24 (16)"}], "mine": []}, "body") == {
        "profiler": [{"a": "24 (16)"}],
        "mine": [],
    }
    with pytest.raises(Invalid, match="must be at most 1,048,576 bytes"):
        check_external({"a": [{str(n): "x" * 4096} for n in range(EXTERNAL_SIZE_MAX // 4096 + 1)]}, "body")


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("BatchJob", "BatchJob"),
        ("batchjobs", "BatchJob"),
        ("bj", "BatchJob"),
        ("TB", "Testbed"),
        ("sched", "Scheduling"),
    ],
)
def test_a_kind_is_found_by_each_of_its_words(word: str, kind: str) -> None:
    assert parse_kind(word) == kind


def test_a_misspelt_kind_gets_the_nearest() -> None:
    with pytest.raises(
        Invalid, match=r"kind: must be one of batchjobs \(bj\), testbeds \(tb\), .*did you mean testbeds\?"
    ):
        parse_kind("tesbeds")


# ---- the schemas ----


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_valid_and_explains_every_field_of_the_spec(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(object_schema(kind))
    spec = DOCUMENTS[kind].fields["spec"].schema["properties"]
    assert [name for name, schema in spec.items() if not schema.get("description")] == []


@given(ANY)
def test_the_schema_takes_what_the_reader_takes(document: dict[str, Any]) -> None:
    read(document)
    SCHEMAS[document["kind"]].validate(document)


@pytest.mark.parametrize(
    "wrong",
    [
        testbed(slotsPerNode=-1),
        testbed(resourcesPerSlot={}),
        testbed(resourcesPerSlot={"cpu": "1Zi"}),
        testbed(slotPerNode=1),
        batch_job(driver={}),
        batch_job(commandSpec=TRUE, flinkSpec={"jarFile": "/a.jar"}),
        batch_job("A"),
        scheduling(queueBased=None),
        scheduling(testbed=None),
        scheduling(slots={"name": "a"}),
        scheduling(slotBased={"mode": "lax", "jobs": []}),
    ],
)
def test_what_a_schema_can_see_is_refused_by_it_too(wrong: dict[str, Any]) -> None:
    assert problems(wrong)
    assert list(SCHEMAS[wrong["kind"]].iter_errors(wrong))

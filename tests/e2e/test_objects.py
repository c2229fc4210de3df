"""Testbeds, BatchJobs and Schedulings by manifest: users apply, show, watch, edit and delete them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shunter.model.files.yaml_reader import parse_documents
from tests.e2e.cluster import Cluster, eventually
from tests.e2e.manifests import as_yaml, job
from tests.e2e.rest import Rest
from tests.e2e.task_gates import Gate

EXAMPLES = Path(__file__).parents[2] / "examples" / "testbeds"
APIS = "/apis/batchjob.gcr.io/v1alpha1/namespaces"
KINDS = ("scheduling", "batchjob", "testbed")


@pytest.fixture
def testbed_cluster(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with its node labelled; what a story leaves there is deleted."""
    node = cluster.items("nodes")[0]["name"]
    cluster.shunter("node", "label", node, "bench=0", "tuberlin.de/node-with-slots-profiler=0")
    yield cluster
    with cluster.client() as client:
        for kind in KINDS:
            if kind == "batchjob":
                eventually(lambda: all(is_ready(job) for job in client.objects("batchjob", "*")), "every run has ended")
            for each in client.objects(kind, "*"):
                client.delete(kind, each.name, each.namespace)
            eventually(lambda kind=kind: not client.objects(kind, "*"), f"every {kind} is gone")  # type: ignore[misc]


def is_ready(job: Any) -> bool:
    return bool(job.status["state"] == "ReadyState")


def document(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "batchjob.gcr.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def testbed(name: str = "bench", slots: int = 2, label: str = "bench") -> dict[str, Any]:
    return document("Testbed", name, slotsPerNode=slots, nodeLabel=label, resourcesPerSlot={"cpu": "100m"})


def command(name: str, *words: str) -> dict[str, Any]:
    return document("BatchJob", name, commandSpec={"command": list(words or ("/bin/true",))})


def queue(name: str, *jobs: str, testbed: str = "bench") -> dict[str, Any]:
    return document("Scheduling", name, queueBased=[{"name": job} for job in jobs], testbed={"name": testbed})


def apply(cluster: Cluster, *documents: object, code: int = 0, words: tuple[str, ...] = ()) -> Any:
    text = "\n---\n".join(map(json.dumps, documents))
    return cluster.shunter("apply", "-f", "-", *words, stdin=text, code=code)


def got(cluster: Cluster, kind: str, name: str, namespace: str = "default") -> Any:
    return cluster.json("get", kind, name, "-n", namespace)


# ---- manifests ----


def test_the_manifests_of_the_documents_apply_as_they_are_printed(testbed_cluster: Cluster) -> None:
    """S0-02, S1-01, S1-03: valid manifests apply unchanged and keep all their values."""
    for name in ("profiler-scheduling", "spark-crawler", "profiler-testbed"):
        path = EXAMPLES / f"{name}.yaml"
        assert testbed_cluster.shunter("apply", "-f", str(path)).out.endswith(" created\n")
        [printed] = parse_documents(path.read_bytes())
        assert isinstance(printed, dict)
        kept = got(testbed_cluster, printed["kind"], printed["metadata"]["name"])
        assert {name: kept["spec"][name] for name in printed["spec"]} == printed["spec"]
        assert testbed_cluster.shunter("apply", "-f", "-", stdin=json.dumps(kept)).out.endswith(" unchanged\n")
    slots = got(testbed_cluster, "tb", "profiler-testbed")["status"]["slots"]
    assert [(slot["state"], slot["size"]) for slot in slots] == [("FREE", {"cpu": "700m", "memory": "896Mi"})] * 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (testbed(slots=-1), "spec.slotsPerNode: must be 0 to 1,000 (got -1)"),
        (queue("q", "a") | {"spec": {"queueBased": [{"name": "a"}]}}, "spec.testbed: is missing"),
        (document("Scheduling", "q", fifoBased=[], testbed={"name": "bench"}), "spec.fifoBased: unknown field"),
        (document("BatchJob", "a", driver={}), "spec: must have exactly one of sparkSpec, flinkSpec, commandSpec"),
        (
            testbed() | {"spec": testbed()["spec"] | {"resourcesPerSlot": {"cpu": "7x"}}},
            "resourcesPerSlot.cpu: must be",
        ),
    ],
)
def test_what_is_invalid_is_refused_with_its_field(cluster: Cluster, wrong: object, said: str) -> None:
    """S0-02, S1-03: an invalid manifest is refused with a field path, and nothing of its file is applied."""
    done = apply(cluster, command("innocent"), wrong, code=2)
    assert said in done.err and "innocent" not in done.err
    assert cluster.items("get", "batchjobs") == []


def test_testbeds_are_made_by_manifest_only(testbed_cluster: Cluster) -> None:
    """S1-04: nothing of the interface for external schedulers makes, resizes or deletes a Testbed."""
    apply(testbed_cluster, testbed())
    parts = Rest(testbed_cluster)
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/external/testbeds", "/external/testbeds/bench"):
            assert parts.ask(method, path, testbed()).status in (404, 405)
    assert len(got(testbed_cluster, "tb", "bench")["status"]["slots"]) == 2


# ---- versions ----


@contextmanager
def watching(cluster: Cluster, *words: str) -> Iterator[Callable[[], Any]]:
    """The next line of `shunter watch`, as JSON."""
    process = cluster.begin("watch", *words, "-o", "json")
    assert process.stdout is not None
    stream = process.stdout
    try:
        yield lambda: json.loads(stream.readline())
    finally:
        process.kill()
        process.wait()


def test_of_two_updates_of_one_version_one_conflicts_and_a_watch_tells_the_rest(testbed_cluster: Cluster) -> None:
    """S0-03: conflict, watch in order, resume from a version."""
    apply(testbed_cluster, testbed("other", label="nowhere"))
    with watching(testbed_cluster, "tb", "bench") as line:
        apply(testbed_cluster, testbed())
        seen = [line()]
        read = eventually(
            lambda: found if (found := got(testbed_cluster, "tb", "bench"))["status"]["slots"] else None, "its slots"
        )
        for slots, code in ((3, 0), (4, 2)):
            read["spec"]["slotsPerNode"] = slots
            done = apply(testbed_cluster, {key: value for key, value in read.items() if key != "status"}, code=code)
        assert "has changed" in done.err
        testbed_cluster.shunter("delete", "tb", "bench", "--wait")
        while seen[-1]["type"] != "DELETED":
            seen.append(line())
    types = [each["type"] for each in seen]
    assert (types[0], types[-1], set(types[1:-1])) == ("ADDED", "DELETED", {"MODIFIED"})
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in seen]
    assert versions == sorted(set(versions))
    with watching(testbed_cluster, "tb", "bench", "--after", str(versions[0])) as line:
        assert [line() for _ in seen[1:]] == seen[1:]


def test_objects_and_watches_outlive_a_killed_manager(home: Cluster) -> None:
    """S0-03: what was applied is there with its version, and a watch goes on by itself."""
    home.up("--cpu", "2")
    apply(home, testbed(label="nowhere"), command("crawler"))
    with home.client() as client:
        before = {each.name: each.resource_version for each in client.objects()}
    with watching(home, "bj") as line:
        assert line()["type"] == "ADDED"
        home.kill_manager()
        home.up("--cpu", "2")
        with home.client() as client:
            assert {each.name: each.resource_version for each in client.objects()} == before
            client.write_external("crawler", {"profiler": [{"other": "24 (16)"}]})
        told = line()
        assert (told["type"], told["object"]["spec"]["externalScheduler"]) == (
            "MODIFIED",
            {"profiler": [{"other": "24 (16)"}]},
        )


# ---- running ----


def test_each_entry_of_a_queue_is_an_executor_in_its_slot(testbed_cluster: Cluster) -> None:
    """S1-05, S1-22: a queue on four free slots, the same as a file and over HTTP."""
    echo = ("sh", "-c", 'echo "$SHUNTER_EXECUTOR_INDEX/$SHUNTER_EXECUTOR_COUNT in $SHUNTER_SLOT_ID"')
    apply(testbed_cluster, testbed(slots=4), command("spark-crawler", *echo), command("batchjob-spark", *echo))
    order = ("spark-crawler", "batchjob-spark", "batchjob-spark", "spark-crawler")
    said = apply(testbed_cluster, queue("first", *order), words=("--wait",))
    assert said.err.endswith("shunter: first completed: 2 of 2 BatchJobs\n")
    by_file = outcome(testbed_cluster, "first")
    assert {name: job["slotIds"] for name, job in by_file.items()} == {
        "spark-crawler": [0, 3],
        "batchjob-spark": [1, 2],
    }
    assert testbed_cluster.shunter("logs", "bj.spark-crawler/1").out == "1/2 in 3\n"
    testbed_cluster.shunter("delete", "sched", "first", "--wait")
    made = Rest(testbed_cluster).ask("POST", f"{APIS}/default/schedulings", queue("second", *order))
    assert made.status == 201
    eventually(
        lambda: got(testbed_cluster, "sched", "second")["status"]["state"] == "CompletedState", "it is completed"
    )
    assert outcome(testbed_cluster, "second") == by_file
    past = testbed_cluster.items("get", "schedulings", "--past")
    assert [(run["name"], run["slot_ids"], run["successful"]) for run in past[0]["runs"]] == [
        ("spark-crawler", [0, 3], True),
        ("batchjob-spark", [1, 2], True),
    ]


def outcome(cluster: Cluster, name: str) -> dict[str, dict[str, Any]]:
    states = got(cluster, "sched", name)["status"]["jobStates"]
    return {job["name"]["name"]: {key: job[key] for key in ("state", "slotIds")} for job in states}


def test_equal_names_in_two_namespaces_are_two_objects(testbed_cluster: Cluster, gate: Gate) -> None:
    """S1-32: claims and slots of one have nothing to do with the other."""
    for namespace in ("default", "film"):
        documents = [testbed(slots=1), command("crawler", *gate.command), queue("first", "crawler")]
        apply(testbed_cluster, *documents, words=("-n", namespace))
    gate.reached(2)
    with testbed_cluster.client() as client:
        beds = [client.get("tb", "bench", namespace) for namespace in ("default", "film")]
        claims = [bed.status["slots"][0]["heldBy"]["scheduling"] for bed in beds]
        assert claims == [{"name": "first", "namespace": "default"}, {"name": "first", "namespace": "film"}]
        client.delete("sched", "first", "film")
        eventually(lambda: client.get("bj", "crawler", "film").status["state"] == "ReadyState", "it is released")
        assert client.get("bj", "crawler").status["state"] == "RunningState"
    assert [line.split()[0] for line in testbed_cluster.shunter("get", "bj", "-n", "*").out.splitlines()[1:]] == [
        "default",
        "film",
    ]
    gate.open()


def test_a_person_sees_who_has_which_slot_and_steps_in(testbed_cluster: Cluster, gate: Gate, tmp_path: Path) -> None:
    apply(testbed_cluster, testbed(), command("crawler", *gate.command), queue("first", "crawler"))
    gate.reached()
    eventually(
        lambda: "OCCUPIED crawler[0] by first" in testbed_cluster.shunter("describe", "tb", "bench").out,
        "it is occupied",
    )
    assert "claimed by first" in testbed_cluster.shunter("describe", "bj", "crawler").out
    assert "crawler, slot 0" in testbed_cluster.shunter("describe", "sched", "first").out
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/slotsPerNode: 2/slotsPerNode: 3/" "$1"\n')
    editor.chmod(0o755)
    testbed_cluster.environment["EDITOR"] = str(editor)
    assert testbed_cluster.shunter("edit", "tb", "bench").out == "Testbed bench configured\n"
    eventually(lambda: len(got(testbed_cluster, "tb", "bench")["status"]["slots"]) == 3, "the third slot is there")
    gate.open()
    eventually(lambda: got(testbed_cluster, "sched", "first")["status"]["state"] == "CompletedState", "it is completed")


def test_a_failed_batch_job_is_told_and_reset(testbed_cluster: Cluster) -> None:
    done = apply(
        testbed_cluster, testbed(), command("crawler", "false"), queue("first", "crawler"), code=1, words=("--wait",)
    )
    assert "first failed: " in done.err
    assert got(testbed_cluster, "bj", "crawler")["status"]["problems"]
    testbed_cluster.shunter("batchjob", "reset", "crawler", code=2)
    testbed_cluster.shunter("delete", "sched", "first", "--wait")
    eventually(lambda: reset(testbed_cluster, "crawler"), "it can be reset once nobody claims it")
    assert got(testbed_cluster, "bj", "crawler")["status"]["state"] == "ReadyState"


def test_who_failed_is_told_with_its_last_words_and_whoever_waits_for_it_with_what_to_delete(
    testbed_cluster: Cluster,
) -> None:
    broken = 'if [ $SHUNTER_EXECUTOR_INDEX = 1 ]; then echo "no such table" >&2; exit 3; fi; exec sleep 600'
    documents = [testbed(), command("broken", "sh", "-c", broken), command("other", "true")]
    said = apply(testbed_cluster, *documents, queue("first", "broken", "broken"), code=1, words=("--wait",))
    assert "shunter logs bj.broken/1\n  no such table\n" in said.err
    for kind, name in (("bj", "broken"), ("sched", "first")):
        words = "Last output of the failed task (shunter logs bj.broken/1)\n  no such table\n"
        assert words in described(testbed_cluster, kind, name)
    apply(testbed_cluster, queue("second", "other"))
    advice = "first holds its testbed and jobs until you delete it: shunter delete scheduling first"
    assert advice in described(testbed_cluster, "sched", "second")
    testbed_cluster.shunter("delete", "sched", "first")
    eventually(
        lambda: got(testbed_cluster, "sched", "second")["status"]["state"] == "CompletedState", "it had its turn"
    )
    assert "no such table" in described(testbed_cluster, "bj", "broken")


def described(cluster: Cluster, kind: str, name: str) -> str:
    return cluster.shunter("describe", kind, name).out


def reset(cluster: Cluster, name: str) -> bool:
    """A job that its Scheduling has let go is back by itself; else it is brought back."""
    if got(cluster, "bj", name)["status"]["state"] == "ReadyState":
        return True
    return cluster.shunter("batchjob", "reset", name, code=None).code == 0


def test_a_file_of_jobs_and_objects_is_applied_and_deleted_whole(testbed_cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    lasting = job("lasting", ("sleep", "600"), resources={"cpu": "100m"})
    nightly = job("nightly", schedule={"cron": "0 3 * * *"})
    wrong = {**nightly, "spec": {**nightly["spec"], "count": -1}}
    for last, code in ((wrong, 2), (nightly, 0)):
        file.write_text(as_yaml(testbed(), command("crawler"), queue("first", "crawler"), lasting, last))
        said = testbed_cluster.shunter("apply", "-f", str(file), code=code)
        assert code == 0 or "Job nightly: spec.count" in said.err
        assert testbed_cluster.items("get", "batchjobs") == [] or code == 0
    assert said.out.splitlines()[-2:] == ["Job lasting created", "Job nightly created"]
    eventually(lambda: got(testbed_cluster, "sched", "first")["status"]["state"] == "CompletedState", "it is completed")
    testbed_cluster.until("lasting", "running")
    done = testbed_cluster.shunter("delete", "-f", str(file))
    assert done.out.splitlines() == [
        "Template nightly deleted", "Job lasting stopped", "Scheduling first deleted", "BatchJob crawler deleted",
        "Testbed bench deleted",
    ]  # fmt: skip
    with testbed_cluster.client() as client:
        assert client.job("lasting").state == "cancelled"
        assert not list(client.templates())


def test_the_example_of_slots_runs_as_it_stands(testbed_cluster: Cluster) -> None:
    testbed_cluster.shunter("apply", "-f", str(EXAMPLES / "slots.yaml"), "--wait")
    assert testbed_cluster.shunter("logs", "bj.greeting/1").out == "executor 1 of 2 in slot 1\n"
    done = testbed_cluster.shunter("delete", "-f", str(EXAMPLES / "slots.yaml"))
    assert done.out.splitlines() == ["Scheduling greet deleted", "BatchJob greeting deleted", "Testbed bench deleted"]

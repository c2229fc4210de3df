"""Valid manifests and their specs; invalid ones and their messages."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.errors import Conflict, Invalid
from shunter.model.job import placement_fields, task_fields
from shunter.model.job.manifests import JobReader, check_labels, job_schema
from shunter.model.job.spec import COUNT_MAX, GroupSpec, JobSpec, Restart, TaskSpec
from shunter.model.schema.name_fields import NAME_SIZE_MAX
from shunter.model.schema.problems import PROBLEMS_MAX
from tests.unit.model.job.manifest_samples import fields, group, manifest, parse_job, problems


def test_the_least_manifest_gets_every_default() -> None:
    task = TaskSpec(command=("/bin/true",))
    assert parse_job(manifest()) == JobSpec("default", "render", (GroupSpec("main", 1, task, {"cpu": 1000}),))


def test_every_field_is_read() -> None:
    document = {
        "apiVersion": "shunter.dev/v1",
        "kind": "Job",
        "metadata": {"name": "render", "namespace": "film", "labels": {"team": "film", "a.b/c": ""}},
        "spec": {
            "type": "batch",
            "count": 100,
            "command": ["/usr/bin/render", "--quiet", ""],
            "env": {"QUALITY": "high"},
            "dir": "/srv",
            "resources": {"cpu": "500m", "memory": "256Mi", "disk": 10, "gpu": 1, "licence": 0},
            "restart": {"policy": "on-failure", "max": 5, "delay": "2s", "factor": 3, "delay_max": "1m", "jitter": 0},
            "timeout": {"queue": "1h", "run": "10m"},
            "priority": 70,
            "datacenters": ["berlin"],
            "constraints": ["node.labels.disk == 'ssd'"],
            "stop_grace": "1.5s",
            "log_max": "1Mi",
        },
    }
    task = TaskSpec(
        command=("/usr/bin/render", "--quiet", ""),
        env={"QUALITY": "high"},
        dir="/srv",
        cpu_milli=500,
        memory_bytes=256 * 2**20,
        disk_bytes=10,
        run_timeout_s=600.0,
        stop_grace_s=1.5,
        log_max_bytes=2**20,
        devices={"gpu": 1},
    )
    group = GroupSpec(
        name="main",
        count=100,
        task=task,
        needs={"cpu": 500, "memory": 256 * 2**20, "disk": 10, "gpu": 1},
        restart=Restart("on-failure", 5, 2.0, 3.0, 60.0, 0.0),
        datacenters=("berlin",),
        constraints=("node.labels.disk == 'ssd'",),
        queue_timeout_s=3600.0,
    )
    expected = JobSpec("film", "render", (group,), "batch", 70, {"team": "film", "a.b/c": ""})
    assert parse_job(document) == expected
    jsonschema.validate(document, job_schema())


def test_the_manifest_s_namespace_wins_over_the_default() -> None:
    document = manifest()
    assert parse_job(document, default_namespace="film").namespace == "film"
    document["metadata"]["namespace"] = "own"
    assert parse_job(document, default_namespace="film").namespace == "own"


def test_a_name_may_be_left_to_the_caller() -> None:
    assert parse_job(manifest(None), name_default="run-1").name == "run-1"
    assert parse_job(manifest("own"), name_default="run-1").name == "own"
    assert fields(manifest(None)) == ["metadata.name"]
    without = manifest()
    del without["metadata"]
    assert parse_job(without, name_default="run-1").name == "run-1"


def test_no_cpu_is_a_need_of_nothing() -> None:
    assert group(resources={"cpu": 0}).needs == {}
    assert group(resources={"cpu": 0}).task.cpu_milli == 0


def test_a_bare_timeout_limits_the_run() -> None:
    assert (group(timeout="90s").task.run_timeout_s, group(timeout="90s").queue_timeout_s) == (90.0, 0.0)
    assert group(timeout=90).task.run_timeout_s == 90.0


@pytest.mark.parametrize(
    ("restart", "most"),
    [
        ({"policy": "never"}, 3),
        ({"policy": "on-failure"}, 3),
        ({"policy": "always"}, None),
        ({"policy": "unless-stopped"}, None),
        ({"policy": "always", "max": 7}, 7),
        ({"policy": "on-failure", "max": "unlimited"}, None),
        ({"policy": "on-failure", "max": 0}, 0),
    ],
)
def test_restarts_are_limited_unless_the_task_is_to_run_for_ever(restart: dict[str, Any], most: int | None) -> None:
    assert group(restart=restart).restart.max == most


def test_a_long_delay_raises_the_greatest_delay_that_nobody_gave() -> None:
    assert group(restart={"policy": "always", "delay": "5m"}).restart.delay_max_s == 300.0
    assert fields(manifest(restart={"policy": "always", "delay": "5m", "delay_max": "1m"})) == [
        "spec.restart.delay_max"
    ]


def test_all_problems_are_found_at_once() -> None:
    document = {
        "apiVersion": "v1",
        "kind": "job",
        "metdata": {},
        "metadata": {"name": "A b", "labels": {"-": "x"}},
        "spec": {
            "comand": ["x"],
            "count": -1,
            "resources": {"memory": "lots"},
            "env": {"1a": "x"},
            "timeout": {"runn": "1s"},
            "constraints": "x",
        },
    }
    assert fields(document) == [
        *("apiVersion", "kind", "metdata", "metadata.name", "metadata.labels.-"),
        *("spec.comand", "spec.count", "spec.resources.memory", "spec.env.1a", "spec.timeout.runn"),
        "spec.constraints",
    ]


def test_unknown_fields_name_the_nearest_known_one() -> None:
    document = manifest(comand=["x"], resources={"memroy": 1, "cpus": 2}, restart={"polcy": "never"})
    fixes = {problem.field: problem.fix for problem in problems(document)}
    assert fixes["spec.comand"] == "did you mean command?"
    assert fixes["spec.resources.memroy"] == "did you mean memory?"
    assert fixes["spec.resources.cpus"] == "did you mean cpu?"
    assert fixes["spec.restart.polcy"] == "did you mean policy?"


@pytest.mark.parametrize("kind", ["Testbed", "BatchJob", "Scheduling"])
def test_kinds_that_are_applied_are_refused_with_the_way(kind: str) -> None:
    (problem,) = problems(manifest() | {"kind": kind})
    assert (problem.field, problem.value, problem.fix) == ("kind", kind, "use: shunter apply -f FILE")
    assert problem.message == "is applied, not submitted"


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"count": 0}, "count"),
        ({"count": COUNT_MAX + 1}, "count"),
        ({"count": 1.5}, "count"),
        ({"count": True}, "count"),
        ({"count": "3"}, "count"),
        ({"count": None}, "count"),
        ({"count": 10**5000}, "count"),
        ({"command": []}, "command"),
        ({"command": "echo hello"}, "command"),
        ({"command": [""]}, "command[0]"),
        ({"command": ["sleep", 5]}, "command[1]"),
        ({"command": ["a\0b"]}, "command[0]"),
        ({"command": ["\ud800"]}, "command[0]"),
        ({"command": ["x"] * (task_fields.COMMAND_WORDS_MAX + 1)}, "command"),
        ({"command": ["x" * (task_fields.COMMAND_WORD_SIZE_MAX + 1)]}, "command[0]"),
        ({"command": ["\u00e9" * (task_fields.COMMAND_WORD_SIZE_MAX // 2 + 1)]}, "command[0]"),
        ({"command": ["x" * 100_000] * 11}, "command"),
        ({"env": {"A": 1}}, "env.A"),
        ({"env": {1: "x"}}, "env.1"),
        ({"env": {"A=B": "x"}}, "env.A=B"),
        ({"env": {"": "x"}}, "env."),
        ({"env": {"A": "x" * (task_fields.ENV_VALUE_SIZE_MAX + 1)}}, "env.A"),
        ({"env": {f"A{n}": "x" for n in range(task_fields.ENV_ENTRIES_MAX + 1)}}, "env"),
        ({"env": {"SHUNTER_TASK_INDEX": "7"}}, "env.SHUNTER_TASK_INDEX"),
        ({"env": ["A=1"]}, "env"),
        ({"dir": "relative"}, "dir"),
        ({"dir": "/" + "x" * task_fields.PATH_SIZE_MAX}, "dir"),
        ({"dir": None}, "dir"),
        ({"resources": {"cpu": "-1"}}, "resources.cpu"),
        ({"resources": {"cpu": -1}}, "resources.cpu"),
        ({"resources": {"cpu": True}}, "resources.cpu"),
        ({"resources": {"cpu": [1]}}, "resources.cpu"),
        ({"resources": {"memory": "1Zi"}}, "resources.memory"),
        ({"resources": {"memory": "9Ei"}}, "resources.memory"),
        ({"resources": {"memory": float("nan")}}, "resources.memory"),
        ({"resources": {"memory": float("inf")}}, "resources.memory"),
        ({"resources": {"gpu": "1"}}, "resources.gpu"),
        ({"resources": {"gpu": 0.5}}, "resources.gpu"),
        ({"resources": {"GPU": 1}}, "resources.GPU"),
        ({"resources": {f"r{n}": 1 for n in range(task_fields.RESOURCES_MAX + 1)}}, "resources"),
        ({"resources": "500m"}, "resources"),
        ({"restart": "always"}, "restart"),
        ({"restart": {}}, "restart.policy"),
        ({"restart": {"policy": "sometimes"}}, "restart.policy"),
        ({"restart": {"policy": "never", "max": -1}}, "restart.max"),
        ({"restart": {"policy": "never", "max": "many"}}, "restart.max"),
        ({"restart": {"policy": "never", "factor": 0.5}}, "restart.factor"),
        ({"restart": {"policy": "never", "factor": float("nan")}}, "restart.factor"),
        ({"restart": {"policy": "never", "jitter": 2}}, "restart.jitter"),
        ({"restart": {"policy": "never", "delay": "8d"}}, "restart.delay"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": -1}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": 10**400}, "timeout"),
        ({"timeout": "367d"}, "timeout"),
        ({"timeout": []}, "timeout"),
        ({"priority": 101}, "priority"),
        ({"datacenters": "berlin"}, "datacenters"),
        ({"datacenters": ["Berlin"]}, "datacenters[0]"),
        ({"constraints": ["x" * (placement_fields.CONSTRAINT_SIZE_MAX + 1)]}, "constraints[0]"),
        ({"constraints": ["x"] * (placement_fields.CONSTRAINTS_MAX + 1)}, "constraints"),
        ({"stop_grace": "2h"}, "stop_grace"),
        ({"log_max": 0}, "log_max"),
        ({"log_max": "1Ti"}, "log_max"),
    ],
)
def test_a_wrong_value_is_refused_where_it_stands(spec: dict[str, Any], field: str) -> None:
    assert fields(manifest(**spec)) == [f"spec.{field}"]


@pytest.mark.parametrize("name", ["", "A", "-a", "a-", "a b", "a/b", "a@1", "x" * 64, "a\n", 5, None, ["a"]])
@pytest.mark.parametrize("field", ["name", "namespace"])
def test_names_that_could_not_be_referred_to_are_refused(field: str, name: object) -> None:
    document = manifest()
    document["metadata"][field] = name
    assert fields(document) == [f"metadata.{field}"]


@pytest.mark.parametrize("document", [None, [], "x", 5, {}, {"spec": 1, "metadata": 2}])
def test_what_is_no_manifest_at_all_is_refused(document: object) -> None:
    assert fields(document)


def test_limits_themselves_are_allowed() -> None:
    spec = {
        "count": COUNT_MAX,
        "command": ["x"] * task_fields.COMMAND_WORDS_MAX,
        "env": {f"A{n}": "x" for n in range(task_fields.ENV_ENTRIES_MAX)},
        "constraints": ["x" * placement_fields.CONSTRAINT_SIZE_MAX],
        "priority": 100,
        "log_max": task_fields.LOG_SIZE_MAX,
    }
    parse_job(manifest("x" * NAME_SIZE_MAX, **spec))


def test_values_of_the_environment_are_never_shown() -> None:
    for env in ({"A": 5}, {"A": "s3cret\0"}, {"A": ["s3cret"]}, "A=s3cret", {"b b": "s3cret"}):
        assert "s3cret" not in str(Invalid(problems(manifest(env=env))))
    assert "s3cret" not in str(Invalid(problems({**manifest(), "spec": [{"env": "s3cret"}]})))
    assert "s3cret" not in str(Invalid(problems(manifest(environment={"A": "s3cret"}))))


def test_a_hostile_manifest_is_given_up_on_early() -> None:
    document = manifest(**{f"field{n}": n for n in range(100_000)})
    assert len(problems(document)) == PROBLEMS_MAX


def test_constraints_are_checked_by_whoever_knows_them() -> None:
    def check(text: str) -> None:
        if text == "value":
            raise ValueError("must compare something")
        if text == "rejected":
            raise Conflict("is not for you")

    document = manifest(constraints=["good", "value", "rejected"])
    with pytest.raises(Invalid) as caught:
        parse_job(document, check_constraint=check)
    assert [(problem.field, problem.message) for problem in caught.value.problems] == [
        ("spec.constraints[1]", "must compare something"),
        ("spec.constraints[2]", "is not for you"),
    ]


def test_jobs_that_differ_in_their_name_only_share_what_is_alike() -> None:
    reader = JobReader(None)
    jobs = reader.read_all([manifest(f"job-{n}") for n in range(3)], default_namespace="film", make_name=None)
    assert [job.name for job in jobs] == ["job-0", "job-1", "job-2"]
    assert jobs[0].groups is jobs[1].groups is jobs[2].groups
    assert jobs == [parse_job(manifest(f"job-{n}"), default_namespace="film") for n in range(3)]


def test_what_was_read_before_changes_nothing_about_what_is_read_now() -> None:
    reader = JobReader(None)
    reader.read(manifest(priority=1))
    for document in (
        manifest("Bad", priority=1),
        manifest("", priority=1),
        manifest(priority=True),
        {**manifest(priority=1), "x": 1},
    ):
        with pytest.raises(Invalid):
            reader.read(document)
    with pytest.raises(Invalid):
        reader.read(manifest(None, priority=1))
    assert reader.read(manifest("b", priority=1), default_namespace="film").namespace == "film"
    assert reader.read(manifest("c", priority=2)).priority == 2


def test_a_reader_forgets_the_oldest_and_never_keeps_large_ones() -> None:
    reader = JobReader(None, cached_jobs_max=2)
    first, _, third = (reader.read(manifest(priority=priority)) for priority in (1, 2, 3))
    assert reader.read(manifest(priority=3)).groups is third.groups
    assert reader.read(manifest(priority=1)).groups is not first.groups
    large = manifest(env={"A": "x" * 20_000})
    assert reader.read(large).groups is not reader.read(large).groups


def test_problems_of_several_manifests_are_told_apart() -> None:
    reader = JobReader(None)
    documents = [manifest("a"), manifest("b", count=0), manifest(None), manifest("c", env={"SHUNTER_JOB": ""})]
    with pytest.raises(Invalid) as caught:
        reader.read_all(documents, default_namespace=None, make_name=None)
    assert [problem.field for problem in caught.value.problems] == [
        *("items[1].spec.count", "items[2].metadata.name", "items[3].spec.env.SHUNTER_JOB")
    ]


def test_labels_are_checked_on_their_own_as_well() -> None:
    check_labels({"a": "b", "gone": None}, "labels")
    wrong: list[dict[str, str | None]] = [{"a b": None}, {"a": "x" * 300}, {"a": "line\nbreak"}]
    for labels in wrong:
        with pytest.raises(Invalid):
            check_labels(labels, "labels")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
SPEC_FIELDS = tuple(job_schema()["properties"]["spec"]["properties"])


@given(st.dictionaries(st.sampled_from(SPEC_FIELDS), JSON_VALUES), JSON_VALUES)
def test_any_document_is_either_read_or_refused_as_invalid(spec: dict[str, Any], metadata: object) -> None:
    for document in (manifest(**spec), {**manifest(), "metadata": metadata}, spec):
        try:
            job = parse_job(document, name_default="x")
        except Invalid as error:
            assert error.problems
        else:
            assert not list(jsonschema.Draft202012Validator(job_schema()).iter_errors(document)), job

"""Groups: what they take from their job, and how they wait for one another."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.job.manifests import JobReader, validate_documents
from shunter.model.job.spec import GroupAfter
from tests.unit.model.job.manifest_samples import fields, job, manifest, problems


def job_with_groups(*groups: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest(groups=list(groups), **spec)


def test_fields_of_the_job_are_the_groups_defaults() -> None:
    split, work = job(
        env={"LEVEL": "info", "A": "1"},
        resources={"cpu": "500m", "memory": "1Gi"},
        restart={"policy": "on-failure", "max": 9},
        timeout={"run": "1m", "queue": "1h"},
        datacenters=["berlin"],
        count=2,
        groups=[
            {"name": "split"},
            {
                "name": "work",
                "command": ["work"],
                "count": 5,
                "env": {"LEVEL": "debug"},
                "resources": {"cpu": 2},
                "restart": {"max": 1},
                "timeout": "5m",
                "datacenters": [],
                "after": ["split"],
            },
        ],
    ).groups
    assert (split.name, split.count, split.task.command) == ("split", 2, ("/bin/true",))
    assert split.task.env == {"LEVEL": "info", "A": "1"}
    assert split.needs == {"cpu": 500, "memory": 2**30}
    assert (work.name, work.count, work.task.command) == ("work", 5, ("work",))
    assert work.task.env == {"LEVEL": "debug", "A": "1"}
    assert work.needs == {"cpu": 2000, "memory": 2**30}
    assert (work.restart.policy, work.restart.max) == ("on-failure", 1)
    assert (work.task.run_timeout_s, work.queue_timeout_s) == (300.0, 3600.0)
    assert (split.datacenters, work.datacenters) == (("berlin",), ())
    assert work.after == (GroupAfter("split"),)


def test_a_group_that_counts_itself_does_not_take_the_job_s_count() -> None:
    groups = job(array="1-3", groups=[{"name": "a"}, {"name": "b", "count": 7}, {"name": "c", "entries": ["x"]}]).groups
    assert [(group.count, group.array, group.entries) for group in groups] == [
        (3, ((1, 3, 1),), ()),
        (7, (), ()),
        (1, (), ("x",)),
    ]


def test_every_group_needs_something_to_run() -> None:
    document = job_with_groups({"name": "a", "command": ["x"]}, {"name": "b"})
    del document["spec"]["command"]
    assert fields(document) == ["spec.groups[1].command"]


def test_problems_are_told_where_they_stand_and_once() -> None:
    document = job_with_groups({"name": "a"}, {"name": "b", "env": {"SHUNTER_JOB": "x"}}, env={"SHUNTER_NODE": "y"})
    assert fields(document) == ["spec.env.SHUNTER_NODE", "spec.groups[1].env.SHUNTER_JOB"]
    assert fields(job_with_groups({"name": "a"}, {"name": "b"}, {"name": "c"}, args=["x"])) == ["spec.args"]
    assert fields(job_with_groups({"nme": "a"})) == ["spec.groups[0].name", "spec.groups[0].nme"]
    assert fields(job_with_groups({"name": "a", "priority": 1})) == ["spec.groups[0].priority"]


@pytest.mark.parametrize(
    ("groups", "field", "message"),
    [
        ([{"name": "a"}, {"name": "a"}], "groups[1].name", "is already the name of another group"),
        ([{"name": "a", "after": ["b"]}], "groups[0].after[0].group", "is not a group of this job"),
        ([{"name": "a", "after": ["a"]}], "groups[0].after", "groups depend on each other in a cycle: a -> a"),
        (
            [{"name": "x", "after": ["a"]}, {"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]}],
            "groups[1].after",
            "groups depend on each other in a cycle: a -> b -> a",
        ),
        (
            [{"name": "a"}, {"name": "b", "after": ["a", "a"]}],
            "groups[1].after[1]",
            "names the same group twice",
        ),
        (
            [{"name": "a", "count": 6_000_000}, {"name": "b", "count": 6_000_000}],
            "groups",
            "must have at most 10,000,000",
        ),
    ],
)
def test_groups_that_cannot_work_together_are_refused(groups: list[Any], field: str, message: str) -> None:
    (problem,) = problems(job_with_groups(*groups))
    assert problem.field == f"spec.{field}"
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("counts", "field"), [((10_001,), "spec.groups[0].count"), ((6_000, 6_000), "spec.groups")], ids=["one", "several"]
)
def test_a_service_has_at_most_ten_thousand_tasks(counts: tuple[int, ...], field: str) -> None:
    groups = [{"name": f"g{number}", "count": count} for number, count in enumerate(counts)]
    (problem,) = problems(job_with_groups(*groups, type="service"))
    assert (problem.field, problem.message) == (field, "a service has at most 10,000 tasks")
    assert len(job(groups=groups).groups) == len(counts)


def test_groups_of_a_gang_do_not_wait_for_one_another() -> None:
    waiting = {"name": "b", "after": ["a"]}
    assert fields(job_with_groups({"name": "a"}, waiting, gang=True)) == ["spec.groups[1].after"]
    assert job(groups=[{"name": "a", "gang": True}, waiting]).groups[0].gang


def test_a_job_that_is_a_gang_is_one_with_all_of_its_groups() -> None:
    both = job(gang=True, groups=[{"name": "a"}, {"name": "b"}])
    assert both.options.gang
    assert [group.gang for group in both.groups] == [True, True]
    one = job(groups=[{"name": "a", "gang": True}, {"name": "b"}])
    assert not one.options.gang
    assert [group.gang for group in one.groups] == [True, False]
    assert fields(job_with_groups({"name": "a", "gang": False}, gang=True)) == ["spec.groups[0].gang"]


def test_jobs_of_one_file_that_wait_for_one_another_are_refused_with_the_cycle() -> None:
    documents = [
        manifest("first"),
        manifest("a", after=["first", "c"]),
        manifest("b", after=["a"]),
        manifest("c", after=[{"job": "b", "when": "finished"}]),
    ]
    (problem,) = validate_documents(documents)
    assert (problem.field, problem.message) == (
        "items[1].spec.after",
        "jobs depend on each other in a cycle: a -> c -> b -> a",
    )
    assert validate_documents(documents[:3]) == []


def test_a_job_may_wait_for_an_earlier_run_of_its_own_but_not_for_itself() -> None:
    assert validate_documents([manifest("a", after=["a@3"])]) == []
    (problem,) = validate_documents([manifest("a", after=["a"])])
    assert (problem.field, problem.message) == ("spec.after", "jobs depend on each other in a cycle: a -> a")


def test_a_cycle_is_found_although_the_jobs_are_alike() -> None:
    reader = JobReader(None)
    alike = [manifest("a", after=["b"]), manifest("c", after=["b"])]
    jobs = reader.read_all(alike, default_namespace=None, make_name=None)
    assert jobs[0].options is jobs[1].options
    assert validate_documents([*alike, manifest("b", after=["b"])])[0].message.endswith("b -> b")


@pytest.mark.parametrize("name", ["a@0", "a@x", "@1", "a@", "a@1234567890", "A", "a b", 5, None])
def test_what_names_no_job_cannot_be_waited_for(name: object) -> None:
    assert fields(manifest(after=[name])) == ["spec.after[0]"]
    assert fields(manifest(after=[{"job": name}])) == ["spec.after[0].job"]


def test_a_name_that_a_file_gives_to_two_jobs_is_refused() -> None:
    one, same, other = manifest("twice"), manifest("twice"), manifest("twice", count=2)
    assert validate_documents([one, same, manifest(None), manifest(None, count=2)]) == []
    [problem] = validate_documents([one, manifest("once"), other])
    assert (problem.field, problem.value) == ("items[2].metadata.name", "twice")
    elsewhere = other | {"metadata": {"name": "twice", "namespace": "other"}}
    assert validate_documents([one, elsewhere]) == []

"""What single fields allow, but not together; what a type allows; unknown fields at every depth."""

from __future__ import annotations

from typing import Any

import pytest

from shunter.model.errors import Invalid
from shunter.model.job.job_fields import FIELDS_BY_TYPE, TYPES
from shunter.model.job.manifests import validate_documents
from tests.unit.model.job.manifest_samples import container, fields, manifest, parse_job, problems

# A value for each field that only some types have.
SOME: dict[str, Any] = {
    "count": 2, "array": "1-2", "entries": ["a"], "gang": True, "parallel_max": 1, "failures_max": 1, "estimate": "1m",
    "deadline": "1h", "schedule": "@daily", "parameters": {}, "distinct": "host", "spread": ["rack"], "update": {},
    "at_most_once": True, "stdin": "",
}  # fmt: skip


@pytest.mark.parametrize("field", FIELDS_BY_TYPE)
@pytest.mark.parametrize("job_type", TYPES)
def test_each_type_has_its_own_fields(job_type: str, field: str) -> None:
    document = manifest(type=job_type, **{field: SOME[field]})
    if job_type in FIELDS_BY_TYPE[field]:
        assert parse_job(document).type == job_type
    else:
        (problem,) = problems(document)
        assert problem.field == f"spec.{field}"
        assert (
            problem.message == f"is only allowed for jobs of type {' or '.join(FIELDS_BY_TYPE[field])}, not {job_type}"
        )


def test_a_group_is_held_to_the_type_of_its_job() -> None:
    assert fields(manifest(type="system", groups=[{"name": "a", "count": 2}])) == ["spec.groups[0].count"]


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"args": ["x"]}, "args", "is only allowed for containers; put them into command"),
        ({"mounts": [{"source": "/a", "target": "/b"}]}, "mounts", "is only allowed for containers; add image"),
        ({"network": "host"}, "network", "is only allowed for containers"),
        (
            {"type": "system", "affinity": [{"to": "node", "match": "node.name == 'a'"}]},
            "affinity[0].require",
            "which runs on every matching node; add require: true",
        ),
        ({"runtime": "docker"}, "image", "is missing"),
        ({"isolation": "container"}, "isolation", "needs a container (got 'container'); add image"),
        ({"image": "x", "isolation": "user"}, "isolation", "must be container if image is set"),
        ({"isolation": "vm"}, "isolation", "must be user or namespace or container"),
        ({"image": "x", "runtime": "process"}, "runtime", "must not be process"),
        ({"ports": [{"name": "web", "port": 80}]}, "ports[0].port", "listen on $SHUNTER_PORT_WEB"),
        ({"ports": [{"name": "a"}, {"name": "a"}]}, "ports[1].name", "is already used by another port"),
        ({"ports": [{"name": "a", "host_port": 5}, {"name": "b", "host_port": 5}]}, "ports[1].host_port", "another"),
        ({"image": "x", "ports": [{"name": "web"}]}, "ports[0].port", "is missing"),
        ({"image": "x", "network": "host", "ports": [{"name": "web", "port": 80}]}, "ports[0].port", "host_port"),
        (
            {"image": "x", "network": "none", "ports": [{"name": "w", "port": 1}]},
            "ports",
            "is not allowed with network: none",
        ),
        (
            {"image": "x", "mounts": [{"source": "/a", "target": "/t"}, {"source": "/b", "target": "/t"}]},
            "mounts[1].target",
            "is the target of another mount",
        ),
        ({"health": [{}]}, "health[0]", "exactly one of http, tcp, command and plugin"),
        ({"health": [{"tcp": 80, "command": ["x"]}]}, "health[0]", "exactly one"),
        ({"health": [{"http": "/"}]}, "health[0].port", "is missing; add it, and define ports"),
        ({"health": [{"tcp": "wbe"}], "ports": [{"name": "web"}]}, "health[0].tcp", "did you mean web?"),
        (
            {"health": [{"http": "/", "port": "db"}], "ports": [{"name": "web"}]},
            "health[0].port",
            "is not a port of this task",
        ),
        ({"health": [{"plugin": "http"}]}, "health[0].plugin", "must name a plugin"),
        ({"array": "1-5", "entries": ["a"]}, "entries", "is not allowed together with array"),
        (
            {"array": "1-5", "count": 4},
            "count",
            "must equal the 5 items of array (got 4); leave it out, or set it to 5",
        ),
        ({"entries": ["a"], "count": 4}, "count", "must equal the 1 items of entries"),
        ({"array": "1-5%2"}, "array", "set the number after % as parallel_max"),
        ({"gang": True, "count": 4, "parallel_max": 3}, "parallel_max", "must be at least 4, the size of the gang"),
        ({"restart": {"max": 3}}, "restart.policy", "is missing"),
        (
            {"stdout": "/tmp/out", "count": 2},
            "stdout",
            "must contain %i, because otherwise all tasks write to the same file",
        ),
        ({"stderr": "out%%i", "count": 2}, "stderr", "must contain %i"),
        ({"stdout": "/tmp/%x"}, "stdout", "must be a path, with %j"),
        ({"type": "service", "timeout": {"job": "1h"}}, "timeout.job", "which run until they are stopped"),
        ({"start_at": "tomorrow"}, "start_at", "must be a time or a duration"),
        ({"deadline": "1m", "start_at": "2m"}, "deadline", "must be later than start_at"),
        ({"schedule": "@daily", "parameters": {}}, "parameters", "is not allowed together with schedule"),
        ({"schedule": "@daily", "start_at": "1m"}, "start_at", "is not allowed together with schedule"),
        ({"schedule": "@daily", "deadline": "2030-01-01T00:00:00Z"}, "deadline", "must be a duration"),
        ({"parameters": {}, "start_at": "2030-01-01T00:00:00Z"}, "start_at", "must be a duration"),
        (
            {"parameters": {"required": ["a-b"], "optional": {"A_B": ""}}},
            "parameters",
            "has the same parameter twice",
        ),
        ({"schedule": {"cron": "* * *"}}, "schedule.cron", "must have five fields, found 3"),
        ({"schedule": "0 0 30 2 *"}, "schedule", "has a bad day-of-month"),
        ({"schedule": {}}, "schedule.cron", "is missing"),
        ({"after": ["a", "a"]}, "after[1]", "names the same job twice"),
        ({"resources": {"port/80": 1}}, "resources.port/80", "is reserved for ports"),
        ({"env": {"SHUNTER_PORT_WEB": "1"}}, "env.SHUNTER_PORT_WEB", "is reserved for Shunter"),
        (
            {"restart": {"policy": "never", "on_exit": [{"codes": [], "action": "fail"}]}},
            "restart.on_exit[0].codes",
            "1",
        ),
        ({"restart": {"policy": "never", "on_exit": [{"codes": [1]}]}}, "restart.on_exit[0].action", "is missing"),
        ({"affinity": [{"match": "x"}]}, "affinity[0].to", "is missing; add to: node or job"),
        ({"user": "a b"}, "user", "must be a user name or number"),
    ],
)
def test_what_does_not_go_together_is_refused_in_words(spec: dict[str, Any], field: str, words: str) -> None:
    (problem,) = problems(manifest(**spec))
    assert problem.field == f"spec.{field}"
    assert words in str(problem)


@pytest.mark.parametrize(
    ("spec", "field", "fix"),
    [
        ({"imge": "x"}, "imge", "did you mean image?"),
        ({"health": [{"htp": "/"}]}, "health[0].htp", "did you mean http?"),
        ({"ports": [{"name": "a", "hostport": 1}]}, "ports[0].hostport", "did you mean host_port?"),
        ({"schedule": {"cron": "@daily", "time_zone": "UTC"}}, "schedule.time_zone", "did you mean timezone?"),
        ({"update": {"paralel": 1}, "type": "service"}, "update.paralel", "did you mean parallel?"),
        ({"groups": [{"name": "a", "comand": ["x"]}]}, "groups[0].comand", "did you mean command?"),
        ({"timeout": {"jobb": 1}}, "timeout.jobb", "did you mean job?"),
        ({"after": [{"job": "a", "wen": "failed"}]}, "after[0].wen", "did you mean when?"),
        ({"affinity": [{"to": "nodes", "match": "x"}]}, "affinity[0].to", "did you mean node?"),
    ],
)
def test_a_slip_of_the_pen_is_met_with_the_nearest_word(spec: dict[str, Any], field: str, fix: str) -> None:
    (problem,) = problems(manifest(**spec))
    assert (problem.field, problem.fix) == (f"spec.{field}", fix)


def test_a_file_is_validated_without_a_cluster() -> None:
    def refuse(text: str) -> None:
        raise ValueError(f"cannot read {text}")

    affinity = [{"to": "node", "match": "n"}, {"to": "job", "match": "j"}]
    documents = [container(constraints=["c"], affinity=affinity), manifest(None), {"kind": "Job"}]
    assert validate_documents(documents[:2]) == []
    found = validate_documents(documents, check_constraint=refuse, check_job_match=refuse)
    assert [(problem.field, problem.message) for problem in found] == [
        ("items[0].spec.constraints[0]", "cannot read c"),
        ("items[0].spec.affinity[0].match", "cannot read n"),
        ("items[0].spec.affinity[1].match", "cannot read j"),
        ("items[2].apiVersion", "is missing"),
        ("items[2].spec", "is missing"),
    ]


def test_a_worker_must_not_stop_tasks_after_a_short_cut() -> None:
    with pytest.raises(Invalid, match=r"spec.disconnect.stop_after: must be at least 10 s"):
        parse_job(manifest(disconnect={"stop_after": "5s"}))
    [group] = parse_job(manifest(disconnect={"stop_after": "30s", "replace_after": "1m"}, at_most_once=True)).groups
    assert (group.task.stop_after_s, group.replace_after_s, group.at_most_once) == (30.0, 60.0, True)

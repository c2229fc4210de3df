"""What the fields of the whole job model become: containers, health, restarts, times, options."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from shunter.model.job.spec import (
    Affinity,
    After,
    Container,
    ExitRule,
    HealthCheck,
    JobOptions,
    Mount,
    Parameters,
    Port,
    Restart,
    Schedule,
    Spread,
    Update,
)
from shunter.model.job.task_fields import STDIN_BYTES_MAX
from shunter.planning.filter.cel import parse_constraint
from shunter.planning.view import NodeKind
from tests.unit.model.job.manifest_samples import container, fields, group, job, manifest, parse_job, problems

OFFERS = ("user", "namespace", "root", "none")


def test_an_image_makes_a_container() -> None:
    document = container(
        args=["--loud"],
        network="host",
        cap_add=["CAP_NET_ADMIN", "SYS_PTRACE"],
        pids_max=100,
        pull="always",
        read_only=True,
        user=1000,
        mounts=[{"source": "/srv", "target": "/data", "read_only": True}, {"source": "cache", "target": "/cache"}],
    )
    task = parse_job(document).groups[0].task
    assert (task.runtime, task.command, task.user) == ("docker", (), "1000")
    assert task.container == Container(
        "busybox", ("--loud",), "host", ("NET_ADMIN", "SYS_PTRACE"), 100, "always", read_only=True
    )
    assert task.mounts == (Mount("/srv", "/data", read_only=True), Mount("cache", "/cache"))


@pytest.mark.parametrize(
    ("isolation", "offered"), [("user", ["user"]), ("namespace", ["namespace", "user"]), (None, [*OFFERS, ""])]
)
def test_isolation_is_a_constraint_on_what_nodes_offer(isolation: str | None, offered: list[str]) -> None:
    constraints = group(**({} if isolation is None else {"isolation": isolation})).constraints
    kinds = {name: NodeKind("dc1", {}, {"isolation": name} if name else {}) for name in (*OFFERS, "")}
    met = [name for name, kind in kinds.items() if all(parse_constraint(text).holds(kind) for text in constraints)]
    assert sorted(met) == sorted(offered)


def test_a_plugin_s_runtime_is_named() -> None:
    assert group(runtime="spark").task.runtime == "spark"
    task = parse_job(container(runtime="podman")).groups[0].task
    assert (task.runtime, task.container) == ("podman", Container("busybox"))


def test_a_fixed_port_is_a_need_of_its_node() -> None:
    ports = [{"name": "web", "port": 80, "host_port": 8080}, {"name": "admin", "port": 81}]
    found = parse_job(container(ports=ports)).groups[0]
    assert found.task.ports == (Port("web", 80, 8080), Port("admin", 81))
    assert found.needs == {"cpu": 1000, "port/8080": 1}
    assert found.task.devices == {}


def test_a_process_serves_the_port_of_the_node() -> None:
    assert group(ports=[{"name": "web"}, {"name": "b", "host_port": 9}]).task.ports == (Port("web", 0), Port("b", 9, 9))


def test_health_checks_know_their_port() -> None:
    checks = [
        {"http": "/health"},
        {"http": "/ready", "port": 9000, "interval": "5s", "timeout": 1, "failures": 2, "start_grace": "1m"},
        {"tcp": "web"},
        {"tcp": 9001},
        {"command": ["check", "-v"]},
        {"plugin": "grpc", "options": {"service": "shop"}},
    ]
    assert group(ports=[{"name": "web"}], health=checks).task.health == (
        HealthCheck("http", path="/health", port="web"),
        HealthCheck("http", "/ready", "9000", (), 5.0, 1.0, 2, 60.0),
        HealthCheck("tcp", port="web"),
        HealthCheck("tcp", port="9001"),
        HealthCheck("command", command=("check", "-v")),
        HealthCheck("grpc", options={"service": "shop"}),
    )


@pytest.mark.parametrize(
    ("job_type", "restart", "expected"),
    [
        ("batch", None, Restart("never", 3)),
        ("sysbatch", None, Restart("never", 3)),
        ("service", None, Restart("always", 3)),
        ("system", None, Restart("always", 3)),
        ("service", {"max": 7}, Restart("always", 7)),
        ("service", {"policy": "on-failure", "max": "unlimited"}, Restart("on-failure", None)),
        ("batch", {"policy": "always"}, Restart("always", None)),
        (
            "batch",
            {"policy": "on-failure", "on_exit": [{"codes": [3, 4], "action": "fail"}], "elsewhere": True},
            Restart("on-failure", 3, on_exit=(ExitRule((3, 4), "fail"),), elsewhere=True),
        ),
    ],
)
def test_the_type_decides_what_is_restarted(job_type: str, restart: dict[str, Any] | None, expected: Restart) -> None:
    said = {} if restart is None else {"restart": restart}
    assert group(type=job_type, **said).restart == expected


def test_where_tasks_run_is_said_by_the_group() -> None:
    found = group(
        count=4,
        distinct="host",
        spread=["rack", {"label": "zone", "weight": 2}],
        affinity=[
            {"to": "node", "match": "node.labels.disk == 'ssd'", "weight": 5},
            {"to": "job", "match": "job.name == 'db'", "require": True, "anti": True},
        ],
        exclusive=True,
        parallel_max=2,
        estimate="90s",
    )
    assert found.spread == (Spread("rack"), Spread("zone", 2.0))
    assert found.affinity == (
        Affinity("node", "node.labels.disk == 'ssd'", weight=5.0),
        Affinity("job", "job.name == 'db'", require=True, anti=True),
    )
    assert (found.distinct, found.exclusive, found.parallel_max, found.estimate_s) == ("host", True, 2, 90.0)


def test_an_array_or_entries_say_how_many_tasks_there_are() -> None:
    assert (group(array="1-9:2,20").count, group(array="1-9:2,20").array) == (6, ((1, 9, 2), (20, 20, 1)))
    assert group(array=[1, 3, 5, 20]).array == ((1, 5, 2), (20, 20, 1))
    assert (group(entries=["a", "b"]).count, group(entries=["a", "b"]).entries) == (2, ("a", "b"))
    assert group(count=2, entries=["a", "b"]).count == 2


def test_what_runs_on_every_node_has_no_count() -> None:
    assert group(type="system").count == 0
    assert group(type="sysbatch").count == 0


def test_an_update_starts_first_and_stops_then_unless_the_port_is_taken() -> None:
    port = [{"name": "web", "host_port": 80}]
    assert group(type="service", update={"parallel": 2, "healthy_for": "9s", "rollback": False}).update == Update(
        2, 0, 9.0, 300.0, rollback=False
    )
    assert group(type="system").update.unavailable_max == 0
    assert group(type="system", ports=port).update.unavailable_max == 1
    assert group(type="service", ports=port).update.unavailable_max == 0
    refused = manifest(type="system", ports=port, update={"unavailable_max": 0})
    assert fields(refused) == ["spec.update.unavailable_max"]


def test_what_holds_for_the_job_as_a_whole_is_in_its_options() -> None:
    options = job(
        after=["fetch", {"job": "clean@3", "when": "finished", "otherwise": "run"}],
        start_at="10m",
        deadline="2030-01-31T09:00:00+01:00",
        queue="nightly",
        timeout={"job": "4h"},
        failures_max=5,
        hold=True,
    ).options
    assert options == JobOptions(
        after=(After("fetch"), After("clean@3", "finished", "run")),
        start_in_s=600.0,
        deadline_ms=1896076800000,
        queue="nightly",
        timeout_s=4 * 3600.0,
        failures_max=5,
        held=True,
    )


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("2030-01-31T08:00:00Z", 1896076800000),
        ("2030-01-31t08:00z", 1896076800000),
        ("2030-01-31 08:00:00.250+00:00", 1896076800250),
        ("2030-01-31T09:00:00+0100", 1896076800000),
    ],
)
def test_a_time_is_one_of_the_clock_with_its_zone(text: str, at_ms: int) -> None:
    assert job(start_at=text).options.start_at_ms == at_ms


@pytest.mark.parametrize(
    "text", ["2030-01-31T08:00:00", "2030-01-31", "2030-13-01T00:00:00Z", "1960-01-01T00:00:00Z", "x"]
)
def test_half_a_time_is_refused(text: str) -> None:
    assert fields(manifest(start_at=text)) == ["spec.start_at"]


def test_schedules_and_parameters_make_a_template() -> None:
    assert job(schedule="@daily").options.schedule == Schedule("@daily")
    schedule = {"cron": "*/5 * * * *", "timezone": "Europe/Berlin", "overlap": "queue", "catch_up": "last"}
    assert job(schedule=schedule).options.schedule == Schedule("*/5 * * * *", "Europe/Berlin", "queue", "last")
    parameters = {"required": ["target"], "optional": {"quality": "90"}, "payload": "required"}
    assert job(parameters=parameters).options.parameters == Parameters(("target",), {"quality": "90"}, "required")
    assert job(schedule="@daily").is_template
    assert job(parameters={}).is_template
    assert not job().is_template


def test_standard_input_is_base64_for_processes_that_are_no_templates() -> None:
    task = group(stdin="AAH/").task
    assert (task.payload, task.payload_is_stdin) == (b"\0\1\xff", True)
    assert (group().task.payload, group().task.payload_is_stdin) == (None, False)
    for wrong in ("a?", 3, "QQ", b64encode(bytes(STDIN_BYTES_MAX + 1)).decode()):
        assert fields(manifest(stdin=wrong)) == ["spec.stdin"]
    assert group(stdin=b64encode(bytes(STDIN_BYTES_MAX)).decode()).task.payload == bytes(STDIN_BYTES_MAX)
    others: list[dict[str, Any]] = [
        {"image": "busybox"},
        {"runtime": "plugin"},
        {"schedule": "@daily"},
        {"parameters": {}},
    ]
    for other in others:
        assert fields(manifest(stdin="", **other)) == ["spec.stdin"]
    assert fields(manifest(stdin="", type="service")) == ["spec.stdin"]


def test_an_unknown_time_zone_is_refused_with_the_nearest_one() -> None:
    (problem,) = problems(manifest(schedule={"cron": "@daily", "timezone": "Europe/Berln"}))
    assert (problem.field, problem.fix) == ("spec.schedule.timezone", "did you mean Europe/Berlin?")


def test_a_gang_of_one_group_is_the_group_s_alone() -> None:
    assert job(count=3, gang=True).options == JobOptions()
    assert group(count=3, gang=True).gang


def test_whole_numbers_may_be_spelt_as_json_clients_without_whole_numbers_spell_them() -> None:
    job = parse_job(
        {
            "apiVersion": "shunter.dev/v1",
            "kind": "Job",
            "metadata": {"name": "job"},
            "spec": {"command": ["true"], "array": [1.0, 3.0, 5.0], "user": 1000.0, "priority": 7.0},
        }
    )
    assert (job.groups[0].array, job.groups[0].task.user, job.priority) == (((1, 5, 2),), "1000", 7)


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"memory": 5}, "memory: must be 0 or at least 1Mi (got 5); 5 means 5 bytes; did you mean 5Mi?"),
        ({"memory": "256"}, "memory: must be 0 or at least 1Mi (got '256'); 256 means 256 bytes; did you mean 256Mi?"),
        ({"memory": "1k"}, "memory: must be 0 or at least 1Mi (got '1k'); write it like 256Mi or 4Gi"),
        (
            {"memory": "1GB"},
            "memory: must be a quantity (got '1GB'); did you mean 1G (10^9 bytes) or 1Gi (2^30 bytes)?",
        ),
        ({"cpu": "abc"}, "cpu: must be a quantity (got 'abc'); write it like 2 or 500m"),
        ({"mem": "1Gi"}, "mem: unknown resource; did you mean memory?"),
        ({"cpus": 1}, "cpus: unknown resource; did you mean cpu?"),
        ({"cores": 1}, "cores: unknown resource; did you mean cpu?"),
    ],
)
def test_a_wrong_resource_is_answered_with_what_was_probably_meant(resources: dict[str, Any], said: str) -> None:
    [problem] = problems(manifest(resources=resources))
    assert str(problem) == f"spec.resources.{said}"


def test_no_memory_and_a_mebibyte_are_accepted() -> None:
    assert [group(resources={"memory": text}).needs.get("memory", 0) for text in (0, "1Mi", 2**20)] == [0, 2**20, 2**20]


def test_a_machine_is_no_label() -> None:
    [problem] = problems(manifest(distinct="node"))
    assert problem.fix == "to spread over machines write `distinct: host`"
    assert group(distinct="host").distinct == "host" and group(distinct="rack").distinct == "rack"

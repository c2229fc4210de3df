"""Short spellings of a run's options, compared with what the cluster makes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from shunter.model.job.spec import After, JobSpec, Mount, Port
from shunter.sdk.errors import Invalid
from shunter.sdk.manifests import job_manifest
from tests.unit.model.job.manifest_samples import parse_job


def job_of(**options: Any) -> JobSpec:
    return parse_job(job_manifest(["x"], options), name_default="x")


def test_an_array_may_say_how_many_at_once() -> None:
    group = job_of(array="1-9:2, 20 %3").groups[0]
    assert (group.count, group.parallel_max, group.array) == (6, 3, ((1, 9, 2), (20, 20, 1)))


def test_an_array_may_be_a_list_of_indexes() -> None:
    assert job_of(array=[3, 5, 7]).groups[0].array == ((3, 7, 2),)


def test_two_limits_that_differ_are_refused() -> None:
    assert job_of(array="1-9%3", parallel_max=3).groups[0].parallel_max == 3
    with pytest.raises(Invalid, match="parallel_max is 4"):
        job_of(array="1-9%3", parallel_max=4)


@pytest.mark.parametrize("data", ["grüße", "grüße".encode()])
def test_standard_input_is_text_or_bytes(data: str | bytes) -> None:
    task = job_of(stdin=data).groups[0].task
    assert (task.payload, task.payload_is_stdin) == ("grüße".encode(), True)


def test_entries_give_the_count() -> None:
    assert job_of(entries=["a", "b"]).groups[0].count == 2


@pytest.mark.parametrize(("retries", "restart"), [(0, ("never", 3)), (5, ("on-failure", 5))])
def test_retries_are_restarts_on_failure(retries: int, restart: tuple[str, int]) -> None:
    group = job_of(retries=retries).groups[0]
    assert (group.restart.policy, group.restart.max) == restart


def test_after_may_say_when() -> None:
    assert job_of(after=["a", "b:finished"]).options.after == (After("a"), After("b", "finished"))
    assert job_of(after="a").options.after == (After("a"),)


@pytest.mark.parametrize(
    ("spelt", "at_ms", "in_s"),
    [
        ("90m", 0, 5400.0),
        (timedelta(minutes=2), 0, 120.0),
        ("2030-01-31T08:00Z", 1_896_076_800_000, 0.0),
        (datetime(2030, 1, 31, 8, tzinfo=UTC), 1_896_076_800_000, 0.0),
    ],
)
def test_a_time_is_of_the_clock_or_from_now_on(spelt: object, at_ms: int, in_s: float) -> None:
    start, end = job_of(start_at=spelt).options, job_of(deadline=spelt).options
    assert (start.start_at_ms, start.start_in_s) == (end.deadline_ms, end.deadline_s) == (at_ms, in_s)


@pytest.mark.parametrize("spelt", ["2030-01-31 08:00", "2030-01-31T08:00:00"])
def test_a_time_without_a_zone_is_the_callers(spelt: str) -> None:
    here = datetime(2030, 1, 31, 8).astimezone()
    assert job_of(start_at=spelt).options.start_at_ms == here.timestamp() * 1000


def test_a_container_has_mounts_and_ports_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    task = job_of(
        image="busybox", mounts=["./in:/in:ro", "cache:/var/cache"], ports=["web=80", "admin=8081:81"], dir="/in"
    ).groups[0].task  # fmt: skip
    assert task.mounts == (Mount(f"{tmp_path}/in", "/in", True), Mount("cache", "/var/cache"))
    assert task.ports == (Port("web", 80), Port("admin", 81, 8081))
    assert task.dir == "/in"


@pytest.mark.parametrize("options", [{}, {"image": "busybox", "network": "host"}])
def test_what_has_no_network_of_its_own_has_ports_of_its_node(options: dict[str, Any]) -> None:
    task = job_of(ports=["web", "admin=8081"], **options).groups[0].task
    assert task.ports == (Port("web", 0), Port("admin", 8081, 8081))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"mounts": ["/in"]}, "mounts"),
        ({"mounts": ["/in:/to:rw"]}, "mounts"),
        ({"ports": ["web=8080:80"]}, "ports"),  # a process has no port but the node's
        ({"ports": ["=80"]}, "ports"),
        ({"ports": ["99999"]}, "ports"),  # a port without a name
        ({"ports": ["8080:80"]}, "ports"),
        ({"ports": ["web=http"]}, "ports"),
        ({"array": "1-9%none"}, "array"),
    ],
)
def test_what_is_spelt_wrongly_is_refused_with_the_way_to_spell_it(options: dict[str, Any], word: str) -> None:
    with pytest.raises(Invalid) as refusal:
        job_of(**options)
    [problem] = refusal.value.problems
    assert problem.field == word and problem.fix


def test_files_for_streams_begin_in_the_folder_of_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "100%"
    folder.mkdir()
    monkeypatch.chdir(folder)
    escaped = str(folder).replace("%", "%%")
    assert job_of(dir=".", stdout="out/%j.txt").groups[0].task.stdout == f"{escaped}/out/%j.txt"
    assert job_of(dir="/srv", stderr="../err").groups[0].task.stderr == "/err"
    assert job_of(image="busybox", dir="/inside", stdout="out").groups[0].task.stdout == f"{escaped}/out"
    assert job_of(stdout="out").groups[0].task.stdout == "out"  # in the task's own folder
    assert job_of(dir="/srv", stdout="/dev/null").groups[0].task.stdout == "/dev/null"

"""The commands for Testbeds, BatchJobs and Schedulings, against the real API with objects in memory."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.cli.completion import OFFERED_MAX
from shunter.cli.describe import ROW_SHOWN_MAX
from shunter.cli.object_options import complete_kinds, complete_objects
from shunter.cli.object_tables import results_of
from shunter.cli.printing import yaml_text
from shunter.model.batch_jobs import (
    BatchJobState,
    BatchJobStatus,
    Claim,
    ScheduledEvent,
)
from shunter.model.documents import parse_documents
from shunter.model.errors import Conflict
from shunter.model.object_meta import ObjectName
from shunter.model.object_views import PastRunView
from shunter.model.schedulings import JobProgress, JobRecord, SchedulingState, SchedulingStatus
from shunter.model.testbeds import Slot, SlotHolder, SlotPlace, SlotState, TestbedState, TestbedStatus
from shunter.ports.callers import Caller
from tests.contracts.memory_objects import T0_MS, MemoryObjectDesk
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.api.fake_gateway import TOKEN
from tests.unit.api.live_server import live_server

from .conftest import Shunter

ME = Caller("me")
JOB, FIRST, BENCH = (ObjectName("default", name) for name in ("crawler", "first", "bench"))


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryObjectDesk]:
    """What the commands reach."""
    with live_server() as (port, gateway):
        monkeypatch.setenv("SHUNTER_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("SHUNTER_TOKEN", TOKEN)
        monkeypatch.delenv("SHUNTER_NAMESPACE", raising=False)
        yield gateway.objects


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    def write(*documents: object) -> str:
        path = tmp_path / "objects.yaml"
        path.write_text("---\n".join(map(yaml_text, documents)))
        return str(path)

    return write


def do(action: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(action)


async def move(desk: MemoryObjectDesk, kind: str, name: ObjectName, **changes: Any) -> None:
    found: Any = await desk.object(ME, kind, name)
    await desk.put(msgspec.structs.replace(found, **changes))


# ---- apply, delete ----


@pytest.mark.usefixtures("desk")
def test_apply_says_what_became_of_each(shunter: Shunter, file: Callable[..., str]) -> None:
    path = file(testbed(), batch_job(), scheduling())
    assert (
        shunter("apply", "-f", path).out
        == "Testbed bench created\nBatchJob crawler created\nScheduling first created\n"
    )
    changed = file(testbed(slotsPerNode=3), batch_job())
    assert shunter("apply", "-f", changed).out == "Testbed bench configured\nBatchJob crawler unchanged\n"
    said = shunter("apply", "-f", changed, "-n", "film", "-o", "json")
    assert [item["namespace"] for item in json.loads(said.out)["items"]] == ["film"] * 2


@pytest.mark.usefixtures("desk")
def test_apply_refuses_whole_files_with_every_problem(shunter: Shunter, file: Callable[..., str]) -> None:
    said = shunter("apply", "-f", file(testbed(), testbed("b", slotsPerNode=-1), scheduling() | {"spec": {}}))
    assert said.code == 2
    assert "Testbed b: spec.slotsPerNode: must be 0 to 1,000 (got -1)" in said.err
    assert "Scheduling first: spec.testbed: is missing; add testbed: {name: ...}" in said.err
    assert shunter("get", "tb").out.splitlines()[1:] == []


@pytest.mark.usefixtures("desk")
def test_apply_says_in_which_of_several_files_the_problem_is(
    shunter: Shunter, file: Callable[..., str], tmp_path: Path
) -> None:
    good, wrong, broken = file(testbed(), batch_job()), tmp_path / "wrong.yaml", tmp_path / "broken.yaml"
    wrong.write_text(yaml_text(scheduling() | {"spec": {}}) + "---\nkind: Testbed\n")
    broken.write_text("a: b: c\n")
    said = shunter("apply", "-f", good, "-f", str(wrong))
    assert f"{wrong}: Scheduling first: spec.testbed: is missing" in said.err
    assert f"{wrong}: document 2: spec: is missing" in said.err
    said = shunter("apply", "-f", good, "-f", str(broken))
    assert said.code == 2 and f"{broken}: line 1, column 5: mapping values are not allowed" in said.err


@pytest.mark.usefixtures("desk")
def test_apply_says_what_a_manifest_says_in_vain(shunter: Shunter, file: Callable[..., str]) -> None:
    spark = {"type": "Python", "mainApplicationFile": "/opt/a.py", "image": "spark:4"}
    said = shunter("apply", "-f", file(batch_job(commandSpec=None, sparkSpec=spark)))
    assert (said.code, said.out) == (0, "BatchJob crawler created\n")
    assert "crawler: sparkSpec.image is not used: there are no images here" in said.err


@pytest.mark.usefixtures("desk")
def test_what_get_prints_can_be_applied_again(shunter: Shunter, file: Callable[..., str], tmp_path: Path) -> None:
    external = {"profiler": [{"other": "24 (16)", "third": "1e3"}]}
    shunter("apply", "-f", file(testbed(), batch_job(externalScheduler=external), scheduling()))
    for words in (("tb", "bench"), ("bj",), ("schedulings",)):
        for output in ("yaml", "json"):
            printed = tmp_path / "printed"
            printed.write_text(shunter("get", *words, "-o", output).out)
            said = shunter("apply", "-f", str(printed))
            assert said.code == 0 and said.out.endswith(" unchanged\n"), said


def test_apply_waits_for_schedulings_and_tells_by_its_code_how_they_ended(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    path = file(scheduling())
    for state, code in ((SchedulingState.COMPLETED, 0), (SchedulingState.FAILED, 1)):
        do(desk.apply(ME, [scheduling()], namespace="default"))
        do(move(desk, "Scheduling", FIRST, status=SchedulingStatus(state, problems=["nothing started"])))
        said = shunter("apply", "-f", path, "--wait")
        assert said.code == code
    assert "first failed: nothing started" in said.err


@pytest.mark.usefixtures("desk")
def test_delete_by_name_and_by_file(shunter: Shunter, file: Callable[..., str]) -> None:
    path = file(testbed(), batch_job(), scheduling())
    shunter("apply", "-f", path)
    said = shunter("delete", "-f", path, "--wait")
    assert said.out == "Scheduling first deleted\nBatchJob crawler deleted\nTestbed bench deleted\n"
    shunter("apply", "-f", path)
    assert shunter("delete", "bj", "crawler").out == "BatchJob crawler deleted\n"
    said = shunter("delete", "bj", "crawler")
    assert said.code == 2 and "there is no BatchJob default/crawler" in said.err
    assert shunter("delete").code == shunter("delete", "bj").code == 2


def test_delete_says_of_what_is_still_needed_that_it_goes_later_and_goes_on_past_what_is_refused(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shunter("apply", "-f", file(testbed(), testbed("other"), batch_job(), batch_job("second")))
    delete = desk.delete

    async def refuse_or_keep(caller: Caller, kind: str, name: ObjectName, revision: int | None = None) -> Any:
        if name == JOB:
            raise Conflict(f"BatchJob {name} is used by scheduling {FIRST}; delete that first")
        return await desk.object(caller, kind, name) if name == BENCH else await delete(caller, kind, name, revision)

    monkeypatch.setattr(desk, "delete", refuse_or_keep)
    said = shunter("delete", "tb", "bench", "other")
    assert said.out == "Testbed bench deleting; it goes when what runs in it has ended\nTestbed other deleted\n"
    said = shunter("delete", "bj", "crawler", "second")
    assert (said.code, said.out) == (2, "BatchJob second deleted\n")
    assert "is used by scheduling default/first; delete that first" in said.err


# ---- get ----


@pytest.mark.usefixtures("desk")
def test_kinds_are_known_by_all_their_names_and_the_nearest_is_offered(
    shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed()))
    tables = {shunter("get", word).out for word in ("testbeds", "testbed", "tb", "Testbed")}
    assert len(tables) == 1
    said = shunter("get", "tesbeds")
    assert said.code == 2 and "did you mean testbeds?" in said.err
    said = shunter("get", "jobs")
    assert said.code == 2 and "use: shunter jobs" in said.err


def test_get_has_a_line_for_each(desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(desk))
    lines = {kind: shunter("get", kind).out.splitlines() for kind in ("tb", "bj", "sched")}
    assert re.split(r"  +", lines["tb"][1])[:8] == ["bench", "RUNNING", "4", "2", "1", "1", "2", "first"]
    assert re.split(r"  +", lines["bj"][1])[:6] == ["crawler", "RunningState", "command", "first", "0-1", "2"]
    assert re.split(r"  +", lines["sched"][1])[:5] == ["first", "SubmissionState", "bench", "queue", "1 Scheduled"]
    assert "a free slot" in lines["sched"][1]
    one = shunter("get", "bj", "crawler")
    assert one.out.splitlines() == lines["bj"]
    everywhere = shunter("get", "bj", "-n", "*").out.splitlines()[1]
    assert everywhere.split()[:2] == ["default", "crawler"]
    assert shunter("get", "bj", "nothing").code == 2


def test_get_tells_what_deleted_schedulings_did(desk: MemoryObjectDesk, shunter: Shunter) -> None:
    do(desk.apply(ME, [scheduling()], namespace="default"))
    do(desk.delete(ME, "Scheduling", FIRST))
    lines = shunter("get", "schedulings", "--past").out.splitlines()
    assert lines[1].split()[1:5] == ["first", "AcquireState", "bench", "queue"]
    assert json.loads(shunter("get", "sched", "--past", "-o", "json").out)["items"][0]["name"] == "first"
    assert "is for schedulings only" in shunter("get", "tb", "--past").err


async def occupy(desk: MemoryObjectDesk) -> None:
    """Four slots on two nodes, one reserved and one occupied, by a job that runs for the second time."""
    size, holder = {"cpu": 100}, SlotHolder(JOB, 0, FIRST)
    slots = (
        Slot(SlotPlace("beta", 0), 0, size, SlotState.OCCUPIED, T0_MS, holder),
        Slot(SlotPlace("alpha", 0), 1, size, SlotState.RESERVED, T0_MS, SlotHolder(JOB, 1, FIRST)),
        Slot(SlotPlace("beta", 1), 0, size, SlotState.FREE, T0_MS),
        Slot(SlotPlace("alpha", 1), 1, size, SlotState.FREE, T0_MS, is_leaving=True),
    )
    problems = {"gamma": ["Requires 200m of cpu. Available: 100m"]}
    status = TestbedStatus(TestbedState.RUNNING, slots, problems, ["a node is too small"], 1, (FIRST,))
    await move(desk, "Testbed", BENCH, status=status)
    events = (
        ScheduledEvent(T0_MS, ObjectName("other", "past"), BENCH, (0,), 4, T0_MS + 24_000, False),
        ScheduledEvent(T0_MS, FIRST, BENCH, (0, 1), 5),
    )
    places = (SlotPlace("beta", 0), SlotPlace("alpha", 0))
    running = BatchJobStatus(
        BatchJobState.RUNNING, events, FIRST, BENCH, (0, 1), places, 5, ["once it failed"], 1, runs=2
    )
    await move(desk, "BatchJob", JOB, claim=Claim(FIRST), status=running)
    records = (JobRecord(JobProgress.SCHEDULED, (0, 1), 5),)
    waiting = SchedulingStatus(SchedulingState.SUBMISSION, T0_MS, records, "a free slot", ["late"], 1)
    await move(desk, "Scheduling", FIRST, status=waiting)


# ---- describe ----


def test_describe_shows_a_testbed_as_a_grid(desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(desk))
    said = shunter("describe", "tb", "bench").out
    assert "Testbed default/bench" in said and "4 on 2 nodes: 2 free, 1 occupied, 1 reserved" in said
    grid = said[said.index("NODE") :].splitlines()
    assert re.split(r"  +", grid[0]) == ["NODE", "SLOT 1", "SLOT 2"]
    assert re.split(r"  +", grid[1]) == ["beta", "#0 OCCUPIED crawler[0] by first 0s", "#2 FREE 0s"]
    assert re.split(r"  +", grid[2]) == ["alpha", "#1 RESERVED crawler[1] by first 0s", "#3 FREE 0s, leaves"]
    assert "gamma: Requires 200m of cpu. Available: 100m" in said and "a node is too small" in said


def test_describe_shows_many_slots_of_a_node_in_a_line_each(desk: MemoryObjectDesk, shunter: Shunter) -> None:
    do(desk.apply(ME, [testbed(slotsPerNode=20)], namespace="default"))
    slots = tuple(Slot(SlotPlace("alpha", place), 1, {"cpu": 100}, since_ms=T0_MS) for place in range(20))
    do(move(desk, "Testbed", BENCH, status=TestbedStatus(TestbedState.SUCCESS, slots)))
    lines = shunter("describe", "tb", "bench").out.splitlines()
    assert lines[-1].split() == ["19", "FREE", "alpha", "-", "0s"]


def test_describe_shows_how_far_a_scheduling_is(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(desk))
    said = shunter("describe", "sched", "first").out
    assert "queue of 1 executor of 1 job" in said
    assert "waits for  a free slot" in said and "Problems\n  late" in said
    assert "Scheduled\n  crawler, slots 0-1" in said


def test_describe_counts_what_is_beyond_the_first_jobs_of_a_long_queue(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    names = [f"job-{number}" for number in range(1234)]
    spec = {"queueBased": [{"name": name} for name in names], "testbed": {"name": "bench"}}
    shunter("apply", "-f", file(testbed(), scheduling() | {"spec": spec}))
    records = (JobRecord(JobProgress.IN_QUEUE),) * len(names)
    do(move(desk, "Scheduling", FIRST, status=SchedulingStatus(SchedulingState.SUBMISSION, 0, records)))
    said = shunter("describe", "sched", "first").out
    assert "InQueue\n  job-0\n" in said and said.endswith("  job-19\n  and 1,214 more\n")


def test_describe_shows_a_batch_job_with_its_runs(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    noted = {"profiler": [{"sorter": "24 (16)", "pi": "27 (16)"}, {"long": "x" * 999}]}
    shunter("apply", "-f", file(testbed(), batch_job(externalScheduler=noted), scheduling()))
    do(occupy(desk))
    said = shunter("describe", "bj", "crawler").out
    assert "claimed by first" in said and "0-1 on beta, alpha" in said and "waits" not in said
    assert "Noted by profiler\n  sorter: 24 (16), pi: 27 (16)\n  long: xxx" in said
    assert max(map(len, said.splitlines())) <= 2 + ROW_SHOWN_MAX
    assert "shunter logs bj.crawler/executor/0" in said and "Problems\n  once it failed" in said
    runs = [re.split(r"  +", line) for line in said[said.index("START") :].splitlines()[1:]]
    assert [run[2:] for run in runs] == [
        ["running", "first", "bench", "0-1"],
        ["failed", "other/past", "bench", "0"],
    ]
    assert runs[1][1].strip() == "24s"


def test_describe_says_which_task_of_a_batch_job_waits_and_for_what(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(desk))
    job = {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["true"]}}
    assert shunter("submit", "-f", file(job | {"metadata": {"name": "bj.crawler"}})).code == 0
    assert "waits      it waits for the test See: shunter why bj.crawler" in shunter("describe", "bj", "crawler").out


def test_who_waits_for_a_scheduling_that_has_ended_is_told_to_delete_it(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    """It keeps its claims so that schedulers can write to its jobs; a person who does not know that waits for ever."""
    path = file(testbed(), batch_job(), scheduling(), scheduling("second"))
    shunter("apply", "-f", path)
    do(move(desk, "Testbed", BENCH, status=TestbedStatus(claims=(FIRST,))))
    do(move(desk, "Scheduling", FIRST, status=SchedulingStatus(SchedulingState.SUBMISSION)))
    waits = SchedulingStatus(
        SchedulingState.ACQUIRE, waits_for="scheduling default/first, which uses testbed default/bench"
    )
    do(move(desk, "Scheduling", ObjectName("default", "second"), status=waits))
    assert "delete" not in shunter("describe", "sched", "second").out
    do(move(desk, "Scheduling", FIRST, status=SchedulingStatus(SchedulingState.COMPLETED)))
    advice = "it keeps its testbed and its jobs until it is deleted: shunter delete scheduling first"
    assert f"In its way, though it has ended\n  first: {advice}\n" in shunter("describe", "sched", "second").out
    assert f"  next       {advice}\n" in shunter("describe", "sched", "first").out


# ---- edit ----


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets a sed script be the person."""

    def write(script: str) -> None:
        program = tmp_path / "editor"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("EDITOR", str(program))
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        monkeypatch.setattr("tempfile.tempdir", None)

    return write


def kept(text: str) -> Path:
    found = re.search(r"what you wrote is kept: shunter apply -f (\S+)", text)
    assert found is not None, text
    return Path(found[1])


def test_edit_applies_what_was_changed(
    desk: MemoryObjectDesk, shunter: Shunter, editor: Callable[[str], None], tmp_path: Path
) -> None:
    external = {"profiler": [{"a": "24 (16)"}]}
    do(desk.apply(ME, [testbed(), batch_job(externalScheduler=external)], namespace="default"))
    editor('sed -i "s/slotsPerNode: 2/slotsPerNode: 7/" "$1"')
    assert shunter("edit", "tb", "bench").out == "Testbed bench configured\n"
    assert do(desk.object(ME, "Testbed", BENCH)).spec.slots_per_node == 7
    editor('sed -i "/externalScheduler/,/24/d" "$1"')
    assert shunter("edit", "bj", "crawler").out == "BatchJob crawler configured\n"
    assert do(desk.object(ME, "BatchJob", JOB)).spec.external == {}
    for script in ("true", 'echo "" > "$1"'):
        editor(script)
        assert shunter("edit", "tb", "bench").out == "Testbed bench unchanged\n"
    assert list(tmp_path.glob("shunter-*")) == []


def test_edit_is_not_disturbed_by_a_status_that_moves(
    desk: MemoryObjectDesk, shunter: Shunter, editor: Callable[[str], None]
) -> None:
    do(desk.apply(ME, [testbed()], namespace="default"))
    read = desk.object

    async def read_and_move(caller: Caller, kind: str, name: ObjectName) -> Any:
        found: Any = await read(caller, kind, name)
        if desk.revision < 6:
            await desk.put(msgspec.structs.replace(found, status=TestbedStatus(observed_generation=desk.revision)))
        return found

    desk.object = read_and_move  # type: ignore[method-assign]
    editor('sed -i "s/slotsPerNode: 2/slotsPerNode: 7/" "$1"')
    assert shunter("edit", "tb", "bench").out == "Testbed bench configured\n"


def test_edit_says_that_somebody_else_was_faster_and_keeps_the_file(
    desk: MemoryObjectDesk, shunter: Shunter, editor: Callable[[str], None], file: Callable[..., str]
) -> None:
    do(desk.apply(ME, [testbed()], namespace="default"))
    other = f"{Path(sys.executable).parent}/shunter apply -f {file(testbed(slotsPerNode=9))} > /dev/null"
    editor(f'sed -i "s/slotsPerNode: 2/slotsPerNode: 7/" "$1"; {other}')
    said = shunter("edit", "tb", "bench")
    assert said.code == 2 and "Testbed bench was changed by somebody else in the meantime" in said.err
    assert "slotsPerNode: 7" in kept(said.err).read_text()
    assert do(desk.object(ME, "Testbed", BENCH)).spec.slots_per_node == 9


def test_edit_keeps_what_is_refused(desk: MemoryObjectDesk, shunter: Shunter, editor: Callable[[str], None]) -> None:
    do(desk.apply(ME, [testbed()], namespace="default"))
    editor('sed -i "s/slotsPerNode: 2/slotsPerNode: -1/" "$1"')
    said = shunter("edit", "tb", "bench")
    assert said.code == 2 and "spec.slotsPerNode: must be 0 to 1,000 (got -1)" in said.err
    assert "slotsPerNode: -1" in kept(said.err).read_text()
    editor('sed -i "s/name: bench/name: other/" "$1"')
    said = shunter("edit", "tb", "bench")
    assert said.code == 2 and "metadata.name: says which object is edited" in said.err
    editor('echo "# half" >> "$1"; exit 1')
    said = shunter("edit", "tb", "bench")
    assert "EDITOR: ended with an error" in said.err
    assert kept(said.err).read_text().endswith("# half\n")


def test_edit_leaves_no_file_behind_where_nothing_was_written(
    desk: MemoryObjectDesk,
    shunter: Shunter,
    editor: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    do(desk.apply(ME, [testbed()], namespace="default"))
    editor("exit 1")
    said = [shunter("edit", "tb", "bench")]
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    said.append(shunter("edit", "tb", "bench"))
    assert [each.code for each in said] == [2, 2]
    assert "ended with an error" in said[0].err and "set EDITOR to the editor of your choice" in said[1].err
    assert "is kept" not in said[0].err + said[1].err
    assert list(tmp_path.glob("shunter-*")) == []


# ---- watch, reset, the rest ----


def test_watch_tells_what_is_there_and_what_changes(
    desk: MemoryObjectDesk, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(desk))
    desk.is_eager = True  # which ends every stream; the watch goes on until the patience of the client ends
    lines = watched(shunter, desk, "watch")
    assert [line.split()[1:5] for line in lines[:3]] == [
        ["ADDED", "Testbed", "bench", "RUNNING"],
        ["ADDED", "BatchJob", "crawler", "RunningState"],
        ["ADDED", "Scheduling", "first", "SubmissionState"],
    ]
    assert lines[0].endswith("2 free, 1 occupied, 1 reserved")
    assert lines[1].endswith("by first, slots 0-1, once it failed")
    assert lines[2].endswith("1 Scheduled, waits for a free slot, late")
    documents = [json.loads(line) for line in watched(shunter, desk, "watch", "tb", "--after", "0", "-o", "json")]
    assert [each["type"] for each in documents] == ["ADDED", "MODIFIED"]


def watched(shunter: Shunter, desk: MemoryObjectDesk, *words: str) -> list[str]:
    """What a watch says until its cluster is gone for good."""
    watch = desk.watch
    calls = 0

    async def once(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise RuntimeError("the test has seen enough")
        return await watch(*arguments)

    desk.watch = once  # type: ignore[method-assign, assignment]
    try:
        return shunter(*words).out.splitlines()
    finally:
        desk.watch = watch  # type: ignore[method-assign]


def test_a_failed_batch_job_is_reset(desk: MemoryObjectDesk, shunter: Shunter) -> None:
    do(desk.apply(ME, [batch_job()], namespace="default"))
    assert shunter("batchjob", "reset", "crawler").out == "crawler is ReadyState already: nothing to reset\n"
    do(move(desk, "BatchJob", JOB, status=BatchJobStatus(BatchJobState.FAILED)))
    assert shunter("batchjob", "reset", "crawler").out == "crawler is ReadyState\n"
    do(move(desk, "BatchJob", JOB, status=BatchJobStatus(BatchJobState.FAILED)))
    [shown] = json.loads(shunter("batchjob", "reset", "crawler", "-o", "json").out)["items"]
    assert (shown["kind"], shown["metadata"]["name"]) == ("BatchJob", "crawler")


@pytest.mark.usefixtures("desk")
def test_submit_points_to_apply(shunter: Shunter, file: Callable[..., str]) -> None:
    path = file(batch_job())
    said = shunter("submit", "-f", path)
    assert said.code == 2 and f"use: shunter apply -f {path}" in said.err
    said = shunter("plan", "-f", path)
    assert said.code == 2 and said.err.count("\n") == 1 and "is applied, not submitted" in said.err


def test_validate_knows_every_kind_without_a_cluster(shunter: Shunter, file: Callable[..., str]) -> None:
    path = file(testbed(), batch_job(), scheduling())
    assert shunter("validate", "-f", path).out == f"{path}: valid, 3 objects\n"
    said = shunter("validate", "-f", file(testbed(), testbed("b", slotPerNode=1)))
    assert said.code == 2 and "Testbed b: spec.slotPerNode: unknown field; did you mean slotsPerNode?" in said.err
    job = {"apiVersion": "shunter.dev/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"command": ["true"]}}
    path = file(testbed(), job)
    assert shunter("validate", "-f", path).out == f"{path}: valid, 1 job, 1 object\n"
    said = shunter("validate", "-f", file(testbed(slotsPerNode=-1), job | {"spec": {"comand": ["true"]}}))
    assert said.code == 2 and "Testbed bench: spec.slotsPerNode: must be" in said.err
    assert "Job a: spec.comand: unknown field; did you mean command?" in said.err
    assert json.loads(shunter("validate", "--schema", "--kind", "tb").out)["title"] == "Testbed"
    assert shunter("validate", "--schema", "--kind", "pod").code == 2


def test_the_shell_is_offered_kinds_and_names(desk: MemoryObjectDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Typed:
        params = {"kind": "tb"}

    do(desk.apply(ME, [testbed(), testbed("other"), batch_job()], namespace="default"))
    assert complete_kinds("t") == ["testbed", "testbeds"]
    assert complete_objects(Typed(), "b") == ["bench"]  # type: ignore[arg-type]
    assert len(complete_objects(Typed(), "")) <= OFFERED_MAX  # type: ignore[arg-type]
    monkeypatch.setenv("SHUNTER_URL", "http://127.0.0.1:1")
    assert complete_objects(Typed(), "") == []  # type: ignore[arg-type]


_PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12)
    | st.from_regex(r"[-+.0-9oxe_:~nN]{1,8}", fullmatch=True),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(st.text(min_size=1, max_size=6), _PLAIN, min_size=1, max_size=4))
def test_yaml_that_is_printed_is_read_as_the_same(plain: dict[str, Any]) -> None:
    assert parse_documents(yaml_text(plain)) == [plain]


def test_the_results_of_many_runs_are_counted() -> None:
    same = {"namespace": "default", "slot_ids": [0], "nodes": ["n1"], "start": None, "stop": None}
    runs = [
        msgspec.convert({"name": f"j{number}", "successful": number != 7, **same}, PastRunView)
        for number in range(1_000)
    ]
    assert results_of(runs) == "999 succeeded, 1 failed; the first that did not: j7"
    assert results_of(runs[6:9]) == "j6 succeeded, j7 failed, j8 succeeded"
    assert results_of([]) == "-"

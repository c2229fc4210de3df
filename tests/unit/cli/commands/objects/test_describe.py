"""What get and describe show of Testbeds, BatchJobs and Schedulings, against the real API with objects in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import msgspec
import pytest

from shunter.cli.commands.objects.describe import ROW_SHOWN_MAX
from shunter.cli.render.object_tables import results_of
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import JobProgress, JobRecord, SchedulingState, SchedulingStatus
from shunter.model.objects.testbeds import Slot, SlotPlace, TestbedState, TestbedStatus
from shunter.model.rest.object_views import PastRunView
from tests.contracts.memory_objects import T0_MS, MemoryObjectService
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.cli.conftest import Shunter
from tests.unit.cli.object_harness import BENCH, FIRST, do, move, occupy

# ---- get ----


@pytest.mark.usefixtures("object_service")
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


def test_get_has_a_line_for_each(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(object_service))
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


def test_get_tells_what_deleted_schedulings_did(object_service: MemoryObjectService, shunter: Shunter) -> None:
    do(object_service.apply([scheduling()], namespace="default"))
    do(object_service.delete("Scheduling", FIRST))
    lines = shunter("get", "schedulings", "--past").out.splitlines()
    assert lines[1].split()[1:5] == ["first", "AcquireState", "bench", "queue"]
    assert json.loads(shunter("get", "sched", "--past", "-o", "json").out)["items"][0]["name"] == "first"
    assert "works only for schedulings" in shunter("get", "tb", "--past").err


# ---- describe ----


def test_describe_shows_a_testbed_as_a_grid(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(object_service))
    said = shunter("describe", "tb", "bench").out
    assert "Testbed default/bench" in said and "4 on 2 nodes: 2 free, 1 occupied, 1 reserved" in said
    grid = said[said.index("NODE") :].splitlines()
    assert re.split(r"  +", grid[0]) == ["NODE", "SLOT 1", "SLOT 2"]
    assert re.split(r"  +", grid[1]) == ["beta", "#0 OCCUPIED crawler[0] by first 0s", "#2 FREE 0s"]
    assert re.split(r"  +", grid[2]) == ["alpha", "#1 RESERVED crawler[1] by first 0s", "#3 FREE 0s, leaving"]
    assert "gamma: Requires 200m of cpu. Available: 100m" in said and "a node is too small" in said


def test_describe_shows_many_slots_of_a_node_in_a_line_each(
    object_service: MemoryObjectService, shunter: Shunter
) -> None:
    do(object_service.apply([testbed(slotsPerNode=20)], namespace="default"))
    slots = tuple(Slot(SlotPlace("alpha", place), 1, {"cpu": 100}, since_ms=T0_MS) for place in range(20))
    do(move(object_service, "Testbed", BENCH, status=TestbedStatus(TestbedState.SUCCESS, slots)))
    lines = shunter("describe", "tb", "bench").out.splitlines()
    assert lines[-1].split() == ["19", "FREE", "alpha", "-", "0s"]


def test_describe_shows_how_far_a_scheduling_is(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(object_service))
    said = shunter("describe", "sched", "first").out
    assert "queue of 1 executor of 1 job" in said
    assert "waits for  a free slot" in said and "Problems\n  late" in said
    assert "Scheduled\n  crawler, slots 0-1" in said


def test_describe_counts_what_is_beyond_the_first_jobs_of_a_long_queue(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    names = [f"job-{number}" for number in range(1234)]
    spec = {"queueBased": [{"name": name} for name in names], "testbed": {"name": "bench"}}
    shunter("apply", "-f", file(testbed(), scheduling() | {"spec": spec}))
    records = (JobRecord(JobProgress.IN_QUEUE),) * len(names)
    do(move(object_service, "Scheduling", FIRST, status=SchedulingStatus(SchedulingState.SUBMISSION, 0, records)))
    said = shunter("describe", "sched", "first").out
    assert "InQueue\n  job-0\n" in said and said.endswith("  job-19\n  and 1,214 more\n")


def test_describe_shows_a_batch_job_with_its_runs(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    noted = {"profiler": [{"sorter": "24 (16)", "pi": "27 (16)"}, {"long": "x" * 999}]}
    shunter("apply", "-f", file(testbed(), batch_job(externalScheduler=noted), scheduling()))
    do(occupy(object_service))
    said = shunter("describe", "bj", "crawler").out
    assert "claimed by first" in said and "0-1 on beta, alpha" in said and "pending" not in said
    assert "Notes of profiler\n  sorter: 24 (16), pi: 27 (16)\n  long: xxx" in said
    assert max(map(len, said.splitlines())) <= 2 + ROW_SHOWN_MAX
    assert "shunter logs bj.crawler/executor/0" in said and "Problems\n  once it failed" in said
    runs = [re.split(r"  +", line) for line in said[said.index("START") :].splitlines()[1:]]
    assert [run[2:] for run in runs] == [
        ["running", "first", "bench", "0-1", "-"],
        ["failed", "other/past", "bench", "0", "node n1 is down"],
    ]
    assert runs[1][1].strip() == "24s"


def test_describe_says_which_task_of_a_batch_job_waits_and_for_what(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(object_service))
    job = {"apiVersion": "shunter.dev/v1", "kind": "Job", "spec": {"command": ["true"]}}
    assert shunter("submit", "-f", file(job | {"metadata": {"name": "bj.crawler"}})).code == 0
    assert "pending    it waits for the test See: shunter why bj.crawler" in shunter("describe", "bj", "crawler").out


def test_who_waits_for_a_scheduling_that_has_ended_is_told_to_delete_it(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    """It keeps its claims so that schedulers can write to its jobs; a person who does not know that waits for ever."""
    path = file(testbed(), batch_job(), scheduling(), scheduling("second"))
    shunter("apply", "-f", path)
    do(move(object_service, "Testbed", BENCH, status=TestbedStatus(claims=(FIRST,))))
    do(move(object_service, "Scheduling", FIRST, status=SchedulingStatus(SchedulingState.SUBMISSION)))
    waits = SchedulingStatus(
        SchedulingState.ACQUIRE, waits_for="scheduling default/first, which uses testbed default/bench"
    )
    do(move(object_service, "Scheduling", ObjectName("default", "second"), status=waits))
    assert "delete" not in shunter("describe", "sched", "second").out
    do(move(object_service, "Scheduling", FIRST, status=SchedulingStatus(SchedulingState.COMPLETED)))
    advice = "holds its testbed and jobs until you delete it: shunter delete scheduling first"
    assert f"Blocked by Schedulings that have ended\n  first {advice}\n" in shunter("describe", "sched", "second").out
    assert f"  note       {advice}\n" in shunter("describe", "sched", "first").out


def test_the_results_of_many_runs_are_counted() -> None:
    same = {"namespace": "default", "slot_ids": [0], "nodes": ["n1"], "start": None, "stop": None}
    runs = [
        msgspec.convert({"name": f"j{number}", "successful": number != 7, **same}, PastRunView)
        for number in range(1_000)
    ]
    assert results_of(runs) == "999 succeeded, 1 failed; first that did not succeed: j7"
    assert results_of(runs[6:9]) == "j6 succeeded, j7 failed, j8 succeeded"
    assert results_of([]) == "-"

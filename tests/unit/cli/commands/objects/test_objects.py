"""apply and delete of Testbeds, BatchJobs and Schedulings, against the real API with objects in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shunter.cli.render.tables import yaml_text
from shunter.model.errors import Conflict
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.schedulings import SchedulingState, SchedulingStatus
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.cli.conftest import Shunter
from tests.unit.cli.object_harness import BENCH, FIRST, JOB, do, move

# ---- apply, delete ----


@pytest.mark.usefixtures("object_service")
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


@pytest.mark.usefixtures("object_service")
def test_apply_refuses_whole_files_with_every_problem(shunter: Shunter, file: Callable[..., str]) -> None:
    said = shunter("apply", "-f", file(testbed(), testbed("b", slotsPerNode=-1), scheduling() | {"spec": {}}))
    assert said.code == 2
    assert "Testbed b: spec.slotsPerNode: must be 0 to 1,000 (got -1)" in said.err
    assert "Scheduling first: spec.testbed: is missing; add testbed: {name: ...}" in said.err
    assert shunter("get", "tb").out.splitlines()[1:] == []


@pytest.mark.usefixtures("object_service")
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


@pytest.mark.usefixtures("object_service")
def test_apply_says_what_a_manifest_says_in_vain(shunter: Shunter, file: Callable[..., str]) -> None:
    spark = {"type": "Python", "mainApplicationFile": "/opt/a.py", "image": "spark:4"}
    said = shunter("apply", "-f", file(batch_job(commandSpec=None, sparkSpec=spark)))
    assert (said.code, said.out) == (0, "BatchJob crawler created\n")
    assert "crawler: sparkSpec.image is not used: Shunter uses no images" in said.err


@pytest.mark.usefixtures("object_service")
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
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    path = file(scheduling())
    for state, code in ((SchedulingState.COMPLETED, 0), (SchedulingState.FAILED, 1)):
        do(object_service.apply([scheduling()], namespace="default"))
        do(move(object_service, "Scheduling", FIRST, status=SchedulingStatus(state, problems=["nothing started"])))
        said = shunter("apply", "-f", path, "--wait")
        assert said.code == code
    assert "first failed: nothing started" in said.err


@pytest.mark.usefixtures("object_service")
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
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shunter("apply", "-f", file(testbed(), testbed("other"), batch_job(), batch_job("second")))
    delete = object_service.delete

    async def refuse_or_retain(kind: str, name: ObjectName, revision: int | None = None) -> Any:
        if name == JOB:
            raise Conflict(f"BatchJob {name} is used by scheduling {FIRST}; delete that first")
        return await object_service.object(kind, name) if name == BENCH else await delete(kind, name, revision)

    monkeypatch.setattr(object_service, "delete", refuse_or_retain)
    said = shunter("delete", "tb", "bench", "other")
    assert said.out == "Testbed bench deleting: waiting for its running tasks to end\nTestbed other deleted\n"
    said = shunter("delete", "bj", "crawler", "second")
    assert (said.code, said.out) == (2, "BatchJob second deleted\n")
    assert "is used by scheduling default/first; delete that first" in said.err

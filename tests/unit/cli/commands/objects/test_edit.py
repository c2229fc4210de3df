"""edit, watch, reset and the rest around objects, against the real API with objects in memory."""

from __future__ import annotations

import json
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shunter.cli.commands.objects.object_options import complete_kinds, complete_objects
from shunter.cli.completion import COMPLETIONS_MAX
from shunter.model.objects.batch_jobs import BatchJobState, BatchJobStatus
from shunter.model.objects.object_meta import ObjectName
from shunter.model.objects.testbeds import TestbedStatus
from tests.contracts.memory_objects import MemoryObjectService
from tests.contracts.objects import batch_job, scheduling, testbed
from tests.unit.cli.conftest import Shunter
from tests.unit.cli.object_harness import BENCH, JOB, do, move, occupy

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


def retained_file(text: str) -> Path:
    found = re.search(r"apply them with: shunter apply -f (\S+)", text)
    assert found is not None, text
    return Path(found[1])


def test_edit_applies_what_was_changed(
    object_service: MemoryObjectService, shunter: Shunter, editor: Callable[[str], None], tmp_path: Path
) -> None:
    external = {"profiler": [{"a": "24 (16)"}]}
    do(object_service.apply([testbed(), batch_job(externalScheduler=external)], namespace="default"))
    editor('sed -i "s/slotsPerNode: 2/slotsPerNode: 7/" "$1"')
    assert shunter("edit", "tb", "bench").out == "Testbed bench configured\n"
    assert do(object_service.object("Testbed", BENCH)).spec.slots_per_node == 7
    editor('sed -i "/externalScheduler/,/24/d" "$1"')
    assert shunter("edit", "bj", "crawler").out == "BatchJob crawler configured\n"
    assert do(object_service.object("BatchJob", JOB)).spec.external == {}
    for script in ("true", 'echo "" > "$1"'):
        editor(script)
        assert shunter("edit", "tb", "bench").out == "Testbed bench unchanged\n"
    assert list(tmp_path.glob("shunter-*")) == []


def test_edit_is_not_disturbed_by_a_status_that_moves(
    object_service: MemoryObjectService, shunter: Shunter, editor: Callable[[str], None]
) -> None:
    do(object_service.apply([testbed()], namespace="default"))
    read = object_service.object

    async def read_and_move(kind: str, name: ObjectName) -> Any:
        found: Any = await read(kind, name)
        if object_service.revision < 6:
            await object_service.put(
                msgspec.structs.replace(found, status=TestbedStatus(observed_generation=object_service.revision))
            )
        return found

    object_service.object = read_and_move  # type: ignore[method-assign]
    editor('sed -i "s/slotsPerNode: 2/slotsPerNode: 7/" "$1"')
    assert shunter("edit", "tb", "bench").out == "Testbed bench configured\n"


def test_edit_says_that_somebody_else_was_faster_and_keeps_the_file(
    object_service: MemoryObjectService, shunter: Shunter, editor: Callable[[str], None], file: Callable[..., str]
) -> None:
    do(object_service.apply([testbed()], namespace="default"))
    other = f"{Path(sys.executable).parent}/shunter apply -f {file(testbed(slotsPerNode=9))} > /dev/null"
    editor(f'sed -i "s/slotsPerNode: 2/slotsPerNode: 7/" "$1"; {other}')
    said = shunter("edit", "tb", "bench")
    assert said.code == 2 and "Testbed bench was changed by somebody else in the meantime" in said.err
    assert "slotsPerNode: 7" in retained_file(said.err).read_text()
    assert do(object_service.object("Testbed", BENCH)).spec.slots_per_node == 9


def test_edit_keeps_what_is_refused(
    object_service: MemoryObjectService, shunter: Shunter, editor: Callable[[str], None]
) -> None:
    do(object_service.apply([testbed()], namespace="default"))
    editor('sed -i "s/slotsPerNode: 2/slotsPerNode: -1/" "$1"')
    said = shunter("edit", "tb", "bench")
    assert said.code == 2 and "spec.slotsPerNode: must be 0 to 1,000 (got -1)" in said.err
    assert "slotsPerNode: -1" in retained_file(said.err).read_text()
    editor('sed -i "s/name: bench/name: other/" "$1"')
    said = shunter("edit", "tb", "bench")
    assert said.code == 2 and "metadata.name: cannot be changed" in said.err
    editor('echo "# half" >> "$1"; exit 1')
    said = shunter("edit", "tb", "bench")
    assert "EDITOR: editor failed with exit code 1" in said.err
    assert retained_file(said.err).read_text().endswith("# half\n")


def test_edit_leaves_no_file_behind_where_nothing_was_written(
    object_service: MemoryObjectService,
    shunter: Shunter,
    editor: Callable[[str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    do(object_service.apply([testbed()], namespace="default"))
    editor("exit 1")
    said = [shunter("edit", "tb", "bench")]
    monkeypatch.setenv("EDITOR", "/no/such/editor")
    said.append(shunter("edit", "tb", "bench"))
    assert [each.code for each in said] == [2, 2]
    assert "editor failed with exit code 1" in said[0].err and "set EDITOR to your editor" in said[1].err
    assert "your changes are in" not in said[0].err + said[1].err
    assert list(tmp_path.glob("shunter-*")) == []


# ---- watch, reset, the rest ----


def test_watch_tells_what_is_there_and_what_changes(
    object_service: MemoryObjectService, shunter: Shunter, file: Callable[..., str]
) -> None:
    shunter("apply", "-f", file(testbed(), batch_job(), scheduling()))
    do(occupy(object_service))
    object_service.is_eager = True  # which ends every stream; the watch goes on until the patience of the client ends
    lines = watched(shunter, object_service, "watch")
    assert [line.split()[1:5] for line in lines[:3]] == [
        ["ADDED", "Testbed", "bench", "RUNNING"],
        ["ADDED", "BatchJob", "crawler", "RunningState"],
        ["ADDED", "Scheduling", "first", "SubmissionState"],
    ]
    assert lines[0].endswith("2 free, 1 occupied, 1 reserved")
    assert lines[1].endswith("by first, slots 0-1, once it failed")
    assert lines[2].endswith("1 Scheduled, waits for a free slot, late")
    documents = [
        json.loads(line) for line in watched(shunter, object_service, "watch", "tb", "--after", "0", "-o", "json")
    ]
    assert [each["type"] for each in documents] == ["ADDED", "MODIFIED"]


def watched(shunter: Shunter, object_service: MemoryObjectService, *words: str) -> list[str]:
    """What a watch says until its cluster is gone for good."""
    watch = object_service.watch
    calls = 0

    async def once(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise RuntimeError("the test has seen enough")
        return await watch(*arguments)

    object_service.watch = once  # type: ignore[method-assign, assignment]
    try:
        return shunter(*words).out.splitlines()
    finally:
        object_service.watch = watch  # type: ignore[method-assign]


def test_a_failed_batch_job_is_reset(object_service: MemoryObjectService, shunter: Shunter) -> None:
    do(object_service.apply([batch_job()], namespace="default"))
    assert shunter("batchjob", "reset", "crawler").out == "crawler is ReadyState: nothing to reset\n"
    do(move(object_service, "BatchJob", JOB, status=BatchJobStatus(BatchJobState.FAILED)))
    assert shunter("batchjob", "reset", "crawler").out == "crawler is ReadyState\n"
    do(move(object_service, "BatchJob", JOB, status=BatchJobStatus(BatchJobState.FAILED)))
    [shown] = json.loads(shunter("batchjob", "reset", "crawler", "-o", "json").out)["items"]
    assert (shown["kind"], shown["metadata"]["name"]) == ("BatchJob", "crawler")


@pytest.mark.usefixtures("object_service")
def test_submit_points_to_apply(shunter: Shunter, file: Callable[..., str]) -> None:
    path = file(batch_job())
    said = shunter("submit", "-f", path)
    assert said.code == 2 and f"use: shunter apply -f {path}" in said.err
    said = shunter("plan", "-f", path)
    assert said.code == 0 and "BatchJob crawler: ready. It would be created." in said.out


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


def test_the_shell_is_offered_kinds_and_names(
    object_service: MemoryObjectService, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Typed:
        params = {"kind": "tb"}

    do(object_service.apply([testbed(), testbed("other"), batch_job()], namespace="default"))
    assert complete_kinds("t") == ["testbed", "testbeds"]
    assert complete_objects(Typed(), "b") == ["bench"]  # type: ignore[arg-type]
    assert len(complete_objects(Typed(), "")) <= COMPLETIONS_MAX  # type: ignore[arg-type]
    monkeypatch.setenv("SHUNTER_URL", "http://127.0.0.1:1")
    assert complete_objects(Typed(), "") == []  # type: ignore[arg-type]

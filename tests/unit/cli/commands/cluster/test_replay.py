"""`shunter replay` of a recording with a policy that this installation does not know."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from shunter.adapters.files.flight_files import read_frames, write_frames
from shunter.cli.main import run_command
from shunter.model.protocol.flight_records import Began, FlightRecord, decode_record, encode_record
from shunter.planning.planner import build_policy
from tests.unit.cli.conftest import Cluster, Shunter
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.memory_flight_log import MemoryFlightLog
from tests.unit.engine.policy.test_flight_recorder import LastFirst
from tests.unit.sdk.scripted_server import raw_response


def test_a_policy_that_is_the_path_of_a_file_is_named_as_a_module(
    recording: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["replay", recording, "--policy", "../my_scheduler.py:MostRoom"]) == 2
    said = capsys.readouterr().err
    assert "is the path of a file, not a module; write my_scheduler:MostRoom, in the directory of the file" in said


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """One decision of a stranger, and some of bin-pack."""

    async def scenario(harness: Harness) -> None:
        harness.engine.policy = LastFirst()
        harness.engine.schedulers.record_to(tape)
        await harness.join("n1", cpu=2)
        await harness.submit(spec("one"))
        harness.engine.policy = build_policy("bin-pack")
        await harness.submit(spec("two"))

    tape, file = MemoryFlightLog(), tmp_path / "day.flight"
    run_scenario(scenario)
    file.write_bytes(b"".join(write_frames(frame for segment in tape.segments for frame in segment)))
    return str(file)


def test_a_seventh_node_is_one_more_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario(harness: Harness) -> None:
        harness.engine.policy = build_policy("spread")
        harness.engine.schedulers.record_to(tape)
        for number in range(7):
            await harness.join(f"n{number}", cpu=7)
        await harness.submit(spec("wide", count=7))

    tape, file = MemoryFlightLog(), tmp_path / "day.flight"
    run_scenario(scenario)
    file.write_bytes(b"".join(write_frames(frame for segment in tape.segments for frame in segment)))
    assert run_command(["replay", str(file), "--all"]) == 0
    assert "n5×1 and 1 more node  " in capsys.readouterr().out


def write_recording(file: Path, *records: FlightRecord) -> str:
    file.write_bytes(b"".join(write_frames(map(encode_record, records))))
    return str(file)


def without_origins(recording: str) -> list[FlightRecord]:
    """The records as 0.1.0 wrote them: they do not name the class of a policy."""
    records = map(decode_record, read_frames(Path(recording)))
    return [replace(each, origin="") if isinstance(each, Began) else each for each in records]


def test_what_an_unknown_policy_decided_is_skipped_and_counted(
    recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = write_recording(tmp_path / "old.flight", *without_origins(recording))
    assert run_command(["replay", old]) == 0, "all decisions that were replayed are equal"
    told = capsys.readouterr()
    assert re.search(r"^[1-9]\d* decisions?: [1-9]\d* equal, 0 different, [1-9]\d* skipped$", told.out, re.MULTILINE)
    assert "of last-first: that policy is not installed here; choose another one with --policy NAME" in told.err
    assert run_command(["replay", old, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] > 0


def test_a_replay_of_nothing_fails(recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = without_origins(recording)
    second = [number for number, each in enumerate(records) if isinstance(each, Began)][1]
    assert run_command(["replay", write_recording(tmp_path / "x.flight", *records[:second])]) == 1
    assert "0 decisions: 0 equal, 0 different" in capsys.readouterr().out
    assert run_command(["replay", write_recording(tmp_path / "empty.flight")]) == 1


def test_a_recording_names_the_class_of_its_policy(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    began = [each for each in map(decode_record, read_frames(Path(recording))) if isinstance(each, Began)]
    assert [each.origin for each in began] == ["tests.unit.engine.policy.test_flight_recorder:LastFirst", ""]
    assert run_command(["replay", recording]) == 0
    told = capsys.readouterr()
    assert "skipped" not in told.out + told.err


@pytest.mark.parametrize("where", ["next to the file", "in the current directory"])
def test_a_policy_is_found(
    where: str, recording: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / where.replace(" ", "-")
    folder.mkdir()
    module = f"policy_{where.replace(' ', '_')}"
    source = "from tests.unit.engine.policy.test_flight_recorder import LastFirst\nclass Mine(LastFirst): pass\n"
    (folder / f"{module}.py").write_text(source)
    records = [replace(each, origin=each.origin and f"{module}:Mine") if isinstance(each, Began) else each
               for each in map(decode_record, read_frames(Path(recording)))]  # fmt: skip
    in_current = where == "in the current directory"
    file = write_recording((tmp_path if in_current else folder) / "mine.flight", *records)
    assert run_command(["replay", file]) == 0
    skipped = f"of last-first: {module}:Mine could not be loaded (no module {module} in "
    assert (skipped in capsys.readouterr().err) is in_current
    monkeypatch.chdir(folder)
    assert run_command(["replay", file]) == 0
    assert "skipped" not in capsys.readouterr().err
    assert run_command(["replay", file, "--policy", f"{module}:Mine"]) in (0, 1)


@pytest.mark.parametrize("origin", ["os:abort", "subprocess:Popen", "os.path", "../x:Y", "a b:C", "no_such_module:X"])
def test_a_recording_starts_nothing_but_a_policy(
    origin: str, recording: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording may come from anybody."""
    records = [replace(each, origin=origin) if isinstance(each, Began) else each for each in without_origins(recording)]
    assert run_command(["replay", write_recording(tmp_path / "bad.flight", *records)]) == 0
    assert "of last-first: " in capsys.readouterr().err


def test_with_a_policy_nothing_is_left_out(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", recording, "--policy", "bin-pack"]) == 0
    assert "left out" not in capsys.readouterr().err


def test_a_recording_that_cannot_be_read_or_written_is_an_error(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /flight/records"] = raw_response(200, b"")
    said = shunter("flight", "export", "/no/folder/x")
    assert said.code == 2 and "FILE: cannot be written: No such file or directory (got '/no/folder/x'); " in said.err
    said = shunter("replay", "/no/folder/x")
    assert said.code == 2 and "FILE: cannot be read: No such file or directory (got '/no/folder/x'); " in said.err

"""`shunter replay` of a recording with a policy that this installation does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.files.flight_files import write_frames
from shunter.cli.main import run_command
from shunter.planning.planner import build_policy
from tests.unit.cli.conftest import Cluster, Shunter
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.memory_flight_log import MemoryFlightLog
from tests.unit.engine.policy.test_flight_recorder import LastFirst
from tests.unit.sdk.scripted_server import raw_response


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


def test_what_a_stranger_decided_is_left_out_and_told(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", recording]) == 1, "not all of it is known to be equal"
    told = capsys.readouterr()
    assert " equal, 0 different" in told.out and not told.out.startswith("0 decisions")
    assert "of last-first: that policy is not installed here; choose another one with --policy NAME" in told.err


def test_with_a_policy_nothing_is_left_out(recording: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["replay", recording, "--policy", "bin-pack"]) == 0
    assert "left out" not in capsys.readouterr().err


def test_a_recording_that_cannot_be_read_or_written_is_an_error(cluster: Cluster, shunter: Shunter) -> None:
    cluster.answers["GET /flight/records"] = raw_response(200, b"")
    said = shunter("flight", "export", "/no/folder/x")
    assert said.code == 2 and "FILE: cannot be written: No such file or directory (got '/no/folder/x'); " in said.err
    said = shunter("replay", "/no/folder/x")
    assert said.code == 2 and "FILE: cannot be read: No such file or directory (got '/no/folder/x'); " in said.err

"""A flight recording is a trace: what was submitted while it was recorded, on the nodes that were there."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.adapters.files.flight_files import write_frames
from shunter.app.lab import run_lab
from shunter.lab.experiment import Options
from shunter.lab.flight_trace import read_flight
from shunter.model.errors import Invalid
from shunter.model.resources import CPU
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.memory_flight_log import MemoryFlightLog


def record() -> MemoryFlightLog:
    """On two cpus: an array of three with an estimate; 20 s later a gang without one, which runs for 50 s."""
    tape = MemoryFlightLog()

    async def scenario(harness: Harness) -> None:
        harness.engine.schedulers.record_to(tape)
        await harness.join(cpu=2)
        await harness.submit(spec("array", 3, estimate_s=7.0))
        await harness.end_all()
        await harness.settle(20.0)
        await harness.submit(spec("gang", 2, gang=True))
        await harness.settle(50.0)
        await harness.end_all()
        await harness.submit(spec("last", 1, estimate_s=1.0))

    run_scenario(scenario)
    return tape


def test_it_has_the_tasks_and_gangs_that_were_submitted() -> None:
    trace, nodes = read_flight(record().records())
    assert nodes.total(CPU) == 2000
    assert trace.submit_s.tolist() == pytest.approx([0, 0, 0, 20, 70])
    assert trace.tasks.tolist() == [1, 1, 1, 2, 1]
    assert trace.run_s.tolist() == pytest.approx([7, 7, 7, 50, 1])
    assert trace.estimate_s.tolist() == [7, 7, 7, 0, 1]
    assert trace.user == ["tester"] * 5


def test_the_lab_runs_it(tmp_path: Path) -> None:
    path = tmp_path / "day.flight"
    path.write_bytes(b"".join(write_frames(frame for segment in record().segments for frame in segment)))
    experiment = run_lab(path, Options(policies=("easy",), filters=("run", "size")), lambda _: None)
    assert experiment.results["easy"].start_s.tolist() == pytest.approx([0, 0, 7, 20, 70])
    assert experiment.trace.source == "day.flight"


def test_a_recording_of_another_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "old.flight"
    path.write_bytes(b"".join(write_frames(iter([b"\xc1"]))))
    with pytest.raises(Invalid, match=r"old\.flight: is not a recording of this version"):
        run_lab(path, Options(policies=("easy",)), lambda _: None)


def test_a_recording_without_jobs_is_refused() -> None:
    with pytest.raises(Invalid, match="shows no jobs"):
        read_flight([])

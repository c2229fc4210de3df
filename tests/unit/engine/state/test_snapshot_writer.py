"""A snapshot that is written in slices is the state at one version, whatever rounds change meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from shunter.engine.state.fingerprints.fingerprint import fingerprint
from shunter.engine.state.snapshot_writer import SnapshotWriter, make_snapshot
from shunter.engine.state.snapshots import load
from shunter.model.job.spec import After, JobOptions
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.random_workload import RandomWorkload


async def write_between(workload: RandomWorkload, writer: SnapshotWriter) -> None:
    """A slice, then a step of the workload, until the snapshot is written."""
    writer.attach()
    for number, _ in enumerate(writer.slices()):
        if number % 3 == 0:
            await workload.rng.choice([workload.submit, workload.end, workload.toggle_cordon])()
            await workload.harness.settle(workload.rng.choice([0.0, 0.5]))
    writer.close()


@pytest.mark.parametrize("seed", range(12))
def test_changes_between_slices_are_not_in_the_snapshot(seed: int) -> None:
    async def scenario(harness: Harness) -> None:
        workload, state = RandomWorkload(harness, seed), harness.engine.state
        await workload.run(15)
        await harness.submit(spec(f"first-{seed}", 200))
        second = spec(f"second-{seed}", options=JobOptions(after=(After(f"first-{seed}"),)))
        await harness.engine.submit([second], "anna", "a key")
        expected, writer = make_snapshot(state), SnapshotWriter(state, slice_jobs=1)
        await write_between(workload, writer)
        assert state.version > expected.version, "nothing has changed meanwhile"
        assert fingerprint(load(writer.snapshot)) == fingerprint(load(expected))
        assert len(writer.snapshot.body) == len(expected.body)

    run_scenario(scenario)


def test_a_job_that_ends_between_slices_is_in_the_snapshot_with_its_tasks_and_dependencies() -> None:
    async def scenario(harness: Harness) -> None:
        [first] = await harness.submit(spec("first", 300))
        await harness.submit(spec("second", options=JobOptions(after=(After("first"),))))
        await harness.submit(spec("third", 300))
        state = harness.engine.state
        expected, writer = make_snapshot(state), SnapshotWriter(state, slice_jobs=1)
        writer.attach()
        slices = writer.slices()
        next(slices)
        await harness.engine.stop_tasks(first.job_id, None, now=True)
        await harness.submit(spec("reuses the rows", 300))
        assert first.job_id not in state.jobs
        for _ in slices:
            pass
        assert bytes(writer.snapshot.body) == bytes(expected.body)
        assert state.snapshot_writer is None

    run_scenario(scenario)


def test_a_second_snapshot_waits_for_the_first() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.submit(*(spec(f"job-{number}") for number in range(5)))
        saver, epoch = harness.engine._snapshots, harness.engine.epoch
        first = asyncio.create_task(saver.save(epoch))
        await asyncio.sleep(0)
        await harness.submit(spec("between"))
        await saver.save(epoch)
        snapshot = await harness.store.snapshot()
        assert first.done()
        assert snapshot is not None
        assert len(load(snapshot).jobs) == 6

    run_scenario(scenario, snapshot_slice_jobs=1)

"""Fingerprints cover the whole state: every attribute is compared, or left out for a reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from shunter.engine.recovery import load_state
from shunter.engine.state.fingerprints.compared_fields import ComparedFields
from shunter.engine.state.fingerprints.fingerprint import ALL, STATE, fingerprint
from shunter.engine.state.fingerprints.nodes import NODES
from shunter.engine.state.fingerprints.registries import REGISTRIES
from shunter.engine.state.snapshot_writer import make_snapshot
from shunter.engine.state.snapshots import load
from shunter.engine.state.state import State
from shunter.model.job.spec import Affinity, After, JobOptions, Schedule
from tests.unit.engine.fake_workers import FakeWorkers
from tests.unit.engine.harness import Harness, run_scenario, spec
from tests.unit.engine.object_harness import apply_drafts, command, label, queue, setup_testbed
from tests.unit.engine.service_specs import service, system


def attributes(kind: type[Any]) -> set[str]:
    """All that an object of the kind holds."""
    if dataclasses.is_dataclass(kind):
        return {each.name for each in dataclasses.fields(kind)}
    state = State()
    owned = (state, state.nodes, state.table, state.task_set_columns, state.job_index, *state.registries.values())
    return set(vars(next(each for each in owned if type(each) is kind)))


@pytest.mark.parametrize("compared", ALL, ids=lambda compared: compared.kind.__name__)
def test_every_attribute_is_compared_or_left_out_for_a_reason(compared: ComparedFields[Any]) -> None:
    named = [*compared.plain, *compared.described, *compared.left_out]
    assert len(named) == len(set(named)), "an attribute is named twice"
    assert set(named) == attributes(compared.kind)
    assert all(compared.left_out.values())


def test_every_record_that_the_state_holds_is_gone_through() -> None:
    """Whatever the state is made of by classes of the engine has facts of its own, or is a value that never changes."""
    state, known = State(), {compared.kind for compared in ALL}
    parts = [*vars(state).values(), *vars(state.nodes).values()]
    of_engine = {type(part) for part in parts if type(part).__module__.startswith("shunter.")}
    assert {kind.__name__ for kind in of_engine - known} == {
        "PendingQueue",  # left out: what policies were shown
        "EndedRuns",  # and what a round knows of history
    }


async def fill(harness: Harness) -> None:
    """Something of every kind, so that no index is empty."""
    fake_workers, engine = FakeWorkers(harness), harness.engine
    await setup_testbed(harness)
    await harness.join("n9", cpu=6)
    await label(harness, "n9")
    await apply_drafts(harness, command("a"), command("b"), queue("q", "a", "b"))
    await engine.set_settings({"licence/tool": "5"})
    rule = Affinity("job", "job.name == 'nobody'", require=True, anti=True)
    clock = JobOptions(schedule=Schedule("0 3 * * *", "UTC"))
    await harness.submit(system("agent"), service(1, affinity=(rule,)), spec("nightly", options=clock), key="once")
    await harness.submit(spec("first", needs={"cpu": 1000, "licence/tool": 1}), spec("gang", 2, gang=True))
    await harness.submit(spec("next", options=JobOptions(after=(After("first"),))))
    await fake_workers.process(1)
    await harness.submit(system("large", name="large", needs={"cpu": 100_000}))


@contextmanager
def spoilt(record: Any, name: str) -> Iterator[bool]:
    """With one entry of an attribute missing, or its number another; says whether there was something to spoil."""
    value = getattr(record, name)
    if isinstance(value, int):
        other: Any = value + 1
    elif isinstance(value, dict | set | list) and value:
        other = value.copy()
        if isinstance(other, dict):
            other.popitem()
        else:
            other.pop()
    else:
        other = value
    setattr(record, name, other)
    yield other is not value
    setattr(record, name, value)


def test_every_index_that_is_spoilt_is_seen() -> None:
    async def scenario(harness: Harness) -> None:
        await fill(harness)
        state = harness.engine.state
        before = fingerprint(state)
        looked_at: set[str] = set()
        owners: list[tuple[ComparedFields[Any], Any]] = [(STATE, state), (NODES, state.nodes)]
        owners += [(compared, getattr(state, name)) for name, compared in REGISTRIES.items()]
        for compared, record in owners:
            for name in (*compared.plain, *compared.described):
                with spoilt(record, name) as is_spoilt:
                    if is_spoilt:
                        looked_at.add(name)
                        assert differs(state, before), f"{compared.kind.__name__}.{name} may be anything"
        assert fingerprint(state) == before
        assert looked_at >= {
            "jobs_by_name", "idempotency_keys", "usage_by_user", "licences_used", "anti_affinity_task_sets",
            "gang_jobs", "queue_lanes", "pinned", "_spec_versions", "class_ids", "by_name", "_dependents", "_targets",
            "_by_name", "per_node", "task_sets_by_node", "_names", "schedulings_by_job", "schedulings_by_testbed",
            "claimed_jobs", "jobs_by_testbed", "applications",
        }  # fmt: skip

    run_scenario(scenario)


def differs(state: State, before: dict[str, Any]) -> bool:
    try:
        return fingerprint(state) != before
    except (KeyError, IndexError):  # what is missing is missed elsewhere
        return True


def test_a_state_is_the_same_from_a_snapshot_and_from_the_rounds() -> None:
    async def scenario(harness: Harness) -> None:
        await fill(harness)
        replayed = await load_state(harness.store)
        live = fingerprint(harness.engine.state)
        assert fingerprint(load(make_snapshot(harness.engine.state))) == live
        assert fingerprint(replayed) == live

    run_scenario(scenario)


def test_a_per_node_job_that_has_left_all_nodes_is_the_same_from_a_snapshot() -> None:
    async def scenario(harness: Harness) -> None:
        await harness.join("n1")
        fake_workers = FakeWorkers(harness)
        rule = Affinity("node", "node.labels.disk == 'ssd'", require=True)
        await harness.engine.label_node("n1", {"disk": "ssd"})
        await harness.submit(system(affinity=(rule,)))
        await fake_workers.process(1)
        await harness.engine.label_node("n1", {"disk": ""})
        await fake_workers.process(1)
        assert fake_workers.active == {}
        assert fingerprint(load(make_snapshot(harness.engine.state))) == fingerprint(harness.engine.state)

    run_scenario(scenario)

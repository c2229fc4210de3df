"""U-01 for a policy that schedules BatchJobs: on the same recorded input it decides the same simulated, in process,
over gRPC, in shadow, and over REST, where it sees documents instead of objects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from shunter.engine.policy.replay import Replay
from shunter.model.objects.batch_jobs import BatchJob, BatchJobSpec
from shunter.model.objects.object_manifests import read_objects
from shunter.model.objects.object_meta import Meta, ObjectName
from shunter.model.objects.objects import Object, ObjectEvent, kind_of
from shunter.model.objects.schedulings import Scheduling, SchedulingSpec
from shunter.model.objects.testbeds import Testbed
from shunter.model.protocol.flight_records import Began, Decided, SituationRecord, Step, is_same
from shunter.model.protocol.scheduler_messages import DecisionRow, SchedulingRow, ViewDelta
from shunter.planning.view import ClusterView, Decision, Policy, SchedulingDraft
from shunter.ports.objects import Applied, ObjectPage, ObjectQuery
from shunter.scheduler import ExternalScheduler
from shunter.simulation.workload.policies import PolicyFactory
from shunter.simulation.world import simulate
from tests.services.test_four_modes import over_grpc
from tests.unit.api.fake_gateway import TOKEN
from tests.unit.api.live_server import live_server
from tests.unit.engine.memory_flight_log import MemoryFlightLog

SEEDS = (1_000_004, 1_000_007, 1_000_006, *range(1_000_010, 1_000_030))  # worlds with testbeds
STEPS_MIN, ITEMS_MIN = 60, 20  # where something changed, and what was made or withdrawn
RUNS_MAX = 3
SOURCE = "local:alternating"
PATIENCE_S = 60.0
FIELDS: dict[str, type[Object]] = {"testbeds": Testbed, "batch_jobs": BatchJob, "schedulings": Scheduling}


class Alternating:
    """Each idle testbed gets a job that is ready, the first or the last one, by how many Schedulings it has seen."""

    name, fast, wants = "alternating", False, ("objects",)

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def decide(self, view: ClusterView, _now: float, _budget: int) -> Decision:
        self._seen |= {each.meta.uid for each in view.schedulings.values()}
        idle = [name for name, each in view.testbeds.items() if each.status.slots and not each.status.claims]
        ready = [name for name, each in view.batch_jobs.items() if self._is_ready(each)]
        drafts = []
        for testbed, job in zip(idle, ready[:: -1 if len(self._seen) % 2 else 1], strict=False):
            spec = SchedulingSpec(testbed, queue=(job,))
            drafts.append(SchedulingDraft(ObjectName(job.namespace, f"run-{job.name}"), spec))
        over = [name for name, each in view.schedulings.items() if each.status.state.name in ("COMPLETED", "FAILED")]
        return Decision(view.version, schedulings=drafts, withdrawals=over)

    def _is_ready(self, job: BatchJob) -> bool:
        is_idle = job.status.state.name == "READY" and job.claim is None
        return is_idle and sum(event.successful is not None for event in job.status.events) < RUNS_MAX


@pytest.fixture(scope="module")
def recorded() -> list[Step]:
    """What the policy was shown, and decided, in one life of a manager in a simulated world with crashes."""
    for seed in SEEDS:
        lives: dict[int, MemoryFlightLog] = {}
        policy_factory = PolicyFactory(
            lambda _: Alternating(),
            lambda number, lives=lives: lives.setdefault(number, MemoryFlightLog()),  # type: ignore[misc]
        )
        simulate(seed, policy_factory=policy_factory)
        for tape in lives.values():
            steps = decided_steps(tape)
            items = sum(len(each.decision.schedulings) + len(each.decision.withdrawals) for each in steps)
            if len(list(filter(has_objects, steps))) >= STEPS_MIN and items >= ITEMS_MIN:
                return steps
    raise AssertionError("no world is good for this")


def decided_steps(tape: MemoryFlightLog) -> list[Step]:
    """What one session showed and the policy decided, from where everything was shown to where that is done again. It
    began without a memory: before that, there was nothing that it remembers."""
    shown: dict[int, SituationRecord] = {}
    steps: list[Step] = []
    for record in tape.records():
        if getattr(record, "source", "") != SOURCE:
            continue
        if isinstance(record, Began):
            if any(each.situation.delta.schedulings for each in shown.values()):
                break
            shown.clear()
            steps.clear()
        elif isinstance(record, SituationRecord):
            shown[record.situation.delta.number] = record
        elif isinstance(record, Decided) and record.number in shown:
            if record.number - next(iter(shown)) != len(steps):
                break  # a decision was refused whole
            steps.append(Step(shown[record.number].situation, record.decision, ""))
    return steps


def has_objects(step: Step) -> bool:
    delta = step.situation.delta
    return delta.is_whole or any(getattr(delta, field) or getattr(delta, f"{field}_gone") for field in FIELDS)


def in_process(recorded: list[Step]) -> list[DecisionRow]:
    records: list[Any] = [Began(SOURCE, "alternating", 0.0, Alternating.wants, True)]
    for step in recorded:
        records += [SituationRecord(SOURCE, step.situation, ""), Decided(SOURCE, *_row(step))]
    build: Callable[[str], Policy] = lambda _: Alternating()  # noqa: E731
    return [each.made for each in Replay(build).run(records)]


def _row(step: Step) -> tuple[int, DecisionRow]:
    return step.situation.delta.number, step.decision


def remote(recorded: list[Step]) -> list[DecisionRow]:
    return asyncio.run(over_grpc(recorded, Alternating(), "lead"))


def in_shadow(recorded: list[Step]) -> list[DecisionRow]:
    return asyncio.run(over_grpc(recorded, Alternating(), "shadow"))


@pytest.mark.parametrize("mode", [in_process, remote, in_shadow], ids=lambda mode: mode.__name__)
def test_the_decision_logs_are_equal_in_all_modes(
    mode: Callable[[list[Step]], list[DecisionRow]], recorded: list[Step]
) -> None:
    """U-01: the decision logs of the same recorded input are identical in all modes."""
    for made, step in zip(mode(recorded), recorded, strict=True):
        assert is_same(made, step.decision)
        assert (made.number, made.based_on) == (step.decision.number, step.decision.based_on)


def test_over_rest_it_asks_for_just_what_it_decided_in_the_simulation(recorded: list[Step]) -> None:
    """U-01: over REST a policy is asked when an object has changed; then it decides the same."""
    steps = [each for each in recorded if has_objects(each)]
    with live_server() as (port, gateway):
        player: Any = FakeObjects(steps)
        gateway.objects = player
        scheduler = ExternalScheduler(
            Alternating(), f"http://127.0.0.1:{port}", token=TOKEN, transport="rest", on_decision=player.on_decision
        )
        thread = threading.Thread(target=scheduler.run, daemon=True)
        thread.start()
        try:
            assert player.is_over.wait(PATIENCE_S), f"{len(player.log)} of {len(steps)} decisions came"
        finally:
            scheduler.stop()
            thread.join(PATIENCE_S)
    for asked, decided, step in zip(player.asked, player.log, steps, strict=True):
        assert is_same(asked, step.decision), "what came in over the wire"
        assert is_same(decided, step.decision), "what the policy answered"
        assert not step.decision.placements


class FakeObjects:
    """The service for objects, playing a recording: the next commit is told when the last one has been decided on."""

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._objects: dict[type, dict[ObjectName, Object]] = {kind: {} for kind in FIELDS.values()}
        self._revision = 0
        self._asked = DecisionRow(0)
        self._decided = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.log: list[DecisionRow] = []
        self.asked: list[DecisionRow] = []  # what was asked for over REST, by the decision that led to it
        self.is_over = threading.Event()

    def on_decision(self, decided: Any) -> None:
        """In the scheduler's thread: all of the decision has been carried out."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._note, decided.decision)

    def _note(self, row: DecisionRow) -> None:
        self.log.append(row)
        self.asked.append(self._asked)
        self._asked = DecisionRow(0)
        self._decided.set()
        if len(self.log) == len(self._steps):
            self.is_over.set()

    # ---- what is shown ----

    async def objects(self, _query: ObjectQuery) -> ObjectPage:
        self._loop = asyncio.get_running_loop()
        assert not self.log, "it lists once"
        list(self._events(self._steps[0].situation.delta))
        items = [each for kind in self._objects.values() for each in kind.values()]
        return ObjectPage(tuple(sorted(items, key=lambda each: each.meta.object_name)), self._revision)

    async def watch(self, _query: ObjectQuery, after: int | None) -> AsyncGenerator[ObjectEvent, None]:
        assert after == self._revision
        return self._watch()

    async def _watch(self) -> AsyncGenerator[ObjectEvent, None]:
        for number, step in enumerate(self._steps[1:], start=1):
            while len(self.log) < number:
                self._decided.clear()
                await self._decided.wait()
            events = self._events(step.situation.delta)
            for event, following in pairwise([*events, None]):
                assert event is not None
                yield ObjectEvent(event.revision, event.action, event.kind, event.object, more=following is not None)
        await asyncio.Event().wait()

    def _events(self, delta: ViewDelta) -> list[ObjectEvent]:
        """Of what changed in one commit; the order in which the revisions were given is that of the changes."""
        events = []
        for field, kind in FIELDS.items():
            known = self._objects[kind]
            gone = [known.pop(name) for name in getattr(delta, f"{field}_gone")]
            events += [ObjectEvent(0, "DELETED", kind_of(each), each) for each in gone]
            for each in map(_presentable, getattr(delta, field)):
                action = "MODIFIED" if each.meta.object_name in known else "ADDED"
                known[each.meta.object_name] = each
                self._revision = max(self._revision, each.meta.revision)
                events.append(ObjectEvent(each.meta.revision, action, kind_of(each), each))
        return sorted(events, key=lambda event: event.revision)

    # ---- what is asked for ----

    async def apply(self, documents: Sequence[object], *, namespace: str) -> list[Applied]:
        applied = []
        for draft in read_objects(documents, default_namespace=namespace):
            assert isinstance(draft.spec, SchedulingSpec)
            self._asked.schedulings.append(SchedulingRow(draft.name, draft.spec))
            meta = Meta(1, draft.name.namespace, draft.name.name, 0, "tester")
            applied.append(Applied(Scheduling(meta, draft.spec), "created"))
        return applied

    async def delete(self, kind: str, name: ObjectName, revision: int | None = None) -> Object:
        assert (kind, revision) == ("Scheduling", None)
        self._asked.withdrawals.append(name)
        return self._objects[Scheduling][name]


def _presentable(each: Any) -> Any:
    """Simulated jobs say what they do by variables that no manifest may set; the policy never looks at them."""
    return replace(each, spec=BatchJobSpec(command={"command": ["work"]})) if isinstance(each, BatchJob) else each

"""Random events of users, nodes and applications; at the end nothing is left behind. The cluster checks after every
write that no slot has two users and that no reconcile repeats itself."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace

from shunter.model.objects.batch_jobs import RESTART
from shunter.model.objects.schedulings import SchedulingSpec
from shunter.testbeds.view import ApplicationState
from tests.unit.testbeds.memory_cluster import MemoryCluster, object_name, queue_spec, slots_spec

JOBS, TESTBEDS, SCHEDULINGS = "abcdef", ("tb", "tb2"), ("s", "t", "u")
STEPS = 150


def spec_of(random: Random, testbed: str) -> SchedulingSpec:
    jobs = random.sample(JOBS, random.randint(1, 4))
    if random.random() < 0.5:
        return queue_spec(*(random.choice(jobs) for _ in range(random.randint(1, 6))), testbed=testbed)
    entries = ((job, random.sample(range(5), random.randint(1, 2))) for job in jobs)
    return slots_spec(random.choice(["strict", "relaxed"]), *entries, testbed=testbed)


class RandomEvents:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = MemoryCluster().with_nodes(3, free={"cpu": 2_000, "memory": 2**33}).with_jobs(*JOBS)
        self.cluster.testbed("tb", slots_per_node=2).testbed("tb2", sharing="disjoint")
        for name in "ace":
            job = self.cluster.jobs[object_name(name)]
            self.cluster.jobs[object_name(name)] = replace(job, spec=replace(job.spec, on_node_loss=RESTART))
        self.cluster.ends_at_once = False

    def step(self) -> None:
        actions: list[Callable[[], object]] = [
            self.schedule, self.schedule, self.unschedule, self.resize, self.relabel, self.lose_node,
            self.delete_testbed,
            *[self.progress] * 8, *[self.end_processes] * 4, self.vanish, self.fail, self.lose, self.pass_time,
        ]  # fmt: skip
        self.random.choice(actions)()
        if self.random.random() < 0.7:
            self.cluster.settle()
        else:
            self.cluster.step_all()

    def schedule(self) -> None:
        """Make one, or change one that is there; its testbed stays."""
        name = self.random.choice(SCHEDULINGS)
        old = self.cluster.schedulings.get(object_name(name))
        if old is not None and (old.meta.is_deleting or old.status.state.wire_name == "FailedState"):
            return
        testbed = old.spec.testbed.name if old else self.random.choice(TESTBEDS)
        self.cluster.scheduling(name, spec_of(self.random, testbed))

    def unschedule(self) -> None:
        self.cluster.delete(self.random.choice(SCHEDULINGS))

    def resize(self) -> None:
        size = {"cpu": self.random.choice([200, 300, 400]), "memory": 2**28}
        name, count = self.random.choice(TESTBEDS), self.random.randint(1, 3)
        self.cluster.testbed(
            name, slots_per_node=count, size=size, sharing=self.random.choice(["exclusive", "disjoint"])
        )

    def delete_testbed(self) -> None:
        self.cluster.delete(self.random.choice(TESTBEDS))

    def relabel(self) -> None:
        name = self.random.choice(list(self.cluster.nodes))
        self.cluster.nodes[name] = replace(
            self.cluster.nodes[name], label=self.random.choice(["0", "1", "2", "7", "none"])
        )

    def lose_node(self) -> None:
        name = self.random.choice(list(self.cluster.nodes))
        self.cluster.nodes[name] = replace(self.cluster.nodes[name], is_ready=not self.cluster.nodes[name].is_ready)

    def active_jobs(self) -> list[str]:
        states = ("SubmittedState", "ScheduledState", "RunningState")
        found = (job for job in self.cluster.jobs.values() if job.status.state.wire_name in states)
        return [job.meta.name for job in found if job.status.application in self.cluster.applications]

    def progress(self) -> None:
        if active_jobs := self.active_jobs():
            fake_application = self.cluster.fake_application(self.random.choice(active_jobs))
            state = self.random.choice(
                [ApplicationState.SCHEDULED, ApplicationState.RUNNING, ApplicationState.COMPLETED]
            )
            if not fake_application.is_stopped:
                fake_application.state = max(fake_application.state, state)

    def fail(self) -> None:
        if active_jobs := self.active_jobs():
            self.cluster.fails(self.random.choice(active_jobs), "it broke", has_processes=True)

    def lose(self) -> None:
        if active_jobs := [job for job in self.active_jobs() if not self.cluster.fake_application(job).is_stopped]:
            self.cluster.loses(self.random.choice(active_jobs))

    def end_processes(self) -> None:
        for fake_application in self.cluster.applications.values():
            over = fake_application.is_stopped or fake_application.state >= ApplicationState.COMPLETED
            if over and self.random.random() < 0.5:
                fake_application.has_processes = False

    def vanish(self) -> None:
        if active_jobs := self.active_jobs():
            del self.cluster.applications[
                self.cluster.jobs[object_name(self.random.choice(active_jobs))].status.application
            ]

    def pass_time(self) -> None:
        self.cluster.now_ms += self.random.choice([1_000, 200_000])


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_no_slot_leaks_and_everything_is_free_at_the_end(seed: int) -> None:
    """S0-01, S0-05, S1-17, S1-34."""
    random_events = RandomEvents(seed)
    cluster = random_events.cluster
    for _ in range(STEPS):
        random_events.step()
    for name in SCHEDULINGS:
        cluster.delete(name)
    for name in cluster.nodes:
        cluster.nodes[name] = replace(cluster.nodes[name], label=name[1:], is_ready=True)
    cluster.settle()
    for fake_application in cluster.applications.values():
        fake_application.has_processes = False
    cluster.settle()
    assert not cluster.schedulings
    assert {job.status.state.wire_name for job in cluster.jobs.values()} <= {"ReadyState", "FailedState"}
    assert not any(job.claim or job.status.places or job.status.active_scheduling for job in cluster.jobs.values())
    for testbed in cluster.testbeds.values():
        assert testbed.status.claims == ()
        assert {slot.state.wire_name for slot in testbed.status.slots} <= {"FREE"}
        assert not any(slot.is_leaving for slot in testbed.status.slots)
    cluster.delete("tb").delete("tb2").settle()
    assert not cluster.testbeds

"""Everything at once, in random order: users, nodes and applications do what they like, and at the end nothing is left
behind. The play checks after every write that no slot has two users and that no look repeats itself."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from msgspec.structs import replace

from shunter.model.objects.schedulings import SchedulingSpec
from shunter.testbeds.view import ApplicationState
from tests.unit.testbeds.memory_cluster import Play, named, queue_of, slots_of

JOBS, TESTBEDS, SCHEDULINGS = "abcdef", ("tb", "tb2"), ("s", "t", "u")
STEPS = 150


def spec_of(random: Random, testbed: str) -> SchedulingSpec:
    jobs = random.sample(JOBS, random.randint(1, 4))
    if random.random() < 0.5:
        return queue_of(*(random.choice(jobs) for _ in range(random.randint(1, 6))), testbed=testbed)
    entries = ((job, random.sample(range(5), random.randint(1, 2))) for job in jobs)
    return slots_of(random.choice(["strict", "relaxed"]), *entries, testbed=testbed)


class Trouble:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.play = Play().labelled(3, free={"cpu": 2_000, "memory": 2**33}).with_jobs(*JOBS)
        self.play.testbed("tb", slots_per_node=2).testbed("tb2", sharing="disjoint")
        self.play.ends_at_once = False

    def step(self) -> None:
        acts: list[Callable[[], object]] = [
            self.schedule, self.schedule, self.unschedule, self.resize, self.relabel, self.lose_node,
            *[self.progress] * 8, *[self.end_processes] * 4, self.vanish, self.fail, self.pass_time,
        ]  # fmt: skip
        self.random.choice(acts)()
        if self.random.random() < 0.7:
            self.play.settle()
        else:
            self.play.look()

    def schedule(self) -> None:
        """Make one, or change one that is there; its testbed stays."""
        name = self.random.choice(SCHEDULINGS)
        old = self.play.schedulings.get(named(name))
        if old is not None and (old.meta.is_deleting or old.status.state.word == "FailedState"):
            return
        testbed = old.spec.testbed.name if old else self.random.choice(TESTBEDS)
        self.play.scheduling(name, spec_of(self.random, testbed))

    def unschedule(self) -> None:
        self.play.delete(self.random.choice(SCHEDULINGS))

    def resize(self) -> None:
        size = {"cpu": self.random.choice([200, 300, 400]), "memory": 2**28}
        name, count = self.random.choice(TESTBEDS), self.random.randint(1, 3)
        self.play.testbed(name, slots_per_node=count, size=size, sharing=self.random.choice(["exclusive", "disjoint"]))

    def relabel(self) -> None:
        name = self.random.choice(list(self.play.nodes))
        self.play.nodes[name] = replace(self.play.nodes[name], label=self.random.choice(["0", "1", "2", "7", "none"]))

    def lose_node(self) -> None:
        name = self.random.choice(list(self.play.nodes))
        self.play.nodes[name] = replace(self.play.nodes[name], is_ready=not self.play.nodes[name].is_ready)

    def going(self) -> list[str]:
        states = ("SubmittedState", "ScheduledState", "RunningState")
        found = (job for job in self.play.jobs.values() if job.status.state.word in states)
        return [job.meta.name for job in found if job.status.application in self.play.applications]

    def progress(self) -> None:
        if going := self.going():
            script = self.play.script(self.random.choice(going))
            state = self.random.choice(
                [ApplicationState.SCHEDULED, ApplicationState.RUNNING, ApplicationState.COMPLETED]
            )
            if not script.is_stopped:
                script.state = max(script.state, state)

    def fail(self) -> None:
        if going := self.going():
            self.play.fails(self.random.choice(going), "it broke", has_processes=True)

    def end_processes(self) -> None:
        for script in self.play.applications.values():
            over = script.is_stopped or script.state >= ApplicationState.COMPLETED
            if over and self.random.random() < 0.5:
                script.has_processes = False

    def vanish(self) -> None:
        if going := self.going():
            del self.play.applications[self.play.jobs[named(self.random.choice(going))].status.application]

    def pass_time(self) -> None:
        self.play.now_ms += self.random.choice([1_000, 200_000])


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_no_slot_leaks_and_everything_is_free_at_the_end(seed: int) -> None:
    """S0-01, S0-05, S1-17, S1-34."""
    trouble = Trouble(seed)
    play = trouble.play
    for _ in range(STEPS):
        trouble.step()
    for name in SCHEDULINGS:
        play.delete(name)
    for name in play.nodes:
        play.nodes[name] = replace(play.nodes[name], label=name[1:], is_ready=True)
    play.settle()
    for script in play.applications.values():
        script.has_processes = False
    play.settle()
    assert not play.schedulings
    assert {job.status.state.word for job in play.jobs.values()} <= {"ReadyState", "FailedState"}
    assert not any(job.claim or job.status.places or job.status.active_scheduling for job in play.jobs.values())
    for testbed in play.testbeds.values():
        assert testbed.status.claims == ()
        assert {slot.state.word for slot in testbed.status.slots} <= {"FREE"}
        assert not any(slot.is_leaving for slot in testbed.status.slots)
    play.delete("tb").delete("tb2").settle()
    assert not play.testbeds

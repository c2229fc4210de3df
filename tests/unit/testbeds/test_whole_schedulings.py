"""Whole stories of Schedulings, from their submit to their deletion, with scripted applications."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.model.objects.schedulings import SchedulingSpec, SchedulingState
from shunter.testbeds.view import ApplicationState
from tests.unit.testbeds.memory_cluster import Play, named, queue_of, slots_of

# What the applications of each engine report, one report after the other, as their launchers translate it.
SCRIPTS = {
    "spark": [ApplicationState.SUBMITTED, ApplicationState.SCHEDULED, ApplicationState.RUNNING],
    "flink": [ApplicationState.SUBMITTED, ApplicationState.SUBMITTED, ApplicationState.RUNNING],
    "command": [ApplicationState.RUNNING],
}


@pytest.mark.parametrize("engine", SCRIPTS)
def test_every_kind_of_application_gives_the_same_sequence_of_states(engine: str) -> None:
    """S0-04: also one whose executors start within one report."""
    play = Play().labelled(2).testbed().with_jobs("a").scheduling("s", queue_of("a", "a")).settle()
    for state in SCRIPTS[engine]:
        play.script("a").state = state
        play.settle()
    play.completes("a").settle()
    assert ["ReadyState", *play.states("a")] == [
        "ReadyState",
        "InQueueState",
        "SubmittedState",
        "ScheduledState",
        "RunningState",
        "CompletedState",
    ]


def test_a_scheduling_goes_from_its_submit_to_its_deletion() -> None:
    """S0-18, S1-05, S1-17."""
    play = Play().labelled(2).testbed(slots_per_node=2).with_jobs("a", "b")
    play.scheduling("s", queue_of("a", "b", "b", "a")).settle()
    assert play.given == [("a", (0, 3)), ("b", (1, 2))]
    assert play.slot_states() == ["RESERVED"] * 4
    play.runs("a", "b").settle()
    assert play.slot_states() == ["OCCUPIED"] * 4
    assert play.status("s").state.word == "AwaitingCompletionState"
    play.completes("a", "b").settle()
    assert play.states("s") == [
        "ConfirmationState",
        "SubmissionState",
        "ConfirmationState",
        "SubmissionState",
        "AwaitingCompletionState",
        "CompletedState",
    ]
    assert play.jobs[named("a")].claim is not None, "it is kept for whoever wants to write to it"
    play.delete("s").settle()
    assert play.job_state("a") == play.job_state("b") == "ReadyState"
    assert play.slot_states() == ["FREE"] * 4
    assert play.testbeds[named("tb")].status.claims == ()


def test_the_figure_of_document_001_is_played_to_its_end() -> None:
    """S1-10: at no time has a job a part of its executors."""
    play = Play().labelled(4).testbed(slots_per_node=2).with_jobs("j1", "j2", "j3", "j4")
    play.scheduling("s", queue_of("j1", "j1", "j2", "j2", "j3", "j3", "j3", "j4", "j4", "j4")).settle()
    assert play.given == [("j1", (0, 1)), ("j2", (2, 3)), ("j3", (4, 5, 6))]
    play.runs("j1", "j2", "j3").settle()
    assert play.slot_states() == ["OCCUPIED"] * 7 + ["FREE"]
    assert play.status("s").waits_for == "3 free slots of testbed default/tb, for batch job default/j4"
    play.completes("j2").settle()
    assert play.given[-1] == ("j4", (2, 3, 7))
    play.completes("j1", "j3", "j4").settle()
    assert play.status("s").state.word == "CompletedState"


def test_jobs_by_slot_ids_run_where_they_say() -> None:
    """S1-07."""
    play = Play().labelled(2).testbed(slots_per_node=2).with_jobs("a", "b")
    play.scheduling("s", slots_of("strict", ("a", [3, 0]), ("b", [2]))).settle()
    places = {name: play.jobs[named(name)].status.places for name in "ab"}
    assert [(place.node, place.position) for place in places["a"]] == [("n0", 0), ("n1", 1)]
    assert [(place.node, place.position) for place in places["b"]] == [("n0", 1)]


def test_a_job_that_ends_before_its_start_is_seen_was_successful() -> None:
    """S0-24: skipped states."""
    play = Play().labelled(1).testbed().with_jobs("a").scheduling("s", queue_of("a")).settle()
    play.completes("a").settle()
    assert play.states("a") == ["InQueueState", "SubmittedState", "CompletedState"]
    assert play.status("s").state.word == "CompletedState"


def test_an_application_that_vanished_runs_again_in_its_slots() -> None:
    """S0-24: vanished application."""
    play = Play().labelled(1).testbed().with_jobs("a").scheduling("s", queue_of("a")).settle()
    play.runs("a").settle()
    del play.applications[play.jobs[named("a")].status.application]
    play.settle()
    assert play.states("a")[-3:] == ["ReadyState", "InQueueState", "SubmittedState"]
    play.completes("a").settle()
    assert play.status("s").state.word == "CompletedState"
    assert [event.successful for event in play.jobs[named("a")].status.events] == [False, True]


@pytest.mark.parametrize("asleep", ["testbed", "job", "scheduling"])
def test_a_reconciler_that_was_away_finds_its_way_when_it_is_back(asleep: str) -> None:
    """S0-01: it knows nothing but what it sees."""
    play = Play().labelled(2).testbed().with_jobs("a", "b", "c").scheduling("s", queue_of("a", "a", "b", "c")).settle()
    real = getattr(play, f"look_at_{asleep}")
    setattr(play, f"look_at_{asleep}", lambda _: False)
    play.runs("a").settle()
    play.completes("a").settle()
    setattr(play, f"look_at_{asleep}", real)
    play.settle()
    assert play.given[1:] == [("b", (0,)), ("c", (1,))]
    play.completes("b", "c").settle()
    assert play.status("s").state.word == "CompletedState"


# ---- whatever the order ----

specs = st.one_of(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12).map(lambda names: queue_of(*names)),
    st.tuples(
        st.sampled_from(["strict", "relaxed"]),
        st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(0, 5), min_size=1), min_size=1),
    ).map(lambda found: slots_of(found[0], *found[1].items())),
)


@settings(max_examples=200)
@given(specs, st.integers(1, 3), st.integers(0, 2**32))
def test_whatever_can_run_runs_to_its_end_and_whatever_cannot_fails_at_once(
    spec: SchedulingSpec, slots_per_node: int, seed: int
) -> None:
    """S0-01, S1-10, S1-13: the play checks that no slot is given twice, and that a second look never writes."""
    random = Random(seed)
    play = Play().labelled(2).testbed(slots_per_node=slots_per_node).with_jobs(*"abcdef")
    play.scheduling("s", spec).settle()
    wanted = {name.name for name in spec.distinct_jobs}
    while play.status("s").state not in (SchedulingState.COMPLETED, SchedulingState.FAILED):
        going = [name for name in sorted(wanted) if play.job_state(name) in ("SubmittedState", "RunningState")]
        assert going, f"it waits for ever: {play.status('s')}"
        for name in random.sample(going, random.randint(1, len(going))):
            (play.runs if random.random() < 0.5 else play.completes)(name)
        play.settle()
    if play.status("s").state is SchedulingState.COMPLETED:
        assert {name for name, _ in play.given} == wanted
    else:
        assert play.given == []
    play.delete("s").settle()
    assert play.slot_states() == ["FREE"] * 2 * slots_per_node


@pytest.mark.parametrize("seed", range(100))
def test_schedulings_that_race_for_jobs_and_testbeds_never_hold_one_together_and_all_get_their_turn(
    seed: int,
) -> None:
    """S0-05: looks, starts, ends and deletions in random order, each look at one object alone."""
    random = Random(seed)
    play = Play().labelled(2).testbed("tb").testbed("tb2").with_jobs(*"abc")
    wants = {"s": ("tb", "ab"), "t": ("tb2", "bc"), "u": ("tb", "ca")}
    for name, (testbed, jobs) in wants.items():
        play.scheduling(name, queue_of(*jobs, testbed=testbed))
    completed: set[str] = set()
    for _ in range(3_000):
        act_once(play, random)
        check_claims(play)
        for name in set(wants) - completed:
            if play.status(name).state is SchedulingState.COMPLETED:
                completed.add(name)
                play.delete(name)
        if completed == set(wants):
            break
    assert completed == set(wants)


def act_once(play: Play, random: Random) -> None:
    looks = [
        *((play.look_at_testbed, name) for name in play.testbeds),
        *((play.look_at_job, name) for name in play.jobs),
        *((play.look_at_scheduling, name) for name in play.schedulings),
    ]
    look, name = random.choice(looks)
    look(name)
    going = [job.meta.name for job in play.jobs.values() if job.status.state.word in ("SubmittedState", "RunningState")]
    if going and random.random() < 0.2:
        play.completes(random.choice(going), has_processes=random.random() < 0.3)
    ended = [script for script in play.applications.values() if script.state is ApplicationState.COMPLETED]
    if ended and random.random() < 0.2:
        random.choice(ended).has_processes = False


def check_claims(play: Play) -> None:
    for testbed in play.testbeds.values():
        assert len(testbed.status.claims) <= 1
    for name, scheduling in play.schedulings.items():
        held = [
            job for job in scheduling.spec.distinct_jobs if (claim := play.jobs[job].claim) and claim.scheduling == name
        ]
        has_testbed = name in play.testbeds[scheduling.spec.testbed].status.claims
        assert len(held) in (0, len(scheduling.spec.distinct_jobs)), "it holds some and waits for others"
        assert has_testbed == bool(held)
        if scheduling.status.state is not SchedulingState.ACQUIRE:
            assert held

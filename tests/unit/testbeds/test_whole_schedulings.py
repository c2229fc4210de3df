"""Whole scenarios of Schedulings, from submit to deletion, with scripted applications."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shunter.model.objects.schedulings import SchedulingSpec, SchedulingState
from shunter.testbeds.view import ApplicationState
from tests.unit.testbeds.memory_cluster import MemoryCluster, object_name, queue_spec, slots_spec

# What the applications of each engine report, one report after the other, as their launchers translate it.
SCRIPTS = {
    "spark": [ApplicationState.SUBMITTED, ApplicationState.SCHEDULED, ApplicationState.RUNNING],
    "flink": [ApplicationState.SUBMITTED, ApplicationState.SUBMITTED, ApplicationState.RUNNING],
    "command": [ApplicationState.RUNNING],
}


@pytest.mark.parametrize("engine", SCRIPTS)
def test_every_kind_of_application_gives_the_same_sequence_of_states(engine: str) -> None:
    """S0-04: also one whose executors start within one report."""
    cluster = MemoryCluster().with_nodes(2).testbed().with_jobs("a").scheduling("s", queue_spec("a", "a")).settle()
    for state in SCRIPTS[engine]:
        cluster.fake_application("a").state = state
        cluster.settle()
    cluster.completes("a").settle()
    assert ["ReadyState", *cluster.states("a")] == [
        "ReadyState",
        "InQueueState",
        "SubmittedState",
        "ScheduledState",
        "RunningState",
        "CompletedState",
    ]


def test_a_scheduling_goes_from_its_submit_to_its_deletion() -> None:
    """S0-18, S1-05, S1-17."""
    cluster = MemoryCluster().with_nodes(2).testbed(slots_per_node=2).with_jobs("a", "b")
    cluster.scheduling("s", queue_spec("a", "b", "b", "a")).settle()
    assert cluster.requested == [("a", (0, 3)), ("b", (1, 2))]
    assert cluster.slot_states() == ["RESERVED"] * 4
    cluster.runs("a", "b").settle()
    assert cluster.slot_states() == ["OCCUPIED"] * 4
    assert cluster.status("s").state.wire_name == "AwaitingCompletionState"
    cluster.completes("a", "b").settle()
    assert cluster.states("s") == [
        "ConfirmationState",
        "SubmissionState",
        "ConfirmationState",
        "SubmissionState",
        "AwaitingCompletionState",
        "CompletedState",
    ]
    assert cluster.jobs[object_name("a")].claim is not None, "it is kept for whoever wants to write to it"
    cluster.delete("s").settle()
    assert cluster.job_state("a") == cluster.job_state("b") == "ReadyState"
    assert cluster.slot_states() == ["FREE"] * 4
    assert cluster.testbeds[object_name("tb")].status.claims == ()


def test_the_figure_of_document_001_is_played_to_its_end() -> None:
    """S1-10: at no time has a job a part of its executors."""
    cluster = MemoryCluster().with_nodes(4).testbed(slots_per_node=2).with_jobs("j1", "j2", "j3", "j4")
    cluster.scheduling("s", queue_spec("j1", "j1", "j2", "j2", "j3", "j3", "j3", "j4", "j4", "j4")).settle()
    assert cluster.requested == [("j1", (0, 1)), ("j2", (2, 3)), ("j3", (4, 5, 6))]
    cluster.runs("j1", "j2", "j3").settle()
    assert cluster.slot_states() == ["OCCUPIED"] * 7 + ["FREE"]
    assert cluster.status("s").waits_for == "3 free slots of testbed default/tb, for batch job default/j4"
    cluster.completes("j2").settle()
    assert cluster.requested[-1] == ("j4", (2, 3, 7))
    cluster.completes("j1", "j3", "j4").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"


def test_jobs_by_slot_ids_run_where_they_say() -> None:
    """S1-07."""
    cluster = MemoryCluster().with_nodes(2).testbed(slots_per_node=2).with_jobs("a", "b")
    cluster.scheduling("s", slots_spec("strict", ("a", [3, 0]), ("b", [2]))).settle()
    places = {name: cluster.jobs[object_name(name)].status.places for name in "ab"}
    assert [(place.node, place.position) for place in places["a"]] == [("n0", 0), ("n1", 1)]
    assert [(place.node, place.position) for place in places["b"]] == [("n0", 1)]


def test_a_job_that_ends_before_its_start_is_seen_was_successful() -> None:
    """S0-24: skipped states."""
    cluster = MemoryCluster().with_nodes(1).testbed().with_jobs("a").scheduling("s", queue_spec("a")).settle()
    cluster.completes("a").settle()
    assert cluster.states("a") == ["InQueueState", "SubmittedState", "CompletedState"]
    assert cluster.status("s").state.wire_name == "CompletedState"


def test_an_application_that_vanished_runs_again_in_its_slots() -> None:
    """S0-24: vanished application."""
    cluster = MemoryCluster().with_nodes(1).testbed().with_jobs("a").scheduling("s", queue_spec("a")).settle()
    cluster.runs("a").settle()
    del cluster.applications[cluster.jobs[object_name("a")].status.application]
    cluster.settle()
    assert cluster.states("a")[-3:] == ["ReadyState", "InQueueState", "SubmittedState"]
    cluster.completes("a").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"
    assert [event.successful for event in cluster.jobs[object_name("a")].status.events] == [False, True]


@pytest.mark.parametrize("paused", ["testbed", "job", "scheduling"])
def test_a_reconciler_that_was_away_finds_its_way_when_it_is_back(paused: str) -> None:
    """S0-01: it knows nothing but what it sees."""
    cluster = (
        MemoryCluster()
        .with_nodes(2)
        .testbed()
        .with_jobs("a", "b", "c")
        .scheduling("s", queue_spec("a", "a", "b", "c"))
        .settle()
    )
    real = getattr(cluster, f"step_{paused}")
    setattr(cluster, f"step_{paused}", lambda _: False)
    cluster.runs("a").settle()
    cluster.completes("a").settle()
    setattr(cluster, f"step_{paused}", real)
    cluster.settle()
    assert cluster.requested[1:] == [("b", (0,)), ("c", (1,))]
    cluster.completes("b", "c").settle()
    assert cluster.status("s").state.wire_name == "CompletedState"


# ---- whatever the order ----

specs = st.one_of(
    st.lists(st.sampled_from("abcdef"), min_size=1, max_size=12).map(lambda names: queue_spec(*names)),
    st.tuples(
        st.sampled_from(["strict", "relaxed"]),
        st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(0, 5), min_size=1), min_size=1),
    ).map(lambda found: slots_spec(found[0], *found[1].items())),
)


@settings(max_examples=200)
@given(specs, st.integers(1, 3), st.integers(0, 2**32))
def test_whatever_can_run_runs_to_its_end_and_whatever_cannot_fails_at_once(
    spec: SchedulingSpec, slots_per_node: int, seed: int
) -> None:
    """S0-01, S1-10, S1-13: the play checks that no slot is given twice, and that a second look never writes."""
    random = Random(seed)
    cluster = MemoryCluster().with_nodes(2).testbed(slots_per_node=slots_per_node).with_jobs(*"abcdef")
    cluster.scheduling("s", spec).settle()
    wanted = {name.name for name in spec.distinct_jobs}
    while cluster.status("s").state not in (SchedulingState.COMPLETED, SchedulingState.FAILED):
        active_jobs = [name for name in sorted(wanted) if cluster.job_state(name) in ("SubmittedState", "RunningState")]
        assert active_jobs, f"it waits for ever: {cluster.status('s')}"
        for name in random.sample(active_jobs, random.randint(1, len(active_jobs))):
            (cluster.runs if random.random() < 0.5 else cluster.completes)(name)
        cluster.settle()
    if cluster.status("s").state is SchedulingState.COMPLETED:
        assert {name for name, _ in cluster.requested} == wanted
    else:
        assert cluster.requested == []
    cluster.delete("s").settle()
    assert cluster.slot_states() == ["FREE"] * 2 * slots_per_node


@pytest.mark.parametrize("seed", range(100))
def test_schedulings_that_race_for_jobs_and_testbeds_never_hold_one_together_and_all_get_their_turn(
    seed: int,
) -> None:
    """S0-05: looks, starts, ends and deletions in random order, each look at one object alone."""
    random = Random(seed)
    cluster = MemoryCluster().with_nodes(2).testbed("tb").testbed("tb2").with_jobs(*"abc")
    wants = {"s": ("tb", "ab"), "t": ("tb2", "bc"), "u": ("tb", "ca")}
    for name, (testbed, jobs) in wants.items():
        cluster.scheduling(name, queue_spec(*jobs, testbed=testbed))
    completed: set[str] = set()
    for _ in range(3_000):
        step_once(cluster, random)
        check_claims(cluster)
        for name in set(wants) - completed:
            if cluster.status(name).state is SchedulingState.COMPLETED:
                completed.add(name)
                cluster.delete(name)
        if completed == set(wants):
            break
    assert completed == set(wants)


def step_once(cluster: MemoryCluster, random: Random) -> None:
    looks = [
        *((cluster.step_testbed, name) for name in cluster.testbeds),
        *((cluster.step_job, name) for name in cluster.jobs),
        *((cluster.step_scheduling, name) for name in cluster.schedulings),
    ]
    look, name = random.choice(looks)
    look(name)
    active_jobs = [
        job.meta.name
        for job in cluster.jobs.values()
        if job.status.state.wire_name in ("SubmittedState", "RunningState")
    ]
    if active_jobs and random.random() < 0.2:
        cluster.completes(random.choice(active_jobs), has_processes=random.random() < 0.3)
    ended = [
        fake_application
        for fake_application in cluster.applications.values()
        if fake_application.state is ApplicationState.COMPLETED
    ]
    if ended and random.random() < 0.2:
        random.choice(ended).has_processes = False


def check_claims(cluster: MemoryCluster) -> None:
    for testbed in cluster.testbeds.values():
        assert len(testbed.status.claims) <= 1
    for name, scheduling in cluster.schedulings.items():
        held = [
            job
            for job in scheduling.spec.distinct_jobs
            if (claim := cluster.jobs[job].claim) and claim.scheduling == name
        ]
        has_testbed = name in cluster.testbeds[scheduling.spec.testbed].status.claims
        assert len(held) in (0, len(scheduling.spec.distinct_jobs)), "it holds some and waits for others"
        assert has_testbed == bool(held)
        if scheduling.status.state is not SchedulingState.ACQUIRE:
            assert held
